/* Chains at the worker: one turn at a time, each behind what was said; one task of credit; nothing
 * behind a turn that failed. */
#include "rig.h"

#define TURNS 5

static struct rig rig;

static int teardown(void **state)
{
    (void)state;
    vq_work_destroy(&rig.w);
    return 0;
}

static void begin(uint32_t pools, uint32_t concurrency)
{
    rig_init(&rig, 1, TURNS);
    rig.kind = VQ_STAGE_CHAT;
    rig.repair = false;
    rig.pools = pools;
    rig.serves[0] = (1u << pools) - 1;
    rig_create(&rig, (struct vq_work_options){.local = 0, .has_spool = true});
    rig_open(&rig, concurrency);
}

static void sample(uint64_t index, uint32_t queries)
{
    struct vq_buf packed;
    vq_buf_init(&packed, 4096);
    for (uint32_t k = 0; k < queries; k++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "query %u", k);
        vq_chain_pack(&packed, vq_span_str(text));
    }
    rig_message(&rig, (struct vq_msg){.type = VQ_MSG_SAMPLE,
                                      .u.sample = {rig.session, index, vq_buf_span(&packed),
                                                   vq_span_str("be a king"), vq_span_str("")}});
    vq_buf_free(&packed);
}

/* The chain from turn `from` on, behind these answers. */
static void lease_as(uint64_t shard, uint64_t n, uint32_t from, uint32_t count,
                     const struct vq_span *turns, uint32_t turns_count)
{
    struct vq_ask asks[TURNS];
    for (uint32_t i = 0; i < count; i++) {
        asks[i] = (struct vq_ask){.task = rig_task(&rig, shard, from + i, 0), .vibe = from + i};
    }
    rig_message(&rig,
                (struct vq_msg){.type = VQ_MSG_LEASE,
                                .u.lease = {.session = rig.session,
                                            .stage = rig.stage,
                                            .shard = shard,
                                            .fence = {rig.epoch, n},
                                            .stamp_ns = rig.last[VQ_MSG_HELLO].u.hello.stamp_ns,
                                            .sample = shard,
                                            .asks = asks,
                                            .asks_count = count,
                                            .turns = turns,
                                            .turns_count = turns_count}});
}

static void lease(uint64_t shard, uint64_t n)
{
    sample(shard, TURNS);
    lease_as(shard, n, 0, TURNS, NULL, 0);
}

/* The request behind these answers. */
static struct vq_hash request(const struct vq_work_call *call, const char *const *said, uint32_t n)
{
    struct vq_chain_state state;
    struct vq_hash hash;
    vq_chain_begin(vq_span_str("be a king"), vq_span_str("query 0"), &state);
    for (uint32_t k = 0; k < n; k++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "query %u", k + 1);
        vq_chain_go_on(&state, vq_span_str(said[k]), vq_span_str(text));
    }
    vq_chain_request(call->asker, &state, 0, &hash);
    return hash;
}

static void assert_turn(uint32_t i, uint32_t turn, const char *const *said)
{
    const struct vq_work_call *call = &rig.calls[i];
    struct vq_hash expected = request(call, said, turn);
    assert_int_equal(call->vibe, turn);
    assert_int_equal(call->turns_count, turn);
    assert_true(vq_hash_eq(&call->request, &expected));
}

static const char *const said[] = {"I.", "Long.", "Because.", "No.", "Bye."};

TEST_WITH(test_one_turn_at_a_time, NULL, teardown)
{
    begin(1, 3);
    lease(0, 1);
    assert_int_equal(rig_stats(&rig).asks_open, 1); /* a chain is one */
    for (uint32_t k = 0; k < TURNS; k++) {
        assert_int_equal(rig.calls_count, 1);
        assert_turn(0, k, said);
        rig_forget(&rig);
        rig_answer(&rig, 0, said[k]);
        if (k + 1 < TURNS) { /* the answer is noted and written before the next turn is sent */
            assert_memory_equal(rig.log, "nwswC", 5);
        }
    }
    rig_wait(&rig, 10);
    assert_int_equal(rig.calls_count, 0);
    assert_int_equal(rig.results_count, TURNS);
    assert_int_equal(rig_stats(&rig).asks_open, 1);
    rig_ack(&rig, TURNS - 1, 1);
    assert_int_equal(rig_stats(&rig).leases, 1); /* other turns have no ACK yet */
}

