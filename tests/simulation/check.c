/* What must hold (docs/develop/reliability.md, I1 to I5), checked from outside: from the endpoint's
 * log, the messages, the store. */
#include "tests/simulation/sim.h"

#include "common/base/alloc.h"
#include "coordinator/queue/limits.h"

/* A fence decides who may start calls: none starts under a fence after the task was leased under a
 * later one. */
static void check_fence(struct sim *s, uint32_t worker, const struct vq_work_call *call)
{
    const struct vq_fence *leased = &s->stages[call->stage].leased[call->task];
    if (!vq_fence_eq(*leased, call->fence)) {
        sim_fail(
            s,
            "I5: worker %u starts a call of task %llu under fence %llu.%llu, leased is %llu.%llu",
            worker, (unsigned long long)call->task, (unsigned long long)call->fence.epoch,
            (unsigned long long)call->fence.n, (unsigned long long)leased->epoch,
            (unsigned long long)leased->n);
    }
}

/* I2, I3: nothing that is in flight at a live worker, or whose answer is kept, is asked again,
 * unless its worker was silent for a whole term since: said nothing that lists what it holds. */
void sim_check_twice(struct sim *s, uint32_t worker, const struct vq_work_call *call)
{
    const uint64_t *at = sim_map_get(&s->calls_by_request, &call->request);
    for (int64_t n = at == NULL ? -1 : (int64_t)*at; n >= 0; n = s->calls[n].next_same) {
        const struct sim_call *before = &s->calls[n];
        const struct sim_worker *w = &s->workers[before->worker];
        if (before->state == CALL_FAILED) {
            continue;
        }
        s->report->asked_twice++;
        if (before->state == CALL_IN_BATCH) {
            sim_fail(s, "I2: worker %u asks task %llu again, which is in a batch", worker,
                     (unsigned long long)call->task);
            continue;
        }
        if (before->state == CALL_UNKNOWN) {
            s->report->unknown++;
            continue;
        }
        if (w->silent_ns < before->started_ns) {
            sim_fail(
                s,
                "I2: worker %u asks task %llu again; worker %u asked it at %.3f s (%s) and was "
                "never silent for a term",
                worker, (unsigned long long)call->task, before->worker,
                (double)before->started_ns / 1e9,
                before->state == CALL_FLYING ? "in flight" : "answered");
        }
    }
}

void sim_check_settled(struct sim *s, const struct vq_settled *settled, size_t count)
{
    int64_t *settled_ns = s->stages[s->stage].settled_ns;
    for (size_t i = 0; i < count; i++) {
        if (settled[i].outcome == VQ_OUTCOME_NONE) { /* opened again by hand, or never settled */
            settled_ns[settled[i].task] = 0;
        } else if (settled_ns[settled[i].task] == 0) {
            settled_ns[settled[i].task] = s->now_ns;
        }
    }
}

/* Rule 3: the holder of a task that somebody else's answer settled gets a CANCEL: before its lease
 * is renewed again. */
static void check_settled_call(struct sim *s, uint32_t worker, const struct vq_work_call *call)
{
    int64_t settled_ns = s->stages[call->stage].settled_ns[call->task];
    if (settled_ns != 0 && s->now_ns > settled_ns + s->term_ns) {
        sim_fail(s, "rule 3: worker %u asks task %llu, settled since %.3f s", worker,
                 (unsigned long long)call->task, (double)settled_ns / 1e9);
    }
}

/* What was settled is not known to its holder, who may be told again: rule 3 counts from then
 * on. */
void sim_check_lost(struct sim *s, const struct vq_msg *msg)
{
    const struct vq_msg_cancel *cancel = &msg->u.cancel;
    if (msg->type != VQ_MSG_CANCEL || cancel->stage != s->stage || s->is_stale) {
        return;
    }
    int64_t *settled_ns = s->stages[s->stage].settled_ns;
    uint32_t tasks = vq_grid_shard_tasks(&s->store.grid);
    for (uint32_t i = 0; i < (cancel->tasks_count == 0 ? tasks : cancel->tasks_count); i++) {
        uint64_t task = cancel->tasks_count == 0 ? cancel->shard * tasks + i : cancel->tasks[i];
        settled_ns[task] = settled_ns[task] == 0 ? 0 : s->now_ns;
    }
}

