/* Sessions (rule 2): one per HELLO, found by peer and by worker; the tasks that each worker can
 * take (credit), the workers that are hungry for a judge, and the end of a session.
 *
 * Invariants: a worker process has at most one session, and so has a peer. `heard` is ordered by
 * the time of the last message. An offer is in its lane's hungry list exactly while its worker can
 * take a lease of that judge. A replaced session passes on its leases and calls; they are in limbo
 * until the worker's HELD names them. Not its job: granting leases. */
#include "common/base/alloc.h"
#include "coordinator/queue/internal.h"
#include "proto/hint.h"
#include "proto/limits.h"

#include <stdio.h>

struct vq_coord_session *vq_coord_session_find(const struct vq_coord_sessions *sessions,
                                               uint64_t peer)
{
    struct vq_index_node *node = vq_index_find(&sessions->by_peer, vq_index_mix(peer));
    return node == NULL ? NULL : VQ_CONTAINER_OF(node, struct vq_coord_session, by_peer);
}

struct vq_coord_session *vq_coord_session_get(const struct vq_coord_sessions *sessions,
                                              uint64_t peer, uint64_t id)
{
    struct vq_coord_session *s = vq_coord_session_find(sessions, peer);
    return s != NULL && s->id == id ? s : NULL;
}

struct vq_coord_session *vq_coord_session_of(const struct vq_coord_sessions *sessions,
                                             const struct vq_id *worker)
{
    struct vq_index_node *node = vq_index_find(&sessions->by_worker, vq_id_hash(worker));
    for (; node != NULL; node = vq_index_again(node)) {
        struct vq_coord_session *s = VQ_CONTAINER_OF(node, struct vq_coord_session, by_worker);
        if (vq_id_eq(&s->worker, worker)) {
            return s;
        }
    }
    return NULL;
}

/* ---- credit ---- */

static bool offer_hungry(const struct vq_coord *c, const struct vq_coord_offer *offer)
{
    const struct vq_coord_session *s = offer->session;
    if (!s->held || s->draining || s->deaf || s->stale || offer->state != VQ_POOL_OPEN ||
        offer->credit <= offer->held || s->leases_count >= VQ_COORD_LEASES_MAX) {
        return false;
    }
    /* Whole shards if they fit; a part of one if half of the credit is free. */
    uint32_t room = offer->credit - offer->held;
    return room >= vq_coord_shard_credit(c) || room >= (offer->credit + 1) / 2;
}

void vq_coord_hungry_update(struct vq_coord *c, struct vq_coord_offer *offer)
{
    if (!offer_hungry(c, offer)) {
        vq_unlink(&offer->hungry);
    } else if (!vq_linked(&offer->hungry)) {
        vq_list_push(&c->lanes[offer->judge].hungry, &offer->hungry);
    }
}

void vq_coord_hungry_all(struct vq_coord *c, struct vq_coord_session *s)
{
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        vq_coord_hungry_update(c, &s->offers[j]);
    }
}

static void offer_count(struct vq_coord *c, const struct vq_coord_offer *offer, bool add)
{
    struct vq_coord_lane *lane = &c->lanes[offer->judge];
    if (!offer->said) {
        return;
    }
    uint32_t *count = offer->state == VQ_POOL_OPEN     ? &lane->offers_open
                      : offer->state == VQ_POOL_NO_KEY ? &lane->offers_no_key
                                                       : &lane->offers_closed;
    *count = add ? *count + 1 : *count - 1;
}

static enum vq_status offer_text(struct vq_coord_offer *offer, struct vq_span text)
{
    vq_free(offer->text);
    offer->text = NULL;
    if (text.bytes > 0) {
        size_t bytes =
            text.bytes < VQ_COORD_TEXT_BYTES_MAX / 2 ? text.bytes : VQ_COORD_TEXT_BYTES_MAX / 2;
        return vq_copy_bytes(text.at, bytes, &offer->text);
    }
    return VQ_OK;
}

static enum vq_status offer_take(struct vq_coord *c, struct vq_coord_offer *offer,
                                 const struct vq_credit *credit)
{
    bool was_open = offer->state == VQ_POOL_OPEN;
    offer_count(c, offer, false);
    offer->said = true;
    offer->state = credit->state;
    offer->credit = credit->state != VQ_POOL_OPEN         ? 0
                    : credit->tasks < VQ_COORD_CREDIT_MAX ? credit->tasks
                                                          : VQ_COORD_CREDIT_MAX;
    offer_count(c, offer, true);
    VQ_TRY(offer_text(offer, credit->text));
    if (was_open && credit->state != VQ_POOL_OPEN) {
        struct vq_coord_lane *lane = &c->lanes[offer->judge];
        (void)snprintf(lane->closed_text, sizeof(lane->closed_text), "%s",
                       offer->text == NULL ? "" : offer->text);
        vq_coord_note(c, VQ_COORD_NOTE_WARN, "worker %s cannot call judge %s: %s",
                      offer->session->name, lane->name, lane->closed_text);
    }
    return VQ_OK;
}

