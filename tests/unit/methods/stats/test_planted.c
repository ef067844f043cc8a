/* Acceptance on planted data (decisions 9 and 16): nothing is found where nothing is, intervals
 * cover what they say, and judges of known error rates give the figures that probability theory
 * gives. No judge, no process: scores are drawn. */
#include "fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/agreement/agreement.h"
#include "methods/stats/intervals/bootstrap.h"
#include "methods/stats/intervals/multiple.h"
#include "methods/stats/intervals/proportions.h"
#include "methods/stats/intervals/separability.h"
#include "methods/stats/logit/crossval.h"

enum {
    NULL_SEEDS = 200,
    NULL_ROWS = 250,
    NULL_TRAIN = 125,
    NULL_VIBES = 10
};

static const double ONES[NULL_ROWS] = {[0 ... NULL_ROWS - 1] = 1.0};

static double draw_score(struct vq_rng *rng, double positive, double negative)
{
    double u = vq_rng_unit(rng);
    return u < positive ? 1.0 : (u < positive + negative ? -1.0 : 0.0);
}

/* Exact and two-sided, of the scores at[0], at[stride], ... */
static double sign_test(const double *at, size_t n, size_t stride)
{
    double positive = 0.0, decided = 0.0;
    for (size_t row = 0; row < n; row++) {
        positive += at[row * stride] > 0.0;
        decided += fabs(at[row * stride]) > 0.0;
    }
    return vq_proportion_binomial_half(positive, decided);
}

/* A and B exchangeable: each vibe has a true score, symmetric about 0, that two judges see with
 * noise. */
static void draw_null(uint64_t seed, double *x)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    for (size_t cell = 0; cell < (size_t)NULL_ROWS * NULL_VIBES; cell++) {
        double truth = draw_score(&rng, 0.35, 0.35);
        double sum = 0.0;
        for (int judge = 0; judge < 2; judge++) {
            sum += vq_rng_unit(&rng) < 0.75 ? truth : draw_score(&rng, 0.3, 0.3);
        }
        x[cell] = 0.5 * sum;
    }
}

/* Copies the kept columns of some rows side by side; returns how many are kept. */
static size_t keep(const double *x, size_t from, size_t rows, const bool *kept, double *out)
{
    size_t count = 0;
    for (size_t col = 0; col < NULL_VIBES; col++) {
        count += kept[col] ? 1 : 0;
    }
    for (size_t row = 0; row < rows; row++) {
        size_t at = 0;
        for (size_t col = 0; col < NULL_VIBES; col++) {
            if (kept[col]) {
                out[row * count + at++] = x[(from + row) * NULL_VIBES + col];
            }
        }
    }
    return count;
}

/* Test accuracy of model matching with the vibes in `kept`, fitted on the first half. */
static double match(const double *x, const bool *kept, uint64_t seed)
{
    double train[NULL_TRAIN * NULL_VIBES];
    double test[NULL_TRAIN * NULL_VIBES];
    size_t cols = keep(x, 0, NULL_TRAIN, kept, train);
    (void)keep(x, NULL_TRAIN, NULL_ROWS - NULL_TRAIN, kept, test);
    if (cols == 0) {
        return 0.5;
    }
    struct vq_logit_data data = {
        .x = {.at = train, .rows = NULL_TRAIN, .cols = cols}, .y = ONES, .mirrored = true};
    struct vq_crossval_options options = {.mode = VQ_CROSSVAL_LOG_LOSS, .seed = seed};
    struct vq_crossval cv;
    struct vq_logit_fit fit;
    struct vq_logit_score score;
    assert_int_equal(vq_crossval_choose_c(&data, NULL, &options, &cv, NULL), VQ_OK);
    assert_int_equal(vq_logit_fit_l2(&data, cv.c, &fit, NULL), VQ_OK);
    data.x.at = test;
    assert_int_equal(vq_logit_score(&data, 0.0, fit.coef, &score, NULL), VQ_OK);
    vq_logit_fit_free(&fit);
    return score.accuracy_ties_half;
}

