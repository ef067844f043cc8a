/* Writes one batch into the store, in one write transaction:
 *   1. find call ids that the ledger already knows;
 *   2. answers, in key order, the first one wins; answers to repairs also under the text that they
 *      repair;
 *   3. ledger rows, in key order;
 *   4. while this coordinator's epoch is in force: lift the failures of reopened tasks, write
 *      failure rows of tasks that are still open, compute the state in force of each touched cell,
 *      and set commit n.
 *
 * Invariants: on return everything or nothing is on disk. The same batch again changes nothing and
 * reports the same states. An answer is never overwritten, and neither is a ledger row, except an
 * `unknown` one by the real end of its call. States come from vq_task_state over the data of this
 * transaction. Threads: one thread-pool job; it reads plan and batch, which no other thread changes
 * at that time.
 *
 * Chains: a turn's request is known once the answer to the turn before it is in force, so requests
 * are computed after step 2, along the chain. A result on another branch, or of a turn that is not
 * reached yet, is recorded and settles nothing. If a turn fails or is reopened, the states of the
 * later turns are reported, too. Not its job: Redis, ACKs, and the handling of a failure. */
#include "coordinator/store/calls/commit.h"

#include "coordinator/store/calls/batched.h"

#include "common/base/alloc.h"
#include "common/base/crash.h"
#include "coordinator/store/calls/chain.h"
#include "coordinator/store/calls/repairs.h"
#include "proto/result.h"

#include <stdlib.h>

/* Approximate size of a result without its texts: two rows and their share of the tree. */
#define RESULT_BYTES 1024

struct mark {
    bool known;   /* the ledger already has this call: nothing changes */
    bool upgrade; /* the ledger has it as unknown: the row is replaced */
    bool used;    /* its answer is in force */
    bool foreign; /* its hash is not the task's; in a chain: it is on another branch, or ahead */
};

struct failing { /* a task that may fail, after the answers were put */
    uint64_t task;
    const struct vq_result *result; /* NULL: a failure without one */
    uint8_t outcome;
};

struct came { /* a chain, up to a turn that is reached */
    uint64_t shard;
    uint32_t turn;
    struct vq_chain_state state;
};

struct commit_ctx {
    const struct vq_plan *plan;
    const struct vq_id *run;
    uint64_t epoch;
    const struct vq_batch *batch;
    int64_t unix_ms;
    struct vq_buf value; /* scratch */
    uint32_t *by_call;
    uint32_t *by_request;
    struct mark *marks;
    struct failing *failing; /* by task */
    size_t failing_count;
    uint64_t *reopened; /* ascending */
    size_t reopened_count;
    uint64_t *cells; /* first tasks of touched cells, ascending */
    size_t cells_count;
    size_t shards_count;
    /* of both orders of each cell, at the plan's first repeat; not for chains */
    struct vq_hash *requests;
    struct vq_chain_state *states; /* of chains: for each reached cell */
    bool *reached;
    struct came *came; /* the progress of each touched chain */
    size_t came_count;
    size_t next_failing, next_reopened;
    struct vq_commit done;
    bool stale;
};

/* ---- orders ---- */

static int cmp_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int cmp_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int cmp_call(const void *a, const void *b, void *results)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    const struct vq_result *r = results;
    int c = memcmp(r[x].call.b, r[y].call.b, VQ_ID_BYTES);
    return c != 0 ? c : cmp_u32(x, y);
}

static int cmp_request(const void *a, const void *b, void *results)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    const struct vq_result *r = results;
    int c = vq_hash_cmp(&r[x].request, &r[y].request);
    return c != 0 ? c : cmp_u32(x, y);
}

static int cmp_failing(const void *a, const void *b)
{
    const struct failing *x = a;
    const struct failing *y = b;
    return cmp_u64(x->task, y->task);
}

