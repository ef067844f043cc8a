/* The coordinator's process: the real core and what its shell would do with each action: look-ups,
 * commits (LMDB first, then the run state, then committed), imports of dead workers' spools,
 * starting local workers. A kill may fall between any two actions and at each step of a commit; the
 * store outlives it. */
#include "tests/simulation/sim.h"

#include "common/base/alloc.h"

static void turn(struct sim *s);
static void in_core(struct sim *s, const struct sim_event *event);

static bool ok(struct sim *s, enum vq_status status, const char *what)
{
    if (status != VQ_OK) {
        sim_fail(s, "the coordinator's core: %s: %s", what, vq_status_text(status));
    }
    return status == VQ_OK;
}

void sim_coord_start(struct sim *s)
{
    if (s->coord.core != NULL || s->coord.finished) {
        return;
    }
    struct sim_coord *co = &s->coord;
    sim_stage_enter(s, 0); /* it walks through what is finished again */
    s->params.epoch = ++co->epoch;
    s->params.wait_ns = co->ever && !co->clean ? s->term_ns : 0;
    sim_listed_anew(s);
    co->ever = true;
    co->fence_n = 0;
    co->clean = false;
    co->running_since_ns = co->started_ns = s->now_ns;
    co->waits = s->params.wait_ns > 0;
    co->paused_until_ns = 0;
    co->wake_ns = INT64_MAX;
    co->die_in = -1;
    struct vq_error err = {""};
    sim_authority_make(s, co->waits);
    if (s->report->failed) {
        return;
    }
    if (vq_coord_create(&s->params, s->now_ns, &co->core, &err) != VQ_OK) {
        sim_fail(s, "cannot create the coordinator: %s", err.text);
        return;
    }
    sim_take_stored(s);
    sim_bulk_take_stored(s);
    sim_say(s, "coordinator starts, epoch %llu%s", (unsigned long long)co->epoch,
            s->params.wait_ns > 0 ? ", waits one term" : "");
    for (uint32_t i = 0; i < s->workers_count; i++) {
        struct sim_worker *w = &s->workers[i];
        w->child = w->found = false;
        if (w->work != NULL) {
            int64_t at_ns = s->now_ns + sim_between(s, 1, 500) * VQ_NS_PER_MS;
            sim_connect(s, i, at_ns, !sim_chance(s, s->knobs.same_peer));
            if (sim_chance(s, s->knobs.block / 2)) { /* just when it says what it holds */
                at_ns += sim_between(s, 1, 8) * (s->knobs.delay_ns + s->knobs.jitter_ns);
                sim_push(s, at_ns, EV_BLOCK, i, 0, 0);
            }
        } else if (w->local >= 0 && w->spool.count > 0) {
            co->holds = w->found = true;
            sim_push(s, s->now_ns, EV_IMPORT, i, 0, co->life);
        }
    }
    for (uint32_t k = 0; k < s->locals; k++) {
        sim_push(s, s->now_ns + sim_between(s, 1, 300) * VQ_NS_PER_MS, EV_SPAWN, k, 0, co->life);
    }
    vq_authority_hold(co->authority, co->holds, s->now_ns);
    sim_trouble_start(s);
    turn(s);
}

/* Spools that were found at the start are in the ledger: what they cost is known. */
static void hold_ends(struct sim *s)
{
    for (uint32_t i = 0; i < s->workers_count; i++) {
        const struct sim_worker *w = &s->workers[i];
        if (w->found && w->spool.count > 0) {
            return;
        }
    }
    if (s->coord.holds) {
        s->coord.holds = false;
        vq_authority_hold(s->coord.authority, s->coord.held, s->now_ns);
    }
}

/* Its links break; who its children are is another's business. */
static void leave_workers(struct sim *s)
{
    for (uint32_t i = 0; i < s->workers_count; i++) {
        struct sim_worker *w = &s->workers[i];
        w->child = w->imported = false;
        w->import_at = 0;
        w->import_no = 0;
        sim_disconnect(s, i);
    }
}

