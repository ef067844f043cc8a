/* Chains at the coordinator: leased whole, counted as one, recorded in order; a turn that fails
 * blocks the rest; who goes on from an answer that does not stand loses the lease. */
#include "tests/unit/coordinator/queue/rig.h"

#define TURNS 8

static struct vq_buf packed;
static struct vq_sample chains[3];
static const char *const said[TURNS] = {"I.",   "Long.", "Because.", "No.",
                                        "Why?", "So.",   "Well.",    "Bye."};

static int setup(void **state)
{
    static struct rig rig;
    rig_init(&rig, 3, 1, TURNS);
    vq_buf_init(&packed, 4096);
    for (int k = 0; k < TURNS; k++) {
        vq_chain_pack(&packed, vq_span_str("and then?"));
    }
    static const char *const systems[] = {"", "be a king", "be a beggar"};
    for (int i = 0; i < 3; i++) {
        chains[i] =
            (struct vq_sample){.prompt = vq_buf_span(&packed), .a = vq_span_str(systems[i])};
    }
    rig_chains(&rig, chains);
    *state = &rig;
    return 0;
}

static int teardown(void **state)
{
    vq_buf_free(&packed);
    return rig_teardown(state);
}

static uint64_t turn(uint64_t chain, uint64_t k)
{
    return (chain * TURNS + k) * 2;
}

/* Turn k of a chain, answered behind these. */
static struct vq_result answer_as(struct rig *r, const struct rig_said *lease, uint64_t chain,
                                  uint32_t k, const char *const *behind, const char *text)
{
    struct vq_result result = rig_answer(r, lease, turn(chain, k), text);
    struct vq_chain_state state;
    vq_chain_begin(chains[chain].a, vq_span_str("and then?"), &state);
    for (uint32_t i = 0; i < k; i++) {
        vq_chain_go_on(&state, vq_span_str(behind[i]), vq_span_str("and then?"));
    }
    rig_chain_ask(r, &state, &result);
    return result;
}

/* Past the probe: one turn of the first chain. The first lease of a whole chain since. */
static struct rig_said tried(struct rig *r, uint64_t peer, uint64_t session)
{
    const struct rig_said probe = *rig_last(r, peer, VQ_MSG_LEASE);
    assert_int_equal(probe.count, 1); /* rule 25: one call */
    struct vq_result result = answer_as(r, &probe, probe.shard, 0, said, said[0]);
    rig_mark(r);
    rig_results(r, peer, session, &result, 1);
    return *rig_lease(r, 0);
}

/* A run whose one worker holds a whole chain, from turn *ret_turn on; returns its session. */
static uint64_t begun(struct rig *r, uint32_t wants, struct rig_said *ret_lease, uint32_t *ret_turn)
{
    rig_start(r);
    uint64_t session = rig_join(r, 1, 1, wants);
    *ret_lease = tried(r, 1, session);
    *ret_turn = (uint32_t)(ret_lease->tasks[0] % (2 * TURNS)) / 2;
    return session;
}

TEST_WITH(test_a_chain_goes_out_whole_and_counts_once, setup, teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 1, 1, 1);
    struct rig_said lease = tried(r, 1, session);
    assert_int_equal(rig_count(r, 1, VQ_MSG_LEASE), 1); /* it wants one chain */
    uint64_t chain = lease.shard;
    uint32_t first = (uint32_t)(lease.tasks[0] % (2 * TURNS)) / 2;
    assert_int_equal(lease.count, TURNS - first);
    for (uint32_t i = 0; i < lease.count; i++) {
        assert_int_equal(lease.tasks[i], turn(chain, first + i));
    }
    rig_mark(r);
    for (uint32_t k = first; k < TURNS; k++) {
        assert_int_equal(rig_count(r, 1, VQ_MSG_LEASE), 0);
        struct vq_result result = answer_as(r, &lease, chain, k, said, said[k]);
        rig_results(r, 1, session, &result, 1);
        assert_int_equal(vq_coord_outcome(r->c, turn(chain, k)), VQ_OUTCOME_TEXT);
    }
    assert_int_equal(rig_count(r, 1, VQ_MSG_LEASE), 1); /* the next one */
    assert_int_equal(rig_count(r, 1, VQ_MSG_CANCEL), 0);
}