TEST(test_null_finds_nothing)
{
    static double x[NULL_ROWS * NULL_VIBES];
    size_t covered = 0;
    size_t point_kept = 0;
    size_t interval_runs = 0;
    for (uint64_t seed = 1; seed <= NULL_SEEDS; seed++) {
        draw_null(seed, x);
        bool kept[NULL_VIBES];
        double p[NULL_VIBES];
        double q[NULL_VIBES];
        bool any = false;
        for (size_t col = 0; col < NULL_VIBES; col++) {
            struct vq_separability sep;
            vq_separability_column(x + col, NULL_TRAIN, NULL_VIBES, NULL, &sep);
            kept[col] = fabs(sep.mean) > 0.05;
            p[col] = sign_test(x + col, NULL_TRAIN, NULL_VIBES);
            point_kept += kept[col] ? 1 : 0;
        }
        assert_int_equal(vq_multiple_adjust(VQ_MULTIPLE_BH, p, NULL_VIBES, q), VQ_OK);
        for (size_t col = 0; col < NULL_VIBES; col++) {
            any = any || (kept[col] && q[col] <= 0.05);
        }
        interval_runs += any ? 1 : 0;
        double accuracy = match(x, kept, seed);
        size_t tested = NULL_ROWS - NULL_TRAIN;
        struct vq_interval ci = vq_proportion_interval(
            VQ_PROPORTION_WILSON, accuracy * (double)tested, (double)tested, 0.95);
        covered += ci.lo <= 0.5 && ci.hi >= 0.5 ? 1 : 0;
    }
    print_message(
        "  0.5 covered in %zu of %d; interval gate kept a vibe in %zu runs; point gate kept "
        "%.2f of vibes\n",
        covered, NULL_SEEDS, interval_runs, (double)point_kept / (NULL_SEEDS * NULL_VIBES));
    assert_true(covered >= 186 && covered <= 194); /* 93 to 97 % */
    assert_true(interval_runs <= 10);              /* 5 % */
    /* Why the table marks them: the point gate keeps about half. */
    assert_true(point_kept > NULL_SEEDS * NULL_VIBES * 3 / 10);
}

/* Share of 1,000 intervals that hold the true mean; scores are shared within groups of `repeats`
 * rows. */
static double coverage(size_t questions, size_t repeats, bool grouped, uint64_t first_seed)
{
    const double positive = 0.45;
    const double negative = 0.2;
    size_t covered = 0;
    double x[400];
    uint32_t groups[400];
    assert_true(questions * repeats <= VQ_COUNT(x));
    for (uint64_t seed = first_seed; seed < first_seed + 1000; seed++) {
        struct vq_rng rng;
        vq_rng_seed(&rng, seed);
        for (size_t q = 0; q < questions; q++) {
            double score = draw_score(&rng, positive, negative);
            for (size_t r = 0; r < repeats; r++) {
                x[q * repeats + r] = score;
                groups[q * repeats + r] = (uint32_t)q;
            }
        }
        struct vq_bootstrap_options options = {.draws = 400, .level = 0.95, .seed = seed};
        struct vq_bootstrap_mean mean;
        struct vq_matrix matrix = {x, questions * repeats, 1};
        assert_int_equal(
            vq_bootstrap_means(matrix, NULL, grouped ? groups : NULL, &options, &mean, NULL),
            VQ_OK);
        double truth = positive - negative;
        covered += mean.percentile.lo <= truth && mean.percentile.hi >= truth ? 1 : 0;
    }
    return (double)covered / 1000.0;
}

TEST(test_bootstrap_coverage)
{
    double rows = coverage(125, 1, false, 1);
    double grouped = coverage(125, 3, true, 5001);
    double careless = coverage(60, 3, false, 9001);
    print_message("  rows %.3f, grouped %.3f, repeats taken for rows %.3f\n", rows, grouped,
                  careless);
    assert_true(rows >= 0.93 && rows <= 0.97);
    assert_true(grouped >= 0.93 && grouped <= 0.97);
    assert_true(careless < 0.85); /* what the groups are for */
}

