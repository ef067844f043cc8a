/* Calls (rules 3, 5 and 10). A call reserves its task if a worker lists it as sent and not ACKed,
 * or if its result was received and not committed. A committed call is remembered for a while, so
 * that its repeat is ACKed at once. A listed call that never comes back is committed as unknown.
 * The unknown is not remembered, because the answer may still come and then replaces it.
 *
 * Invariants: a call is in the table exactly while it is in one of the call states. Listed calls
 * are in `listed`, oldest first, and in their session's list; committed calls are in `recent`, at
 * most VQ_COORD_RECENT_CALLS. slot.reserved and shard.calls count the calls that reserve a task.
 * Not its job: the contents of a result. */
#include "common/base/alloc.h"
#include "coordinator/queue/internal.h"

struct vq_coord_call *vq_coord_call_find(const struct vq_coord_calls *calls, const struct vq_id *id)
{
    struct vq_index_node *node = vq_index_find(&calls->by_id, vq_id_hash(id));
    for (; node != NULL; node = vq_index_again(node)) {
        struct vq_coord_call *call = VQ_CONTAINER_OF(node, struct vq_coord_call, by_id);
        if (vq_id_eq(&call->id, id)) {
            return call;
        }
    }
    return NULL;
}

bool vq_coord_call_is_placeholder(const struct vq_id *id)
{
    uint64_t half;
    memcpy(&half, id->b, sizeof(half));
    return half == UINT64_MAX;
}

/* A hold is a call without a worker (vq_coord_call_hold). */
static bool is_hold(const struct vq_coord_call *call)
{
    return vq_coord_call_is_placeholder(&call->id);
}

static struct vq_coord_slot *slot_of(const struct vq_coord *c, const struct vq_coord_call *call)
{
    return &call->shard->slots[call->task % c->shard_tasks];
}

void vq_coord_call_give(struct vq_coord_call *call, struct vq_coord_session *s)
{
    if (call->lister != NULL) {
        call->lister->calls_count--;
    }
    vq_unlink(&call->mine);
    call->lister = s;
    if (s != NULL) {
        vq_list_push(&s->calls, &call->mine);
        s->calls_count++;
    }
}

/* Creates a call that reserves its task and is in no list yet. */
static enum vq_status call_create(struct vq_coord *c, const struct vq_id *id, uint64_t task,
                                  struct vq_coord_call **ret_call)
{
    if (vq_coord_calls_reserved(&c->calls) >= VQ_COORD_CALLS_MAX) {
        return VQ_LIMIT;
    }
    struct vq_coord_call *call;
    VQ_TRY(VQ_ALLOC(call, 1));
    struct vq_coord_shard *shard = NULL;
    enum vq_status status =
        task == VQ_TASK_NONE ? VQ_OK : vq_coord_shard_get(c, vq_coord_shard_of(c, task), &shard);
    if (status == VQ_OK) {
        status = vq_index_add(&c->calls.by_id, &call->by_id, vq_id_hash(id));
        if (status != VQ_OK && shard != NULL) {
            vq_coord_shard_stir(c, shard);
        }
    }
    if (status != VQ_OK) {
        vq_free(call);
        return status;
    }
    call->id = *id;
    call->task = task;
    call->shard = shard;
    if (shard != NULL) {
        shard->calls++;
        slot_of(c, call)->reserved++;
    }
    *ret_call = call;
    return VQ_OK;
}

/* The task is no longer reserved by this call. The caller stirs the shard. */
static void call_release(struct vq_coord *c, struct vq_coord_call *call)
{
    if (call->state == CALL_BATCHED) {
        vq_coord_api_batch_left(c, call);
    }
    struct vq_coord_shard *shard = call->shard;
    struct vq_coord_slot *slot = shard == NULL ? NULL : slot_of(c, call);
    if (slot != NULL) {
        slot->reserved--;
        shard->calls--;
    }
    call->shard = NULL;
    vq_coord_call_give(call, NULL);
    vq_unlink(&call->order);
    if (call->state == CALL_LISTED) {
        c->calls.listed_count--;
        c->calls.holds_count -= is_hold(call);
    } else if (call->state == CALL_BATCHED) {
        c->calls.batched_count--;
    } else {
        c->calls.received_count--;
    }
    if (slot != NULL && slot->reserved == 0 && slot->state == SLOT_FREE) {
        vq_coord_alike_end(c, shard, slot);
    }
}

