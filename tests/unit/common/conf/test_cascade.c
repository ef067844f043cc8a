/* The forms of `cascade`, its defaults, and what it refuses, with line and column. */
#include "tests/unit/common/conf/parsing.h"

#include "common/base/alloc.h"

#include <math.h>
#include <stdio.h>

#define BASE                                                                                       \
    "data: data.csv\nmodels: [a, b]\njudges:\n  - {name: small, model: offline-a}\n"               \
    "  - {name: large, model: offline-b}\n"

TEST(test_cascade_forms)
{
    static const struct {
        const char *yaml;
        double margin, audit;
        bool disagree;
        uint32_t first;
    } forms[] = {
        {"cascade: small\n", 0, 0.1, true, 0},
        {"cascade: {first: large}\n", 0, 0.1, true, 1},
        {"cascade: {first: small, audit: 0.05, escalate: {margin: 0.3}}\n", 0.3, 0.05, true, 0},
        {"cascade: {first: small, escalate: {margin: 1, disagree: off}}\n", 1, 0.1, false, 0},
    };
    for (size_t i = 0; i < VQ_COUNT(forms); i++) {
        char yaml[1024];
        (void)snprintf(yaml, sizeof(yaml), "%s%s", BASE, forms[i].yaml);
        struct vq_config *c = must_parse(yaml);
        assert_non_null(c->cascade);
        assert_true(fabs(c->cascade->escalate.margin - forms[i].margin) < 1e-12);
        assert_true(fabs(c->cascade->audit - forms[i].audit) < 1e-12);
        assert_int_equal(c->cascade->escalate.disagree, forms[i].disagree);
        assert_int_equal(vq_config_first_judge(c), forms[i].first);
        /* only the judge whose margin counts is asked for log-probabilities */
        assert_int_equal(c->judges[forms[i].first].logprobs, forms[i].margin > 0);
        assert_false(c->judges[1 - forms[i].first].logprobs);
        vq_config_destroy(&c);
    }
    struct vq_config *c = must_parse(BASE);
    assert_null(c->cascade);
    vq_config_destroy(&c);
    c = must_parse(BASE "method: discover\ncascade: small\n");
    assert_int_equal(c->judging.early_stop, VQ_EARLY_STOP_OFF);
    vq_config_destroy(&c);
}

TEST(test_cascade_is_written)
{
    struct vq_config *c = must_parse(BASE "cascade: {first: small, audit: 0.25}\n");
    char *yaml;
    size_t bytes;
    assert_int_equal(vq_config_write(c, &yaml, &bytes), VQ_OK);
    struct vq_config *again = must_parse(yaml);
    assert_non_null(again->cascade);
    assert_string_equal(again->cascade->first, "small");
    assert_true(fabs(again->cascade->audit - 0.25) < 1e-12);
    vq_free(yaml);
    vq_config_destroy(&again);
    vq_config_destroy(&c);
}

TEST(test_cascade_is_refused)
{
    static const struct {
        const char *yaml, *place, *words;
    } cases[] = {
        {"cascade: smal\n", "line 6, column 1, cascade.first", "did you mean \"small\""},
        {"cascade: {first: other}\n", "line 6, column 11, cascade.first", "name \"small\""},
        {"cascade: {audit: 0.1}\n", "line 6", "needs `first`"},
        {"cascade: {first: small, audit: 0}\n", "cascade.audit", "from 0.01 to 1"},
        {"cascade: {first: small, audit: 1.5}\n", "cascade.audit", "from 0.01 to 1"},
        {"cascade: {first: small, escalate: {margin: 2}}\n", "cascade.escalate.margin",
         "from 0 to"},
        {"cascade: {first: small, escalat: {margin: 0.1}}\n", "line 6", "escalat"},
        {"cascade: {first: small, escalate: {dissagree: on}}\n", "line 6", "dissagree"},
        {"cascade: small\njudging: {vibes_per_call: 3}\n", "line 7", "not with cascade: joint"},
        {"cascade: small\njudging: {early_stop: exact}\n", "line 7", "not with cascade"},
        {"cascade: small\njudging: {invalid: drop_row}\n", "line 7", "not with cascade"},
        {"cascade: small\njudging: {pair_rule: forward}\n", "line 6", "no orders can disagree"},
        {"cascade: small\nreport: {by: topic}\n", "line 7", "not with cascade"},
        {"cascade: small\nvibecheck: {compare_presets: on}\n", "line 7", "not with cascade"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        char yaml[1024];
        (void)snprintf(yaml, sizeof(yaml), "%s%s", BASE, cases[i].yaml);
        struct vq_config *c = NULL;
        struct vq_error err = {0};
        enum vq_status status = parse(yaml, &c, &err);
        bool right = status == VQ_INVALID && strstr(err.text, cases[i].place) != NULL &&
                     strstr(err.text, cases[i].words) != NULL;
        if (!right) {
            fail_msg("%s: %s", cases[i].yaml, err.text);
        }
    }
}

TEST(test_cascade_needs_two_judges_of_two_models)
{
    static const struct {
        const char *yaml, *words;
    } cases[] = {
        {"data: d.csv\nmodels: [a, b]\njudges: [offline-a]\ncascade: offline-a\n", "there is 1"},
        {"data: d.csv\nmodels: [a, b]\njudges: [offline-a, offline-b, {name: c, model: "
         "offline-b}]\n"
         "cascade: c\n",
         "there are 3"},
        {"data: d.csv\nmodels: [a, b, c]\njudges: [offline-a, offline-b]\ncascade: offline-a\n",
         "not with cascade: it estimates the mean score of two models"},
        {"data: d.csv\nmodels: [a]\njudges: [offline-a, offline-b]\ncascade: offline-a\n"
         "criteria: [refusal]\n",
         "`method: judge` rates by criteria"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_config *c = NULL;
        struct vq_error err = {0};
        enum vq_status status = parse(cases[i].yaml, &c, &err);
        if (status != VQ_INVALID || strstr(err.text, cases[i].words) == NULL) {
            fail_msg("%s: %s", cases[i].yaml, err.text);
        }
    }
}
