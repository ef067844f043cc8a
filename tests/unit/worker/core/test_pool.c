/* A pool: slices and their terms, pacing, amounts, pauses, closing; and the credit that comes of
 * it. */
#include "rig.h"

#include "common/base/rng.h"
#include "worker/core/pace.h"

static struct rig rig;

static int teardown(void **state)
{
    (void)state;
    vq_work_destroy(&rig.w);
    return 0;
}

static void begin(uint32_t judges, uint32_t axes, struct vq_work_options options)
{
    rig_init(&rig, judges, axes);
    rig_create(&rig, options);
}

/* Keeps the session alive while time passes. */
static void live(int64_t ms)
{
    for (int64_t t = 0; t < ms; t += 100) {
        rig_wait(&rig, 100);
        if (rig.sent[VQ_MSG_HEARTBEAT] > 0) {
            rig_echo(&rig);
        }
    }
}

TEST_WITH(test_concurrency_is_the_slice, NULL, teardown)
{
    begin(1, 8, (struct vq_work_options){.local = 0});
    rig_open(&rig, 3);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count, 3);
    rig_grant(&rig, 0, 5, 0, 0);
    assert_int_equal(rig.calls_count, 5);
    rig.slices[0].concurrency = 9;
    rig_grant_n(&rig, rig.grant_n); /* an older one */
    assert_int_equal(rig.calls_count, 5);
    rig_grant(&rig, 0, 2, 0, 0); /* less: no new ones until there is room */
    for (int i = 0; i < 3; i++) {
        rig_answer(&rig, 0, "Model: A");
    }
    assert_int_equal(rig.calls_count, 2);
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_count, 2);
    rig_grant(&rig, 0, 0, 0, 0);
    rig_answer(&rig, 0, "Model: A");
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_count, 0);
    assert_int_equal(rig.credits[0].tasks, 0);
    assert_int_equal(rig.credits[0].state, VQ_POOL_OPEN);
    assert_int_equal(rig.returned_count, 16 - 6); /* without a slice nothing is held */
    assert_int_equal(rig.reports[0].waiting, 1);  /* but it would take some */
    rig_lease(&rig, 1, 9, false);
    assert_int_equal(rig.returned_whole, 1);
}

TEST_WITH(test_a_grant_is_echoed_and_replaces_all, NULL, teardown)
{
    begin(2, 2, (struct vq_work_options){.local = 0});
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    rig_welcome(&rig);
    rig_spec(&rig);
    const struct vq_msg_credit *credit = &rig.last[VQ_MSG_CREDIT].u.credit;
    assert_int_equal(rig.sent[VQ_MSG_CREDIT], 1);
    assert_int_equal(credit->granted_n, 0);
    assert_int_equal(credit->reports_count, 2);
    assert_int_equal(rig.credits[0].tasks, 0); /* nothing without a slice */
    assert_int_equal(rig.reports[0].waiting, 1);
    assert_int_equal(rig.reports[0].keys_count, 1);
    rig.slices[0].concurrency = 3;
    rig.slices[1].concurrency = 3;
    rig_grant_n(&rig, 5);
    assert_int_equal(rig.sent[VQ_MSG_CREDIT], 2); /* at once */
    assert_int_equal(credit->granted_n, 5);
    assert_true(rig.credits[1].tasks > 0);
    rig_lease(&rig, 0, 1, false);
    rig_lease(&rig, 1, 2, false);
    assert_int_equal(rig.calls_count, 6);
    rig_message(&rig, (struct vq_msg){.type = VQ_MSG_GRANT,
                                      .u.grant = {.session = rig.session,
                                                  .n = 6,
                                                  .spend_most = VQ_AMOUNT_ANY,
                                                  .slices = rig.slices,
                                                  .slices_count = 1}});
    assert_int_equal(credit->granted_n, 6);
    assert_true(rig.credits[0].tasks > 0);
    assert_int_equal(rig.credits[1].tasks, 0); /* not listed: nothing */
    assert_int_equal(rig.returned_count, 1);
}

