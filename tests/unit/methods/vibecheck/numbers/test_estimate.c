/* The ways to estimate the coefficients: each setting's figures from a whole run against the same
 * numbers made by hand from the row scores that the run reports. */
#include "tests/unit/methods/vibecheck/planted.h"

#include "methods/stats/intervals/bootstrap.h"
#include "methods/stats/logit/crossval.h"
#include "methods/stats/logit/legacy.h"

enum {
    SAMPLES = 160,
    TRAIN = SAMPLES / 2,
    VIBES = 2
};

#define COEF_SEED 4 /* the stream of the run's seed that draws for the coefficients */

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-7 * (1.0 + fabs(want)))) {
        fail_msg("%.12g is not %.12g", got, want);
    }
}

/* Two judges: a strong vibe, and a weak one that is often 0 or a half and sometimes missing. */
static struct planted *plant(void)
{
    struct planted *w = planted_create(SAMPLES, 2, VIBES, 31);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t j = 0; j < 2; j++) {
            planted_say(w, i, 0, j, planted_chance(&w->rng, 0.8) ? 1 : -1);
            planted_say(w, i, 1, j, planted_chance(&w->rng, 0.7) ? 0 : i % 3 == 0 ? -1 : 1);
        }
        if (i % 23 == 0) {
            planted_cell(w, i, 1, 0)[0] = planted_cell(w, i, 1, 1)[0] = VQ_OUTCOME_REFUSED;
        }
    }
    w->config.gates.kappa = false;
    w->config.regression.bootstrap_draws = 60;
    return w;
}

struct by_hand {
    double x[TRAIN * VIBES];
    double y[TRAIN];
    double scale[VIBES];
    struct vq_logit_data data;
};

/* Train's rows of model matching, divided by their root mean square where `scaled`. */
static void take(const struct planted *w, const struct vq_vibecheck *r, bool scaled,
                 struct by_hand *h)
{
    size_t n = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        if (!w->rows[i].test) {
            memcpy(h->x + n * VIBES, r->scores->x + (size_t)i * VIBES, VIBES * sizeof(double));
            h->y[n++] = 1.0;
        }
    }
    assert_int_equal(n, TRAIN);
    for (uint32_t v = 0; v < VIBES; v++) {
        assert_true(r->vibe[v].kept);
        double squares = 0.0, present = 0.0;
        for (size_t row = 0; row < TRAIN; row++) {
            double x = h->x[row * VIBES + v];
            squares += isnan(x) ? 0.0 : x * x;
            present += isnan(x) ? 0.0 : 1.0;
        }
        h->scale[v] = scaled ? sqrt(squares / present) : 1.0;
        assert_true(!scaled || h->scale[v] < 1.0);
        for (size_t row = 0; row < TRAIN; row++) {
            h->x[row * VIBES + v] /= h->scale[v];
        }
    }
    h->data = (struct vq_logit_data){.x = {h->x, TRAIN, VIBES}, .y = h->y, .mirrored = true};
}

static void check_margins(const struct vq_vibecheck *r, const struct by_hand *h)
{
    for (uint32_t i = 0; i < SAMPLES; i++) {
        double want = 0.0;
        for (uint32_t v = 0; v < VIBES; v++) {
            double x = r->scores->x[(size_t)i * VIBES + v];
            want += isnan(x) ? 0.0 : x / h->scale[v] * r->vibe[v].mm.coef;
        }
        near(r->mm_margin[i], want);
    }
}

TEST(standardised_scores_are_fitted_and_predicted_on_one_scale)
{
    struct planted *w = plant();
    for (int scaled = 0; scaled < 2; scaled++) {
        w->config.regression.standardise = scaled == 1;
        struct vq_vibecheck *r = planted_compute(w);
        struct by_hand h;
        take(w, r, scaled == 1, &h);
        struct vq_logit_fit fit;
        assert_int_equal(vq_logit_fit_l2(&h.data, r->mm.c, &fit, NULL), VQ_OK);
        near(r->vibe[0].mm.coef, fit.coef[0]);
        near(r->vibe[1].mm.coef, fit.coef[1]);
        check_margins(r, &h);
        double right = 0.0;
        for (uint32_t i = 0; i < SAMPLES; i++) {
            if (w->rows[i].test) {
                double margin = r->mm_margin[i];
                right += fabs(margin) < VQ_LOGIT_TIE ? 0.5 : margin > 0 ? 1.0 : 0.0;
            }
        }
        near(r->mm.accuracy_test, right / (SAMPLES - TRAIN));
        vq_logit_fit_free(&fit);
        vq_vibecheck_destroy(&r);
    }
    planted_destroy(w);
}