static void coord_end(struct sim *s)
{
    struct sim_coord *co = &s->coord;
    for (size_t c = 0; c < VQ_TASK_STATES; c++) {
        for (size_t e = 0; e < VQ_TASK_EVENTS; e++) {
            s->report->moves[c][e] += vq_coord_moves(co->core)[c][e];
        }
    }
    vq_coord_destroy(&co->core);
    vq_authority_destroy(&co->authority);
    co->holds = false;
    vq_free(co->settled);
    co->settled = NULL;
    co->batch = NULL;
    co->batch_lmdb = co->paused = co->held = co->store_failed = false;
    co->taken_nano = 0;
    co->life++;
    if (!s->is_stale) {
        leave_workers(s);
    }
}

void sim_coord_kill(struct sim *s)
{
    sim_trouble_crashed(s);
    coord_end(s);
    sim_push(s, s->now_ns + sim_spread(s, 2 * VQ_NS_PER_S), EV_COORD_START, 0, 0, 0);
}

void sim_coord_pause(struct sim *s, int64_t until_ns)
{
    s->report->pauses++;
    s->coord.paused_until_ns = until_ns;
    if (until_ns - s->now_ns > s->heartbeat_ns) { /* rule 4: as after a start */
        s->coord.running_since_ns = until_ns;
    }
}

void sim_coord_usurp(struct sim *s, int64_t until_ns)
{
    struct sim_coord *co = &s->coord;
    sim_say(s, "the coordinator stops until %.3f s, and another one takes over",
            (double)until_ns / 1e9);
    leave_workers(s);
    s->stale = *co;
    s->stale.stage = s->stage;
    s->stale.paused_until_ns = until_ns;
    *co = (struct sim_coord){.life = s->stale.life + 1,
                             .epoch = s->stale.epoch,
                             .ever = true,
                             .redis_away = s->stale.redis_away};
    sim_push(s, s->now_ns + sim_between(s, 0, s->term_ns), EV_COORD_START, 0, 0, 0);
    int64_t checked_ns = until_ns + sim_between(s, 1, 50) * VQ_NS_PER_MS; /* whose the run is */
    sim_push(s, checked_ns, EV_USURPED, 0, 0, s->stale.life);
}

static void exchange(struct sim *s)
{
    struct sim_coord one = s->coord;
    uint32_t stage = s->stage;
    sim_stage_look(s, s->stale.stage);
    s->coord = s->stale;
    s->stale = one;
    s->stale.stage = stage;
    s->is_stale = !s->is_stale;
}

/* It reads the frames that waited for it. Its sends are not heard and its commits are refused. */
static void in_stale(struct sim *s, const struct sim_event *event)
{
    bool away = s->coord.redis_away;
    exchange(s);
    if (event->kind == EV_USURPED || event->kind == EV_REDIS) {
        sim_say(s, "the first coordinator hears that the run is another's");
        coord_end(s);
    } else if (event->kind != EV_STAGE && event->kind != EV_IMPORT && event->kind != EV_REAPED) {
        in_core(s, event);
    }
    exchange(s);
    s->coord.redis_away = away;
}

void sim_coord_drain(struct sim *s)
{
    sim_say(s, "coordinator is asked to drain");
    int64_t deadline_ns = s->now_ns + sim_between(s, 0, 3) * s->term_ns;
    if (ok(s, vq_coord_drain(s->coord.core, deadline_ns, s->now_ns), "drain")) {
        turn(s);
    }
}

/* Another run on the store has had more luck with them; their first orders settle, maybe. */
static void answer_failed(struct sim *s)
{
    double settle = s->knobs.p_settle;
    s->knobs.p_settle = sim_chance(s, 0.7) ? 1 : settle;
    for (uint64_t task = 0; task < vq_grid_tasks(&s->store.grid); task++) {
        if (vq_outcome_is_failed(vq_coord_outcome(s->coord.core, task)) && sim_chance(s, 0.5)) {
            sim_foreign_answer_to(s, task);
        }
    }
    s->knobs.p_settle = settle;
}