TEST_WITH(test_a_slice_stands_for_a_term, NULL, teardown)
{
    begin(1, 2, (struct vq_work_options){.local = 0});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_wait(&rig, RIG_TERM_MS - 10);
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_count, 1);
    rig_wait(&rig, 20);
    rig_lease(&rig, 1, 2, false); /* its own term begins with the last heartbeat */
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_count, 0); /* nobody has read a word of ours for a term */
    uint32_t calls = rig.calls_ever;
    rig_welcome(&rig); /* a new session: it began without any */
    assert_int_equal(rig.credits[0].tasks, 0);
    assert_int_equal(rig.last[VQ_MSG_CREDIT].u.credit.granted_n, 0);
    rig_lease(&rig, 2, 3, false);
    assert_int_equal(rig.calls_ever, calls);
    rig_grant(&rig, 0, 1, 0, 0);
    rig_lease(&rig, 3, 4, false);
    assert_int_equal(rig.calls_ever, calls + 1);
}

TEST_WITH(test_slices_go_on_over_a_short_break, NULL, teardown)
{
    begin(1, 2, (struct vq_work_options){.local = 0});
    rig_open(&rig, 1);
    rig_wait(&rig, 1000);
    rig_bye(&rig, VQ_BYE_NO_SESSION);
    rig_welcome(&rig);
    assert_true(rig.credits[0].tasks > 0);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count, 1);
}

TEST_WITH(test_a_grant_may_ask_for_a_pause, NULL, teardown)
{
    begin(1, 2, (struct vq_work_options){.local = 0});
    rig_open(&rig, 4);
    rig.slices[0].pause_ms = 700;
    rig_grant(&rig, 0, 4, 0, 0);
    rig_lease(&rig, 0, 1, false);
    rig_wait(&rig, 690);
    assert_int_equal(rig.calls_count, 0);
    rig_wait(&rig, 20);
    assert_int_equal(rig.calls_count, 4);
}

TEST_WITH(test_the_process_has_a_bound_too, NULL, teardown)
{
    begin(2, 8, (struct vq_work_options){.local = 0, .concurrency_max = 5});
    rig_open(&rig, 8);
    rig_lease(&rig, 0, 1, false);
    rig_lease(&rig, 1, 2, false);
    assert_int_equal(rig.calls_count, 5);
    for (int i = 0; i < 20; i++) {
        rig_answer(&rig, 0, "Model: A");
        assert_int_equal(rig.calls_count, 5);
    }
    uint32_t of[2] = {0, 0};
    for (uint32_t i = 0; i < 5; i++) {
        of[rig.calls[i].judge]++;
    }
    assert_true(of[0] > 0 && of[1] > 0); /* the judges take turns */
    struct vq_work *none = NULL;
    struct vq_work_options much = {.concurrency_max = VQ_WORK_CONCURRENCY_MAX + 1};
    assert_int_equal(vq_work_create(&much, &none), VQ_LIMIT);
}

/* Lets it work for so many seconds, each call answered at once; when each one started. */
static uint32_t work(int64_t seconds, int64_t *ret_at)
{
    uint32_t count = 0;
    for (int64_t ms = 0; ms < seconds * 1000; ms += 5) {
        rig_wait(&rig, 5);
        if (ms % 500 == 0) {
            rig_echo(&rig);
            rig_ack(&rig, 0, rig.results_count);
            rig_forget(&rig);
        }
        while (rig.calls_count > 0) {
            ret_at[count++] = rig.now;
            rig_answer(&rig, 0, "Model: A");
        }
    }
    return count;
}

TEST_WITH(test_requests_a_minute, NULL, teardown)
{
    static int64_t at[1024];
    begin(1, 64, (struct vq_work_options){.local = 0});
    rig_open(&rig, 100);
    rig_grant(&rig, 0, 100, 120, 0);
    int64_t from = rig.now;
    rig_lease(&rig, 0, 1, false);
    rig_lease(&rig, 1, 2, false);
    assert_int_equal(rig.calls_count, 0); /* it begins empty */
    uint32_t count = work(120, at);
    assert_in_range(at[0] - from, 500 * RIG_MS, 505 * RIG_MS);
    assert_in_range(count, 236, 241);
    for (uint32_t i = 1; i < count; i++) { /* no two at once, ever */
        assert_true(at[i] - at[i - 1] >= 490 * RIG_MS);
    }
    rig_grant(&rig, 0, 100, 240, 0); /* another rate keeps what is owed: half of a half */
    from = at[count - 1];
    uint32_t more = work(1, at);
    assert_in_range(more, 2, 4);
    assert_true(at[0] - from >= 245 * RIG_MS);
}

