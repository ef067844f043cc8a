/* Several pools of a judge: which one is asked, and what becomes of its asks when one fails, is
 * refused or closes. */
#include "rig.h"

static struct rig rig;

static int teardown(void **state)
{
    (void)state;
    vq_work_destroy(&rig.w);
    return 0;
}

/* One judge, `pools` pools. */
static void begin(uint32_t pools, uint32_t axes, struct vq_work_options options)
{
    rig_init(&rig, 1, axes);
    rig.pools = pools;
    rig.serves[0] = (1u << pools) - 1;
    rig_create(&rig, options);
}

static uint32_t calls_on(uint32_t pool)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rig.calls_count; i++) {
        count += rig.calls[i].pool == pool ? 1 : 0;
    }
    return count;
}

static uint32_t find_on(uint32_t pool)
{
    uint32_t i = 0;
    while (i < rig.calls_count && rig.calls[i].pool != pool) {
        i++;
    }
    assert_true(i < rig.calls_count);
    return i;
}

TEST_WITH(test_calls_of_one_front_go_together, NULL, teardown)
{
    begin(4, 8, (struct vq_work_options){.local = 0});
    rig_open(&rig, 1000);
    uint32_t of[4] = {0};
    for (uint64_t sample = 0; sample < 60; sample++) {
        rig_lease(&rig, sample, sample + 1, false);
        assert_int_equal(rig.calls_count, 16);
        uint32_t pool[2] = {UINT32_MAX, UINT32_MAX};
        for (uint32_t i = 0; i < 16; i++) {
            uint32_t order = rig.calls[i].order;
            pool[order] = pool[order] == UINT32_MAX ? rig.calls[i].pool : pool[order];
            assert_int_equal(rig.calls[i].pool, pool[order]);
        }
        of[pool[0]]++;
        of[pool[1]]++;
        while (rig.calls_count > 0) {
            rig_answer(&rig, 0, "Model: A");
        }
    }
    for (uint32_t p = 0; p < 4; p++) {
        assert_in_range(of[p], 15, 45); /* of 120 */
    }
}

TEST_WITH(test_all_pools_are_used_before_any_ask_waits, NULL, teardown)
{
    begin(3, 8, (struct vq_work_options){.local = 0});
    rig_open(&rig, 2);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count, 6);
    for (uint32_t p = 0; p < 3; p++) {
        assert_int_equal(calls_on(p), 2);
    }
    uint32_t on = rig.calls[0].pool;
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_count, 6);
    assert_int_equal(rig.calls[5].pool, on);
    rig_wait(&rig, 10);
    assert_string_equal(rig.results[0].answer, "Model: A");
    for (uint32_t p = 0; p < 3; p++) {
        assert_true(rig.reports[p].waiting >= 1);
    }
}

TEST_WITH(test_a_refused_pool_pauses_alone, NULL, teardown)
{
    begin(2, 8, (struct vq_work_options){.local = 0});
    rig_open(&rig, 2);
    rig_lease(&rig, 0, 1, false);
    rig_fail(&rig, find_on(0), VQ_END_RATE, 2000);
    rig_answer(&rig, find_on(0), "Model: A");
    assert_int_equal(calls_on(0), 0);
    assert_int_equal(calls_on(1), 2);
    for (int i = 0; i < 5; i++) {
        rig_answer(&rig, 0, "Model: A");
        assert_int_equal(calls_on(1), 2);
    }
    rig_wait(&rig, 2300);
    assert_int_equal(calls_on(0), 2);
    rig_wait(&rig, 10);
    for (uint32_t i = 0; i < rig.results_count; i++) {
        assert_int_equal(rig.results[i].r.tries, 1); /* the refusal burned none */
    }
}