TEST(p_values_are_drawn_or_wald)
{
    struct planted *w = plant();
    struct vq_vibecheck *r = planted_compute(w);
    struct by_hand h;
    take(w, r, false, &h);
    double coef[VIBES] = {r->vibe[0].mm.coef, r->vibe[1].mm.coef};
    double p[VIBES];
    struct vq_interval ci[VIBES];
    uint32_t question[TRAIN];
    for (uint32_t row = 0; row < TRAIN; row++) {
        question[row] = row;
    }
    struct vq_bootstrap_options options = {
        .draws = 60, .level = 0.95, .seed = w->config.seed * UINT64_C(1000003) + COEF_SEED};
    assert_int_equal(
        vq_bootstrap_coefficients(&h.data, r->mm.c, 0.0, question, &options, ci, NULL, p, NULL),
        VQ_OK);
    near(r->vibe[0].mm.p, 2.0 / 61.0); /* no draw of the strong vibe is below 0 */
    near(r->vibe[0].mm.p, p[0]);
    near(r->vibe[1].mm.p, p[1]);
    vq_vibecheck_destroy(&r);
    w->config.regression.p_values = VQ_P_VALUES_WALD;
    w->config.regression.bootstrap_draws = 0;
    r = planted_compute(w);
    assert_int_equal(vq_logit_wald(&h.data, 0.0, coef, NULL, p, NULL), VQ_OK);
    near(r->vibe[0].mm.p, p[0]);
    near(r->vibe[1].mm.p, p[1]);
    assert_true(isnan(r->vibe[0].mm.ci95.lo)); /* nothing was drawn */
    assert_true(isnan(r->vibe[0].pp.p));       /* no labels */
    vq_vibecheck_destroy(&r);
    w->config.regression.p_values = VQ_P_VALUES_BOOTSTRAP;
    r = planted_compute(w);
    assert_true(isnan(r->vibe[0].mm.p));
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(the_legacy_bootstrap_is_what_it_says)
{
    struct planted *w = plant();
    w->config.regression.estimator = VQ_ESTIMATOR_LEGACY_BOOTSTRAP;
    struct vq_vibecheck *r = planted_compute(w);
    struct by_hand h;
    take(w, r, true, &h); /* always scaled */
    struct vq_legacy_coef coef[VIBES];
    struct vq_legacy legacy = {.coef = coef};
    struct vq_bootstrap_options options = {
        .draws = 60, .level = 0.95, .seed = w->config.seed * UINT64_C(1000003) + COEF_SEED};
    assert_int_equal(vq_legacy_bootstrap(&h.data, &options, &legacy, NULL), VQ_OK);
    near(r->mm.c, 1.0);
    for (uint32_t v = 0; v < VIBES; v++) {
        near(r->vibe[v].mm.coef, coef[v].mean);
        near(r->vibe[v].mm.ci95.lo, coef[v].percentile.lo);
        near(r->vibe[v].mm.ci95.hi, coef[v].percentile.hi);
        near(r->vibe[v].mm.p, coef[v].p);
    }
    near(r->mm.legacy_accuracy, legacy.accuracy_mean);
    near(r->mm.legacy_accuracy_sd, legacy.accuracy_sd);
    near(r->mm.legacy_accuracy_ci95.hi, legacy.accuracy_percentile.hi);
    check_margins(r, &h);
    vq_vibecheck_destroy(&r);
    w->config.regression.estimator = VQ_ESTIMATOR_LASSO;
    r = planted_compute(w);
    assert_true(isnan(r->mm.legacy_accuracy));
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(published_folds_by_loss_choose_c)
{
    struct planted *w = plant();
    w->config.regression.cv = VQ_CV_SKLEARN_FOLDS;
    struct vq_vibecheck *r = planted_compute(w);
    struct by_hand h;
    take(w, r, false, &h);
    struct vq_crossval cv, paper;
    struct vq_crossval_options options = {.mode = VQ_CROSSVAL_SKLEARN_FOLDS};
    assert_int_equal(vq_crossval_choose_c(&h.data, NULL, &options, &cv, NULL), VQ_OK);
    options.mode = VQ_CROSSVAL_PAPER;
    assert_int_equal(vq_crossval_choose_c(&h.data, NULL, &options, &paper, NULL), VQ_OK);
    near(r->mm.c, cv.c);
    assert_true(paper.c < cv.c); /* accuracy takes the smallest of many equals */
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST_START(vq_stats_init)
