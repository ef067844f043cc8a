/* Batches at providers: the calls that wait in each, and the worker that owns each.
 *
 * A call of a batch is committed as BATCHED before its batch is submitted, and reserves its task
 * until its result is committed: it has no lease, never expires, and outlives its worker. If the
 * owner of a batch has no session for a term, the batch is given to another worker with a key of
 * its pool. By then the lost worker has created the batch or never will, because it sends a create
 * only within its session's term. The new owner only looks for the batch.
 *
 * Invariants: a batch is in the list while a call waits in it. Its calls were made by the process
 * that it is named after. Only reports of its owner count, that is, the worker that gathered it or
 * was sent COLLECT last. A known id never changes. Otherwise another worker with a certificate
 * could prevent that the batch is collected, or cause that it is bought again. Not its job: the
 * provider's replies about a batch (the worker), the records of its calls (the store). */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "coordinator/queue/internal.h"
#include "proto/result.h"

#define CHECK_NS (500 * VQ_NS_PER_MS)

/* Searches the latest batch first, because most results belong to it. */
static struct vq_coord_api_batch *find(const struct vq_coord_api_batches *api, struct vq_span name)
{
    for (struct vq_link *at = api->list.prev; at != &api->list; at = at->prev) {
        struct vq_coord_api_batch *b = VQ_CONTAINER_OF(at, struct vq_coord_api_batch, link);
        if (vq_span_eq(vq_span_str(b->name), name)) {
            return b;
        }
    }
    return NULL;
}

static void copy(char *to, size_t cap, struct vq_span text)
{
    size_t bytes = text.bytes < cap ? text.bytes : cap - 1;
    if (bytes > 0) {
        memcpy(to, text.at, bytes);
    }
    to[bytes] = '\0';
}

/* vq_coord_api_batch_named bounds the number of batches when results come. A result that was taken
 * then, or was stored by an earlier process, always finds its batch. */
static enum vq_status find_or_make(struct vq_coord_api_batches *api, struct vq_span name,
                                   struct vq_span pool, struct vq_coord_api_batch **ret_batch)
{
    struct vq_coord_api_batch *b = find(api, name);
    if (b == NULL) {
        VQ_TRY(VQ_ALLOC(b, 1));
        copy(b->name, sizeof(b->name), name);
        copy(b->pool, sizeof(b->pool), pool);
        vq_list_push(&api->list, &b->link);
        api->count++;
    }
    *ret_batch = b;
    return VQ_OK;
}

static void forget(struct vq_coord_api_batches *api, struct vq_coord_api_batch *b)
{
    vq_unlink(&b->link);
    api->count--;
    vq_free(b);
}

void vq_coord_api_batches_free(struct vq_coord_api_batches *api)
{
    while (!vq_list_empty(&api->list)) {
        forget(api, VQ_CONTAINER_OF(api->list.next, struct vq_coord_api_batch, link));
    }
}

bool vq_coord_api_batch_named(const struct vq_coord *c, const struct vq_result *r)
{
    struct vq_span name;
    uint32_t number;
    char front[VQ_BATCH_NAME_FRONT_BYTES];
    vq_batch_name_front(&r->call, front);
    return vq_result_batch(r, &name, &number) && name.bytes >= sizeof(front) &&
           memcmp(name.at, front, sizeof(front) - 1) == 0 &&
           (find(&c->api, name) != NULL || c->api.count < VQ_COORD_API_BATCHES_MAX);
}

enum vq_status vq_coord_api_batch_add(struct vq_coord *c, struct vq_coord_call *call,
                                      const struct vq_result *r)
{
    struct vq_span name;
    uint32_t number;
    VQ_ASSERT(call->api_batch == NULL);
    if (!vq_result_batch(r, &name, &number)) {
        return VQ_BUG;
    }
    VQ_TRY(find_or_make(&c->api, name, r->pool, &call->api_batch));
    call->api_batch->waiting++;
    call->api_batch->calls = call->api_batch->calls > number ? call->api_batch->calls : number + 1;
    call->api_batch->cost_nano += r->cost_nano;
    if (r->started_unix_ms > call->api_batch->since_unix_ms) {
        call->api_batch->since_unix_ms = r->started_unix_ms;
    }
    if (call->shard != NULL) {
        struct vq_coord_lane *lane = &c->lanes[call->shard->judge];
        call->blocks =
            lane->seconds_wait && !call->shard->slots[call->task % c->shard_tasks].second;
        lane->batched++;
        lane->blocked += call->blocks;
    }
    return VQ_OK;
}