/* Who stopped cleanly said that nothing was out: nothing that it leased is asked after that. */
static void check_clean(struct sim *s, uint32_t worker, const struct vq_work_call *call)
{
    if (call->fence.epoch <= s->clean_epoch) {
        sim_fail(s,
                 "I4: worker %u starts a call of task %llu under fence %llu.%llu, and epoch %llu "
                 "ended cleanly",
                 worker, (unsigned long long)call->task, (unsigned long long)call->fence.epoch,
                 (unsigned long long)call->fence.n, (unsigned long long)s->clean_epoch);
    }
}

/* As long as it could stop cleanly, nothing is in flight of workers that said within a term what
 * they hold. */
static void check_could_stop(struct sim *s)
{
    const struct sim_coord *co = &s->coord;
    if (co->finished || co->paused_until_ns > s->now_ns || !vq_coord_clean(co->core)) {
        return;
    }
    for (uint32_t p = 0; p < s->pools_count; p++) {
        for (size_t i = 0; i < s->pools[p].flying_count; i++) {
            const struct sim_call *call = &s->calls[s->pools[p].flying[i]];
            if (sim_call_live(s, call) &&
                s->now_ns - s->workers[call->worker].heard_ns < s->term_ns) {
                sim_fail(s,
                         "I4: a stop would be clean, and worker %u asks task %llu of stage %u "
                         "since %.3f s",
                         call->worker, (unsigned long long)call->task, call->stage,
                         (double)call->started_ns / 1e9);
            }
        }
    }
}

/* Paused by hand: whoever can be reached hears of it at once, and who cannot has come to the end of
 * his terms. */
static void check_held(struct sim *s, uint32_t worker, const struct vq_work_call *call)
{
    if (s->coord.held && s->now_ns - s->coord.held_since_ns > s->term_ns) {
        sim_fail(s, "worker %u starts a call of task %llu, and the run is paused since %.3f s",
                 worker, (unsigned long long)call->task, (double)s->coord.held_since_ns / 1e9);
    }
}

void sim_check_call(struct sim *s, uint32_t worker, const struct vq_work_call *call)
{
    struct vq_hash request;
    if (call->stage_kind == VQ_STAGE_CHAT) {
        sim_talks_check(s, worker, call);
    } else if (call->kind == VQ_CALL_ASK) {
        sim_request_of(s, call->stage, call->task, call->repeat, &request);
        if (!vq_hash_eq(&request, &call->request)) {
            sim_fail(s, "the worker's request hash is not the coordinator's");
        }
    }
    check_settled_call(s, worker, call);
    check_held(s, worker, call);
    check_fence(s, worker, call);
    check_clean(s, worker, call);
    sim_check_twice(s, worker, call);
}

/* No reply before its commit. */
void sim_check_ack(struct sim *s, const struct vq_id *call)
{
    if (sim_store_row(&s->store, call) == NULL) {
        sim_fail(s, "a call is ACKed and not in the ledger");
    }
    const struct vq_batch *batch = s->coord.batch;
    for (size_t i = 0; batch != NULL && i < batch->results_count; i++) {
        if (vq_id_eq(&batch->results[i].call, call) && sim_store_row(&s->store, call)->times == 1 &&
            !s->coord.batch_lmdb) {
            sim_fail(s, "a call is ACKed before its commit");
        }
    }
}

void sim_listed(struct sim *s, const struct vq_msg_held *held)
{
    for (uint32_t i = 0; i < held->calls_count; i++) {
        struct vq_hash key = sim_key_id(&held->calls[i].call);
        const uint64_t *n = sim_map_get(&s->calls_by_id, &key);
        if (n != NULL) {
            s->calls[*n].listed_ns = s->now_ns;
        }
    }
}