TEST_WITH(test_tokens_are_reserved_and_settled, NULL, teardown)
{
    static int64_t at[1024];
    begin(1, 64, (struct vq_work_options){.local = 0});
    rig_open(&rig, 100);
    rig_grant(&rig, 0, 100, 0, 6000); /* 100 a second */
    rig_lease(&rig, 0, 1, false);
    rig_lease(&rig, 1, 2, false);
    uint32_t first = work(60, at);
    assert_in_range(first, 20, 6000 / 55 + 1); /* bytes / 4 + 100 tokens, then as it learns */
    uint32_t second = work(60, at);
    assert_in_range(second, 6000 / 60, 6000 / 55 + 1);
    const struct vq_pool_report *report = &rig.reports[0];
    assert_int_equal(report->requests, first + second);
    assert_int_equal(report->answered, first + second);
    assert_int_equal(report->input_tokens, 50 * (first + second));
    assert_int_equal(report->output_tokens, 5 * (first + second));
    assert_true(report->unit.requests == 1 && report->unit.tokens >= 55);
}

/* Nothing starts that could bring an amount above what is granted, whatever calls come to. */
TEST_WITH(test_amounts_are_kept, NULL, teardown)
{
    begin(1, 64, (struct vq_work_options){.local = 0});
    rig.input_usd[0] = 2;
    rig.cached_usd[0] = 1;
    rig.output_usd[0] = 10;
    rig.spend_most = 0;
    rig_open(&rig, 8);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count, 0);
    rig.spend_most = 20000000;
    rig_grant(&rig, 0, 8, 0, 0);
    struct vq_rng rng;
    vq_rng_seed(&rng, 8);
    const struct vq_amount *spend = &rig.last[VQ_MSG_CREDIT].u.credit.spend;
    uint64_t cost = 0;
    for (uint32_t step = 0; step < 400; step++) {
        if (rig.calls_count > 0) {
            bool lost = vq_rng_below(&rng, 8) == 0;
            bool refused = vq_rng_below(&rng, 8) == 0;
            uint64_t reserved = rig.calls[0].cost_nano;
            assert_true(reserved >= 100 * 10000);
            if (lost) {
                rig_fail(&rig, 0, VQ_END_LOST, -1);
                cost += reserved;
            } else if (refused) {
                rig_fail(&rig, 0, VQ_END_PROVIDER, -1);
            } else {
                rig_end(&rig, 0,
                        (struct vq_work_reply){.end = VQ_END_ANSWER,
                                               .retry_after_ms = -1,
                                               .tokens_in = 300,
                                               .tokens_cached = 100,
                                               .tokens_out = 20,
                                               .answer = vq_span_str("Model: A")});
                cost += 200 * 2000 + 100 * 1000 + 20 * 10000;
            }
        }
        rig_wait(&rig, 250);
        if (rig.sent[VQ_MSG_HEARTBEAT] > 0) {
            rig_echo(&rig);
        }
        assert_true(spend->used <= rig.spend_most && spend->open <= spend->used);
    }
    assert_int_equal(rig.calls_count, 0);
    assert_int_equal(spend->used, cost);
    assert_int_equal(spend->open, cost); /* nothing was ACKed */
    assert_true(cost > 15000000);
    uint64_t said = 0;
    for (uint32_t i = 0; i < rig.results_count; i++) {
        bool again = false; /* without an ACK it is said again */
        for (uint32_t j = 0; j < i; j++) {
            again = again || vq_id_eq(&rig.results[i].r.call, &rig.results[j].r.call);
        }
        said += again ? 0 : rig.results[i].r.cost_nano;
    }
    assert_int_equal(said, cost);
    rig_ack(&rig, 0, rig.results_count);
    rig_wait(&rig, 500);
    assert_int_equal(spend->open, 0);
    assert_int_equal(spend->used, cost);
}

/* What is left may be enough for another worker's call: it says what it would need, wants no work
 * and gives back what it holds. */