TEST_WITH(test_acks_close_it, NULL, teardown)
{
    begin(1, 3);
    lease(0, 1);
    size_t before = (size_t)rig_stats(&rig).samples_bytes;
    rig_answer(&rig, 0, said[0]);
    assert_int_equal(rig_stats(&rig).samples_bytes, before + strlen(said[0]));
    for (uint32_t k = 1; k < TURNS; k++) {
        rig_answer(&rig, 0, said[k]);
    }
    rig_wait(&rig, 10);
    assert_int_equal(rig.results_count, TURNS);
    rig_ack(&rig, 0, TURNS);
    assert_int_equal(rig_stats(&rig).leases, 0);
    assert_int_equal(rig_stats(&rig).asks_open, 0);
    assert_int_equal(rig_stats(&rig).samples_bytes, 0);
}

TEST_WITH(test_it_goes_on_where_another_one_stopped, NULL, teardown)
{
    begin(1, 1);
    sample(0, TURNS);
    struct vq_span turns[] = {vq_span_str("I."), vq_span_str("Long.")};
    lease_as(0, 1, 2, 2, turns, 2);
    assert_turn(0, 2, said);
    rig_answer(&rig, 0, said[2]);
    assert_turn(0, 3, said);
    rig_answer(&rig, 0, said[3]);
    assert_int_equal(rig.calls_count, 0); /* that was all it was to ask */
}

TEST_WITH(test_nothing_is_asked_behind_a_turn_that_failed, NULL, teardown)
{
    for (int how = 0; how < 3; how++) {
        begin(1, 1);
        lease(0, 1);
        rig_answer(&rig, 0, said[0]);
        rig_wait(&rig, 10);
        rig_forget(&rig);
        if (how == 0) {
            rig_fail(&rig, 0, VQ_END_BAD_REQUEST, -1);
        } else if (how == 1) {
            rig_answer(&rig, 0, " \n");
        } else {
            rig_fail(&rig, 0, VQ_END_TOO_LONG, -1);
        }
        rig_wait(&rig, 10);
        assert_int_equal(rig.calls_count, 0);
        assert_int_equal(rig.results_count, 1);
        assert_true(rig.results[0].r.final);
        assert_int_equal(rig.returned_count + rig.returned_whole,
                         0); /* they are blocked, not given back */
        assert_int_equal(rig.last[VQ_MSG_CREDIT].u.credit.credits_count, 1);
        vq_work_destroy(&rig.w);
    }
    begin(1, 1);
}

TEST_WITH(test_a_try_that_fails_is_made_again, NULL, teardown)
{
    begin(1, 1);
    lease(0, 1);
    rig_answer(&rig, 0, said[0]);
    rig_fail(&rig, 0, VQ_END_PROVIDER, -1);
    assert_int_equal(rig.calls_count, 0);
    rig_wait(&rig, 2000);
    assert_int_equal(rig.calls_count, 1);
    assert_turn(0, 1, said);
}

TEST_WITH(test_leases_that_are_no_chains_go_back, NULL, teardown)
{
    begin(1, 1);
    struct vq_span turns[] = {vq_span_str("I.")};
    sample(0, 3);
    lease_as(0, 1, 1, 2, NULL, 0); /* no answer to turn 0 */
    assert_int_equal(rig.returned_whole, 1);
    lease_as(0, 2, 0, 2, turns, 1); /* its answer, and it is asked */
    assert_int_equal(rig.returned_whole, 2);
    lease_as(0, 3, 1, 3, turns, 1); /* more turns than queries */
    assert_int_equal(rig.returned_whole, 3);
    rig_message(&rig, (struct vq_msg){.type = VQ_MSG_SAMPLE,
                                      .u.sample = {rig.session, 7, vq_span_str("not packed"),
                                                   vq_span_str(""), vq_span_str("")}});
    lease_as(7, 4, 0, 1, NULL, 0);
    assert_int_equal(rig.returned_whole, 4);
    assert_int_equal(rig.calls_ever, 0);
    assert_int_equal(rig_stats(&rig).asks_open, 0);
    lease_as(0, 5, 1, 2, turns, 1);
    assert_int_equal(rig.calls_ever, 1);
}