void sim_listed_anew(struct sim *s)
{
    for (size_t n = 0; n < s->calls_count; n++) {
        s->calls[n].listed_ns = 0;
    }
}

/* Of this call a worker said less than a term ago that it is out, and it is not committed. */
static bool reserves(const struct sim *s, const struct sim_call *call)
{
    return call->listed_ns != 0 && s->now_ns - call->listed_ns < s->term_ns &&
           s->workers[call->worker].work != NULL && call->state != CALL_FAILED &&
           sim_store_row(&s->store, &call->id) == NULL;
}

/* Rule 5, over stages: what was listed before this one began reserves its tasks too. */
void sim_check_handed_over(struct sim *s)
{
    struct vq_coord_status status;
    vq_coord_status_fill(s->coord.core, s->now_ns, &status);
    for (size_t n = 0; n < s->calls_count; n++) {
        const struct sim_call *call = &s->calls[n];
        if (call->stage == s->stage && reserves(s, call) &&
            status.wait_until_ns < call->listed_ns + s->term_ns) {
            sim_fail(s, "rule 5: stage %u does not wait for task %llu, listed at %.3f s", s->stage,
                     (unsigned long long)call->task, (double)call->listed_ns / 1e9);
        }
    }
}

static void check_reserved(struct sim *s, const struct vq_ask *ask)
{
    struct vq_hash request;
    sim_request_of(s, s->stage, ask->task, ask->repeat, &request);
    const uint64_t *at = sim_map_get(&s->calls_by_request, &request);
    for (int64_t n = at == NULL ? -1 : (int64_t)*at; n >= 0; n = s->calls[n].next_same) {
        const struct sim_call *call = &s->calls[n]; /* another stage may ask the same */
        if (call->stage == s->stage && call->task == ask->task && reserves(s, call)) {
            sim_fail(s, "rule 5: task %llu is leased; worker %u listed a call of it at %.3f s",
                     (unsigned long long)ask->task, call->worker, (double)call->listed_ns / 1e9);
        }
    }
}

void sim_check_lease(struct sim *s, const struct vq_msg_lease *lease)
{
    if (lease->fence.epoch != s->coord.epoch || lease->fence.n <= s->coord.fence_n) {
        sim_fail(s, "I5: a fence that does not rise: %llu.%llu",
                 (unsigned long long)lease->fence.epoch, (unsigned long long)lease->fence.n);
    }
    s->coord.fence_n = lease->fence.n;
    if (lease->stage != s->stage) {
        sim_fail(s, "stage %u is leased, stage %u goes on", lease->stage, s->stage);
    }
    int64_t looked_ns = s->stages[s->stage].looked_ns[lease->shard];
    if (s->now_ns - looked_ns > VQ_COORD_LOOKED_NS_MAX) {
        sim_fail(s, "rule 16: shard %llu is leased and was looked up at %.3f s",
                 (unsigned long long)lease->shard, (double)looked_ns / 1e9);
    }
    for (uint32_t i = 0; i < lease->asks_count; i++) {
        uint64_t task = lease->asks[i].task;
        sim_trace(s, task, lease->fence.n);
        sim_say(s, "  leased: task %llu under %llu.%llu, repeat %u%s%s", (unsigned long long)task,
                (unsigned long long)lease->fence.epoch, (unsigned long long)lease->fence.n,
                lease->asks[i].repeat, lease->asks[i].lazy ? ", lazy" : "",
                lease->asks[i].prior.bytes > 0 ? ", to repair" : "");
        if (vq_coord_outcome(s->coord.core, task) != VQ_OUTCOME_NONE) {
            sim_fail(s, "a settled task is leased");
        }
        check_reserved(s, &lease->asks[i]);
        bool second = (task & 1) != s->store.first[lease->shard];
        if (second && s->store.swap == VQ_SWAP_LAZY && s->store.audited[task / 2] == 0 &&
            vq_coord_outcome(s->coord.core, task ^ 1) == VQ_OUTCOME_NONE &&
            (i == 0 || lease->asks[i - 1].task != (task ^ 1) || !lease->asks[i].lazy)) {
            sim_fail(s, "task %llu is leased before anybody knows whether it is needed",
                     (unsigned long long)task);
        }
        s->stages[s->stage].leased[task] = lease->fence;
    }
}

