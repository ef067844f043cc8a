/* Position resolution, line by line of the method's table, and what is missing. */
#include "tests/unit/test.h"

#include "methods/vibecheck/numbers/scores.h"

#include <math.h>

#define A  VQ_OUTCOME_FIRST
#define B  VQ_OUTCOME_SECOND
#define EQ VQ_OUTCOME_EQUAL
#define NA VQ_OUTCOME_NA
#define UN VQ_OUTCOME_UNSURE
#define NN VQ_OUTCOME_NOT_NEEDED
#define RF VQ_OUTCOME_REFUSED
#define TR VQ_OUTCOME_TRUNCATED
#define UP VQ_OUTCOME_UNPARSEABLE
#define UV VQ_OUTCOME_UNAVAILABLE
#define __ VQ_SCORE_MISSING

struct line {
    enum vq_outcome first, second;
    int8_t strict, lenient, forward;
};

/* raw pairs (s0, s1) of the method: +1 names the output shown first */
static const struct line lines[] = {
    {A, B, +1, +1, +1},
    {B, A, -1, -1, -1},
    {A, A, 0, 0, +1},
    {B, B, 0, 0, -1},
    {A, EQ, 0, +1, +1},
    {EQ, B, 0, +1, 0},
    {B, EQ, 0, -1, -1},
    {EQ, A, 0, -1, 0},
    {EQ, EQ, 0, 0, 0},
    {NA, NA, 0, 0, 0},
    {A, UN, 0, +1, +1},
    {NA, A, 0, -1, 0},
    /* a failed order: settled by the other one's equal, else missing; never a number of its own */
    {EQ, RF, 0, __, 0},
    {RF, EQ, 0, __, __},
    {NA, UV, 0, __, 0},
    {UP, UN, 0, __, __},
    {A, RF, __, __, +1},
    {RF, A, __, __, __},
    {B, TR, __, __, -1},
    {UV, B, __, __, __},
    {RF, RF, __, __, __},
    {UP, UV, __, __, __},
    /* lazy swap */
    {EQ, NN, 0, __, 0},
    {NN, NA, 0, __, __},
};

TEST(resolves_every_pair)
{
    for (size_t i = 0; i < VQ_COUNT(lines); i++) {
        const struct line *l = &lines[i];
        struct vq_cell_score s = vq_score_cell(VQ_PAIR_STRICT, l->first, l->second);
        assert_int_equal(s.score, l->strict);
        assert_int_equal(s.reason == VQ_SCORE_FAILED, l->strict == __);
        assert_int_equal(vq_score_cell(VQ_PAIR_LENIENT, l->first, l->second).score, l->lenient);
        assert_int_equal(vq_score_cell(VQ_PAIR_FORWARD, l->first, l->second).score, l->forward);
    }
}

TEST(swapping_the_models_negates)
{
    const enum vq_outcome all[] = {A, B, EQ, NA, UN, RF, TR, UP, UV};
    const enum vq_pair_rule rules[] = {VQ_PAIR_STRICT, VQ_PAIR_LENIENT};
    for (size_t r = 0; r < VQ_COUNT(rules); r++) {
        for (size_t i = 0; i < VQ_COUNT(all); i++) {
            for (size_t j = 0; j < VQ_COUNT(all); j++) {
                int8_t one = vq_score_cell(rules[r], all[i], all[j]).score;
                int8_t other = vq_score_cell(rules[r], all[j], all[i]).score;
                assert_int_equal(one, other == __ ? __ : -other);
            }
        }
    }
}

TEST(means_over_the_judges_that_have_a_score)
{
    struct vq_grid grid = {.samples = 2, .judges = 2, .vibes = 1};
    /* sample 0: +1 and missing; sample 1: missing and missing */
    const uint8_t outcomes[8] = {A, B, A, RF, RF, A, UV, UV};
    struct vq_scores *s;
    assert_int_equal(vq_scores_create(&grid, VQ_PAIR_STRICT, outcomes, &s), VQ_OK);
    assert_int_equal(vq_scores_at(s, 0, 0, 0), 1);
    assert_int_equal(vq_scores_at(s, 0, 0, 1), VQ_SCORE_MISSING);
    assert_true(s->x[0] == 1.0);
    assert_true(isnan(s->x[1]));
    vq_scores_destroy(&s);
    assert_null(s);
}
