/* What was spent before a process, out of the ledger: of a run's budget, and of the days of its
 * pools. */
#include "fixture.h"

#include "common/base/rng.h"
#include "coordinator/store/calls/ledger.h"

static void commit_call(struct fx *fx, const char *pool, enum vq_call_end end, uint64_t tokens,
                        uint64_t reserved, uint64_t cost_nano, int64_t started_unix_ms)
{
    struct vq_result r = end == VQ_END_ANSWER ? fx_answer(fx, 0, "Model: A")
                                              : fx_failure(fx, 0, 0, end, VQ_OUTCOME_UNAVAILABLE);
    r.pool = vq_span_str(pool);
    r.tokens_in = tokens;
    r.tokens_out = tokens / 10;
    r.tokens_reserved = reserved;
    r.cost_nano = cost_nano;
    r.started_unix_ms = started_unix_ms;
    r.final = false;
    if (end == VQ_END_NETWORK) {
        r.http_status = 0;
    }
    fx_commit_one(fx, &r);
}

static uint64_t spent(struct fx *fx, struct vq_ledger_day *days, uint32_t count)
{
    struct vq_view *view = NULL;
    uint64_t cost_nano = 77;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_ledger_spent(view, &fx->run, days, count, &cost_nano, &fx->err), &fx->err);
    vq_view_end(&view);
    return cost_nano;
}

static void other_run(struct fx *fx, uint8_t no)
{
    fx->run = (struct vq_id){.b = {no}};
    fx_begin_run(fx, false);
}

TEST_WITH(test_nothing, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_ledger_day day = {.pool = "p", .requests = 4, .tokens = 5};
    assert_int_equal(spent(fx, &day, 1), 0);
    assert_true(day.requests == 0 && day.tokens == 0);
    assert_int_equal(spent(fx, NULL, 0), 0);
}

TEST_WITH(test_days_over_all_runs, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_id mine = fx->run;
    commit_call(fx, "p", VQ_END_ANSWER, 100, 500, 7, 1000);
    commit_call(fx, "p", VQ_END_ANSWER, 200, 500, 8, 2000); /* the day of p begins here */
    commit_call(fx, "p", VQ_END_UNKNOWN, 0, 500, 20, 2001);
    commit_call(fx, "p", VQ_END_LOST, 0, 300, 12, 2001);   /* may have been counted */
    commit_call(fx, "p", VQ_END_RATE, 0, 500, 0, 2002);    /* refused: a request, no token */
    commit_call(fx, "p", VQ_END_NETWORK, 0, 500, 0, 3000); /* never left */
    commit_call(fx, "p", VQ_END_ANSWER, 0, 40, 1, 3000);   /* its provider did not say */
    commit_call(fx, "pq", VQ_END_ANSWER, 1000, 0, 9, 2500);
    commit_call(fx, "q", VQ_END_ANSWER, 10, 0, 2, 2500);
    commit_call(fx, "", VQ_END_ANSWER, 10, 0, 0, 2500); /* before there were pools */
    other_run(fx, 3);                                   /* before mine and behind it */
    commit_call(fx, "p", VQ_END_ANSWER, 1000, 0, 100, 2500);
    other_run(fx, 0xfe);
    commit_call(fx, "q", VQ_END_ANSWER, 20, 0, 100, 2999);
    commit_call(fx, "q", VQ_END_ANSWER, 20, 0, 100, 3000);
    struct vq_ledger_day days[] = {{.pool = "q", .since_unix_ms = 3000},
                                   {.pool = "p", .since_unix_ms = 2000},
                                   {.pool = "none", .since_unix_ms = 0},
                                   {.pool = "pq", .since_unix_ms = INT64_MAX}};
    fx->run = mine;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(spent(fx, days, VQ_COUNT(days)), 7 + 8 + 20 + 12 + 1 + 9 + 2);
        assert_true(days[0].requests == 1 && days[0].tokens == 22);
        assert_int_equal(days[1].requests, 6);
        assert_int_equal(days[1].tokens, 220 + 500 + 300 + 40 + 1100);
        assert_true(days[2].requests == 0 && days[2].tokens == 0);
        assert_true(days[3].requests == 0 && days[3].tokens == 0);
    }
    assert_int_equal(spent(fx, &days[3], 1), 59);
    fx->run = (struct vq_id){.b = {0x55}}; /* a run without any row */
    assert_int_equal(spent(fx, days, VQ_COUNT(days)), 0);
    assert_int_equal(days[1].requests, 6);
}

