/* Results without an ACK: batches, sending again, what an earlier spool held, back-pressure. */
#include "rig.h"

static struct rig rig;

static int teardown(void **state)
{
    (void)state;
    vq_work_destroy(&rig.w);
    return 0;
}

static void begin(uint32_t axes, uint32_t concurrency)
{
    rig_init(&rig, 1, axes);
    rig_create(&rig, (struct vq_work_options){.local = 0, .has_spool = true});
    if (concurrency > 0) {
        rig_open(&rig, concurrency);
    }
}

TEST_WITH(test_a_batch_waits_a_few_milliseconds, NULL, teardown)
{
    begin(8, 16);
    rig_lease(&rig, 0, 1, false);
    for (int i = 0; i < 5; i++) {
        rig_answer(&rig, 0, "Model: A");
    }
    assert_int_equal(rig.sent[VQ_MSG_RESULTS], 0);
    rig_wait(&rig, VQ_WORK_BATCH_MS - 1);
    assert_int_equal(rig.sent[VQ_MSG_RESULTS], 0);
    rig_wait(&rig, 1);
    assert_int_equal(rig.sent[VQ_MSG_RESULTS], 1);
    assert_int_equal(rig.results_count, 5);
}

TEST_WITH(test_a_full_batch_goes_at_once, NULL, teardown)
{
    begin(40, 1000);
    for (uint64_t shard = 0; shard < 8; shard++) {
        rig_lease(&rig, shard, shard + 1, false);
    }
    for (uint32_t i = 0; i < VQ_WORK_BATCH_RESULTS - 1; i++) {
        rig_answer(&rig, 0, "Model: A");
    }
    assert_int_equal(rig.sent[VQ_MSG_RESULTS], 0);
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.sent[VQ_MSG_RESULTS], 1);
    assert_int_equal(rig.results_count, VQ_WORK_BATCH_RESULTS);
}

TEST_WITH(test_large_answers_go_alone, NULL, teardown)
{
    static char big[VQ_ANSWER_BYTES_MAX + 100];
    memset(big, 'x', sizeof(big));
    begin(8, 16);
    rig_lease(&rig, 0, 1, false);
    for (int i = 0; i < 3; i++) {
        rig_end(&rig, 0,
                (struct vq_work_reply){.end = VQ_END_ANSWER,
                                       .retry_after_ms = -1,
                                       .refusal = true,
                                       .answer = vq_span(big, sizeof(big))});
    }
    assert_int_equal(rig.sent[VQ_MSG_RESULTS], 3);
    assert_int_equal(rig.results[2].r.answer.bytes, VQ_ANSWER_BYTES_MAX); /* cut at the bound */
}

TEST_WITH(test_sent_again_without_an_ack, NULL, teardown)
{
    begin(1, 1);
    struct vq_ask ask = {.task = 0};
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 1, &ask, 1);
    rig_answer(&rig, 0, "Model: A");
    rig_wait(&rig, 10);
    assert_int_equal(rig.results_count, 1);
    for (int i = 0; i < 6; i++) {
        rig_wait(&rig, RIG_TERM_MS / 6 - 10);
        rig_echo(&rig);
        assert_int_equal(rig.results_count, 1);
    }
    rig_wait(&rig, 100);
    assert_int_equal(rig.results_count, 2);
    assert_true(vq_id_eq(&rig.results[0].r.call, &rig.results[1].r.call));
    rig_ack(&rig, 0, 2); /* one result, ACKed once */
    assert_int_equal(rig.spool_acked, 1);
    assert_int_equal(rig_stats(&rig).results, 0);
}

TEST_WITH(test_what_an_ack_passes_over_is_sent_again_at_once, NULL, teardown)
{
    begin(8, 16);
    rig_lease(&rig, 0, 1, false);
    for (int i = 0; i < 3; i++) {
        rig_answer(&rig, 0, "Model: A");
        rig_wait(&rig, VQ_WORK_BATCH_MS);
    }
    assert_int_equal(rig.results_count, 3);
    rig_ack(&rig, 1, 1); /* the first found no room; of the third nothing is known yet */
    rig_wait(&rig, VQ_WORK_BATCH_MS);
    assert_int_equal(rig.results_count, 4);
    assert_true(vq_id_eq(&rig.results[0].r.call, &rig.results[3].r.call));
    rig_ack(&rig, 2, 2);
    rig_wait(&rig, VQ_WORK_BATCH_MS);
    assert_int_equal(rig.results_count, 4);
    assert_int_equal(rig_stats(&rig).results, 0);
}

static void spooled(uint8_t n, enum vq_call_end end, enum vq_call_kind kind, const char *answer)
{
    struct vq_result result = {.shard = 3,
                               .fence = {1, 9},
                               .task = 6,
                               .tries = 1,
                               .kind = (uint8_t)kind,
                               .end = (uint8_t)end,
                               .answer = vq_span_str(answer)};
    result.call.b[0] = n;
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_SPOOLED, .u.result = &result});
}

