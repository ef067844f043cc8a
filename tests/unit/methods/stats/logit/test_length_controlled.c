/* The win rate at equal length: numbers that plain Python computed, ends where no estimate exists,
 * and coverage over simulated worlds. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/logit/length_controlled.h"
#include "methods/stats/special.h"

#include <stdio.h>

#define ROWS_MAX 1024u

static struct vq_length_controlled controlled(const double *wins, const double *difference,
                                              size_t n, const uint32_t *groups)
{
    struct vq_length_controlled got;
    assert_int_equal(vq_length_controlled(wins, difference, n, groups, &got, NULL), VQ_OK);
    return got;
}

/* As make.py says. */
static void fill(int k, int n, int repeats, double *wins, double *difference, uint32_t *groups)
{
    for (int i = 0; i < n; i++) {
        difference[i] = 37 * i % 101 - 40 + 5 * k;
        double u = (17 * i + 3 * k) % 20 + difference[i] / 12;
        wins[i] = u >= 11 ? 1 : u >= 9 ? 0.5 : 0;
        groups[i] = (uint32_t)(i / repeats);
    }
}

TEST(test_reference)
{
    FILE *file = fopen(VQ_SOURCE_DIR "/tests/data/stats/length_controlled/reference.csv", "r");
    char head[128];
    int k, n, repeats, cases = 0;
    double sd, theta, phi, se_theta, se_phi;
    assert_non_null(file);
    assert_non_null(fgets(head, sizeof(head), file));
    while (fscanf(file, "%d,%d,%d,%lf,%lf,%lf,%lf,%lf", &k, &n, &repeats, &sd, &theta, &phi,
                  &se_theta, &se_phi) == 8) {
        double wins[ROWS_MAX], other[ROWS_MAX], difference[ROWS_MAX], swapped[ROWS_MAX];
        uint32_t groups[ROWS_MAX];
        fill(k, n, repeats, wins, difference, groups);
        struct vq_length_controlled got = controlled(wins, difference, (size_t)n, groups);
        double t = vq_student_975(n / repeats - 1);
        assert_int_equal(got.status, VQ_LENGTH_CONTROLLED_OK);
        assert_int_equal(got.rows, n);
        assert_int_equal(got.units, n / repeats);
        assert_near(got.sd, sd, 1e-12, 0);
        assert_near(got.win_rate, 1 / (1 + exp(-theta)), 1e-9, 0);
        assert_near(got.coef, phi, 1e-8, 0);
        assert_near(got.ci95.lo, 1 / (1 + exp(-(theta - t * se_theta))), 1e-7, 0);
        assert_near(got.ci95.hi, 1 / (1 + exp(-(theta + t * se_theta))), 1e-7, 0);
        assert_near(got.coef_ci95.lo, phi - t * se_phi, 1e-7, 1e-9);
        assert_near(got.coef_ci95.hi, phi + t * se_phi, 1e-7, 1e-9);
        for (int i = 0; i < n; i++) { /* the other output's side of it */
            other[i] = 1 - wins[i];
            swapped[i] = -difference[i];
        }
        struct vq_length_controlled mirror = controlled(other, swapped, (size_t)n, groups);
        assert_near(mirror.win_rate, 1 - got.win_rate, 1e-9, 0);
        assert_near(mirror.coef, got.coef, 1e-8, 0);
        cases++;
    }
    (void)fclose(file);
    assert_int_equal(cases, 4);
}

TEST(test_where_there_is_none)
{
    double wins[40], difference[40];
    for (int i = 0; i < 40; i++) {
        wins[i] = i % 3 == 0;
        difference[i] = 7;
    }
    struct vq_length_controlled got = controlled(wins, difference, 40, NULL);
    assert_string_equal(vq_length_controlled_name(got.status), "lengths_alike");
    assert_true(isnan(got.win_rate));
    for (int i = 0; i < 40; i++) { /* far from 0, where tanh is flat */
        difference[i] = 5000 + i % 2;
    }
    got = controlled(wins, difference, 40, NULL);
    assert_string_equal(vq_length_controlled_name(got.status), "lengths_alike");
    assert_true(isnan(got.win_rate));
    for (int i = 0; i < 40; i++) { /* the longer one always wins */
        difference[i] = wins[i] > 0 ? i + 1 : -i - 1;
    }
    got = controlled(wins, difference, 40, NULL);
    assert_string_equal(vq_length_controlled_name(got.status), "separated");
    assert_true(isnan(got.win_rate) && isnan(got.ci95.lo) && isnan(got.coef));
    for (int i = 0; i < 40; i++) { /* one output always wins */
        wins[i] = 1;
    }
    got = controlled(wins, difference, 40, NULL);
    assert_true(isnan(got.win_rate));
    uint32_t groups[40];
    for (int i = 0; i < 40; i++) {
        wins[i] = i % 2;
        difference[i] = i % 7 - 3;
        groups[i] = (uint32_t)i / 10;
    }
    got = controlled(wins, difference, 40, groups);
    assert_string_equal(vq_length_controlled_name(got.status), "few_prompts");
    assert_true(got.win_rate > 0 && got.win_rate < 1);
    assert_true(isnan(got.ci95.lo));
    for (int i = 0; i < 40; i++) {
        wins[i] = NAN;
    }
    got = controlled(wins, difference, 40, groups);
    assert_string_equal(vq_length_controlled_name(got.status), "no_rows");
}

