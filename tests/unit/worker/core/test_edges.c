/* A worker at the edges of what it may be told: terms of nothing and of months, words before their
 * time and after it, more than it may hold, numbers given twice, pools that are gone when their
 * calls end. */
#include "rig.h"

#include "proto/claim.h"
#include "worker/core/pace.h"
#include "worker/core/reserve.h"

static struct rig rig;

static int teardown(void **state)
{
    (void)state;
    vq_work_destroy(&rig.w);
    return 0;
}

static void begin(uint32_t axes, struct vq_work_options options)
{
    rig_init(&rig, 1, axes);
    rig_create(&rig, options);
}

static void begin_spooled(uint32_t axes)
{
    begin(axes, (struct vq_work_options){.local = 0, .has_spool = true});
}

static void connect_with_terms(uint32_t term_ms, uint32_t heartbeat_ms)
{
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    rig.session++;
    rig_message(&rig,
                (struct vq_msg){.type = VQ_MSG_WELCOME,
                                .u.welcome = {.session = rig.session,
                                              .epoch = rig.epoch,
                                              .run = rig.run,
                                              .stamp_ns = rig.last[VQ_MSG_HELLO].u.hello.stamp_ns,
                                              .spec = rig.spec_hash,
                                              .term_ms = term_ms,
                                              .heartbeat_ms = heartbeat_ms}});
}

/* The next stage, whose one pool has another model. */
static void other_pool(uint32_t axes)
{
    rig.model = "another";
    rig.stage++;
    rig.axes = axes;
    rig.spec_hash.b[0]++;
    rig_bye(&rig, VQ_BYE_STAGE);
    rig_welcome(&rig);
    rig_spec(&rig);
    rig_grant_n(&rig, ++rig.grant_n);
}

/* ---- time ---- */

TEST_WITH(test_terms_of_nothing, NULL, teardown)
{
    begin_spooled(1);
    connect_with_terms(0, 0);
    assert_int_equal(rig.sent[VQ_MSG_HELD], 1);
    rig_wait(&rig, 3); /* a millisecond is the least */
    assert_in_range(rig.sent[VQ_MSG_HEARTBEAT], 2, 3);
    rig_wait(&rig, 20);
    assert_in_range(rig.sent[VQ_MSG_HELLO], 5,
                    30); /* silence; again within the term, but not without end */
}

TEST_WITH(test_terms_of_months, NULL, teardown)
{
    begin_spooled(1);
    connect_with_terms(UINT32_MAX, 1000);
    rig_spec(&rig);
    rig_grant(&rig, 0, 1, 0, 0);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count, 1);
    rig_wait(&rig, 3500); /* silence: HELLO, at least every ten seconds however long the term */
    uint32_t hellos = rig.sent[VQ_MSG_HELLO];
    rig_wait(&rig, 50000);
    assert_in_range(rig.sent[VQ_MSG_HELLO] - hellos, 4, 20);
}

TEST_WITH(test_before_the_first_word, NULL, teardown)
{
    rig_init(&rig, 1, 1);
    struct vq_work_options nameless = {.local = -1, .has_spool = true};
    assert_int_equal(vq_work_create(&nameless, &rig.w), VQ_OK); /* nobody's name is no name */
    assert_int_equal(vq_work_wake_ns(rig.w), INT64_MAX);
    struct vq_result spooled = {.call = {{4}}, .end = VQ_END_UNKNOWN, .pool = vq_span_str("p")};
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_SPOOLED, .u.result = &spooled});
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_DRAIN});
    assert_int_equal(rig.exit_code,
                     VQ_WORK_EXIT_STOPPED); /* what its spool holds, nobody was told */
    for (enum vq_work_event_type type = VQ_WORK_TICK; type <= VQ_WORK_SPOOL_FAILED; type++) {
        rig_step(&rig,
                 (struct vq_work_event){.type = type}); /* the rig sees that nothing follows */
    }
    assert_int_equal(vq_work_wake_ns(rig.w), INT64_MAX);
}

