/* The result files of a small run: their shape, that missing stays empty, that the same inputs give
 * the same bytes. */
#include "tests/unit/test.h"

#include "methods/vibecheck/report/report.h"

#include "common/base/alloc.h"
#include "methods/stats/stats.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 8u
#define JUDGES  2u
#define VIBES   2u

struct world {
    struct vq_config config;
    struct vq_conf_judge conf_judges[JUDGES];
    struct vq_table *table;
    struct vq_data_row samples[SAMPLES];
    struct vq_dataset dataset;
    struct vq_row rows[SAMPLES];
    struct vq_axis axes[VIBES];
    uint8_t first[SAMPLES * JUDGES];
    uint8_t outcomes[SAMPLES * JUDGES * VIBES * 2];
    struct vq_vibecheck_input in;
    struct vq_vibecheck *result;
    struct vq_report_judge judges[JUDGES];
    struct vq_hash template_hash;
    struct vq_report_input r;
};

static const char data[] = "question,a,b,topic,preference\n"
                           "q1,x,y,one,a\nq2,x,y,\"two, quoted\",b\nq3,x,y,t,a\nq4,x,y,t,a\n"
                           "q5,x,y,t,a\nq6,x,y,t,b\nq7,x,y,t,a\nq8,x,y,t,\n";

static void fill(struct world *w)
{
    w->config = (struct vq_config){
        .models = {"a", "b"}, .judges = w->conf_judges, .judges_count = JUDGES, .seed = 42};
    w->config.judging.audit_share = 0.1;
    w->config.gates.separability_min = 0.05;
    w->config.gates.overlap = VQ_CONF_OVERLAP_OFF;
    w->config.regression.bootstrap_draws = 50;
    w->conf_judges[0] = (struct vq_conf_judge){.name = "j1", .model = "m1", .seed = -1};
    w->conf_judges[1] = (struct vq_conf_judge){.name = "j2", .model = "m2", .seed = 3};
    for (uint32_t i = 0; i < SAMPLES; i++) {
        w->samples[i] = (struct vq_data_row){.record = i + 1,
                                             .question = i,
                                             .preference = i == 7   ? VQ_PREFER_NONE
                                                           : i == 1 ? VQ_PREFER_B
                                                                    : VQ_PREFER_A,
                                             .split = i < 4 ? VQ_SPLIT_TRAIN : VQ_SPLIT_TEST};
        w->rows[i] = (struct vq_row){.group = i,
                                     .preference = i == 7   ? 0
                                                   : i == 1 ? -1
                                                            : 1,
                                     .test = i >= 4};
        for (uint32_t t = 0; t < JUDGES * VIBES * 2; t++) {
            w->outcomes[i * JUDGES * VIBES * 2 + t] =
                t % 2 == 0 ? VQ_OUTCOME_FIRST : VQ_OUTCOME_SECOND;
        }
    }
    w->outcomes[0] = VQ_OUTCOME_REFUSED; /* sample 0, judge 0, vibe 0, order 0 */
    w->axes[0] = (struct vq_axis){"First", "low one", "high one"};
    w->axes[1] = (struct vq_axis){"Second", "low two", "high two"};
}

static int setup(void **state)
{
    vq_stats_init();
    struct world *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    fill(w);
    struct vq_error err = {0};
    assert_int_equal(vq_table_parse(vq_span_str(data), VQ_TABLE_CSV, "d.csv", &w->table, &err),
                     VQ_OK);
    w->dataset = (struct vq_dataset){
        .samples = w->samples,
        .train_count = 4,
        .test_count = 4,
        .records_read = {SAMPLES, 0},
        .has_preference = true,
        .tables = {w->table, NULL},
        .columns = {{.prompt = 0, .model = {1, 2}, .preference = 4, .group = VQ_COLUMN_NONE}}};
    w->in = (struct vq_vibecheck_input){.config = &w->config,
                                        .grid = {SAMPLES, JUDGES, VIBES},
                                        .outcomes = w->outcomes,
                                        .rows = w->rows,
                                        .axes = w->axes,
                                        .first_order = w->first};
    assert_int_equal(vq_vibecheck_compute(&w->in, &w->result, &err), VQ_OK);
    w->judges[0] = (struct vq_report_judge){.name = "j1",
                                            .model = "m1",
                                            .identity = "host/v1",
                                            .returned = {"m1-0613"},
                                            .returned_count = 1};
    w->judges[1] = (struct vq_report_judge){.name = "j2", .model = "m2", .identity = "host/v1"};
    w->r = (struct vq_report_input){.config = &w->config,
                                    .dataset = &w->dataset,
                                    .in = &w->in,
                                    .result = w->result,
                                    .judges = w->judges,
                                    .judge_kind = "model",
                                    .judge_template = &w->template_hash,
                                    .data_hash = {"abc", ""}};
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    vq_vibecheck_destroy(&w->result);
    vq_table_destroy(&w->table);
    vq_free(w);
    return 0;
}