TEST_WITH(test_after_a_failure_another_is_asked, NULL, teardown)
{
    begin(3, 1, (struct vq_work_options){.local = 0});
    rig_open(&rig, 8);
    struct vq_ask ask = {.task = 0};
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 1, &ask, 1);
    uint32_t first = rig.calls[0].pool;
    rig_fail(&rig, 0, VQ_END_PROVIDER, -1);
    rig_wait(&rig, VQ_WORK_BACKOFF_MS);
    uint32_t second = rig.calls[0].pool;
    assert_int_not_equal(second, first);
    rig_fail(&rig, 0, VQ_END_LOST, -1);
    rig_wait(&rig, 2 * VQ_WORK_BACKOFF_MS);
    assert_int_not_equal(rig.calls[0].pool, second);
    rig_answer(&rig, 0, "Model: A");
    rig_wait(&rig, 10);
    assert_int_equal(rig.results[0].r.pool.bytes, strlen("pool-0"));
    assert_int_equal(rig.reports[first].failed + rig.reports[second].failed, 2);
    /* and where there is no other, the same */
    rig.slices[0].concurrency = 0;
    rig.slices[1].concurrency = 0;
    rig_grant_n(&rig, ++rig.grant_n);
    rig_sample(&rig, 1);
    rig_lease_asks(&rig, 1, 2, &ask, 1);
    rig_fail(&rig, 0, VQ_END_PROVIDER, -1);
    rig_wait(&rig, VQ_WORK_BACKOFF_MS);
    assert_int_equal(rig.calls[0].pool, 2);
}

/* Two of three are down: the third try finds the other. */
TEST_WITH(test_tries_are_not_used_up_between_pools_that_are_down, NULL, teardown)
{
    for (uint32_t i = 0; i < 3 * 8; i++) {
        uint32_t well = i % 3, tries = 1;
        begin(3, 1, (struct vq_work_options){.local = 0});
        rig_open(&rig, 8);
        struct vq_ask ask = {.task = 0};
        rig_sample(&rig, i / 3);
        rig_lease_asks(&rig, i / 3, 1, &ask, 1);
        while (rig.calls[0].pool != well) {
            rig_fail(&rig, 0, VQ_END_PROVIDER, -1);
            rig_wait(&rig, VQ_WORK_BACKOFF_MS << tries++);
            assert_int_equal(rig.calls_count, 1);
        }
        assert_in_range(tries, 1, 3);
        vq_work_destroy(&rig.w);
    }
}

TEST_WITH(test_a_pool_closes_and_its_asks_stay, NULL, teardown)
{
    static const enum vq_pool_state closed[] = {VQ_POOL_BAD_KEY, VQ_POOL_NO_MONEY,
                                                VQ_POOL_NO_MODEL};
    for (size_t c = 0; c < VQ_COUNT(closed); c++) {
        begin(2, 4, (struct vq_work_options){.local = 0});
        rig_open(&rig, 2);
        rig_lease(&rig, 0, 1, false);
        rig_end(&rig, find_on(0),
                (struct vq_work_reply){.end = VQ_END_CLOSED,
                                       .pool = closed[c],
                                       .retry_after_ms = -1,
                                       .error = vq_span_str("it said no")});
        assert_int_equal(rig.returned_count, 0);
        assert_int_equal(rig.credits[0].state, VQ_POOL_OPEN);
        assert_int_equal(rig.reports[0].state, closed[c]);
        assert_int_equal(rig.reports[0].waiting, 0);
        assert_int_equal(rig.reports[1].state, VQ_POOL_OPEN);
        rig_answer(&rig, find_on(0), "Model: A");
        for (int i = 0; i < 7; i++) {
            assert_true(calls_on(1) >= 1);
            assert_int_equal(calls_on(0), 0);
            rig_answer(&rig, 0, "Model: A");
        }
        assert_int_equal(rig.calls_count, 0);
        rig_wait(&rig, 10);
        assert_int_equal(rig.results_count, 9);
        rig_ack(&rig, 0, 9);
        assert_int_equal(rig_stats(&rig).asks_open, 0);
        if (c + 1 < VQ_COUNT(closed)) {
            vq_work_destroy(&rig.w);
        }
    }
    /* the last one too: now the judge is closed */
    rig_lease(&rig, 1, 2, false);
    rig_forget(&rig);
    rig_fail(&rig, 0, VQ_END_CLOSED, -1);
    assert_int_equal(rig.credits[0].state, VQ_POOL_NO_MODEL); /* as its first one */
    assert_int_equal(rig.credits[0].tasks, 0);
    assert_int_equal(rig.returned_count, 7);
}

