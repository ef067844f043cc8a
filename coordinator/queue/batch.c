/* The commit (rules 3, 13, 14). Results gather in one batch while another is in flight; they count
 * only after the shell reports that they are durable. Then tasks settle by the state table, leases
 * close, the workers that hold settled tasks get a CANCEL, and ACKs are sent.
 *
 * Invariants: at most one batch is in flight, and its memory does not change during the commit.
 * Nothing is ACKed or tallied before its commit. A call is in at most one batch. No more is leased
 * than the batch has room for. A result that finds no room in spite of this (retries, late answers)
 * is dropped and counted: its worker sends it again. Not its job: the contents of the store (the
 * shell reports them), reading answers. */
#include "common/base/alloc.h"
#include "coordinator/queue/internal.h"
#include "proto/result.h"

#include <stdio.h>

#define CHUNK_BYTES (256u << 10)
#define SPARES_MAX  32 /* chunks that a batch stores for its next use: 8 MiB */

/* ---- gathering ---- */

bool vq_coord_gather_full(const struct vq_coord *c, const struct vq_result *next)
{
    const struct vq_coord_gather *g = c->batches.gather;
    return g->results_count >= c->params.commit_results_max ||
           (g->results_count > 0 &&
            g->bytes + vq_result_texts_bytes(next) > c->params.commit_bytes_max);
}

bool vq_coord_gather_busy(const struct vq_coord *c)
{
    return c->leases.out + c->batches.gather->results_count >= c->params.commit_results_max ||
           c->batches.gather->bytes > c->params.commit_bytes_max / 2;
}

bool vq_coord_gather_empty(const struct vq_coord_batches *batches)
{
    const struct vq_coord_gather *g = batches->gather;
    return g->results_count == 0 && g->failures_count == 0 && g->settled_count == 0 &&
           g->reopened_count == 0 && g->said_count == 0;
}

/* Room for n more bytes in the batch's memory; NULL: no memory. */
static char *chunk_take(struct vq_coord_gather *g, size_t n)
{
    if (g->chunks == NULL || g->chunks->cap - g->chunks->bytes < n) {
        size_t cap = n > CHUNK_BYTES ? n : CHUNK_BYTES;
        struct vq_coord_chunk *chunk = g->spares;
        if (cap == CHUNK_BYTES && chunk != NULL) {
            g->spares = chunk->next;
            g->spares_count--;
        } else {
            chunk = vq_alloc(1, sizeof(*chunk) + cap);
        }
        if (chunk == NULL) {
            return NULL;
        }
        chunk->cap = cap;
        chunk->bytes = 0;
        chunk->next = g->chunks;
        g->chunks = chunk;
    }
    char *at = g->chunks->at + g->chunks->bytes;
    g->chunks->bytes += n;
    return at;
}

static enum vq_status span_copy(struct vq_coord_gather *g, struct vq_span *span)
{
    if (span->bytes == 0) {
        *span = (struct vq_span){NULL, 0};
        return VQ_OK;
    }
    char *at = chunk_take(g, span->bytes);
    if (at == NULL) {
        return VQ_NOMEM;
    }
    memcpy(at, span->at, span->bytes);
    span->at = at;
    return VQ_OK;
}

enum vq_status vq_coord_gather_name(struct vq_coord_batches *batches, struct vq_span name,
                                    struct vq_span *ret_copy)
{
    VQ_TRY(span_copy(batches->gather, &name));
    *ret_copy = name;
    return VQ_OK;
}

enum vq_status vq_coord_gather_result(struct vq_coord *c, const struct vq_result *result,
                                      struct vq_span worker)
{
    struct vq_coord_gather *g = c->batches.gather;
    size_t need = g->results_count + 1;
    VQ_TRY(VQ_GROW(g->results, &g->results_cap, need, c->params.commit_results_max));
    VQ_TRY(VQ_GROW(g->workers, &g->workers_cap, need, c->params.commit_results_max));
    struct vq_result copy = *result;
    if (copy.stage == c->params.stage && !vq_coord_result_here(c, result)) {
        copy.stage = VQ_STAGE_ELSEWHERE;
    }
    struct vq_span *texts[VQ_RESULT_TEXTS];
    vq_result_texts(&copy, texts);
    for (size_t i = 0; i < VQ_RESULT_TEXTS; i++) {
        VQ_TRY(span_copy(g, texts[i]));
    }
    g->workers[g->results_count] = worker;
    g->results[g->results_count++] = copy;
    g->bytes += vq_result_texts_bytes(result);
    return VQ_OK;
}

