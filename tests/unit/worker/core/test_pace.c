/* Pacing and jitter as numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/core/pace.h"

#include <math.h>
#include <stdlib.h>

#define S INT64_C(1000000000)

/* Random loads on random limits: no window of a minute holds more than the limit, and a greedy sender gets most of it. */
static void test_no_window_is_over_the_limit(void **state)
{
    (void)state;
    struct vq_rng rng;
    vq_rng_seed(&rng, 11);
    static int64_t at[200000];
    for (int round = 0; round < 300; round++) {
        uint64_t limit = 1 + vq_rng_below(&rng, 3000);
        struct vq_gcra gcra = {0};
        vq_gcra_set(&gcra, (double)limit, 0.5 + vq_rng_unit(&rng) * 3);
        bool greedy = round % 3 == 0;
        size_t count = 0;
        int64_t now = 7 * S;
        int64_t end = now + 150 * S;
        while (now < end) {
            int64_t when = vq_gcra_when(&gcra, 1, now);
            if (when <= now) {
                vq_gcra_spend(&gcra, 1, now);
                at[count++] = now;
            }
            int64_t idle = (int64_t)vq_rng_below(&rng, 400 * (uint64_t)S / limit);
            now = greedy ? (when > now ? when : now) : now + idle;
        }
        size_t from = 0;
        for (size_t i = 0; i < count; i++) {
            while (at[i] - at[from] >= 60 * S) {
                from++;
            }
            assert_true(i - from + 1 <= limit);
        }
        if (greedy) {
            assert_true((double)count >= 0.93 * 2.5 * (double)limit - 1);
        }
    }
}

static void test_no_limit_and_odd_limits(void **state)
{
    (void)state;
    static const double odd[] = {0, -1, NAN, INFINITY, 1e300};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct vq_gcra gcra = {0};
        vq_gcra_set(&gcra, odd[i], 1);
        for (int n = 0; n < 1000; n++) {
            assert_int_equal(vq_gcra_when(&gcra, 1, S), S);
            vq_gcra_spend(&gcra, 1, S);
        }
    }
    struct vq_gcra tiny = {0};
    vq_gcra_set(&tiny, 1e-300, 1);
    vq_gcra_spend(&tiny, 1e12, S);
    vq_gcra_settle(&tiny, 0, 1e12);
    assert_true(vq_gcra_when(&tiny, 1, S) > S); /* far off, not overflown */
}

static void test_settling(void **state)
{
    (void)state;
    struct vq_gcra gcra = {0};
    vq_gcra_set(&gcra, 600, 1); /* 10 a second, 10 at once */
    vq_gcra_spend(&gcra, 10, S);
    assert_true(vq_gcra_when(&gcra, 5, S) > S);
    vq_gcra_settle(&gcra, 10, 4);
    assert_int_equal(vq_gcra_when(&gcra, 5, S), S);
    vq_gcra_settle(&gcra, 4, 30); /* used more than was reserved: owed */
    assert_true(vq_gcra_when(&gcra, 1, S) > S + S);
    assert_true(vq_gcra_when(&gcra, 1000, S) >=
                vq_gcra_when(&gcra, 1, S)); /* over the burst: when idle */
    int64_t idle = vq_gcra_when(&gcra, 1000, S);
    assert_int_equal(vq_gcra_when(&gcra, 1000, idle), idle);
}

static void test_backoff_has_full_jitter(void **state)
{
    (void)state;
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

static void test_pauses_have_half_jitter(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_window_is_over_the_limit),
        cmocka_unit_test(test_no_limit_and_odd_limits),
        cmocka_unit_test(test_settling),
        cmocka_unit_test(test_backoff_has_full_jitter),
        cmocka_unit_test(test_pauses_have_half_jitter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