TEST_WITH(test_what_an_earlier_spool_held_is_sent_after_hello, NULL, teardown)
{
    begin(1, 0);
    spooled(1, VQ_END_ANSWER, VQ_CALL_ASK, "Model: B");
    spooled(2, VQ_END_ANSWER, VQ_CALL_ASK, "no idea");
    spooled(3, VQ_END_ANSWER, VQ_CALL_REPAIR, "no idea");
    spooled(4, VQ_END_UNKNOWN, VQ_CALL_ASK, "");
    spooled(5, VQ_END_PROVIDER, VQ_CALL_ASK, "");
    spooled(5, VQ_END_PROVIDER, VQ_CALL_ASK, ""); /* twice is once */
    assert_string_equal(rig.log, "");
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    rig_welcome(&rig);
    assert_int_equal(rig.last[VQ_MSG_HELD].u.held.calls_count, 5); /* listed at once */
    assert_int_equal(rig.results_count, 0);                        /* read when the SPEC is known */
    rig_spec(&rig);
    assert_int_equal(rig.results_count, 5);
    static const struct {
        enum vq_outcome outcome;
        bool final;
    } want[] = {{VQ_OUTCOME_SECOND, true},
                {VQ_OUTCOME_UNPARSEABLE, true}, /* its repair is a lease of its own */
                {VQ_OUTCOME_UNPARSEABLE, true},
                {VQ_OUTCOME_NONE, false},
                {VQ_OUTCOME_NONE, false}};
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(rig.results[i].r.call.b[0], i + 1);
        assert_int_equal(rig.results[i].r.outcome, want[i].outcome);
        assert_int_equal(rig.results[i].r.final, want[i].final);
    }
    rig_ack(&rig, 0, 5);
    assert_int_equal(rig.spool_acked, 5);
    assert_int_equal(rig_stats(&rig).results, 0);
}

TEST_WITH(test_no_call_starts_while_too_much_is_unacked, NULL, teardown)
{
    static char big[VQ_ANSWER_BYTES_MAX];
    memset(big, 'x', sizeof(big));
    begin(64, 1);
    for (uint64_t shard = 0; shard < 3; shard++) {
        rig_lease(&rig, shard, shard + 1, false);
    }
    uint32_t ended = 0;
    while (rig.calls_count > 0 && ended < 300) {
        rig_end(&rig, 0,
                (struct vq_work_reply){.end = VQ_END_ANSWER,
                                       .retry_after_ms = -1,
                                       .refusal = true,
                                       .answer = vq_span(big, sizeof(big))});
        ended++;
    }
    assert_in_range(ended, 120, 130); /* 128 MiB of them */
    rig_wait(&rig, VQ_WORK_CREDIT_MS);
    /* it wants to hold what it still has to ask: what is done is not on its credit any more */
    assert_int_equal(rig.credits[0].tasks, 3 * 128 - ended);
    uint32_t credits = rig.sent[VQ_MSG_CREDIT];
    rig_ack(&rig, 0, rig.results_count);
    assert_int_equal(rig.calls_count, 1);                   /* goes on */
    assert_int_equal(rig.sent[VQ_MSG_CREDIT], credits + 1); /* says at once what it wants now */
}

TEST_WITH(test_counts_go_before_what_may_be_the_last, NULL, teardown)
{
    begin(1, 8);
    rig_lease(&rig, 0, 1, false);
    rig_wait(&rig, VQ_WORK_CREDIT_MS);
    uint32_t credits = rig.sent[VQ_MSG_CREDIT];
    rig_forget(&rig);
    for (uint32_t left = 2; left > 0; left--) {
        assert_int_equal(rig.calls_count, left);
        rig_end(&rig, 0,
                (struct vq_work_reply){.end = VQ_END_ANSWER,
                                       .retry_after_ms = -1,
                                       .refusal = true,
                                       .answer = vq_span_str("no")});
        rig_wait(&rig, VQ_WORK_BATCH_MS);
        assert_int_equal(rig.results_count, 3 - left);
        assert_int_equal(rig.sent[VQ_MSG_CREDIT] - credits, left == 2 ? 0 : 1);
    }
    assert_true(strstr(rig.log, "cR") != NULL); /* no tick later, and no frame too late */
    assert_int_equal(rig.reports[0].requests, 2);
    assert_int_equal(rig.reports[0].answered, 2);
    credits = rig.sent[VQ_MSG_CREDIT];
    for (int i = 0; i < 7; i++) { /* both are sent again */
        rig_wait(&rig, RIG_TERM_MS / 6);
        rig_echo(&rig);
    }
    assert_int_equal(rig.results_count, 4);
    assert_int_equal(rig.sent[VQ_MSG_CREDIT], credits); /* it says nothing new */
}
