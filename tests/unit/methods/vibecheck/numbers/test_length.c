/* The fits with length beside the vibes: a vibe that is length in disguise is marked and one that
 * is not is not; numbers agree with a reference of their own; swapped models, separated fits, and
 * no lengths. */
#include "../planted.h"

#include <stdio.h>

enum {
    ROWS = 600
};

static double lengths[ROWS];

/* Vibe 0 follows the length in `like` of the rows, and else the model; vibe 1 is model A's in `own`
 * of the rows whatever the length. */
static struct planted *world(double like, double own)
{
    struct planted *w = planted_create(ROWS, 1, 2, 17);
    w->config.gates.kappa = false;
    w->config.regression.bootstrap_draws = 300;
    for (uint32_t i = 0; i < ROWS; i++) {
        lengths[i] = vq_rng_unit(&w->rng) * 2.0 - 0.6; /* A is longer in 70 % */
        int longer = lengths[i] > 0 ? 1 : -1;
        bool follows = planted_chance(&w->rng, like);
        planted_say(w, i, 0, 0, follows ? longer : planted_chance(&w->rng, 0.5) ? 1 : -1);
        planted_say(w, i, 1, 0, planted_chance(&w->rng, own) ? 1 : -1);
        bool prefers = planted_chance(&w->rng, 1 / (1 + exp(-3 * lengths[i])));
        w->rows[i].preference = prefers ? 1 : -1;
    }
    w->in.lengths = lengths;
    return w;
}

TEST(a_vibe_that_is_length_is_marked)
{
    struct planted *w = world(0.7, 0.7);
    struct vq_vibecheck *r = planted_compute(w);
    assert_int_equal(r->pp.length.status, VQ_LENGTH_OK);
    assert_true(r->vibe[0].pp.ci95.lo > 0 && r->vibe[0].pp.length.explained);
    assert_true(r->vibe[0].pp.length.ci95.lo <= 0);
    assert_true(r->pp.length.ci95.lo > 0 && r->pp.length.p < 0.05);
    assert_true(r->pp.length.accuracy_test > r->pp.accuracy_test);
    assert_true(r->vibe[1].mm.ci95.lo > 0 && !r->vibe[1].mm.length.explained);
    assert_true(r->vibe[1].mm.length.ci95.lo > 0);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

static void near(double a, double b, double within)
{
    if (!(fabs(a - b) <= within * fmax(1.0, fabs(b)))) {
        print_error("%.12g is not %.12g\n", a, b);
    }
    assert_true(fabs(a - b) <= within * fmax(1.0, fabs(b)));
}

/* tests/data/stats/length: Newton's method in another language. */
TEST(the_coefficients_are_those_of_the_reference)
{
    struct planted *w = planted_create(240, 1, 1, 3);
    w->config.regression.bootstrap_draws = 100;
    for (uint32_t i = 0; i < 240; i++) {
        int s = 7 * i % 10 < 7 ? 1 : -1;
        planted_say(w, i, 0, 0, s);
        lengths[i] = ((double)(13 * i % 11) - 4) / 5 + s / 5.0;
    }
    w->in.lengths = lengths;
    struct vq_vibecheck *r = planted_compute(w);
    assert_int_equal(r->mm.length.status, VQ_LENGTH_OK);
    FILE *file = fopen(VQ_SOURCE_DIR "/tests/data/stats/length/reference.csv", "r");
    assert_non_null(file);
    char line[256];
    bool found = false;
    while (fgets(line, sizeof(line), file) != NULL) {
        double c, vibe, length, rms;
        if (sscanf(line, "%lf,%lf,%lf,%lf", &c, &vibe, &length, &rms) == 4 &&
            fabs(c / r->mm.length.c - 1) < 1e-9) {
            near(r->mm.length.rms, rms, 1e-12);
            near(r->vibe[0].mm.length.value, vibe, 1e-6);
            near(r->mm.length.coef, length, 1e-6);
            found = true;
        }
    }
    (void)fclose(file);
    assert_true(found);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(a_separated_fit_is_firth_s)
{
    struct planted *w = world(0.7, 1.0); /* vibe 1 is always A's */
    struct vq_vibecheck *r = planted_compute(w);
    assert_int_equal(r->mm.degenerate, VQ_FIT_SEPARATED);
    assert_int_equal(r->mm.length.status, VQ_LENGTH_FIRTH);
    assert_true(isnan(r->mm.length.c) && isfinite(r->vibe[1].mm.length.value));
    assert_false(r->vibe[1].mm.length.explained);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(without_lengths_there_is_no_second_fit)
{
    struct planted *w = world(0.7, 0.7);
    for (int way = 0; way < 2; way++) {
        w->in.lengths = way == 0 ? NULL : lengths;
        memset(lengths, 0, sizeof(lengths)); /* all alike */
        struct vq_vibecheck *r = planted_compute(w);
        assert_int_equal(r->mm.length.status, VQ_LENGTH_NONE);
        assert_true(isnan(r->vibe[0].mm.length.value) && isnan(r->pp.length.accuracy_test));
        assert_false(r->vibe[0].mm.length.explained);
        vq_vibecheck_destroy(&r);
    }
    planted_destroy(w);
}

static int setup(void **state)
{
    (void)state;
    vq_stats_init();
    return 0;
}

TEST_GROUP(setup, NULL)