/* It said HELLO and was never welcomed: for a moment somebody might still take its results. */
TEST_WITH(test_leaving_before_a_welcome, NULL, teardown)
{
    begin_spooled(1);
    struct vq_result spooled = {.call = {{4}}, .end = VQ_END_UNKNOWN, .pool = vq_span_str("p")};
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_SPOOLED, .u.result = &spooled});
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_DRAIN});
    rig_wait(&rig, 9000);
    assert_int_equal(rig.exit_code, -1);
    rig_wait(&rig, 2000);
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_STOPPED);
}

/* The coordinator took a spool's results from the spool itself. */
TEST_WITH(test_an_ack_before_the_spec, NULL, teardown)
{
    begin_spooled(1);
    struct vq_result spooled = {
        .call = {{4}}, .end = VQ_END_ANSWER, .cost_nano = 5, .pool = vq_span_str("pool-0")};
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_SPOOLED, .u.result = &spooled});
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    rig_welcome(&rig);
    assert_int_equal(rig.last[VQ_MSG_HELD].u.held.calls_count, 1);
    rig_message(&rig,
                (struct vq_msg){.type = VQ_MSG_ACK, .u.ack = {rig.session, &spooled.call, 1}});
    assert_int_equal(rig_stats(&rig).results, 0);
    assert_int_equal(rig.spool_acked, 1);
    rig_spec(&rig);
    assert_int_equal(rig.results_count, 0); /* it is not said again */
}

TEST_WITH(test_an_end_that_comes_when_the_spool_has_failed, NULL, teardown)
{
    begin_spooled(1);
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_SPOOL_FAILED});
    assert_int_equal(rig.exit_code, -1); /* the call in flight may still be told */
    rig_bye(&rig, VQ_BYE_DONE);
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_STOPPED); /* its answer has no place any more */
}

TEST_WITH(test_a_call_that_fails_when_nobody_is_there, NULL, teardown)
{
    begin_spooled(1);
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_wait(&rig, 61000);
    assert_int_equal(rig.exit_code, -1); /* an orphan with a call in flight */
    rig_fail(&rig, 0, VQ_END_PROVIDER, -1);
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_STOPPED);
    assert_int_equal(rig.calls_ever, 1); /* not tried again */
    assert_int_equal(rig.spool_answer, 1);
}

/* ---- leases ---- */

TEST_WITH(test_no_more_asks_than_it_may_hold, NULL, teardown)
{
    begin_spooled(64);
    rig_open(&rig, 1);
    for (uint32_t s = 0; s < VQ_WORK_ASKS_MAX / 128; s++) {
        rig_forget(&rig);
        rig_lease(&rig, s, s + 1, false);
    }
    assert_int_equal(rig_stats(&rig).asks_open, VQ_WORK_ASKS_MAX);
    assert_int_equal(rig.returned_whole, 0);
    rig_lease(&rig, 9999, 9999, false);
    assert_int_equal(rig.returned_whole, 1);
    assert_non_null(strstr(rig.note, "holds as much as it may"));
    assert_int_equal(rig_stats(&rig).asks_open, VQ_WORK_ASKS_MAX);
}

TEST_WITH(test_a_lease_of_a_time_before_all_times, NULL, teardown)
{
    begin_spooled(1);
    rig_open(&rig, 2);
    struct vq_ask ask = {.task = 0};
    rig_sample(&rig, 0);
    rig_message(&rig, (struct vq_msg){.type = VQ_MSG_LEASE,
                                      .u.lease = {.session = rig.session,
                                                  .stage = rig.stage,
                                                  .fence = {rig.epoch, 1},
                                                  .stamp_ns = -5,
                                                  .asks = &ask,
                                                  .asks_count = 1}});
    assert_int_equal(rig.calls_ever, 0); /* its term is over */
    assert_int_equal(rig_stats(&rig).leases, 1);
    rig_wait(&rig, RIG_BEAT_MS);
    rig_echo(&rig); /* of the heartbeat that listed it */
    assert_int_equal(rig.calls_ever, 1);
}

