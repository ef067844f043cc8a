/* Whether second orders wait for a batch of their own: single decisions, and the expected prices
 * against simulated comparisons. */
#include "tests/unit/test.h"

#include "coordinator/pools/second_orders.h"

#include "common/base/rng.h"

#include "common/conf/batches.h"

#include <math.h>

static void assert_near(double value, double expected, double tolerance)
{
    if (fabs(value - expected) > tolerance) {
        fail_msg("%g, expected %g", value, expected);
    }
}

static struct vq_second_orders night(uint64_t settled)
{
    return (struct vq_second_orders){.firsts = 1000,
                                     .settled = settled,
                                     .audited = 0.1,
                                     .interactive_usd = 1,
                                     .batch_usd = 0.5,
                                     .left_s = INFINITY};
}

TEST(without_a_deadline_the_settled_share_decides)
{
    struct vq_second_orders s = night(300);
    assert_true(vq_second_orders_wait(&s));
    assert_near(vq_second_orders_at_once_usd(&s), 1.0, 1e-12);
    assert_near(vq_second_orders_after_usd(&s), 0.5 + 0.5 * (1 - 0.27), 1e-12);
    s = night(10);
    assert_false(vq_second_orders_wait(&s));
    s = night(300);
    s.audited = 1; /* both orders of all */
    assert_false(vq_second_orders_wait(&s));
}

TEST(what_is_not_measured_is_taken_as_rare)
{
    struct vq_second_orders s = night(0);
    s.firsts = VQ_SECOND_ORDERS_FIRSTS_MIN - 1;
    s.settled = s.firsts;
    assert_false(vq_second_orders_wait(&s));
    s.firsts++;
    s.settled++;
    assert_true(vq_second_orders_wait(&s));
}

static double minutes_s[100]; /* 1 to 100 minutes, in seconds */

static struct vq_second_orders until(double minutes)
{
    for (uint32_t i = 0; i < 100; i++) {
        minutes_s[i] = (i + 1) * 60;
    }
    struct vq_second_orders s = night(300);
    s.left_s = minutes * 60;
    s.durations = (struct vq_durations){.ended = minutes_s, .count = 100};
    return s;
}

TEST(a_deadline_leaves_time_for_a_second_batch_or_does_not)
{
    struct vq_second_orders s = until(400);
    assert_true(vq_second_orders_wait(&s));
    s = until(101); /* one batch ends, two hardly */
    assert_false(vq_second_orders_wait(&s));
    s = until(-1);
    assert_false(vq_second_orders_wait(&s));
}

TEST(without_interactive_pools_two_batches_must_end_in_time)
{
    struct vq_second_orders s = until(400);
    s.interactive_usd = 0;
    assert_true(vq_second_orders_wait(&s));
    s = until(90);
    s.interactive_usd = 0;
    assert_false(vq_second_orders_wait(&s));
}

#define DRAWS 200000u

static double duration(struct vq_rng *rng)
{
    return minutes_s[vq_rng_below(rng, 100)];
}

/* One comparison of which both orders are asked at once, or the second one after the first. */
static double bought(struct vq_rng *rng, const struct vq_second_orders *s, bool after)
{
    double settled = (double)s->settled / (double)s->firsts * (1 - s->audited);
    bool needed = vq_rng_unit(rng) >= settled;
    double first = duration(rng), second = first + duration(rng);
    if (!after) {
        return first <= s->left_s ? 2 * s->batch_usd : (needed ? 2 : 1) * s->interactive_usd;
    }
    double price = first <= s->left_s ? s->batch_usd : s->interactive_usd;
    if (needed) {
        price += second <= s->left_s ? s->batch_usd : s->interactive_usd;
    }
    return price;
}

TEST(prices_are_those_of_simulated_comparisons)
{
    const double minutes[] = {50, 95, 105, 130, 160, 230};
    for (size_t i = 0; i < sizeof(minutes) / sizeof(minutes[0]); i++) {
        struct vq_second_orders s = until(minutes[i]);
        struct vq_rng rng;
        vq_rng_seed(&rng, i + 1);
        double once = 0, after = 0;
        for (uint32_t n = 0; n < DRAWS; n++) {
            once += bought(&rng, &s, false) / DRAWS;
            after += bought(&rng, &s, true) / DRAWS;
        }
        /* the prior of the chances and the cells of time: 2 % */
        assert_near(vq_second_orders_at_once_usd(&s), once, 0.02 * once);
        assert_near(vq_second_orders_after_usd(&s), after, 0.02 * after);
        bool cheaper = after < (1 - VQ_CONF_BATCH_GAIN) * once;
        if (fabs(after / once - (1 - VQ_CONF_BATCH_GAIN)) > 0.02) {
            assert_int_equal(vq_second_orders_wait(&s), cheaper);
        }
    }
}
