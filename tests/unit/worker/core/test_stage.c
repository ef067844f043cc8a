/* From one stage to the next: HELLO at once, leases gone, results kept; what an answer is, by the
 * kind of stage; what is owed to a judge that asks on. */
#include "rig.h"

static struct rig rig;

static int teardown(void **state)
{
    (void)state;
    vq_work_destroy(&rig.w);
    return 0;
}

static void begin(uint32_t judges, uint32_t axes)
{
    rig_init(&rig, judges, axes);
    rig_create(&rig, (struct vq_work_options){.local = 0, .has_spool = true});
}

/* BYE, and the next stage up to its GRANT. */
static void next_stage(enum vq_stage_kind kind, uint32_t axes, uint32_t concurrency, double rpm)
{
    rig.kind = kind;
    rig.stage++;
    rig.axes = axes;
    rig.repair = kind == VQ_STAGE_RANK;
    rig.spec_hash.b[0]++;
    rig_bye(&rig, VQ_BYE_STAGE);
    rig_welcome(&rig);
    rig_spec(&rig);
    for (uint32_t p = 0; p < rig_pools(&rig); p++) {
        rig.slices[p].concurrency = concurrency;
        rig.slices[p].rates.requests = rpm;
    }
    rig_grant_n(&rig, ++rig.grant_n);
}

/* The one ask of a prompt. */
static void lease_prompt(uint64_t shard, uint64_t n)
{
    struct vq_ask ask = {.task = rig_task(&rig, shard, 0, 0)};
    rig_sample(&rig, shard / rig.judges);
    rig_lease_asks(&rig, shard, n, &ask, 1);
}

TEST_WITH(test_a_stage_ends, NULL, teardown)
{
    begin(1, 2);
    rig_open(&rig, 2);
    rig_lease(&rig, 5, 1, false);
    rig_answer(&rig, 0, "Model: A");
    rig_wait(&rig, 10);
    assert_int_equal(rig.results_count, 1);
    assert_int_equal(rig.results[0].r.stage, 0);
    assert_int_equal(rig.calls_count, 2); /* one of them answered below, in the next stage */
    uint32_t hellos = rig.sent[VQ_MSG_HELLO];
    struct vq_id late = rig.calls[0].id;
    rig_forget(&rig);
    next_stage(VQ_STAGE_TEXT, 1, 2, 0);
    assert_int_equal(rig.sent[VQ_MSG_HELLO], hellos + 1); /* at once */
    assert_int_equal(rig.reconnects, 0);
    assert_int_equal(rig_stats(&rig).leases, 0);
    assert_int_equal(rig.last[VQ_MSG_HELD].u.held.leases_count, 0);
    assert_int_equal(rig.last[VQ_MSG_HELD].u.held.calls_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(rig.held[i].stage, 0);
    }
    assert_int_equal(rig.returned_count + rig.returned_whole, 0);
    assert_int_equal(rig.results_count, 1); /* said again, as it was */
    assert_int_equal(rig.results[0].r.stage, 0);
    assert_int_equal(rig.calls_ever, 3); /* the rest of the lease is asked no more */
    /* the same numbers, another task */
    lease_prompt(5, 2);
    assert_int_equal(rig.calls_ever, 3); /* two calls of the same judge are still in flight */
    rig_answer(&rig, 0, "Model: B");
    assert_int_equal(rig.calls_ever, 4);
    assert_int_equal(rig.calls[1].stage, 1);
    assert_int_equal(rig.calls[1].stage_kind, VQ_STAGE_TEXT);
    rig_answer(&rig, 1, "- formality: plain to formal");
    rig_wait(&rig, 10);
    assert_int_equal(rig.results_count, 3);
    assert_memory_equal(rig.results[1].r.call.b, late.b, VQ_ID_BYTES);
    assert_int_equal(rig.results[1].r.stage, 0);
    assert_int_equal(rig.results[1].r.outcome, VQ_OUTCOME_SECOND); /* read as what was asked */
    assert_int_equal(rig.results[2].r.stage, 1);
    assert_int_equal(rig.results[2].r.outcome, VQ_OUTCOME_TEXT);
    assert_true(rig.results[2].r.final);
    assert_int_equal(rig_stats(&rig).asks_open, 1); /* the late answer closed nothing */
    rig_ack(&rig, 0, 3);
    assert_int_equal(rig_stats(&rig).leases, 0);
    assert_int_equal(rig.spool_acked, 3);
}

TEST_WITH(test_a_lease_of_another_stage_goes_back, NULL, teardown)
{
    begin(1, 1);
    rig_open(&rig, 2);
    next_stage(VQ_STAGE_PREFER, 1, 2, 0);
    rig.stage = 0;
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_ever, 0);
    assert_int_equal(rig.returned_whole, 1);
    assert_int_equal(rig.last[VQ_MSG_CANCEL].u.cancel.stage, 0);
    rig.stage = 1;
    rig_lease(&rig, 0, 2, false);
    assert_int_equal(rig.calls_ever, 2);
}

