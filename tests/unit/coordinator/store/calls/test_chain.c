/* Chains in the store: a turn's request is known by the answers that stand before it, in a look-up,
 * in a commit, in another run. */
#include "tests/unit/coordinator/store/calls/fixture.h"

#include "common/judge/chain.h"

#define TURNS 3 /* FX_VIBES */

static struct vq_buf packed;
static struct vq_sample chains[FX_SAMPLES];

static int setup(void **state)
{
    (void)fx_setup(state);
    struct fx *fx = *state;
    static const char *const queries[TURNS] = {"Who are you?", "Since when?", "And why?"};
    vq_buf_init(&packed, 1u << 16);
    for (int j = 0; j < FX_JUDGES; j++) {
        vq_asker_init(&fx->askers[j], &fx->judges[j], fx->templates[VQ_TEMPLATE_AS_IS], NULL);
    }
    size_t ends[2];
    for (int i = 0; i < 2; i++) { /* the second kind of chain has one turn less */
        for (int k = 0; k < TURNS - i; k++) {
            vq_chain_pack(&packed, vq_span_str(queries[k]));
        }
        ends[i] = packed.bytes;
    }
    for (int i = 0; i < FX_SAMPLES; i++) {
        static const char *const systems[] = {"", "You are a king."};
        struct vq_span all = vq_span(packed.at, ends[0]);
        struct vq_span fewer = vq_span(packed.at + ends[0], ends[1] - ends[0]);
        chains[i] = (struct vq_sample){.prompt = i % 2 == 0 ? all : fewer,
                                       .a = vq_span_str(systems[i / 2 % 2])};
        vq_chain_identify(&chains[i], &fx->samples[i]);
    }
    fx->plan.kind = VQ_STAGE_CHAT;
    fx->plan.swap = VQ_SWAP_NONE;
    fx->plan.chains = chains;
    return 0;
}

/* The same with what is known of how far chains are: nothing may differ. */
static int setup_memo(void **state)
{
    (void)setup(state);
    struct fx *fx = *state;
    assert_int_equal(vq_chain_memo_create(vq_grid_shards(&fx->plan.grid), &fx->plan.memo), VQ_OK);
    return 0;
}

static int teardown(void **state)
{
    struct fx *fx = *state;
    vq_chain_memo_destroy(&fx->plan.memo);
    vq_buf_free(&packed);
    return fx_teardown(state);
}

static uint64_t turn(const struct fx *fx, uint32_t chain, uint32_t k)
{
    return fx_task(fx, chain, 0, k, 0);
}

/* The request of turn k of judge 0 behind these answers. */
static struct vq_hash request(const struct fx *fx, uint32_t chain, uint32_t k,
                              const char *const *said, uint32_t repeat)
{
    struct vq_span rest = chains[chain].prompt;
    struct vq_span query = {NULL, 0};
    struct vq_chain_state state;
    struct vq_hash hash;
    (void)vq_chain_unpack(&rest, &query);
    vq_chain_begin(chains[chain].a, query, &state);
    for (uint32_t i = 0; i < k; i++) {
        (void)vq_chain_unpack(&rest, &query);
        vq_chain_go_on(&state, vq_span_str(said[i]), query);
    }
    vq_chain_request(&fx->askers[0], &state, repeat, &hash);
    return hash;
}

static struct vq_result answer(struct fx *fx, uint32_t chain, uint32_t k, const char *const *said,
                               const char *text)
{
    struct vq_result r = fx_answer(fx, turn(fx, chain, k), text);
    r.request = request(fx, chain, k, said, 0);
    r.outcome = VQ_OUTCOME_TEXT;
    return r;
}

static void assert_stands(const struct vq_commit *commit, uint64_t task, enum vq_outcome outcome)
{
    for (size_t i = 0; i < commit->standing_count; i++) {
        if (commit->standing[i].task == task) {
            assert_int_equal(commit->standing[i].outcome, outcome);
            return;
        }
    }
    fail_msg("nothing is said of task %llu", (unsigned long long)task);
}

static void assert_known(struct fx *fx, uint32_t chain, uint32_t k, enum vq_outcome outcome,
                         const char *said)
{
    struct vq_known known = fx_known(fx, turn(fx, chain, k));
    assert_int_equal(known.outcome, outcome);
    assert_true(vq_span_eq(known.prior, vq_span_str(said)));
}

