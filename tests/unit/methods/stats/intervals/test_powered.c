/* Means of few labels and many scores: values by hand, and coverage over simulated worlds. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/intervals/powered.h"

#include <stdio.h>

static struct vq_powered powered(const double *score, const double *label, size_t n,
                                 const uint32_t *groups)
{
    struct vq_powered got;
    assert_int_equal(vq_powered_mean(score, label, n, groups, &got), VQ_OK);
    return got;
}

TEST(test_by_hand)
{
    const double score[] = {1, 1, 1, -1, 1, 1, -1, -1, NAN};
    const double label[] = {1, -1, 1, -1, NAN, NAN, NAN, NAN, 1};
    struct vq_powered got = powered(score, label, 9, NULL);
    assert_int_equal(got.labelled, 4);
    assert_int_equal(got.scored, 8);
    assert_near(got.judge, 0.25, 0, 1e-15);
    /* cov = 1/2 - 1/2 * 0 = 1/2; var = 1 - 1/16; w = 1/2 / (2 * 15/16) = 4/15; 0 + 0 - 4/15 *
     * 1/2 */
    assert_near(got.weight, 4.0 / 15, 0, 1e-15);
    assert_near(got.mean, -2.0 / 15, 0, 1e-15);
    assert_true(isnan(got.ci95.lo)); /* four prompts are too few */
    const double none[] = {NAN, NAN, NAN};
    got = powered(score, none, 3, NULL);
    assert_true(isnan(got.mean) && isnan(got.ci95.hi) && got.labelled == 0);
    const double all[] = {1, -1, 1};
    got = powered(score, all, 3, NULL);
    assert_near(got.mean, 1.0 / 3, 0, 1e-15);
    assert_near(got.weight, 0, 0, 0);
}

/* A judge that says nothing of the labels has little weight, one that says them again has most of
 * it. */
TEST(test_weight)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 3);
    double good[2000], bad[2000], label[2000];
    for (size_t i = 0; i < 2000; i++) {
        double truth = vq_rng_below(&rng, 2) == 0 ? 1 : -1;
        good[i] = truth;
        bad[i] = vq_rng_below(&rng, 2) == 0 ? 1 : -1;
        label[i] = i < 200 ? truth : NAN;
    }
    struct vq_powered with = powered(good, label, 2000, NULL);
    struct vq_powered without = powered(bad, label, 2000, NULL);
    assert_true(with.weight > 0.85);
    assert_true(without.weight < 0.15);
    assert_true(with.ci95.hi - with.ci95.lo < 0.5 * (without.ci95.hi - without.ci95.lo));
}

/* Known rows count with weight 1, whatever their score; the labelled ones stand for the rest. */
TEST(test_known_by_hand)
{
    const double score[] = {NAN, 1, -1, 1, 1, -1, -1, 1};
    const double label[] = {-1, -1, NAN, 1, -1, -1, -1, NAN};
    const bool known[] = {true, true, true, false, false, false, false, false};
    struct vq_powered got;
    assert_int_equal(vq_powered_known(score, label, known, 8, NULL, &got), VQ_OK);
    assert_int_equal(got.known, 2); /* one has no label */
    assert_int_equal(got.labelled, 4);
    assert_int_equal(got.scored, 7);
    /* cov = 1/2 - 0 * -1/2; var 1; w = 1/2 / (1 + 4/1); rest: 1/10 * 1 - 1/2; (-2 + 5 m) / 7 */
    assert_near(got.weight, 0.1, 0, 1e-15);
    assert_near(got.mean, (-2 + 5 * -0.4) / 7, 0, 1e-15);
    assert_true(isnan(got.ci95.lo) && isnan(got.rows_ci95.lo));
    const bool all[] = {true, true, false, true, true, true, true, false};
    const double none[] = {NAN, 0, NAN, 0, 0, 0, 0, NAN};
    assert_int_equal(vq_powered_known(none, label, all, 8, NULL, &got), VQ_OK);
    assert_near(got.mean, -4.0 / 6, 0, 1e-15); /* nothing is left to estimate */
    assert_near(got.rows_ci95.lo, got.mean, 0, 1e-15);
    assert_near(got.rows_ci95.hi, got.mean, 0, 1e-15);
}

struct world {
    size_t rows, labelled, repeats; /* rows of one prompt */
    double up;                      /* share of labels +1 */
    double right;                   /* of scores that are the label; else up with `bias` */
    double bias;
};

/* Share of 95 % intervals that hold the mean label, and of those of the judge alone that would. */
static double coverage(const struct world *w, uint64_t seed, double *ret_width)
{
    enum {
        WORLDS = 2000
    };
    double *score = calloc(w->rows, sizeof(*score));
    double *label = calloc(w->rows, sizeof(*label));
    uint32_t *group = calloc(w->rows, sizeof(*group));
    double truth = 2 * w->up - 1;
    size_t held = 0;
    *ret_width = 0;
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    for (int k = 0; k < WORLDS; k++) {
        double is = 0;
        for (size_t i = 0; i < w->rows; i++) {
            if (i % w->repeats == 0) { /* a prompt's rows have one label */
                is = vq_rng_unit(&rng) < w->up ? 1 : -1;
            }
            group[i] = (uint32_t)(i / w->repeats);
            score[i] = vq_rng_unit(&rng) < w->right ? is : vq_rng_unit(&rng) < w->bias ? 1 : -1;
            label[i] = i < w->labelled ? is : NAN;
        }
        struct vq_powered got = powered(score, label, w->rows, group);
        held += got.ci95.lo <= truth && truth <= got.ci95.hi;
        *ret_width += (got.ci95.hi - got.ci95.lo) / WORLDS;
    }
    free(score);
    free(label);
    free(group);
    return (double)held / WORLDS;
}

TEST(test_coverage)
{
    static const struct world worlds[] = {
        {400, 30, 1, 0.6, 0.8, 0.9},  {400, 50, 1, 0.6, 0.8, 0.9},    {400, 100, 1, 0.5, 0.6, 0.2},
        {2000, 50, 1, 0.75, 0.9, 1.}, {2000, 200, 1, 0.55, 0.5, 0.5}, {800, 120, 2, 0.6, 0.8, 0.9},
        {200, 100, 1, 0.4, 0.95, 0.}, {300, 40, 1, 0.7, 0.7, 1.0}};
    for (size_t i = 0; i < VQ_COUNT(worlds); i++) {
        double width, got = coverage(&worlds[i], 100 + i, &width);
        printf("rows %zu, labelled %zu, repeats %zu, up %.2f, right %.2f, bias %.1f: coverage "
               "%.3f, width %.3f\n",
               worlds[i].rows, worlds[i].labelled, worlds[i].repeats, worlds[i].up, worlds[i].right,
               worlds[i].bias, got, width);
        assert_true(got >= 0.93 && got <= 0.97);
    }
}