void sim_coord_requeue(struct sim *s)
{
    struct sim_coord *co = &s->coord;
    uint64_t tasks;
    if (co->core == NULL) {
        return;
    }
    uint32_t failures = (uint32_t)vq_rng_below(&s->hands, VQ_FAILURES_ALL) + 1;
    if (ok(s, vq_coord_requeue(co->core, failures, s->now_ns, &tasks), "requeue")) {
        sim_say(s, "%llu failed tasks are asked again by hand", (unsigned long long)tasks);
        s->report->reopened += tasks;
        if (tasks > 0 && s->trouble.p[SIM_AGAIN] > 0) {
            answer_failed(s);
        }
        turn(s);
    }
}

void sim_coord_told(struct sim *s, enum vq_status status, const char *what)
{
    if (ok(s, status, what)) {
        turn(s);
    }
}

void sim_redis_away(struct sim *s, int64_t for_ns)
{
    struct sim_coord *co = &s->coord;
    if (co->batch != NULL && co->batch_lmdb && s->store.column_commits + 1 == s->store.commits &&
        sim_chance(s, 0.5)) {
        sim_store_commit_redis(&s->store, co->batch); /* its reply is lost */
    }
    co->redis_away = true;
    sim_push(s, s->now_ns + for_ns, EV_REDIS_BACK, 0, 0, 0);
}

void sim_redis_kill(struct sim *s)
{
    sim_say(s, "Redis is killed");
    s->report->redis_kills++;
    s->coord.redis_away = true;
    memset(s->store.column, 0, (size_t)vq_grid_tasks(&s->store.grid));
    s->store.column_commits = 0; /* n and columns are lost together */
    sim_push(s, s->now_ns + sim_spread(s, VQ_NS_PER_S), EV_REDIS_BACK, 0, 0, 0);
}

/* ---- spools ---- */

static void spawn_soon(struct sim *s, int64_t local)
{
    if (local >= 0 && sim_may_spawn(s)) {
        sim_push(s, s->now_ns + sim_between(s, 1, 2000) * VQ_NS_PER_MS, EV_SPAWN, (uint32_t)local,
                 0, s->coord.life);
    }
}

/* A dead worker's spool is committed: the core hears of its end, and its place is free. */
static void spool_done(struct sim *s, struct sim_worker *w)
{
    bool taken = false; /* already, by a worker that an earlier coordinator started */
    for (uint32_t i = 0; i < s->workers_count; i++) {
        taken |= s->workers[i].work != NULL && s->workers[i].local == w->local;
    }
    if (!taken) {
        (void)ok(s, vq_coord_local_ended(s->coord.core, w->local, s->now_ns), "worker ended");
    }
    sim_worker_free(w);
    w->import_no = 0;
    hold_ends(s);
    spawn_soon(s, w->local);
}

/* Offers what is left of the spool; again later if the batch is full. Then the worker has ended. */
static void import(struct sim *s, uint32_t i)
{
    struct sim_worker *w = &s->workers[i];
    while (!w->imported && w->import_at < w->spool.count) {
        struct vq_result result;
        size_t taken = 1;
        if (sim_spool_result(s, w, w->import_at, &result) &&
            !ok(s,
                vq_coord_import(s->coord.core, vq_span_str("dead"), &result, 1, s->now_ns, &taken),
                "import")) {
            return;
        }
        if (taken == 0) {
            sim_push(s, s->now_ns + 5 * VQ_NS_PER_MS, EV_IMPORT, i, 0, s->coord.life);
            return;
        }
        w->import_at++;
    }
    if (!w->imported) {
        w->imported = true;
        w->import_no = vq_coord_imported_no(s->coord.core);
    }
    struct vq_coord_status status;
    vq_coord_status_fill(s->coord.core, s->now_ns, &status);
    if (status.batches >= w->import_no) {
        spool_done(s, w);
    }
}

static bool importable(const struct sim_worker *w)
{
    return w->work == NULL && w->local >= 0 && !w->imported;
}

/* ---- commits ---- */