TEST_WITH(test_a_lost_chain_goes_on_with_what_stands, setup, teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    uint32_t k;
    uint64_t session = begun(r, 1, &lease, &k);
    uint64_t chain = lease.shard;
    struct vq_result result = answer_as(r, &lease, chain, k, said, said[k]);
    rig_results(r, 1, session, &result, 1);
    uint64_t other = rig_join(r, 2, 2, 3);
    rig_mark(r);
    for (int ms = 0; ms < 3 * RIG_TERM; ms += RIG_HEARTBEAT) { /* the first one is silent */
        rig_pass(r, RIG_HEARTBEAT);
        rig_beat(r, 2, other, NULL);
    }
    bool found = false;
    for (size_t i = r->mark; i < r->said_count; i++) {
        const struct rig_said *s = &r->said[i];
        if (s->peer == 2 && s->type == VQ_MSG_LEASE && s->shard == chain) {
            found = true;
            assert_int_equal(s->tasks[0], turn(chain, k + 1));
            assert_int_equal(s->count, TURNS - k - 1);
        }
    }
    assert_true(found);
}

TEST_WITH(test_a_turn_that_fails_blocks_the_rest, setup, teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    uint32_t k;
    uint64_t session = begun(r, 1, &lease, &k);
    uint64_t chain = lease.shard;
    struct vq_result result = answer_as(r, &lease, chain, k, said, "");
    result.end = VQ_END_BAD_REQUEST;
    result.outcome = VQ_OUTCOME_ERROR;
    rig_mark(r);
    rig_results(r, 1, session, &result, 1);
    assert_int_equal(vq_coord_outcome(r->c, turn(chain, k)), VQ_OUTCOME_ERROR);
    for (uint32_t n = k + 1; n < TURNS; n++) {
        assert_int_equal(vq_coord_outcome(r->c, turn(chain, n)), VQ_OUTCOME_BLOCKED);
    }
    assert_int_equal(rig_status(r).all.state[VQ_TASK_BLOCKED], TURNS - k - 1);
    assert_int_equal(rig_count(r, 1, VQ_MSG_CANCEL), 0); /* its worker knows */
    assert_int_equal(rig_count(r, 1, VQ_MSG_LEASE), 1);
    /* by hand: it is asked again, and what it blocked with it */
    uint64_t tasks;
    assert_int_equal(vq_coord_requeue(r->c, VQ_FAILURES_ALL, r->now_ns, &tasks), VQ_OK);
    assert_int_equal(tasks, 1);
    rig_pull(r);
    for (uint32_t n = k; n < TURNS; n++) {
        assert_int_equal(vq_coord_outcome(r->c, turn(chain, n)), VQ_OUTCOME_NONE);
    }
    assert_int_equal(rig_status(r).all.state[VQ_TASK_BLOCKED], 0);
}

/* So many turns from this one on, which it does not ask; 0: all of the lease. */
static void give_back(struct rig *r, uint64_t session, const struct rig_said *lease, uint64_t task,
                      uint32_t count)
{
    uint64_t tasks[TURNS];
    for (uint32_t i = 0; i < count; i++) {
        tasks[i] = task + 2 * (uint64_t)i;
    }
    struct vq_msg back = {.type = VQ_MSG_CANCEL,
                          .u.cancel = {.session = session,
                                       .shard = lease->shard,
                                       .fence = lease->fence,
                                       .reason = VQ_CANCEL_RETURNED,
                                       .tasks = tasks,
                                       .tasks_count = count}};
    rig_tell(r, 1, &back);
}

