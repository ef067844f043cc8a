/* The coordinator's core: its creation, its clock and its wake-up time. Every event enters here,
 * moves the clock and is passed to the file that handles it; timers are ordered lists. The turn
 * (scout, leases, the end) runs when the queue of actions is empty, so that it sees all events of a
 * loop turn.
 *
 * Invariants: the clock never goes back. A gap of more than a heartbeat between two events is a
 * pause of our own loop, after which nothing is leased for a term (rule 4). FINISHED or STOPPED is
 * queued once, and only BYE follows it. */
#include "coordinator/queue/coord.h"

#include "common/base/alloc.h"
#include "coordinator/queue/internal.h"
#include "proto/claim.h"

#include <stdio.h>

/* ---- create, destroy ---- */

static enum vq_status params_check(const struct vq_coord_params *p, struct vq_error *err)
{
    const struct vq_grid *g = &p->grid;
    if (g->samples == 0 || g->judges == 0 || g->vibes == 0) {
        return vq_fail(err, VQ_INVALID, "a stage without samples, judges or vibes has no tasks");
    }
    if (g->judges > VQ_COORD_JUDGES_MAX || g->vibes > VQ_COORD_VIBES_MAX ||
        vq_grid_tasks(g) > VQ_COORD_TASKS_MAX) {
        return vq_fail(
            err, VQ_LIMIT,
            "the stage has %u judges, %u vibes and %llu tasks; the limits are %u, %u, %llu",
            g->judges, g->vibes, (unsigned long long)vq_grid_tasks(g), VQ_COORD_JUDGES_MAX,
            VQ_COORD_VIBES_MAX, (unsigned long long)VQ_COORD_TASKS_MAX);
    }
    if (p->authority == NULL) {
        return vq_fail(err, VQ_INVALID, "a stage needs the authority over its pools");
    }
    for (uint32_t j = 0; j < g->judges; j++) {
        if (p->judges[j].pools_count == 0 || p->judges[j].pools_count > VQ_COORD_POOLS_MAX) {
            return vq_fail(err, VQ_INVALID, "judge %u has %u pools; it needs 1 to %u", j,
                           p->judges[j].pools_count, VQ_COORD_POOLS_MAX);
        }
        for (uint32_t i = 0; i < p->judges[j].pools_count; i++) {
            if (p->judges[j].pools[i] >= vq_authority_pools(p->authority)) {
                return vq_fail(err, VQ_INVALID, "judge %u has a pool %u that does not exist", j,
                               p->judges[j].pools[i]);
            }
        }
    }
    if (p->heartbeat_ns <= 0 || p->term_ns < 3 * p->heartbeat_ns) {
        return vq_fail(err, VQ_INVALID, "a lease's term must be at least three heartbeats");
    }
    return VQ_OK;
}

static enum vq_status lanes_create(struct vq_coord *c, const struct vq_coord_judge *judges)
{
    const struct vq_grid *g = &c->params.grid;
    VQ_TRY(VQ_ALLOC(c->lanes, g->judges));
    VQ_TRY(VQ_ALLOC(c->grants.slices, VQ_AUTHORITY_POOLS_MAX));
    for (uint32_t j = 0; j < g->judges; j++) {
        struct vq_coord_lane *lane = &c->lanes[j];
        VQ_TRY(vq_copy(judges[j].name, &lane->name));
        VQ_TRY(VQ_ALLOC(lane->pools, judges[j].pools_count));
        VQ_TRY(VQ_ALLOC(lane->brakes, judges[j].pools_count));
        lane->pools_count = judges[j].pools_count;
        lane->seconds_wait = judges[j].seconds_wait;
        memcpy(lane->pools, judges[j].pools, lane->pools_count * sizeof(*lane->pools));
        vq_list_init(&lane->again);
        vq_list_init(&lane->ready);
        vq_list_init(&lane->hungry);
        lane->open = (uint64_t)g->samples * c->shard_tasks;
        lane->counts.state[VQ_TASK_OPEN] = lane->counts.outcome[VQ_OUTCOME_NONE] = lane->open;
    }
    return VQ_OK;
}

