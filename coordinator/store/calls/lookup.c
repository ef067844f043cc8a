/* Reads the store: a cell (its attempts, each with failure row, verdict and verdict of its repair),
 * a shard, one answer.
 *
 * Invariants: verdicts come from the raw answer each time. States come only from vq_task_state, so
 * that a lease, a commit and a rebuild can never disagree. Not its job: writing, and deciding what
 * to ask. */
#include "coordinator/store/calls/lookup.h"

#include "coordinator/store/calls/chain.h"
#include "coordinator/store/calls/record.h"
#include "coordinator/store/calls/repairs.h"

enum vq_status vq_lookup_answer(const struct vq_view *view, const struct vq_hash *request,
                                struct vq_answer *ret_answer, struct vq_error *err)
{
    struct vq_span key = vq_hash_span(request);
    struct vq_span value;
    VQ_TRY(vq_env_get(view, view->calls->answers, key, &value, err));
    enum vq_status status = vq_record_read_answer(key, value, ret_answer);
    return status == VQ_OK ? VQ_OK : vq_env_bad_value(view->calls, status, "the answer", key, err);
}

enum vq_status vq_cell_call(const struct vq_view *view, const struct vq_id *run,
                            const struct vq_id *call, struct vq_call_row *ret_row,
                            struct vq_error *err)
{
    struct vq_ledger_key key = vq_ledger_key_call(run, call);
    struct vq_span k = vq_ledger_key_span(&key);
    struct vq_span value;
    VQ_TRY(vq_env_get(view, view->calls->ledger, k, &value, err));
    enum vq_status status = vq_record_read_call(k, value, ret_row);
    return status == VQ_OK ? VQ_OK
                           : vq_env_bad_value(view->calls, status, "the ledger row", k, err);
}

static enum vq_status verdict_of(const struct vq_plan *plan, const struct vq_answer *a,
                                 enum vq_outcome *ret_outcome)
{
    enum vq_outcome said = vq_verdict_of(plan->kind, a->answer, a->finish_reason, a->refusal);
    if (said == VQ_OUTCOME_NONE) {
        return VQ_NOMEM;
    }
    *ret_outcome = said;
    return VQ_OK;
}

static enum vq_status load_attempt(const struct vq_view *view, const struct vq_plan *plan,
                                   const struct vq_id *run, uint64_t task,
                                   const struct vq_hash *request, bool repair,
                                   struct vq_attempt *ret_attempt, struct vq_error *err)
{
    struct vq_attempt attempt = {0};
    struct vq_answer answer;
    struct vq_failure_row failure;
    enum vq_status status = vq_failure_read(view, run, request, &failure, err);
    if (status == VQ_OK) {
        attempt.failure = failure.outcome;
    } else if (status != VQ_NOT_FOUND) {
        return status;
    }
    status = vq_lookup_answer(view, request, &answer, err);
    if (status == VQ_OK) {
        VQ_TRY(verdict_of(plan, &answer, &attempt.answer));
    }
    if (status == VQ_OK && repair && attempt.answer == VQ_OUTCOME_UNPARSEABLE) {
        status = vq_repair_answer(view, plan, task, request, answer.answer, &answer, err);
        if (status == VQ_OK) {
            VQ_TRY(verdict_of(plan, &answer, &attempt.repaired));
        }
    }
    if (status != VQ_OK && status != VQ_NOT_FOUND) {
        return status;
    }
    *ret_attempt = attempt;
    return VQ_OK;
}

/* Whether further repeats matter: only after an attempt without a usable answer. */
static bool moves_on(const struct vq_attempt *a, bool repair)
{
    if (a->failure != VQ_OUTCOME_NONE) {
        return true;
    }
    bool open = a->answer == VQ_OUTCOME_NONE ||
                (repair && a->answer == VQ_OUTCOME_UNPARSEABLE && a->repaired == VQ_OUTCOME_NONE);
    return !open && !vq_outcome_is_good(a->answer) && !vq_outcome_is_good(a->repaired);
}

