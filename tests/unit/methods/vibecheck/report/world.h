/* A small finished run of any size, whose texts and names the test chooses. */
#pragma once

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "methods/stats/stats.h"
#include "methods/vibecheck/report/page_parts.h"
#include "tests/unit/methods/report/page_data.h"

#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct world {
    struct vq_config config;
    struct vq_conf_judge *conf_judges;
    struct vq_table *table;
    struct vq_dataset dataset;
    struct vq_data_row *samples;
    struct vq_row *rows;
    struct vq_axis *axes;
    uint8_t *first;
    uint8_t *outcomes;
    struct vq_vibecheck_input in;
    struct vq_vibecheck *result;
    struct vq_report_judge *judges;
    struct vq_hash template_hash;
    struct vq_report_input r;
    char **names;
};

static char world_model_a[] = "model a", world_model_b[] = "model b";

static inline void world_rooms(struct world *w, const struct vq_grid *grid)
{
    w->conf_judges = vq_alloc(grid->judges, sizeof(*w->conf_judges));
    w->judges = vq_alloc(grid->judges, sizeof(*w->judges));
    w->samples = vq_alloc(grid->samples, sizeof(*w->samples));
    w->rows = vq_alloc(grid->samples, sizeof(*w->rows));
    w->axes = vq_alloc(grid->vibes, sizeof(*w->axes));
    w->names = vq_alloc(grid->vibes, sizeof(*w->names));
    w->first = vq_alloc((size_t)grid->samples * grid->judges, 1);
    w->outcomes = vq_alloc(vq_grid_tasks(grid), 1);
    assert_true(w->conf_judges != NULL && w->judges != NULL && w->samples != NULL &&
                w->rows != NULL && w->axes != NULL && w->names != NULL && w->first != NULL &&
                w->outcomes != NULL);
}

static inline void world_texts(struct world *w, uint32_t samples, const char *text)
{
    struct vq_buf csv;
    vq_buf_init(&csv, (size_t)1 << 30);
    vq_buf_puts(&csv, "question,a,b,topic,preference\n");
    for (uint32_t i = 0; i < samples; i++) {
        vq_buf_printf(&csv, "\"q%u %s\",\"A%u %s\",\"B%u %s\",t%u,a\n", i, text, i, text, i, text,
                      i % 40);
    }
    struct vq_error err = {0};
    assert_int_equal(csv.status, VQ_OK);
    assert_int_equal(vq_table_parse(vq_buf_span(&csv), VQ_TABLE_CSV, "d.csv", &w->table, &err),
                     VQ_OK);
    vq_buf_free(&csv);
}

static inline void world_sample(struct world *w, struct vq_rng *rng, const struct vq_grid *grid,
                                uint32_t i)
{
    bool prefers_a = vq_rng_below(rng, 10) < 7;
    w->samples[i] = (struct vq_data_row){.record = i + 1,
                                         .question = i,
                                         .prompt = vq_table_cell(w->table, i, 0),
                                         .a = vq_table_cell(w->table, i, 1),
                                         .b = vq_table_cell(w->table, i, 2),
                                         .preference = prefers_a ? VQ_PREFER_A : VQ_PREFER_B,
                                         .split = i % 2 == 0 ? VQ_SPLIT_TRAIN : VQ_SPLIT_TEST};
    w->rows[i] = (struct vq_row){.group = i, .preference = prefers_a ? 1 : -1, .test = i % 2 == 1};
    for (uint32_t v = 0; v < grid->vibes; v++) {
        bool a = vq_rng_below(rng, 100) < 90 - 35 * (v % 3);
        for (uint32_t j = 0; j < grid->judges; j++) {
            bool said = vq_rng_below(rng, 10) == 0 ? !a : a;
            uint8_t *both = w->outcomes + vq_grid_task(grid, (struct vq_cell){i, j, v, 0});
            both[0] = said ? VQ_OUTCOME_FIRST : VQ_OUTCOME_SECOND;
            both[1] = said ? VQ_OUTCOME_SECOND : VQ_OUTCOME_FIRST;
        }
    }
}