void sim_check_grant(struct sim *s, const struct vq_msg_grant *grant)
{
    sim_trace(s, grant->n, grant->slices_count);
    for (uint32_t i = 0; i < grant->slices_count; i++) {
        const struct vq_slice *slice = &grant->slices[i];
        const struct sim_pool *pool = &s->pools[slice->pool];
        sim_say(s, "  granted (%llu): %u calls of %s, %.1f requests and %.0f tokens a minute",
                (unsigned long long)grant->n, slice->concurrency, pool->name, slice->rates.requests,
                slice->rates.tokens);
        if (pool->concurrency > 0 && slice->concurrency > pool->concurrency) {
            sim_fail(s, "rule 7: a slice of %u calls of %s", slice->concurrency, pool->name);
        }
    }
}

/* Whether the coordinator, running, has heard no list of a worker for a whole term. */
void sim_check_silence(struct sim *s)
{
    for (uint32_t i = 0; i < s->workers_count; i++) {
        struct sim_worker *w = &s->workers[i];
        int64_t since_ns =
            w->heard_ns > s->coord.running_since_ns ? w->heard_ns : s->coord.running_since_ns;
        if (s->now_ns - since_ns >= s->term_ns) {
            w->silent_ns = s->now_ns;
        }
    }
}

/* Rule 10: of a worker without a spool, what this coordinator heard of and never got is in the
 * ledger. */
void sim_check_unknown(struct sim *s)
{
    for (size_t n = 0; n < s->calls_count; n++) {
        const struct sim_call *call = &s->calls[n];
        if (call->state == CALL_UNKNOWN && call->heard_life == s->coord.life + 1 &&
            !s->workers[call->worker].has_spool && sim_store_row(&s->store, &call->id) == NULL) {
            sim_fail(s, "rule 10: the call of task %llu that worker %u lost is not counted",
                     (unsigned long long)call->task, call->worker);
        }
    }
}

/* I7: what gathers while a commit is in flight is bounded. */
static void check_bounds(struct sim *s, const struct vq_coord_status *status)
{
    uint64_t results_max = s->params.commit_results_max;
    if (results_max > 0 && status->received > 2 * results_max) {
        sim_fail(s, "I7: %llu results wait for a commit, a batch holds %llu",
                 (unsigned long long)status->received, (unsigned long long)results_max);
    }
}

void sim_check_step(struct sim *s)
{
    if (s->coord.core == NULL) {
        return;
    }
    struct vq_coord_status status;
    vq_coord_status_fill(s->coord.core, s->now_ns, &status);
    check_bounds(s, &status);
    check_could_stop(s);
    uint64_t sum = 0;
    for (int state = 0; state < VQ_TASK_STATES; state++) {
        sum += status.all.state[state];
    }
    if (sum != status.tasks) {
        sim_fail(s, "I1: %llu tasks are counted, there are %llu", (unsigned long long)sum,
                 (unsigned long long)status.tasks);
    }
    for (uint32_t j = 0; j < s->store.grid.judges; j++) {
        struct vq_coord_judge_status judge;
        vq_coord_judge_fill(s->coord.core, j, s->now_ns, &judge);
        if (!judge.answered && judge.counts.state[VQ_TASK_LEASED] > 1) {
            sim_fail(s, "rule 25: %llu tasks of an untried judge are out",
                     (unsigned long long)judge.counts.state[VQ_TASK_LEASED]);
        }
    }
}