/* Forgets the call; if nothing else reserves its task, the task may be leased again. The shard may
 * be freed. */
static void call_drop(struct vq_coord *c, struct vq_coord_call *call)
{
    struct vq_coord_shard *shard = call->shard;
    if (call->state == CALL_COMMITTED) {
        vq_unlink(&call->order);
        c->calls.recent_count--;
    } else {
        call_release(c, call);
    }
    vq_index_remove(&c->calls.by_id, &call->by_id);
    vq_free(call);
    if (shard != NULL) {
        vq_coord_shard_stir(c, shard);
    }
}

enum vq_status vq_coord_call_list(struct vq_coord *c, struct vq_coord_session *s,
                                  const struct vq_held_call *held)
{
    struct vq_coord_call *call = vq_coord_call_find(&c->calls, &held->call);
    if (call == NULL) {
        VQ_TRY(call_create(c, &held->call, held->task, &call));
        call->state = CALL_LISTED;
        c->calls.listed_count++;
    } else if (call->state == CALL_BATCHED) {
        return VQ_OK; /* the worker may hold the result that follows, and sends it again */
    } else if (call->state == CALL_COMMITTED) {
        /* the ACK was lost, or is in transit */
        return vq_coord_ack(&c->actions, s, &call->id, false);
    } else if (call->state == CALL_RECEIVED) {
        /* It was given up, and its worker is back: it may still be in flight after that commit. */
        return call->given_up ? vq_coord_call_hold(c, s, call->task) : VQ_OK;
    }
    call->listed_ns = c->now_ns;
    vq_list_push(&c->calls.listed, &call->order);
    vq_coord_call_give(call, s);
    return VQ_OK;
}

enum vq_status vq_coord_call_hold(struct vq_coord *c, struct vq_coord_session *s, uint64_t task)
{
    struct vq_id id;
    /* not a worker's id: those are random, and refused otherwise */
    memset(id.b, 0xff, sizeof(id.b));
    memcpy(id.b + sizeof(id.b) - sizeof(task), &task, sizeof(task));
    struct vq_coord_call *call = vq_coord_call_find(&c->calls, &id);
    if (call == NULL) {
        VQ_TRY(call_create(c, &id, task, &call));
        call->state = CALL_LISTED;
        c->calls.listed_count++;
        c->calls.holds_count++;
    }
    call->listed_ns = c->now_ns;
    vq_list_push(&c->calls.listed, &call->order);
    vq_coord_call_give(call, s);
    return VQ_OK;
}

/* This result replaces the known one. */
static bool is_replaced(const struct vq_coord_call *call, const struct vq_result *result)
{
    bool waits = call->state == CALL_BATCHED ||
                 (call->state == CALL_RECEIVED && (call->given_up || call->batched));
    enum vq_call_end known = call->given_up ? VQ_END_UNKNOWN : VQ_END_BATCHED;
    return waits && vq_call_end_replaces(known, (enum vq_call_end)result->end);
}

static enum vq_status receive_again(struct vq_coord *c, struct vq_coord_session *s,
                                    struct vq_coord_call *call)
{
    c->tally.repeated++;
    if (s != NULL && call->state != CALL_RECEIVED) {
        return vq_coord_ack(&c->actions, s, &call->id, call->state == CALL_BATCHED);
    }
    if (s != NULL) {
        call->peer = s->peer;
        call->session = s->id;
    }
    return VQ_OK;
}