enum vq_status vq_coord_credit(struct vq_coord *c, struct vq_coord_session *s,
                               const struct vq_msg_credit *credit)
{
    for (uint32_t n = 0; n < credit->credits_count; n++) {
        if (credit->credits[n].judge >= c->params.grid.judges ||
            credit->credits[n].state > VQ_POOL_NO_MODEL) {
            return vq_coord_broke(c, s, "CREDIT names a judge or a state that does not exist");
        }
    }
    for (uint32_t n = 0; n < credit->reports_count; n++) {
        if (credit->reports[n].pool >= vq_authority_pools(c->params.authority) ||
            credit->reports[n].state > VQ_POOL_NO_MODEL) {
            return vq_coord_broke(c, s, "CREDIT names a pool or a state that does not exist");
        }
    }
    char claim[VQ_COORD_TEXT_BYTES_MAX];
    if (!vq_authority_credit_can_be(c->params.authority, credit, c->now_ns, claim, sizeof(claim))) {
        return vq_coord_broke(c, s, claim);
    }
    memset(s->open_pools, 0, sizeof(s->open_pools));
    for (uint32_t n = 0; n < credit->reports_count; n++) {
        uint32_t pool = credit->reports[n].pool;
        uint64_t bit = credit->reports[n].state == VQ_POOL_OPEN ? 1 : 0;
        s->open_pools[pool / 64] |= bit << pool % 64;
    }
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        s->offers[j].credit = 0;
    }
    for (uint32_t n = 0; n < credit->credits_count; n++) {
        VQ_TRY(offer_take(c, &s->offers[credit->credits[n].judge], &credit->credits[n]));
    }
    vq_coord_hungry_all(c, s);
    return vq_coord_reported(c, s, credit);
}

/* ---- open ---- */

void vq_coord_session_free(struct vq_coord_session *s, uint32_t judges)
{
    for (uint32_t j = 0; s->offers != NULL && j < judges; j++) {
        vq_free(s->offers[j].text);
    }
    vq_free(s->offers);
    vq_free(s->acks.calls);
    vq_free(s->batched.calls);
    vq_free(s->name);
    vq_free(s->host);
    vq_free(s->software);
    vq_free(s->keyless);
    vq_free(s);
}

static char *text_copy(struct vq_span text)
{
    size_t bytes = text.bytes < VQ_COORD_TEXT_BYTES_MAX ? text.bytes : VQ_COORD_TEXT_BYTES_MAX;
    return vq_strndup(text.at == NULL ? "" : text.at, text.at == NULL ? 0 : bytes);
}

/* Makes all allocations that can fail, before anything is linked. */
static struct vq_coord_session *session_alloc(struct vq_coord *c, const struct vq_msg_hello *hello)
{
    struct vq_coord_session *s = vq_alloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    uint32_t judges = c->params.grid.judges;
    s->name = text_copy(hello->name);
    s->host = text_copy(hello->host);
    s->software = text_copy(hello->software);
    s->offers = vq_alloc(judges, sizeof(*s->offers));
    if (s->name == NULL || s->host == NULL || s->software == NULL || s->offers == NULL) {
        vq_coord_session_free(s, judges);
        return NULL;
    }
    for (uint32_t j = 0; j < judges; j++) {
        s->offers[j].judge = j;
        s->offers[j].session = s;
    }
    vq_list_init(&s->leases);
    vq_list_init(&s->calls);
    s->worker = hello->worker;
    s->pid = hello->pid;
    s->local = hello->local;
    s->has_spool = hello->has_spool;
    s->before = hello->before;
    return s;
}

static enum vq_status session_link(struct vq_coord *c, struct vq_coord_session *s)
{
    VQ_TRY(
        VQ_GROW(c->sessions.all, &c->sessions.cap, c->sessions.count + 1, VQ_COORD_SESSIONS_MAX));
    VQ_TRY(vq_index_add(&c->sessions.by_peer, &s->by_peer, vq_index_mix(s->peer)));
    enum vq_status status =
        vq_index_add(&c->sessions.by_worker, &s->by_worker, vq_id_hash(&s->worker));
    if (status != VQ_OK) {
        vq_index_remove(&c->sessions.by_peer, &s->by_peer);
        return status;
    }
    s->index = (uint32_t)c->sessions.count;
    c->sessions.all[c->sessions.count++] = s;
    s->id = ++c->sessions.n;
    s->fence_from = c->leases.fence_n;
    s->heard_ns = c->now_ns;
    vq_list_push(&c->sessions.heard, &s->order);
    return VQ_OK;
}

