/* Bounds of what a worker can say: an honest one is far below each of them. */
#include "tests/unit/coordinator/pools/authority_desk.h"

#include "proto/claim.h"

static struct desk d;
static char text[256];

/* $0.15 and $0.60 per million tokens; requests of 2,000 bytes, answers of 100 tokens. */
static void open_priced(void)
{
    const struct vq_authority_pool pools[] = {
        {.name = "p",
         .limit.concurrency = 5,
         .priced = true,
         .input_nano = 150,
         .output_nano = 600},
        {.name = "free", .limit.concurrency = 5, .priced = true}};
    open_desk(&d, pools, 2, VQ_AMOUNT_ANY, 1);
    vq_authority_asks(d.a, 2000, 100);
}

static bool cost_can_be(const char *pool, double usd, bool earlier)
{
    struct vq_result r = {.pool = vq_span_str(pool), .cost_nano = (uint64_t)(usd * 1e9)};
    return vq_authority_result_can_be(d.a, &r, earlier, text, sizeof(text));
}

static void what_one_call_can_cost(void **state)
{
    (void)state;
    open_priced();
    assert_true(cost_can_be("p", 0.0004, false));
    assert_true(cost_can_be("p", 0.10, false)); /* 131,072 hidden tokens of reasoning, and more */
    assert_false(cost_can_be("p", 1, false));
    assert_non_null(strstr(text, "a call that cost $1.0000; the prices and the largest request"));
    assert_false(cost_can_be("free", 0.01, false));
    assert_true(
        cost_can_be("gone", 0.10, false)); /* a pool that this start does not know: the dearest */
    assert_false(cost_can_be("gone", 1, false));
    assert_true(cost_can_be("p", 9, true)); /* with other prices */
    assert_false(cost_can_be("p", 900, true));
    assert_true(vq_authority_call_most(d.a) < 300000000);
    vq_authority_asks(d.a, 10,
                      10); /* a later stage asks less: what is out of this one can still come */
    assert_true(cost_can_be("p", 0.10, false));
    vq_authority_destroy(&d.a);
}

static void tokens_of_one_call(void **state)
{
    (void)state;
    open_priced();
    struct vq_result r = {.pool = vq_span_str("p"), .tokens_in = VQ_CLAIM_TOKENS_MAX};
    assert_true(vq_authority_result_can_be(d.a, &r, false, text, sizeof(text)));
    uint64_t *fields[] = {&r.tokens_in, &r.tokens_cached, &r.tokens_out, &r.tokens_reserved};
    for (size_t i = 0; i < VQ_COUNT(fields); i++) {
        *fields[i] = VQ_CLAIM_TOKENS_MAX + 1;
        assert_false(vq_authority_result_can_be(d.a, &r, true, text, sizeof(text)));
        *fields[i] = 0;
    }
    vq_authority_destroy(&d.a);
}

static bool credit_can_be(struct vq_amount spend, struct vq_pool_report report)
{
    struct vq_msg_credit credit = {.spend = spend, .reports = &report, .reports_count = 1};
    return vq_authority_credit_can_be(d.a, &credit, d.now_ns, text, sizeof(text));
}

static void what_a_report_can_say(void **state)
{
    (void)state;
    open_priced();
    const struct vq_amount none = {0};
    const struct vq_amount spend = {.used = 5, .open = 5, .most = VQ_AMOUNT_ANY, .unit = 2};
    const struct vq_pool_report good = {.requests = 12,
                                        .said = {.requests = 30000, .tokens = 1e9},
                                        .unit = {.requests = 1, .tokens = 30000},
                                        .pause_ms = 86400000,
                                        .park_unix_s = 1000000 + 31 * 86400,
                                        .day_tokens = {.used = 9, .open = 9, .unit = 30000}};
    assert_true(credit_can_be(spend, good));
    assert_false(credit_can_be((struct vq_amount){.used = 4, .open = 5}, good));
    assert_false(credit_can_be((struct vq_amount){.used = UINT64_MAX}, good));
    assert_false(credit_can_be((struct vq_amount){.unit = VQ_CLAIM_NANO_MAX + 1}, good));
    const struct {
        struct vq_pool_report report;
        const char *what;
    } bad[] = {{{.requests = UINT64_MAX}, "counts"},
               {{.refused = UINT64_MAX / 2}, "counts"},
               {{.in_flight = UINT32_MAX}, "counts"},
               {{.waiting = UINT32_MAX}, "counts"},
               {{.said.requests = 1e300}, "limits of its provider"},
               {{.unit.tokens = 1e9}, "a size of one request"},
               {{.unit.requests = 2}, "a size of one request"},
               {{.pause_ms = UINT32_MAX}, "a pause"},
               {{.park_unix_s = INT64_MAX}, "a time at which a quota begins again"},
               {{.park_unix_s = -1}, "a time at which a quota begins again"},
               {{.day_requests = {.used = 1, .open = 2}}, "amounts of a day's quota"},
               {{.day_tokens.unit = UINT64_MAX}, "amounts of a day's quota"},
               {{.pool = 7}, "a pool"}};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        assert_false(credit_can_be(none, bad[i].report));
        assert_non_null(strstr(text, bad[i].what));
    }
    vq_authority_destroy(&d.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_call_can_cost),
        cmocka_unit_test(tokens_of_one_call),
        cmocka_unit_test(what_a_report_can_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