TEST_WITH(test_who_cannot_pay_holds_nothing, NULL, teardown)
{
    begin(1, 4, (struct vq_work_options){.local = 0});
    rig.input_usd[0] = 1;
    rig.output_usd[0] = 1;
    rig.spend_most = 5000000;
    rig_open(&rig, 1);
    assert_true(rig.credits[0].tasks > 0); /* it does not know yet what a call takes */
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count, 1);
    uint64_t unit = rig.calls[0].cost_nano;
    rig.spend_most = unit + unit / 2;
    rig_grant_n(&rig, ++rig.grant_n);
    live(1000);
    assert_int_equal(rig.returned_count, 0); /* the call may give back enough */
    rig_fail(&rig, 0, VQ_END_LOST, -1);
    live(VQ_WORK_BACKOFF_MS + 1000);
    assert_int_equal(rig.calls_count, 0);
    assert_int_equal(rig.returned_count, 8);
    assert_int_equal(rig.wanted_at_return, 0); /* said first: else it comes back at once */
    assert_int_equal(rig.credits[0].tasks, 0);
    assert_int_equal(rig.reports[0].waiting, 1); /* but it could use money */
    assert_true(rig.last[VQ_MSG_CREDIT].u.credit.spend.unit >= unit);
    rig.spend_most = 3 * unit;
    rig_grant_n(&rig, ++rig.grant_n);
    assert_true(rig.credits[0].tasks > 0);
    rig_lease(&rig, 1, 2, false);
    assert_int_equal(rig.calls_count, 1);
}

TEST_WITH(test_a_days_quota_is_kept, NULL, teardown)
{
    begin(1, 64, (struct vq_work_options){.local = 0});
    rig.slices[0].day_requests_most = 5;
    rig_open(&rig, 8);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count, 5);
    rig_fail(&rig, 0, VQ_END_NETWORK, -1); /* never sent */
    assert_int_equal(rig.calls_count, 5);
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_count, 4);
    rig.slices[0].day_requests_most = VQ_AMOUNT_ANY;
    rig.slices[0].day_tokens_most = 1;
    rig_grant(&rig, 0, 8, 0, 0);
    assert_int_equal(rig.calls_count, 4);
    assert_int_equal(rig.reports[0].day_requests.used, 5);
    assert_int_equal(rig.reports[0].day_requests.open, 5);
    assert_true(rig.reports[0].day_tokens.used > 55);
    rig.slices[0].day_tokens_most = 1000000;
    rig_grant(&rig, 0, 8, 0, 0);
    assert_int_equal(rig.calls_count, 8);
}

TEST_WITH(test_what_an_earlier_process_sent_counts, NULL, teardown)
{
    begin(1, 2, (struct vq_work_options){.local = 0, .has_spool = true});
    struct vq_result spooled[] = {{.call = {.b = {4}},
                                   .end = VQ_END_UNKNOWN,
                                   .cost_nano = 700,
                                   .tokens_reserved = 300,
                                   .pool = vq_span_str("pool-0")},
                                  {.call = {.b = {5}},
                                   .end = VQ_END_ANSWER,
                                   .cost_nano = 40,
                                   .tokens_in = 20,
                                   .tokens_out = 1,
                                   .pool = vq_span_str("gone")}};
    for (size_t i = 0; i < VQ_COUNT(spooled); i++) {
        rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_SPOOLED, .u.result = &spooled[i]});
    }
    rig_open(&rig, 1);
    rig_wait(&rig, 10);
    const struct vq_amount *spend = &rig.last[VQ_MSG_CREDIT].u.credit.spend;
    assert_int_equal(spend->used, 740);
    assert_int_equal(spend->open, 740);
    assert_int_equal(rig.reports[0].day_requests.used, 1);
    assert_int_equal(rig.reports[0].day_tokens.open, 300);
    assert_int_equal(rig.results_count, 2);
    rig_ack(&rig, 0, 2);
    rig_wait(&rig, 500);
    assert_int_equal(spend->used, 740);
    assert_int_equal(spend->open, 0);
    assert_int_equal(rig.reports[0].day_tokens.open, 0);
}