static void session_unlink(struct vq_coord *c, struct vq_coord_session *s)
{
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        vq_unlink(&s->offers[j].hungry);
        offer_count(c, &s->offers[j], false);
    }
    struct vq_link *link;
    while ((link = vq_list_first(&s->calls)) != NULL) {
        vq_coord_call_give(VQ_CONTAINER_OF(link, struct vq_coord_call, mine), NULL);
    }
    vq_unlink(&s->order);
    vq_index_remove(&c->sessions.by_peer, &s->by_peer);
    vq_index_remove(&c->sessions.by_worker, &s->by_worker);
    c->sessions.all[s->index] = c->sessions.all[--c->sessions.count];
    c->sessions.all[s->index]->index = s->index;
    vq_coord_session_free(s, c->params.grid.judges);
}

static enum vq_status welcome(struct vq_coord *c, struct vq_coord_session *s,
                              const struct vq_msg_hello *hello)
{
    struct vq_coord_entry entry = {.kind = ENTRY_WELCOME, .peer = s->peer, .session = s->id};
    s->hello_stamp_ns = s->stamp_ns = hello->stamp_ns;
    VQ_TRY(vq_coord_add_action(&c->actions, entry));
    if (!vq_hash_eq(&hello->spec, &c->params.spec)) {
        entry.kind = ENTRY_SPEC;
        VQ_TRY(vq_coord_add_action(&c->actions, entry));
    }
    s->draining = s->draining || vq_coord_leaves(&c->leaving, &s->worker);
    return c->stop.begun || s->draining ? vq_coord_send_drain(&c->actions, s) : VQ_OK;
}

static enum vq_status session_open(struct vq_coord *c, uint64_t peer, struct vq_coord_session *old,
                                   const struct vq_msg_hello *hello)
{
    struct vq_coord_session *s = session_alloc(c, hello);
    if (s == NULL) {
        return VQ_NOMEM;
    }
    s->peer = peer;
    enum vq_status status = VQ_OK;
    /* the same worker: it continues with its leases, unless its HELD does not list them */
    if (old != NULL) {
        status = vq_coord_lease_move(c, old, s);
        s->spend = old->spend;
        s->in_flight = old->in_flight;
        uint64_t old_peer = old->peer;
        uint64_t old_id = old->id;
        session_unlink(c, old);
        if (status == VQ_OK && old_peer != peer) {
            status = vq_coord_add_action(
                &c->actions,
                (struct vq_coord_entry){.kind = ENTRY_CLOSE, .peer = old_peer, .session = old_id});
        }
    }
    if (status == VQ_OK) {
        status = vq_coord_joined(c, s);
    }
    if (status == VQ_OK) {
        status = session_link(c, s);
    }
    if (status != VQ_OK) {
        vq_coord_session_free(s, c->params.grid.judges);
        return status;
    }
    if (old == NULL) {
        vq_coord_note(c, VQ_COORD_NOTE_INFO, "worker %s on %s joined (session %llu)", s->name,
                      s->host, (unsigned long long)s->id);
    }
    return welcome(c, s, hello);
}

enum vq_status vq_coord_hello(struct vq_coord *c, uint64_t peer, const struct vq_msg_hello *hello)
{
    static const struct vq_id any_run;
    if (!vq_id_eq(&hello->run, &any_run) && !vq_id_eq(&hello->run, &c->params.run)) {
        return vq_coord_bye(&c->actions, peer, 0, VQ_BYE_OTHER_RUN,
                            "this coordinator owns another run");
    }
    struct vq_coord_session *here = vq_coord_session_find(&c->sessions, peer);
    if (here != NULL && !vq_id_eq(&here->worker, &hello->worker)) {
        return vq_coord_broke(c, here, "HELLO of a second worker on one connection");
    }
    struct vq_coord_session *old = vq_coord_session_of(&c->sessions, &hello->worker);
    if (old != NULL && old == here && old->hello_stamp_ns == hello->stamp_ns && !old->deaf) {
        vq_coord_heard(c, old);
        return welcome(c, old, hello); /* the same HELLO came twice */
    }
    if (old == NULL && c->sessions.count >= VQ_COORD_SESSIONS_MAX) {
        return vq_coord_bye(&c->actions, peer, 0, VQ_BYE_PROTOCOL, "too many workers");
    }
    return session_open(c, peer, old, hello);
}