static int cmp_cell(const void *a, const void *b)
{
    return cmp_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

static bool fails_task(const struct vq_result *r)
{
    return r->final && r->end != VQ_END_ANSWER && r->end != VQ_END_CLOSED &&
           r->end != VQ_END_UNKNOWN && vq_outcome_is_failed((enum vq_outcome)r->outcome);
}

/* The result of a call of another stage: it is only recorded. */
static bool is_elsewhere(const struct commit_ctx *c, const struct vq_result *r)
{
    return r->stage != c->plan->stage;
}

static void touch(struct commit_ctx *c, uint64_t task)
{
    if (vq_plan_has(c->plan, task)) {
        c->cells[c->cells_count++] = task - task % 2;
    }
}

static bool is_chained(const struct commit_ctx *c)
{
    return vq_stage_chains(c->plan->kind);
}

static uint64_t shard_at(const struct commit_ctx *c, size_t i)
{
    return c->cells[i] / vq_grid_shard_tasks(&c->plan->grid);
}

static uint32_t turn_at(const struct commit_ctx *c, size_t i)
{
    return (uint32_t)(c->cells[i] % vq_grid_shard_tasks(&c->plan->grid) / 2);
}

/* Allocates memory for the requests of the touched cells and for their new states; for a chain, up
 * to all of its turns. */
static enum vq_status prepare_requests(struct commit_ctx *c)
{
    size_t kept = c->cells_count;
    size_t standing = 2 * kept;
    if (is_chained(c)) {
        for (size_t i = 0; i < kept; i++) {
            bool is_new = i == 0 || shard_at(c, i) != shard_at(c, i - 1);
            standing += is_new ? vq_grid_shard_tasks(&c->plan->grid) : 0;
        }
        c->states = vq_alloc(kept, sizeof(*c->states));
        c->reached = vq_alloc(kept, sizeof(*c->reached));
        c->came = vq_alloc(kept, sizeof(*c->came));
    } else {
        c->requests = vq_alloc(2 * kept, sizeof(*c->requests));
    }
    c->done.standing = vq_alloc(standing, sizeof(*c->done.standing));
    bool room = is_chained(c) ? c->states != NULL && c->reached != NULL && c->came != NULL
                              : c->requests != NULL;
    if (!room || c->done.standing == NULL) {
        return VQ_NOMEM;
    }
    for (size_t i = 0; !is_chained(c) && i < 2 * kept; i++) {
        vq_plan_request(c->plan, c->cells[i / 2] + i % 2, c->plan->repeat, &c->requests[i]);
    }
    return VQ_OK;
}

static enum vq_status prepare(struct commit_ctx *c)
{
    const struct vq_batch *batch = c->batch;
    size_t n = batch->results_count;
    size_t all = n + batch->failures_count + batch->reopened_count;
    vq_buf_init(&c->value, VQ_RECORD_BYTES_MAX);
    VQ_TRY(VQ_ALLOC(c->by_call, n));
    VQ_TRY(VQ_ALLOC(c->by_request, n));
    VQ_TRY(VQ_ALLOC(c->marks, n));
    VQ_TRY(VQ_ALLOC(c->failing, all));
    VQ_TRY(VQ_ALLOC(c->cells, all));
    VQ_TRY(VQ_ALLOC(c->reopened, batch->reopened_count));
    VQ_TRY(VQ_ALLOC(c->done.repeated, n));
    for (size_t i = 0; i < batch->reopened_count; i++) {
        touch(c, batch->reopened[i]);
        if (vq_plan_has(c->plan, batch->reopened[i])) {
            c->reopened[c->reopened_count++] = batch->reopened[i];
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct vq_result *r = &batch->results[i];
        c->by_call[i] = c->by_request[i] = i;
        if (is_elsewhere(c, r)) {
            continue;
        }
        touch(c, r->task);
        if (fails_task(r) && vq_plan_has(c->plan, r->task)) {
            c->failing[c->failing_count++] =
                (struct failing){.task = r->task, .result = r, .outcome = r->outcome};
        }
    }
    for (size_t i = 0; i < batch->failures_count; i++) {
        const struct vq_batch_failure *f = &batch->failures[i];
        touch(c, f->task);
        if (vq_plan_has(c->plan, f->task)) {
            c->failing[c->failing_count++] =
                (struct failing){.task = f->task, .outcome = (uint8_t)f->outcome};
        }
    }
    qsort_r(c->by_call, n, sizeof(*c->by_call), cmp_call, (void *)(uintptr_t)batch->results);
    qsort_r(c->by_request, n, sizeof(*c->by_request), cmp_request,
            (void *)(uintptr_t)batch->results);
    qsort(c->failing, c->failing_count, sizeof(*c->failing), cmp_failing);
    qsort(c->reopened, c->reopened_count, sizeof(*c->reopened), cmp_cell);
    qsort(c->cells, c->cells_count, sizeof(*c->cells), cmp_cell);
    size_t kept = 0;
    for (size_t i = 0; i < c->cells_count; i++) {
        if (kept == 0 || c->cells[kept - 1] != c->cells[i]) {
            c->cells[kept++] = c->cells[i];
        }
    }
    c->cells_count = kept;
    return prepare_requests(c);
}

static void cleanup(struct commit_ctx *c)
{
    vq_buf_free(&c->value);
    vq_free(c->by_call);
    vq_free(c->by_request);
    vq_free(c->marks);
    vq_free(c->failing);
    vq_free(c->reopened);
    vq_free(c->cells);
    vq_free(c->requests);
    vq_free(c->states);
    vq_free(c->reached);
    vq_free(c->came);
    vq_commit_free(&c->done);
}

/* ---- 1: known calls ---- */

static enum vq_status mark_known(struct commit_ctx *c, struct vq_write *w, struct vq_error *err)
{
    const struct vq_result *results = c->batch->results;
    const struct vq_result *before = NULL;
    for (size_t i = 0; i < c->batch->results_count; i++) {
        const struct vq_result *r = &results[c->by_call[i]];
        struct mark *mark = &c->marks[c->by_call[i]];
        *mark = (struct mark){0};
        struct vq_ledger_key key = vq_ledger_key_call(c->run, &r->call);
        struct vq_span k = vq_ledger_key_span(&key);
        struct vq_span value;
        struct vq_call_row row;
        enum vq_status status = vq_env_get(&w->view, w->view.calls->ledger, k, &value, err);
        if (status == VQ_OK) {
            status = vq_record_read_call(k, value, &row);
            if (status != VQ_OK) {
                return vq_env_bad_value(w->view.calls, status, "the ledger row", k, err);
            }
            mark->upgrade =
                vq_call_end_replaces((enum vq_call_end)row.result.end, (enum vq_call_end)r->end);
            mark->known = !mark->upgrade;
        } else if (status != VQ_NOT_FOUND) {
            return status;
        }
        /* The same call twice in one batch: the same rule. */
        if (before != NULL && vq_id_eq(&before->call, &r->call) && !mark->known) {
            mark->upgrade =
                vq_call_end_replaces((enum vq_call_end)before->end, (enum vq_call_end)r->end);
            mark->known = !mark->upgrade;
        }
        if (!mark->known) {
            before = r;
        }
        c->done.duplicates += mark->known ? 1 : 0;
        if (mark->known || (mark->upgrade && r->end != VQ_END_BATCHED)) {
            c->done.repeated[c->done.repeated_count++] = c->by_call[i];
        }
    }
    return VQ_OK;
}

/* ---- 2: answers ---- */

static enum vq_status put_answer(struct commit_ctx *c, struct vq_write *w,
                                 const struct vq_result *r, bool *ret_used, struct vq_error *err)
{
    struct vq_answer answer = {.answer = r->answer,
                               .finish_reason = r->finish_reason,
                               .model = r->model,
                               .fingerprint = r->fingerprint,
                               .refusal = r->refusal,
                               .tokens_in = r->tokens_in,
                               .tokens_cached = r->tokens_cached,
                               .tokens_out = r->tokens_out,
                               .created_unix_ms = c->unix_ms,
                               .call = r->call,
                               .run = *c->run};
    struct vq_span key = vq_hash_span(&r->request);
    vq_record_answer(&c->value, key, &answer);
    VQ_TRY(c->value.status);
    enum vq_status status =
        vq_env_put(w, w->view.calls->answers, key, vq_buf_span(&c->value), false, err);
    *ret_used = status == VQ_OK;
    return status == VQ_EXISTS ? VQ_OK : status;
}

static enum vq_status put_answers(struct commit_ctx *c, struct vq_write *w, struct vq_error *err)
{
    for (size_t i = 0; i < c->batch->results_count; i++) {
        const struct vq_result *r = &c->batch->results[c->by_request[i]];
        struct mark *mark = &c->marks[c->by_request[i]];
        if (r->end != VQ_END_ANSWER || mark->known) {
            continue;
        }
        bool known;
        VQ_TRY(vq_repair_is_known(&w->view, c->plan, r, &known, err));
        VQ_TRY(known ? VQ_OK : put_answer(c, w, r, &mark->used, err));
        c->done.paid_unused += mark->used ? 0 : 1;
    }
    for (size_t i = 0; i < c->batch->results_count; i++) {
        if (!c->marks[i].known) {
            VQ_TRY(vq_repair_share(w, c->plan, &c->batch->results[i], err));
        }
    }
    return VQ_OK;
}

/* ---- 3: ledger rows ---- */

/* Follows the touched chains, up to their last touched turn. */
static enum vq_status follow_chains(struct commit_ctx *c, struct vq_write *w, struct vq_error *err)
{
    struct vq_chain_walk walk;
    struct vq_cell_known cell;
    for (size_t i = 0; i < c->cells_count; i++) {
        if (i == 0 || shard_at(c, i) != shard_at(c, i - 1)) {
            vq_chain_walk_begin_at(&walk, &w->view, c->plan, c->run, shard_at(c, i), turn_at(c, i));
        }
        while (walk.first + 2 * (uint64_t)walk.turn < c->cells[i]) {
            VQ_TRY(vq_chain_walk_load(&walk, &cell, err));
            VQ_TRY(vq_chain_walk_pass(&walk, &cell, NULL, err));
        }
        c->reached[i] = vq_chain_walk_reached(&walk);
        c->states[i] = walk.state;
    }
    return VQ_OK;
}

/* The index of the task's cell among the touched ones. */
static size_t cell_of(const struct commit_ctx *c, uint64_t task)
{
    uint64_t first = task - task % 2;
    const uint64_t *cell = bsearch(&first, c->cells, c->cells_count, sizeof(*c->cells), cmp_cell);
    VQ_ASSERT(cell != NULL);
    return (size_t)(cell - c->cells);
}

/* Whether the task is the asked order of a turn whose request is known. */
static bool is_reached(const struct commit_ctx *c, uint64_t task)
{
    return !is_chained(c) || (task % 2 == 0 && c->reached[cell_of(c, task)]);
}

/* The request hash of a task of a touched cell; in a chain the cell must be reached. */
static void request_of(const struct commit_ctx *c, uint64_t task, uint32_t repeat,
                       struct vq_hash *ret_hash)
{
    if (is_chained(c)) {
        vq_chain_request(&c->plan->askers[vq_grid_cell(&c->plan->grid, task).judge],
                         &c->states[cell_of(c, task)], repeat, ret_hash);
    } else if (repeat != c->plan->repeat) {
        vq_plan_request(c->plan, task, repeat, ret_hash);
    } else {
        *ret_hash = c->requests[2 * cell_of(c, task) + task % 2];
    }
}

/* A call that the coordinator knows only from a list: sent, never returned, so without a hash. */
static bool only_listed(const struct vq_result *r)
{
    static const struct vq_hash none;
    return r->end == VQ_END_UNKNOWN && vq_hash_eq(&r->request, &none);
}

/* Whether the result does not belong to the task that it names. A repair is checked against the
 * text that it repairs, because another run's answer may be in force instead of that text. */
static bool is_foreign(const struct commit_ctx *c, const struct vq_result *r)
{
    if (is_elsewhere(c, r)) {
        return false; /* its plan is not available */
    }
    if (!vq_plan_has(c->plan, r->task)) {
        return true;
    }
    if (only_listed(r)) {
        return false;
    }
    if (!is_reached(c, r->task)) {
        return true;
    }
    struct vq_hash expected;
    request_of(c, r->task, r->repeat, &expected);
    return !vq_hash_eq(&expected, r->kind == VQ_CALL_REPAIR ? &r->repaired : &r->request);
}

static enum vq_status put_row(struct commit_ctx *c, struct vq_write *w, uint32_t i,
                              struct vq_error *err)
{
    const struct vq_result *r = &c->batch->results[i];
    struct vq_span worker = c->batch->workers[i];
    if (worker.bytes > VQ_WORKER_NAME_BYTES) {
        worker.bytes = VQ_WORKER_NAME_BYTES;
    }
    struct vq_call_row row = {.result = *r,
                              .used = c->marks[i].used,
                              .foreign = c->marks[i].foreign,
                              .recorded_unix_ms = c->unix_ms,
                              .worker = worker};
    if (only_listed(r) && !row.foreign && !is_elsewhere(c, r) && is_reached(c, r->task)) {
        request_of(c, r->task, r->repeat, &row.result.request);
    }
    struct vq_ledger_key key = vq_ledger_key_call(c->run, &r->call);
    struct vq_span k = vq_ledger_key_span(&key);
    vq_record_call(&c->value, k, &row);
    VQ_TRY(c->value.status);
    return vq_env_put(w, w->view.calls->ledger, k, vq_buf_span(&c->value), true, err);
}

static enum vq_status put_rows(struct commit_ctx *c, struct vq_write *w, struct vq_error *err)
{
    for (size_t i = 0; i < c->batch->results_count; i++) {
        uint32_t at = c->by_call[i];
        const struct vq_result *r = &c->batch->results[at];
        c->marks[at].foreign = is_foreign(c, r);
        bool odd = c->marks[at].foreign && !(is_chained(c) && vq_plan_has(c->plan, r->task));
        if (odd && c->done.foreign++ == 0) {
            c->done.foreign_first = r->call;
            c->done.foreign_task = r->task;
        }
        if (c->marks[at].known) {
            continue;
        }
        VQ_TRY(put_row(c, w, at, err));
        if (r->end == VQ_END_BATCHED) {
            VQ_TRY(vq_batched_put(w, c->run, r, &c->value, err));
        } else if (c->marks[at].upgrade) {
            VQ_TRY(vq_batched_drop(w, c->run, &r->call, err));
        }
    }
    for (size_t i = 0; i < c->batch->said_count; i++) {
        VQ_TRY(vq_batched_put_batch(w, c->run, &c->batch->said[i], &c->value, err));
    }
    return VQ_OK;
}

/* ---- 4: failures and states ---- */

static bool applies(const struct failing *f, const struct vq_task_view *state,
                    const struct commit_ctx *c)
{
    if (state->outcome != VQ_OUTCOME_NONE || !is_reached(c, f->task)) {
        return false;
    }
    const struct vq_result *r = f->result;
    if (r == NULL) {
        return true;
    }
    return !c->marks[r - c->batch->results].foreign &&
           r->repeat == c->plan->repeat + state->repeat &&
           (r->kind == VQ_CALL_REPAIR) == state->wants_repair;
}

static enum vq_status put_failure(struct commit_ctx *c, struct vq_write *w, const struct failing *f,
                                  uint32_t repeat, struct vq_error *err)
{
    struct vq_hash request;
    request_of(c, f->task, repeat, &request);
    struct vq_failure_row row = {.outcome = (enum vq_outcome)f->outcome, .unix_ms = c->unix_ms};
    if (f->result != NULL) {
        row.call = f->result->call;
    }
    struct vq_ledger_key key = vq_ledger_key_failure(c->run, &request);
    struct vq_span k = vq_ledger_key_span(&key);
    vq_record_failure(&c->value, k, &row);
    VQ_TRY(c->value.status);
    return vq_env_put(w, w->view.calls->ledger, k, vq_buf_span(&c->value), true, err);
}

static enum vq_status reopen(struct commit_ctx *c, struct vq_write *w, uint64_t task,
                             const struct vq_cell_known *cell, struct vq_error *err)
{
    struct vq_task_view state;
    struct vq_hash request;
    vq_cell_state(cell, task % 2, &state);
    if (!vq_outcome_is_failed(state.outcome)) {
        return VQ_OK;
    }
    request_of(c, task, c->plan->repeat + state.repeat, &request);
    return vq_failure_lift(w, c->run, &request, c->unix_ms, err);
}

/* Whether the call failed the task before, and that failure was lifted since: a repeated result. */
static enum vq_status was_lifted(struct commit_ctx *c, struct vq_write *w, const struct failing *f,
                                 uint32_t repeat, bool *ret_lifted, struct vq_error *err)
{
    *ret_lifted = false;
    if (f->result == NULL || !c->marks[f->result - c->batch->results].known) {
        return VQ_OK;
    }
    struct vq_hash request;
    struct vq_failure_row row;
    request_of(c, f->task, repeat, &request);
    enum vq_status status = vq_failure_read(&w->view, c->run, &request, &row, err);
    *ret_lifted = status == VQ_OK && vq_id_eq(&row.call, &f->result->call);
    return status == VQ_NOT_FOUND ? VQ_OK : status;
}

static enum vq_status fail_task(struct commit_ctx *c, struct vq_write *w, const struct failing *f,
                                const struct vq_cell_known *cell, bool *ret_failed,
                                struct vq_error *err)
{
    struct vq_task_view state;
    bool lifted;
    *ret_failed = false;
    vq_cell_state(cell, f->task % 2, &state);
    if (!applies(f, &state, c)) {
        return VQ_OK;
    }
    uint32_t repeat = c->plan->repeat + state.repeat;
    VQ_TRY(was_lifted(c, w, f, repeat, &lifted, err));
    *ret_failed = !lifted;
    return lifted ? VQ_OK : put_failure(c, w, f, repeat, err);
}

static enum vq_status load(struct commit_ctx *c, struct vq_write *w, size_t i,
                           const struct vq_chain_walk *walk, struct vq_cell_known *ret_cell,
                           struct vq_error *err)
{
    return walk != NULL ? vq_chain_walk_load(walk, ret_cell, err)
                        : vq_cell_load(&w->view, c->plan, c->run, c->cells[i], &c->requests[2 * i],
                                       ret_cell, err);
}

/* Settles the touched cell i. `walk`: of a chain, at this cell; otherwise NULL. */
static enum vq_status settle_cell(struct commit_ctx *c, struct vq_write *w, size_t i,
                                  const struct vq_chain_walk *walk, struct vq_cell_known *ret_cell,
                                  bool *ret_reopened, struct vq_error *err)
{
    uint64_t end = c->cells[i] + 2;
    *ret_reopened = false;
    VQ_TRY(load(c, w, i, walk, ret_cell, err));
    for (size_t *o = &c->next_reopened; *o < c->reopened_count && c->reopened[*o] < end; (*o)++) {
        *ret_reopened = true;
        if (is_reached(c, c->reopened[*o])) {
            VQ_TRY(reopen(c, w, c->reopened[*o], ret_cell, err));
            VQ_TRY(load(c, w, i, walk, ret_cell, err));
        }
    }
    for (size_t *f = &c->next_failing; *f < c->failing_count && c->failing[*f].task < end; (*f)++) {
        bool failed;
        VQ_TRY(fail_task(c, w, &c->failing[*f], ret_cell, &failed, err));
        if (failed) {
            VQ_TRY(load(c, w, i, walk, ret_cell, err));
        }
    }
    return VQ_OK;
}

static void is_in_force(struct commit_ctx *c, const struct vq_cell_known *cell)
{
    for (unsigned order = 0; order < 2; order++) {
        struct vq_task_view state;
        vq_cell_state(cell, order, &state);
        c->done.standing[c->done.standing_count++] =
            (struct vq_settled){.task = cell->task + order, .outcome = (uint8_t)state.outcome};
    }
}

/* Settles one chain from the touched cell *io_i on, which moves after the chain's last cell. After
 * a turn without a good answer, or a reopened one, all states are reported. */
static enum vq_status settle_chain(struct commit_ctx *c, struct vq_write *w, size_t *io_i,
                                   struct vq_error *err)
{
    struct vq_chain_walk walk;
    struct vq_cell_known cell;
    struct vq_task_view state;
    uint64_t shard = shard_at(c, *io_i);
    bool tail = false;
    struct came *came = &c->came[c->came_count++];
    vq_chain_walk_begin_at(&walk, &w->view, c->plan, c->run, shard, turn_at(c, *io_i));
    *came = (struct came){.shard = shard};
    while (walk.turn < c->plan->grid.vibes) {
        if (vq_chain_walk_reached(&walk)) {
            came->turn = walk.turn;
            came->state = walk.state;
        }
        bool more = *io_i < c->cells_count && shard_at(c, *io_i) == shard;
        bool touched = more && c->cells[*io_i] == walk.first + 2 * (uint64_t)walk.turn;
        if (!more && !tail) {
            break;
        }
        if (touched) {
            bool reopened;
            c->states[*io_i] = walk.state; /* an earlier turn may have been reopened, or failed */
            c->reached[*io_i] = vq_chain_walk_reached(&walk);
            VQ_TRY(settle_cell(c, w, *io_i, &walk, &cell, &reopened, err));
            vq_cell_state(&cell, 0, &state);
            tail |= reopened ||
                    (state.outcome != VQ_OUTCOME_NONE && !vq_outcome_is_good(state.outcome));
            (*io_i)++;
        } else {
            VQ_TRY(vq_chain_walk_load(&walk, &cell, err));
        }
        if (touched || tail) {
            is_in_force(c, &cell);
        }
        VQ_TRY(vq_chain_walk_pass(&walk, &cell, NULL, err));
    }
    return VQ_OK;
}

static enum vq_status settle(struct commit_ctx *c, struct vq_write *w, struct vq_error *err)
{
    size_t i = 0;
    c->next_failing = c->next_reopened = c->came_count = 0;
    while (i < c->cells_count) {
        if (is_chained(c)) {
            VQ_TRY(settle_chain(c, w, &i, err));
        } else {
            struct vq_cell_known cell;
            bool reopened;
            VQ_TRY(settle_cell(c, w, i++, NULL, &cell, &reopened, err));
            is_in_force(c, &cell);
        }
    }
    return VQ_OK;
}

static enum vq_status raise_n(void *ctx, bool exists, struct vq_run_meta *meta,
                              struct vq_error *err)
{
    struct commit_ctx *c = ctx;
    if (!exists) {
        return vq_fail(
            err, VQ_CORRUPT,
            "the call store holds no ledger of this run any more: was its file replaced?");
    }
    c->stale = meta->epoch != c->epoch;
    if (!c->stale) {
        c->done.n = ++meta->commit_n;
    }
    return VQ_OK;
}

static enum vq_status commit_write(void *ctx, struct vq_write *w, struct vq_error *err)
{
    struct commit_ctx *c = ctx;
    c->done = (struct vq_commit){.standing = c->done.standing, .repeated = c->done.repeated};
    VQ_TRY(mark_known(c, w, err));
    VQ_TRY(put_answers(c, w, err));
    VQ_CRASH_POINT(commit_answers_put);
    VQ_TRY(is_chained(c) ? follow_chains(c, w, err) : VQ_OK);
    VQ_TRY(put_rows(c, w, err));
    VQ_CRASH_POINT(commit_rows_put);
    VQ_TRY(vq_env_meta(w, c->run, raise_n, c, err));
    VQ_CRASH_POINT(commit_n_raised);
    return c->stale ? VQ_OK : settle(c, w, err);
}

static enum vq_status text_bytes(const struct vq_batch *batch, uint64_t *ret_bytes)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < batch->results_count; i++) {
        bytes += vq_result_texts_bytes(&batch->results[i]);
    }
    if (batch->results_count > VQ_BATCH_RESULTS_MAX || bytes > VQ_BATCH_BYTES_MAX) {
        return VQ_LIMIT;
    }
    *ret_bytes = bytes;
    return VQ_OK;
}