TEST_WITH(test_one_that_never_spoke_is_closed_and_the_other_asked, NULL, teardown)
{
    begin(2, 1, (struct vq_work_options){.local = 0});
    rig.tries_max = 1;
    rig_open(&rig, 2);
    struct vq_ask ask = {.task = 0};
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 1, &ask, 1);
    uint32_t first = rig.calls[0].pool;
    rig_fail(&rig, 0, VQ_END_NETWORK, -1);
    assert_int_equal(rig.reports[first].state, VQ_POOL_NO_MODEL);
    assert_int_equal(rig.calls_count, 1);
    assert_int_equal(rig.calls[0].pool, 1 - first);
    rig_answer(&rig, 0, "Model: A");
    rig_wait(&rig, 10);
    assert_int_equal(rig.results[1].r.outcome, VQ_OUTCOME_FIRST);
}

/* One failed connection closes no pool because a task had tried others before. */
TEST_WITH(test_one_failure_closes_no_pool_that_never_spoke, NULL, teardown)
{
    begin(3, 1, (struct vq_work_options){.local = 0});
    rig_open(&rig, 8);
    struct vq_ask ask = {.task = 0};
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 1, &ask, 1);
    for (uint32_t n = 1; n <= 5 * 3;
         n++) { /* tries_max of the rig: the first three rounds close one */
        assert_int_equal(rig.credits[0].state, VQ_POOL_OPEN);
        assert_int_equal(rig.calls_count, 1);
        rig_fail(&rig, 0, VQ_END_NETWORK, -1);
        for (int i = 0; i < 4; i++) {
            rig_echo(&rig);
            rig_wait(&rig, VQ_WORK_BACKOFF_MS);
        }
        uint32_t closed = 0;
        for (uint32_t p = 0; p < 3; p++) {
            closed += rig.reports[p].state == VQ_POOL_NO_MODEL ? 1 : 0;
            assert_true(rig.reports[p].state == VQ_POOL_OPEN || rig.reports[p].failed >= 3);
        }
        assert_true(closed <= n / 3);
        if (closed == 3) {
            break;
        }
    }
    assert_int_equal(rig.credits[0].state, VQ_POOL_NO_MODEL);
    assert_int_equal(rig.credits[0].tasks, 0);
}

TEST_WITH(test_no_key_for_one_of_two, NULL, teardown)
{
    begin(2, 2, (struct vq_work_options){.local = 0});
    rig.key_state[0] = VQ_POOL_NO_KEY;
    rig_open(&rig, 2);
    assert_int_equal(rig.credits[0].state, VQ_POOL_OPEN);
    assert_int_equal(rig.reports[0].state, VQ_POOL_NO_KEY);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count, 2);
    assert_int_equal(calls_on(1), 2);
}

/* Prices and what is reserved are the pool's. */
TEST_WITH(test_what_a_call_takes_is_noted, NULL, teardown)
{
    begin(2, 1, (struct vq_work_options){.local = 0, .has_spool = true});
    rig.input_usd[1] = 3;
    rig.output_usd[1] = 15;
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    const struct vq_work_call *free_call = &rig.calls[find_on(0)];
    const struct vq_work_call *call = &rig.calls[find_on(1)];
    assert_int_equal(free_call->cost_nano, 0);
    assert_int_equal(free_call->tokens_reserved, call->tokens_reserved);
    assert_true(call->tokens_reserved > 100);
    uint64_t input = call->tokens_reserved - 100; /* to a token: it is rounded */
    assert_in_range(call->cost_nano, input * 3000 + 100 * 15000, (input + 1) * 3000 + 100 * 15000);
    uint64_t reserved = call->cost_nano;
    rig_fail(&rig, find_on(1), VQ_END_LOST, -1);
    rig_answer(&rig, find_on(0), "Model: A");
    rig_wait(&rig, 10);
    assert_int_equal(rig.results[0].r.cost_nano, reserved); /* it may be billed */
    assert_true(rig.results[0].r.tokens_reserved > 100);
    assert_int_equal(rig.results[1].r.cost_nano, 0);
}

/* Ends the first call with this usage; what it cost. */
static uint64_t cost_of(uint64_t in, uint64_t out, const char *answer)
{
    uint32_t n = rig.results_count;
    rig_end(&rig, 0,
            (struct vq_work_reply){.end = VQ_END_ANSWER,
                                   .retry_after_ms = -1,
                                   .tokens_in = in,
                                   .tokens_out = out,
                                   .answer = vq_span_str(answer)});
    rig_wait(&rig, 10);
    assert_true(rig.results_count > n);
    return rig.results[n].r.cost_nano;
}