/* What a run that does not end waits for, for people. */
void sim_say_state(const struct sim *s)
{
    struct vq_coord_batch_status batch;
    for (uint32_t i = 0; vq_coord_api_batch_fill(s->coord.core, i, &batch); i++) {
        sim_say(s, "batch %s as %s: state %u, %u calls, %u wait, worker %s", batch.name, batch.id,
                batch.state, batch.calls, batch.waiting, batch.worker);
    }
    struct vq_coord_judge_status judge;
    struct vq_coord_worker_status worker;
    struct vq_coord_status status;
    if (s->coord.core == NULL) {
        sim_say(s, "no coordinator runs");
        return;
    }
    vq_coord_status_fill(s->coord.core, s->now_ns, &status);
    sim_say(s, "stage %u (%d): %llu reserved calls, %llu received", s->stage, (int)status.stage,
            (unsigned long long)status.calls_reserved, (unsigned long long)status.received);
    for (uint32_t j = 0; j < s->store.grid.judges; j++) {
        vq_coord_judge_fill(s->coord.core, j, s->now_ns, &judge);
        sim_say(s, "judge %u: %llu open, %llu leased, %llu ready and %llu leased shards%s%s%s", j,
                (unsigned long long)judge.counts.state[VQ_TASK_OPEN],
                (unsigned long long)judge.counts.state[VQ_TASK_LEASED],
                (unsigned long long)judge.ready_shards, (unsigned long long)judge.leased_shards,
                judge.answered ? "" : ", not tried", judge.closed ? ", closed: " : "",
                judge.closed_text);
        for (uint32_t p = 0; p < s->serves_count[j]; p++) {
            struct vq_authority_pool_status pool;
            vq_authority_status(s->coord.authority, s->serves[j][p], s->now_ns, &pool);
            sim_say(
                s, "  %s: state %d, %u calls, %.0f requests, %u workers, %u in flight, %u wait: %s",
                pool.name, (int)pool.state, pool.limit.concurrency, pool.limit.rates.requests,
                pool.workers, pool.in_flight, pool.waiting, pool.text);
        }
    }
    for (uint32_t i = 0; vq_coord_worker_fill(s->coord.core, i, &worker); i++) {
        sim_say(s, "%s: %u leases, %llu tasks, %llu calls out, heard %.3f s", worker.name,
                worker.leases, (unsigned long long)worker.tasks_held,
                (unsigned long long)worker.calls_out, (double)worker.heard_ns / 1e9);
    }
}

void sim_say_credit(const struct sim *s, const struct vq_msg_credit *credit)
{
    for (uint32_t i = 0; i < credit->credits_count; i++) {
        sim_say(s, "  wants %u tasks of judge %u (state %u)", credit->credits[i].tasks,
                credit->credits[i].judge, credit->credits[i].state);
    }
    for (uint32_t i = 0; i < credit->reports_count; i++) {
        sim_say(s, "  pool %u: state %u, %u in flight, %u waiting, goes by %llu",
                credit->reports[i].pool, credit->reports[i].state, credit->reports[i].in_flight,
                credit->reports[i].waiting, (unsigned long long)credit->granted_n);
    }
}

/* ---- at the end ---- */

static bool kept(struct sim *s, const struct sim_call *call)
{
    for (uint32_t i = 0; i < s->workers_count; i++) {
        struct sim_worker *w = &s->workers[i];
        struct vq_hash key = sim_key_id(&call->id);
        const uint64_t *at = sim_map_get(&w->spool.by_call, &key);
        if (at != NULL && !w->spool.records[*at].acked && w->spool.records[*at].encoded != NULL) {
            return true;
        }
    }
    return false;
}

/* I2: every answer that reached a worker is in the ledger, or in a spool that a resume of the
 * finished run will collect. */