static void test_turns_are_found_one_behind_the_other(void **state)
{
    struct fx *fx = *state;
    const char *const said[] = {"A king.", "Ever."};
    struct vq_result r = answer(fx, 0, 0, said, said[0]);
    for (uint32_t k = 0; k < TURNS; k++) {
        assert_known(fx, 0, k, VQ_OUTCOME_NONE, "");
    }
    fx_commit_one(fx, &r);
    assert_known(fx, 0, 0, VQ_OUTCOME_TEXT, said[0]);
    assert_known(fx, 0, 1, VQ_OUTCOME_NONE, "");
    r = answer(fx, 0, 1, said, said[1]);
    fx_commit_one(fx, &r);
    assert_known(fx, 0, 1, VQ_OUTCOME_TEXT, said[1]);
    assert_known(fx, 0, 2, VQ_OUTCOME_NONE, "");
    /* the shorter chain begins alike and asks the same: it has them already, and no third turn */
    assert_known(fx, 1, 0, VQ_OUTCOME_TEXT, said[0]);
    assert_known(fx, 1, 1, VQ_OUTCOME_TEXT, said[1]);
    assert_known(fx, 1, 2, VQ_OUTCOME_NOT_NEEDED, "");
    assert_known(fx, 2, 0, VQ_OUTCOME_NONE, ""); /* another system part */
    fx->run.b[1]++;                              /* another run */
    fx_begin_run(fx, false);
    assert_known(fx, 0, 1, VQ_OUTCOME_TEXT, said[1]);
    struct vq_view *view = NULL;
    struct vq_span turns[TURNS];
    struct vq_turn_tokens tokens[TURNS];
    struct vq_answer standing;
    bool repaired;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_lookup_chain(view, &fx->plan, &fx->run, 0, turns, tokens, &fx->err), &fx->err);
    assert_true(vq_span_eq(turns[0], vq_span_str(said[0])));
    assert_true(vq_span_eq(turns[1], vq_span_str(said[1])));
    assert_true(turns[2].at == NULL && turns[2].bytes == VQ_OUTCOME_NONE);
    assert_true(tokens[1].in == r.tokens_in && tokens[1].out == r.tokens_out && r.tokens_in > 0);
    assert_true(tokens[2].in == 0 && tokens[2].out == 0);
    assert_ok(vq_lookup_standing(view, &fx->plan, &fx->run, turn(fx, 0, 1), &standing, &repaired,
                                 &fx->err),
              &fx->err);
    assert_true(vq_span_eq(standing.answer, vq_span_str(said[1])));
    assert_int_equal(vq_lookup_standing(view, &fx->plan, &fx->run, turn(fx, 0, 2), &standing,
                                        &repaired, &fx->err),
                     VQ_NOT_FOUND);
    uint8_t outcomes[2 * TURNS];
    assert_ok(vq_lookup_outcomes(view, &fx->plan, &fx->run, 0, outcomes, &fx->err), &fx->err);
    assert_int_equal(outcomes[2], VQ_OUTCOME_TEXT);
    assert_int_equal(outcomes[3], VQ_OUTCOME_NOT_NEEDED);
    assert_int_equal(outcomes[4], VQ_OUTCOME_NONE);
    vq_view_end(&view);
}

/* As out of a spool: all at once, in any order. */
static void test_turns_in_one_batch(void **state)
{
    struct fx *fx = *state;
    const char *const said[] = {"A king.", "Ever.", "God's grace."};
    struct vq_commit commit;
    for (uint32_t k = TURNS; k > 0; k--) {
        struct vq_result r = answer(fx, 0, k - 1, said, said[k - 1]);
        fx_add(fx, &r);
    }
    fx_commit(fx, &commit);
    for (uint32_t k = 0; k < TURNS; k++) {
        assert_stands(&commit, turn(fx, 0, k), VQ_OUTCOME_TEXT);
        assert_known(fx, 0, k, VQ_OUTCOME_TEXT, said[k]);
    }
    assert_int_equal(commit.foreign, 0);
    vq_commit_free(&commit);
}

static void test_a_turn_ahead_settles_when_it_is_reached(void **state)
{
    struct fx *fx = *state;
    const char *const said[] = {"A king.", "Ever."};
    struct vq_commit commit;
    struct vq_result r = answer(fx, 0, 1, said, said[1]);
    fx_add(fx, &r);
    fx_commit(fx, &commit);
    assert_stands(&commit, turn(fx, 0, 1), VQ_OUTCOME_NONE);
    assert_int_equal(commit.foreign, 0);
    vq_commit_free(&commit);
    r = answer(fx, 0, 0, said, said[0]);
    fx_commit_one(fx, &r);
    assert_known(fx, 0, 1, VQ_OUTCOME_TEXT, said[1]);
}

/* The first answer to a turn stands; who goes on from another one goes astray, and nothing is
 * spliced. */
static void test_another_branch_settles_nothing(void **state)
{
    struct fx *fx = *state;
    const char *const first[] = {"A king."};
    const char *const second[] = {"A beggar."};
    struct vq_commit commit;
    struct vq_result r = answer(fx, 0, 0, first, first[0]);
    fx_commit_one(fx, &r);
    r = answer(fx, 0, 0, second, second[0]);
    fx_add(fx, &r);
    fx_commit(fx, &commit);
    assert_stands(&commit, turn(fx, 0, 0), VQ_OUTCOME_TEXT);
    assert_int_equal(commit.paid_unused, 1);
    vq_commit_free(&commit);
    r = answer(fx, 0, 1, second, "Since the war.");
    fx_add(fx, &r);
    struct vq_result failing =
        fx_failure(fx, turn(fx, 0, 1), 0, VQ_END_BAD_REQUEST, VQ_OUTCOME_ERROR);
    failing.request = request(fx, 0, 1, second, 0);
    fx_add(fx, &failing);
    fx_commit(fx, &commit);
    assert_stands(&commit, turn(fx, 0, 1), VQ_OUTCOME_NONE);
    vq_commit_free(&commit);
    assert_known(fx, 0, 0, VQ_OUTCOME_TEXT, first[0]);
    assert_known(fx, 0, 1, VQ_OUTCOME_NONE, "");
}