struct world {
    size_t prompts, repeats;
    double theta, phi;
    double shared; /* how often the rows of a prompt share their outcome */
};

/* What the interval covers is the model's own rate at equal length. */
static double coverage(const struct world *w, uint64_t seed, int runs)
{
    struct vq_rng rng;
    int held = 0;
    double wins[ROWS_MAX], difference[ROWS_MAX];
    uint32_t groups[ROWS_MAX];
    size_t n = w->prompts * w->repeats;
    vq_rng_seed(&rng, seed);
    for (int run = 0; run < runs; run++) {
        for (size_t i = 0; i < n; i++) {
            groups[i] = (uint32_t)(i / w->repeats);
            difference[i] = 400 * (vq_rng_unit(&rng) + vq_rng_unit(&rng) - 0.9);
        }
        double s = 400 / sqrt(6); /* the deviation of that law */
        for (size_t i = 0; i < n; i++) {
            bool again = i % w->repeats > 0 && vq_rng_unit(&rng) < w->shared;
            double p = vq_logistic(w->theta + w->phi * tanh(difference[i] / s));
            difference[i] = again ? difference[i - 1] : difference[i];
            wins[i] = again ? wins[i - 1] : vq_rng_unit(&rng) < p;
        }
        struct vq_length_controlled got = controlled(wins, difference, n, groups);
        double truth = vq_logistic(w->theta);
        held += got.ci95.lo <= truth && truth <= got.ci95.hi;
    }
    return (double)held / runs;
}

TEST(test_coverage)
{
    static const struct world worlds[] = {
        {30, 1, 0.4, 1.0, 0},   {100, 1, 0.0, 0.0, 0},     {200, 1, -1.0, 1.5, 0},
        {40, 4, 0.5, 1.0, 0.7}, {100, 5, -0.5, -1.0, 0.9}, {200, 2, 1.0, 2.0, 0.5},
    };
    for (size_t i = 0; i < VQ_COUNT(worlds); i++) {
        double held = coverage(&worlds[i], 20 + i, 2000);
        printf("length-controlled win rate, seed %zu: %zu prompts x %zu, theta %.1f, phi %.1f: the "
               "95 %% "
               "interval holds it in %.1f %% of 2000 runs\n",
               20 + i, worlds[i].prompts, worlds[i].repeats, worlds[i].theta, worlds[i].phi,
               100 * held);
        /* a logit of few prompts has wide tails, and Wald's interval of it covers too much */
        assert_true(held >= 0.93 && held <= (worlds[i].prompts < 50 ? 0.985 : 0.97));
    }
}

/* Judges that look at length alone: the plain win rate favours the longer output, the controlled
 * one does not. */
TEST(test_length_alone)
{
    struct vq_rng rng;
    double wins[ROWS_MAX], difference[ROWS_MAX], plain = 0;
    vq_rng_seed(&rng, 5);
    for (size_t i = 0; i < ROWS_MAX; i++) {
        difference[i] = 300 * vq_rng_unit(&rng) - 80;
        wins[i] = vq_rng_unit(&rng) < vq_logistic(2 * tanh(difference[i] / 87));
        plain += wins[i] / ROWS_MAX;
    }
    struct vq_length_controlled got = controlled(wins, difference, ROWS_MAX, NULL);
    assert_true(plain > 0.6);
    assert_true(got.ci95.lo < 0.5 && got.ci95.hi > 0.5);
    assert_true(got.coef_ci95.lo > 1);
}