/* Another run's answer to the turn stands; the holder goes on from its own. */
TEST_WITH(test_who_goes_astray_loses_the_chain, setup, teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    uint32_t k;
    uint64_t session = begun(r, 3, &lease, &k);
    uint64_t chain = lease.shard;
    struct vq_result result = answer_as(r, &lease, chain, k, said, said[k]);
    assert_true(sim_store_put(&r->store, &result.request, vq_span_str("Somebody else."),
                              vq_span_str("stop"), false));
    rig_results(r, 1, session, &result, 1);
    assert_int_equal(vq_coord_outcome(r->c, turn(chain, k)), VQ_OUTCOME_TEXT);
    rig_mark(r);
    result = answer_as(r, &lease, chain, k + 1, said, said[k + 1]);
    rig_results(r, 1, session, &result, 1);
    assert_int_equal(vq_coord_outcome(r->c, turn(chain, k + 1)), VQ_OUTCOME_NONE);
    assert_int_equal(rig_count(r, 1, VQ_MSG_CANCEL), 1);
    assert_int_equal(rig_last(r, 1, VQ_MSG_CANCEL)->count, 1); /* that one, and so what follows */
    assert_int_equal(rig_last(r, 1, VQ_MSG_CANCEL)->tasks[0], turn(chain, k + 1));
    assert_int_equal(rig_count(r, 1, VQ_MSG_ACK), 1); /* it is paid for, and recorded */
    assert_int_equal(rig_status(r).all.state[VQ_TASK_BLOCKED], 0);
    for (int ms = 0; ms < 2 * RIG_TERM;
         ms += RIG_HEARTBEAT) { /* it may not have heard, and is told again */
        rig_pass(r, RIG_HEARTBEAT);
        rig_beat(r, 1, session, &lease);
        assert_null(rig_leased(r, chain));
    }
    assert_true(rig_count(r, 1, VQ_MSG_CANCEL) > 3);
    give_back(r, session, &lease, turn(chain, k + 3), TURNS - k - 3); /* it is at turn k + 2 */
    assert_null(rig_leased(r, chain));
    result = answer_as(r, &lease, chain, k + 2, said, said[k + 2]);
    rig_results(r, 1, session, &result, 1);
    assert_non_null(rig_leased(r, chain));
    assert_int_equal(rig_leased(r, chain)->tasks[0], turn(chain, k + 1));
}

/* The same, and what stands is not good: the turn is put once more, and its holder is told as soon
 * as its own answer is in. */
TEST_WITH(test_who_goes_on_from_an_overtaken_answer_is_told, setup, teardown)
{
    struct rig *r = *state;
    r->params.repeat_max = 1;
    r->store.repeat_max = 1;
    struct rig_said lease;
    uint32_t k;
    uint64_t session = begun(r, 3, &lease, &k);
    uint64_t chain = lease.shard;
    struct vq_result result = answer_as(r, &lease, chain, k, said, said[k]);
    assert_true(
        sim_store_put(&r->store, &result.request, vq_span_str(" "), vq_span_str("stop"), false));
    rig_mark(r);
    rig_results(r, 1, session, &result, 1);
    assert_int_equal(vq_coord_outcome(r->c, turn(chain, k)), VQ_OUTCOME_NONE);
    assert_int_equal(rig_count(r, 1, VQ_MSG_CANCEL), 1);
    assert_int_equal(rig_last(r, 1, VQ_MSG_CANCEL)->tasks[0], turn(chain, k));
    assert_null(rig_leased(r, chain));
    give_back(r, session, &lease, turn(chain, k + 1), TURNS - k - 1);
    assert_non_null(rig_leased(r, chain));
    assert_int_equal(rig_leased(r, chain)->tasks[0], turn(chain, k));
    assert_int_equal(rig_leased(r, chain)->repeat[0], 1);
}