static void check_answers(struct sim *s)
{
    for (size_t n = 0; n < s->calls_count; n++) {
        const struct sim_call *call = &s->calls[n];
        const struct sim_worker *w = &s->workers[call->worker];
        if (call->state != CALL_ANSWERED || !w->has_spool) {
            continue;
        }
        const struct sim_ledger_row *row = sim_store_row(&s->store, &call->id);
        if ((row == NULL || row->end != VQ_END_ANSWER) && !kept(s, call)) {
            sim_fail(s, "I2: the answer of task %llu that worker %u got at %.3f s is nowhere",
                     (unsigned long long)call->task, call->worker, (double)call->answered_ns / 1e9);
        }
    }
    for (size_t n = 0; n < s->store.ledger_count; n++) {
        const struct sim_ledger_row *row = &s->store.ledger[n];
        struct vq_hash key = sim_key_id(&row->call);
        const uint64_t *at = sim_map_get(&s->calls_by_id, &key);
        if (at != NULL && (s->calls[*at].stage != row->stage || s->calls[*at].task != row->task)) {
            sim_fail(s,
                     "the ledger has a call of task %llu of stage %u under task %llu of stage %u",
                     (unsigned long long)s->calls[*at].task, s->calls[*at].stage,
                     (unsigned long long)row->task, row->stage);
        }
        if (row->end != VQ_END_UNKNOWN && row->end != VQ_END_NETWORK &&
            row->end != VQ_END_CANCELLED && row->end != VQ_END_BATCHED && at == NULL) {
            sim_fail(s, "the ledger has a call that was never made");
        }
    }
    if (s->store.foreign > 0) {
        sim_fail(s, "%llu results were not of this run's questions",
                 (unsigned long long)s->store.foreign);
    }
}

/* I1: the run state, the core and the store say the same of every task, and each is settled. */
static void check_tasks(struct sim *s)
{
    if (s->store.column_commits != s->store.commits) {
        sim_store_rebuild_redis(&s->store); /* read together with n: a difference means rebuild */
    }
    for (uint64_t task = 0; task < vq_grid_tasks(&s->store.grid); task++) {
        struct vq_task_view view;
        sim_store_state(&s->store, task, &view);
        if (view.outcome == VQ_OUTCOME_NONE || view.outcome != s->store.column[task] ||
            view.outcome != vq_coord_outcome(s->coord.core, task)) {
            sim_fail(s, "I1: task %llu: store %s, run state %s, core %s", (unsigned long long)task,
                     vq_outcome_name(view.outcome),
                     vq_outcome_name((enum vq_outcome)s->store.column[task]),
                     vq_outcome_name(vq_coord_outcome(s->coord.core, task)));
            return;
        }
    }
}

/* I1: what was settled in earlier stages still is. */
static void check_earlier(struct sim *s)
{
    uint32_t last = s->stage;
    for (uint32_t n = 0; n < last; n++) {
        sim_stage_look(s, n);
        sim_talks_check_end(s);
        for (uint64_t task = 0; task < vq_grid_tasks(&s->store.grid); task++) {
            struct vq_task_view view;
            sim_store_state(&s->store, task, &view);
            if (view.outcome == VQ_OUTCOME_NONE) {
                sim_fail(s, "I1: task %llu of stage %u is open at the end",
                         (unsigned long long)task, n);
                break;
            }
        }
    }
    sim_stage_look(s, last);
}

void sim_check_end(struct sim *s)
{
    check_tasks(s);
    sim_talks_check_end(s);
    check_earlier(s);
    check_answers(s);
    sim_bulk_check_end(s);
    for (size_t c = 0; c < VQ_TASK_STATES; c++) {
        for (size_t e = 0; e < VQ_TASK_EVENTS; e++) {
            s->report->moves[c][e] += vq_coord_moves(s->coord.core)[c][e];
        }
    }
}

/* A worker that was ordered to leave gets no work, nor does a session whose key was revoked. */
void sim_check_leaves(struct sim *s, uint64_t peer, uint64_t session)
{
    uint32_t worker;
    if (sim_peer_worker(s, peer, &worker) &&
        s->workers[worker].expelled_life == s->coord.life + 1 &&
        s->workers[worker].expelled_session == session) {
        sim_fail(s, "the key of worker %u was revoked, and its session gets a lease", worker);
    }
    if (sim_peer_worker(s, peer, &worker) && s->workers[worker].leaves_life == s->coord.life + 1) {
        sim_fail(s, "worker %u was told to leave, and gets a lease", worker);
    }
}
