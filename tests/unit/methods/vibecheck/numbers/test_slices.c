/* The parts of a result: the whole is the result, a judge alone is the same world without the
 * others, signs that turn are flagged, and what is missing or in no part counts nowhere. */
#include "methods/vibecheck/numbers/slices.h"

#include "tests/unit/methods/vibecheck/planted.h"

#define SAMPLES 240u
#define VIBES   3u

static const struct lens plain = {.tie = 0.1, .error = 0.15, .fail = 0.05};

/* A is higher on vibe 0 with 0.8, on vibe 1 with 0.3; vibe 2 turns: A is higher in the first half
 * of the rows only. */
static struct planted *world(uint32_t judges)
{
    struct planted *w = planted_create(SAMPLES, judges, VIBES, 11);
    static const double p[VIBES] = {0.8, 0.3, 0};
    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t v = 0; v < VIBES; v++) {
            double chance = v == 2 ? (i < SAMPLES / 2 ? 0.95 : 0.3) : p[v];
            int truth = planted_chance(&w->rng, chance) ? 1 : -1;
            for (uint32_t j = 0; j < judges; j++) {
                planted_ask(&w->rng, &plain, truth, planted_cell(w, i, v, j));
            }
        }
    }
    return w;
}

static struct vq_slices *by_value(struct planted *w, const struct vq_vibecheck *r,
                                  const uint32_t *value, uint32_t count, bool test)
{
    struct vq_slices *s = NULL;
    assert_int_equal(vq_slices_create(&w->in, r, value, count, test, &s), VQ_OK);
    assert_int_equal(s->count, count);
    assert_int_equal(s->vibes, VIBES);
    return s;
}

static void expect_whole(const struct vq_result_slice *slice, const struct vq_vibecheck *r,
                         bool test)
{
    assert_int_equal(slice->rows, test ? r->mm.rows_test : r->mm.rows_train);
    assert_true(fabs(slice->mm_accuracy - (test ? r->mm.accuracy_test : r->mm.accuracy_train)) <
                1e-12);
    for (uint32_t v = 0; v < VIBES; v++) {
        double sep = test ? r->vibe[v].test.sep : r->vibe[v].train.sep;
        assert_true(fabs(slice->separability[v] - sep) < 1e-12);
        assert_false(slice->opposite[v]);
    }
}

TEST(the_whole_as_one_part_is_the_result)
{
    for (int standardise = 0; standardise < 2; standardise++) {
        struct planted *w = world(2);
        w->config.regression.standardise = standardise;
        struct vq_vibecheck *r = planted_compute(w);
        assert_true(r->kept_count >= 2);
        uint32_t value[SAMPLES] = {0};
        for (int test = 0; test < 2; test++) {
            struct vq_slices *s = by_value(w, r, value, 1, test);
            expect_whole(&s->slice[0], r, test);
            vq_slices_destroy(&s);
        }
        struct vq_slices *s = by_value(w, r, value, 1, true);
        assert_true(fabs(s->slice[0].mm_ci95.lo - r->mm.accuracy_test_ci95.lo) < 1e-12);
        vq_slices_destroy(&s);
        vq_vibecheck_destroy(&r);
        planted_destroy(w);
    }
}

