/* Calls: their order of notes, how each end is dealt with, tries, repair, truncation. */
#include "rig.h"

static struct rig rig;

static int teardown(void **state)
{
    (void)state;
    vq_work_destroy(&rig.w);
    return 0;
}

static void begin(uint32_t concurrency)
{
    rig_init(&rig, 1, 1);
    rig_create(&rig, (struct vq_work_options){.local = 0, .has_spool = true});
    rig_open(&rig, concurrency);
}

static void one_ask(void)
{
    struct vq_ask ask = {.task = 0};
    rig_sample(&rig, 0);
    rig_forget(&rig);
    rig_lease_asks(&rig, 0, 1, &ask, 1);
}

TEST_WITH(test_notes_and_calls_in_order, NULL, teardown)
{
    begin(8);
    one_ask();
    assert_string_equal(rig.log, "swC"); /* SENT is written, then the call */
    rig_answer(&rig, 0, "Model: A");
    assert_string_equal(rig.log, "swCnw"); /* the answer is written, then read */
    rig_wait(&rig, VQ_WORK_BATCH_MS);
    assert_string_equal(rig.log, "swCnwcR");
    rig_ack(&rig, 0, 1);
    assert_string_equal(rig.log, "swCnwcRk");
    const struct vq_result *r = &rig.results[0].r;
    assert_int_equal(r->outcome, VQ_OUTCOME_FIRST);
    assert_true(r->final);
    assert_int_equal(r->tries, 1);
    assert_int_equal(r->tokens_in, 50);
    assert_int_equal(r->call.b[0], 0xab);
    assert_int_equal(r->call.b[15], 1);
}

TEST_WITH(test_what_ends_at_once_shares_its_writes, NULL, teardown)
{
    begin(2);
    struct vq_ask asks[2] = {{.task = 0}, {.task = 1, .order = 1}};
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 1, asks, 2);
    asks[0].task = 2;
    asks[1].task = 3;
    rig_sample(&rig, 1);
    rig_lease_asks(&rig, 1, 2, asks, 2);
    assert_int_equal(rig.calls_count, 2);
    rig_forget(&rig);
    for (uint32_t i = 0; i < 2; i++) { /* each is followed by the next call */
        struct vq_work_reply reply = {.call = rig.calls[i].id,
                                      .end = VQ_END_ANSWER,
                                      .retry_after_ms = -1,
                                      .answer = vq_span_str("hm")};
        struct vq_work_event event = {.type = VQ_WORK_REPLY, .u.reply = &reply};
        assert_int_equal(vq_work_step(rig.w, rig.now, &event), VQ_OK);
    }
    rig_take(&rig);
    assert_string_equal(rig.log, "nnwsswCC");
}

TEST_WITH(test_without_a_spool_no_notes, NULL, teardown)
{
    rig_init(&rig, 1, 1);
    rig_create(&rig, (struct vq_work_options){.local = -1});
    rig_open(&rig, 8);
    one_ask();
    assert_string_equal(rig.log, "hC"); /* the coordinator hears of the call before it is made */
    const struct vq_msg_held *held = &rig.last[VQ_MSG_HELD].u.held;
    assert_int_equal(held->stamp_ns, 0);
    assert_int_equal(held->leases_count, 0);
    assert_int_equal(held->calls_count, 1);
    assert_memory_equal(rig.held[0].call.b, rig.calls[0].id.b, VQ_ID_BYTES);
    assert_int_equal(rig.held[0].task, rig.calls[0].task);
    rig_answer(&rig, 0, "Model: A");
    rig_wait(&rig, VQ_WORK_BATCH_MS);
    rig_ack(&rig, 0, 1);
    assert_string_equal(rig.log, "hCcR");
}

