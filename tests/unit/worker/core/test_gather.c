/* Calls that go into batches: no SENT is noted, their lease gets the end BATCHED, and what is
 * collected later is their result. Also: which asks go there, and what the coordinator hears. */
#include "proto/params.h"
#include "proto/result.h"
#include "rig.h"

static struct rig rig;

static int teardown(void **state)
{
    (void)state;
    vq_work_destroy(&rig.w);
    return 0;
}

/* A lease of one vibe in both orders, the second one lazy; pool 0 is a batch pool, and with two
 * pools the other one is not. */
static void begin(uint32_t pools, bool has_spool)
{
    rig_init(&rig, 1, 1);
    rig.pools = pools;
    rig.serves[0] = (1u << pools) - 1;
    rig.batch_calls[0] = 100;
    rig.input_usd[0] = rig.cached_usd[0] = 1;
    rig.output_usd[0] = 4;
    rig_create(&rig,
               (struct vq_work_options){.local = 0, .backoff_ms = 100, .has_spool = has_spool});
    rig_open(&rig, 4);
    rig_forget(&rig);
    rig_lease(&rig, 0, 1, true);
}

static void gathered(uint32_t number)
{
    char text[VQ_RESULT_BATCH_BYTES];
    vq_result_batch_text("b-1", number, text);
    rig_end(&rig, 0,
            (struct vq_work_reply){
                .end = VQ_END_BATCHED, .retry_after_ms = -1, .error = vq_span_str(text)});
}

static void collected(const struct vq_result *draft, struct vq_work_reply reply)
{
    reply.call = draft->call;
    struct vq_work_collected collected = {.draft = draft, .reply = &reply};
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_COLLECTED, .u.collected = &collected});
}

TEST_WITH(both_orders_are_gathered_and_leave_their_lease, NULL, teardown)
{
    begin(1, true);
    assert_string_equal(rig.log, "g"); /* the lazy one waits for it */
    gathered(0);
    gathered(1);
    rig_wait(&rig, 1000);
    assert_int_equal(rig.spool_sent, 0);
    assert_int_equal(rig.spool_answer, 2);
    assert_int_equal(rig.results_count, 2);
    const struct vq_result *first = &rig.results[0].r;
    assert_int_equal(first->end, VQ_END_BATCHED);
    assert_false(first->final);
    assert_true(first->cost_nano > 0); /* the most that it may cost */
    assert_int_equal(rig_stats(&rig).leases, 1);
    rig_ack(&rig, 0, 2);
    assert_int_equal(rig_stats(&rig).leases, 0);
    assert_int_equal(rig_stats(&rig).results, 0);
    assert_non_null(strstr(rig.log, "kGkG")); /* the shell hears of both */
}

TEST_WITH(what_is_collected_is_a_result_of_the_same_call, NULL, teardown)
{
    begin(1, false);
    gathered(0);
    rig_wait(&rig, 1000);
    struct vq_result draft = rig.results[0].r;
    draft.pool = vq_span_str("pool-0");
    rig_ack(&rig, 0, 1);
    uint64_t bound = draft.cost_nano;
    rig_forget(&rig);
    collected(&draft, (struct vq_work_reply){.end = VQ_END_ANSWER,
                                             .http_status = 200,
                                             .tokens_in = 50,
                                             .tokens_out = 5,
                                             .answer = vq_span_str("Model: A"),
                                             .finish_reason = vq_span_str("stop")});
    rig_wait(&rig, 1000);
    assert_int_equal(rig.results_count, 1);
    const struct vq_result *result = &rig.results[0].r;
    assert_true(vq_id_eq(&result->call, &draft.call));
    assert_int_equal(result->end, VQ_END_ANSWER);
    assert_true(result->final);
    assert_int_equal(result->outcome, VQ_OUTCOME_FIRST);
    assert_int_equal(result->cost_nano, 50 * 1000 + 5 * 4000);
    assert_true(bound > result->cost_nano);
}