TEST(the_only_judge_is_the_result)
{
    struct planted *w = world(1);
    struct vq_vibecheck *r = planted_compute(w);
    struct vq_slices *s = NULL;
    assert_int_equal(vq_slices_create(&w->in, r, NULL, r->judges, true, &s), VQ_OK);
    assert_int_equal(s->count, 1);
    expect_whole(&s->slice[0], r, true);
    vq_slices_destroy(&s);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(parts_add_up_to_the_whole_and_a_turned_sign_is_flagged)
{
    struct planted *w = world(2);
    struct vq_vibecheck *r = planted_compute(w);
    uint32_t value[SAMPLES];
    for (uint32_t i = 0; i < SAMPLES; i++) {
        value[i] = i < SAMPLES / 2 ? 0 : 1;
    }
    struct vq_slices *s = by_value(w, r, value, 2, true);
    assert_int_equal(s->slice[0].rows + s->slice[1].rows, r->mm.rows_test);
    for (uint32_t v = 0; v < VIBES; v++) {
        double sum = 0;
        uint64_t n = 0;
        for (int k = 0; k < 2; k++) {
            sum += s->slice[k].separability[v] * (double)s->slice[k].scored[v];
            n += s->slice[k].scored[v];
        }
        assert_true(fabs(sum / (double)n - r->vibe[v].test.sep) < 1e-12);
    }
    assert_true(r->vibe[2].test.sep > 0.05); /* the first half pulls harder */
    assert_true(s->slice[1].separability[2] < -0.05);
    assert_true(s->slice[1].opposite[2]);
    assert_false(s->slice[0].opposite[2]);
    assert_false(s->slice[1].opposite[0]);
    vq_slices_destroy(&s);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(a_judge_is_seen_alone)
{
    struct planted *w = planted_create(40, 2, VIBES, 3);
    for (uint32_t i = 0; i < 40; i++) {
        planted_say(w, i, 0, 0, 1);
        planted_say(w, i, 0, 1, i % 4 < 2 ? 1 : -1); /* train and test alike: half and half */
    }
    w->config.gates.kappa = false;
    struct vq_vibecheck *r = planted_compute(w);
    assert_true(r->vibe[0].kept && r->kept_count == 1);
    struct vq_slices *s = NULL;
    assert_int_equal(vq_slices_create(&w->in, r, NULL, r->judges, true, &s), VQ_OK);
    assert_int_equal(s->count, 2);
    assert_true(s->slice[0].separability[0] == 1.0);
    assert_true(s->slice[1].separability[0] == 0.0);
    assert_true(s->slice[0].mm_accuracy == 1.0);
    assert_true(s->slice[1].mm_accuracy == 0.5);
    vq_slices_destroy(&s);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(missing_scores_and_samples_of_no_part_count_nowhere)
{
    struct planted *w = planted_create(40, 1, VIBES, 3);
    for (uint32_t i = 0; i < 40; i++) {
        planted_say(w, i, 0, 0, 1);
    }
    memset(planted_cell(w, 1, 0, 0), VQ_OUTCOME_UNAVAILABLE, 2); /* a test row */
    w->rows[3].excluded = true;
    struct vq_vibecheck *r = planted_compute(w);
    uint32_t value[40] = {0};
    value[5] = VQ_SLICE_NONE;
    struct vq_slices *s = NULL;
    assert_int_equal(vq_slices_create(&w->in, r, value, 2, true, &s), VQ_OK);
    assert_int_equal(s->slice[0].rows, 18); /* of 20: one excluded, one in no part */
    assert_int_equal(s->slice[0].scored[0], 17);
    assert_true(s->slice[0].separability[0] == 1.0);
    assert_true(fabs(s->slice[0].mm_accuracy - 17.5 / 18) < 1e-12); /* without a score: one half */
    assert_int_equal(s->slice[1].rows, 0);
    assert_true(isnan(s->slice[1].mm_accuracy) && isnan(s->slice[1].separability[0]) &&
                isnan(s->slice[1].mm_ci95.lo));
    vq_slices_destroy(&s);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(without_a_fit_there_is_no_accuracy)
{
    struct planted *w = planted_create(40, 1, VIBES, 3); /* everything equal: nothing is kept */
    struct vq_vibecheck *r = planted_compute(w);
    assert_int_equal(r->kept_count, 0);
    struct vq_slices *s = NULL;
    assert_int_equal(vq_slices_create(&w->in, r, NULL, r->judges, true, &s), VQ_OK);
    assert_true(isnan(s->slice[0].mm_accuracy));
    assert_true(s->slice[0].separability[0] == 0.0);
    vq_slices_destroy(&s);
    vq_slices_destroy(&s); /* nothing twice */
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(running_out_of_memory_is_said)
{
    struct planted *w = world(2);
    struct vq_vibecheck *r = planted_compute(w);
    for (uint64_t n = 1; n < 50; n++) {
        struct vq_slices *s = NULL;
        vq_alloc_fail_at(n);
        enum vq_status status = vq_slices_create(&w->in, r, NULL, r->judges, true, &s);
        vq_alloc_fail_at(0);
        if (status == VQ_OK) {
            assert_true(n > 5);
            vq_slices_destroy(&s);
            break;
        }
        assert_int_equal(status, VQ_NOMEM);
        assert_null(s);
    }
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST_START(vq_stats_init)