void vq_coord_heard(struct vq_coord *c, struct vq_coord_session *s)
{
    s->heard_ns = c->now_ns;
    vq_list_push(&c->sessions.heard, &s->order);
    vq_authority_heard(c->params.authority, &s->worker, c->now_ns);
    if (s->stale) {
        s->stale = false;
        vq_coord_hungry_all(c, s);
    }
}

enum vq_status vq_coord_send_drain(struct vq_coord_actions *actions, struct vq_coord_session *s)
{
    return vq_coord_add_action(
        actions, (struct vq_coord_entry){.kind = ENTRY_DRAIN, .peer = s->peer, .session = s->id});
}

/* ---- end ---- */

enum vq_status vq_coord_session_end(struct vq_coord *c, struct vq_coord_session *s, bool lost)
{
    struct vq_link *link;
    while ((link = vq_list_first(&s->leases)) != NULL) {
        struct vq_coord_shard *shard = VQ_CONTAINER_OF(link, struct vq_coord_shard, of_holder);
        if (lost) {
            VQ_TRY(vq_coord_lease_lost(c, shard));
        }
        vq_coord_lease_end(c, shard);
    }
    VQ_TRY(vq_coord_add_action(
        &c->actions,
        (struct vq_coord_entry){.kind = ENTRY_CLOSE, .peer = s->peer, .session = s->id}));
    session_unlink(c, s);
    return VQ_OK;
}

/* ---- judges that no worker can call ---- */

/* Local workers have the same keys: if one's probe was refused, the others' would be refused,
 * too. */
bool vq_coord_lane_refused(const struct vq_coord *c, const struct vq_coord_lane *lane)
{
    return !lane->answered && !lane->answered_before && !c->params.remote &&
           lane->offers_closed > 0;
}

static bool lane_closed(const struct vq_coord *c, const struct vq_coord_lane *lane)
{
    if (lane->braked) {
        return lane->open > 0;
    }
    if (lane->open == 0 || lane->ready_count == 0) {
        return false;
    }
    return vq_coord_lane_refused(c, lane) ||
           (lane->offers_open == 0 &&
            (lane->offers_closed > 0 || (lane->offers_no_key > 0 && !c->params.remote)));
}

/* ---- the brake ---- */

bool vq_coord_lane_suspect(const struct vq_coord *c, const struct vq_coord_lane *lane)
{
    bool suspect = false;
    for (uint32_t i = 0; i < lane->pools_count; i++) {
        if (lane->brakes[i].answered) {
            return false;
        }
        suspect = suspect || vq_brake_suspects(&lane->brakes[i], c->params.brake_calls);
    }
    return suspect;
}

static const char *brake_way(const struct vq_brake *brake)
{
    return brake->end == VQ_END_ANSWER ? vq_outcome_name((enum vq_outcome)brake->outcome)
                                       : vq_call_end_word((enum vq_call_end)brake->end);
}

/* "The first 8 calls of judge j on pool p all failed the same way: bad_request, HTTP status 400,
 * TEXT." */
static void brake_text(struct vq_coord_lane *lane, uint32_t i, const char *pool)
{
    const struct vq_brake *brake = &lane->brakes[i];
    char status[32] = "";
    bool failed = brake->end != VQ_END_ANSWER;
    const char *advice = vq_hint_of((enum vq_call_end)brake->end, brake->http_status,
                                    vq_span_str(failed ? brake->text : brake_way(brake)));
    if (failed && brake->http_status > 0) {
        (void)snprintf(status, sizeof(status), ", HTTP status %u", brake->http_status);
    }
    (void)snprintf(lane->closed_text, sizeof(lane->closed_text),
                   "The first %u calls of judge %.64s on pool %.64s all failed the same way: "
                   "%s%s%s%s.%s%s%s",
                   brake->failures, lane->name, pool, brake_way(brake), status,
                   brake->text[0] != '\0' ? ", " : "", brake->text, advice == NULL ? "" : " ",
                   advice == NULL ? "" : advice, advice == NULL ? "" : ".");
}

/* The tasks that failed for this reason are reopened: another pool may answer them, or this pool
 * after a resume. */
