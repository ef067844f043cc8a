/* Pacing and jitter as numbers. */

#include "tests/unit/test.h"

#include "worker/core/limits.h"
#include "worker/core/pace.h"

#include <math.h>
#include <stdlib.h>

#define S  INT64_C(1000000000)
#define MS INT64_C(1000000)

#define LATE (9 * MS) /* how late timers are here */

/* Random loads of random costs on random limits, with late timers: no window holds more than its
 * share, the grain of timers and the last cost; none since the beginning holds more than its share;
 * a greedy sender gets nearly all of it. */
TEST(test_no_window_is_over_the_limit)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 11);
    static int64_t at[200000];
    static double cost[200000];
    for (int round = 0; round < 300; round++) {
        double limit = (double)(1 + vq_rng_below(&rng, 6000));
        double cost_max = round % 2 == 0 ? 0 : limit / 20;
        bool greedy = round % 3 == 0;
        struct vq_gcra gcra = {0};
        int64_t now = 7 * S, begin = now, end = now + 150 * S;
        vq_gcra_begin(&gcra, limit, 10 * MS, now);
        size_t count = 0;
        double sum = 0;
        while (now < end) {
            double next = 1 + vq_rng_unit(&rng) * cost_max;
            int64_t when = vq_gcra_when(&gcra, next, now);
            if (when <= now) {
                vq_gcra_spend(&gcra, next, now);
                at[count] = now;
                cost[count++] = next;
                sum += next;
                continue;
            }
            int64_t idle = (int64_t)vq_rng_below(&rng, (uint64_t)(400e9 / limit));
            now = greedy ? when + (int64_t)vq_rng_below(&rng, LATE) : now + idle;
        }
        static const int64_t windows[] = {S, 10 * S, 60 * S};
        for (size_t w = 0; w < 3; w++) {
            double most = limit / 60e9 * (double)(windows[w] + 10 * MS);
            size_t from = 0;
            double within = 0;
            for (size_t i = 0; i < count; i++) {
                within += cost[i];
                for (; at[i] - at[from] >= windows[w]; from++) {
                    within -= cost[from];
                }
                assert_true(within - cost[i] <= most + 1e-6);
            }
        }
        double before = 0;
        for (size_t i = 0; i < count; i++) {
            before += cost[i];
            assert_true(before <=
                        limit / 60e9 * (double)(at[i] - begin + 10 * MS) + cost[i] + 1e-6);
        }
        if (greedy) {
            assert_true(sum >= 0.99 * 2.5 * limit - 2 * (1 + cost_max));
        }
    }
}

TEST(test_it_begins_empty)
{
    struct vq_gcra gcra = {0};
    vq_gcra_begin(&gcra, 600, 10 * MS, S); /* 10 a second */
    assert_int_equal(vq_gcra_when(&gcra, 1, S), S + S / 10);
    assert_int_equal(vq_gcra_when(&gcra, 5, S), S + S / 2);
    vq_gcra_set(&gcra, 1200, S + S / 10); /* one was earned: still is */
    assert_int_equal(vq_gcra_when(&gcra, 1, S + S / 10), S + S / 10);
    assert_int_equal(vq_gcra_when(&gcra, 3, S + S / 10), S + S / 10 + S / 10);
    vq_gcra_spend(&gcra, 1, S + S / 10); /* owed from now on */
    assert_in_range(vq_gcra_when(&gcra, 1, S), S + S / 10 + S / 20, S + S / 10 + S / 20 + 2);
    vq_gcra_set(&gcra, 60, S + S / 10); /* one is owed, at one a second */
    assert_in_range(vq_gcra_when(&gcra, 1, S), 2 * S + S / 10, 2 * S + S / 10 + 50);
    vq_gcra_begin(&gcra, 60, 10 * MS, S + S / 10); /* taken away and given back: owed, and empty */
    assert_in_range(vq_gcra_when(&gcra, 1, S), 3 * S + S / 10, 3 * S + S / 10 + 50);
    vq_gcra_set(&gcra, 0, 2 * S);
    assert_int_equal(vq_gcra_when(&gcra, 1, 2 * S), 2 * S);
    vq_gcra_set(&gcra, 60, 5 * S); /* no limit, then one: begins */
    assert_int_equal(vq_gcra_when(&gcra, 1, 5 * S), 6 * S);
    /* idle for a year: one at once, no more */
    vq_gcra_spend(&gcra, 1, 3000000 * S);
    assert_true(vq_gcra_when(&gcra, 1, 3000000 * S) > 3000000 * S + S - 1);
}