enum vq_status vq_coord_gather_failure(struct vq_coord_batches *batches, uint64_t task,
                                       uint32_t repeat, enum vq_outcome outcome)
{
    struct vq_coord_gather *g = batches->gather;
    VQ_TRY(VQ_GROW(g->failures, &g->failures_cap, g->failures_count + 1, VQ_COORD_SHARDS_MAX));
    g->failures[g->failures_count++] = (struct vq_batch_failure){task, repeat, outcome};
    return VQ_OK;
}

enum vq_status vq_coord_gather_settled(struct vq_coord_batches *batches, uint64_t task,
                                       enum vq_outcome outcome)
{
    struct vq_coord_gather *g = batches->gather;
    size_t max =
        VQ_COORD_BATCH_SETTLED_MAX + (size_t)VQ_COORD_LOOKUPS_MAX * 2u * VQ_COORD_VIBES_MAX;
    VQ_TRY(VQ_GROW(g->settled, &g->settled_cap, g->settled_count + 1, max));
    g->settled[g->settled_count++] = (struct vq_settled){task, outcome};
    return VQ_OK;
}

enum vq_status vq_coord_gather_reopened(struct vq_coord_batches *batches, uint64_t task,
                                        bool *ret_full)
{
    struct vq_coord_gather *g = batches->gather;
    *ret_full = g->reopened_count >= VQ_COORD_REOPENED_MAX;
    if (*ret_full) {
        return VQ_OK;
    }
    VQ_TRY(VQ_GROW(g->reopened, &g->reopened_cap, g->reopened_count + 1, VQ_COORD_REOPENED_MAX));
    g->reopened[g->reopened_count++] = task;
    return VQ_OK;
}

enum vq_status vq_coord_gather_report(struct vq_coord_batches *batches,
                                      const struct vq_coord_api_batch *b)
{
    struct vq_coord_gather *g = batches->gather;
    struct vq_batch_report said = {.about = {.name = vq_span_str(b->name),
                                             .pool = vq_span_str(b->pool),
                                             .id = vq_span_str(b->id),
                                             .state = b->state,
                                             .calls = b->calls,
                                             .ended = b->ended},
                                   .owner = b->owner};
    VQ_TRY(VQ_GROW(g->said, &g->said_cap, g->said_count + 1, VQ_COORD_SHARDS_MAX));
    VQ_TRY(span_copy(g, &said.about.name));
    VQ_TRY(span_copy(g, &said.about.pool));
    VQ_TRY(span_copy(g, &said.about.id));
    g->said[g->said_count++] = said;
    return VQ_OK;
}

static void chunks_free(struct vq_coord_chunk *chunks)
{
    while (chunks != NULL) {
        struct vq_coord_chunk *next = chunks->next;
        vq_free(chunks);
        chunks = next;
    }
}

/* Stores some chunks for the next use: a busy run fills the same number again, and new memory costs
 * more than copying into it. */
static void gather_clear(struct vq_coord_gather *g)
{
    struct vq_coord_chunk *next;
    for (struct vq_coord_chunk *chunk = g->chunks; chunk != NULL; chunk = next) {
        next = chunk->next;
        if (chunk->cap == CHUNK_BYTES && g->spares_count < SPARES_MAX) {
            chunk->next = g->spares;
            g->spares = chunk;
            g->spares_count++;
        } else {
            vq_free(chunk);
        }
    }
    g->chunks = NULL;
    g->results_count = g->failures_count = g->settled_count = g->reopened_count = 0;
    g->said_count = 0;
    g->bytes = 0;
}

void vq_coord_gather_free(struct vq_coord_gather *g)
{
    chunks_free(g->chunks);
    chunks_free(g->spares);
    vq_free(g->results);
    vq_free(g->workers);
    vq_free(g->failures);
    vq_free(g->settled);
    vq_free(g->reopened);
    vq_free(g->said);
    *g = (struct vq_coord_gather){0};
}