TEST_WITH(test_a_bye_that_was_lost, NULL, teardown)
{
    begin(1, 1);
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig.stage = 1;
    rig.spec_hash.b[0]++;
    rig_bye(&rig, VQ_BYE_NO_SESSION); /* of the next stage's core */
    rig_welcome(&rig);
    assert_int_equal(rig_stats(&rig).leases, 0); /* another SPEC */
    rig_bye(&rig, VQ_BYE_STAGE);
    uint32_t hellos = rig.sent[VQ_MSG_HELLO];
    rig_bye(&rig, VQ_BYE_STAGE); /* said twice: one HELLO is on its way */
    assert_int_equal(rig.sent[VQ_MSG_HELLO], hellos);
    assert_int_equal(rig.exit_code, -1);
}

TEST_WITH(test_answers_by_kind, NULL, teardown)
{
    static const struct {
        enum vq_stage_kind kind;
        const char *answer;
        enum vq_outcome outcome;
    } cases[] = {
        {VQ_STAGE_PREFER, "Model: tie", VQ_OUTCOME_EQUAL},
        {VQ_STAGE_TEXT, "Model: A", VQ_OUTCOME_TEXT},
        {VQ_STAGE_TEXT, " \n\t", VQ_OUTCOME_UNPARSEABLE},
        {VQ_STAGE_EMBED, "vqf32\n", VQ_OUTCOME_UNPARSEABLE},
        {VQ_STAGE_EMBED, "Model: A", VQ_OUTCOME_UNPARSEABLE},
    };
    begin(1, 1);
    rig_open(&rig, 1);
    for (uint32_t i = 0; i < VQ_COUNT(cases); i++) {
        next_stage(cases[i].kind, 1, 1, 0);
        rig_forget(&rig);
        lease_prompt(i, i + 1);
        assert_int_equal(rig.calls_count, 1);
        rig_answer(&rig, 0, cases[i].answer);
        rig_wait(&rig, 10);
        assert_int_equal(rig.results_count, 1);
        assert_int_equal(rig.results[0].r.outcome, cases[i].outcome);
        assert_true(rig.results[0].r.final);
        assert_int_equal(rig.calls_count, 0); /* no repair */
        rig_ack(&rig, 0, 1);
    }
}

TEST_WITH(test_what_is_owed_goes_on, NULL, teardown)
{
    begin(1, 1);
    rig_open(&rig, 4);
    rig_grant(&rig, 0, 4, 60, 0); /* one a second */
    rig_lease(&rig, 0, 1, false);
    rig_wait(&rig, 1010); /* it begins empty */
    assert_int_equal(rig.calls_ever, 1);
    rig_answer(&rig, 0, "Model: A");
    next_stage(VQ_STAGE_TEXT, 1, 4, 60);
    lease_prompt(0, 2);
    assert_int_equal(rig.calls_ever, 1);
    rig_wait(&rig, 900);
    assert_int_equal(rig.calls_ever, 1);
    rig_wait(&rig, 200);
    assert_int_equal(rig.calls_ever, 2);
    /* another model is another pool: it begins empty */
    rig_wait(&rig, 500);
    rig_answer(&rig, 0, "text");
    rig.model = "m2";
    next_stage(VQ_STAGE_TEXT, 1, 4, 60);
    lease_prompt(0, 3);
    rig_wait(&rig, 900);
    assert_int_equal(rig.calls_ever, 2);
    rig_wait(&rig, 200);
    assert_int_equal(rig.calls_ever, 3);
}

TEST_WITH(test_a_pause_and_a_closed_judge_go_on, NULL, teardown)
{
    begin(2, 1);
    rig_open(&rig, 4);
    rig_lease(&rig, 0, 1, false);
    rig_fail(&rig, 0, VQ_END_RATE, 2000);
    uint32_t calls = rig.calls_ever;
    next_stage(VQ_STAGE_TEXT, 1, 4, 0);
    lease_prompt(0, 2);
    rig_wait(&rig, 1900);
    assert_int_equal(rig.calls_ever, calls);
    rig_wait(&rig, 500);
    assert_int_equal(rig.calls_ever, calls + 1);
    rig_fail(&rig, 1, VQ_END_CLOSED,
             -1); /* the call of this stage; the first stage's second one goes on */
    next_stage(VQ_STAGE_TEXT, 1, 4, 0);
    assert_int_equal(rig.credits[0].state, VQ_POOL_BAD_KEY);
    assert_int_equal(rig.credits[1].state, VQ_POOL_OPEN);
    next_stage(VQ_STAGE_EMBED, 1, 4, 0); /* another use of it */
    assert_int_equal(rig.credits[0].state, VQ_POOL_OPEN);
}

TEST_WITH(test_spooled_results_of_another_stage, NULL, teardown)
{
    begin(1, 1);
    struct vq_result spooled = {.call = {.b = {4}},
                                .stage = 9,
                                .shard = 1000,
                                .task = 2000,
                                .judge = 40,
                                .end = VQ_END_ANSWER,
                                .answer = vq_span_str("Model: A")};
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_SPOOLED, .u.result = &spooled});
    rig_open(&rig, 1);
    rig_wait(&rig, 10);
    assert_int_equal(rig.results_count, 1);
    assert_int_equal(rig.results[0].r.stage, 9);
    assert_int_equal(rig.results[0].r.outcome, VQ_OUTCOME_NONE);
    assert_string_equal(rig.results[0].answer, "Model: A");
}