TEST(test_no_limit_and_odd_limits)
{
    static const double odd[] = {0, -1, NAN, INFINITY, 1e300};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct vq_gcra gcra = {0};
        vq_gcra_begin(&gcra, odd[i], 10 * MS, S);
        for (int n = 0; n < 1000; n++) {
            assert_int_equal(vq_gcra_when(&gcra, 1, S), S);
            vq_gcra_spend(&gcra, 1, S);
        }
    }
    struct vq_gcra tiny = {0};
    vq_gcra_begin(&tiny, 1e-300, 10 * MS, S);
    vq_gcra_spend(&tiny, 1e12, S);
    vq_gcra_settle(&tiny, 0, 1e12, S);
    assert_true(vq_gcra_when(&tiny, 1, S) > S); /* far off, not overflown */
}

TEST(test_settling)
{
    struct vq_gcra gcra = {0};
    vq_gcra_begin(&gcra, 600, 10 * MS, 0); /* 10 a second */
    vq_gcra_spend(&gcra, 10, S);
    assert_true(vq_gcra_when(&gcra, 5, S) > 2 * S - 1);
    vq_gcra_settle(&gcra, 10, 4, S);
    assert_in_range(vq_gcra_when(&gcra, 5, S), S + 4 * S / 10, S + 4 * S / 10 + 2);
    vq_gcra_settle(&gcra, 4, 30, S); /* used more than was reserved: owed */
    assert_true(vq_gcra_when(&gcra, 1, S) > S + 2 * S);
    /* what comes back after it stood idle is gone */
    vq_gcra_begin(&gcra, 600, 10 * MS, 20 * S);
    vq_gcra_spend(&gcra, 10, 30 * S);
    vq_gcra_spend(&gcra, 10, 40 * S);
    vq_gcra_settle(&gcra, 10, 0, 30 * S);
    assert_true(vq_gcra_when(&gcra, 1, 40 * S) > 41 * S - 1);
    /* a start that is late by a little is no idleness: it comes back, the time that was lost does
     * not */
    vq_gcra_begin(&gcra, 600, 10 * MS, 50 * S);
    vq_gcra_spend(&gcra, 10, 60 * S);
    vq_gcra_spend(&gcra, 10, 61 * S + 90 * MS);
    vq_gcra_settle(&gcra, 10, 5, 60 * S);
    int64_t when = vq_gcra_when(&gcra, 1, 61 * S + 90 * MS);
    assert_true(when > 61 * S + 590 * MS - 1 && when < 61 * S + 600 * MS);
}

/* Costs are known only later, and lower than what was reserved: at work all the time it gets nearly
 * all of the limit, and no window is over by more than what the calls before it gave back. */
TEST(test_what_comes_back_is_used)
{
    struct vq_gcra gcra = {0};
    const double reserved = 120, used = 100;
    const int64_t took = 2 * S;
    static int64_t at[10000];
    size_t count = 0, settled = 0;
    vq_gcra_begin(&gcra, 60000, 10 * MS, S); /* 1000 a second */
    for (int64_t now = S; now < 121 * S; now += S / 1000) {
        while (settled < count && at[settled] + took <= now) {
            vq_gcra_settle(&gcra, reserved, used, at[settled]);
            settled++;
        }
        while (vq_gcra_when(&gcra, reserved, now) <= now) {
            vq_gcra_spend(&gcra, reserved, now);
            at[count++] = now;
        }
    }
    assert_in_range(count, 1180, 1201);
    size_t from = 0;
    for (size_t i = 0; i < count; i++) {
        for (; at[i] - at[from] >= 10 * S; from++) {
        }
        assert_true((double)(i - from) * used <= 10000 + 2 * 20 * 1000.0 / 100 + reserved);
    }
}

TEST(test_backoff_has_full_jitter)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 3);
    for (uint32_t tries = 1; tries < 40; tries++) {
        int64_t most = tries > 7 ? 30000 : 500 << (tries - 1);
        most = most > 30000 ? 30000 : most;
        double sum = 0;
        for (int i = 0; i < 400; i++) {
            int64_t ms = vq_backoff_ms(&rng, tries, 500, 30000);
            assert_in_range(ms, 0, most);
            sum += (double)ms;
        }
        assert_true(fabs(sum / 400 / (double)most - 0.5) < 0.08);
    }
    assert_int_equal(vq_backoff_ms(&rng, 5, 0, 0), 0);
}

TEST(test_pauses_have_half_jitter)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 3);
    for (uint32_t growth = 0; growth < 70; growth++) {
        int64_t most = growth > 6 ? 60000 : 1000 << growth;
        most = most > 60000 ? 60000 : most;
        for (int i = 0; i < 50; i++) {
            assert_in_range(vq_pause_ms(&rng, growth, 1000, 60000), most / 2, most);
        }
    }
}