static void defaults(struct vq_coord_params *p)
{
    p->ready_shards_max = p->ready_shards_max == 0 ? VQ_COORD_READY_DEFAULT : p->ready_shards_max;
    p->commit_results_max =
        p->commit_results_max == 0 ? VQ_COORD_BATCH_RESULTS_DEFAULT : p->commit_results_max;
    p->commit_bytes_max =
        p->commit_bytes_max == 0 ? VQ_COORD_BATCH_BYTES_DEFAULT : p->commit_bytes_max;
    p->worker_lost_max = p->worker_lost_max == 0 ? VQ_COORD_LOST_DEFAULT : p->worker_lost_max;
    p->worker_lost_max = p->worker_lost_max > UINT8_MAX ? UINT8_MAX : p->worker_lost_max;
    p->judges = NULL; /* copied into the lanes */
    p->run_name = NULL;
    p->alike = NULL;
}

enum vq_status vq_coord_create(const struct vq_coord_params *params, int64_t now_ns,
                               struct vq_coord **ret_coord, struct vq_error *err)
{
    VQ_TRY(params_check(params, err));
    struct vq_coord *c = vq_alloc(1, sizeof(*c));
    if (c == NULL) {
        return vq_fail(err, VQ_NOMEM, "no memory for the coordinator");
    }
    c->params = *params;
    defaults(&c->params);
    c->now_ns = c->started_ns = now_ns;
    c->waits.until_ns = params->wait_ns > 0 ? now_ns + params->wait_ns : 0;
    c->sessions.n = c->leases.fence_n = (uint64_t)params->stage << VQ_COORD_STAGE_BITS;
    c->shard_tasks = vq_grid_shard_tasks(&params->grid);
    vq_coord_scout_init(c);
    c->tasks.open = vq_grid_tasks(&params->grid);
    c->tasks.counts.state[VQ_TASK_OPEN] = c->tasks.counts.outcome[VQ_OUTCOME_NONE] = c->tasks.open;
    c->batches.gather = &c->batches.gathers[0];
    c->batches.n = 1;
    struct vq_link *heads[] = {&c->calls.listed, &c->calls.recent, &c->sessions.heard,
                               &c->api.list};
    for (size_t i = 0; i < VQ_COUNT(heads); i++) {
        vq_list_init(heads[i]);
    }
    c->run_name = vq_strdup(params->run_name);
    c->tasks.outcome = vq_alloc((size_t)c->tasks.open, 1);
    c->actions.asks = vq_alloc(c->shard_tasks, sizeof(*c->actions.asks));
    c->actions.ack_ids = vq_alloc(2 * VQ_COORD_ACK_CALLS_MAX, sizeof(*c->actions.ack_ids));
    c->actions.turns =
        params->chains ? vq_alloc(params->grid.vibes, sizeof(*c->actions.turns)) : NULL;
    if (c->run_name == NULL || c->tasks.outcome == NULL || c->actions.asks == NULL ||
        c->actions.ack_ids == NULL || (params->chains && c->actions.turns == NULL) ||
        lanes_create(c, params->judges) != VQ_OK ||
        vq_coord_shared_turns_create(c, params->alike) != VQ_OK) {
        vq_coord_destroy(&c);
        return vq_fail(err, VQ_NOMEM, "no memory for a stage of %llu tasks",
                       (unsigned long long)vq_grid_tasks(&params->grid));
    }
    double bytes = (double)params->request_bytes_max;
    vq_authority_asks(params->authority, bytes > 0 ? bytes : VQ_CLAIM_REQUEST_BYTES_MAX,
                      (double)params->answer_tokens_max);
    vq_coord_report_work(c);
    *ret_coord = c;
    return VQ_OK;
}