static char *text_of(struct world *w,
                     void (*write)(const struct vq_report_input *, struct vq_buf *))
{
    struct vq_buf out;
    vq_buf_init(&out, 1u << 20);
    write(&w->r, &out);
    assert_int_equal(out.status, VQ_OK);
    return out.at; /* freed with vq_free */
}

/* Sample by sample: the same bytes as at once. */
static char *rows_of(struct world *w, void (*write)(const struct vq_report_input *, uint32_t,
                                                    uint32_t, struct vq_buf *))
{
    struct vq_buf whole, pieces;
    vq_buf_init(&whole, 1u << 20);
    vq_buf_init(&pieces, 1u << 20);
    uint32_t samples = w->r.in->grid.samples;
    write(&w->r, 0, samples, &whole);
    for (uint32_t i = 0; i < samples; i++) {
        write(&w->r, i, i + 1, &pieces);
    }
    assert_int_equal(whole.status, VQ_OK);
    assert_string_equal(whole.at, pieces.at);
    vq_buf_free(&pieces);
    return whole.at; /* freed with vq_free */
}

TEST_WITH(json_has_the_shape_of_format_1, setup, teardown)
{
    char *text = text_of(*state, vq_report_json);
    json_error_t bad;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &bad);
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "format")), 1);
    static const char *const keys[] = {"models", "judges", "judge_kind", "data", "settings",
                                       "vibes",  "mm",     "pp",         "audit"};
    for (size_t i = 0; i < VQ_COUNT(keys); i++) {
        assert_non_null(json_object_get(root, keys[i]));
    }
    assert_null(json_object_get(root, "judge_note"));
    const char *note = json_string_value(json_object_get(root, "intervals_note"));
    assert_non_null(note);
    assert_non_null(strstr(note, "not that of judges"));
    assert_non_null(strstr(note, "hold C fixed"));
    json_t *vibe = json_array_get(json_object_get(root, "vibes"), 0);
    json_t *sep = json_object_get(vibe, "separability");
    assert_true(json_number_value(json_object_get(sep, "test")) == 1.0);
    assert_int_equal(json_array_size(json_object_get(sep, "bounds")), 2);
    json_t *settings = json_object_get(root, "settings");
    assert_null(json_object_get(settings, "lazy_swap")); /* it belongs to the audit */
    json_t *judges = json_object_get(settings, "judges");
    assert_true(json_is_null(json_object_get(json_array_get(judges, 0), "temperature")));
    assert_int_equal(json_integer_value(json_object_get(json_array_get(judges, 1), "seed")), 3);
    json_decref(root);
    char *again = text_of(*state, vq_report_json);
    assert_string_equal(text, again);
    vq_free(text);
    vq_free(again);
}

TEST_WITH(a_missing_score_is_an_empty_cell, setup, teardown)
{
    char *text = rows_of(*state, vq_report_scores_csv);
    assert_non_null(strstr(text, "1,0,train,1,j1,refused,B,,missing\n"));
    assert_non_null(strstr(text, "1,0,train,1,j2,A,B,1,agreed\n"));
    assert_null(strstr(text, "nan"));
    vq_free(text);
}

TEST_WITH(rows_carry_the_other_columns, setup, teardown)
{
    char *text = rows_of(*state, vq_report_rows_csv);
    assert_true(
        strncmp(text, "record,file,split,preference,x_1,x_2,mm_margin,mm_correct,pp_margin,topic\n",
                70) == 0);
    assert_non_null(strstr(text, "\"two, quoted\"\n"));
    assert_non_null(strstr(text, "\n8,0,test,,1,1,"));
    vq_free(text);
}

TEST_WITH(the_table_fits_a_terminal, setup, teardown)
{
    struct world *w = *state;
    struct vq_terminal terminal = {.columns = 80};
    struct vq_buf out;
    vq_buf_init(&out, 1u << 20);
    vq_report_table(&w->r, &terminal, &out);
    assert_int_equal(out.status, VQ_OK);
    for (const char *line = out.at; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        assert_true(n <= 80);
        line += n + (line[n] == '\n');
    }
    assert_non_null(strstr(out.at, "low one -> high one"));
    assert_non_null(strstr(out.at, "1 judge score is missing. It is left out"));
    assert_null(strstr(out.at, "plumbing"));
    vq_buf_clear(&out);
    w->r.judge_kind = "offline-lexical";
    vq_report_table(&w->r, &terminal, &out);
    assert_non_null(strstr(out.at, "plumbing"));
    vq_buf_free(&out);
}

TEST(kept_vibes_lead_by_size)
{
    struct vq_vibe_metrics m[4] = {{.kept = true, .train.sep = 0.2},
                                   {.kept = false, .train.sep = 0.9},
                                   {.kept = true, .train.sep = -0.7},
                                   {.kept = true, .train.sep = 0.2}};
    struct vq_vibecheck v = {.vibes = 4, .vibe = m, .kept_count = 3};
    uint32_t order[4];
    vq_report_order(&v, order);
    const uint32_t expected[4] = {2, 0, 3, 1};
    assert_memory_equal(order, expected, sizeof(order));
}
