/* A small rubric run in memory for the tests of its parts: a table of CSV, a configuration, and
 * answers by a function. */
#pragma once

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "methods/rubric/numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RUBRICS_CRITERIA_MAX 8

struct rubrics {
    struct vq_config *config;
    struct vq_table *table;
    struct vq_criterion criteria[RUBRICS_CRITERIA_MAX];
    struct vq_rubric_data *data;
    struct vq_rubric *rubric;
    struct vq_rubric_reading *readings;
    struct vq_rubric_numbers *numbers;
};

static inline enum vq_status rubrics_try(struct rubrics *t, const char *yaml, const char *csv,
                                         struct vq_error *err)
{
    *t = (struct rubrics){.config = NULL};
    if (vq_config_parse(yaml, strlen(yaml), "run.yaml", "/base", NULL, 0, &t->config, err) !=
            VQ_OK ||
        vq_table_parse(vq_span_str(csv), VQ_TABLE_CSV, "d.csv", &t->table, err) != VQ_OK) {
        fail_msg("%s", err->text);
    }
    for (uint32_t i = 0; i < t->config->criteria_count; i++) {
        const struct vq_conf_criterion *c = &t->config->criteria[i];
        if (c->rubric == NULL) {
            t->criteria[i] = *vq_criterion_builtin(c->name);
            continue;
        }
        enum vq_rating_kind kind;
        assert_int_equal(vq_criterion_kind_find(vq_span_str(c->kind), &kind), VQ_OK);
        t->criteria[i] = (struct vq_criterion){c->name, kind, "", c->rubric};
    }
    struct vq_rubric_settings settings = {t->config, t->criteria, "d.csv"};
    return vq_rubric_data_create(&settings, t->table, &t->data, err);
}

static inline void rubrics_make(struct rubrics *t, const char *yaml, const char *csv)
{
    struct vq_error err = {.text = ""};
    if (rubrics_try(t, yaml, csv, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    struct vq_rubric_input input = {.criteria = t->criteria,
                                    .criteria_count = t->config->criteria_count,
                                    .rows = t->data->rows,
                                    .rows_count = t->data->rows_count,
                                    .outputs_count = t->data->outputs_count,
                                    .judges_count = t->config->judges_count,
                                    .rating = t->config->rating};
    assert_int_equal(vq_rubric_create(&input, &t->rubric, &err), VQ_OK);
}

/* What a judge answers; NULL: the call failed for good. */
typedef const char *(*rubrics_answer_fn)(const struct vq_rubric_place *place);

/* Walks the script with outcomes as the commit would derive them, reads every answer, computes. */
static inline void rubrics_rate(struct rubrics *t, rubrics_answer_fn answer)
{
    const struct vq_rubric_input *in = vq_rubric_input(t->rubric);
    struct vq_script script = vq_rubric_script(t->rubric);
    struct vq_error err = {.text = ""};
    t->readings = vq_alloc(vq_rubric_slots(t->rubric), sizeof(*t->readings));
    assert_non_null(t->readings);
    for (size_t i = 0; i < vq_rubric_slots(t->rubric); i++) {
        t->readings[i] = vq_rubric_unread(VQ_OUTCOME_NOT_NEEDED);
    }
    const struct vq_stage *stage;
    while (script.ops->next(script.ctx, &stage, &err) == VQ_OK && stage != NULL) {
        size_t cells = (size_t)stage->items_count * in->judges_count * stage->axes_count;
        uint8_t *outcomes = vq_alloc(cells * 2, 1);
        for (uint64_t task = 0; task < cells * 2; task++) {
            uint8_t asks = stage->cells == NULL ? VQ_CELL_ASKED : stage->cells[task / 2];
            struct vq_rubric_place place = vq_rubric_place(t->rubric, stage->no, task);
            bool second = task % 2 == 1;
            bool asked = asks == VQ_CELL_ASKED
                             ? stage->kind == VQ_STAGE_PAIRWISE || !second
                             : asks == (second ? VQ_CELL_ORDER_1 : VQ_CELL_ORDER_0);
            const char *text = asked ? answer(&place) : NULL;
            struct vq_rubric_reading *to = &t->readings[vq_rubric_slot(t->rubric, &place)];
            struct vq_span reasoning;
            outcomes[task] = asked ? VQ_OUTCOME_ERROR : VQ_OUTCOME_NOT_NEEDED;
            if (text != NULL) {
                outcomes[task] = (uint8_t)vq_verdict_of(stage->kind, vq_span_str(text),
                                                        vq_span_str("stop"), false);
                vq_rubric_read(in, &place, t->config->seed, vq_span_str(text), vq_span_str("stop"),
                               false, to, &reasoning);
            } else {
                *to = vq_rubric_unread((enum vq_outcome)outcomes[task]);
            }
        }
        assert_int_equal(script.ops->take_outcomes(script.ctx, outcomes, cells * 2, &err), VQ_OK);
        vq_free(outcomes);
    }
    struct vq_rubric_numbers_input input = {.rubric = t->rubric,
                                            .data = t->data,
                                            .readings = t->readings,
                                            .seed = t->config->seed,
                                            .draws = t->config->regression.bootstrap_draws};
    vq_stats_init();
    if (vq_rubric_compute(&input, &t->numbers, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
}

static inline void rubrics_free(struct rubrics *t)
{
    vq_rubric_numbers_destroy(&t->numbers);
    vq_free(t->readings);
    vq_rubric_destroy(&t->rubric);
    vq_rubric_data_destroy(&t->data);
    vq_table_destroy(&t->table);
    vq_config_destroy(&t->config);
}