enum vq_status vq_coord_call_receive(struct vq_coord *c, struct vq_coord_session *s,
                                     const struct vq_result *result, bool *ret_new)
{
    struct vq_coord_call *call = vq_coord_call_find(&c->calls, &result->call);
    uint64_t task = vq_coord_result_here(c, result) ? result->task : VQ_TASK_NONE;
    *ret_new = false;
    bool replaced = call != NULL && call->task == task && is_replaced(call, result);
    if (call != NULL && call->state != CALL_LISTED && !replaced) {
        return receive_again(c, s, call);
    }
    if (call != NULL && call->task != task) { /* it was listed under another task */
        call_drop(c, call);
        call = NULL;
    }
    if (call == NULL) {
        VQ_TRY(call_create(c, &result->call, task, &call));
    } else {
        vq_coord_call_give(call, NULL);
        vq_unlink(&call->order);
        c->calls.listed_count -= call->state == CALL_LISTED;
        c->calls.batched_count -= call->state == CALL_BATCHED;
        vq_coord_api_batch_left(c, call);
    }
    c->calls.received_count += call->state != CALL_RECEIVED;
    call->state = CALL_RECEIVED;
    call->gathered++;
    call->given_up = false;
    call->batched = result->end == VQ_END_BATCHED;
    if (call->batched) {
        call->bound = vq_authority_bound_of(result);
    }
    if (result->end == VQ_END_UNKNOWN) {
        vq_coord_clean_later(c); /* its process has ended, and the provider may still work on it */
        if (call->shard != NULL) {
            call->shard->unknown = true;
        }
    }
    call->peer = s == NULL ? 0 : s->peer;
    call->session = s == NULL ? 0 : s->id;
    *ret_new = true;
    return VQ_OK;
}

/* Changes the call from reserved to remembered, or forgets it if it was given up. The caller stirs
 * the shard. */
bool vq_coord_call_commit(struct vq_coord *c, struct vq_coord_call *call)
{
    VQ_ASSERT(call->state == CALL_RECEIVED && call->gathered > 0);
    if (--call->gathered > 0) {
        return false;
    }
    if (call->batched) {
        call->state = CALL_BATCHED;
        call->batched = false;
        c->calls.received_count--;
        c->calls.batched_count++;
        return true;
    }
    call_release(c, call);
    if (call->given_up) {
        vq_index_remove(&c->calls.by_id, &call->by_id);
        vq_free(call);
        return true;
    }
    call->state = CALL_COMMITTED;
    vq_list_push(&c->calls.recent, &call->order);
    c->calls.recent_count++;
    if (c->calls.recent_count > VQ_COORD_RECENT_CALLS) {
        call_drop(c, VQ_CONTAINER_OF(vq_list_first(&c->calls.recent), struct vq_coord_call, order));
    }
    return true;
}

enum vq_status vq_coord_batched(struct vq_coord *c, const struct vq_result *draft)
{
    uint64_t task = vq_coord_result_here(c, draft) ? draft->task : VQ_TASK_NONE;
    struct vq_coord_call *call;
    if (vq_coord_call_find(&c->calls, &draft->call) != NULL) {
        return VQ_INVALID;
    }
    VQ_TRY(call_create(c, &draft->call, task, &call));
    call->state = CALL_BATCHED;
    call->bound = vq_authority_bound_of(draft);
    c->calls.batched_count++;
    return vq_coord_api_batch_add(c, call, draft);
}

/* ---- never returned ---- */

/* A listed call will not come back: the next batch records it as unknown; a hold just ends.
 * *ret_done is false if the batch has no room. The shard may be freed. */