/* Releases every node of a table, through its chains. */
static void table_each(struct vq_index *table, void (*release)(struct vq_index_node *))
{
    for (size_t i = 0; i < table->buckets_count; i++) {
        struct vq_index_node *node = table->buckets[i];
        while (node != NULL) {
            struct vq_index_node *next = node->next;
            release(node);
            node = next;
        }
    }
    vq_index_free(table);
}

static void shard_release(struct vq_index_node *node)
{
    vq_coord_shard_free(VQ_CONTAINER_OF(node, struct vq_coord_shard, by_no));
}

static void call_release(struct vq_index_node *node)
{
    vq_free(VQ_CONTAINER_OF(node, struct vq_coord_call, by_id));
}

static void use_release(struct vq_index_node *node)
{
    vq_free(VQ_CONTAINER_OF(node, struct vq_coord_use, by_sample));
}

void vq_coord_destroy(struct vq_coord **coord)
{
    struct vq_coord *c = *coord;
    if (c == NULL) {
        return;
    }
    *coord = NULL;
    for (size_t i = 0; i < c->sessions.count; i++) {
        vq_coord_session_free(c->sessions.all[i], c->params.grid.judges);
    }
    vq_free(c->sessions.all);
    table_each(&c->shards, shard_release);
    table_each(&c->calls.by_id, call_release);
    table_each(&c->leases.uses, use_release);
    vq_coord_api_batches_free(&c->api);
    table_each(&c->repairs.by_text, vq_coord_alike_free);
    vq_index_free(&c->sessions.by_peer);
    vq_index_free(&c->sessions.by_worker);
    vq_coord_gather_free(&c->batches.gathers[0]);
    vq_coord_gather_free(&c->batches.gathers[1]);
    for (uint32_t j = 0; c->lanes != NULL && j < c->params.grid.judges; j++) {
        vq_free(c->lanes[j].name);
        vq_free(c->lanes[j].pools);
        vq_free(c->lanes[j].brakes);
    }
    vq_free(c->lanes);
    vq_free(c->shared_turns);
    vq_free(c->grants.slices);
    vq_free(c->grants.parked);
    vq_coord_actions_free(&c->actions);
    vq_coord_waiting_free(&c->hellos);
    vq_free(c->left.list);
    vq_coord_known_free(&c->known);
    vq_free(c->batches.repeated);
    vq_free(c->tasks.outcome);
    vq_free(c->run_name);
    vq_free(c);
}

/* ---- time ---- */

/* Messages of the pause may still be in transit: no worker counts as silent for that time. */
static void sessions_spare(struct vq_coord *c, int64_t now_ns)
{
    int64_t floor_ns = now_ns - c->params.term_ns + c->params.heartbeat_ns;
    for (struct vq_link *link = c->sessions.heard.next; link != &c->sessions.heard;
         link = link->next) {
        struct vq_coord_session *s = VQ_CONTAINER_OF(link, struct vq_coord_session, order);
        if (s->heard_ns >= floor_ns) {
            break;
        }
        s->heard_ns = floor_ns;
        vq_authority_heard(c->params.authority, &s->worker, floor_ns);
    }
}

void vq_coord_enter(struct vq_coord *c, int64_t now_ns)
{
    if (now_ns <= c->now_ns) {
        return;
    }
    bool waits = c->waits.until_ns > c->now_ns || c->waits.later_until_ns > c->now_ns;
    if (now_ns - c->now_ns > c->params.heartbeat_ns && (!c->end.done || waits)) {
        c->tally.pauses++;
        int64_t until_ns = now_ns + c->params.term_ns;
        c->waits.until_ns = until_ns > c->waits.until_ns ? until_ns : c->waits.until_ns;
        sessions_spare(c, now_ns);
    }
    c->now_ns = now_ns;
}