TEST_WITH(test_tries_are_bounded_and_typed, NULL, teardown)
{
    static const struct {
        enum vq_call_end first, end;
        enum vq_outcome outcome;
    } cases[] = {{VQ_END_PROVIDER, VQ_END_PROVIDER, VQ_OUTCOME_UNAVAILABLE},
                 {VQ_END_PROVIDER, VQ_END_NETWORK, VQ_OUTCOME_UNAVAILABLE},
                 {VQ_END_LOST, VQ_END_LOST, VQ_OUTCOME_UNAVAILABLE},
                 {VQ_END_BAD_RESPONSE, VQ_END_BAD_RESPONSE, VQ_OUTCOME_BAD_RESPONSE}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        begin(8);
        one_ask();
        for (uint32_t tries = 1; tries <= 3; tries++) { /* tries_max of the rig */
            assert_int_equal(rig.calls_count, 1);
            assert_int_equal(rig.calls[0].tries, tries);
            rig_fail(&rig, 0, tries == 1 ? cases[i].first : cases[i].end, -1);
            rig_echo(&rig);
            rig_wait(&rig, (int64_t)VQ_WORK_BACKOFF_MS
                               << (tries - 1)); /* full jitter: not later than this */
        }
        assert_int_equal(rig.calls_count, 0);
        assert_int_equal(rig.calls_ever, 3);
        assert_int_equal(rig.results_count, 3); /* each call is a record */
        for (uint32_t n = 0; n < 3; n++) {
            assert_int_equal(rig.results[n].r.end, n == 0 ? cases[i].first : cases[i].end);
            assert_int_equal(rig.results[n].r.final, n == 2);
            assert_int_equal(rig.results[n].r.outcome, n == 2 ? cases[i].outcome : VQ_OUTCOME_NONE);
        }
        vq_work_destroy(&rig.w);
    }
    begin(8);
}

TEST_WITH(test_an_endpoint_that_never_spoke_is_closed_and_fails_no_task, NULL, teardown)
{
    begin(8);
    one_ask();
    for (uint32_t tries = 1; tries <= 3; tries++) {
        rig_fail(&rig, 0, VQ_END_NETWORK, -1);
        rig_echo(&rig);
        rig_wait(&rig, (int64_t)VQ_WORK_BACKOFF_MS << (tries - 1));
    }
    assert_int_equal(rig.calls_count, 0);
    assert_int_equal(rig.results_count, 3);
    for (uint32_t n = 0; n < 3; n++) {
        assert_false(rig.results[n].r.final);
        assert_int_equal(rig.results[n].r.outcome, VQ_OUTCOME_NONE);
    }
    assert_int_equal(rig.credits[0].state, VQ_POOL_NO_MODEL);
}

TEST_WITH(test_retry_after_of_a_provider_error_is_kept, NULL, teardown)
{
    begin(8);
    one_ask();
    rig_fail(&rig, 0, VQ_END_PROVIDER, 2000);
    rig_wait(&rig, 1990);
    assert_int_equal(rig.calls_ever, 1);
    rig_wait(&rig, 20);
    assert_int_equal(rig.calls_ever, 2);
}

TEST_WITH(test_what_a_retry_does_not_help_settles_at_once, NULL, teardown)
{
    static const struct {
        enum vq_call_end end;
        enum vq_outcome outcome;
    } cases[] = {{VQ_END_BAD_REQUEST, VQ_OUTCOME_ERROR}, {VQ_END_TOO_LONG, VQ_OUTCOME_TOO_LONG}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        begin(8);
        one_ask();
        rig_fail(&rig, 0, cases[i].end, -1);
        rig_wait(&rig, 100);
        assert_int_equal(rig.calls_ever, 1);
        assert_true(rig.results[0].r.final);
        assert_int_equal(rig.results[0].r.outcome, cases[i].outcome);
        vq_work_destroy(&rig.w);
    }
    begin(8);
}

TEST_WITH(test_a_rate_refusal_burns_no_try, NULL, teardown)
{
    begin(8);
    one_ask();
    for (int i = 0; i < 10; i++) { /* far more often than tries_max */
        assert_int_equal(rig.calls_count, 1);
        assert_int_equal(rig.calls[0].tries, 1);
        rig_fail(&rig, 0, VQ_END_RATE, 100);
        assert_int_equal(rig.calls_count, 0);
        rig_wait(&rig, 99);
        assert_int_equal(rig.calls_count, 0); /* never before the stated time */
        rig_wait(&rig, 11);
        rig_echo(&rig);
    }
    rig_answer(&rig, 0, "Model: A");
    rig_wait(&rig, 10);
    assert_int_equal(rig.results_count, 11);
    assert_int_equal(rig.results[9].r.end, VQ_END_RATE);
    assert_false(rig.results[9].r.final);
    assert_int_equal(rig.results[10].r.outcome, VQ_OUTCOME_FIRST);
}