TEST_WITH(a_call_that_was_not_carried_out_costs_nothing_and_is_not_final, NULL, teardown)
{
    begin(1, false);
    gathered(0);
    rig_wait(&rig, 1000);
    struct vq_result draft = rig.results[0].r;
    draft.pool = vq_span_str("pool-0");
    rig_ack(&rig, 0, 1);
    rig_forget(&rig);
    collected(&draft, (struct vq_work_reply){.end = VQ_END_NETWORK,
                                             .error = vq_span_str("its batch expired")});
    rig_wait(&rig, 1000);
    assert_int_equal(rig.results_count, 1);
    assert_int_equal(rig.results[0].r.cost_nano, 0);
    assert_false(rig.results[0].r.final);
}

TEST_WITH(an_open_batch_pool_comes_before_others, NULL, teardown)
{
    begin(2, false);
    assert_int_equal(rig.calls[0].pool, 0);
    assert_string_equal(rig.log, "g");
}

TEST_WITH(without_a_slice_of_it_the_others_answer, NULL, teardown)
{
    rig_init(&rig, 1, 1);
    rig.pools = 2;
    rig.serves[0] = 3;
    rig.batch_calls[0] = 100;
    rig_create(&rig, (struct vq_work_options){.local = 0});
    rig_open(&rig, 4);
    rig_grant(&rig, 0, 0, 0, 0);
    rig_lease(&rig, 0, 1, true);
    assert_int_equal(rig.calls_count, 1);
    assert_int_equal(rig.calls[0].pool, 1);
}

TEST_WITH(a_failure_to_gather_is_a_failure_like_any, NULL, teardown)
{
    begin(1, false);
    rig_fail(&rig, 0, VQ_END_BAD_REQUEST, -1);
    rig_wait(&rig, 1000);
    assert_int_equal(rig.results_count, 1);
    assert_int_equal(rig.results[0].r.end, VQ_END_BAD_REQUEST);
    assert_true(rig.results[0].r.final);
}

TEST_WITH(the_shell_hears_of_each_session_and_of_the_end, NULL, teardown)
{
    begin(1, false);
    assert_int_equal(rig.anew, 1);
    assert_true(vq_work_create_until_ns(rig.w) > rig.now);
    rig_bye(&rig, VQ_BYE_NO_SESSION);
    assert_int_equal(vq_work_create_until_ns(rig.w), 0); /* until there is a session again */
    rig_welcome(&rig);
    assert_int_equal(rig.anew, 2);
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_DRAIN});
    assert_int_equal(rig.anew, 3);
    assert_int_equal(vq_work_create_until_ns(rig.w), 0);
}

TEST_WITH(what_becomes_of_a_batch_goes_to_the_coordinator, NULL, teardown)
{
    begin(1, false);
    struct vq_msg_batch batch = {.name = vq_span_str("b-1"),
                                 .pool = vq_span_str("pool-0"),
                                 .id = vq_span_str("batch_9"),
                                 .state = VQ_BATCH_PROGRESS_CREATED,
                                 .calls = 2};
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_BATCH, .u.batch = &batch});
    assert_int_equal(rig.sent[VQ_MSG_BATCH], 1);
    assert_int_equal(rig.last[VQ_MSG_BATCH].u.batch.session, rig.session);
    assert_int_equal(rig.last[VQ_MSG_BATCH].u.batch.calls, 2);
    rig_bye(&rig, VQ_BYE_NO_SESSION);
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_BATCH, .u.batch = &batch});
    assert_int_equal(rig.sent[VQ_MSG_BATCH], 1); /* no session: it is asked for anew */
}