static enum vq_status sessions_expire(struct vq_coord *c)
{
    struct vq_link *link;
    while ((link = vq_list_first(&c->sessions.heard)) != NULL) {
        struct vq_coord_session *s = VQ_CONTAINER_OF(link, struct vq_coord_session, order);
        if (c->now_ns - s->heard_ns < c->params.term_ns) {
            break;
        }
        vq_coord_note(c, VQ_COORD_NOTE_WARN,
                      "worker %s was silent for a whole term: its %u leases end", s->name,
                      s->leases_count);
        VQ_TRY(vq_coord_gone(c, s, VQ_AUTHORITY_SILENT, false));
        VQ_TRY(vq_coord_session_end(c, s, !s->deaf));
    }
    return VQ_OK;
}

enum vq_status vq_coord_tick(struct vq_coord *c, int64_t now_ns)
{
    vq_coord_enter(c, now_ns);
    if (c->end.done) {
        vq_authority_tick(c->params.authority, c->now_ns);
        return VQ_OK;
    }
    VQ_TRY(vq_coord_calls_expire(c)); /* before the sessions that list them expire */
    VQ_TRY(sessions_expire(c));
    vq_coord_left_settle(c);
    vq_coord_report_work(c);
    vq_authority_tick(c->params.authority, c->now_ns);
    c->grants.check = true;
    return vq_coord_money_tick(c);
}