const struct vq_batch *vq_coord_gather_commit(struct vq_coord *c)
{
    if (c->batches.in_flight != NULL || vq_coord_gather_empty(&c->batches)) {
        return NULL;
    }
    struct vq_coord_gather *g = c->batches.gather;
    /* a commit since then may have made it not needed */
    for (size_t n = 0; n < g->settled_count; n++) {
        g->settled[n].outcome = (enum vq_outcome)c->tasks.outcome[g->settled[n].task];
    }
    g->batch = (struct vq_batch){.no = c->batches.n++,
                                 .results = g->results,
                                 .workers = g->workers,
                                 .results_count = g->results_count,
                                 .failures = g->failures,
                                 .failures_count = g->failures_count,
                                 .settled = g->settled,
                                 .settled_count = g->settled_count,
                                 .reopened = g->reopened,
                                 .reopened_count = g->reopened_count,
                                 .said = g->said,
                                 .said_count = g->said_count};
    c->batches.in_flight = g;
    c->batches.gather =
        g == &c->batches.gathers[0] ? &c->batches.gathers[1] : &c->batches.gathers[0];
    return &g->batch;
}

/* ---- received ---- */

/* Results that find no room: their worker sends them again. Until then no other worker gets their
 * tasks, even if this worker has given them back. */
static enum vq_status results_refused(struct vq_coord *c, struct vq_coord_session *s,
                                      const struct vq_result *results, size_t count)
{
    c->tally.dropped_full += count;
    for (size_t n = 0; n < count; n++) {
        const struct vq_result *r = &results[n];
        if (vq_coord_result_here(c, r) && s->calls_count < VQ_COORD_SESSION_CALLS_MAX) {
            VQ_TRY(vq_coord_call_list(
                c, s, &(struct vq_held_call){.call = r->call, .task = r->task, .stage = r->stage}));
        }
    }
    return VQ_OK;
}

bool vq_coord_wants_repair(const struct vq_coord *c, const struct vq_result *r)
{
    return c->params.repairs && r->kind == VQ_CALL_ASK && r->end == VQ_END_ANSWER &&
           r->outcome == VQ_OUTCOME_UNPARSEABLE;
}

enum vq_status vq_coord_results(struct vq_coord *c, struct vq_coord_session *s,
                                struct vq_span worker, const struct vq_result *results,
                                size_t count, size_t *ret_taken)
{
    struct vq_span name = {NULL, 0};
    for (size_t n = 0; n < count; n++) {
        const struct vq_result *r = &results[n];
        if (vq_coord_gather_full(c, r)) {
            *ret_taken = n;
            return s == NULL ? VQ_OK : results_refused(c, s, r, count - n);
        }
        bool is_new;
        VQ_TRY(vq_coord_call_receive(c, s, r, &is_new));
        if (!is_new) {
            continue;
        }
        if (name.bytes == 0 && worker.bytes > 0) {
            VQ_TRY(vq_coord_gather_name(&c->batches, worker, &name));
        }
        VQ_TRY(vq_coord_gather_result(c, r, name));
        struct vq_coord_shard *shard = vq_coord_result_here(c, r)
                                           ? vq_coord_shard_find(c, vq_coord_shard_of(c, r->task))
                                           : NULL;
        if (!vq_coord_lease_current(shard, r->fence)) {
            c->tally.late++;
        } else if (r->final) {
            vq_coord_slot_done(c, shard, (uint32_t)(r->task % c->shard_tasks),
                               (enum vq_outcome)r->outcome, vq_coord_wants_repair(c, r));
        }
        if (s != NULL) {
            s->results++;
        }
    }
    *ret_taken = count;
    return VQ_OK;
}

/* ---- committed ---- */

enum vq_status vq_coord_settle(struct vq_coord *c, struct vq_coord_shard *shard, uint64_t task,
                               enum vq_outcome outcome)
{
    if (outcome == VQ_OUTCOME_NONE) {
        return VQ_OK;
    }
    uint32_t i = (uint32_t)(task % c->shard_tasks);
    enum vq_outcome before = (enum vq_outcome)c->tasks.outcome[task];
    bool live = shard != NULL && shard->slots[i].state != SLOT_FREE;
    enum vq_task_states state = live ? VQ_TASK_LEASED : vq_task_state_of(before);
    enum vq_task_events event = vq_task_event_of(outcome);
    enum vq_task_states next;
    const char *why;
    enum vq_task_rule rule = vq_task_next(state, event, &next, &why);
    c->tasks.moves[state][event]++;
    if (rule == VQ_TASK_REFUSED) {
        vq_coord_note(c, VQ_COORD_NOTE_WARN, "task %llu is %s (%s), and in the store it is %s: %s",
                      (unsigned long long)task, vq_task_state_name(state), vq_outcome_name(before),
                      vq_outcome_name(outcome), why);
        return VQ_BUG;
    }
    if (rule == VQ_TASK_STAYS) {
        return VQ_OK;
    }
    c->tasks.outcome[task] = (uint8_t)outcome;
    vq_coord_tally_move(c, task, before, outcome);
    if (shard != NULL && before == VQ_OUTCOME_NONE) {
        shard->open--;
    }
    vq_coord_shared_turns_settled(c, task);
    if (shard != NULL && c->params.chains && next == VQ_TASK_ANSWERED) {
        shard->lost = 0; /* the chain makes progress */
    }
    if (live) {
        shard->moved = true;
        if (shard->slots[i].state == SLOT_OUT) { /* settled by another worker's answer */
            shard->cut = true;
            c->requeue.failed_out_ns =
                next == VQ_TASK_FAILED ? c->now_ns : c->requeue.failed_out_ns;
            if (c->params.chains) {
                VQ_TRY(vq_coord_lease_diverged(c, shard, i));
            } else {
                VQ_TRY(vq_coord_send_settled(c, shard, i));
                shard->slots[i].cancelled = true;
            }
        }
        vq_coord_slot_settled(c, shard, i);
    }
    return VQ_OK;
}