/* Those of the later turns come first, many of them: what they build on found no room and is said
 * again. */
TEST_WITH(test_turns_that_come_too_early_are_no_strangers, setup, teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 1, 1, 3);
    (void)tried(r, 1, session);
    struct rig_said leases[3];
    for (unsigned n = 0; n < 3; n++) {
        leases[n] = *rig_lease(r, n);
    }
    uint32_t early = 0;
    for (unsigned n = 0; n < 3; n++) {
        uint32_t first = (uint32_t)(leases[n].tasks[0] % (2 * TURNS)) / 2;
        for (uint32_t k = TURNS - 1; k > first; k--, early++) {
            struct vq_result result = answer_as(r, &leases[n], leases[n].shard, k, said, said[k]);
            rig_results(r, 1, session, &result, 1);
            assert_int_equal(vq_coord_outcome(r->c, turn(leases[n].shard, k)), VQ_OUTCOME_NONE);
        }
    }
    assert_true(early > VQ_COORD_UNSETTLED_MAX);
    assert_int_equal(rig_count(r, 1, VQ_MSG_DRAIN), 0);
    for (unsigned n = 0; n < 3; n++) {
        uint32_t first = (uint32_t)(leases[n].tasks[0] % (2 * TURNS)) / 2;
        struct vq_result result =
            answer_as(r, &leases[n], leases[n].shard, first, said, said[first]);
        rig_results(r, 1, session, &result, 1);
    }
    for (int ms = 0; ms < 3 * RIG_TERM; ms += RIG_HEARTBEAT) {
        rig_pass(r, RIG_HEARTBEAT);
        rig_beat(r, 1, session, NULL);
    }
    assert_int_equal(r->stopped, 0);
    assert_int_equal(r->finished, 1);
    assert_int_equal(rig_status(r).all.state[VQ_TASK_ANSWERED], 3 * TURNS);
}

/* An answer of an old lease comes late and settles the turn that a new holder asks; returns the
 * session of that one. */
static uint64_t answered_late(struct rig *r, struct rig_said *ret_lease, uint32_t *ret_turn)
{
    uint64_t session = begun(r, 3, ret_lease, ret_turn);
    struct rig_said old = *ret_lease;
    old.fence.n--;
    struct vq_result late = answer_as(r, &old, old.shard, *ret_turn, said, said[*ret_turn]);
    rig_mark(r);
    rig_results(r, 1, session, &late, 1);
    return session;
}

TEST_WITH(test_a_late_answer_takes_the_chain_away, setup, teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    uint32_t k;
    uint64_t session = answered_late(r, &lease, &k);
    uint64_t chain = lease.shard;
    assert_int_equal(vq_coord_outcome(r->c, turn(chain, k)), VQ_OUTCOME_TEXT);
    assert_int_equal(rig_count(r, 1, VQ_MSG_CANCEL), 1);
    assert_null(rig_leased(r, chain)); /* its holder may be at the next turn */
    assert_int_equal(rig_last(r, 1, VQ_MSG_CANCEL)->tasks[0], turn(chain, k));
    give_back(r, session, &lease, turn(chain, k + 1), TURNS - k - 1); /* it asks turn k */
    assert_non_null(rig_leased(r, chain));                            /* at once */
    assert_int_equal(rig_leased(r, chain)->tasks[0], turn(chain, k + 1));
}

/* The same, and its holder has let go of the lease without a word. */
TEST_WITH(test_a_late_answer_takes_the_chain_from_who_is_silent, setup, teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    uint32_t k;
    uint64_t session = answered_late(r, &lease, &k);
    uint64_t chain = lease.shard;
    for (int ms = 0; ms < 2 * RIG_TERM; ms += RIG_HEARTBEAT) {
        rig_pass(r, RIG_HEARTBEAT);
        rig_beat(r, 1, session, NULL);
    }
    assert_non_null(rig_leased(r, chain));
    assert_int_equal(rig_leased(r, chain)->tasks[0], turn(chain, k + 1));
}