enum vq_status vq_cell_attempts(const struct vq_view *view, const struct vq_plan *plan,
                                const struct vq_id *run, uint64_t task,
                                const struct vq_chain_state *chain, const struct vq_hash *request,
                                struct vq_attempt *ret_attempts, struct vq_error *err)
{
    struct vq_hash hash;
    uint32_t judge = vq_grid_cell(&plan->grid, task).judge;
    bool repair = plan->askers[judge].repair != NULL;
    for (uint32_t r = 0; r <= plan->generation; r++) {
        if (chain != NULL) {
            vq_chain_request(&plan->askers[judge], chain, plan->repeat + r, &hash);
            request = &hash;
        } else if (r > 0 || request == NULL) {
            vq_plan_request(plan, task, plan->repeat + r, &hash);
            request = &hash;
        }
        VQ_TRY(load_attempt(view, plan, run, task, request, repair, &ret_attempts[r], err));
        if (!moves_on(&ret_attempts[r], repair)) {
            break;
        }
    }
    return VQ_OK;
}

void vq_cell_empty(const struct vq_plan *plan, uint64_t task, struct vq_cell_known *ret_cell)
{
    VQ_ASSERT(plan->generation <= VQ_GENERATION_MAX && vq_plan_has(plan, task));
    ret_cell->task = task - task % 2;
    vq_plan_cell_rest(plan, task, &ret_cell->plan);
    for (unsigned order = 0; order < 2; order++) {
        memset(ret_cell->attempts[order], 0,
               (plan->generation + 1) * sizeof(ret_cell->attempts[order][0]));
    }
}

enum vq_status vq_cell_load(const struct vq_view *view, const struct vq_plan *plan,
                            const struct vq_id *run, uint64_t task,
                            const struct vq_hash requests[2], struct vq_cell_known *ret_cell,
                            struct vq_error *err)
{
    if (vq_stage_chains(plan->kind)) {
        struct vq_chain_walk walk;
        return vq_chain_walk_to(&walk, view, plan, run, task, ret_cell, err);
    }
    vq_cell_empty(plan, task, ret_cell);
    for (unsigned order = 0; order < 2; order++) {
        VQ_TRY(vq_cell_attempts(view, plan, run, ret_cell->task + order, NULL,
                                requests == NULL ? NULL : &requests[order],
                                ret_cell->attempts[order], err));
    }
    struct vq_task_view first;
    vq_cell_state(ret_cell, ret_cell->plan.first, &first);
    ret_cell->plan.audited = vq_outcome_settles(first.outcome) && vq_plan_audited(plan, task);
    return VQ_OK;
}

void vq_cell_state(const struct vq_cell_known *cell, unsigned order, struct vq_task_view *ret_view)
{
    const struct vq_attempt *const attempts[2] = {cell->attempts[0], cell->attempts[1]};
    vq_task_state(&cell->plan, attempts, order, ret_view);
}

/* ---- a shard ---- */

static enum vq_status append_prior(const struct vq_view *view, const struct vq_plan *plan,
                                   uint64_t task, uint32_t repeat, struct vq_buf *text,
                                   struct vq_span *ret_prior, struct vq_error *err)
{
    struct vq_hash request;
    struct vq_answer answer;
    vq_plan_request(plan, task, plan->repeat + repeat, &request);
    VQ_TRY(vq_lookup_answer(view, &request, &answer, err));
    *ret_prior = vq_span(NULL, answer.answer.bytes);
    vq_buf_append(text, answer.answer.at, answer.answer.bytes);
    return text->status;
}

/* Whether the store has nothing for this task's sample. Two look-ups suffice, because keys of
 * requests begin with the sample. */