static inline void world_names(struct world *w, const struct vq_grid *grid)
{
    static const char *const names[] = {"judge one", "judge two", "judge three"};
    for (uint32_t v = 0; v < grid->vibes; v++) {
        struct vq_buf name;
        vq_buf_init(&name, 64);
        vq_buf_printf(&name, "Vibe%u", v);
        w->names[v] = name.at;
        w->axes[v] = (struct vq_axis){name.at, "low pole", "high pole"};
    }
    for (uint32_t j = 0; j < grid->judges; j++) {
        w->conf_judges[j] = (struct vq_conf_judge){.seed = -1, .max_tokens = 600};
        w->judges[j] = (struct vq_report_judge){
            .name = names[j % 3], .model = names[j % 3], .identity = "host/v1"};
    }
}

static inline void world_settings(struct world *w, const struct vq_grid *grid)
{
    bool large = grid->samples > 1000; /* nothing is fitted or drawn */
    w->config = (struct vq_config){.models = {world_model_a, world_model_b},
                                   .judges = w->conf_judges,
                                   .judges_count = grid->judges,
                                   .seed = 42};
    w->config.report.examples = 5;
    w->config.gates.separability_min = large ? 2 : 0.05;
    w->config.gates.overlap = VQ_CONF_OVERLAP_OFF;
    w->config.regression.bootstrap_draws = large ? 0 : 50;
    w->dataset = (struct vq_dataset){
        .samples = w->samples,
        .train_count = (grid->samples + 1) / 2,
        .test_count = grid->samples / 2,
        .records_read = {grid->samples, 0},
        .has_preference = true,
        .tables = {w->table, NULL},
        .columns = {{.prompt = 0, .model = {1, 2}, .preference = 4, .group = VQ_COLUMN_NONE}}};
    w->in = (struct vq_vibecheck_input){.config = &w->config,
                                        .grid = *grid,
                                        .outcomes = w->outcomes,
                                        .rows = w->rows,
                                        .axes = w->axes,
                                        .first_order = w->first};
}

/* `text` (free of quotes) is in every prompt and output. Alternately train and test; A is higher on
 * vibe v the rarer the larger v modulo 3. */
static inline struct world *world_create(uint32_t samples, uint32_t judges, uint32_t vibes,
                                         const char *text)
{
    struct world *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    struct vq_grid grid = {samples, judges, vibes};
    world_rooms(w, &grid);
    world_texts(w, samples, text);
    struct vq_rng rng;
    vq_rng_seed(&rng, 5);
    for (uint32_t i = 0; i < samples; i++) {
        world_sample(w, &rng, &grid, i);
    }
    world_names(w, &grid);
    world_settings(w, &grid);
    struct vq_error err = {0};
    assert_int_equal(vq_vibecheck_compute(&w->in, &w->result, &err), VQ_OK);
    w->r = (struct vq_report_input){.config = &w->config,
                                    .dataset = &w->dataset,
                                    .in = &w->in,
                                    .result = w->result,
                                    .judges = w->judges,
                                    .judge_kind = "model",
                                    .judge_template = &w->template_hash,
                                    .data_hash = {"abc", ""}};
    return w;
}

static inline void world_destroy(struct world *w)
{
    for (uint32_t v = 0; v < w->in.grid.vibes; v++) {
        vq_free(w->names[v]);
    }
    vq_vibecheck_destroy(&w->result);
    vq_table_destroy(&w->table);
    void *parts[] = {w->conf_judges, w->samples, w->rows,   w->axes,
                     w->names,       w->first,   w->judges, w->outcomes};
    for (size_t i = 0; i < VQ_COUNT(parts); i++) {
        vq_free(parts[i]);
    }
    vq_free(w);
}

/* Freed with vq_free. */
static inline char *world_page(const struct world *w, const struct vq_report_story *story)
{
    struct vq_buf out;
    vq_buf_init(&out, VQ_PAGE_BYTES_MAX);
    vq_report_html(&w->r, story, &out);
    assert_int_equal(out.status, VQ_OK);
    assert_int_equal(strlen(out.at), out.bytes);
    return out.at;
}
