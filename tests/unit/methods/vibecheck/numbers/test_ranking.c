/* Rankings of planted models: the order comes back, null vibes are no difference as often as they
 * should be, prompts are the unit, missing answers are missing, and two models have no ranking. */
#include "../ranked.h"

TEST(the_planted_order_comes_back)
{
    const double strength[8] = {1.2, -1.2, 0.4, -0.4, 0, 0, 0, 0};
    struct planted *w = ranked_create(4, 200, 2, 2, strength, 11);
    struct vq_vibecheck *r = planted_compute(w);
    const struct vq_ranking_vibe *vibe = &r->ranking->vibe[0];
    const uint32_t ranks[4] = {1, 4, 2, 3};
    assert_int_equal(vibe->status, VQ_DAVIDSON_OK);
    assert_int_equal(vibe->prompts, 100);
    double sum = 0.0;
    for (uint32_t k = 0; k < 4; k++) {
        const struct vq_ranking_model *m = &vibe->model[k];
        assert_int_equal(m->place.rank, ranks[k]);
        assert_int_equal(m->place.rank_from, ranks[k]);
        assert_int_equal(m->place.rank_to, ranks[k]);
        assert_int_equal(m->comparisons, 300);
        assert_true(m->place.ci95.lo < m->strength && m->strength < m->place.ci95.hi);
        sum += m->strength;
    }
    assert_true(fabs(sum) < 1e-9);
    assert_true(vibe->tie_share > 0.1 && vibe->tie_share < 0.4);
    assert_true(r->vibe[0].kept && r->vibe[0].test.q < 0.001);
    double spread = (vibe->model[0].score - vibe->model[1].score) / 2;
    assert_true(fabs(r->vibe[0].test.sep - spread) < 1e-12);
    assert_true(isnan(r->vibe[0].test.sep_ci95.lo) && isnan(r->vibe[0].bounds.lo));
    assert_true(r->ranking->vibe[1].model[0].place.rank_to > 1);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(null_vibes_differ_as_rarely_as_they_should)
{
    const double none[3] = {0, 0, 0};
    uint32_t rejected = 0, rounds = 200, apart = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        struct planted *w = ranked_create(3, 60, 1, 1, none, 500 + round);
        w->config.gates.separability_min = 0;
        struct vq_vibecheck *r = planted_compute(w);
        rejected += r->vibe[0].test.p <= 0.05;
        const struct vq_ranking_model *m = r->ranking->vibe[0].model;
        apart += m[0].place.rank_from + m[1].place.rank_from + m[2].place.rank_from > 3;
        vq_vibecheck_destroy(&r);
        planted_destroy(w);
    }
    print_message("  seeds 500 to 699: p <= 0.05 in %u, ranks apart in %u of %u\n", rejected, apart,
                  rounds);
    assert_true(rejected >= 2 && rejected <= 20);
    assert_true(apart <= 20);
}

/* Ten copies of each prompt are no ten prompts. */
TEST(the_prompt_is_the_unit)
{
    const double strength[3] = {0.5, 0, -0.5};
    struct planted *once = ranked_create(3, 24, 1, 1, strength, 3);
    struct planted *copies = planted_create(24 * 3 * 10, 1, 1, 3);
    copies->config.models_count = 3;
    for (uint32_t i = 0; i < 24 * 3 * 10; i++) {
        copies->rows[i] = once->rows[i % 72];
        copies->rows[i].record = i / 3;
        memcpy(planted_cell(copies, i, 0, 0), planted_cell(once, i % 72, 0, 0), 2);
    }
    struct vq_vibecheck *a = planted_compute(once), *b = planted_compute(copies);
    assert_true(fabs(a->vibe[0].train.p - b->vibe[0].train.p) < 1e-12);
    assert_true(fabs(a->vibe[0].test.p - b->vibe[0].test.p) < 1e-12);
    for (uint32_t k = 0; k < 3; k++) {
        struct vq_interval one = a->ranking->vibe[0].model[k].place.ci95;
        struct vq_interval ten = b->ranking->vibe[0].model[k].place.ci95;
        assert_true(fabs(one.lo - ten.lo) < 1e-6 && fabs(one.hi - ten.hi) < 1e-6);
    }
    vq_vibecheck_destroy(&a);
    vq_vibecheck_destroy(&b);
    planted_destroy(once);
    planted_destroy(copies);
}

TEST(missing_answers_are_missing)
{
    const double strength[3] = {1, 0, -1};
    struct planted *w = ranked_create(3, 40, 2, 1, strength, 5);
    for (uint32_t i = 0; i < 30; i++) {
        memset(planted_cell(w, i, 0, 0), VQ_OUTCOME_UNAVAILABLE, 2);
        memset(planted_cell(w, i, 0, 1), VQ_OUTCOME_UNAVAILABLE, 2);
    }
    struct vq_vibecheck *r = planted_compute(w);
    assert_int_equal(r->cells_missing, 60);
    assert_int_equal(r->ranking->vibe[0].prompts, 15);
    assert_int_equal(r->ranking->vibe[0].model[0].comparisons, 30);
    assert_int_equal(r->ranking->vibe[0].model[0].place.rank, 1);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(two_models_have_no_ranking)
{
    struct planted *w = planted_create(20, 1, 1, 5);
    w->config.models_count = 2;
    struct vq_vibecheck *r = planted_compute(w);
    assert_null(r->ranking);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST_START(vq_stats_init)