TEST_WITH(a_batch_to_look_after_goes_to_the_shell, NULL, teardown)
{
    begin(1, false);
    struct vq_result draft = {.end = VQ_END_BATCHED, .error = vq_span_str("b-1 0")};
    struct vq_msg msg = {.type = VQ_MSG_COLLECT,
                         .u.collect = {.session = rig.session,
                                       .name = vq_span_str("b-1"),
                                       .pool = vq_span_str("pool-0"),
                                       .drafts = &draft,
                                       .drafts_count = 1}};
    rig_message(&rig, msg);
    assert_int_equal(rig.collects, 1);
    assert_string_equal(rig.note, "b-1");
    msg.u.collect.session--;
    rig_message(&rig, msg);
    assert_int_equal(rig.collects, 1); /* of another session */
}

/* ---- what the provider refuses for good ---- */

static void refused(const char *pool, struct vq_work_reply reply)
{
    struct vq_work_refused refused = {.pool = vq_span_str(pool), .reply = &reply};
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_REFUSED, .u.refused = &refused});
    rig_wait(&rig, 1000);
}

TEST_WITH(a_refused_batch_closes_its_pool_as_a_refused_call_does, NULL, teardown)
{
    static const struct {
        struct vq_work_reply reply;
        enum vq_pool_state state;
    } rows[] = {{{.end = VQ_END_CLOSED, .pool = VQ_POOL_NO_MONEY}, VQ_POOL_NO_MONEY},
                {{.end = VQ_END_CLOSED, .pool = VQ_POOL_BAD_KEY}, VQ_POOL_BAD_KEY},
                {{.end = VQ_END_CLOSED, .pool = VQ_POOL_NO_MODEL}, VQ_POOL_NO_MODEL},
                {{.end = VQ_END_BAD_REQUEST}, VQ_POOL_NO_MODEL},
                {{.end = VQ_END_TOO_LONG}, VQ_POOL_NO_MODEL},
                {{.end = VQ_END_CLOSED, .params_refused = VQ_PARAM_MAX_TOKENS}, VQ_POOL_OPEN}};
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        begin(1, false);
        struct vq_work_reply reply = rows[i].reply;
        reply.error = vq_span_str("no batches here");
        refused("pool-7", reply);
        assert_int_equal(rig.reports[0].state, VQ_POOL_OPEN);
        refused("pool-0", reply);
        assert_int_equal(rig.reports[0].state, rows[i].state);
        assert_int_equal(rig.reports[0].params_refused, rows[i].reply.params_refused);
        assert_int_equal(teardown(NULL), 0);
    }
    begin(1, false);
}

TEST_WITH(an_errored_line_says_of_its_pool_what_a_call_says, NULL, teardown)
{
    begin(1, false);
    gathered(0);
    rig_wait(&rig, 1000);
    struct vq_result draft = rig.results[0].r;
    draft.pool = vq_span_str("pool-0");
    rig_ack(&rig, 0, 1);
    rig_forget(&rig);
    collected(&draft, (struct vq_work_reply){.end = VQ_END_CLOSED,
                                             .params_refused = VQ_PARAM_MAX_TOKENS,
                                             .error = vq_span_str("no temperature")});
    rig_wait(&rig, 1000);
    assert_int_equal(rig.reports[0].params_refused, VQ_PARAM_MAX_TOKENS);
    assert_int_equal(rig.reports[0].state, VQ_POOL_OPEN);
    collected(&draft, (struct vq_work_reply){.end = VQ_END_CLOSED,
                                             .pool = VQ_POOL_NO_MONEY,
                                             .error = vq_span_str("no money")});
    rig_wait(&rig, 1000);
    assert_int_equal(rig.reports[0].state, VQ_POOL_NO_MONEY);
}

TEST_WITH(a_limit_of_what_is_enqueued_pauses_its_pool, NULL, teardown)
{
    begin(1, false);
    refused("pool-0", (struct vq_work_reply){.end = VQ_END_RATE});
    assert_int_equal(rig.reports[0].state, VQ_POOL_OPEN);
    assert_true(rig.reports[0].pause_ms > 0);
}