/* A coordinator that began again numbers its leases from the beginning. */
TEST_WITH(test_a_lease_of_a_later_epoch, NULL, teardown)
{
    begin_spooled(1);
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 5, false);
    rig.epoch++;
    rig_bye(&rig, VQ_BYE_NO_SESSION);
    rig_welcome(&rig);
    rig_grant_n(&rig, ++rig.grant_n);
    assert_int_equal(rig_stats(&rig).leases, 1);
    rig_lease(&rig, 0, 1, false);
    rig_answer(&rig, 0, "Model: A"); /* of the first one */
    assert_int_equal(rig_stats(&rig).leases, 1);
    assert_int_equal(rig.calls[0].fence.epoch, rig.epoch);
    assert_int_equal(rig.calls[0].fence.n, 1);
    rig.epoch--; /* the old one again, late on its way */
    rig_lease(&rig, 0, 9, false);
    rig.epoch++;
    rig_wait(&rig, RIG_BEAT_MS);
    assert_int_equal(rig.leases[0].fence.epoch, rig.epoch);
}

TEST_WITH(test_an_output_of_nothing, NULL, teardown)
{
    begin_spooled(1);
    rig_open(&rig, 2);
    rig_message(&rig, (struct vq_msg){.type = VQ_MSG_SAMPLE,
                                      .u.sample = {rig.session, 0, vq_span_str("prompt"),
                                                   vq_span("", 0), vq_span_str("another")}});
    struct vq_ask ask = {.task = 0};
    rig_lease_asks(&rig, 0, 1, &ask, 1);
    assert_int_equal(rig.calls_count, 1); /* and it could be rendered */
    assert_int_equal(rig_stats(&rig).samples_bytes, strlen("prompt") + strlen("another"));
}

TEST_WITH(test_cancelled_at_its_last_try, NULL, teardown)
{
    rig_init(&rig, 1, 1);
    rig.tries_max = 1;
    rig_create(&rig, (struct vq_work_options){.local = 0, .has_spool = true});
    rig_open(&rig, 2);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count, 2);
    uint64_t task = rig.calls[0].task;
    rig_cancel(&rig, 0, 1, &task, 1);
    rig_fail(&rig, 0, VQ_END_PROVIDER, -1);
    rig_fail(&rig, 0, VQ_END_PROVIDER, -1);
    rig_wait(&rig, 10);
    assert_int_equal(rig.results_count, 2);
    assert_false(rig.results[0].r.final); /* nobody waits for it: it did not fail */
    assert_true(rig.results[1].r.final);
    assert_int_equal(rig.results[1].r.outcome, VQ_OUTCOME_UNAVAILABLE);
    assert_int_equal(rig_stats(&rig).asks_open, 1);
}

/* ---- pools ---- */

TEST_WITH(test_calls_whose_pool_is_gone, NULL, teardown)
{
    static const enum vq_call_end ends[] = {VQ_END_RATE, VQ_END_LOST, VQ_END_CLOSED};
    begin_spooled(2);
    rig_open(&rig, 4);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count, 4);
    other_pool(1);
    rig_forget(&rig);
    for (size_t i = 0; i < VQ_COUNT(ends); i++) {
        rig_fail(&rig, 0, ends[i], 1000);
    }
    rig_answer(&rig, 0, "hm"); /* a repair was due; of that stage nothing is asked any more */
    rig_wait(&rig, 10);
    assert_int_equal(rig.results_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(rig.results[i].r.stage, 0);
        assert_int_equal(rig.results[i].r.pool.bytes, strlen("pool-0"));
    }
    assert_true(rig.results[3].r.final);
    assert_int_equal(rig.results[3].r.outcome, VQ_OUTCOME_UNPARSEABLE);
    assert_int_equal(rig.calls_count, 0);
    assert_int_equal(rig.reports[0].state,
                     VQ_POOL_OPEN); /* the one that has its name now was not asked */
    assert_int_equal(rig.reports[0].failed + rig.reports[0].refused, 0);
    rig_lease(&rig, 0, 2, false);
    assert_int_equal(rig.calls_count, 2); /* it does not pause for what the other one said */
    rig_ack(&rig, 0, 4);
    assert_int_equal(rig_stats(&rig).results, 0);
}

