/* A pool with a service tier: refusals for lack of capacity, the ordinary tier, another pool, and
 * what a call costs by the tier that served it. */
#include "rig.h"

static struct rig rig;

static int teardown(void **state)
{
    (void)state;
    vq_work_destroy(&rig.w);
    return 0;
}

/* One ask of one judge; its first `pools` pools answer, the first of them in the tier flex. */
static void begin(uint32_t pools)
{
    rig_init(&rig, 1, 1);
    rig.pools = pools;
    rig.serves[0] = (1u << pools) - 1;
    rig.tier[0] = "flex";
    rig.tier_price[0] = 0.5;
    rig.input_usd[0] = rig.cached_usd[0] = 2;
    rig.output_usd[0] = 10;
    rig_create(&rig, (struct vq_work_options){.local = 0, .backoff_ms = 100});
    rig_open(&rig, 1);
    struct vq_ask ask = {.task = 0};
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 1, &ask, 1);
}

static void refuse(enum vq_call_end end, int64_t retry_after_ms)
{
    rig_end(&rig, 0,
            (struct vq_work_reply){.end = end,
                                   .no_capacity = true,
                                   .retry_after_ms = retry_after_ms,
                                   .http_status = 429,
                                   .error = vq_span_str("no room")});
}

/* Until the call comes; how long it took, at most `most_ms`. */
static int64_t wait_for_call(int64_t most_ms)
{
    int64_t ms = 0;
    for (; rig.calls_count == 0 && ms < most_ms; ms += 10) {
        rig_wait(&rig, 10);
    }
    assert_int_equal(rig.calls_count, 1);
    return ms;
}

TEST_WITH(test_a_refusal_is_no_limit_and_the_ordinary_tier_follows, NULL, teardown)
{
    begin(1);
    struct vq_hash request = rig.calls[0].request;
    assert_string_equal(rig.calls[0].tier, "flex");
    refuse(VQ_END_RATE, 300);
    assert_true(wait_for_call(2000) >= 290); /* as the provider asked, and the call alone */
    assert_string_equal(rig.calls[0].tier, "flex");
    assert_int_equal(rig.calls[0].tries, 1);
    refuse(VQ_END_PROVIDER, -1); /* of an overloaded server it is the same */
    assert_true(wait_for_call(2000) <= 10);
    assert_string_equal(rig.calls[0].tier, "");
    assert_int_equal(rig.calls[0].tries, 1);
    assert_memory_equal(&rig.calls[0].request, &request, sizeof(request));
    rig_answer(&rig, 0, "Model: A");
    rig_wait(&rig, 300);
    assert_int_equal(rig.results_count, 3);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(rig.results[i].r.end, VQ_END_RATE);
        assert_int_equal(rig.results[i].r.cost_nano, 0);
        assert_false(rig.results[i].r.final);
    }
    assert_int_equal(rig.results[2].r.outcome, VQ_OUTCOME_FIRST);
    assert_int_equal(rig.reports[0].refused, 0);
    assert_int_equal(rig.reports[0].failed, 0);
    assert_int_equal(rig.reports[0].pause_ms, 0);
}

TEST_WITH(test_without_a_tier_such_a_refusal_is_one_of_rate, NULL, teardown)
{
    begin(1);
    vq_work_destroy(&rig.w);
    rig_init(&rig, 1, 1);
    rig_create(&rig, (struct vq_work_options){.local = 0});
    rig_open(&rig, 1);
    struct vq_ask ask = {.task = 0};
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 1, &ask, 1);
    assert_string_equal(rig.calls[0].tier, "");
    refuse(VQ_END_RATE, 5000);
    rig_wait(&rig, 300);
    assert_int_equal(rig.reports[0].refused, 1);
    assert_true(rig.reports[0].pause_ms > 4000);
}

TEST_WITH(test_another_pool_goes_first, NULL, teardown)
{
    begin(2);
    for (int i = 0; i < 2 && rig.calls[0].pool == 0; i++) {
        refuse(VQ_END_RATE, -1);
        (void)wait_for_call(5000);
    }
    assert_int_equal(rig.calls[0].pool, 1);
    assert_string_equal(rig.calls[0].tier, "");
}

TEST_WITH(test_the_tier_that_served_is_paid, NULL, teardown)
{
    static const struct {
        const char *reported;
        uint64_t nano;
    } cases[] = {{"flex", 100 * 1000 + 10 * 5000},
                 {"", 100 * 1000 + 10 * 5000}, /* it says nothing: as it was asked */
                 {"default", 100 * 2000 + 10 * 10000}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        begin(1);
        assert_true(rig.calls[0].cost_nano >= 100 * 10000); /* reserved: the ordinary price */
        rig_end(&rig, 0,
                (struct vq_work_reply){.end = VQ_END_ANSWER,
                                       .retry_after_ms = -1,
                                       .http_status = 200,
                                       .tokens_in = 100,
                                       .tokens_out = 10,
                                       .tokens_cache_written = 60,
                                       .tier = vq_span_str(cases[i].reported),
                                       .answer = vq_span_str("Model: A")});
        rig_wait(&rig, 10);
        assert_int_equal(rig.results[0].r.cost_nano, cases[i].nano);
        assert_int_equal(rig.results[0].r.tokens_written, 60);
        vq_work_destroy(&rig.w);
    }
    begin(1);
}