/* The worker stood still, for example with its machine, and did not send: that is nobody's
 * failure. */
TEST_WITH(test_a_call_that_comes_too_late_burns_no_try, NULL, teardown)
{
    begin(8);
    one_ask();
    const struct vq_work_reply late = {.end = VQ_END_NETWORK, .late = true, .retry_after_ms = -1};
    for (int i = 0; i < 10; i++) {
        assert_int_equal(rig.calls_count, 1);
        assert_int_equal(rig.calls[0].tries, 1);
        rig_end(&rig, 0, late);
    }
    rig_answer(&rig, 0, "Model: A");
    rig_wait(&rig, 10);
    assert_int_equal(rig.results_count, 11);
    assert_int_equal(rig.results[9].r.end, VQ_END_NETWORK);
    assert_false(rig.results[9].r.final);
    assert_int_equal(rig.results[10].r.outcome, VQ_OUTCOME_FIRST);
}

TEST_WITH(test_an_unparseable_answer_goes_back_and_a_repair_has_tries_of_its_own, NULL, teardown)
{
    begin(8);
    one_ask();
    rig_answer(&rig, 0, "who knows");
    rig_wait(&rig, 10);
    assert_int_equal(rig.calls_count, 0);
    assert_int_equal(rig.results[0].r.outcome, VQ_OUTCOME_UNPARSEABLE);
    assert_true(rig.results[0].r.final);
    rig_ack(&rig, 0, 1);
    struct vq_ask prior = {.prior = vq_span_str("who knows")};
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 2, &prior, 1);
    assert_int_equal(rig.calls_count, 1);
    assert_int_equal(rig.calls[0].kind, VQ_CALL_REPAIR);
    rig_fail(&rig, 0, VQ_END_PROVIDER, -1);
    rig_wait(&rig, VQ_WORK_BACKOFF_MS);
    assert_int_equal(rig.calls[0].kind, VQ_CALL_REPAIR);
    assert_int_equal(rig.calls[0].tries, 2);
    rig_answer(&rig, 0, "still nobody knows");
    rig_wait(&rig, 10);
    assert_int_equal(rig.calls_count, 0);
    assert_int_equal(rig.results_count, 3);
    assert_false(rig.results[1].r.final);
    assert_int_equal(rig.results[2].r.outcome, VQ_OUTCOME_UNPARSEABLE);
    assert_true(rig.results[2].r.final);
}

TEST_WITH(test_repair_off, NULL, teardown)
{
    rig_init(&rig, 1, 1);
    rig.repair = false;
    rig_create(&rig, (struct vq_work_options){.local = 0});
    rig_open(&rig, 8);
    one_ask();
    rig_answer(&rig, 0, "who knows");
    rig_wait(&rig, 10);
    assert_int_equal(rig.calls_ever, 1);
    assert_true(rig.results[0].r.final);
    assert_int_equal(rig.results[0].r.outcome, VQ_OUTCOME_UNPARSEABLE);
    /* a prior cannot be repaired either */
    struct vq_ask prior = {.task = 1, .order = 1, .prior = vq_span_str("x")};
    rig_ack(&rig, 0, 1);
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 2, &prior, 1);
    assert_int_equal(rig.returned_whole, 1);
}

TEST_WITH(test_refused_and_truncated_answers_are_answers, NULL, teardown)
{
    begin(8);
    rig_lease(&rig, 0, 1, false);
    rig_end(&rig, 0,
            (struct vq_work_reply){.end = VQ_END_ANSWER, .refusal = true, .retry_after_ms = -1});
    rig_end(&rig, 0,
            (struct vq_work_reply){.end = VQ_END_ANSWER,
                                   .retry_after_ms = -1,
                                   .answer = vq_span_str("Let me think about"),
                                   .finish_reason = vq_span_str("length")});
    rig_wait(&rig, 10);
    assert_int_equal(rig.results[0].r.outcome, VQ_OUTCOME_REFUSED);
    assert_int_equal(rig.results[1].r.outcome, VQ_OUTCOME_TRUNCATED);
    assert_true(rig.results[0].r.final && rig.results[1].r.final);
    assert_int_equal(rig.calls_ever, 2);
}

