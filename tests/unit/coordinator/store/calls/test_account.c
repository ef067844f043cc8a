/* The numbers of accounting.json: every call and every task is counted in exactly one place. */
#include "fixture.h"

#include "common/base/rng.h"
#include "coordinator/store/calls/ledger.h"

#define SAYS_A     "Model: A"
#define SAYS_EQUAL "Model: equal"

static struct vq_account *account(struct fx *fx, const struct vq_ledger_price *prices)
{
    struct vq_view *view = NULL;
    struct vq_account *account = NULL;
    uint8_t outcomes[2 * FX_SAMPLES * FX_JUDGES * FX_VIBES];
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    uint32_t tasks = vq_grid_shard_tasks(&fx->plan.grid);
    for (uint64_t shard = 0; shard < vq_grid_shards(&fx->plan.grid); shard++) {
        assert_ok(vq_lookup_outcomes(view, &fx->plan, &fx->run, shard, outcomes + shard * tasks,
                                     &fx->err),
                  &fx->err);
    }
    const struct vq_account_plan stage = {&fx->plan, outcomes, prices};
    assert_ok(vq_ledger_account(view, &fx->run, &stage, 1, &account, &fx->err), &fx->err);
    vq_view_end(&view);
    return account;
}

static void check_part(const struct vq_account_part *a)
{
    assert_int_equal(a->planned,
                     a->first_sends + a->from_store + a->saved_by_lazy_swap + a->not_asked);
    assert_int_equal(a->sums.sent, a->first_sends + a->asked_again + a->retried + a->repairs);
    uint64_t calls = a->sums.answered + a->sums.unknown + a->sums.cancelled + a->sums.in_batches;
    for (size_t end = 0; end < VQ_END__COUNT; end++) {
        calls += a->sums.failed[end];
    }
    assert_int_equal(calls, a->sums.sent + a->not_sent);
}

static void check_sums(const struct vq_account *a)
{
    check_part(&a->all);
    uint64_t by_worker = 0, by_stage = 0;
    for (size_t i = 0; i < a->workers_count; i++) {
        by_worker += a->workers[i].sums.sent;
        assert_true(i == 0 || strcmp(a->workers[i - 1].name, a->workers[i].name) < 0);
    }
    for (uint32_t i = 0; i < a->stages_count; i++) {
        uint64_t by_judge = 0;
        check_part(&a->stages[i].part);
        by_stage += a->stages[i].part.sums.sent;
        for (uint32_t j = 0; j < a->stages[i].judges_count; j++) {
            by_judge += a->stages[i].judges[j].sent;
        }
        assert_int_equal(by_judge, a->stages[i].part.sums.sent);
    }
    assert_int_equal(by_worker, a->all.sums.sent);
    assert_int_equal(by_stage, a->all.sums.sent);
}

TEST_WITH(test_nothing, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_account *a = account(fx, NULL);
    check_sums(a);
    assert_int_equal(a->all.planned, vq_grid_tasks(&fx->plan.grid));
    assert_int_equal(a->all.not_asked, a->all.planned);
    assert_true(a->first_unix_ms == 0 && !a->priced);
    vq_account_destroy(&a);
}