TEST(test_refusals_pause_a_call_or_the_pool)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 3);
    const struct vq_pause_bounds bounds = {1000, 60000, 500, 30000};
    struct vq_refusals quiet = {.cut_ns = INT64_MIN}, noisy = {.cut_ns = INT64_MIN};
    struct vq_refusal_wait wait = vq_refusal(&quiet, &rng, false, 1, 3000, 2 * S, &bounds);
    assert_in_range(wait.pool_ms, 3000, 3300);
    assert_int_equal(wait.call_ms, 0);
    wait = vq_refusal(&quiet, &rng, false, 1, 0, 2 * S, &bounds);
    assert_in_range(wait.pool_ms, 500, 1000);
    wait = vq_refusal(&quiet, &rng, false, 1, 0, 3 * S, &bounds); /* it started before the pause */
    assert_int_equal(wait.pool_ms, 0);
    wait = vq_refusal(&quiet, &rng, false, 5 * S / 2, 0, 5 * S / 2 + S / 2, &bounds);
    assert_in_range(wait.pool_ms, 1000, 2000);
    for (uint32_t i = 1; i < VQ_REFUSALS_ROW; i++) {
        wait = vq_refusal(&noisy, &rng, true, S, i % 2 == 0 ? 3000 : 0, 2 * S, &bounds);
        assert_int_equal(wait.pool_ms, 0);
        assert_in_range(wait.call_ms, i % 2 == 0 ? 3000 : 0, i % 2 == 0 ? 3300 : 500 << (i - 1));
    }
    wait = vq_refusal(&noisy, &rng, true, S, 0, 2 * S, &bounds);
    assert_in_range(wait.pool_ms, 500, 1000);
    vq_refusals_over(&noisy, S);
    wait = vq_refusal(&noisy, &rng, true, 3 * S, 0, 4 * S, &bounds);
    assert_int_equal(wait.pool_ms, 0);
}

TEST(test_one_call_finds_out_after_a_pause)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 3);
    const struct vq_pause_bounds bounds = {1000, 60000, 500, 30000};
    struct vq_refusals refusals = {.cut_ns = INT64_MIN};
    assert_false(vq_refusals_doubt(&refusals, false));
    (void)vq_refusal(&refusals, &rng, false, S, 0, 2 * S, &bounds);
    assert_true(vq_refusals_doubt(&refusals, false));
    assert_false(vq_refusals_doubt(&refusals, true)); /* one refusal says little there */
    vq_refusals_over(&refusals, 2 * S);               /* it started before the pause */
    assert_true(vq_refusals_doubt(&refusals, false));
    vq_refusals_over(&refusals, 3 * S);
    assert_false(vq_refusals_doubt(&refusals, false));
    (void)vq_refusal(&refusals, &rng, false, 4 * S, 2000, 5 * S, &bounds); /* a stated wait */
    assert_false(vq_refusals_doubt(&refusals, false));
}

TEST(test_pauses_are_short_again_after_a_while)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 3);
    const struct vq_pause_bounds bounds = {1000, 60000, 500, 30000};
    struct vq_refusals refusals = {.cut_ns = INT64_MIN};
    int64_t now_ns = S;
    for (int i = 0; i < 5; i++) { /* each as soon as the pause before is over */
        struct vq_refusal_wait wait =
            vq_refusal(&refusals, &rng, false, now_ns, 0, now_ns, &bounds);
        assert_in_range(wait.pool_ms, 500 << i, 1000 << i);
        now_ns += wait.pool_ms * (S / 1000) + 1;
    }
    now_ns += 17 * S; /* longer than the last pause was; nothing was asked here meanwhile */
    struct vq_refusal_wait wait = vq_refusal(&refusals, &rng, false, now_ns, 0, now_ns, &bounds);
    assert_in_range(wait.pool_ms, 500, 1000);
}

TEST(test_a_rate_and_a_short_window_shorten_the_longest_pause)
{
    struct vq_rates rates = {{{INFINITY, INFINITY, INFINITY, INFINITY}}};
    assert_int_equal(vq_refusal_bounds(&rates, 12000).pause_ms_max, VQ_WORK_REFUSED_MS_MAX);
    rates.tokens = 90000;
    assert_int_equal(vq_refusal_bounds(&rates, 0).pause_ms_max, VQ_WORK_PACED_MS_MAX);
    assert_int_equal(vq_refusal_bounds(&rates, 86400000).pause_ms_max, VQ_WORK_PACED_MS_MAX);
    assert_int_equal(vq_refusal_bounds(&rates, 12000).pause_ms_max, 2000);
    assert_int_equal(vq_refusal_bounds(&rates, 1000).pause_ms_max, VQ_WORK_PAUSE_MS);
}
