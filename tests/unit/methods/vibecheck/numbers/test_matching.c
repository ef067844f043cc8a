/* Model matching of more than two models: planted models are named, models that do not differ are
 * not; margins point to the models as they are; preferences and their baseline. */
#include "../ranked.h"

TEST(planted_models_are_named)
{
    const double strength[6] = {2.5, 0, -2.5, -2.5, 2.5, 0};
    struct planted *w = ranked_create(3, 160, 1, 2, strength, 21);
    struct vq_vibecheck *r = planted_compute(w);
    assert_int_equal(r->kept_count, 2);
    assert_int_equal(r->mm.status, VQ_FIT_OK);
    assert_int_equal(r->ranking->mm_outputs_test, 240); /* 80 prompts of 3 outputs */
    assert_true(r->mm.accuracy_test > 0.75 && r->mm.accuracy_test_ci95.lo > 0.65);
    assert_true(r->mm.accuracy_test_ci95.hi > r->mm.accuracy_test);
    assert_true(fabs(r->ranking->mm_chance - 1.0 / 3.0) < 1e-12);
    const struct vq_ranking_model *m = r->ranking->vibe[0].model;
    assert_true(m[0].mm_coef > m[1].mm_coef && m[1].mm_coef > m[2].mm_coef);
    assert_true(fabs(m[0].mm_coef + m[1].mm_coef + m[2].mm_coef) < 1e-6);
    uint32_t right = 0;
    for (uint32_t i = 0; i < w->in.grid.samples; i++) {
        right += r->mm_margin[i] > 0;
    }
    assert_true(right > 0.85 * w->in.grid.samples);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(coefficients_have_intervals_by_prompt)
{
    const double strength[6] = {0.4, 0, -0.4, -0.4, 0.4, 0};
    struct planted *w = ranked_create(3, 160, 1, 2, strength, 24);
    w->config.gates.separability_min = 0;
    struct vq_vibecheck *r = planted_compute(w);
    assert_int_equal(r->mm.degenerate, VQ_FIT_SOUND);
    assert_int_equal(r->mm.prompts_train, 80);
    for (uint32_t v = 0; v < 2; v++) {
        for (uint32_t k = 0; k < 3; k++) {
            const struct vq_ranking_model *m = &r->ranking->vibe[v].model[k];
            assert_true(m->mm_ci95.lo < m->mm_coef && m->mm_coef < m->mm_ci95.hi);
        }
    }
    assert_true(r->ranking->vibe[0].model[0].mm_ci95.lo > 0);
    assert_true(r->ranking->vibe[0].model[2].mm_ci95.hi < 0);
    vq_vibecheck_destroy(&r);
    w->config.regression.bootstrap_draws = 0; /* no intervals are wanted */
    r = planted_compute(w);
    assert_true(isnan(r->ranking->vibe[0].model[0].mm_ci95.lo));
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(degenerate_fits_have_none)
{
    const double far[3] = {90, 0, -90}, near[3] = {0.4, 0, -0.4};
    static const enum vq_fit_degenerate want[] = {VQ_FIT_SEPARATED, VQ_FIT_FEW_PROMPTS};
    for (size_t i = 0; i < VQ_COUNT(want); i++) {
        struct planted *w = ranked_create(3, i == 0 ? 40 : 14, 1, 1, i == 0 ? far : near, 25);
        w->config.gates.separability_min = 0;
        struct vq_vibecheck *r = planted_compute(w);
        assert_int_equal(r->mm.degenerate, want[i]);
        assert_true(isfinite(r->ranking->vibe[0].model[0].mm_coef));
        assert_true(isnan(r->ranking->vibe[0].model[0].mm_ci95.lo));
        vq_vibecheck_destroy(&r);
        planted_destroy(w);
    }
}

TEST(equal_models_are_guessed)
{
    const double none[4] = {0, 0, 0, 0};
    struct planted *w = ranked_create(4, 200, 1, 1, none, 22);
    w->config.gates.separability_min = 0;
    struct vq_vibecheck *r = planted_compute(w);
    assert_int_equal(r->kept_count, 1);
    assert_true(r->mm.accuracy_test_ci95.lo < 0.25 && r->mm.accuracy_test < 0.34);
    vq_vibecheck_destroy(&r);
    w->config.gates.separability_min = 0.9;
    r = planted_compute(w);
    assert_int_equal(r->mm.status, VQ_FIT_NO_VIBES);
    assert_true(r->mm.accuracy_test == 0.25);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

/* The preference is for the higher one on the vibe, whoever wrote it; and model 0 wins all, by
 * name. */
TEST(preferences)
{
    const double strength[3] = {0.5, 0, -0.5};
    struct planted *w = ranked_create(3, 120, 1, 1, strength, 23);
    w->config.gates.separability_min = 0;
    for (uint32_t i = 0; i < w->in.grid.samples; i++) {
        uint8_t first = planted_cell(w, i, 0, 0)[0];
        w->rows[i].preference = first == VQ_OUTCOME_FIRST ? 1 : first == VQ_OUTCOME_SECOND ? -1 : 0;
    }
    struct vq_vibecheck *r = planted_compute(w);
    assert_int_equal(r->pp.status, VQ_FIT_OK);
    assert_true(r->pp.accuracy_test > 0.99 && r->pp.majority_baseline < 0.85);
    assert_true(r->pp.rivals.chance_p < 0.01 && isnan(r->pp.rivals.difference));
    vq_vibecheck_destroy(&r);
    for (uint32_t i = 0; i < w->in.grid.samples; i++) {
        w->rows[i].preference = w->rows[i].model[0] == 0 ? 1 : 0;
    }
    r = planted_compute(w);
    assert_true(r->pp.majority_baseline == 1.0);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST_START(vq_stats_init)
