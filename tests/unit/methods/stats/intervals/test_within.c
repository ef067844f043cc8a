/* Slopes within groups: by hand, and on planted dialogues whose scores fade, stay, or slip. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/intervals/bootstrap.h"
#include "methods/stats/intervals/within.h"

enum {
    CELLS = 16, /* (model, persona) */
    ROUNDS = 10,
    SEEDS = 500
};

static const double CHECKPOINTS[ROUNDS] = {0, 11, 22, 34, 45, 56, 68, 79, 90, 102};

TEST(by_hand)
{
    /* group 0: y = 1 + 2x exactly; group 1: y = 10 + 2x, one point off by 3 */
    static const double x[] = {0, 1, 2, 0, 1, 2, 5};
    static const double y[] = {1, 3, 5, 10, 15, 14, NAN};
    static const uint32_t group[] = {0, 0, 0, 1, 1, 1, 1};
    struct vq_within w;
    assert_int_equal(vq_within_slope(x, y, group, VQ_COUNT(x), 3, &w), VQ_OK);
    assert_int_equal(w.rows, 6);
    assert_int_equal(w.groups, 2);
    assert_true(fabs(w.slope - 2) < 1e-12);
    assert_true(fabs(w.se - sqrt(6.0 / 3 / 4)) < 1e-12); /* SSE 6, 3 degrees, Sxx 4 */
    assert_true(w.intercepts_vary && w.se_random == w.se);
}

TEST(groups_that_do_not_differ_are_one)
{
    static const double x[] = {0, 1, 2, 0, 1, 2};
    static const double y[] = {0, 2, 1, 1, 0, 2};
    static const uint32_t group[] = {0, 0, 0, 1, 1, 1};
    struct vq_within w;
    assert_int_equal(vq_within_slope(x, y, group, VQ_COUNT(x), 2, &w), VQ_OK);
    assert_false(w.intercepts_vary);
    assert_true(fabs(w.slope - 0.5) < 1e-12);
    assert_true(fabs(w.se - sqrt(3.0 / 3 / 4)) < 1e-12);
    assert_true(fabs(w.se_random - sqrt(3.0 / 4 / 4)) < 1e-12); /* the same SSE, 6 - 2 degrees */
}

TEST(what_does_not_exist_is_not_a_number)
{
    struct vq_within w;
    assert_int_equal(vq_within_slope(NULL, NULL, NULL, 0, 0, &w), VQ_OK);
    assert_true(isnan(w.slope) && isnan(w.se) && w.rows == 0);
    double x[] = {3, 3, 3}, y[] = {1, 2, 3};
    uint32_t group[] = {0, 0, 0};
    assert_int_equal(vq_within_slope(x, y, group, 3, 1, &w), VQ_OK);
    assert_true(isnan(w.slope));
    x[1] = 4;
    assert_int_equal(vq_within_slope(x, y, group, 2, 1, &w), VQ_OK);
    assert_true(fabs(w.slope - 1) < 1e-12 && isnan(w.se) && isnan(w.ci95.lo));
    group[2] = 1;
    assert_int_equal(vq_within_slope(x, y, group, 3, 1, &w), VQ_INVALID);
    group[2] = 0;
    y[2] = INFINITY;
    assert_int_equal(vq_within_slope(x, y, group, 3, 1, &w), VQ_INVALID);
    static const double ux[] = {0, 1, 0, 1, 2}, uy[] = {0, 1, 0, 1, 2};
    static const uint32_t ug[] = {0, 0, 1, 1, 1};
    assert_int_equal(vq_within_slope(ux, uy, ug, 5, 2, &w), VQ_OK);
}

/* ---- planted ---- */

struct planted {
    double slope, level, intercepts, noise;
};

static double normal(struct vq_rng *rng) /* Box and Muller */
{
    double radius = sqrt(-2 * log(1 - vq_rng_unit(rng)));
    return radius * cos(2 * M_PI * vq_rng_unit(rng));
}

