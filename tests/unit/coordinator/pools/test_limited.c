/* What limits a pool, in a word and in words, and when a pool is slow. */
#include "coordinator/pools/limited.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#define S INT64_C(1000000000)

static struct vq_authority_pool_status busy(void)
{
    return (struct vq_authority_pool_status){.name = "p",
                                             .state = VQ_AUTHORITY_OPEN,
                                             .text = "",
                                             .limit.rates = {.requests = 3600},
                                             .rates_by = {VQ_LIMIT_BY_CONFIG},
                                             .configured.rates = {.requests = 3600},
                                             .dealt.rates = {.requests = 3500},
                                             .lately = {.requests = 3400},
                                             .limit.concurrency = 120,
                                             .concurrency_by = VQ_LIMIT_BY_LEARNING,
                                             .in_flight = 24,
                                             .in_flight_most = 25,
                                             .work_waits = true};
}

static const char *text_of(const struct vq_authority_pool_status *s, enum vq_limited_by by)
{
    static char text[VQ_LIMITED_TEXT_BYTES];
    struct vq_limited limited = vq_limited_of(s);
    assert_int_equal(limited.by, by);
    vq_limited_text(&limited, s, "07:01", text, sizeof(text));
    return text;
}

static void rates(void **state)
{
    (void)state;
    struct vq_authority_pool_status s = busy();
    assert_string_equal(text_of(&s, VQ_LIMITED_BY_REQUESTS),
                        "limited by requests a minute: 3,600, configured");
    s.limit.rates.requests = 620;
    s.rates_by[VQ_RATE_REQUESTS] = VQ_LIMIT_BY_LEARNING;
    s.rates_why = (struct vq_authority_why){1, 14, 620};
    s.dealt.rates.requests = 610;
    s.lately.requests = 600;
    assert_string_equal(text_of(&s, VQ_LIMITED_BY_REQUESTS),
                        "limited by requests a minute: 620, learned at 07:01 after 14 refusals at "
                        "620 a minute; configured 3,600");
    s.tries = VQ_AUTHORITY_TRIES_RATES;
    assert_non_null(strstr(text_of(&s, VQ_LIMITED_BY_REQUESTS), "a trial"));
    s = busy();
    s.limit.rates.tokens = 100000;
    s.rates_by[VQ_RATE_TOKENS] = VQ_LIMIT_BY_HEADERS;
    s.dealt.rates.tokens = 98000;
    s.lately.tokens = 97990; /* nearer to its limit than the requests */
    assert_string_equal(text_of(&s, VQ_LIMITED_BY_TOKENS),
                        "limited by tokens a minute: 100,000, from the provider's headers");
    s = busy();
    s.rates_by[VQ_RATE_REQUESTS] = VQ_LIMIT_BY_HAND;
    assert_string_equal(text_of(&s, VQ_LIMITED_BY_REQUESTS),
                        "limited by requests a minute: 3,600, set by vibeq ctl");
}

static void concurrency(void **state)
{
    (void)state;
    struct vq_authority_pool_status s = busy();
    s.lately.requests = 31;
    s.limit.concurrency = s.in_flight = s.in_flight_most = 1;
    s.level_why = (struct vq_authority_why){1, 4, 240};
    assert_string_equal(text_of(&s, VQ_LIMITED_BY_CONCURRENCY),
                        "limited by learned concurrency 1 (learned at 07:01 after 4 refusals at "
                        "240 a minute); configured 3,600 a minute");
    s.level_why.at_ns = 0;
    assert_string_equal(text_of(&s, VQ_LIMITED_BY_CONCURRENCY),
                        "limited by learned concurrency 1 (not configured, and growing); "
                        "configured 3,600 a minute");
    s.concurrency_by = VQ_LIMIT_BY_CONFIG;
    assert_string_equal(text_of(&s, VQ_LIMITED_BY_CONCURRENCY),
                        "limited by concurrency 1 (configured); configured 3,600 a minute");
}

static void neither(void **state)
{
    (void)state;
    struct vq_authority_pool_status s = busy();
    s.lately.requests = 1000;
    assert_string_equal(text_of(&s, VQ_LIMITED_BY_WORKERS),
                        "limited by its workers: 24 in flight, and no limit is reached; configured "
                        "3,600 a minute");
    s.work_waits = false;
    assert_string_equal(text_of(&s, VQ_LIMITED_BY_NOTHING), "limited by nothing: no work waits");
    s.state = VQ_AUTHORITY_PAUSED;
    s.text = "a refusal asked to wait";
    assert_string_equal(text_of(&s, VQ_LIMITED_BY_STATE),
                        "limited by its state: a refusal asked to wait");
    for (int by = 0; by < VQ_LIMITED_BY__COUNT; by++) {
        assert_non_null(vq_limited_word((enum vq_limited_by)by));
    }
}

static void slow(void **state)
{
    (void)state;
    struct vq_authority_pool_status s = busy();
    struct vq_slow slow = {0};
    s.lately.requests = 60;
    assert_int_equal(vq_slow_look(&slow, &s, 180 * S, S), VQ_SLOW_SAME);
    assert_int_equal(vq_slow_look(&slow, &s, 180 * S, 180 * S), VQ_SLOW_SAME);
    assert_int_equal(vq_slow_look(&slow, &s, 180 * S, 181 * S), VQ_SLOW_RAISED);
    assert_int_equal(vq_slow_look(&slow, &s, 180 * S, 182 * S), VQ_SLOW_SAME);
    assert_int_equal(slow.since_ns, S);
    s.lately.requests = 3000;
    assert_int_equal(vq_slow_look(&slow, &s, 180 * S, 183 * S), VQ_SLOW_CLEARED);
    assert_int_equal(slow.since_ns, 0);
}

static void slow_for_a_reason(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct vq_authority_pool_status s = busy();
        struct vq_slow slow = {0};
        s.lately.requests = 60;
        int64_t after_ns = i == 0 ? 0 : S; /* it is switched off */
        s.work_waits = i != 1;
        s.refused_part = i == 2 ? 0.2 : 0.01;
        s.state = i == 3 ? VQ_AUTHORITY_PAUSED : VQ_AUTHORITY_OPEN;
        s.configured.rates.requests = i == 4 ? 0 : 3600;
        if (i == 5) { /* the tokens are what is used */
            s.configured.rates.tokens = 100000;
            s.lately.tokens = 90000;
        }
        assert_int_equal(vq_slow_look(&slow, &s, after_ns, S), VQ_SLOW_SAME);
        assert_int_equal(vq_slow_look(&slow, &s, after_ns, 1000 * S), VQ_SLOW_SAME);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates), cmocka_unit_test(concurrency),       cmocka_unit_test(neither),
        cmocka_unit_test(slow),  cmocka_unit_test(slow_for_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
