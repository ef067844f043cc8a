/* Configurations of more than two models: what may be left out, and every refusal with its place
 * and what to do. */
#include "common/base/alloc.h"
#include "tests/unit/common/conf/parsing.h"

#define HEAD  "data: d.csv\njudges: [offline-a]\n"
#define THREE HEAD "models: [a, b, c]\n"

TEST(what_may_be_left_out)
{
    struct vq_config *c = must_parse(THREE);
    assert_int_equal(c->models_count, 3);
    assert_string_equal(c->models[2], "c");
    assert_true(vq_config_ranks(c));
    assert_null(c->pairs);
    char *yaml;
    size_t bytes;
    assert_int_equal(vq_config_write(c, &yaml, &bytes), VQ_OK);
    assert_null(strstr(yaml, "pairs:"));
    vq_free(yaml);
    vq_config_destroy(&c);
    c = must_parse(THREE "pairs: all\n");
    assert_int_equal(c->pairs->design, VQ_PAIRS_ALL);
    vq_config_destroy(&c);
    c = must_parse(THREE "pairs: {design: baseline, baseline: b}\n");
    assert_string_equal(c->pairs->baseline, "b");
    vq_config_destroy(&c);
    c = must_parse(THREE "pairs: {design: incomplete, calls: 5000}\n");
    assert_int_equal(c->pairs->calls, 5000);
    vq_config_destroy(&c);
    c = must_parse(HEAD "models: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]\n");
    assert_int_equal(c->models_count, 16);
    vq_config_destroy(&c);
    c = must_parse(HEAD "models: [a, b]\n");
    assert_false(vq_config_ranks(c));
    vq_config_destroy(&c);
}

TEST(refusals)
{
    static const struct {
        const char *yaml, *place, *why;
    } cases[] = {
        {HEAD "models: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q]\n", "line 3",
         "at most 16"},
        {HEAD "models: [a, b, a]\n", "models[2]", "already models[0]"},
        {HEAD "models: [a, b]\npairs: all\n", "pairs", "three or more models"},
        {THREE "criteria: [refusal]\n", "models", "must be one or two"},
        {THREE "pairs: {design: baseline}\n", "pairs.baseline", "missing"},
        {THREE "pairs: {design: baseline, baseline: d}\n", "pairs.baseline",
         "not one of the models"},
        {THREE "pairs: {baseline: a}\n", "pairs.baseline", "only with design: baseline"},
        {THREE "pairs: {per_prompt: 1}\n", "pairs.per_prompt", "only with design: incomplete"},
        {THREE "pairs: {design: incomplete}\n", "pairs", "either per_prompt"},
        {THREE "pairs: {design: incomplete, per_prompt: 1, calls: 9}\n", "pairs",
         "either per_prompt"},
        {THREE "pairs: {design: incomplete, per_prompt: 4}\n", "pairs.per_prompt", "have 3 pairs"},
        {THREE "method: discover\npairs: {design: incomplete, calls: 9}\n", "pairs.calls",
         "pairs.per_prompt instead"},
        {THREE "pairs: {design: swiss}\n", "pairs.design", "all"},
        {THREE "judging: {early_stop: exact}\n", "judging.early_stop", "not with 3 models"},
        {THREE "report: {by: topic}\n", "report.by", "not with 3 models"},
        {THREE "regression: {estimator: lasso}\n", "regression.estimator", "not with 3 models"},
        {THREE "regression: {cv: paper}\n", "regression.cv", "not with 3 models"},
        {THREE "regression: {standardise: on}\n", "regression.standardise", "not with 3 models"},
        {THREE "vibecheck: {compare_presets: on}\n", "vibecheck.compare_presets",
         "not with 3 models"},
        {HEAD "data: {path: d.csv, prompt: c}\nmodels: [a, b, c]\n", "data", ""},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_config *config = NULL;
        struct vq_error err = {.text = ""};
        enum vq_status status = parse(cases[i].yaml, &config, &err);
        if (status != VQ_INVALID || strstr(err.text, cases[i].place) == NULL ||
            strstr(err.text, cases[i].why) == NULL) {
            fail_msg("%zu: %s: \"%s\"", i, vq_status_name(status), err.text);
        }
    }
}