/* An unreadable answer or a failure after which the question is repeated: it settles nothing, and
 * this is no fault. At most repeat_max of them per task count, over all tasks together. */
static bool asks_again(const struct vq_coord *c, struct vq_coord_lane *lane,
                       const struct vq_result *r)
{
    enum vq_outcome outcome = (enum vq_outcome)r->outcome;
    uint64_t most = (uint64_t)c->params.repeat_max * c->params.grid.samples * c->shard_tasks;
    bool again = vq_outcome_is_failed(outcome) ||
                 (vq_outcome_is_answered(outcome) && !vq_outcome_is_good(outcome));
    if (!again || lane->put_again >= most) {
        return false;
    }
    lane->put_again++;
    return true;
}

/* Of a chain: the result came before that of an earlier turn that it builds on. That result found
 * no room or was lost in transit, and is sent again. */
static bool is_ahead(const struct vq_coord *c, const struct vq_coord_shard *shard,
                     const struct vq_result *r)
{
    uint32_t i = (uint32_t)(r->task % c->shard_tasks);
    bool ahead = false;
    for (uint32_t n = 0; c->params.chains && !ahead && n < i; n += 2) {
        ahead = c->tasks.outcome[vq_coord_task_at(c, shard, n)] == VQ_OUTCOME_NONE;
    }
    return ahead;
}

/* For a turn's final answer that settled nothing: whether another run's answer, which is not good,
 * was stored first, so that the worker that holds the chain continues from an answer that is not in
 * force. The result is of the leased repeat, so no result that it builds on can have been lost. */
static bool breaks_the_chain(const struct vq_coord *c, const struct vq_coord_shard *shard,
                             const struct vq_result *r)
{
    return c->params.chains && c->params.repeat_max > 0 && r->end == VQ_END_ANSWER &&
           r->repeat == shard->slots[r->task % c->shard_tasks].repeat;
}

/* Releases the slot of a final result, and that of the second order if the worker skipped it
 * because of this result. */
static enum vq_status slot_after(struct vq_coord *c, struct vq_coord_shard *shard,
                                 const struct vq_result *r)
{
    uint32_t i = (uint32_t)(r->task % c->shard_tasks);
    struct vq_coord_lane *lane = &c->lanes[shard->judge];
    bool settled = shard->slots[i].state != SLOT_DONE;
    bool ahead = !settled && is_ahead(c, shard, r);
    if (settled) {
        lane->unsettled = 0;
    } else if (vq_coord_wants_repair(c, r)) {
        vq_coord_slot_return(c, shard, i);
    } else if (!ahead && asks_again(c, lane, r)) {
        vq_coord_slot_return(c, shard, i);
    } else if (c->params.chains && (shard->diverged > 0 || (!ahead && shard->moved))) {
        /* it builds on an answer that is not in force */
        VQ_TRY(vq_coord_lease_diverged(c, shard, i));
        vq_coord_slot_return(c, shard, i);
    } else {
        bool diverged = !ahead && breaks_the_chain(c, shard, r);
        VQ_TRY(diverged ? vq_coord_lease_diverged(c, shard, i) : VQ_OK);
        vq_coord_slot_return(c, shard, i);
        /* A result that it builds on may have been lost in transit, and is listed soon. */
        VQ_TRY(diverged ? VQ_OK : vq_coord_call_hold(c, NULL, r->task));
        if (!ahead && ++lane->unsettled >= VQ_COORD_UNSETTLED_MAX) {
            char text[VQ_COORD_TEXT_BYTES_MAX];
            (void)snprintf(
                text, sizeof(text),
                "judge %s: %u final results in a row settled nothing: the workers ask other "
                "questions than this run. Give them the same version of vibeq, then vibeq "
                "resume",
                lane->name, lane->unsettled);
            VQ_TRY(vq_coord_begin_stop(c, VQ_COORD_STOP_ANSWERS, c->now_ns + 2 * c->params.term_ns,
                                       text));
        }
    }
    for (uint32_t n = i + 2; c->params.chains && n < c->shard_tasks; n += 2) {
        if (shard->slots[n].state == SLOT_SKIPPED) {
            /* it has a good answer after all, though another one */
            vq_coord_slot_return(c, shard, n);
        }
    }
    if (shard->slots[i ^ 1u].state == SLOT_SKIPPED) {
        vq_coord_slot_return(c, shard, i ^ 1u); /* skipped but needed: open again */
    }
    return VQ_OK;
}