static enum vq_status sample_is_new(const struct vq_view *view, const struct vq_plan *plan,
                                    const struct vq_id *run, uint64_t task, bool *ret_new,
                                    struct vq_error *err)
{
    struct vq_hash request;
    bool answered, failed = false;
    if (vq_stage_chains(plan->kind)) {
        request = plan->samples[vq_grid_cell(&plan->grid, task).sample].id;
    } else {
        vq_plan_request(plan, task, 0, &request);
    }
    struct vq_span prefix = vq_span((const char *)request.b, VQ_REQUEST_PREFIX_BYTES);
    VQ_TRY(vq_env_has_prefix(view, view->calls->answers, prefix, &answered, err));
    if (!answered) {
        struct vq_ledger_key key = vq_ledger_key_failure(run, &request);
        prefix = vq_ledger_key_span(&key);
        prefix.bytes -= VQ_HASH_BYTES - VQ_REQUEST_PREFIX_BYTES;
        VQ_TRY(vq_env_has_prefix(view, view->calls->ledger, prefix, &failed, err));
    }
    *ret_new = !answered && !failed;
    return VQ_OK;
}

/* A chain, turn by turn; its priors are the answers so far, in the view's memory. */
static enum vq_status lookup_chain(struct vq_view *view, const struct vq_plan *plan,
                                   const struct vq_id *run, uint64_t shard,
                                   struct vq_known *ret_known, struct vq_error *err)
{
    struct vq_chain_walk walk;
    struct vq_chain_state reached;
    uint32_t at = 0;
    vq_chain_walk_begin(&walk, view, plan, run, shard);
    reached = walk.state;
    for (uint32_t turn = 0; turn < plan->grid.vibes; turn++) {
        struct vq_cell_known cell;
        struct vq_task_view state;
        struct vq_answer answer;
        VQ_TRY(vq_chain_walk_load(&walk, &cell, err));
        for (unsigned order = 0; order < 2; order++) {
            vq_cell_state(&cell, order, &state);
            ret_known[2 * turn + order] = (struct vq_known){.outcome = state.outcome,
                                                            .repeat = plan->repeat + state.repeat,
                                                            .second = order == 1};
        }
        if (vq_chain_walk_reached(&walk)) {
            at = turn;
            reached = walk.state;
        }
        VQ_TRY(vq_chain_walk_pass(&walk, &cell, &answer, err));
        ret_known[2 * turn].prior = answer.answer;
    }
    vq_chain_memo_put(plan->memo, shard, at, &reached);
    return VQ_OK;
}

enum vq_status vq_lookup_shard(struct vq_view *view, const struct vq_plan *plan,
                               const struct vq_id *run, uint64_t shard, struct vq_known *ret_known,
                               struct vq_buf *text, struct vq_error *err)
{
    uint32_t tasks = vq_grid_shard_tasks(&plan->grid);
    uint64_t first = shard * tasks;
    size_t at = text->bytes;
    struct vq_cell_known cell;
    bool empty = true;
    if (view != NULL) {
        VQ_TRY(sample_is_new(view, plan, run, first, &empty, err));
    }
    if (vq_stage_chains(plan->kind)) {
        return lookup_chain(empty ? NULL : view, plan, run, shard, ret_known, err);
    }
    for (uint32_t i = 0; i < tasks; i++) {
        unsigned order = i % 2;
        if (order == 0 && empty) {
            vq_cell_empty(plan, first + i, &cell);
        } else if (order == 0) {
            VQ_TRY(vq_cell_load(view, plan, run, first + i, NULL, &cell, err));
        }
        struct vq_task_view state;
        vq_cell_state(&cell, order, &state);
        bool second = order != cell.plan.first;
        ret_known[i] = (struct vq_known){.outcome = state.outcome,
                                         .repeat = plan->repeat + state.repeat,
                                         .second = second,
                                         .lazy = second && cell.plan.swap == VQ_SWAP_LAZY &&
                                                 !vq_plan_audited(plan, first + i)};
        if (state.wants_repair) {
            VQ_TRY(
                append_prior(view, plan, first + i, state.repeat, text, &ret_known[i].prior, err));
        }
    }
    /* From here on the text does not move any more. */
    for (uint32_t i = 0; i < tasks; i++) {
        if (ret_known[i].prior.bytes > 0) {
            ret_known[i].prior.at = text->at + at;
            at += ret_known[i].prior.bytes;
        }
    }
    return VQ_OK;
}