/* A coordinator that gives the same fence in two stages: an earlier stage's call finds an ask that
 * is not its own. */
TEST_WITH(test_a_fence_that_is_given_twice, NULL, teardown)
{
    rig_init(&rig, 1, 1);
    rig.tries_max = 1;
    rig_create(&rig, (struct vq_work_options){.local = 0, .has_spool = true});
    rig_open(&rig, 2);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count, 2);
    other_pool(1);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count, 4);
    rig_fail(&rig, 0, VQ_END_NETWORK, -1);
    rig_answer(&rig, 1, "Model: A");
    rig_wait(&rig, 5000);
    assert_int_equal(rig.exit_code, -1);
    for (uint32_t i = 0; i < rig.results_count; i++) {
        assert_int_equal(rig.results[i].r.tries > 0, true);
    }
    while (rig.calls_count >
           0) { /* whatever it makes of it, each call has one result and it goes on */
        rig_answer(&rig, 0, "Model: A");
    }
    rig_wait(&rig, 10);
    assert_int_equal(rig_stats(&rig).calls_started, rig_stats(&rig).calls_ended);
    assert_int_equal(rig_stats(&rig).results, rig.calls_ever);
}

TEST_WITH(test_keys_of_a_pool_that_is_none, NULL, teardown)
{
    begin_spooled(1);
    rig_open(&rig, 1);
    uint32_t notes = rig.notes, credits = rig.sent[VQ_MSG_CREDIT];
    struct vq_work_key key = {.pool = 7, .state = VQ_POOL_NO_KEY, .text = vq_span_str("none")};
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_KEY, .u.key = &key});
    assert_int_equal(rig.notes, notes);
    assert_int_equal(rig.sent[VQ_MSG_CREDIT], credits);
}

TEST_WITH(test_reasons_of_any_length, NULL, teardown)
{
    static char reason[2 * VQ_WORK_TEXT_BYTES_MAX];
    memset(reason, 'r', sizeof(reason));
    begin_spooled(1);
    rig_open(&rig, 1);
    uint32_t notes = rig.notes;
    rig_key(&rig, 0, "");
    rig.key_state[0] = VQ_POOL_NO_KEY;
    struct vq_work_key key = {
        .pool = 0, .state = VQ_POOL_NO_KEY, .text = vq_span(reason, sizeof(reason))};
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_KEY, .u.key = &key});
    assert_int_equal(rig.notes, notes + 1);
    assert_int_equal(rig.reports[0].state, VQ_POOL_NO_KEY);
    key.text = vq_span_str("another");
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_KEY, .u.key = &key});
    assert_int_equal(rig.notes, notes + 1); /* it is closed: the first reason stays */
    vq_work_destroy(&rig.w);
    begin_spooled(1);
    rig.key_state[0] = VQ_POOL_NO_KEY;
    rig.hold_keys = true;
    rig_open(&rig, 1);
    notes = rig.notes;
    key.text = vq_span("", 0);
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_KEY, .u.key = &key});
    assert_int_equal(rig.notes, notes); /* nothing to say */
    assert_int_equal(rig.reports[0].state, VQ_POOL_NO_KEY);
}

TEST_WITH(test_a_pause_of_two_months, NULL, teardown)
{
    begin_spooled(1);
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_end(&rig, 0,
            (struct vq_work_reply){
                .end = VQ_END_RATE, .retry_after_ms = INT64_C(60) * 86400 * 1000, .parks = true});
    assert_true(rig.reports[0].pause_ms >= VQ_CLAIM_WAIT_S * 1000); /* no quota is longer */
    assert_true(rig.reports[0].pause_ms <= VQ_CLAIM_PAUSE_MS_MAX);
    assert_int_equal(rig.calls_count, 0);
}

