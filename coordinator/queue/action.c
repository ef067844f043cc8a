/* The queue of actions. A small entry waits in the queue and becomes a message only when it is
 * taken, from the state at that time: a LEASE whose tasks were settled since shrinks or is dropped,
 * and the ACKs of one session share a message.
 *
 * Invariants: entries leave in the order in which they entered: a SAMPLE goes before its LEASE, and
 * an ACK that closes a lease goes before the next SAMPLE. An entry for a session that has ended is
 * dropped. Texts are valid until the next action is taken. Not its job: deciding what to send. */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "coordinator/queue/internal.h"

#include <stdio.h>

#define QUEUE_MIN 64u

/* ---- in ---- */

static enum vq_status queue_grow(struct vq_coord_queue *q)
{
    size_t cap = q->cap == 0 ? QUEUE_MIN : q->cap * 2;
    if (cap > VQ_COORD_ACTIONS_MAX) {
        return VQ_LIMIT;
    }
    struct vq_coord_entry *ring;
    VQ_TRY(VQ_ALLOC(ring, cap));
    for (size_t i = 0; i < q->count; i++) {
        ring[i] = q->ring[(q->head + i) & (q->cap - 1)];
    }
    vq_free(q->ring);
    *q = (struct vq_coord_queue){.ring = ring, .cap = cap, .head = 0, .count = q->count};
    return VQ_OK;
}

enum vq_status vq_coord_add_action(struct vq_coord_actions *actions, struct vq_coord_entry entry)
{
    struct vq_coord_queue *q = &actions->queue;
    if (q->count == q->cap) {
        enum vq_status status = queue_grow(q);
        if (status != VQ_OK) {
            vq_free(entry.text);
            return status;
        }
    }
    q->ring[(q->head + q->count) & (q->cap - 1)] = entry;
    q->count++;
    return VQ_OK;
}