/* An answer is known to be useful only when no more results follow for its task. With the brake,
 * the judge is in its probe until then. */
static void probe_after(const struct vq_coord *c, struct vq_coord_lane *lane,
                        const struct vq_result *r)
{
    bool brake = c->params.brake_calls > 0;
    bool open = vq_coord_wants_repair(c, r) && c->tasks.outcome[r->task] == VQ_OUTCOME_NONE;
    if (brake && vq_coord_lane_suspect(c, lane)) {
        return;
    }
    if (r->end == VQ_END_ANSWER) {
        lane->answered = lane->answered || !brake || (r->final && !open);
    } else if (r->final && vq_outcome_is_failed((enum vq_outcome)r->outcome) &&
               ++lane->probes_failed >= VQ_COORD_PROBES_MAX) {
        lane->answered = true;
    }
}

static enum vq_status call_committed(struct vq_coord *c, struct vq_coord_call *call)
{
    struct vq_coord_session *s = vq_coord_session_get(&c->sessions, call->peer, call->session);
    struct vq_id id = call->id;
    bool batched = call->batched && call->gathered == 1;
    return vq_coord_call_commit(c, call) && s != NULL ? vq_coord_ack(&c->actions, s, &id, batched)
                                                      : VQ_OK;
}

/* The task leaves its lease, and stays reserved by the call until its batch has ended. */
static enum vq_status batched_committed(struct vq_coord *c, struct vq_coord_call *call,
                                        const struct vq_result *r)
{
    struct vq_coord_shard *shard = call->shard;
    uint32_t i = (uint32_t)(r->task % c->shard_tasks);
    if (shard != NULL && vq_coord_lease_current(shard, r->fence) &&
        shard->slots[i].state == SLOT_OUT) {
        vq_coord_slot_return(c, shard, i);
    }
    struct vq_coord_session *s = vq_coord_session_get(&c->sessions, call->peer, call->session);
    VQ_TRY(call_committed(c, call));
    if (call->state == CALL_BATCHED) {
        VQ_TRY(vq_coord_api_batch_add(c, call, r));
        vq_coord_api_batch_gathers(call, s);
    }
    if (shard != NULL && shard->state == SHARD_LEASED) {
        /* it does not wait hours for the answer to its probe */
        c->lanes[shard->judge].answered = true;
        vq_coord_lease_check(c, shard);
    }
    return VQ_OK;
}

/* The ledger already has the result that follows, because the core does not know the call as a
 * waiting one. */
static enum vq_status batched_before(struct vq_coord *c, struct vq_coord_call *call)
{
    struct vq_coord_shard *shard = call->shard;
    call->batched = false;
    call->bound = (struct vq_authority_bound){0};
    VQ_TRY(call_committed(c, call));
    if (shard != NULL && shard->state == SHARD_LEASED) {
        vq_coord_lease_check(c, shard);
    } else if (shard != NULL) {
        vq_coord_shard_stir(c, shard);
    }
    return VQ_OK;
}