/* ---- texts and numbers ---- */

TEST_WITH(test_texts_are_cut_between_characters, NULL, teardown)
{
    static char model[300], broken[2000];
    memset(model, 'a', sizeof(model));
    memcpy(model + 255, "\xe2\x82\xac", 3); /* over the bound, which is 256 */
    memset(broken, '\x80', sizeof(broken)); /* no character begins anywhere */
    begin_spooled(1);
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_end(&rig, 0,
            (struct vq_work_reply){.end = VQ_END_BAD_REQUEST,
                                   .retry_after_ms = -1,
                                   .model = vq_span(model, sizeof(model)),
                                   .error = vq_span(broken, sizeof(broken))});
    rig_wait(&rig, 10);
    assert_int_equal(rig.results[0].r.model.bytes, 255);
    assert_int_equal(rig.results[0].r.error.bytes, 0);
}

/* The actions of a worker that holds more than the rig can list. */
struct seen {
    uint32_t results, batches, largest, listed, calls, credits, tasks;
};

static void step_and_see(struct vq_work_event event, struct seen *seen)
{
    struct vq_work_action action;
    assert_int_equal(vq_work_step(rig.w, rig.now, &event), VQ_OK);
    while (vq_work_next(rig.w, &action)) {
        const struct vq_msg *m = &action.u.message;
        seen->calls += action.type == VQ_WORK_CALL ? 1 : 0;
        if (action.type != VQ_WORK_SEND) {
            continue;
        }
        if (m->type == VQ_MSG_RESULTS) {
            uint32_t count = m->u.results.results_count;
            seen->results += count;
            seen->batches++;
            seen->largest = count > seen->largest ? count : seen->largest;
        } else if (m->type == VQ_MSG_CREDIT) {
            seen->credits++;
            seen->tasks = m->u.credit.credits[0].tasks;
        } else if (m->type == VQ_MSG_HELD || m->type == VQ_MSG_HEARTBEAT) {
            seen->listed = m->u.held.calls_count;
        }
    }
    assert_int_equal(vq_work_status(rig.w), VQ_OK);
}

static void see_message(struct vq_msg msg, struct seen *seen)
{
    step_and_see((struct vq_work_event){.type = VQ_WORK_MESSAGE, .u.message = &msg}, seen);
}

/* What an earlier process left is more than a worker lets wait: nothing is asked until the
 * coordinator has taken enough of it. */