TEST_WITH(test_each_kind, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    /* Two failed tries, then the answer. */
    struct vq_result r = fx_failure(fx, 0, 0, VQ_END_RATE, VQ_OUTCOME_NONE);
    r.final = false;
    fx_commit_one(fx, &r);
    r = fx_failure(fx, 0, 0, VQ_END_NETWORK, VQ_OUTCOME_NONE);
    r.final = false;
    fx_commit_one(fx, &r);
    r = fx_answer(fx, 0, SAYS_A);
    fx_commit_one(fx, &r);
    /* A failed task, a too long one that never left, an unknown call. */
    r = fx_failure(fx, 6, 0, VQ_END_BAD_REQUEST, VQ_OUTCOME_ERROR);
    fx_commit_one(fx, &r);
    r = fx_failure(fx, 12, 0, VQ_END_TOO_LONG, VQ_OUTCOME_TOO_LONG);
    r.http_status = 0;
    fx_commit_one(fx, &r);
    r = fx_result(fx, 18, 0);
    r.end = VQ_END_UNKNOWN;
    fx_commit_one(fx, &r);
    /* The second answer to one question. */
    r = fx_answer(fx, 0, SAYS_A);
    fx_commit_one(fx, &r);
    struct vq_ledger_price prices[FX_JUDGES] = {{1, 2}, {-1, -1}};
    struct vq_account *a = account(fx, prices);
    check_sums(a);
    assert_int_equal(a->all.first_sends, 3);
    assert_int_equal(a->all.retried, 2);
    assert_int_equal(a->all.not_sent, 2);
    assert_int_equal(a->all.sums.sent, 5);
    assert_int_equal(a->all.sums.answered, 2);
    assert_int_equal(a->all.sums.paid_unused, 1);
    assert_int_equal(a->all.sums.unknown, 1);
    assert_int_equal(a->all.sums.failed[VQ_END_RATE], 1);
    assert_int_equal(a->all.sums.failed[VQ_END_NETWORK], 1);
    assert_int_equal(a->all.sums.failed[VQ_END_BAD_REQUEST], 1);
    assert_int_equal(a->all.sums.failed[VQ_END_TOO_LONG], 1);
    assert_int_equal(a->all.sums.tokens_in, 200);
    assert_int_equal(a->all.sums.tokens_out, 20);
    assert_true(a->all.sums.cost_usd > 0.00023 && a->all.sums.cost_usd < 0.00025);
    assert_true(a->priced);
    assert_true(a->first_unix_ms == 5000 && a->last_unix_ms == 5020);
    vq_account_destroy(&a);
}

/* Pools: each call that names one is in its sums, and costs what its worker said. */
TEST_WITH(test_pools, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_ledger_price prices[FX_JUDGES] = {{1, 2}, {-1, -1}};
    struct vq_result r = fx_answer(fx, 0, SAYS_A);
    r.pool = vq_span_str("south");
    r.cost_nano = 2500000;
    r.tokens_cached = 60;
    fx_commit_one(fx, &r);
    r = fx_answer(fx, 6, SAYS_A); /* of the judge without a price, but its pool has one */
    r.pool = vq_span_str("north");
    r.cost_nano = 1000000;
    fx_commit_one(fx, &r);
    r = fx_failure(fx, 2, 0, VQ_END_RATE, VQ_OUTCOME_NONE);
    r.pool = vq_span_str("south");
    r.final = false;
    fx_commit_one(fx, &r);
    r = fx_result(fx, 4, 0);
    r.end = VQ_END_UNKNOWN;
    r.pool = vq_span_str("south");
    r.cost_nano = 500000;
    fx_commit_one(fx, &r);
    struct vq_account *a = account(fx, prices);
    check_sums(a);
    assert_true(a->priced);
    assert_int_equal(a->pools_count, 2);
    assert_string_equal(a->pools[0].name, "north");
    assert_string_equal(a->pools[1].name, "south");
    const struct vq_account_sums *south = &a->pools[1].sums;
    assert_true(south->sent == 3 && south->answered == 1 && south->unknown == 1);
    assert_int_equal(south->failed[VQ_END_RATE], 1);
    assert_true(south->tokens_in == 100 && south->tokens_cached == 60 && south->tokens_out == 10);
    assert_true(south->cost_usd > 0.0029999 && south->cost_usd < 0.0030001);
    assert_true(a->all.sums.cost_usd > 0.0039999 && a->all.sums.cost_usd < 0.0040001);
    vq_account_destroy(&a);
    r = fx_answer(fx, 7, SAYS_A); /* as it was before there were pools */
    fx_commit_one(fx, &r);
    r = fx_answer(fx, 1, SAYS_A);
    fx_commit_one(fx, &r);
    a = account(fx, prices);
    assert_false(a->priced);
    assert_int_equal(a->pools_count, 2);
    assert_true(a->all.sums.cost_usd > 0.0041199 && a->all.sums.cost_usd < 0.0041201);
    vq_account_destroy(&a);
}