TEST_WITH(test_a_listed_call_keeps_the_whole_chain, setup, teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    uint32_t k;
    uint64_t session = begun(r, 1, &lease, &k);
    uint64_t chain = lease.shard;
    struct vq_held_call call = {.call = rig_call(r), .task = turn(chain, k)};
    rig_list(r, 1, session, VQ_MSG_HEARTBEAT, NULL, 0, &call, 1);
    rig_mark(r);
    give_back(r, session, &lease, 0, 0);
    assert_null(rig_leased(r, chain));
    struct vq_result result = answer_as(r, &lease, chain, k, said, said[k]);
    result.call = call.call;
    rig_results(r, 1, session, &result, 1);
    assert_int_equal(vq_coord_outcome(r->c, turn(chain, k)), VQ_OUTCOME_TEXT);
}

/* Of a chain that was tried, the answer after the one that is due has come. */
static uint64_t answered_ahead(struct rig *r, struct rig_said *ret_lease, uint32_t *ret_turn)
{
    uint64_t session = begun(r, 3, ret_lease, ret_turn);
    uint32_t next = *ret_turn + 1;
    struct vq_result ahead = answer_as(r, ret_lease, ret_lease->shard, next, said, said[next]);
    rig_results(r, 1, session, &ahead, 1);
    return session;
}

/* The answer before it is lost with its worker: that is asked again, and may be the same. */
TEST_WITH(test_an_answer_that_is_ahead_is_not_bought_again, setup, teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    uint32_t k;
    uint64_t session = answered_ahead(r, &lease, &k);
    uint64_t chain = lease.shard;
    give_back(r, session, &lease, 0, 0);
    rig_mark(r);
    for (int ms = 0; ms < 2 * RIG_TERM; ms += RIG_HEARTBEAT) {
        rig_pass(r, RIG_HEARTBEAT);
        rig_beat(r, 1, session, NULL);
    }
    const struct rig_said again = *rig_leased(r, chain);
    assert_int_equal(again.count, 1);
    assert_int_equal(again.tasks[0], turn(chain, k));
    rig_mark(r);
    struct vq_result result = answer_as(r, &again, chain, k, said, said[k]);
    rig_results(r, 1, session, &result, 1);
    assert_int_equal(vq_coord_outcome(r->c, turn(chain, k + 1)), VQ_OUTCOME_TEXT);
    assert_int_equal(rig_leased(r, chain)->tasks[0], turn(chain, k + 2));
    assert_int_equal(rig_leased(r, chain)->count, TURNS - k - 2);
}

/* The same, and the answer before it is another one this time: then nothing of it is stored. */
TEST_WITH(test_an_answer_ahead_of_another_branch_is_none, setup, teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    uint32_t k;
    uint64_t session = answered_ahead(r, &lease, &k);
    uint64_t chain = lease.shard;
    rig_mark(r);
    for (int ms = 0; ms < 2 * RIG_TERM && rig_leased(r, chain) == NULL; ms += RIG_HEARTBEAT) {
        rig_pass(r, RIG_HEARTBEAT); /* its worker has let it go, and says so */
        rig_list(r, 1, session, VQ_MSG_HEARTBEAT, NULL, 0, NULL, 0);
    }
    const struct rig_said again = *rig_leased(r, chain);
    assert_int_equal(again.count, 1);
    rig_mark(r);
    struct vq_result result = answer_as(r, &again, chain, k, said, "Perhaps.");
    rig_results(r, 1, session, &result, 1);
    assert_int_equal(vq_coord_outcome(r->c, turn(chain, k + 1)), VQ_OUTCOME_NONE);
    assert_int_equal(rig_leased(r, chain)->tasks[0], turn(chain, k + 1));
    assert_int_equal(rig_leased(r, chain)->count, TURNS - k - 1);
}