static void long_sample(size_t bytes)
{
    static char text[8192];
    memset(text, 'x', sizeof(text));
    rig_message(&rig,
                (struct vq_msg){.type = VQ_MSG_SAMPLE,
                                .u.sample = {rig.session, 0, vq_span_str("p"), vq_span(text, bytes),
                                             vq_span(text, bytes / 4)}});
}

TEST_WITH(test_too_long_is_cut_by_halves_where_the_run_wants_it, NULL, teardown)
{
    rig_init(&rig, 1, 1);
    rig.truncate = true;
    rig_create(&rig, (struct vq_work_options){.local = 0});
    rig_open(&rig, 8);
    long_sample(2048);
    struct vq_ask ask = {.task = 0};
    rig_lease_asks(&rig, 0, 1, &ask, 1);
    size_t before = rig.last_system_bytes;
    struct vq_hash hash = rig.calls[0].request;
    size_t cuts[] = {1024, 512, 256};
    for (size_t i = 0; i < VQ_COUNT(cuts); i++) {
        rig_fail(&rig, 0, VQ_END_TOO_LONG, -1);
        assert_int_equal(rig.calls_count, 1);
        assert_int_equal(rig.calls[0].output_bytes_max, cuts[i]);
        assert_true(rig.last_system_bytes < before);
        assert_true(vq_hash_eq(&rig.calls[0].request,
                               &hash)); /* that it may be cut is part of the hash, how far is not */
        before = rig.last_system_bytes;
    }
    rig_fail(&rig, 0, VQ_END_TOO_LONG, -1); /* no sense left below this */
    rig_wait(&rig, 10);
    assert_int_equal(rig.results[3].r.outcome, VQ_OUTCOME_TOO_LONG);
    assert_true(rig.results[3].r.final);
}

TEST_WITH(test_an_unknown_reply_is_nothing, NULL, teardown)
{
    begin(8);
    one_ask();
    struct vq_work_call call = rig.calls[0];
    rig_answer(&rig, 0, "Model: A");
    struct vq_work_reply again = {
        .call = call.id, .end = VQ_END_ANSWER, .answer = vq_span_str("Model: B")};
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_REPLY, .u.reply = &again});
    rig_wait(&rig, 10);
    assert_int_equal(rig.results_count, 1);
}

TEST_WITH(test_long_texts_are_cut_at_their_bounds, NULL, teardown)
{
    begin(8);
    one_ask();
    static char many[5000];
    for (size_t i = 0; i + 1 < sizeof(many); i += 2) {
        memcpy(many + i, "\xc3\xa9", 2);
    }
    rig_end(&rig, 0,
            (struct vq_work_reply){.end = VQ_END_BAD_REQUEST,
                                   .retry_after_ms = -1,
                                   .http_status = 40000,
                                   .error = vq_span(many, sizeof(many)),
                                   .model = vq_span(many, 257)});
    rig_wait(&rig, 10); /* the rig encodes it: over a bound, that would fail */
    assert_int_equal(rig.results[0].r.model.bytes, 256);
    assert_int_equal(rig.results[0].r.error.bytes, 1024);
}

TEST_WITH(test_call_ids_differ_and_hashes_repeat, NULL, teardown)
{
    begin(16);
    rig_lease(&rig, 0, 1, false);
    rig_lease(&rig, 1, 2, false);
    assert_int_equal(rig.calls_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t j = i + 1; j < 4; j++) {
            assert_false(vq_id_eq(&rig.calls[i].id, &rig.calls[j].id));
            assert_false(vq_hash_eq(&rig.calls[i].request, &rig.calls[j].request));
        }
    }
    struct vq_hash first = rig.calls[0].request;
    rig_fail(&rig, 0, VQ_END_LOST, -1);
    rig_wait(&rig, VQ_WORK_BACKOFF_MS);
    assert_true(vq_hash_eq(&rig.calls[3].request, &first)); /* the retry asks the same */
}