static enum vq_status brake_pulled(struct vq_coord *c, uint32_t judge, uint32_t i, const char *pool,
                                   const struct vq_result *r)
{
    struct vq_coord_lane *lane = &c->lanes[judge];
    VQ_TRY(VQ_GROW(c->grants.parked, &c->grants.parked_cap, c->grants.parked_count + 1,
                   VQ_WIRE_PARKED_MAX));
    c->grants.parked[c->grants.parked_count++] =
        (struct vq_parked){.judge = judge, .pool = lane->pools[i]};
    brake_text(lane, i, pool);
    vq_coord_note(c, VQ_COORD_NOTE_WARN, "%s The pool is parked for this judge", lane->closed_text);
    lane->braked = true;
    for (uint32_t n = 0; n < lane->pools_count; n++) {
        lane->braked = lane->braked && lane->brakes[n].pulled;
    }
    uint32_t failure = vq_outcome_failure_bit((enum vq_outcome)r->outcome);
    if (failure != 0) {
        vq_coord_requeue_judge(c, judge, failure);
    }
    for (size_t n = 0; n < c->sessions.count; n++) {
        VQ_TRY(vq_coord_send_grant(&c->actions, c->sessions.all[n]));
    }
    return VQ_OK;
}

enum vq_status vq_coord_brake_see(struct vq_coord *c, const struct vq_coord_shard *shard,
                                  const struct vq_result *r)
{
    struct vq_coord_lane *lane = &c->lanes[shard->judge];
    bool useful = c->params.any_answer_is_useful && r->end == VQ_END_ANSWER;
    enum vq_outcome outcome = (enum vq_outcome)r->outcome;
    if (vq_coord_wants_repair(c, r)) { /* the store may already have its repair */
        outcome = (enum vq_outcome)c->tasks.outcome[r->task];
    }
    struct vq_brake_call call = {.end = (enum vq_call_end)r->end,
                                 .outcome = useful ? VQ_OUTCOME_TEXT : outcome,
                                 .final = r->final && outcome != VQ_OUTCOME_NONE,
                                 .row = shard->sample,
                                 .http_status = r->http_status,
                                 .error = r->error};
    for (uint32_t i = 0; c->params.brake_calls > 0 && i < lane->pools_count; i++) {
        const char *pool = vq_authority_pool_name(c->params.authority, lane->pools[i]);
        struct vq_brake *brake = &lane->brakes[i];
        if (!vq_span_eq(vq_span_str(pool), r->pool)) {
            continue;
        }
        if (vq_brake_see(brake, c->params.brake_calls, &call)) {
            return brake_pulled(c, shard->judge, i, pool, r);
        }
        bool full = false; /* no room: the task stays failed */
        bool failed = r->final && vq_outcome_is_failed(call.outcome);
        return failed && vq_brake_alike(brake, &call)
                   ? vq_coord_gather_reopened(&c->batches, r->task, &full)
                   : VQ_OK;
    }
    return VQ_OK;
}

/* It has answered, so it is worth finishing the work of the other judges. */
static bool goes_on(const struct vq_coord_lane *lane)
{
    return (lane->answered || lane->answered_before) && !lane->braked;
}

/* Rule 25: stops at once if the judge never answered. Otherwise the run first finishes the work of
 * the other judges. */
enum vq_status vq_coord_pools_check(struct vq_coord *c)
{
    uint64_t closed_open = 0;
    const struct vq_coord_lane *stop = NULL;
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        struct vq_coord_lane *lane = &c->lanes[j];
        bool closed = lane_closed(c, lane);
        if (closed != lane->closed) {
            lane->closed = closed;
            vq_coord_note(c, VQ_COORD_NOTE_WARN,
                          closed ? "no worker can call judge %s now"
                                 : "judge %s can be called again",
                          lane->name);
        }
        if (closed) {
            closed_open += lane->open;
            stop = stop == NULL || goes_on(stop) ? lane : stop;
        }
    }
    bool nothing_else = closed_open == c->tasks.open && c->leases.count == 0 &&
                        vq_coord_gather_empty(&c->batches) && c->batches.in_flight == NULL;
    if (stop == NULL || c->requeue.failures != 0 || (goes_on(stop) && !nothing_else)) {
        return VQ_OK;
    }
    char text[VQ_COORD_TEXT_BYTES_MAX];
    if (stop->braked) {
        (void)snprintf(text, sizeof(text),
                       "%.700s No task failed by it: correct the configuration or the server, then "
                       "vibeq resume %.128s",
                       stop->closed_text, c->run_name);
        return vq_coord_begin_stop(c, VQ_COORD_STOP_POOL, c->now_ns + 2 * c->params.term_ns, text);
    }
    (void)snprintf(
        text, sizeof(text),
        "no worker can call judge %.64s: %.600s. Nothing failed; put it right, then vibeq "
        "resume",
        stop->name, stop->closed_text[0] == '\0' ? "no reason given" : stop->closed_text);
    return vq_coord_begin_stop(c, VQ_COORD_STOP_POOL, c->now_ns + 2 * c->params.term_ns, text);
}