static void commit_redis(struct sim *s)
{
    struct sim_coord *co = &s->coord;
    if (co->batch == NULL || !co->batch_lmdb) {
        return; /* Redis went and came back before: it is done */
    }
    if (co->redis_away) {
        if (!co->paused) {
            co->paused = true;
            (void)ok(s, vq_coord_commit_paused(co->core, true, s->now_ns), "paused");
            turn(s);
        }
        return; /* EV_REDIS_BACK goes on */
    }
    if (s->store.column_commits == s->store.commits - 1) {
        sim_store_commit_redis(&s->store, co->batch);
    } else if (s->store.column_commits != s->store.commits) { /* else: it was done */
        sim_store_rebuild_redis(&s->store);
    }
    sim_trouble_redis(s);
    uint64_t no = co->batch->no;
    sim_check_settled(s, co->settled, co->settled_count);
    co->batch = NULL;
    co->batch_lmdb = false;
    if (co->paused) {
        co->paused = false;
        (void)ok(s, vq_coord_commit_paused(co->core, false, s->now_ns), "paused");
    }
    struct vq_settled *settled = co->settled;
    co->settled = NULL;
    bool done =
        ok(s, vq_coord_committed(co->core, no, settled, co->settled_count, s->now_ns), "committed");
    vq_free(settled);
    for (uint32_t i = 0; done && i < s->workers_count; i++) {
        struct sim_worker *w = &s->workers[i];
        if (w->import_no != 0 && w->imported && w->import_no <= no) {
            spool_done(s, w);
        }
    }
    if (done) {
        turn(s);
    }
}

/* A full disk, or a failed fsync (the file's content is unknown): the run stops without ACKs. */
static void commit_fails(struct sim *s, bool durable)
{
    struct sim_coord *co = &s->coord;
    sim_say(s, "the commit fails, and %s", durable ? "is there" : "nothing of it is there");
    if (durable) {
        sim_store_commit_lmdb(&s->store, co->batch);
    }
    co->store_failed = true;
    if (ok(s, vq_coord_commit_failed(co->core, "as drawn", s->now_ns), "commit failed")) {
        turn(s);
    }
}

/* Another coordinator has raised the epoch: what was paid for is recorded, and that is all. */
static void commit_stale(struct sim *s)
{
    struct sim_coord *co = &s->coord;
    for (size_t i = 0; i < co->batch->results_count; i++) {
        sim_store_record(&s->store, &co->batch->results[i]);
    }
    co->store_failed = true;
    if (ok(s,
           vq_coord_commit_failed(co->core, "another coordinator has taken this run over",
                                  s->now_ns),
           "commit refused")) {
        turn(s);
    }
}

static void commit_lmdb(struct sim *s)
{
    struct sim_coord *co = &s->coord;
    if (s->is_stale && s->stale.core != NULL) {
        commit_stale(s);
        return;
    }
    bool full = sim_more(s, SIM_STORE_FULL);
    if (full || sim_more(s, SIM_FSYNC)) {
        commit_fails(s, !full && (s->options.small != NULL || sim_chance(s, 0.5)));
        return;
    }
    sim_bulk_repeated(s);
    sim_store_commit_lmdb(&s->store, co->batch);
    co->settled_count = sim_store_settled(&s->store, co->batch, &co->settled);
    co->batch_lmdb = true;
    sim_push(s, s->now_ns + sim_spread(s, s->knobs.commit_ns / 4), EV_REDIS, 0, 0, co->life);
}

/* ---- actions ---- */

static void look_up(struct sim *s, uint64_t shard)
{
    struct vq_known known[2 * 16] = {0};
    sim_store_known(&s->store, shard, known);
    for (uint32_t i = 0; i < vq_grid_shard_tasks(&s->store.grid); i++) {
        sim_say(s, "  look-up of shard %llu, task %llu: %s%s", (unsigned long long)shard,
                (unsigned long long)(shard * vq_grid_shard_tasks(&s->store.grid) + i),
                vq_outcome_name(known[i].outcome), known[i].prior.bytes > 0 ? ", a text" : "");
    }
    sim_push_bytes(s, s->now_ns + sim_spread(s, s->knobs.lookup_ns), EV_LOOKED_UP, s->stage, shard,
                   s->coord.life,
                   vq_span((const char *)known,
                           vq_grid_shard_tasks(&s->store.grid) * sizeof(struct vq_known)));
}