/* An unknown call whose end turns up counts as that, once. */
TEST_WITH(test_what_was_unknown_turns_up, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result r = fx_result(fx, 0, 0);
    r.end = VQ_END_UNKNOWN;
    r.pool = vq_span_str("p");
    r.tokens_reserved = 900;
    r.cost_nano = 90;
    fx_commit_one(fx, &r);
    struct vq_ledger_day day = {.pool = "p"};
    assert_int_equal(spent(fx, &day, 1), 90);
    assert_true(day.requests == 1 && day.tokens == 900);
    r.end = VQ_END_ANSWER;
    r.answer = vq_span_str("Model: A");
    r.tokens_in = 30;
    r.tokens_out = 3;
    r.cost_nano = 5;
    fx_commit_one(fx, &r);
    assert_int_equal(spent(fx, &day, 1), 5);
    assert_true(day.requests == 1 && day.tokens == 33);
}

/* Rows of a run that ended before the day are not even looked at; of one that did not end cleanly
 * they are. */
TEST_WITH(test_runs_of_the_past_are_skipped, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_id mine = fx->run;
    uint64_t epoch = fx->epoch;
    struct vq_ledger_day day = {.pool = "p", .since_unix_ms = 2000};
    for (uint8_t no = 1; no < 6; no++) {
        other_run(fx, no);
        commit_call(fx, "p", VQ_END_ANSWER, 100, 0, 1, 2500);
        if (no != 4) {
            int64_t ended = no == 5 ? 2600 : 2000;
            assert_ok(vq_calls_end_run(fx->calls, &fx->run, fx->epoch, ended, &fx->err), &fx->err);
        }
    }
    other_run(fx, 2); /* goes on */
    fx->run = mine;
    fx->epoch = epoch;
    commit_call(fx, "p", VQ_END_ANSWER, 100, 0, 1, 2500);
    assert_int_equal(spent(fx, &day, 1), 1);
    assert_int_equal(day.requests, 4);  /* of 2, 4, 5 and mine */
    fx->run = (struct vq_id){.b = {1}}; /* one's own always counts */
    assert_int_equal(spent(fx, &day, 1), 1);
    assert_int_equal(day.requests, 5);
}

TEST_WITH(test_random_ledgers, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    static const char *const names[] = {"a", "b", "account/model", ""};
    struct vq_rng rng;
    vq_rng_seed(&rng, 5);
    struct vq_ledger_day want[3] = {{.pool = names[0], .since_unix_ms = 40},
                                    {.pool = names[1], .since_unix_ms = 0},
                                    {.pool = names[2], .since_unix_ms = 70}};
    uint64_t cost_of[4] = {0};
    for (int i = 0; i < 200; i++) {
        uint8_t run = (uint8_t)vq_rng_below(&rng, 4);
        fx->run = (struct vq_id){.b = {0x60, run}};
        fx_begin_run(fx, false);
        uint64_t pool = vq_rng_below(&rng, 4), cost = vq_rng_below(&rng, 1000);
        uint64_t tokens = 10 * (1 + vq_rng_below(&rng, 100));
        int64_t at = (int64_t)vq_rng_below(&rng, 100);
        commit_call(fx, names[pool], VQ_END_ANSWER, tokens, 0, cost, at);
        cost_of[run] += cost;
        if (pool < 3 && at >= want[pool].since_unix_ms) {
            want[pool].requests++;
            want[pool].tokens += tokens + tokens / 10;
        }
    }
    for (uint8_t run = 0; run < 4; run++) {
        struct vq_ledger_day days[3];
        memcpy(days, want, sizeof(days));
        fx->run = (struct vq_id){.b = {0x60, run}};
        assert_int_equal(spent(fx, days, 3), cost_of[run]);
        assert_memory_equal(days, want, sizeof(days));
    }
}
