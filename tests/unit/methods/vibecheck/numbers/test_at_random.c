/* Calls that fail at random pull the strict estimate toward 0 and leave this one where it was;
 * nothing is given where nothing failed. */
#include "../planted.h"

enum {
    ROWS = 4000
};

/* A is higher with 0.7, B with 0.1, both alike in the rest, which a third of the judges' calls
 * calls equal. */
static struct planted *world(uint64_t seed, double failing, bool lazy, double truth[2])
{
    truth[0] = truth[1] = 0;
    struct planted *w = planted_create(ROWS, 2, 1, seed);
    for (uint32_t i = 0; i < ROWS; i++) {
        double u = vq_rng_unit(&w->rng);
        int score = u < 0.7 ? 1 : u < 0.8 ? -1 : 0;
        truth[i % 2] += 2.0 * score / ROWS;
        for (uint32_t j = 0; j < 2; j++) {
            planted_say(w, i, 0, j, score);
            uint8_t *both = planted_cell(w, i, 0, j);
            for (int order = 0; order < 2; order++) {
                both[order] =
                    planted_chance(&w->rng, failing) ? VQ_OUTCOME_UNPARSEABLE : both[order];
            }
            if (lazy && both[0] == VQ_OUTCOME_EQUAL) {
                both[1] = VQ_OUTCOME_NOT_NEEDED;
            }
        }
    }
    return w;
}

TEST(failures_at_random_move_nothing)
{
    static const double failing[] = {0.2, 0.4};
    for (int lazy = 0; lazy < 2; lazy++) {
        for (size_t f = 0; f < VQ_COUNT(failing); f++) {
            double truth[2];
            struct planted *w = world(7 + f, failing[f], lazy, truth);
            struct vq_vibecheck *r = planted_compute(w);
            const struct vq_vibe_metrics *m = &r->vibe[0];
            print_message("  %.0f %% of calls fail: strict %.3f, at random %.3f, truth %.3f\n",
                          100 * failing[f], m->train.sep, m->train.sep_at_random, truth[0]);
            assert_true(m->train.sep < truth[0] - 0.01 && m->test.sep < truth[1] - 0.01);
            assert_true(fabs(m->train.sep_at_random - truth[0]) < 0.04);
            assert_true(fabs(m->test.sep_at_random - truth[1]) < 0.04);
            vq_vibecheck_destroy(&r);
            planted_destroy(w);
        }
    }
}

TEST(nothing_failed)
{
    double truth[2];
    struct planted *w = world(3, 0, true, truth);
    struct vq_vibecheck *r = planted_compute(w);
    assert_true(isnan(r->vibe[0].train.sep_at_random));
    assert_true(isnan(r->vibe[0].test.sep_at_random));
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
    w = world(3, 0.2, false, truth);
    w->config.judging.pair_rule = VQ_PAIR_LENIENT;
    r = planted_compute(w);
    assert_true(isnan(r->vibe[0].train.sep_at_random));
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