TEST_WITH(test_lazy_audit_and_store, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    fx->plan.audit_share = 0.5;
    uint64_t saved = 0, audited = 0, tasks = vq_grid_tasks(&fx->plan.grid);
    for (uint64_t cell = 0; cell < tasks; cell += 2) {
        struct vq_task_plan plan;
        vq_plan_cell(&fx->plan, cell, &plan);
        struct vq_result r = fx_answer(fx, cell + plan.first, SAYS_EQUAL);
        fx_add(fx, &r);
        if (plan.audited) {
            r = fx_answer(fx, cell + 1 - plan.first, SAYS_EQUAL);
            fx_add(fx, &r);
            audited++;
        } else {
            saved++;
        }
    }
    struct vq_commit commit;
    fx_commit(fx, &commit);
    vq_commit_free(&commit);
    assert_true(saved > 0 && audited > 0);
    struct vq_account *a = account(fx, NULL);
    check_sums(a);
    assert_int_equal(a->all.saved_by_lazy_swap, saved);
    assert_int_equal(a->all.audit, audited);
    assert_int_equal(a->all.first_sends, tasks - saved);
    assert_int_equal(a->all.not_asked, 0);
    vq_account_destroy(&a);
    /* The same again as another run: no call. */
    fx->run.b[1] = 2;
    fx_begin_run(fx, false);
    a = account(fx, NULL);
    check_sums(a);
    assert_int_equal(a->all.sums.sent, 0);
    assert_int_equal(a->all.from_store, tasks - saved);
    assert_int_equal(a->all.saved_by_lazy_swap, saved);
    vq_account_destroy(&a);
}

TEST_WITH(test_asked_again, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result r = fx_failure(fx, 0, 0, VQ_END_PROVIDER, VQ_OUTCOME_UNAVAILABLE);
    fx_commit_one(fx, &r);
    fx_begin_run(fx, true);
    r = fx_failure(fx, 0, 1, VQ_END_PROVIDER, VQ_OUTCOME_NONE);
    r.final = false;
    fx_commit_one(fx, &r);
    r = fx_result(fx, 0, 1);
    r.answer = vq_span_str(SAYS_A);
    r.final = true;
    fx_commit_one(fx, &r);
    struct vq_account *a = account(fx, NULL);
    check_sums(a);
    assert_true(a->all.first_sends == 1 && a->all.asked_again == 1 && a->all.retried == 1);
    vq_account_destroy(&a);
}

/* Anything at all in the ledger: both sums hold. */
TEST_WITH(test_random_ledgers, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_rng rng;
    vq_rng_seed(&rng, 11);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 60; i++) {
            uint64_t task = vq_rng_below(&rng, vq_grid_tasks(&fx->plan.grid));
            struct vq_result r = fx_answer(fx, task, vq_rng_below(&rng, 2) == 0 ? SAYS_A : "?");
            if (vq_rng_below(&rng, 3) == 0) {
                r = fx_failure(fx, task, 0, (enum vq_call_end)vq_rng_below(&rng, VQ_END__COUNT),
                               VQ_OUTCOME_UNAVAILABLE);
                r.http_status = vq_rng_below(&rng, 2) == 0 ? 0 : 500;
                r.final = vq_rng_below(&rng, 2) == 0;
            } else if (vq_rng_below(&rng, 4) == 0) {
                r = fx_repair(fx, task, "?", vq_rng_below(&rng, 2) == 0 ? SAYS_A : "?");
            } else if (vq_rng_below(&rng, 8) == 0) {
                r.request.b[9] ^= 1;
            }
            char worker[2] = {(char)('a' + vq_rng_below(&rng, 4)), '\0'};
            fx_add_of(fx, &r, worker);
        }
        struct vq_commit commit;
        fx_commit(fx, &commit);
        vq_commit_free(&commit);
        struct vq_account *a = account(fx, NULL);
        check_sums(a);
        assert_int_equal(a->workers_count, 4);
        vq_account_destroy(&a);
    }
}

