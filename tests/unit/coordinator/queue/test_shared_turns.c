/* Chains that begin alike: a turn in common is asked in the first of them alone, the others go on
 * behind it. */
#include "tests/unit/coordinator/queue/rig.h"

#define TURNS  4
#define CHAINS 6

static struct vq_buf packed[CHAINS];
static struct vq_sample chains[CHAINS];
static struct vq_chain_alike alike[CHAINS];

/* The first is alone; the others begin with "ab", two of them are the same to the end. */
static const char *const queries[CHAINS] = {"wxyz", "abcd", "abef", "abcd", "abeg", "aklm"};

static int setup(void **state)
{
    static struct rig rig;
    struct vq_chain_asked asked[CHAINS];
    bool any;
    rig_init(&rig, CHAINS, 1, TURNS);
    for (int i = 0; i < CHAINS; i++) {
        vq_buf_init(&packed[i], 4096);
        for (int k = 0; k < TURNS; k++) {
            vq_chain_pack(&packed[i], vq_span(&queries[i][k], 1));
        }
        chains[i] = (struct vq_sample){.prompt = vq_buf_span(&packed[i]), .a = vq_span_str("s")};
        asked[i] = (struct vq_chain_asked){chains[i].a, chains[i].prompt, 0};
    }
    assert_int_equal(vq_chains_alike(asked, CHAINS, alike, &any), VQ_OK);
    assert_true(any);
    rig_chains(&rig, chains);
    rig.params.alike = alike;
    *state = &rig;
    return 0;
}

static int teardown(void **state)
{
    for (int i = 0; i < CHAINS; i++) {
        vq_buf_free(&packed[i]);
    }
    return rig_teardown(state);
}

static uint64_t turn(uint64_t chain, uint64_t k)
{
    return (chain * TURNS + k) * 2;
}

/* What everybody is told at a turn: the answer names the query, so that it depends on what was
 * asked. */
static struct vq_result answer(struct rig *r, const struct rig_said *lease, uint64_t chain,
                               uint32_t k)
{
    static const char *const texts[] = {"one", "two", "three", "four"};
    struct vq_result result = rig_answer(r, lease, turn(chain, k), texts[k]);
    struct vq_chain_state state;
    vq_chain_begin(chains[chain].a, vq_span(&queries[chain][0], 1), &state);
    for (uint32_t i = 0; i < k; i++) {
        vq_chain_go_on(&state, vq_span_str(texts[i]), vq_span(&queries[chain][i + 1], 1));
    }
    rig_chain_ask(r, &state, &result);
    return result;
}

/* Two that are not of one beginning are out, the first turn of one of them is the probe. */
static uint64_t start(struct rig *r)
{
    rig_start(r);
    uint64_t session = rig_join(r, 1, 1, CHAINS);
    const struct rig_said probe = *rig_last(r, 1, VQ_MSG_LEASE);
    struct vq_result result = answer(r, &probe, probe.shard, 0);
    rig_results(r, 1, session, &result, 1);
    rig_pass(r, RIG_HEARTBEAT);
    rig_beat(r, 1, session, NULL);
    return session;
}

static void say(struct rig *r, uint64_t session, uint64_t chain, uint32_t k)
{
    r->mark = 0;
    const struct rig_said lease = *rig_leased(r, chain);
    rig_mark(r);
    struct vq_result result = answer(r, &lease, chain, k);
    rig_results(r, 1, session, &result, 1);
    assert_int_equal(vq_coord_outcome(r->c, turn(chain, k)), VQ_OUTCOME_TEXT);
}

static unsigned leased_ever(struct rig *r, uint64_t chain)
{
    unsigned count = 0;
    for (size_t i = 0; i < r->said_count; i++) {
        count += r->said[i].type == VQ_MSG_LEASE && r->said[i].shard == chain;
    }
    return count;
}

TEST_WITH(test_a_turn_in_common_is_asked_once, setup, teardown)
{
    struct rig *r = *state;
    uint64_t session = start(r);
    if (vq_coord_outcome(r->c, turn(1, 0)) == VQ_OUTCOME_NONE) {
        assert_int_equal(leased_ever(r, 5), 0);
        say(r, session, 1, 0);
    }
    r->mark = 0;
    assert_int_equal(rig_leased(r, 5)->tasks[0], turn(5, 1)); /* what it asks alone */
    assert_int_equal(vq_coord_outcome(r->c, turn(5, 0)), VQ_OUTCOME_TEXT);
    for (uint64_t chain = 2; chain <= 4; chain++) {
        assert_int_equal(leased_ever(r, chain), 0);
    }
    say(r, session, 1, 1);
    assert_int_equal(rig_leased(r, 2)->tasks[0], turn(2, 2));
    assert_int_equal(leased_ever(r, 3), 0); /* the same to the end */
    assert_int_equal(leased_ever(r, 4), 0); /* "abe" is another one's */
    say(r, session, 2, 2);
    assert_int_equal(rig_leased(r, 4)->count, 1);
    assert_int_equal(rig_leased(r, 4)->tasks[0], turn(4, 3));
    say(r, session, 1, 2);
    say(r, session, 1, 3);
    assert_int_equal(leased_ever(r, 3), 0);
    for (uint32_t k = 0; k < TURNS; k++) {
        assert_int_equal(vq_coord_outcome(r->c, turn(3, k)), VQ_OUTCOME_TEXT);
    }
}

