/* The overlap gate over planted vibes: an independent one is never dropped, a mirror image always
 * is, and two that are nearly constant are kept and marked. The other gates are held in
 * test_vibecheck.c and ../method/test_method.c. */
#include "../planted.h"

enum {
    ROWS = 300,
    SEEDS = 20
};

/* Vibes 0 and 1: +1 in 90 % of the rows, independent. Vibe 2: 0 the other way round, with the
 * judges' own errors. Vibe 3: 0 again. */
static struct planted *world(uint64_t seed)
{
    struct planted *w = planted_create(ROWS, 2, 4, seed);
    w->config.gates.overlap = VQ_CONF_OVERLAP_PEARSON;
    w->config.gates.kappa = false;
    for (uint32_t i = 0; i < ROWS; i++) {
        int a = planted_chance(&w->rng, 0.9) ? 1 : -1, b = planted_chance(&w->rng, 0.9) ? 1 : -1;
        const int truth[4] = {a, b, -a, a};
        for (uint32_t v = 0; v < 4; v++) {
            for (uint32_t j = 0; j < 2; j++) {
                bool errs = v >= 2 && planted_chance(&w->rng, 0.005);
                planted_say(w, i, v, j, errs ? -truth[v] : truth[v]);
            }
        }
    }
    return w;
}

TEST(independent_stays_and_mirror_goes)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct planted *w = world(100 + seed);
        struct vq_vibecheck *r = planted_compute(w);
        assert_true(r->vibe[0].kept && r->vibe[1].kept);
        assert_int_equal(r->vibe[2].reason, VQ_DROP_OVERLAP);
        assert_true(r->vibe[2].overlap < -0.8);
        assert_int_equal(r->vibe[2].overlap_with, 0);
        assert_int_equal(r->vibe[3].reason, VQ_DROP_OVERLAP);
        assert_true(r->vibe[3].overlap > 0.8);
        vq_vibecheck_destroy(&r);
        planted_destroy(w);
    }
}

TEST(nearly_constant_is_not_judged)
{
    struct planted *w = planted_create(ROWS, 2, 2, 5);
    w->config.gates.overlap = VQ_CONF_OVERLAP_PEARSON;
    for (uint32_t i = 0; i < ROWS; i++) {
        for (uint32_t v = 0; v < 2; v++) {
            for (uint32_t j = 0; j < 2; j++) {
                planted_say(w, i, v, j,
                            i == 4 ? -1 : 1); /* one row of train differs, in both alike */
            }
        }
    }
    struct vq_vibecheck *r = planted_compute(w);
    assert_true(r->vibe[0].kept && r->vibe[1].kept);
    assert_true(r->vibe[1].overlap_unjudged && !r->vibe[0].overlap_unjudged);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

/* N/A in every cell: no separability, no p, and none of the others' q. */
TEST(not_applicable_is_no_zero)
{
    struct planted *with = planted_create(ROWS, 2, 2, 8), *without = planted_create(ROWS, 2, 1, 8);
    for (uint32_t i = 0; i < ROWS; i++) {
        int score = planted_chance(&with->rng, 0.56) ? 1 : -1;
        for (uint32_t j = 0; j < 2; j++) {
            planted_say(with, i, 0, j, score);
            planted_say(without, i, 0, j, score);
            memset(planted_cell(with, i, 1, j), VQ_OUTCOME_NA, 2);
        }
    }
    struct vq_vibecheck *a = planted_compute(with), *b = planted_compute(without);
    assert_true(a->vibe[1].na_everywhere && isnan(a->vibe[1].train.sep) &&
                isnan(a->vibe[1].train.p));
    assert_int_equal(a->vibe[1].reason, VQ_DROP_SEPARABILITY);
    assert_true(fabs(a->vibe[0].train.q - b->vibe[0].train.q) < 1e-12);
    vq_vibecheck_destroy(&a);
    vq_vibecheck_destroy(&b);
    planted_destroy(with);
    planted_destroy(without);
}

/* Rows that the proposer was shown are in no test on train. */
TEST(shown_rows_are_not_tested)
{
    struct planted *w = planted_create(ROWS, 2, 1, 9);
    for (uint32_t i = 0; i < ROWS; i++) {
        w->rows[i].shown = i < 60;
        for (uint32_t j = 0; j < 2; j++) {
            planted_say(w, i, 0, j, i < 60 || i % 4 < 2 ? 1 : -1);
        }
    }
    struct vq_vibecheck *r = planted_compute(w);
    assert_true(r->vibe[0].train.sep > 0.15);
    assert_true(r->vibe[0].train.p > 0.5); /* the rest is half and half */
    vq_vibecheck_destroy(&r);
    for (uint32_t i = 0; i < ROWS; i++) {
        w->rows[i].shown = true;
    }
    r = planted_compute(w);
    assert_true(isnan(r->vibe[0].train.p) && isnan(r->vibe[0].train.q));
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

static int setup(void **state)
{
    (void)state;
    vq_stats_init();
    return 0;
}

TEST_GROUP(setup, NULL)