TEST_WITH(test_a_refusal_pauses_and_is_said, NULL, teardown)
{
    begin(1, 64, (struct vq_work_options){.local = 0});
    rig_open(&rig, 16);
    rig_lease(&rig, 0, 1, false);
    uint32_t credits = rig.sent[VQ_MSG_CREDIT];
    rig_end(&rig, 0,
            (struct vq_work_reply){.end = VQ_END_RATE,
                                   .retry_after_ms = 2000,
                                   .slowed = true,
                                   .said = {.requests = 500, .output_tokens = 8000},
                                   .cap = 12,
                                   .park_unix_s = 1234,
                                   .organisation = 77});
    assert_int_equal(rig.sent[VQ_MSG_CREDIT], credits + 1); /* at once: it is for others too */
    const struct vq_pool_report *report = &rig.reports[0];
    assert_in_range(report->pause_ms, 2000, 2200);
    assert_int_equal(report->refused, 1);
    assert_int_equal(report->slowed, 1);
    assert_int_equal(report->timed, 1);
    assert_true(report->said.requests == 500 && report->said.output_tokens == 8000);
    assert_true(report->said.tokens == 0);
    assert_int_equal(report->cap, 12);
    assert_int_equal(report->park_unix_s, 1234);
    assert_int_equal(report->organisation, 77);
    assert_int_equal(report->in_flight, 15);
    for (int i = 0; i < 15; i++) {
        rig_answer(&rig, 0, "Model: N/A");
    }
    assert_int_equal(rig.calls_count, 0); /* paused */
    live(1900);
    assert_int_equal(rig.calls_count, 0);
    live(400);
    assert_int_equal(rig.calls_count, 16); /* as granted: how many there may be is not its affair */
    assert_int_equal(report->pause_ms, 0);
    assert_int_equal(report->answered, 15);
    assert_int_equal(report->park_unix_s, 0);
}

/* Where refusals come at random the refused call waits alone; only a row of them pauses the
 * pool. */
TEST_WITH(test_in_a_noisy_pool_a_refused_call_waits_alone, NULL, teardown)
{
    begin(1, 64, (struct vq_work_options){.local = 0});
    rig_open(&rig, 4);
    rig.slices[0].noisy = true;
    rig_grant_n(&rig, ++rig.grant_n);
    rig_lease(&rig, 0, 1, false);
    struct vq_work_reply refused = {.end = VQ_END_RATE, .retry_after_ms = 2000};
    rig_end(&rig, 0, refused);
    assert_int_equal(rig.calls_count, 4); /* another one has taken its place */
    assert_int_equal(rig.reports[0].pause_ms, 0);
    rig_answer(&rig, 0, "Model: N/A"); /* no row */
    for (uint32_t i = 0; i < VQ_REFUSALS_ROW - 1; i++) {
        rig_end(&rig, 0, refused);
        assert_int_equal(rig.calls_count, 4);
    }
    rig_end(&rig, 0, refused);
    assert_int_equal(rig.calls_count, 3);
    assert_in_range(rig.reports[0].pause_ms, 2000, 2200);
}

/* One that fails again and again is tried by single calls, with pauses that grow. */
TEST_WITH(test_a_pool_that_only_fails_is_tried_carefully, NULL, teardown)
{
    begin(1, 64, (struct vq_work_options){.local = 0, .backoff_ms = 1, .backoff_ms_max = 1});
    rig.tries_max = 1000;
    rig_open(&rig, 16);
    rig_lease(&rig, 0, 1, false);
    rig_answer(&rig, 0, "Model: A");
    while (rig.calls_count > 0) {
        rig_fail(&rig, 0, VQ_END_PROVIDER, -1);
    }
    assert_true(rig.calls_ever <= 17 + VQ_WORK_FAILURES_MAX);
    uint32_t before = rig.calls_ever;
    for (int i = 0; i < 300; i++) { /* 30 s */
        live(100);
        assert_true(rig.calls_count <= 1);
        while (rig.calls_count > 0) {
            rig_fail(&rig, 0, VQ_END_PROVIDER, -1);
        }
    }
    assert_in_range(rig.calls_ever - before, 3, 9);
    for (int i = 0; i < 700 && rig.calls_count == 0; i++) {
        live(100);
    }
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_count, 16);
}

