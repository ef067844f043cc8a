/* What is shown of more than two models: the matrix in results.json, the page and the terminal;
 * hostile names stay text; one order everywhere. */
#include "tests/unit/methods/vibecheck/ranked.h"

#include "methods/vibecheck/report/page_parts.h"
#include "methods/vibecheck/report/ranking.h"
#include "methods/vibecheck/report/warnings.h"
#include "tests/unit/methods/report/page_data.h"

#include <jansson.h>

#define HOSTILE "</td><script>alert(1)</script>"

enum {
    MODELS = 3,
    PROMPTS = 40,
    PAIRS = 3
};

struct shown {
    struct planted *w;
    struct vq_dataset dataset;
    struct vq_conf_judge conf_judge;
    struct vq_report_judge judge;
    struct vq_hash template;
    struct vq_vibecheck *result;
    struct vq_report_input r;
};

static void show(struct shown *s, const double *strength)
{
    static char names[MODELS][40] = {"warm", "plain", HOSTILE};
    *s = (struct shown){.w = ranked_create(MODELS, PROMPTS, 1, 2, strength, 77)};
    for (int k = 0; k < MODELS; k++) {
        s->w->config.models[k] = names[k];
    }
    s->w->axes[0] = (struct vq_axis){"Tone", "low", "high"};
    s->w->axes[1] = (struct vq_axis){HOSTILE, "low", "high"};
    s->conf_judge = (struct vq_conf_judge){.name = (char *)"j", .model = (char *)"m", .seed = -1};
    s->w->config.judges = &s->conf_judge;
    struct vq_error err = {0};
    s->dataset = (struct vq_dataset){.train_count = PROMPTS * PAIRS / 2,
                                     .test_count = PROMPTS * PAIRS / 2,
                                     .questions_count = PROMPTS,
                                     .models_count = MODELS};
    s->dataset.samples = vq_alloc(PROMPTS * PAIRS, sizeof(*s->dataset.samples));
    s->dataset.pairs = vq_alloc(1, sizeof(*s->dataset.pairs));
    assert_true(s->dataset.samples != NULL && s->dataset.pairs != NULL);
    assert_int_equal(vq_pairs_plan(NULL, (const char *const *)s->w->config.models, MODELS, 1,
                                   PROMPTS, 0, s->dataset.pairs, &err),
                     VQ_OK);
    for (uint32_t i = 0; i < PROMPTS * PAIRS; i++) {
        memcpy(s->dataset.samples[i].model, s->w->rows[i].model, 2);
    }
    s->result = planted_compute(s->w);
    s->judge = (struct vq_report_judge){.name = "j", .model = "m", .identity = "i"};
    s->r = (struct vq_report_input){.config = &s->w->config,
                                    .dataset = &s->dataset,
                                    .in = &s->w->in,
                                    .result = s->result,
                                    .judges = &s->judge,
                                    .judge_kind = "model",
                                    .judge_template = &s->template};
}

static void hide(struct shown *s)
{
    vq_free(s->dataset.samples);
    vq_free(s->dataset.pairs);
    vq_vibecheck_destroy(&s->result);
    planted_destroy(s->w);
}

static const double apart[6] = {0.2, -1.5, 1.6, 0, 1.2, -1.2};

static void the_matrix_in_results_json(void **state)
{
    (void)state;
    struct shown s;
    show(&s, apart);
    struct vq_buf out;
    vq_buf_init(&out, 1u << 22);
    vq_report_json(&s.r, &out);
    json_t *root = json_loadb(out.at, out.bytes, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_int_equal(json_array_size(json_object_get(root, "models")), MODELS);
    assert_null(json_object_get(root, "power"));
    const json_t *compared = json_object_get(json_object_get(root, "pairs"), "compared");
    assert_int_equal(json_array_size(compared), PAIRS);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(compared, 2), "rows")),
                     PROMPTS);
    const json_t *ranking = json_object_get(root, "ranking");
    const json_t *matrix = json_object_get(ranking, "matrix");
    assert_int_equal(json_array_size(matrix), 2 * MODELS);
    const uint32_t ranks[2 * MODELS] = {2, 3, 1, 2, 1, 3};
    for (size_t i = 0; i < 2 * MODELS; i++) {
        const json_t *cell = json_array_get(matrix, i);
        assert_int_equal(json_integer_value(json_object_get(cell, "vibe")), i / MODELS + 1);
        assert_int_equal(json_integer_value(json_object_get(cell, "rank")), ranks[i]);
        assert_int_equal(json_array_size(json_object_get(cell, "strength_ci95")), 2);
        assert_true(json_is_real(json_object_get(cell, "mm_coefficient")));
        assert_int_equal(json_array_size(json_object_get(cell, "mm_coefficient_ci95")), 2);
    }
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(json_object_get(ranking, "vibes"), 0), "status")),
                        "ok");
    const json_t *fit = json_object_get(ranking, "multinomial");
    assert_string_equal(json_string_value(json_object_get(fit, "degenerate")), "no");
    assert_null(json_object_get(json_object_get(root, "mm"), "separation"));
    json_decref(root);
    vq_buf_free(&out);
    hide(&s);
}