static void send(struct sim *s, uint64_t peer, const struct vq_msg *msg)
{
    sim_say(s, "coordinator says %s to peer %llu", vq_msg_name(msg->type),
            (unsigned long long)peer);
    if (msg->type == VQ_MSG_LEASE) {
        sim_check_lease(s, &msg->u.lease);
        sim_check_leaves(s, peer, msg->u.lease.session);
    }
    for (uint32_t i = 0; msg->type == VQ_MSG_ACK && i < msg->u.ack.calls_count; i++) {
        sim_check_ack(s, &msg->u.ack.calls[i]);
    }
    for (uint32_t i = 0; msg->type == VQ_MSG_ACK && i < msg->u.ack.batched_count; i++) {
        sim_check_ack(s, &msg->u.ack.batched[i]);
    }
    sim_advances_keep(s, msg->type == VQ_MSG_GRANT);
    if (msg->type == VQ_MSG_GRANT) {
        sim_check_grant(s, &msg->u.grant);
    } else if (msg->type == VQ_MSG_DRAIN) {
        sim_budget_drain(s);
    }
    sim_send_to_worker(s, peer, msg);
}

static void send_spec(struct sim *s, const struct vq_coord_action *action)
{
    struct vq_msg msg = {.type = VQ_MSG_SPEC,
                         .u.spec = {.session = action->u.send.session,
                                    .hash = s->params.spec,
                                    .body = vq_buf_span(&s->stages[s->stage].spec)}};
    send(s, action->u.send.peer, &msg);
}

static void send_sample(struct sim *s, const struct vq_coord_action *action)
{
    const struct vq_sample *sample = &s->stages[s->stage].samples[action->u.sample.sample];
    struct vq_msg msg = {.type = VQ_MSG_SAMPLE,
                         .u.sample = {.session = action->u.sample.session,
                                      .sample = action->u.sample.sample,
                                      .prompt = sample->prompt,
                                      .a = sample->a,
                                      .b = sample->b}};
    send(s, action->u.sample.peer, &msg);
}

/* A session has ended: if its worker is dead and of this machine, its spool is read before its
 * tasks are leased again. */
static void closed(struct sim *s, uint64_t peer)
{
    for (uint32_t i = 0; i < s->workers_count; i++) {
        if (s->workers[i].peer == peer && importable(&s->workers[i])) {
            import(s, i);
        }
    }
}

static void finished(struct sim *s)
{
    bool more = s->stage + 1 < s->stages_count;
    sim_say(s, "FINISHED stage %u", s->stage);
    s->coord.finished = !more;
    sim_check_unknown(s);
    bool column_whole = s->store.column_commits == s->store.commits; /* else: rebuilt first */
    if (s->coord.batch != NULL) {
        sim_fail(s, "finished with a commit in flight");
    }
    for (uint64_t task = 0; task < vq_grid_tasks(&s->store.grid); task++) {
        struct vq_task_view view;
        sim_store_state(&s->store, task, &view);
        enum vq_outcome outcome = vq_coord_outcome(s->coord.core, task);
        if (view.outcome != outcome || outcome == VQ_OUTCOME_NONE ||
            (column_whole && s->store.column[task] != outcome)) {
            sim_fail(s, "I1: finished, and task %llu is %s in the store and %s in the core",
                     (unsigned long long)task, vq_outcome_name(view.outcome),
                     vq_outcome_name(outcome));
        }
    }
    if (!more) {
        sim_push(s, s->now_ns + 3 * s->term_ns, EV_OVER, 0, 0, 0);
        return;
    }
    int64_t think_ns = sim_between(s, 0, sim_chance(s, 0.3) ? 2 * s->term_ns : 50 * VQ_NS_PER_MS);
    if (sim_chance(s, 0.3)) { /* the method's numbers take the loop's own time */
        sim_say(s, "the coordinator thinks for %.3f s", (double)think_ns / 1e9);
        s->coord.paused_until_ns = s->now_ns + think_ns;
    }
    sim_push(s, s->now_ns + think_ns, EV_STAGE, s->stage + 1, 0, s->coord.life);
    sim_boundary(s);
}