TEST_WITH(test_pauses_without_retry_after_grow, NULL, teardown)
{
    begin(1, 4, (struct vq_work_options){.local = 0, .seed = 5});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    int64_t waits[10];
    for (int i = 0; i < 10; i++) {
        rig_fail(&rig, 0, VQ_END_RATE, -1);
        int64_t from = rig.now;
        while (rig.calls_count == 0) {
            live(100);
            assert_true(rig.now - from < 70000 * RIG_MS);
        }
        waits[i] = (rig.now - from) / RIG_MS;
    }
    assert_in_range(waits[0], VQ_WORK_PAUSE_MS / 2, VQ_WORK_PAUSE_MS + 100);
    assert_in_range(waits[3], VQ_WORK_PAUSE_MS * 4, VQ_WORK_PAUSE_MS * 8 + 100);
    assert_in_range(waits[9], VQ_WORK_REFUSED_MS_MAX / 2, VQ_WORK_REFUSED_MS_MAX + 100);
    rig_answer(&rig, 0, "Model: A"); /* and begin anew after an answer */
    rig_fail(&rig, 0, VQ_END_RATE, -1);
    live(VQ_WORK_PAUSE_MS + 100);
    assert_int_equal(rig.calls_count, 1);
}

TEST_WITH(test_an_absurd_retry_after_is_bounded, NULL, teardown)
{
    static const int64_t asked[] = {INT64_MAX / 2, 1000000000000, 0, -7};
    for (size_t i = 0; i < VQ_COUNT(asked); i++) {
        begin(1, 4, (struct vq_work_options){.local = 0});
        rig_open(&rig, 1);
        rig_lease(&rig, 0, 1, false);
        rig_fail(&rig, 0, VQ_END_RATE, asked[i]);
        live(400);
        assert_int_equal(rig.calls_count, 0); /* none or a wrong one: our own pause */
        live(VQ_WORK_RETRY_AFTER_MS_MAX * 11 / 10);
        assert_int_equal(rig.calls_count, 1);
        vq_work_destroy(&rig.w);
    }
    begin(1, 4, (struct vq_work_options){.local = 0});
}

/* A wait that follows from what is known of a limit is kept to, also when it is longer than we
 * would believe a response. */
TEST_WITH(test_a_parked_pool_waits_to_the_end, NULL, teardown)
{
    const int64_t wait_ms = 5 * (int64_t)VQ_WORK_RETRY_AFTER_MS_MAX;
    begin(1, 4, (struct vq_work_options){.local = 0});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_end(&rig, 0,
            (struct vq_work_reply){.end = VQ_END_RATE, .retry_after_ms = wait_ms, .parks = true});
    live(wait_ms - 1000);
    assert_int_equal(rig.calls_count, 0);
    live(1000 + wait_ms / 10 + 1000);
    assert_int_equal(rig.calls_count, 1);
}

TEST_WITH(test_a_closed_pool_gives_back_and_says_so, NULL, teardown)
{
    begin(2, 3, (struct vq_work_options){.local = 0});
    rig_open(&rig, 2);
    rig_lease(&rig, 0, 1, false);
    rig_lease(&rig, 1, 2, false);
    rig_forget(&rig);
    uint32_t credits = rig.sent[VQ_MSG_CREDIT];
    assert_int_equal(rig.calls[0].judge, 0);
    uint64_t task = rig.calls[0].task;
    rig_fail(&rig, 0, VQ_END_CLOSED, -1);
    assert_int_equal(rig.sent[VQ_MSG_CREDIT], credits + 1);
    assert_int_equal(rig.credits[0].state, VQ_POOL_BAD_KEY);
    assert_int_equal(rig.credits[0].tasks, 0);
    assert_int_equal(rig.credits[0].text.bytes, strlen("it said no"));
    assert_int_equal(rig.reports[0].state, VQ_POOL_BAD_KEY);
    assert_int_equal(rig.reports[0].waiting, 0);
    assert_int_equal(rig.credits[1].state, VQ_POOL_OPEN);
    assert_true(rig.credits[1].tasks > 0);
    assert_int_equal(rig.returned_count, 5); /* 4 idle ones and the refused; one is in flight */
    bool found = false;
    for (uint32_t i = 0; i < 5; i++) {
        found = found || rig.returned[i] == task;
    }
    assert_true(found);
    assert_false(rig.results[0].r.final); /* given back, not failed */
    uint32_t other = 0;
    while (rig.calls[other].judge != 0) {
        other++;
    }
    rig_answer(&rig, other, "Model: A"); /* was in flight: still counts */
    rig_wait(&rig, 10);
    assert_int_equal(rig.results[rig.results_count - 1].r.outcome, VQ_OUTCOME_FIRST);
    rig_lease(&rig, 2, 9, false); /* nothing of it is taken any more */
    assert_int_equal(rig.returned_whole, 1);
    assert_int_equal(rig.calls_count, 2); /* the other judge goes on */
}