void vq_coord_note(struct vq_coord *c, enum vq_coord_note_level level, const char *fmt, ...)
{
    char text[VQ_COORD_TEXT_BYTES_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    char *copy = c->actions.notes_queued < VQ_COORD_NOTES_MAX ? vq_strdup(text) : NULL;
    if (copy == NULL ||
        vq_coord_add_action(&c->actions, (struct vq_coord_entry){.kind = ENTRY_NOTE,
                                                                 .code = (uint8_t)level,
                                                                 .text = copy}) != VQ_OK) {
        c->tally.notes_dropped++;
        return;
    }
    c->actions.notes_queued++;
}

enum vq_status vq_coord_bye(struct vq_coord_actions *actions, uint64_t peer, uint64_t session,
                            enum vq_bye_code code, const char *text)
{
    char *copy;
    VQ_TRY(vq_copy(text, &copy));
    return vq_coord_add_action(actions, (struct vq_coord_entry){.kind = ENTRY_BYE,
                                                                .code = (uint8_t)code,
                                                                .peer = peer,
                                                                .session = session,
                                                                .text = copy});
}

enum vq_status vq_coord_ack(struct vq_coord_actions *actions, struct vq_coord_session *s,
                            const struct vq_id *call, bool batched)
{
    struct vq_coord_acks *acks = batched ? &s->batched : &s->acks;
    VQ_TRY(VQ_GROW(acks->calls, &acks->cap, acks->count + 1, VQ_COORD_CALLS_MAX));
    acks->calls[acks->count++] = *call;
    if (acks->count % VQ_COORD_ACK_CALLS_MAX != 1) {
        return VQ_OK; /* goes with the message that is waiting */
    }
    return vq_coord_add_action(
        actions, (struct vq_coord_entry){.kind = ENTRY_ACK, .peer = s->peer, .session = s->id});
}

void vq_coord_actions_free(struct vq_coord_actions *actions)
{
    struct vq_coord_queue *q = &actions->queue;
    for (size_t i = 0; i < q->count; i++) {
        vq_free(q->ring[(q->head + i) & (q->cap - 1)].text);
    }
    vq_free(q->ring);
    vq_free(actions->text);
    vq_free(actions->ack_ids);
    vq_free(actions->asks);
    vq_free(actions->turns);
}

/* ---- out: each fills *ret and returns true, or false if nothing remains to send ---- */

static struct vq_msg *send_of(struct vq_coord_action *ret, const struct vq_coord_session *s,
                              enum vq_msg_type type)
{
    ret->type = VQ_COORD_SEND;
    ret->u.send.peer = s->peer;
    ret->u.send.session = s->id;
    ret->u.send.msg = (struct vq_msg){.type = type};
    return &ret->u.send.msg;
}

static bool out_welcome(const struct vq_coord *c, const struct vq_coord_session *s,
                        struct vq_coord_action *ret)
{
    const struct vq_coord_params *p = &c->params;
    send_of(ret, s, VQ_MSG_WELCOME)->u.welcome = (struct vq_msg_welcome){
        .session = s->id,
        .epoch = p->epoch,
        .run = p->run,
        .run_name = vq_span_str(c->run_name),
        .stamp_ns = s->hello_stamp_ns,
        .spec = p->spec,
        .term_ms = (uint32_t)(p->term_ns / VQ_NS_PER_MS),
        .heartbeat_ms = (uint32_t)(p->heartbeat_ns / VQ_NS_PER_MS),
        .orphan_s = s->local >= 0 ? p->orphan_s : p->orphan_remote_s,
    };
    return true;
}

/* The answers of a chain to the turns before the first one that is leased. */
static uint32_t fill_turns(struct vq_coord_actions *actions, const struct vq_coord_shard *shard,
                           uint32_t vibe)
{
    for (uint32_t n = 0; n < vibe; n++) {
        const struct vq_coord_slot *slot = &shard->slots[2 * n];
        actions->turns[n] = vq_span(
            slot->prior_bytes > 0 ? shard->priors.at + slot->prior_at : NULL, slot->prior_bytes);
    }
    return vibe;
}

static bool out_lease(struct vq_coord *c, const struct vq_coord_session *s,
                      const struct vq_coord_entry *entry, struct vq_coord_action *ret)
{
    struct vq_coord_shard *shard = vq_coord_shard_find(c, entry->a);
    if (!vq_coord_lease_current(shard, entry->fence)) {
        return false;
    }
    VQ_ASSERT(shard->holder == s);
    uint32_t count = 0;
    for (uint32_t n = 0; n < c->shard_tasks; n++) {
        uint32_t i = shard->slots[n & ~1u].second ? n ^ 1u : n;
        const struct vq_coord_slot *slot = &shard->slots[i];
        if (slot->state != SLOT_OUT) {
            continue;
        }
        uint32_t first = vq_coord_slot_first(shard, i);
        c->actions.asks[count++] = (struct vq_ask){
            .task = vq_coord_task_at(c, shard, i),
            .vibe = i / 2,
            .repeat = slot->repeat,
            .order = (uint8_t)(i % 2),
            .lazy = slot->ask_lazy && shard->slots[first].state == SLOT_OUT,
            .prior = vq_span(slot->prior_bytes > 0 ? shard->priors.at + slot->prior_at : NULL,
                             slot->prior_bytes),
        };
    }
    if (count == 0) {
        return false;
    }
    uint32_t turns = c->params.chains ? fill_turns(&c->actions, shard, c->actions.asks[0].vibe) : 0;
    vq_coord_lease_renew(shard, s->stamp_ns);
    send_of(ret, s, VQ_MSG_LEASE)->u.lease = (struct vq_msg_lease){
        .session = s->id,
        .stage = c->params.stage,
        .shard = shard->no,
        .fence = shard->fence,
        .stamp_ns = s->stamp_ns,
        .sample = shard->sample,
        .judge = shard->judge,
        .answer_tokens = c->lanes[shard->judge].answer_tokens,
        .asks = c->actions.asks,
        .asks_count = count,
        .turns = c->actions.turns,
        .turns_count = turns,
    };
    return true;
}

static uint32_t acks_take(struct vq_coord_acks *acks, struct vq_id *ids)
{
    size_t count = acks->count < VQ_COORD_ACK_CALLS_MAX ? acks->count : VQ_COORD_ACK_CALLS_MAX;
    if (count > 0) {
        memcpy(ids, acks->calls, count * sizeof(*ids));
        acks->count -= count;
        memmove(acks->calls, acks->calls + count, acks->count * sizeof(*ids));
    }
    return (uint32_t)count;
}

static bool out_ack(struct vq_coord_actions *actions, struct vq_coord_session *s,
                    struct vq_coord_action *ret)
{
    struct vq_id *batched = actions->ack_ids + VQ_COORD_ACK_CALLS_MAX;
    uint32_t count = acks_take(&s->acks, actions->ack_ids);
    uint32_t batched_count = acks_take(&s->batched, batched);
    send_of(ret, s, VQ_MSG_ACK)->u.ack = (struct vq_msg_ack){.session = s->id,
                                                             .calls = actions->ack_ids,
                                                             .calls_count = count,
                                                             .batched = batched,
                                                             .batched_count = batched_count};
    return count + batched_count > 0;
}

static bool out_grant(struct vq_coord *c, struct vq_coord_session *s, struct vq_coord_action *ret)
{
    s->granting = false;
    struct vq_msg_grant *grant = &send_of(ret, s, VQ_MSG_GRANT)->u.grant;
    vq_authority_grant(c->params.authority, &s->worker, c->now_ns, c->grants.slices, grant);
    grant->session = s->id;
    grant->parked = c->grants.parked;
    grant->parked_count = (uint32_t)c->grants.parked_count;
    return true;
}

static bool out_cancel(struct vq_coord_actions *actions, const struct vq_coord_session *s,
                       const struct vq_coord_entry *entry, struct vq_coord_action *ret)
{
    actions->cancel_task = entry->b;
    send_of(ret, s, VQ_MSG_CANCEL)->u.cancel = (struct vq_msg_cancel){
        .session = s->id,
        .stage = entry->stage,
        .shard = entry->a,
        .fence = entry->fence,
        .reason = entry->code,
        .tasks = entry->b == VQ_COORD_ALL ? NULL : &actions->cancel_task,
        .tasks_count = entry->b == VQ_COORD_ALL ? 0 : 1,
    };
    return true;
}

static bool out_collect(struct vq_coord *c, const struct vq_coord_session *s,
                        const struct vq_coord_entry *entry, struct vq_coord_action *ret)
{
    if (!vq_coord_api_batch_out(c, entry->text, &ret->u.collect)) {
        return false;
    }
    ret->type = VQ_COORD_COLLECT;
    ret->u.collect.peer = s->peer;
    ret->u.collect.session = s->id;
    ret->u.collect.cancel = entry->code == 1;
    return true;
}

/* Entries that belong to a session. */
static bool out_session(struct vq_coord *c, struct vq_coord_session *s,
                        const struct vq_coord_entry *entry, struct vq_coord_action *ret)
{
    switch ((enum vq_coord_entry_kind)entry->kind) {
    case ENTRY_WELCOME: return out_welcome(c, s, ret);
    case ENTRY_SPEC:
        ret->type = VQ_COORD_SPEC;
        ret->u.send.peer = s->peer;
        ret->u.send.session = s->id;
        return true;
    case ENTRY_ECHO:
        send_of(ret, s, VQ_MSG_HEARTBEAT)->u.held =
            (struct vq_msg_held){.session = s->id, .stamp_ns = (int64_t)entry->a};
        return true;
    case ENTRY_SAMPLE:
        ret->type = VQ_COORD_SAMPLE;
        ret->u.sample.peer = s->peer;
        ret->u.sample.session = s->id;
        ret->u.sample.sample = (uint32_t)entry->a;
        return true;
    case ENTRY_LEASE: return out_lease(c, s, entry, ret);
    case ENTRY_ACK: return out_ack(&c->actions, s, ret);
    case ENTRY_GRANT: return out_grant(c, s, ret);
    case ENTRY_CANCEL: return out_cancel(&c->actions, s, entry, ret);
    case ENTRY_DRAIN: send_of(ret, s, VQ_MSG_DRAIN)->u.drain.session = s->id; return true;
    case ENTRY_COLLECT: return out_collect(c, s, entry, ret);
    case ENTRY_BYE:
    case ENTRY_CLOSE:
    case ENTRY_LOOKUP:
    case ENTRY_NOTE:
    case ENTRY_FINISHED:
    case ENTRY_STOPPED:
    default: return false;
    }
}

static bool out_entry(struct vq_coord *c, const struct vq_coord_entry *entry,
                      struct vq_coord_action *ret)
{
    struct vq_coord_session *s;
    switch ((int)entry->kind) {
    case ENTRY_BYE:
        ret->type = VQ_COORD_SEND;
        ret->u.send.peer = entry->peer;
        ret->u.send.session = entry->session;
        ret->u.send.msg = (struct vq_msg){.type = VQ_MSG_BYE,
                                          .u.bye = {.session = entry->session,
                                                    .code = entry->code,
                                                    .text = vq_span_str(entry->text)}};
        return true;
    case ENTRY_CLOSE:
        ret->type = VQ_COORD_CLOSE;
        ret->u.send.peer = entry->peer;
        ret->u.send.session = entry->session;
        return true;
    case ENTRY_LOOKUP:
        ret->type = VQ_COORD_LOOKUP;
        ret->u.shard = entry->a;
        return true;
    case ENTRY_NOTE:
        c->actions.notes_queued--;
        ret->type = VQ_COORD_NOTE;
        ret->u.note.level = (enum vq_coord_note_level)entry->code;
        ret->u.note.text = entry->text;
        return true;
    case ENTRY_FINISHED: ret->type = VQ_COORD_FINISHED; return true;
    case ENTRY_STOPPED:
        ret->type = VQ_COORD_STOPPED;
        ret->u.stopped.kind = c->stop.kind;
        ret->u.stopped.clean = entry->a != 0;
        ret->u.stopped.text = c->stop.text;
        return true;
    default:
        s = vq_coord_session_get(&c->sessions, entry->peer, entry->session);
        return s != NULL && out_session(c, s, entry, ret);
    }
}

static bool next_entry(struct vq_coord *c, struct vq_coord_action *ret_action)
{
    struct vq_coord_queue *q = &c->actions.queue;
    while (q->count > 0) {
        struct vq_coord_entry entry = q->ring[q->head];
        q->head = (q->head + 1) & (q->cap - 1);
        q->count--;
        vq_free(c->actions.text);
        c->actions.text = entry.text;
        if (out_entry(c, &entry, ret_action)) {
            return true;
        }
    }
    return false;
}

bool vq_coord_next(struct vq_coord *c, int64_t now_ns, struct vq_coord_action *ret_action)
{
    vq_coord_enter(c, now_ns);
    if (next_entry(c, ret_action)) {
        return true;
    }
    if (c->health == VQ_OK) {
        c->health = vq_coord_turn(c);
    }
    if (next_entry(c, ret_action)) {
        return true;
    }
    const struct vq_batch *batch = vq_coord_gather_commit(c); /* after the end: results of spools */
    if (batch == NULL) {
        return false;
    }
    ret_action->type = VQ_COORD_COMMIT;
    ret_action->u.batch = batch;
    return true;
}

enum vq_status vq_coord_health(const struct vq_coord *c)
{
    return c->health;
}