/* Turn 0 of chain 1, which may have been the probe. */
static void say_first(struct rig *r, uint64_t session)
{
    if (vq_coord_outcome(r->c, turn(1, 0)) == VQ_OUTCOME_NONE) {
        say(r, session, 1, 0);
    }
}

/* Turn 1 of chain 1, which others have in common with it. */
static void fail_in_common(struct rig *r, uint64_t session)
{
    r->mark = 0;
    const struct rig_said lease = *rig_leased(r, 1);
    struct vq_result result = answer(r, &lease, 1, 1);
    result.answer = vq_span("", 0);
    result.end = VQ_END_BAD_REQUEST;
    result.outcome = VQ_OUTCOME_ERROR;
    rig_results(r, 1, session, &result, 1);
    assert_int_equal(vq_coord_outcome(r->c, turn(1, 1)), VQ_OUTCOME_ERROR);
}

/* Every failure is lifted; returns of how many tasks. */
static uint64_t lifted(struct rig *r)
{
    uint64_t tasks;
    assert_int_equal(vq_coord_requeue(r->c, VQ_FAILURES_ALL, r->now_ns, &tasks), VQ_OK);
    rig_pull(r);
    return tasks;
}

/* All that begins so fails with it, and is opened with it. */
TEST_WITH(test_twins_fail_and_are_opened_together, setup, teardown)
{
    struct rig *r = *state;
    uint64_t session = start(r);
    say_first(r, session);
    fail_in_common(r, session);
    for (uint64_t chain = 1; chain <= 4; chain++) {
        assert_int_equal(vq_coord_outcome(r->c, turn(chain, 1)), VQ_OUTCOME_ERROR);
        assert_int_equal(vq_coord_outcome(r->c, turn(chain, 2)), VQ_OUTCOME_BLOCKED);
        assert_int_equal(leased_ever(r, chain), chain == 1 ? leased_ever(r, 1) : 0);
    }
    assert_int_equal(vq_coord_outcome(r->c, turn(5, 1)), VQ_OUTCOME_NONE);
    rig_mark(r);
    assert_int_equal(lifted(r), 4);
    for (uint64_t chain = 1; chain <= 4; chain++) {
        for (uint32_t k = 1; k < TURNS; k++) {
            assert_int_equal(vq_coord_outcome(r->c, turn(chain, k)), VQ_OUTCOME_NONE);
        }
        assert_true(chain == 1 || rig_leased(r, chain) == NULL);
    }
    assert_int_equal(rig_leased(r, 1)->tasks[0], turn(1, 1));
    assert_int_equal(rig_status(r).all.state[VQ_TASK_BLOCKED], 0);
    say(r, session, 1, 1);
    assert_int_equal(rig_leased(r, 2)->tasks[0], turn(2, 2));
}

/* A look-up of a twin that is under way while its failure is lifted says what is over. */
TEST_WITH(test_a_look_up_from_before_settles_no_twin, setup, teardown)
{
    struct rig *r = *state;
    uint64_t session = start(r);
    say_first(r, session);
    r->hold_lookups = true;
    fail_in_common(r, session);
    struct vq_known before[2 * TURNS];
    assert_true(r->lookups_count > 0);
    uint64_t twin = r->lookups[0];
    assert_int_not_equal(twin, 1);
    sim_store_known(&r->store, twin, before);
    assert_int_equal(before[2].outcome, VQ_OUTCOME_ERROR);
    (void)lifted(r);
    assert_int_equal(vq_coord_outcome(r->c, turn(1, 1)), VQ_OUTCOME_NONE);
    rig_look_up_as(r, twin, before);
    assert_int_equal(vq_coord_outcome(r->c, turn(twin, 1)), VQ_OUTCOME_NONE);
    r->hold_lookups = false;
    while (r->lookups_count > 0) {
        rig_look_up(r, r->lookups[0]);
    }
    rig_pull(r);
    rig_pass(r, RIG_HEARTBEAT);
    rig_beat(r, 1, session, NULL);
    assert_int_equal(leased_ever(r, twin), 0);
    say(r, session, 1, 1);
    assert_int_equal(vq_coord_outcome(r->c, turn(twin, 1)), VQ_OUTCOME_TEXT);
}