static void the_page(void **state)
{
    (void)state;
    struct shown s;
    show(&s, apart);
    struct vq_buf out;
    vq_buf_init(&out, VQ_PAGE_BYTES_MAX);
    vq_report_html(&s.r, NULL, &out);
    vq_buf_putc(&out, '\0');
    assert_int_equal(out.status, VQ_OK);
    assert_null(strstr(out.at, HOSTILE));
    json_t *data = page_data(out.at);
    json_t *results = json_object_get(data, "results");
    json_t *matrix = json_object_get(json_object_get(results, "ranking"), "matrix");
    assert_int_equal(json_array_size(matrix), 2 * MODELS);
    assert_null(json_object_get(data, "rows")); /* of two models only */
    assert_non_null(strstr(out.at, "3 models were compared in pairs: all pairs."));
    json_decref(data);
    vq_buf_free(&out);
    hide(&s);
}

static void the_terminal(void **state)
{
    (void)state;
    struct shown s;
    show(&s, apart);
    struct vq_terminal plain = {.columns = 80};
    struct vq_buf out;
    vq_buf_init(&out, 1u << 20);
    vq_report_table(&s.r, &plain, &out);
    vq_buf_putc(&out, '\0');
    assert_non_null(
        strstr(out.at, "3 models, all pairs: 60 train and 60 test comparisons of 40 prompts"));
    const char *line = strstr(out.at, "    " HOSTILE " +");
    assert_non_null(line);
    const char *next = strstr(line, "> warm ");
    assert_true(next != NULL && strstr(next, "> plain -") != NULL);
    assert_non_null(strstr(out.at, "baseline 0.333"));
    vq_buf_free(&out);
    hide(&s);
}

/* Equal models: no sentence, no ">". Nothing is said to be apart that is not. */
static void equal_models(void **state)
{
    (void)state;
    const double none[6] = {0};
    struct shown s;
    show(&s, none);
    for (uint32_t v = 0; v < 2; v++) {
        uint32_t order[VQ_MODELS_MAX];
        vq_ranking_order(s.result->ranking, v, order);
        assert_false(vq_ranking_apart(s.result->ranking, v, order[0], order[2]));
    }
    hide(&s);
}

static void warnings_of_rankings(void **state)
{
    (void)state;
    const double far[6] = {40, 0, -40, 40, 0, -40};
    struct shown s;
    show(&s, far);
    assert_int_equal(s.result->ranking->vibe[0].status, VQ_DAVIDSON_SEPARATED);
    struct vq_warnings *list;
    assert_int_equal(vq_warnings_create(&s.r, &list), VQ_OK);
    bool found = false;
    uint32_t fits = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        found |= strcmp(list->at[i].code, "ranking_separated") == 0 && list->at[i].vibes_count == 2;
        bool fit = strcmp(list->at[i].code, "fit_separated") == 0;
        assert_true(!fit ||
                    strstr(list->at[i].text, "Its coefficients have no intervals.") != NULL);
        fits += fit;
    }
    assert_true(found);
    assert_int_equal(fits, 1); /* of model matching; there are no preferences */
    vq_warnings_destroy(&list);
    hide(&s);
}

int main(void)
{
    vq_stats_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_matrix_in_results_json),
        cmocka_unit_test(the_page),
        cmocka_unit_test(the_terminal),
        cmocka_unit_test(equal_models),
        cmocka_unit_test(warnings_of_rankings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