static enum vq_status give_up(struct vq_coord *c, struct vq_coord_call *call, bool *ret_done)
{
    *ret_done = true;
    if (is_hold(call)) {
        call_drop(c, call);
        return VQ_OK;
    }
    /* It may have been answered and charged: its cost is estimated from above. */
    const struct vq_coord_session *s = call->lister;
    uint64_t each = s == NULL || s->calls_listed == 0 ? 0 : s->spend.open / s->calls_listed;
    uint64_t most = vq_authority_call_most(c->params.authority);
    each = each < most ? each : most; /* the worker may have listed fewer calls than it has open */
    struct vq_result result = {
        .call = call->id,
        .stage = c->params.stage,
        .shard = call->shard->no,
        .task = call->task,
        .judge = call->shard->judge,
        .repeat = slot_of(c, call)->repeat,
        .cost_nano = each > c->grants.cost_most_nano ? each : c->grants.cost_most_nano,
        .tokens_reserved = c->grants.reserved_most,
        .end = VQ_END_UNKNOWN};
    if (vq_coord_gather_full(c, &result)) {
        *ret_done = false;
        return VQ_OK;
    }
    struct vq_span name;
    VQ_TRY(vq_coord_gather_name(
        &c->batches, vq_span_str(call->lister == NULL ? "lost" : call->lister->name), &name));
    VQ_TRY(vq_coord_gather_result(c, &result, name));
    vq_coord_call_give(call, NULL);
    vq_unlink(&call->order);
    c->calls.listed_count--;
    c->calls.received_count++;
    call->state = CALL_RECEIVED;
    call->given_up = true;
    call->gathered = 1;
    call->peer = call->session = 0;
    return VQ_OK;
}

enum vq_status vq_coord_calls_lost(struct vq_coord *c, struct vq_coord_session *s)
{
    struct vq_link *link;
    bool done = true;
    while (done && (link = vq_list_first(&s->calls)) != NULL) {
        VQ_TRY(give_up(c, VQ_CONTAINER_OF(link, struct vq_coord_call, mine), &done));
    }
    return VQ_OK; /* calls that found no room have no worker now, and expire */
}

void vq_coord_calls_forget(struct vq_coord *c, struct vq_coord_session *s)
{
    struct vq_link *link = s->calls.next;
    while (link != &s->calls) {
        struct vq_coord_call *call = VQ_CONTAINER_OF(link, struct vq_coord_call, mine);
        link = link->next;
        if (!is_hold(call)) {
            call_drop(c, call);
        }
    }
}

enum vq_status vq_coord_calls_end(struct vq_coord *c)
{
    struct vq_link *link = c->calls.listed.next;
    bool done = true;
    while (done && link != &c->calls.listed) {
        struct vq_coord_call *call = VQ_CONTAINER_OF(link, struct vq_coord_call, order);
        link = link->next;
        if (call->lister == NULL || !call->lister->has_spool) {
            VQ_TRY(give_up(c, call, &done));
        }
    }
    return VQ_OK;
}

bool vq_coord_calls_orphaned(const struct vq_coord_calls *calls)
{
    for (const struct vq_link *link = calls->listed.next; link != &calls->listed;
         link = link->next) {
        const struct vq_coord_call *call = VQ_CONTAINER_OF(link, const struct vq_coord_call, order);
        if (call->lister == NULL && !is_hold(call)) {
            return true;
        }
    }
    return false;
}

enum vq_status vq_coord_calls_expire(struct vq_coord *c)
{
    struct vq_link *link;
    bool done = true;
    while (done && (link = vq_list_first(&c->calls.listed)) != NULL) {
        struct vq_coord_call *call = VQ_CONTAINER_OF(link, struct vq_coord_call, order);
        const struct vq_coord_session *lister = call->lister;
        if (c->now_ns - call->listed_ns < c->params.term_ns) {
            return VQ_OK;
        }
        if (lister != NULL && lister->listed_ns <= call->listed_ns &&
            c->now_ns - lister->heard_ns < c->params.term_ns) {
            /* its session is active, but sent no list since */
            call->listed_ns = lister->heard_ns;
            vq_list_push(&c->calls.listed, &call->order);
            continue;
        }
        VQ_TRY(give_up(c, call, &done));
    }
    return VQ_OK;
}