static int64_t earlier(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

int64_t vq_coord_wake_ns(const struct vq_coord *c)
{
    if (c->end.done) {
        return INT64_MAX;
    }
    int64_t wake_ns =
        earlier(c->now_ns + c->params.heartbeat_ns / 2, vq_authority_wake_ns(c->params.authority));
    const struct vq_link *link;
    if ((link = vq_list_first(&c->sessions.heard)) != NULL) {
        wake_ns =
            earlier(wake_ns, VQ_CONTAINER_OF(link, const struct vq_coord_session, order)->heard_ns +
                                 c->params.term_ns);
    }
    if (vq_coord_waits_until(&c->waits) > c->now_ns) {
        wake_ns = earlier(wake_ns, vq_coord_waits_until(&c->waits));
    }
    if (c->waits.unheard_until_ns > c->now_ns) {
        wake_ns = earlier(wake_ns, c->waits.unheard_until_ns);
    }
    if (c->stop.begun && c->stop.deadline_ns > c->now_ns) {
        wake_ns = earlier(wake_ns, c->stop.deadline_ns);
    }
    if (c->end.linger_until_ns > c->now_ns) {
        wake_ns = earlier(wake_ns, c->end.linger_until_ns);
    }
    if (c->end.missed_until_ns > c->now_ns) {
        wake_ns = earlier(wake_ns, c->end.missed_until_ns);
    }
    wake_ns = earlier(wake_ns, vq_coord_api_batches_wake(c));
    if (c->params.finish_from_ns > c->now_ns) {
        wake_ns = earlier(wake_ns, c->params.finish_from_ns);
    }
    return wake_ns;
}

/* ---- the turn ---- */

/* Workers that reconnected while no core could answer them: their lists are still to come. */
static bool lists_to_come(const struct vq_coord *c)
{
    for (size_t i = 0; c->now_ns < c->waits.unheard_until_ns && i < c->sessions.count; i++) {
        if (!c->sessions.all[i]->held && !c->sessions.all[i]->deaf) {
            return true;
        }
    }
    return false;
}

int64_t vq_coord_waits_until(const struct vq_coord_waits *waits)
{
    return waits->until_ns > waits->later_until_ns ? waits->until_ns : waits->later_until_ns;
}

bool vq_coord_is_active(const struct vq_coord *c)
{
    return !c->stop.begun && !c->batches.paused && !c->waits.held_by_hand &&
           c->now_ns >= vq_coord_waits_until(&c->waits) && !lists_to_come(c);
}

static bool may_lease(const struct vq_coord *c)
{
    return vq_coord_is_active(c) && !vq_coord_gather_busy(c);
}

static enum vq_status say_end(struct vq_coord *c, enum vq_bye_code code, const char *text)
{
    for (size_t i = 0; i < c->sessions.count; i++) {
        VQ_TRY(vq_coord_bye(&c->actions, c->sessions.all[i]->peer, c->sessions.all[i]->id, code,
                            text));
    }
    c->end.done = true;
    return VQ_OK;
}

static bool nothing_gathers(const struct vq_coord_batches *batches)
{
    return vq_coord_gather_empty(batches) && batches->in_flight == NULL;
}

/* No task is open, but paid answers may still come from workers that could not connect: the
 * sessions stay for a while, so that the answers are recorded. */
static bool late_ones_to_come(struct vq_coord *c)
{
    if (c->stop.begun) {
        return false;
    }
    if (c->now_ns < c->params.finish_from_ns) {
        return true;
    }
    if (c->params.missed_ns == 0 || !vq_coord_left_missed(&c->left)) {
        return false;
    }
    if (c->end.missed_until_ns == 0) {
        c->end.missed_until_ns = c->now_ns + c->params.missed_ns;
    }
    if (c->now_ns >= c->end.missed_until_ns) {
        vq_coord_left_give_up(&c->left);
        return false;
    }
    return true;
}

static enum vq_status finish_check(struct vq_coord *c)
{
    /* a stop does not wait for batches: a resume collects them */
    bool batched = c->calls.batched_count > 0;
    if (c->tasks.open > 0 || c->requeue.failures != 0 || !nothing_gathers(&c->batches) || batched ||
        late_ones_to_come(c)) {
        return VQ_OK;
    }
    /* late answers are still coming: they are recorded if they come soon */
    if (c->calls.listed_count > 0 && !c->stop.begun) {
        if (c->end.linger_until_ns == 0) {
            c->end.linger_until_ns = c->now_ns + VQ_COORD_LINGER_TERMS * c->params.term_ns;
        }
        if (c->now_ns < c->end.linger_until_ns) {
            return VQ_OK;
        }
    }
    if (c->calls.listed_count > 0) { /* a stop before the next stage is then not clean */
        vq_coord_clean_later(c);
    }
    VQ_TRY(vq_coord_calls_end(c));
    if (!nothing_gathers(&c->batches)) {
        return VQ_OK;
    }
    if (c->params.more) {
        VQ_TRY(say_end(c, VQ_BYE_STAGE, "the stage is over"));
    } else {
        VQ_TRY(say_end(c, VQ_BYE_DONE, "the run is finished"));
    }
    c->end.finished = true;
    return vq_coord_add_action(&c->actions, (struct vq_coord_entry){.kind = ENTRY_FINISHED});
}

void vq_coord_clean_later(struct vq_coord *c)
{
    c->calls.gone_until_ns = c->now_ns + c->params.term_ns;
}

bool vq_coord_clean(const struct vq_coord *c)
{
    /* Before these times, calls may be out that are in no list. */
    return !c->stop.dirty && c->leases.count == 0 &&
           c->calls.listed_count + c->calls.received_count == 0 && c->now_ns >= c->waits.until_ns &&
           c->now_ns >= c->waits.later_until_ns && c->now_ns >= c->calls.gone_until_ns;
}

static enum vq_status stopped_say(struct vq_coord *c)
{
    bool clean = vq_coord_clean(c);
    c->stop.said = true;
    VQ_TRY(say_end(c, VQ_BYE_STOPPED, c->stop.text));
    return vq_coord_add_action(&c->actions,
                               (struct vq_coord_entry){.kind = ENTRY_STOPPED, .a = clean});
}

static enum vq_status stop_check(struct vq_coord *c)
{
    if (c->end.done || !c->stop.begun || !nothing_gathers(&c->batches)) {
        return VQ_OK;
    }
    bool out = c->leases.count > 0 || c->calls.listed_count > 0;
    if (out && !c->stop.now && c->now_ns < c->stop.deadline_ns) {
        return VQ_OK;
    }
    /* counted as unknown below, and perhaps still in flight */
    c->stop.dirty |= c->calls.listed_count > 0;
    VQ_TRY(vq_coord_calls_end(c));
    return nothing_gathers(&c->batches) ? stopped_say(c) : VQ_OK;
}

enum vq_status vq_coord_turn(struct vq_coord *c)
{
    if (c->end.done) {
        return VQ_OK;
    }
    VQ_TRY(vq_coord_stored_gather(c));
    VQ_TRY(vq_coord_requeue_gather(c));
    VQ_TRY(vq_coord_scout(c));
    if (may_lease(c)) {
        VQ_TRY(vq_coord_lease_all(c));
    }
    if (!c->stop.begun) {
        VQ_TRY(vq_coord_pools_check(c));
    }
    VQ_TRY(vq_coord_api_batches_look(c));
    VQ_TRY(vq_coord_send_grants(c));
    VQ_TRY(finish_check(c));
    return stop_check(c);
}

enum vq_status vq_coord_begin_stop(struct vq_coord *c, enum vq_coord_stop kind, int64_t deadline_ns,
                                   const char *text)
{
    if (c->stop.begun || c->end.done) {
        return VQ_OK;
    }
    c->stop.begun = true;
    c->stop.kind = kind;
    c->stop.deadline_ns = deadline_ns;
    (void)snprintf(c->stop.text, sizeof(c->stop.text), "%s", text);
    for (size_t i = 0; i < c->sessions.count; i++) {
        VQ_TRY(vq_coord_send_drain(&c->actions, c->sessions.all[i]));
    }
    return VQ_OK;
}

/* ---- events ---- */

enum vq_status vq_coord_message(struct vq_coord *c, uint64_t peer, const struct vq_msg *msg,
                                int64_t now_ns)
{
    vq_coord_enter(c, now_ns);
    return vq_coord_take_message(c, peer, msg);
}

enum vq_status vq_coord_looked_up(struct vq_coord *c, uint64_t shard, const struct vq_known *known,
                                  int64_t now_ns)
{
    vq_coord_enter(c, now_ns);
    return vq_coord_take_lookup(c, shard, known);
}

enum vq_status vq_coord_import(struct vq_coord *c, struct vq_span worker,
                               const struct vq_result *results, size_t count, int64_t now_ns,
                               size_t *ret_taken)
{
    vq_coord_enter(c, now_ns);
    for (size_t n = 0; n < count; n++) {
        if (!vq_coord_result_valid(c, &results[n])) {
            return VQ_INVALID;
        }
    }
    VQ_TRY(vq_coord_results(c, NULL, worker, results, count, ret_taken));
    /* results that were known before are in the current last batch or an earlier one */
    if (*ret_taken > 0) {
        c->batches.imported_no =
            vq_coord_gather_empty(&c->batches) ? c->batches.n - 1 : c->batches.n;
    }
    return VQ_OK;
}

uint64_t vq_coord_imported_no(const struct vq_coord *c)
{
    return c->batches.imported_no;
}

enum vq_status vq_coord_repeated(struct vq_coord *c, uint64_t no, const size_t *results,
                                 size_t count)
{
    const struct vq_coord_gather *g = c->batches.in_flight;
    if (g == NULL || g->batch.no != no) {
        return VQ_BUG;
    }
    vq_free(c->batches.repeated);
    c->batches.repeated =
        count == 0 ? NULL : vq_alloc(g->results_count, sizeof(*c->batches.repeated));
    if (count > 0 && c->batches.repeated == NULL) {
        return VQ_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        VQ_ASSERT(results[i] < g->results_count);
        c->batches.repeated[results[i]] = true;
    }
    return VQ_OK;
}

enum vq_status vq_coord_committed(struct vq_coord *c, uint64_t no, const struct vq_settled *settled,
                                  size_t count, int64_t now_ns)
{
    vq_coord_enter(c, now_ns);
    return vq_coord_take_commit(c, no, settled, count);
}

enum vq_status vq_coord_commit_paused(struct vq_coord *c, bool paused, int64_t now_ns)
{
    vq_coord_enter(c, now_ns);
    c->batches.paused = paused;
    return VQ_OK;
}

enum vq_status vq_coord_hold(struct vq_coord *c, bool held, int64_t now_ns)
{
    vq_coord_enter(c, now_ns);
    if (c->waits.held_by_hand == held) {
        return VQ_OK;
    }
    c->waits.held_by_hand = held;
    vq_authority_hold(c->params.authority, held, c->now_ns); /* the authority outlives the stage */
    if (c->end.done) {
        return VQ_OK;
    }
    vq_coord_note(c, VQ_COORD_NOTE_INFO, held ? "paused by vibeq ctl" : "continued by vibeq ctl");
    c->grants.check = true;
    return vq_coord_send_grants(c);
}

enum vq_status vq_coord_commit_failed(struct vq_coord *c, const char *why, int64_t now_ns)
{
    vq_coord_enter(c, now_ns);
    if (c->stop.said) {
        return VQ_OK;
    }
    /* Also after the end of a stage: the next stage begins after the late results are committed. */
    c->stop.begun = true;
    c->stop.kind = VQ_COORD_STOP_STORE;
    (void)snprintf(c->stop.text, sizeof(c->stop.text), "%s", why);
    return stopped_say(c);
}

static enum vq_status session_gone(struct vq_coord *c, struct vq_coord_session *s)
{
    if (c->end.done) { /* the next stage's core must know it */
        return vq_coord_gone(c, s, VQ_AUTHORITY_ENDED, false);
    }
    vq_coord_note(c, VQ_COORD_NOTE_WARN, "the process of worker %s has ended", s->name);
    VQ_TRY(vq_coord_calls_lost(c, s));
    VQ_TRY(vq_coord_gone(c, s, VQ_AUTHORITY_ENDED, false));
    return vq_coord_session_end(c, s, true);
}

enum vq_status vq_coord_local_ended(struct vq_coord *c, int64_t local, int64_t now_ns)
{
    vq_coord_enter(c, now_ns);
    /* the end of a session moves the last one to its index */
    for (size_t i = c->sessions.count; i > 0; i--) {
        if (c->sessions.all[i - 1]->local == local) {
            VQ_TRY(session_gone(c, c->sessions.all[i - 1]));
        }
    }
    vq_coord_left_ended(c, local);
    return VQ_OK;
}

enum vq_status vq_coord_drain(struct vq_coord *c, int64_t deadline_ns, int64_t now_ns)
{
    vq_coord_enter(c, now_ns);
    return vq_coord_begin_stop(c, VQ_COORD_STOP_DRAINED, deadline_ns,
                               "stopped; vibeq resume continues the run");
}

enum vq_status vq_coord_stop(struct vq_coord *c, int64_t now_ns)
{
    vq_coord_enter(c, now_ns);
    VQ_TRY(vq_coord_begin_stop(c, VQ_COORD_STOP_NOW, now_ns,
                               "stopped at once; vibeq resume continues the run"));
    c->stop.now = true;
    return VQ_OK;
}

/* ---- status ---- */

enum vq_outcome vq_coord_outcome(const struct vq_coord *c, uint64_t task)
{
    VQ_ASSERT(task < vq_grid_tasks(&c->params.grid));
    return (enum vq_outcome)c->tasks.outcome[task];
}

const uint64_t (*vq_coord_moves(const struct vq_coord *c))[VQ_TASK_EVENTS]
{
    return c->tasks.moves;
}