/* A judge: names the first output by position with probability `position`; else says equal with
 * `tie`, else is wrong with `error`. A call fails with `fail`. */
struct judge {
    double position, tie, error, fail;
};

/* The verdict in one order as the sign it gives A; NaN when the call failed. */
static double verdict(struct vq_rng *rng, const struct judge *judge, double truth, bool a_first)
{
    if (vq_rng_unit(rng) < judge->fail) {
        return NAN;
    }
    if (vq_rng_unit(rng) < judge->position) {
        return a_first ? 1.0 : -1.0;
    }
    if (vq_rng_unit(rng) < judge->tie) {
        return 0.0;
    }
    return vq_rng_unit(rng) < judge->error ? -truth : truth;
}

/* The strict rule: equal in either order settles 0; otherwise a failed order leaves no score. */
static double strict_score(struct vq_rng *rng, const struct judge *judge, double truth)
{
    double one = verdict(rng, judge, truth, true);
    double two = verdict(rng, judge, truth, false);
    if (one == 0.0 || two == 0.0) {
        return 0.0;
    }
    if (isnan(one) || isnan(two)) {
        return NAN;
    }
    return one == two ? one : 0.0;
}

/* Probabilities of the strict score -1, 0, +1 given that there is one and the truth is +1. */
static void score_law(const struct judge *judge, double law[3])
{
    double decided = (1.0 - judge->position) * (1.0 - judge->tie);
    double right = decided * (1.0 - judge->error);
    double wrong = decided * judge->error;
    double tie = (1.0 - judge->position) * judge->tie;
    double both = (1.0 - judge->fail) * (1.0 - judge->fail);
    double missing = 1.0 - both - 2.0 * judge->fail * (1.0 - judge->fail) * tie;
    law[2] = both * (judge->position + right) * right / (1.0 - missing);
    law[0] = both * (judge->position + wrong) * wrong / (1.0 - missing);
    law[1] = 1.0 - law[0] - law[2];
}

static double expected_kappa(const struct judge *a, const struct judge *b, double rate)
{
    double of_a[3];
    double of_b[3];
    score_law(a, of_a);
    score_law(b, of_b);
    double observed = 0.0;
    double chance = 0.0;
    for (size_t s = 0; s < 3; s++) {
        observed += rate * of_a[s] * of_b[s] + (1.0 - rate) * of_a[2 - s] * of_b[2 - s];
        chance += (rate * of_a[s] + (1.0 - rate) * of_a[2 - s]) *
                  (rate * of_b[s] + (1.0 - rate) * of_b[2 - s]);
    }
    return (observed - chance) / (1.0 - chance);
}

static void check_oracle(const struct judge *a, const struct judge *b, double rate, uint64_t seed)
{
    enum {
        ROWS = 40000
    };
    static double scores[ROWS * 2];
    static double left[ROWS];
    static double right[ROWS];
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    for (size_t row = 0; row < ROWS; row++) {
        double truth = vq_rng_unit(&rng) < rate ? 1.0 : -1.0;
        left[row] = scores[row * 2] = strict_score(&rng, a, truth);
        right[row] = scores[row * 2 + 1] = strict_score(&rng, b, truth);
    }
    const struct judge *judges[2] = {a, b};
    for (size_t j = 0; j < 2; j++) {
        double law[3];
        struct vq_separability sep;
        score_law(judges[j], law);
        vq_separability_column(scores + j, ROWS, 2, NULL, &sep);
        double want = (2.0 * rate - 1.0) * (law[2] - law[0]);
        double squares = 0.0, decided = 0.0;
        for (size_t row = 0; row < ROWS; row++) {
            double rest = scores[row * 2 + j] - sep.mean;
            squares += isnan(rest) ? 0.0 : rest * rest;
            decided += fabs(scores[row * 2 + j]) > 0.0;
        }
        double present = (double)(ROWS - sep.missing);
        assert_near(sep.mean, want, 0.0, 4.0 * sqrt(squares / (present - 1.0) / present));
        decided /= present;
        assert_near(decided, law[0] + law[2], 0.0, 4.0 * sqrt(0.25 / ROWS));
    }
    struct vq_kappa kappa;
    struct vq_kappa mirrored;
    assert_int_equal(vq_agreement_cohen(left, right, ROWS, &kappa, &mirrored), VQ_OK);
    assert_near(kappa.kappa, expected_kappa(a, b, rate), 0.0, 4.0 * kappa.se);
    assert_near(mirrored.kappa, expected_kappa(a, b, 0.5), 0.0, 0.03);
}