static void stopped(struct sim *s, const struct vq_coord_action *action)
{
    sim_say(s, "STOPPED (%d, %s): %s", (int)action->u.stopped.kind,
            action->u.stopped.clean ? "clean" : "not clean", action->u.stopped.text);
    if (s->is_stale) {
        return;
    }
    if (action->u.stopped.text[0] == '\0') {
        sim_fail(s, "I10: stopped without a word");
    }
    s->report->restarts++;
    if ((action->u.stopped.kind == VQ_COORD_STOP_STORE && !s->coord.store_failed) ||
        action->u.stopped.kind == VQ_COORD_STOP_ANSWERS) {
        sim_fail(s, "stopped: %s", action->u.stopped.text);
    }
    if (action->u.stopped.kind == VQ_COORD_STOP_BUDGET) {
        sim_budget_empty(s);
    }
    s->coord.finished =
        false; /* behind the end, what was found could not be kept: a resume brings it */
    s->coord.clean = action->u.stopped.clean;
    s->clean_epoch = s->coord.clean ? s->coord.epoch : s->clean_epoch;
}

static void act(struct sim *s, const struct vq_coord_action *action, bool *ret_stopped)
{
    struct sim_coord *co = &s->coord;
    if (s->is_stale && action->type != VQ_COORD_LOOKUP && action->type != VQ_COORD_COMMIT &&
        action->type != VQ_COORD_STOPPED) {
        return;
    }
    switch (action->type) {
    case VQ_COORD_SEND: send(s, action->u.send.peer, &action->u.send.msg); break;
    case VQ_COORD_SPEC: send_spec(s, action); break;
    case VQ_COORD_SAMPLE: send_sample(s, action); break;
    case VQ_COORD_LOOKUP: look_up(s, action->u.shard); break;
    case VQ_COORD_COMMIT:
        if (co->batch != NULL) {
            sim_fail(s, "two commits in flight");
        }
        co->batch = action->u.batch;
        sim_say(s, "commit %llu: %zu results, %zu failures, %zu found",
                (unsigned long long)co->batch->no, co->batch->results_count,
                co->batch->failures_count, co->batch->settled_count);
        if (co->batch->reopened_count > 0 && sim_more(s, SIM_AGAIN)) {
            sim_push(s, s->now_ns, EV_AGAIN, 0, 0, co->life);
        }
        sim_push(s, s->now_ns + sim_spread(s, s->knobs.commit_ns), EV_LMDB, 0, 0, co->life);
        break;
    case VQ_COORD_COLLECT: sim_bulk_send(s, &action->u.collect); break;
    case VQ_COORD_CLOSE: closed(s, action->u.send.peer); break;
    case VQ_COORD_NOTE: sim_say(s, "coordinator: %s", action->u.note.text); break;
    case VQ_COORD_FINISHED: finished(s); break;
    case VQ_COORD_STOPPED:
        stopped(s, action);
        *ret_stopped = true;
        break;
    }
}

static void turn(struct sim *s)
{
    struct sim_coord *co = &s->coord;
    struct vq_coord_action action;
    bool has_stopped = false;
    while (!s->report->failed && vq_coord_next(co->core, s->now_ns, &action)) {
        if (co->die_in >= 0 && co->die_in-- == 0 && !co->finished && !has_stopped) {
            sim_coord_kill(s);
            return;
        }
        act(s, &action, &has_stopped);
    }
    if (!ok(s, vq_coord_health(co->core), "actions")) {
        return;
    }
    if (has_stopped) {
        coord_end(s);
        if (!s->is_stale) {
            sim_push(s, s->now_ns + sim_spread(s, 3 * VQ_NS_PER_S), EV_COORD_START, 0, 0, 0);
        }
        return;
    }
    int64_t wake_ns = vq_coord_wake_ns(co->core);
    if (wake_ns < co->wake_ns) {
        co->wake_ns = wake_ns <= s->now_ns ? s->now_ns + VQ_NS_PER_US : wake_ns;
        sim_push(s, co->wake_ns, EV_TICK, 0, (uint64_t)co->wake_ns, co->life);
    }
}

