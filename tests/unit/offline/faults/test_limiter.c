#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/rng.h"
#include "offline/faults/limiter.h"

static struct vq_limiter *create(const char *text)
{
    struct vq_limits limits;
    struct vq_error err = {0};
    struct vq_limiter *limiter = NULL;
    if (vq_limits_parse(text, &limits, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(vq_limiter_create(&limits, &limiter), VQ_OK);
    return limiter;
}

static struct vq_admission ask(struct vq_limiter *limiter, uint64_t tokens, int64_t now_ns)
{
    struct vq_admission admission;
    assert_int_equal(vq_limiter_ask(limiter, 1, tokens, now_ns, &admission), VQ_OK);
    return admission;
}

#define ARRIVALS 20000

/* Against a plain recount: over any window the admitted stay within both limits, and a refusal was
 * needed. */
static void no_window_holds_more_than_its_limit(void **state)
{
    (void)state;
    static int64_t at[ARRIVALS];
    static uint64_t size[ARRIVALS];
    struct vq_limiter *limiter = create("rpm=20,tpm=500,window_ms=1000");
    struct vq_rng rng;
    vq_rng_seed(&rng, 3);
    int64_t now_ns = 0;
    size_t n = 0;
    size_t refused = 0;
    for (int i = 0; i < ARRIVALS; i++) {
        now_ns += (int64_t)vq_rng_below(&rng, 60 * VQ_NS_PER_MS);
        uint64_t tokens = 1 + vq_rng_below(&rng, 60);
        size_t requests = 0;
        uint64_t sum = 0;
        for (size_t k = n; k > 0 && at[k - 1] > now_ns - VQ_NS_PER_S; k--) {
            requests++;
            sum += size[k - 1];
        }
        struct vq_admission admission = ask(limiter, tokens, now_ns);
        bool fits = requests < 20 && sum + tokens <= 500;
        assert_int_equal(admission.refused_by == VQ_LIMIT_NONE, fits);
        if (fits) {
            at[n] = now_ns;
            size[n++] = tokens;
            assert_int_equal(admission.requests_left, 20 - requests - 1);
            assert_int_equal(admission.tokens_left, 500 - sum - tokens);
        } else {
            refused++;
        }
        vq_limiter_done(limiter, 1);
    }
    assert_true(n > 1000 && refused > 1000);
    vq_limiter_destroy(&limiter);
}

static void the_told_wait_is_the_shortest_that_helps(void **state)
{
    (void)state;
    struct vq_rng rng;
    vq_rng_seed(&rng, 4);
    for (int round = 0; round < 200; round++) {
        struct vq_limiter *limiter = create("tpm=300,window_ms=1000");
        int64_t now_ns = 0;
        uint64_t tokens = 0;
        struct vq_admission admission;
        do {
            now_ns += 1 + (int64_t)vq_rng_below(&rng, 20 * VQ_NS_PER_MS);
            tokens = 1 + vq_rng_below(&rng, 100);
            admission = ask(limiter, tokens, now_ns);
        } while (admission.refused_by == VQ_LIMIT_NONE);
        assert_int_equal(admission.refused_by, VQ_LIMIT_TOKENS);
        assert_false(admission.never);
        assert_true(admission.wait_ns > 0);
        assert_int_equal(ask(limiter, tokens, now_ns + admission.wait_ns - 1).refused_by,
                         VQ_LIMIT_TOKENS);
        assert_int_equal(ask(limiter, tokens, now_ns + admission.wait_ns).refused_by,
                         VQ_LIMIT_NONE);
        vq_limiter_destroy(&limiter);
    }
}

static void too_many_at_a_time_are_refused(void **state)
{
    (void)state;
    struct vq_limiter *limiter = create("concurrency=2");
    assert_int_equal(ask(limiter, 1, 0).refused_by, VQ_LIMIT_NONE);
    assert_int_equal(ask(limiter, 1, 0).refused_by, VQ_LIMIT_NONE);
    assert_int_equal(ask(limiter, 1, 0).refused_by, VQ_LIMIT_CONCURRENCY);
    vq_limiter_done(limiter, 1);
    assert_int_equal(ask(limiter, 1, 0).refused_by, VQ_LIMIT_NONE);
    struct vq_admission other;
    assert_int_equal(vq_limiter_ask(limiter, 2, 1, 0, &other), VQ_OK);
    assert_int_equal(other.refused_by, VQ_LIMIT_NONE);
    vq_limiter_destroy(&limiter);
}

static void a_request_greater_than_the_window_never_fits(void **state)
{
    (void)state;
    struct vq_limiter *limiter = create("tpm=100");
    struct vq_admission admission = ask(limiter, 101, 0);
    assert_int_equal(admission.refused_by, VQ_LIMIT_TOKENS);
    assert_true(admission.never);
    vq_limiter_destroy(&limiter);
}

static void refused_ones_count_where_asked(void **state)
{
    (void)state;
    struct vq_limiter *limiter = create("rpm=1,window_ms=100,count_refused=1");
    assert_int_equal(ask(limiter, 1, 0).refused_by, VQ_LIMIT_NONE);
    assert_int_equal(ask(limiter, 1, 99 * VQ_NS_PER_MS).refused_by, VQ_LIMIT_REQUESTS);
    assert_int_equal(ask(limiter, 1, 101 * VQ_NS_PER_MS).refused_by, VQ_LIMIT_REQUESTS);
    assert_int_equal(ask(limiter, 1, 202 * VQ_NS_PER_MS).refused_by, VQ_LIMIT_NONE);
    vq_limiter_destroy(&limiter);
}

static void the_text_of_limits_is_checked(void **state)
{
    (void)state;
    struct vq_limits limits;
    struct vq_error err = {0};
    assert_int_equal(vq_limits_parse("rpm=60,per=both,hint=50", &limits, &err), VQ_OK);
    assert_true(limits.per_key && limits.per_model && limits.hint_percent == 50 &&
                limits.requests == 60);
    assert_int_equal(vq_limits_parse("rpm=60,per=all,hint=absent", &limits, &err), VQ_OK);
    assert_true(!limits.per_key && !limits.per_model && limits.hint_percent == -1);
    static const char *const bad[] = {"rpm",     "rpm=x",       "rpm=-1",    "foo=1",
                                      "per=you", "window_ms=0", "hint=99999"};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        assert_int_equal(vq_limits_parse(bad[i], &limits, &err), VQ_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_window_holds_more_than_its_limit),
        cmocka_unit_test(the_told_wait_is_the_shortest_that_helps),
        cmocka_unit_test(too_many_at_a_time_are_refused),
        cmocka_unit_test(a_request_greater_than_the_window_never_fits),
        cmocka_unit_test(refused_ones_count_where_asked),
        cmocka_unit_test(the_text_of_limits_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
