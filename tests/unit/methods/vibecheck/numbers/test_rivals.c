/* Preference prediction against chance and against the model's name: vibes that predict without
 * adding, vibes that add, labels of one class; and what is said of fits that are degenerate. */
#include "../planted.h"

enum {
    ROWS = 600
};

/* One vibe that follows the model with `follows`; people prefer model A with `name`, and beyond
 * that what the vibe says. */
static struct planted *world(double follows, double name, double vibe)
{
    struct planted *w = planted_create(ROWS, 2, 1, 31);
    w->config.regression.bootstrap_draws = 200;
    for (uint32_t i = 0; i < ROWS; i++) {
        int score = planted_chance(&w->rng, follows) ? 1 : -1;
        for (uint32_t j = 0; j < 2; j++) {
            planted_say(w, i, 0, j, score);
        }
        bool by_vibe = planted_chance(&w->rng, vibe);
        bool a = by_vibe ? score > 0 : planted_chance(&w->rng, name);
        w->rows[i].preference = a ? 1 : -1;
    }
    return w;
}

static struct vq_vibecheck *computed(struct planted *w)
{
    struct vq_vibecheck *r = planted_compute(w);
    assert_int_equal(r->pp.status, VQ_FIT_OK);
    planted_destroy(w);
    return r;
}

TEST(a_name_in_disguise_adds_nothing)
{
    struct vq_vibecheck *r = computed(world(0.85, 0.9, 0));
    const struct vq_pp_rivals *rivals = &r->pp.rivals;
    assert_true(r->pp.accuracy_test > 0.7 && rivals->chance_p < 0.01);
    assert_true(rivals->identity_baseline > 0.85);
    assert_true(rivals->difference_p > 0.05 && rivals->difference < 0.02);
    assert_false(rivals->one_class);
    vq_vibecheck_destroy(&r);
}

TEST(a_vibe_that_adds)
{
    struct vq_vibecheck *r = computed(world(0.6, 0.5, 0.8));
    const struct vq_pp_rivals *rivals = &r->pp.rivals;
    assert_true(rivals->chance_p < 0.01 && rivals->difference > 0.1 && rivals->difference_p < 0.01);
    assert_true(rivals->difference_ci95.lo > 0);
    vq_vibecheck_destroy(&r);
}

TEST(labels_of_one_class)
{
    struct vq_vibecheck *r = computed(world(0.7, 1.0, 0));
    assert_true(r->pp.rivals.one_class && isnan(r->pp.rivals.difference));
    assert_true(fabs(r->vibe[0].pp.coef - r->vibe[0].mm.coef) < 1e-9);
    vq_vibecheck_destroy(&r);
}

/* All scores +1: no maximum-likelihood estimate, no percentile interval, no p; Firth's is log(2n +
 * 1). */
TEST(separated)
{
    struct vq_vibecheck *r = computed(world(1.0, 0.6, 0));
    const struct vq_vibe_metrics *m = &r->vibe[0];
    assert_int_equal(r->mm.degenerate, VQ_FIT_SEPARATED);
    assert_true(isnan(m->mm.ci95.lo) && isnan(m->mm.p));
    assert_true(fabs(m->mm.firth.value - log(2.0 * (double)r->mm.rows_train + 1.0)) < 1e-6);
    assert_true(m->mm.firth.ci95.lo > 0 && m->mm.firth.ci95.hi > m->mm.firth.value);
    assert_true(m->mm.firth.p < 0.001);
    vq_vibecheck_destroy(&r);
}

TEST(few_prompts)
{
    struct planted *w = world(0.7, 0.5, 0.5);
    for (uint32_t i = 0; i < ROWS; i++) {
        w->rows[i].group = i % 12; /* six questions in each split */
    }
    struct vq_vibecheck *r = planted_compute(w);
    const struct vq_vibe_metrics *m = &r->vibe[0];
    assert_int_equal(r->mm.prompts_train, 6);
    assert_int_equal(r->mm.degenerate, VQ_FIT_FEW_PROMPTS);
    assert_true(isnan(m->mm.ci95.lo) && isfinite(m->mm.firth.ci95.lo));
    assert_true(m->mm.firth.ci95.lo < 0); /* six prompts cannot tell 0.4 from 0 */
    assert_true(m->train.p > 0.03);       /* of 2^6 patterns */
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