TEST_WITH(test_a_chain_that_is_taken_away_is_asked_no_more, NULL, teardown)
{
    begin(1, 2);
    lease(0, 1);
    rig_cancel(&rig, 0, 1, NULL, 0);
    assert_int_equal(rig_stats(&rig).asks_open, 0);
    assert_int_equal(rig.calls_count, 1);
    rig_answer(&rig, 0, said[0]);
    rig_wait(&rig, 10);
    assert_int_equal(rig.calls_count, 0);
    assert_int_equal(rig.results_count, 1); /* it is paid for */
}

/* Somebody else's answer to a turn stands: the rest goes back at once, what is in flight is paid
 * for and tried no second time. */
TEST_WITH(test_a_chain_that_goes_on_elsewhere_is_given_back, NULL, teardown)
{
    begin(1, 2);
    lease(0, 1);
    rig_answer(&rig, 0, said[0]);
    uint64_t task = rig_task(&rig, 0, 0, 0); /* while the next one is asked */
    rig_cancel(&rig, 0, 1, &task, 1);
    assert_int_equal(rig.returned_count, TURNS - 2);
    assert_int_equal(rig.calls_count, 1);
    rig_end(&rig, 0, (struct vq_work_reply){.end = VQ_END_PROVIDER, .error = vq_span_str("no")});
    rig_wait(&rig, 60000);
    assert_int_equal(rig.calls_ever, 2);
    assert_int_equal(rig.returned_count, TURNS - 1); /* and that one */
    assert_int_equal(rig_stats(&rig).asks_open, 0);
}

TEST_WITH(test_a_chain_whose_turn_is_asked_elsewhere_too_is_given_back, NULL, teardown)
{
    begin(1, 1);
    lease(0, 1);
    lease(1, 2); /* waits for a slot */
    uint64_t tasks[] = {rig_task(&rig, 0, 0, 0), rig_task(&rig, 1, 0, 0)};
    rig_cancel(&rig, 1, 2, &tasks[1], 1);
    assert_int_equal(rig.returned_count, TURNS);
    assert_int_equal(rig_stats(&rig).asks_open, 1);
    rig_cancel(&rig, 0, 1, &tasks[0], 1);
    assert_int_equal(rig.returned_count, 2 * TURNS - 1);
    rig_cancel(&rig, 0, 1, &tasks[0], 1); /* said again */
    rig_answer(&rig, 0, said[0]);
    rig_wait(&rig, 1000);
    assert_int_equal(rig.calls_ever, 1);
    assert_int_equal(rig.returned_count, 2 * TURNS - 1);
    assert_int_equal(rig_stats(&rig).asks_open, 0);
}

TEST_WITH(test_a_draining_worker_gives_the_rest_back, NULL, teardown)
{
    begin(1, 2);
    lease(0, 1);
    rig_answer(&rig, 0, said[0]);
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_DRAIN});
    assert_int_equal(rig.returned_count, TURNS - 2); /* but the turn in flight */
    rig_answer(&rig, 0, said[1]);
    assert_int_equal(rig.calls_count, 0);
}

TEST_WITH(test_credit_is_chains_for_slots, NULL, teardown)
{
    begin(1, 4);
    rig_wait(&rig, 500);
    assert_int_equal(rig.credits[0].tasks, 4);
    for (uint64_t i = 0; i < 6; i++) {
        lease(i, i + 1);
    }
    assert_int_equal(rig.calls_count, 4);
    assert_int_equal(rig_stats(&rig).asks_open, 6);
    assert_int_equal(rig.returned_count, 0);
    rig_wait(
        &rig,
        /* those without a slot would wait for the end of another: elsewhere there may be one */
        2000);
    assert_int_equal(rig.returned_count, 2 * TURNS);
    assert_int_equal(rig_stats(&rig).asks_open, 4);
    assert_int_equal(rig.calls_count, 4);
}

TEST_WITH(test_a_chain_stays_on_its_pool, NULL, teardown)
{
    begin(3, 4);
    lease(0, 1);
    uint32_t pool = rig.calls[0].pool;
    for (uint32_t k = 0; k < 2; k++) {
        rig_answer(&rig, 0, said[k]);
        assert_int_equal(rig.calls[0].pool, pool);
    }
    rig_fail(&rig, 0, VQ_END_CLOSED, -1); /* its key is refused: it goes elsewhere, at once */
    assert_int_equal(rig.calls_count, 1);
    assert_turn(0, 2, said);
    assert_int_not_equal(rig.calls[0].pool, pool);
    pool = rig.calls[0].pool;
    rig_answer(&rig, 0, said[2]);
    assert_int_equal(rig.calls[0].pool, pool);
}
