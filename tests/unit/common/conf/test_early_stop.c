/* The forms of judging.early_stop, its defaults, and what it refuses. */
#include "tests/unit/common/conf/parsing.h"

#include <math.h>
#include <stdio.h>

#define MINIMAL "data: data.csv\nmodels: [a, b]\njudges: [offline-a, offline-b]\n"

TEST(test_early_stop_forms)
{
    static const struct {
        const char *yaml;
        enum vq_early_stop rule;
        double alpha;
    } forms[] = {
        {"", VQ_EARLY_STOP_OFF, 0},
        {"method: discover\n", VQ_EARLY_STOP_EXACT, 0},
        {"method: discover\njudging: {early_stop: off}\n", VQ_EARLY_STOP_OFF, 0},
        {"method: discover\njudging: {early_stop: false}\n", VQ_EARLY_STOP_OFF, 0}, /* older */
        {"method: discover\njudging: {invalid: drop_row}\n", VQ_EARLY_STOP_OFF, 0},
        {"method: discover\njudging: {vibes_per_call: 2}\n", VQ_EARLY_STOP_OFF, 0},
        {"judging: {early_stop: exact}\n", VQ_EARLY_STOP_EXACT, 0},
        {"judging: {early_stop: final}\n", VQ_EARLY_STOP_FINAL, 0},
        {"judging: {early_stop: {alpha: 0.01}}\n", VQ_EARLY_STOP_EXACT, 0.01},
        {"judging: {early_stop: {alpha: 0.01, final: true}}\n", VQ_EARLY_STOP_FINAL, 0.01},
        {"judging: {early_stop_alpha: 0.05}\n", VQ_EARLY_STOP_EXACT, 0.05},
    };
    for (size_t i = 0; i < VQ_COUNT(forms); i++) {
        char yaml[1024];
        (void)snprintf(yaml, sizeof(yaml), "%s%s", MINIMAL, forms[i].yaml);
        struct vq_config *c = must_parse(yaml);
        assert_int_equal(c->judging.early_stop, forms[i].rule);
        assert_true(fabs(c->judging.early_stop_alpha - forms[i].alpha) < 1e-12);
        vq_config_destroy(&c);
    }
}

TEST(test_early_stop_is_refused)
{
    static const struct {
        const char *yaml, *words;
    } cases[] = {
        {"judging: {early_stop: on}\n", "off|exact|final"},
        {"judging: {early_stop: {alfa: 0.01}}\n", "a map of alpha"},
        {"judging: {early_stop: {alpha: 0.01, final: maybe}}\n", "a map of alpha"},
        {"judging: {early_stop: {alpha: 0.5}}\n", "from 0 to 0.2"},
        {"judging: {early_stop: off, early_stop_alpha: 0.01}\n", "it decides nothing"},
        {"judging: {early_stop: exact, invalid: drop_row}\n", "not with invalid: drop_row"},
        {"judging: {early_stop: exact, vibes_per_call: 3}\n", "Set early_stop_alpha"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        char yaml[1024];
        (void)snprintf(yaml, sizeof(yaml), "%s%s", MINIMAL, cases[i].yaml);
        struct vq_config *c = NULL;
        struct vq_error err = {0};
        enum vq_status status =
            vq_config_parse(yaml, strlen(yaml), "run.yaml", "/base", NULL, 0, &c, &err);
        assert_int_equal(status, VQ_INVALID);
        assert_non_null(strstr(err.text, "judging.early_stop"));
        assert_non_null(strstr(err.text, cases[i].words));
    }
}