TEST_WITH(test_no_key_is_a_closed_pool, NULL, teardown)
{
    begin(2, 3, (struct vq_work_options){.local = 0});
    rig.key_state[1] = VQ_POOL_NO_KEY;
    rig_open(&rig, 2);
    assert_int_equal(rig.credits[1].state, VQ_POOL_NO_KEY);
    assert_int_equal(rig.credits[1].tasks, 0);
    assert_true(rig.credits[0].tasks > 0);
}

TEST_WITH(test_no_credit_before_all_keys_are_known, NULL, teardown)
{
    begin(2, 3, (struct vq_work_options){.local = 0});
    rig.hold_keys = true;
    rig_open(&rig, 2);
    rig_wait(&rig, 400);
    assert_int_equal(rig.sent[VQ_MSG_CREDIT], 0);
    rig_keys(&rig);
    assert_int_equal(rig.sent[VQ_MSG_CREDIT], 1);
}

TEST_WITH(test_credit_follows_the_speed, NULL, teardown)
{
    begin(1, 10, (struct vq_work_options){.local = 0});
    rig_open(&rig, 4);
    uint32_t first = rig.credits[0].tasks;
    assert_int_equal(first, 20); /* a shard: more than 4 slots need */
    uint64_t shard = 0;
    for (int i = 0; i < 400; i++) { /* 10 ms a call, 4 at once: 400 tasks a second */
        while (rig_stats(&rig).asks_open + 20 <= rig.credits[0].tasks) {
            rig_lease(&rig, shard, shard + 1, false);
            shard++;
        }
        for (uint32_t n = rig.calls_count; n > 0; n--) {
            rig_answer(&rig, 0, "Model: A");
        }
        rig_wait(&rig, 10);
        if (rig.results_count > 0) {
            rig_ack(&rig, 0, rig.results_count);
            rig_forget(&rig);
        }
        if (i % 10 == 0 && rig.sent[VQ_MSG_HEARTBEAT] > 0) {
            rig_echo(&rig);
        }
    }
    assert_in_range(rig.credits[0].tasks, 200, 800); /* about a second ahead */
    rig_grant(&rig, 0, 4, 60, 0);                    /* a known limit of one a second bounds it */
    assert_in_range(rig.credits[0].tasks, 20, 40);
}

TEST_WITH(test_several_keys, NULL, teardown)
{
    begin(1, 3, (struct vq_work_options){.local = 0});
    rig.key_count[0] = 3;
    rig_open(&rig, 4);
    assert_int_equal(rig.reports[0].keys_count, 3);
    rig_lease(&rig, 0, 1, false);
    uint32_t notes = rig.notes;
    rig_end(
        &rig, 0,
        (struct vq_work_reply){.end = VQ_END_CLOSED, .pool = VQ_POOL_OPEN, .retry_after_ms = -1});
    assert_int_equal(rig.calls_count, 4); /* asked again, by another key */
    assert_int_equal(rig.calls[3].tries, 1);
    assert_int_equal(rig.credits[0].state, VQ_POOL_OPEN);
    rig.key_count[0] = 2;
    rig_key(&rig, 0, "key 1 of 3 was refused");
    assert_int_equal(rig.reports[0].keys_count, 2);
    assert_int_equal(rig.reports[0].text.bytes, strlen("key 1 of 3 was refused"));
    assert_int_equal(rig.notes, notes + 1); /* a line in the log */
    assert_int_equal(rig.reports[0].state, VQ_POOL_OPEN);
}