static void next_stage(struct sim *s, uint32_t n)
{
    struct sim_coord *co = &s->coord;
    if (co->batch != NULL) { /* spools that were imported after the end */
        sim_push(s, s->now_ns + VQ_NS_PER_MS, EV_STAGE, n, 0, co->life);
        return;
    }
    for (size_t c = 0; c < VQ_TASK_STATES; c++) {
        for (size_t e = 0; e < VQ_TASK_EVENTS; e++) {
            s->report->moves[c][e] += vq_coord_moves(co->core)[c][e];
        }
    }
    int64_t since_ns = s->now_ns - co->started_ns;
    sim_stage_enter(s, n);
    s->report->stages++;
    s->params.wait_ns = co->waits && since_ns < s->term_ns ? s->term_ns - since_ns : 0;
    sim_say(s, "stage %u begins", n);
    struct vq_coord *before = co->core;
    struct vq_error err = {""};
    co->core = NULL;
    if (vq_coord_create(&s->params, s->now_ns, &co->core, &err) != VQ_OK) {
        sim_fail(s, "cannot create the coordinator of stage %u: %s", n, err.text);
    } else {
        sim_take_stored(s);
        (void)ok(s, vq_coord_hand_over(before, co->core, s->now_ns), "hand over");
        sim_check_handed_over(s);
    }
    vq_coord_destroy(&before);
    co->wake_ns = INT64_MAX;
    sim_boundary(s);
    if (!s->report->failed) {
        turn(s);
    }
}

/* ---- events ---- */

static uint64_t dropped(const struct sim *s)
{
    struct vq_coord_status status;
    vq_coord_status_fill(s->coord.core, s->now_ns, &status);
    return status.dropped_session + status.dropped_unknown;
}

/* The session of the peer; 0: none. A core that has ended answers each frame with BYE. */
static uint64_t session_of(const struct sim *s, uint64_t peer)
{
    struct vq_coord_status status;
    struct vq_coord_worker_status worker;
    uint64_t session = 0;
    vq_coord_status_fill(s->coord.core, s->now_ns, &status);
    for (uint32_t i = 0; session == 0 && status.stage != VQ_COORD_DONE &&
                         vq_coord_worker_fill(s->coord.core, i, &worker);
         i++) {
        session = worker.peer == peer ? worker.session : 0;
    }
    return session;
}

static void frame(struct sim *s, const struct sim_event *event)
{
    struct vq_msg msg;
    struct vq_error err = {""};
    struct vq_span bytes = vq_span(event->bytes, event->count);
    if (vq_msg_decode(s->decoder, bytes, VQ_TO_COORDINATOR, &msg, &err) != VQ_OK) {
        sim_fail(s, "the coordinator cannot decode: %s", err.text);
        return;
    }
    sim_say(s, "coordinator hears %s of worker %u (peer %llu)", vq_msg_name(msg.type), event->a,
            (unsigned long long)event->b);
    if (msg.type == VQ_MSG_CREDIT) {
        sim_say_credit(s, &msg.u.credit);
    }
    uint64_t before = dropped(s);
    uint64_t session = session_of(s, event->b);
    bool expelled = s->workers[event->a].expelled; /* its session is deaf */
    const struct vq_msg_held *held =
        msg.type == VQ_MSG_HELD || msg.type == VQ_MSG_HEARTBEAT ? &msg.u.held : NULL;
    for (uint32_t i = 0; held != NULL && i < held->calls_count; i++) {
        struct vq_hash key = sim_key_id(&held->calls[i].call);
        const uint64_t *n = sim_map_get(&s->calls_by_id, &key);
        if (n != NULL && session != 0 && held->session == session && !expelled &&
            held->calls[i].stage == s->stage && !s->is_stale) { /* it is about to hear of it */
            s->calls[*n].heard_life = s->coord.life + 1;
        }
    }
    if (!ok(s, vq_coord_message(s->coord.core, event->b, &msg, s->now_ns), "message")) {
        return;
    }
    bool read = session != 0 && dropped(s) == before && !s->is_stale && !expelled;
    if (msg.type != VQ_MSG_HELLO && read) {
        struct sim_worker *w = &s->workers[event->a];
        w->back_ns = s->now_ns - w->spoke_ns >= s->term_ns ? s->now_ns : w->back_ns;
        w->spoke_ns = s->now_ns;
        w->reported_life = msg.type == VQ_MSG_CREDIT ? s->coord.life + 1 : w->reported_life;
    }
    if (held != NULL && read) { /* rule 5: reserved for a term from the last list on */
        s->workers[event->a].heard_ns = s->now_ns;
        sim_listed(s, held);
    }
    turn(s);
}