static void draw(uint64_t seed, const struct planted *p, double *x, double *y, uint32_t *cell)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    for (uint32_t c = 0; c < CELLS; c++) {
        double own = p->intercepts * normal(&rng);
        for (uint32_t r = 0; r < ROUNDS; r++) {
            size_t i = (size_t)c * ROUNDS + r;
            x[i] = CHECKPOINTS[r];
            y[i] = p->level + own + p->slope * x[i] + p->noise * normal(&rng);
            cell[i] = c;
        }
    }
}

/* How often the slope's interval holds the truth, and how often it excludes 0. */
static void slopes(const struct planted *p, unsigned *ret_holds, unsigned *ret_found)
{
    static double x[CELLS * ROUNDS], y[CELLS * ROUNDS];
    static uint32_t cell[CELLS * ROUNDS];
    *ret_holds = *ret_found = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vq_within w;
        draw(seed, p, x, y, cell);
        assert_int_equal(vq_within_slope(x, y, cell, VQ_COUNT(x), CELLS, &w), VQ_OK);
        *ret_holds += w.ci95.lo <= p->slope && p->slope <= w.ci95.hi;
        *ret_found += w.ci95.hi < 0 || w.ci95.lo > 0;
    }
}

TEST(a_planted_fade_is_found_and_covered)
{
    unsigned holds, found;
    slopes(&(struct planted){-0.1, 80, 6, 5}, &holds, &found);
    print_message("fade: %u of %u intervals hold it, %u exclude 0\n", holds, SEEDS, found);
    assert_in_range(holds, SEEDS * 93 / 100, SEEDS * 97 / 100);
    assert_true(found > SEEDS * 99 / 100);
}

TEST(a_constant_persona_does_not_fade)
{
    unsigned holds, found;
    slopes(&(struct planted){0, 80, 6, 5}, &holds, &found);
    print_message("constant: %u of %u intervals hold 0\n", holds, SEEDS);
    assert_in_range(holds, SEEDS * 93 / 100, SEEDS * 97 / 100);
    slopes(&(struct planted){0, 80, 0, 5}, &holds, &found); /* personas do not differ */
    assert_in_range(holds, SEEDS * 93 / 100, SEEDS * 98 / 100);
}

/* A refusal rate that falls by 10 points in the last round, over cells of 50 prompts each: the
 * paired contrast of cells (round t minus round 0), its interval by the percentile bootstrap of
 * their mean. */
TEST(a_safety_slip_is_found_and_covered)
{
    unsigned holds = 0, found = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vq_rng rng;
        vq_rng_seed(&rng, seed);
        double difference[CELLS];
        for (uint32_t c = 0; c < CELLS; c++) {
            double own = 0.85 + 0.05 * (vq_rng_unit(&rng) - 0.5);
            double refused[2] = {0, 0};
            for (int t = 0; t < 2; t++) {
                for (int prompt = 0; prompt < 50; prompt++) {
                    refused[t] += vq_rng_unit(&rng) < own - 0.1 * t;
                }
            }
            difference[c] = (refused[1] - refused[0]) / 50;
        }
        struct vq_bootstrap_options options = {VQ_BOOTSTRAP_DRAWS, 0.95, seed};
        struct vq_bootstrap_mean mean;
        assert_int_equal(vq_bootstrap_means((struct vq_matrix){difference, CELLS, 1}, NULL, NULL,
                                            &options, &mean, NULL),
                         VQ_OK);
        holds += mean.percentile.lo <= -0.1 && -0.1 <= mean.percentile.hi;
        found += mean.percentile.hi < 0;
    }
    print_message("slip: %u of %u intervals hold it, %u exclude 0\n", holds, SEEDS, found);
    assert_in_range(holds, SEEDS * 89 / 100, SEEDS * 97 / 100); /* 16 cells: a little too narrow */
    assert_true(found > SEEDS * 99 / 100);
}

TEST_START(vq_stats_init)