enum vq_status vq_lookup_outcomes(struct vq_view *view, const struct vq_plan *plan,
                                  const struct vq_id *run, uint64_t shard, uint8_t *ret_outcomes,
                                  struct vq_error *err)
{
    uint32_t tasks = vq_grid_shard_tasks(&plan->grid);
    struct vq_cell_known cell;
    struct vq_chain_walk walk;
    bool chains = vq_stage_chains(plan->kind);
    if (chains) {
        vq_chain_walk_begin(&walk, view, plan, run, shard);
    }
    for (uint32_t i = 0; i < tasks; i++) {
        if (i % 2 == 0 && chains) {
            VQ_TRY(vq_chain_walk_load(&walk, &cell, err));
            VQ_TRY(vq_chain_walk_pass(&walk, &cell, NULL, err));
        } else if (i % 2 == 0) {
            VQ_TRY(vq_cell_load(view, plan, run, shard * tasks + i, NULL, &cell, err));
        }
        struct vq_task_view state;
        vq_cell_state(&cell, i % 2, &state);
        ret_outcomes[i] = (uint8_t)state.outcome;
    }
    return VQ_OK;
}

/* ---- one answer ---- */

enum vq_status vq_lookup_standing(struct vq_view *view, const struct vq_plan *plan,
                                  const struct vq_id *run, uint64_t task,
                                  struct vq_answer *ret_answer, bool *ret_repaired,
                                  struct vq_error *err)
{
    struct vq_cell_known cell;
    struct vq_task_view state;
    struct vq_chain_walk walk;
    bool chains = vq_stage_chains(plan->kind);
    VQ_TRY(chains ? vq_chain_walk_to(&walk, view, plan, run, task, &cell, err)
                  : vq_cell_load(view, plan, run, task, NULL, &cell, err));
    vq_cell_state(&cell, task % 2, &state);
    if (!vq_outcome_is_answered(state.outcome)) {
        return VQ_NOT_FOUND;
    }
    struct vq_hash request;
    struct vq_answer answer;
    if (chains) {
        vq_chain_request(&plan->askers[walk.judge], &walk.state, plan->repeat + state.repeat,
                         &request);
    } else {
        vq_plan_request(plan, task, plan->repeat + state.repeat, &request);
    }
    VQ_TRY(vq_lookup_answer(view, &request, &answer, err));
    bool repaired = cell.attempts[task % 2][state.repeat].repaired == state.outcome;
    if (repaired) {
        VQ_TRY(vq_repair_answer(view, plan, task, &request, answer.answer, &answer, err));
    }
    *ret_repaired = repaired;
    *ret_answer = answer;
    return VQ_OK;
}

enum vq_status vq_lookup_chain(struct vq_view *view, const struct vq_plan *plan,
                               const struct vq_id *run, uint64_t shard, struct vq_span *ret_turns,
                               struct vq_turn_tokens *ret_tokens, struct vq_error *err)
{
    struct vq_chain_walk walk;
    vq_chain_walk_begin(&walk, view, plan, run, shard);
    for (uint32_t turn = 0; turn < plan->grid.vibes; turn++) {
        struct vq_cell_known cell;
        struct vq_task_view state;
        struct vq_answer answer;
        VQ_TRY(vq_chain_walk_load(&walk, &cell, err));
        vq_cell_state(&cell, 0, &state);
        VQ_TRY(vq_chain_walk_pass(&walk, &cell, &answer, err));
        bool good = vq_outcome_is_good(state.outcome);
        ret_turns[turn] = good ? answer.answer : vq_span(NULL, (size_t)state.outcome);
        ret_tokens[turn] = good ? (struct vq_turn_tokens){answer.tokens_in, answer.tokens_out}
                                : (struct vq_turn_tokens){0, 0};
    }
    return VQ_OK;
}

enum vq_status vq_lookup_logprobs(struct vq_view *view, const struct vq_id *run,
                                  const struct vq_id *call, struct vq_span *ret_text,
                                  struct vq_error *err)
{
    struct vq_call_row row;
    VQ_TRY(vq_cell_call(view, run, call, &row, err));
    *ret_text = row.result.label_logprobs;
    return VQ_OK;
}