void vq_coord_api_batch_left(struct vq_coord *c, struct vq_coord_call *call)
{
    struct vq_coord_api_batch *b = call->api_batch;
    call->api_batch = NULL;
    if (b == NULL) {
        return;
    }
    if (call->shard != NULL) {
        c->lanes[call->shard->judge].batched--;
        c->lanes[call->shard->judge].blocked -= call->blocks;
        call->was_batched = true;
    }
    b->cost_nano -= call->bound.cost_nano < b->cost_nano ? call->bound.cost_nano : b->cost_nano;
    if (--b->waiting == 0) {
        forget(&c->api, b);
    }
}

static const struct vq_id none;

static void looks_after(struct vq_coord_api_batch *b, const struct vq_coord_session *s)
{
    b->owner = s->worker;
    b->session = s->id;
    b->lost_ns = 0;
}

void vq_coord_api_batch_gathers(const struct vq_coord_call *call, const struct vq_coord_session *s)
{
    struct vq_coord_api_batch *b = call->api_batch;
    bool made = s != NULL && memcmp(s->worker.b, call->id.b, VQ_BATCH_NAME_ID_BYTES) == 0;
    if (made && (vq_id_eq(&b->owner, &none) || vq_id_eq(&b->owner, &s->worker))) {
        looks_after(b, s);
    }
}

static void take_news(struct vq_coord_api_batch *b, const struct vq_msg_batch *msg)
{
    b->state = msg->state > b->state ? msg->state : b->state;
    b->calls = msg->state > VQ_BATCH_PROGRESS_GATHERS ? msg->calls : b->calls;
    b->submitted = b->submitted || msg->state > VQ_BATCH_PROGRESS_GATHERS;
    b->ended = msg->ended;
    if (b->id[0] == '\0') {
        copy(b->id, sizeof(b->id), msg->id);
    }
}

/* A report of a worker that does not own the batch: it was taken for lost, or it is malicious. */
static void dispute(struct vq_coord *c, struct vq_coord_api_batch *b,
                    const struct vq_coord_session *s)
{
    if (!b->disputed) {
        vq_coord_note(c, VQ_COORD_NOTE_WARN,
                      "worker %s reports on batch %s, which another worker owns: ignored", s->name,
                      b->name);
    }
    b->disputed = true;
}

enum vq_status vq_coord_api_batch_report(struct vq_coord *c, struct vq_coord_session *s,
                                         const struct vq_msg_batch *msg)
{
    if (msg->calls > VQ_WIRE_BATCH_CALLS_MAX || msg->id.bytes >= VQ_WIRE_NAME_BYTES_MAX) {
        return vq_coord_broke(c, s, "BATCH with more calls or a longer id than a batch can have");
    }
    struct vq_coord_api_batch *b = find(&c->api, msg->name);
    if (b == NULL) {
        return VQ_OK; /* none of its calls is committed yet, or all of them are answered */
    }
    struct vq_span id = vq_span_str(b->id);
    if (!vq_id_eq(&b->owner, &s->worker)) {
        dispute(c, b, s);
        return VQ_OK;
    }
    if (id.bytes > 0 && msg->id.bytes > 0 && !vq_span_eq(id, msg->id)) {
        return vq_coord_broke(c, s, "BATCH gives another id to a batch that has one");
    }
    bool news = msg->state > b->state || (id.bytes == 0 && msg->id.bytes > 0) || b->session == 0;
    take_news(b, msg);
    looks_after(b, s);
    /* some calls were committed too late to be collected by it */
    if (msg->state == VQ_BATCH_PROGRESS_OVER) {
        b->state = VQ_BATCH_PROGRESS_SUBMITTED;
        b->owner = none;
        return VQ_OK;
    }
    return news && b->submitted ? vq_coord_gather_report(&c->batches, b) : VQ_OK;
}

enum vq_status vq_coord_api_batch_store(struct vq_coord *c, const struct vq_batch_report *said)
{
    struct vq_coord_api_batch *b = find(&c->api, said->about.name);
    if (b != NULL) {
        take_news(b, &said->about);
        b->owner = said->owner;
    }
    return VQ_OK;
}

/* ---- the owner ---- */

static bool can_collect(const struct vq_coord *c, const struct vq_coord_session *s, uint32_t pool)
{
    (void)c;
    return s->held && !s->draining && !s->deaf && !s->stale &&
           (s->open_pools[pool / 64] >> pool % 64 & 1) != 0;
}

static struct vq_coord_session *collector(struct vq_coord *c, const char *pool)
{
    uint32_t pools = vq_authority_pools(c->params.authority), p = 0;
    struct vq_authority_pool_status status;
    for (; p < pools; p++) {
        vq_authority_status(c->params.authority, p, c->now_ns, &status);
        if (strcmp(status.name, pool) == 0) {
            break;
        }
    }
    for (size_t i = 0; p < pools && i < c->sessions.count; i++) { /* workers take turns */
        struct vq_coord_session *s = c->sessions.all[c->api.turn++ % c->sessions.count];
        if (can_collect(c, s, p)) {
            return s;
        }
    }
    return NULL;
}