/* Two stages over one ledger; the second asks some of what the first asked. */
TEST_WITH(test_stages, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_plan second = fx->plan;
    second.stage = 4;
    second.grid.samples = 2;
    uint64_t tasks[2] = {vq_grid_tasks(&fx->plan.grid), vq_grid_tasks(&second.grid)};
    struct vq_result r = fx_answer(fx, 0, SAYS_A); /* asked once, needed twice */
    fx_commit_one(fx, &r);
    r = fx_answer(fx, 1, SAYS_EQUAL);
    fx_commit_one(fx, &r);
    struct vq_plan first = fx->plan;
    fx->plan = second;
    r = fx_answer(fx, 2, SAYS_A);
    r.stage = 4;
    fx_commit_one(fx, &r);
    r = fx_answer(fx, 50, SAYS_A); /* came late, of the first stage: its first send */
    r.task = 20;
    r.judge = 1;
    r.stage = 0;
    fx_commit_one(fx, &r);
    r = fx_answer(fx, 3, SAYS_A); /* of a stage that is not in the list */
    r.stage = 9;
    r.request.b[12] ^= 1;
    fx_commit_one(fx, &r);
    static uint8_t outcomes[2][2 * FX_SAMPLES * FX_JUDGES * FX_VIBES];
    memset(outcomes, 0, sizeof(outcomes));
    outcomes[0][0] = outcomes[1][0] = VQ_OUTCOME_FIRST;
    outcomes[0][1] = outcomes[1][1] = VQ_OUTCOME_EQUAL;
    outcomes[1][2] = VQ_OUTCOME_FIRST;
    outcomes[1][3] = VQ_OUTCOME_NOT_NEEDED;
    struct vq_ledger_price prices[2][FX_JUDGES] = {{{1, 0}, {2, 0}}, {{10, 0}, {20, 0}}};
    const struct vq_account_plan stages[2] = {{&first, outcomes[0], prices[0]},
                                              {&second, outcomes[1], prices[1]}};
    struct vq_view *view = NULL;
    struct vq_account *a = NULL;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_ledger_account(view, &fx->run, stages, 2, &a, &fx->err), &fx->err);
    vq_view_end(&view);
    check_part(&a->all);
    check_part(&a->stages[0].part);
    check_part(&a->stages[1].part);
    assert_int_equal(a->all.planned, tasks[0] + tasks[1]);
    assert_int_equal(a->stages[0].part.first_sends, 3);
    assert_int_equal(a->stages[0].part.from_store, 0);
    assert_int_equal(a->stages[0].judges[1].sent, 1);
    assert_int_equal(a->stages[1].part.first_sends, 1);
    assert_int_equal(a->stages[1].part.from_store, 2);
    assert_int_equal(a->stages[1].part.saved_by_lazy_swap, 1);
    assert_int_equal(a->stages[1].part.not_asked, tasks[1] - 4);
    assert_int_equal(a->all.sums.sent, 5);
    assert_int_equal(a->all.retried, 1);
    assert_int_equal(a->all.foreign, 0);
    assert_true(a->priced);
    double usd = (100.0 * (1 + 1 + 2) + 100.0 * 10) / 1e6;
    assert_true(a->all.sums.cost_usd > usd - 1e-9 && a->all.sums.cost_usd < usd + 1e-9);
    vq_account_destroy(&a);
}

/* A stage that asks some cells a second time: its askings have numbers of their own, and what it
 * leaves out is not planned. */