enum vq_status vq_commit_run(struct vq_calls *calls, const struct vq_plan *plan,
                             const struct vq_id *run, uint64_t epoch, const struct vq_batch *batch,
                             int64_t unix_ms, struct vq_commit *ret_commit, struct vq_error *err)
{
    struct commit_ctx c = {
        .plan = plan, .run = run, .epoch = epoch, .batch = batch, .unix_ms = unix_ms};
    uint64_t bytes = 0;
    VQ_TRY(text_bytes(batch, &bytes));
    enum vq_status status = prepare(&c);
    if (status == VQ_OK) {
        bytes += RESULT_BYTES * (uint64_t)batch->results_count;
        status = vq_env_write(calls, bytes, commit_write, &c, err);
    }
    if (status == VQ_OK && c.stale) {
        status = vq_fail(err, VQ_STALE, "another coordinator has taken this run over");
    }
    if (status == VQ_OK) {
        for (size_t i = 0; i < c.came_count; i++) {
            vq_chain_memo_put(plan->memo, c.came[i].shard, c.came[i].turn, &c.came[i].state);
        }
        *ret_commit = c.done;
        c.done = (struct vq_commit){0};
    }
    cleanup(&c);
    return status;
}

void vq_commit_free(struct vq_commit *commit)
{
    vq_free(commit->standing);
    vq_free(commit->repeated);
    *commit = (struct vq_commit){0};
}