static void spawn(struct sim *s, const struct sim_event *event)
{
    if (event->a == UINT32_MAX) {
        sim_worker_spawn(s, -1);
        return;
    }
    if (s->coord.core == NULL || s->coord.finished || sim_spawn_waits(s, event->a)) {
        return; /* its start spawns */
    }
    for (uint32_t i = 0; i < s->workers_count; i++) {
        struct sim_worker *w = &s->workers[i];
        if (w->local == (int64_t)event->a && (w->work != NULL || w->spool.count > 0)) {
            return; /* lives, or its spool comes first */
        }
    }
    sim_worker_spawn(s, event->a);
}

static void in_core(struct sim *s, const struct sim_event *event)
{
    struct sim_coord *co = &s->coord;
    if (!s->is_stale && s->stale.core != NULL && event->life == s->stale.life) {
        in_stale(s, event);
        return;
    }
    if (co->core == NULL || event->life != co->life) {
        return;
    }
    switch ((int)event->kind) {
    case EV_TO_COORD: frame(s, event); return;
    case EV_STAGE: next_stage(s, event->a); return;
    case EV_LOOKED_UP:
        if (event->a != s->stage) {
            return; /* of the core before */
        }
        if (!s->is_stale) {
            s->stages[s->stage].looked_ns[event->b] = s->now_ns;
        }
        if (ok(s,
               vq_coord_looked_up(co->core, event->b, (const struct vq_known *)(void *)event->bytes,
                                  s->now_ns),
               "looked up")) {
            turn(s);
        }
        return;
    case EV_LMDB: commit_lmdb(s); return;
    case EV_AGAIN: sim_coord_requeue(s); return;
    case EV_DRAIN: sim_coord_drain(s); return;
    case EV_CLOCK:
        vq_authority_clock(co->authority, sim_unix_s(s) + s->trouble.wall_shift_s, s->now_ns);
        return;
    case EV_REDIS: commit_redis(s); return;
    case EV_REAPED:
    case EV_IMPORT:
        if (importable(&s->workers[event->a])) {
            import(s, event->a);
            turn(s);
        }
        return;
    case EV_TICK:
        if (event->b != (uint64_t)co->wake_ns) {
            return; /* it wanted an earlier one since */
        }
        co->wake_ns = INT64_MAX;
        if (!s->is_stale) {
            sim_check_silence(s); /* all that was waiting has been read */
        }
        if (ok(s, vq_coord_tick(co->core, s->now_ns), "tick")) {
            turn(s);
        }
        if (s->healed) {
            sim_coord_hold(s, false);
            sim_bulk_steer(s, true);
        }
        return;
    default: return;
    }
}

void sim_coord_event(struct sim *s, const struct sim_event *event)
{
    switch ((int)event->kind) {
    case EV_COORD_START: sim_coord_start(s); return;
    case EV_SPAWN: spawn(s, event); return;
    case EV_REDIS_BACK:
        sim_say(s, "Redis is back");
        s->coord.redis_away = false;
        if (s->coord.core != NULL && s->coord.batch_lmdb) {
            sim_push(s, s->now_ns, EV_REDIS, 0, 0, s->coord.life);
        }
        return;
    default: in_core(s, event); return;
    }
}