TEST(test_oracle_expectations)
{
    const struct judge perfect = {0, 0, 0, 0};
    const struct judge good = {0.1, 0.15, 0.1, 0.0};
    const struct judge shaky = {0.3, 0.2, 0.25, 0.05};
    const struct judge random = {0.0, 0.2, 0.5, 0.0};
    check_oracle(&perfect, &good, 0.8, 1);
    check_oracle(&good, &shaky, 0.3, 2);
    check_oracle(&shaky, &random, 0.6, 3);
    check_oracle(&random, &random, 0.9, 4);
}

/* A judge that always names the first output: all scores 0, accuracy exactly one half. */
TEST(test_position_bias)
{
    const struct judge always_first = {1.0, 0, 0, 0};
    double x[100];
    struct vq_rng rng;
    vq_rng_seed(&rng, 1);
    for (size_t row = 0; row < 100; row++) {
        x[row] = strict_score(&rng, &always_first, 1.0);
    }
    struct vq_separability sep;
    vq_separability_column(x, 100, 1, NULL, &sep);
    assert_near(sep.mean, 0.0, 0.0, 0.0);
    struct vq_logit_data data = {
        .x = {.at = x, .rows = 100, .cols = 1}, .y = ONES, .mirrored = true};
    struct vq_logit_fit fit;
    struct vq_logit_score score;
    assert_int_equal(vq_logit_fit_l2(&data, 1.0, &fit, NULL), VQ_OK);
    assert_true(fit.coef[0] == 0.0);
    assert_int_equal(vq_logit_score(&data, 0.0, fit.coef, &score, NULL), VQ_OK);
    assert_true(score.accuracy_ties_half == 0.5);
    vq_logit_fit_free(&fit);
}

/* Model matching on one planted vibe: a row is right with the probability of +1, and half of that
 * of 0. */
TEST(test_matching_accuracy)
{
    enum {
        ROWS = 4000
    };
    static double x[ROWS];
    static double ones[ROWS];
    const struct judge judge = {0.1, 0.2, 0.1, 0.0};
    const double rate = 0.85;
    double law[3];
    struct vq_rng rng;
    vq_rng_seed(&rng, 77);
    for (size_t row = 0; row < ROWS; row++) {
        ones[row] = 1.0;
        x[row] = strict_score(&rng, &judge, vq_rng_unit(&rng) < rate ? 1.0 : -1.0);
    }
    score_law(&judge, law);
    double up = rate * law[2] + (1.0 - rate) * law[0];
    struct vq_logit_data data = {
        .x = {.at = x, .rows = ROWS, .cols = 1}, .y = ones, .mirrored = true};
    struct vq_logit_fit fit;
    struct vq_logit_score score;
    assert_int_equal(vq_logit_fit_mle(&data, &fit, NULL), VQ_OK);
    assert_int_equal(fit.status, VQ_LOGIT_OK);
    double down = rate * law[0] + (1.0 - rate) * law[2];
    assert_near(fit.coef[0], log(up / down), 0.0, 4.0 * fit.se[0]);
    assert_int_equal(vq_logit_score(&data, 0.0, fit.coef, &score, NULL), VQ_OK);
    assert_near(score.accuracy_ties_half, up + 0.5 * law[1], 0.0, 4.0 * sqrt(0.25 / ROWS));
    vq_logit_fit_free(&fit);
}

TEST_START(vq_stats_init)