TEST_WITH(test_some_cells_again, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    uint8_t cells[FX_SAMPLES * FX_JUDGES * FX_VIBES] = {[0] = 1, [4] = 1, [9] = 1};
    uint8_t first[FX_SAMPLES * FX_JUDGES] = {1, 0, 1, 1};
    struct vq_result r = fx_answer(fx, 1, SAYS_A);
    fx_commit_one(fx, &r); /* in the first stage */
    fx->plan.stage = 1;
    fx->plan.swap = VQ_SWAP_NONE;
    fx->plan.repeat = VQ_REPEAT_RETEST;
    fx->plan.cells = cells;
    fx->plan.first_order = first;
    for (uint64_t task = 0; task < vq_grid_tasks(&fx->plan.grid); task++) {
        bool asked = cells[task / 2] != 0 && task % 2 == first[task / (2 * FX_VIBES)];
        struct vq_known known = fx_known(fx, task);
        assert_int_equal(vq_plan_asks(&fx->plan, task), asked);
        assert_int_equal(known.outcome, asked ? VQ_OUTCOME_NONE : VQ_OUTCOME_NOT_NEEDED);
        assert_int_equal(known.repeat, VQ_REPEAT_RETEST);
    }
    r = fx_result(fx, 1, VQ_REPEAT_RETEST);
    r.stage = 1;
    r.end = VQ_END_ANSWER;
    r.answer = vq_span_str("Model: B");
    fx_commit_one(fx, &r);
    r = fx_failure(fx, 8, VQ_REPEAT_RETEST, VQ_END_BAD_REQUEST, VQ_OUTCOME_ERROR);
    r.stage = 1;
    fx_commit_one(fx, &r);
    assert_int_equal(fx_outcome(fx, 1), VQ_OUTCOME_SECOND);
    assert_int_equal(fx_outcome(fx, 8), VQ_OUTCOME_ERROR);
    struct vq_account *a = account(fx, NULL);
    assert_int_equal(a->stages[0].part.planned, 3);
    assert_int_equal(a->stages[0].part.first_sends, 2);
    assert_int_equal(a->stages[0].part.not_asked, 1);
    assert_int_equal(a->stages[0].part.asked_again + a->stages[0].part.foreign, 0);
    vq_account_destroy(&a);
    fx_begin_run(fx, true); /* --retry-failed asks the failed one under the next number */
    assert_int_equal(fx_known(fx, 8).outcome, VQ_OUTCOME_NONE);
    assert_int_equal(fx_known(fx, 8).repeat, VQ_REPEAT_RETEST + 1);
    r = fx_result(fx, 8, VQ_REPEAT_RETEST + 1);
    r.stage = 1;
    r.end = VQ_END_ANSWER;
    r.answer = vq_span_str(SAYS_A);
    fx_commit_one(fx, &r);
    assert_int_equal(fx_outcome(fx, 8), VQ_OUTCOME_FIRST);
    struct vq_view *view = NULL;
    struct vq_answer answer;
    bool repaired;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_lookup_standing(view, &fx->plan, &fx->run, 8, &answer, &repaired, &fx->err),
              &fx->err);
    assert_true(vq_span_eq(answer.answer, vq_span_str(SAYS_A)));
    vq_view_end(&view);
    a = account(fx, NULL);
    assert_int_equal(a->stages[0].part.asked_again, 1);
    vq_account_destroy(&a);
    cells[4] = 0; /* laid out anew, without what was asked before */
    a = account(fx, NULL);
    check_part(&a->stages[0].part);
    assert_int_equal(a->stages[0].part.planned, 2);
    assert_int_equal(a->stages[0].part.first_sends, 1);
    assert_int_equal(a->stages[0].part.asked_again, 0);
    assert_int_equal(a->stages[0].part.retried, 2);
    vq_account_destroy(&a);
    fx->plan.repeat = 0; /* the first stage never saw any of it */
    fx->plan.cells = NULL;
    fx->plan.stage = 0;
    assert_int_equal(fx_outcome(fx, 1), VQ_OUTCOME_FIRST);
}

/* What is asked beside a run is in its ledger, and in nobody's sums but its own. */
TEST_WITH(test_stages_beside_the_run, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result r = fx_answer(fx, 0, SAYS_A);
    fx_commit_one(fx, &r);
    fx->plan.stage = VQ_STAGE_BESIDE | 17;
    r = fx_answer(fx, 2, SAYS_A);
    r.stage = fx->plan.stage;
    fx_commit_one(fx, &r);
    r = fx_answer(fx, 4, SAYS_A);
    r.stage = fx->plan.stage;
    fx_commit_one(fx, &r);
    struct vq_account *a = account(fx, NULL);
    check_sums(a);
    assert_int_equal(a->all.first_sends, 2);
    assert_int_equal(a->all.sums.sent, 2);
    vq_account_destroy(&a);
    fx->plan.stage = 0;
    a = account(fx, NULL);
    check_sums(a);
    assert_int_equal(a->all.first_sends, 1);
    assert_int_equal(a->all.sums.sent, 1);
    assert_int_equal(a->all.retried, 0);
    vq_account_destroy(&a);
}