static enum vq_status look_after(struct vq_coord *c, struct vq_coord_api_batch *b)
{
    struct vq_coord_session *s = vq_coord_session_of(&c->sessions, &b->owner);
    if (s != NULL && s->id == b->session) {
        b->lost_ns = 0;
        return VQ_OK;
    }
    b->lost_ns = b->lost_ns == 0 ? c->now_ns : b->lost_ns;
    if (c->now_ns - b->lost_ns < c->params.term_ns) {
        return VQ_OK;
    }
    s = s == NULL ? collector(c, b->pool) : s; /* or its COLLECT was lost */
    if (s == NULL) {
        return VQ_OK;
    }
    char *name;
    VQ_TRY(vq_copy(b->name, &name));
    b->owner = s->worker;
    b->session = 0;
    b->lost_ns = c->now_ns;
    b->disputed = false;
    vq_coord_note(c, VQ_COORD_NOTE_INFO, "worker %s now owns batch %s of pool %s", s->name, b->name,
                  b->pool);
    return vq_coord_add_action(
        &c->actions, (struct vq_coord_entry){
                         .kind = ENTRY_COLLECT, .peer = s->peer, .session = s->id, .text = name});
}

enum vq_status vq_coord_api_batches_look(struct vq_coord *c)
{
    if (c->api.count == 0 || c->now_ns < c->api.look_ns) {
        return VQ_OK;
    }
    c->api.look_ns = c->now_ns + CHECK_NS;
    if (!vq_coord_is_active(c)) {
        return VQ_OK;
    }
    for (struct vq_link *at = c->api.list.next; at != &c->api.list; at = at->next) {
        VQ_TRY(look_after(c, VQ_CONTAINER_OF(at, struct vq_coord_api_batch, link)));
    }
    return VQ_OK;
}

int64_t vq_coord_api_batches_wake(const struct vq_coord *c)
{
    return c->api.count == 0 ? INT64_MAX : c->api.look_ns;
}

bool vq_coord_api_batch_out(struct vq_coord *c, const char *name, struct vq_coord_collect *ret)
{
    const struct vq_coord_api_batch *b = find(&c->api, vq_span_str(name));
    if (b == NULL) {
        return false;
    }
    *ret = (struct vq_coord_collect){
        .name = b->name, .pool = b->pool, .id = b->id, .calls = b->submitted ? b->calls : 0};
    return true;
}

void vq_coord_api_batch_again(struct vq_coord *c, const char *name)
{
    struct vq_coord_api_batch *b = find(&c->api, vq_span_str(name));
    if (b != NULL) {
        b->owner = none;
    }
}

enum vq_status vq_coord_api_batch_cancel(struct vq_coord *c, const char *name, int64_t now_ns,
                                         uint32_t *ret_count)
{
    vq_coord_enter(c, now_ns);
    *ret_count = 0;
    for (struct vq_link *at = c->api.list.next; at != &c->api.list; at = at->next) {
        struct vq_coord_api_batch *b = VQ_CONTAINER_OF(at, struct vq_coord_api_batch, link);
        struct vq_coord_session *s = vq_coord_session_of(&c->sessions, &b->owner);
        if ((name != NULL && strcmp(name, b->name) != 0) || s == NULL) {
            continue;
        }
        char *text;
        VQ_TRY(vq_copy(b->name, &text));
        VQ_TRY(vq_coord_add_action(&c->actions, (struct vq_coord_entry){.kind = ENTRY_COLLECT,
                                                                        .code = 1,
                                                                        .peer = s->peer,
                                                                        .session = s->id,
                                                                        .text = text}));
        b->cancelling = true;
        (*ret_count)++;
    }
    return VQ_OK;
}

bool vq_coord_api_batch_fill(const struct vq_coord *c, uint32_t index,
                             struct vq_coord_batch_status *ret)
{
    const struct vq_link *at = c->api.list.next;
    for (uint32_t i = 0; i < index && at != &c->api.list; i++) {
        at = at->next;
    }
    if (at == &c->api.list) {
        return false;
    }
    const struct vq_coord_api_batch *b = VQ_CONTAINER_OF(at, const struct vq_coord_api_batch, link);
    const struct vq_coord_session *s = vq_coord_session_of(&c->sessions, &b->owner);
    *ret = (struct vq_coord_batch_status){.name = b->name,
                                          .pool = b->pool,
                                          .id = b->id,
                                          .state = b->state,
                                          .calls = b->calls,
                                          .ended = b->ended,
                                          .waiting = b->waiting,
                                          .cost_nano = b->cost_nano,
                                          .since_unix_ms = b->since_unix_ms,
                                          .cancelling = b->cancelling,
                                          .worker = s == NULL ? "" : s->name};
    return true;
}