TEST_WITH(test_it_asks_nothing_while_too_much_waits, NULL, teardown)
{
    enum {
        COUNT = VQ_WORK_OUTBOX_MAX / 2 + 5000
    };
    static struct vq_id ids[COUNT];
    struct seen seen = {0};
    struct vq_buf body;
    begin_spooled(1);
    rig_spec_body(&rig, &body);
    for (uint32_t i = 0; i < COUNT; i++) {
        struct vq_result spooled = {.end = VQ_END_UNKNOWN, .pool = vq_span_str("pool-0")};
        memcpy(ids[i].b, &i, sizeof(i));
        spooled.call = ids[i];
        step_and_see((struct vq_work_event){.type = VQ_WORK_SPOOLED, .u.result = &spooled}, &seen);
    }
    step_and_see((struct vq_work_event){.type = VQ_WORK_CONNECTED}, &seen);
    see_message((struct vq_msg){.type = VQ_MSG_WELCOME,
                                .u.welcome = {.session = 9,
                                              .epoch = rig.epoch,
                                              .run = rig.run,
                                              .stamp_ns = rig.now, /* of its HELLO */
                                              .spec = rig.spec_hash,
                                              .term_ms = RIG_TERM_MS,
                                              .heartbeat_ms = RIG_BEAT_MS}},
                &seen);
    assert_int_equal(seen.listed, COUNT);
    see_message(
        (struct vq_msg){.type = VQ_MSG_SPEC, .u.spec = {9, rig.spec_hash, vq_buf_span(&body)}},
        &seen);
    vq_buf_free(&body);
    struct vq_work_key key = {.pool = 0, .state = VQ_POOL_OPEN};
    step_and_see((struct vq_work_event){.type = VQ_WORK_KEY, .u.key = &key}, &seen);
    struct vq_slice slice = {
        .concurrency = 2, .day_requests_most = VQ_AMOUNT_ANY, .day_tokens_most = VQ_AMOUNT_ANY};
    see_message((struct vq_msg){.type = VQ_MSG_GRANT,
                                .u.grant = {.session = 9,
                                            .n = 1,
                                            .spend_most = VQ_AMOUNT_ANY,
                                            .slices = &slice,
                                            .slices_count = 1}},
                &seen);
    assert_int_equal(seen.results, COUNT);
    assert_int_equal(seen.largest, VQ_WORK_BATCH_RESULTS);
    assert_int_equal(seen.tasks, 0); /* it wants no work */
    struct vq_ask ask = {.task = 0};
    see_message(
        (struct vq_msg){.type = VQ_MSG_SAMPLE,
                        .u.sample = {9, 0, vq_span_str("p"), vq_span_str("a"), vq_span_str("b")}},
        &seen);
    see_message((struct vq_msg){.type = VQ_MSG_LEASE,
                                .u.lease = {.session = 9,
                                            .fence = {rig.epoch, 1},
                                            .stamp_ns = rig.now,
                                            .asks = &ask,
                                            .asks_count = 1}},
                &seen);
    assert_int_equal(seen.calls, 0);
    uint32_t credits = seen.credits;
    see_message((struct vq_msg){.type = VQ_MSG_ACK, .u.ack = {9, ids, 10000}}, &seen);
    assert_int_equal(seen.calls, 1);
    assert_true(seen.credits > credits && seen.tasks > 0); /* said at once */
    assert_int_equal(rig_stats(&rig).results, COUNT - 10000);
}

/* An earlier process left more than one may hold: the rest stays in its spool. */
TEST_WITH(test_more_results_than_it_may_hold, NULL, teardown)
{
    begin_spooled(1);
    struct vq_result spooled = {.end = VQ_END_UNKNOWN, .pool = vq_span_str("pool-0")};
    for (uint32_t i = 0; i < VQ_WORK_OUTBOX_MAX + 10; i++) {
        memcpy(spooled.call.b, &i, sizeof(i));
        rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_SPOOLED, .u.result = &spooled});
    }
    assert_int_equal(rig_stats(&rig).results, VQ_WORK_OUTBOX_MAX);
}

TEST_WITH(test_counts_that_are_full, NULL, teardown)
{
    struct vq_ratio ratio = {.mean = 0.25, .all = 0.25, .most = 0.3, .count = UINT32_MAX - 1};
    for (int i = 0; i < 3; i++) {
        vq_ratio_learn(&ratio, 40, 40, 100);
        assert_true(ratio.mean > 0.25 && ratio.mean < 0.4 && ratio.spread < 0.2);
    }
    struct vq_answers answers = {.count = UINT32_MAX - 1};
    for (int i = 0; i < 3; i++) {
        vq_answers_learn(&answers, 10);
    }
    assert_int_equal(answers.count, UINT32_MAX);
    assert_in_range((uint64_t)vq_answers_tokens(&answers, 500), 10, 12);
    struct vq_rng rng;
    vq_rng_seed(&rng, 1);
    for (int i = 0; i < 200; i++) { /* before the first try as after it */
        assert_in_range((uint64_t)vq_backoff_ms(&rng, 0, 100, 1000), 0, 100);
        assert_in_range((uint64_t)vq_backoff_ms(&rng, UINT32_MAX, 100, 1000), 0, 1000);
    }
}