TEST_WITH(test_what_was_reserved_is_charged_where_usage_is_not_reported, NULL, teardown)
{
    begin(1, 8, (struct vq_work_options){.local = 0});
    rig.input_usd[0] = 3;
    rig.output_usd[0] = 15;
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    uint64_t reserved = rig.calls[0].cost_nano;
    assert_int_equal(cost_of(0, 0, "Model: A"), reserved);
    assert_int_equal(cost_of(200, 0, "Model: A"), 200 * 3000 + 100 * 15000); /* max_tokens is 100 */
    assert_int_equal(cost_of(200, 0, ""), 200 * 3000);
    reserved = rig.calls[0].cost_nano; /* the second answer said how many tokens a prompt has */
    assert_int_equal(cost_of(0, 7, "Model: A"), reserved - 100 * 15000 + 7 * 15000);
}

/* Thinking that max_tokens does not bound is charged, and later calls reserve as much: a budget
 * sees it before it is spent. */
TEST_WITH(test_answers_above_max_tokens_are_reserved, NULL, teardown)
{
    begin(1, 8, (struct vq_work_options){.local = 0});
    rig.output_usd[0] = 10;
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls[0].cost_nano, 100 * 10000);
    assert_int_equal(cost_of(50, 2500, "Model: A"), 2500 * 10000);
    assert_int_equal(rig.calls[0].cost_nano, 2500 * 10000);
}

/* An answer to a part of the prompt is paid, and is no answer; it is not asked for again. */
TEST_WITH(test_an_answer_to_a_cut_prompt, NULL, teardown)
{
    for (int strict = 0; strict < 2; strict++) {
        rig_init(&rig, 1, 1);
        rig.context_strict = strict != 0;
        rig_create(&rig, (struct vq_work_options){.local = 0});
        rig.input_usd[0] = 1;
        rig_open(&rig, 1);
        rig_lease(&rig, 0, 1, false);
        rig_end(&rig, 0,
                (struct vq_work_reply){.end = VQ_END_ANSWER,
                                       .retry_after_ms = -1,
                                       .http_status = 200,
                                       .tokens_in = 2048,
                                       .tokens_out = 5,
                                       .provider_nano = 9,
                                       .prompt_chars = 94856,
                                       .answer = vq_span_str("Model: A")});
        rig_wait(&rig, 10);
        const struct vq_result *r = &rig.results[0].r;
        assert_int_equal(r->end, strict ? VQ_END_TOO_LONG : VQ_END_ANSWER);
        assert_int_equal(r->outcome, strict ? VQ_OUTCOME_TOO_LONG : VQ_OUTCOME_FIRST);
        assert_true(r->final && r->cost_nano == 2048 * 1000);
        assert_true(r->provider_nano == 9 && r->prompt_chars == 94856);
        for (uint32_t i = 0; i < rig.calls_count; i++) {
            assert_true(rig.calls[i].task != r->task);
        }
        if (strict == 0) {
            (void)teardown(state);
        }
    }
}

TEST_WITH(test_two_judges_share_a_pool, NULL, teardown)
{
    rig_init(&rig, 2, 8);
    rig.pools = 1;
    rig.serves[0] = 1;
    rig.serves[1] = 1;
    rig_create(&rig, (struct vq_work_options){.local = 0});
    rig_open(&rig, 4);
    rig_lease(&rig, 0, 1, false);
    rig_lease(&rig, 1, 2, false);
    assert_int_equal(rig.calls_count, 4);
    for (int i = 0; i < 12; i++) {
        rig_answer(&rig, 0, "Model: A");
    }
    uint32_t of[2] = {0, 0};
    for (uint32_t i = 0; i < 4; i++) {
        of[rig.calls[i].judge]++;
    }
    assert_int_equal(of[0], 2); /* they take turns */
    rig_wait(&rig, 400);
    assert_int_equal(rig.reports[0].waiting, 32 - 16);
    rig_fail(&rig, 0, VQ_END_CLOSED, -1);
    assert_int_equal(rig.credits[0].state, VQ_POOL_BAD_KEY);
    assert_int_equal(rig.credits[1].state, VQ_POOL_BAD_KEY);
}