static enum vq_status result_committed(struct vq_coord *c, const struct vq_result *r, bool repeated)
{
    struct vq_coord_call *call = vq_coord_call_find(&c->calls, &r->call);
    VQ_ASSERT(call != NULL && call->state == CALL_RECEIVED);
    if (call->bound.requests > 0 && r->end != VQ_END_BATCHED) {
        vq_authority_corrected(c->params.authority, r, &call->bound);
        call->bound = (struct vq_authority_bound){0};
    } else if (!repeated) {
        vq_authority_committed(c->params.authority, r, c->now_ns);
    }
    if (r->end == VQ_END_BATCHED && repeated) {
        return batched_before(c, call);
    }
    if (r->end == VQ_END_BATCHED) {
        return batched_committed(c, call, r);
    }
    vq_coord_tally_result(c, r);
    struct vq_coord_shard *shard = call->shard;
    if (shard == NULL) {
        return call_committed(c, call);
    }
    VQ_ASSERT(call->task == r->task);
    struct vq_coord_slot *slot = &shard->slots[r->task % c->shard_tasks];
    if (c->params.chains && r->end == VQ_END_ANSWER &&
        c->tasks.outcome[r->task] == VQ_OUTCOME_NONE) {
        slot->ahead = shard->ahead = true;
    }
    vq_attempts_count(&slot->attempts, (enum vq_call_end)r->end);
    if (vq_coord_lease_current(shard, r->fence)) {
        VQ_TRY(r->final ? slot_after(c, shard, r) : VQ_OK);
    }
    VQ_TRY(vq_coord_brake_see(c, shard, r));
    probe_after(c, &c->lanes[shard->judge], r);
    c->lanes[shard->judge].returned +=
        call->was_batched && c->tasks.outcome[r->task] == VQ_OUTCOME_NONE;
    VQ_TRY(call_committed(c, call));
    if (shard->state == SHARD_LEASED) {
        vq_coord_lease_check(c, shard);
    } else {
        vq_coord_shard_stir(c, shard);
    }
    return VQ_OK;
}

/* A look-up since then saw the decision of another run's answer to the first order: the commit's
 * view is older. */
static bool is_overtaken(const struct vq_coord_tasks *tasks, const struct vq_settled *settled)
{
    return tasks->outcome[settled->task] == VQ_OUTCOME_NOT_NEEDED &&
           vq_outcome_is_answered(settled->outcome);
}

static void failure_committed(struct vq_coord *c, const struct vq_batch_failure *f)
{
    struct vq_coord_shard *shard = vq_coord_shard_find(c, vq_coord_shard_of(c, f->task));
    if (shard == NULL) {
        return;
    }
    shard->slots[f->task % c->shard_tasks].failing = false;
    if (shard->state == SHARD_LEASED) {
        vq_coord_lease_check(c, shard);
    } else {
        vq_coord_shard_stir(c, shard);
    }
}

/* An answer of another run may have settled the last live slot of a lease of which this batch has
 * no result. */
static void settled_committed(struct vq_coord *c, const struct vq_settled *settled, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        struct vq_coord_shard *shard =
            vq_coord_shard_find(c, vq_coord_shard_of(c, settled[n].task));
        if (shard != NULL && shard->state == SHARD_LEASED) {
            vq_coord_lease_check(c, shard);
        }
    }
}

enum vq_status vq_coord_take_commit(struct vq_coord *c, uint64_t no,
                                    const struct vq_settled *settled, size_t count)
{
    struct vq_coord_gather *g = c->batches.in_flight;
    if (g == NULL || g->batch.no != no) {
        return VQ_BUG;
    }
    uint64_t tasks = vq_grid_tasks(&c->params.grid);
    for (size_t n = 0; n < g->reopened_count; n++) {
        VQ_TRY(vq_coord_reopened(c, g->reopened[n]));
    }
    for (size_t n = 0; n < count; n++) {
        if (settled[n].task >= tasks) {
            return VQ_BUG;
        }
        if (is_overtaken(&c->tasks, &settled[n])) {
            continue;
        }
        struct vq_coord_shard *shard =
            vq_coord_shard_find(c, vq_coord_shard_of(c, settled[n].task));
        VQ_TRY(vq_coord_settle(c, shard, settled[n].task, settled[n].outcome));
    }
    for (size_t n = 0; n < g->failures_count; n++) {
        failure_committed(c, &g->failures[n]);
    }
    for (size_t n = 0; n < g->results_count; n++) {
        VQ_TRY(result_committed(c, &g->results[n],
                                c->batches.repeated != NULL && c->batches.repeated[n]));
    }
    settled_committed(c, settled, count);
    vq_free(c->batches.repeated);
    c->batches.repeated = NULL;
    c->tally.batches++;
    c->batches.in_flight = NULL;
    gather_clear(g);
    c->grants.check = true;
    vq_coord_left_settle(c);
    return VQ_OK;
}