static void test_a_turn_that_fails_blocks_the_rest(void **state)
{
    struct fx *fx = *state;
    const char *const said[] = {"A king.", "Ever."};
    struct vq_commit commit;
    struct vq_result r = answer(fx, 0, 0, said, said[0]);
    fx_add(fx, &r);
    r = fx_failure(fx, turn(fx, 0, 1), 0, VQ_END_BAD_REQUEST, VQ_OUTCOME_ERROR);
    r.request = request(fx, 0, 1, said, 0);
    fx_add(fx, &r);
    fx_commit(fx, &commit);
    assert_stands(&commit, turn(fx, 0, 0), VQ_OUTCOME_TEXT);
    assert_stands(&commit, turn(fx, 0, 1), VQ_OUTCOME_ERROR);
    assert_stands(&commit, turn(fx, 0, 2), VQ_OUTCOME_BLOCKED);
    vq_commit_free(&commit);
    assert_known(fx, 0, 0, VQ_OUTCOME_TEXT, said[0]);
    assert_known(fx, 0, 2, VQ_OUTCOME_BLOCKED, "");
    /* asked again by hand: what it blocked is open with it */
    fx_reopen(fx, turn(fx, 0, 1));
    fx_commit(fx, &commit);
    assert_stands(&commit, turn(fx, 0, 1), VQ_OUTCOME_NONE);
    assert_stands(&commit, turn(fx, 0, 2), VQ_OUTCOME_NONE);
    vq_commit_free(&commit);
    r = answer(fx, 0, 1, said, said[1]);
    fx_commit_one(fx, &r);
    assert_known(fx, 0, 1, VQ_OUTCOME_TEXT, said[1]);
    assert_known(fx, 0, 2, VQ_OUTCOME_NONE, "");
}

static void test_a_refusal_blocks_and_may_be_retried(void **state)
{
    struct fx *fx = *state;
    const char *const none[] = {""};
    struct vq_commit commit;
    struct vq_result r = answer(fx, 0, 0, none, "I would rather not.");
    r.refusal = true;
    r.outcome = VQ_OUTCOME_REFUSED;
    fx_add(fx, &r);
    fx_commit(fx, &commit);
    assert_stands(&commit, turn(fx, 0, 0), VQ_OUTCOME_REFUSED);
    assert_stands(&commit, turn(fx, 0, 2), VQ_OUTCOME_BLOCKED);
    vq_commit_free(&commit);
    fx_begin_run(fx, true);
    assert_known(fx, 0, 0, VQ_OUTCOME_NONE, "");
    assert_int_equal(fx_known(fx, turn(fx, 0, 0)).repeat, 1);
    assert_known(fx, 0, 1, VQ_OUTCOME_NONE, "");
    r = answer(fx, 0, 0, none, "A king.");
    r.repeat = 1;
    r.request = request(fx, 0, 0, none, 1);
    fx_commit_one(fx, &r);
    assert_known(fx, 0, 0, VQ_OUTCOME_TEXT, "A king.");
    const char *const said[] = {"A king."};
    r = answer(fx, 0, 1, said, "Ever."); /* behind what stands, with a repeat of its own */
    fx_commit_one(fx, &r);
    assert_known(fx, 0, 1, VQ_OUTCOME_TEXT, "Ever.");
}

static void test_a_failure_without_a_result(void **state)
{
    struct fx *fx = *state;
    struct vq_commit commit;
    fx_fail(fx, turn(fx, 0, 1), VQ_OUTCOME_WORKER_LOST);
    fx_commit(fx, &commit); /* of a turn that nobody can have asked */
    assert_stands(&commit, turn(fx, 0, 1), VQ_OUTCOME_NONE);
    vq_commit_free(&commit);
    fx_fail(fx, turn(fx, 0, 0), VQ_OUTCOME_WORKER_LOST);
    fx_commit(fx, &commit);
    assert_stands(&commit, turn(fx, 0, 0), VQ_OUTCOME_WORKER_LOST);
    assert_stands(&commit, turn(fx, 0, 1), VQ_OUTCOME_BLOCKED);
    assert_stands(&commit, turn(fx, 0, 2), VQ_OUTCOME_BLOCKED);
    vq_commit_free(&commit);
}

#define CHAIN(f)                                                                                   \
    cmocka_unit_test_setup_teardown(f, setup, teardown),                                           \
        cmocka_unit_test_setup_teardown(f, setup_memo, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAIN(test_turns_are_found_one_behind_the_other),
        CHAIN(test_turns_in_one_batch),
        CHAIN(test_a_turn_ahead_settles_when_it_is_reached),
        CHAIN(test_another_branch_settles_nothing),
        CHAIN(test_a_turn_that_fails_blocks_the_rest),
        CHAIN(test_a_refusal_blocks_and_may_be_retried),
        CHAIN(test_a_failure_without_a_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
