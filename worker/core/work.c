/* The worker's core: events in, actions out.
 *
 * A step changes the state and queues the direct consequences. vq_work_next hands out the queue.
 * When the queue is empty, it lets every part check whether something is due (the pumps), until
 * nothing is. So the order of actions keeps every promise: SENT before its call, the note of an
 * answer before the answer is read, results before tasks that are given back. Messages are built at
 * the moment of sending. After VQ_NOMEM the status sticks, and the core only does what needs no
 * memory: it notes answers that wait for their note or come now.
 *
 * Not its job: I/O, clocks, randomness without a seed. */
#include "worker/core/work.h"

#include "common/base/alloc.h"
#include "proto/limits.h"
#include "worker/core/state.h"

#include <stdio.h>

#define ITEMS_MAX (1u << 20)

bool vq_work_ok(struct vq_work *w, enum vq_status status)
{
    if (status != VQ_OK && w->status == VQ_OK) {
        w->status = status;
    }
    return status == VQ_OK;
}

/* Frees the memory that an item owns. */
static void item_free(const struct vq_work_item *item)
{
    if (item->type == VQ_WORK_ITEM_CANCEL) {
        vq_free(item->u.cancel);
    } else if (item->type == VQ_WORK_ITEM_BATCH) {
        vq_free(item->u.news);
    } else if (item->type == VQ_WORK_ITEM_READ || item->type == VQ_WORK_ITEM_ANSWER) {
        vq_free(item->u.read.flight);
    }
}

bool vq_work_queue_room(struct vq_work *w)
{
    if (!vq_work_ok(w,
                    VQ_GROW(w->actions.items, &w->actions.cap, w->actions.count + 1, ITEMS_MAX))) {
        return false;
    }
    return true;
}

void vq_work_queue(struct vq_work *w, struct vq_work_item item)
{
    if (vq_work_queue_room(w)) {
        w->actions.items[w->actions.count++] = item;
    } else {
        item_free(&item);
    }
}

void vq_work_note(struct vq_work *w, enum vq_work_note_level level, const char *fmt, ...)
{
    if (w->actions.notes_count == VQ_WORK_NOTES_MAX) {
        w->actions.notes_dropped++;
        return;
    }
    struct vq_work_note_slot *slot = &w->actions.notes[w->actions.notes_count];
    slot->level = level;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(slot->text, sizeof(slot->text), fmt, args);
    va_end(args);
    vq_work_queue(
        w, (struct vq_work_item){.type = VQ_WORK_ITEM_NOTE, .u.note = w->actions.notes_count++});
}

void vq_work_exit(struct vq_work *w, enum vq_work_exit code)
{
    if (!w->end.exit_due) {
        w->end.exit_due = true;
        w->end.exit_code = code;
        vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_EXIT});
    }
}

/* ---- life ---- */

static void take_options(struct vq_work *w, const struct vq_work_options *options)
{
    w->options = *options;
    w->name = vq_strdup(options->name == NULL ? "" : options->name);
    w->host = vq_strdup(options->host == NULL ? "" : options->host);
    w->software = vq_strdup(options->software == NULL ? "" : options->software);
    w->actions.notes = vq_alloc(VQ_WORK_NOTES_MAX, sizeof(*w->actions.notes));
    struct vq_work_options *o = &w->options;
    o->concurrency_max = o->concurrency_max == 0 ? VQ_WORK_CONCURRENCY_MAX : o->concurrency_max;
    o->retry_after_ms_max =
        o->retry_after_ms_max == 0 ? VQ_WORK_RETRY_AFTER_MS_MAX : o->retry_after_ms_max;
    o->backoff_ms = o->backoff_ms == 0 ? VQ_WORK_BACKOFF_MS : o->backoff_ms;
    o->backoff_ms_max = o->backoff_ms_max == 0 ? VQ_WORK_BACKOFF_MS_MAX : o->backoff_ms_max;
    uint32_t orphan_s = o->local >= 0 ? VQ_WORK_ORPHAN_LOCAL_S : VQ_WORK_ORPHAN_REMOTE_S;
    w->link.orphan_ns = VQ_WORK_S(o->orphan_s == 0 ? orphan_s : o->orphan_s);
    w->link.run = options->run;
    vq_rng_seed(&w->rng, options->seed);
}

enum vq_status vq_work_create(const struct vq_work_options *options, struct vq_work **ret_work)
{
    if (options->concurrency_max > VQ_WORK_CONCURRENCY_MAX) {
        return VQ_LIMIT;
    }
    struct vq_work *w;
    VQ_TRY(VQ_ALLOC(w, 1));
    struct vq_link *lists[] = {&w->leases.list,   &w->leases.returned, &w->samples.idle,
                               &w->calls.flights, &w->outbox.unread,   &w->outbox.unsent,
                               &w->outbox.sent};
    for (size_t i = 0; i < VQ_COUNT(lists); i++) {
        vq_list_init(lists[i]);
    }
    take_options(w, options);
    if (w->name == NULL || w->host == NULL || w->software == NULL || w->actions.notes == NULL) {
        vq_work_destroy(&w);
        return VQ_NOMEM;
    }
    *ret_work = w;
    return VQ_OK;
}

void vq_work_destroy(struct vq_work **work)
{
    struct vq_work *w = *work;
    if (w == NULL) {
        return;
    }
    for (size_t i = w->actions.head; i < w->actions.count; i++) {
        item_free(&w->actions.items[i]);
    }
    while (!vq_list_empty(&w->leases.list)) {
        vq_work_lease_drop(w, VQ_CONTAINER_OF(w->leases.list.next, struct vq_work_lease, link));
    }
    vq_work_samples_drop_idle(&w->samples, 0);
    while (!vq_list_empty(&w->calls.flights)) {
        struct vq_work_flight *flight =
            VQ_CONTAINER_OF(w->calls.flights.next, struct vq_work_flight, link);
        vq_unlink(&flight->link);
        vq_free(flight);
    }
    vq_work_outbox_free(&w->outbox);
    vq_work_judges_free(w->judges, w->spec == NULL ? 0 : w->spec->judges_count);
    vq_work_pools_free(w->pools, w->spec == NULL ? 0 : w->spec->pools_count);
    vq_work_spec_destroy(&w->spec);
    vq_heap_free(&w->leases.delayed);
    vq_index_free(&w->leases.by_shard);
    vq_index_free(&w->samples.by_index);
    vq_index_free(&w->calls.by_id);
    vq_free(w->actions.cancel_out);
    vq_free(w->actions.news_out);
    while (!vq_list_empty(&w->leases.returned)) {
        struct vq_work_cancel *cancel =
            VQ_CONTAINER_OF(w->leases.returned.next, struct vq_work_cancel, link);
        vq_unlink(&cancel->link);
        vq_free(cancel);
    }
    vq_free(w->actions.items);
    vq_free(w->actions.notes);
    vq_free(w->actions.scratch);
    vq_free(w->actions.scratch2);
    vq_free(w->name);
    vq_free(w->host);
    vq_free(w->software);
    vq_free(w);
    *work = NULL;
}

/* ---- events ---- */

/* Whether the message belongs to the worker's session. WELCOME opens a session; a BYE may have
 * none. */
static bool session_fits(const struct vq_work_link *link, const struct vq_msg *msg)
{
    uint64_t session = link->session;
    switch (msg->type) {
    case VQ_MSG_WELCOME: return true;
    case VQ_MSG_BYE: return msg->u.bye.session == 0 || msg->u.bye.session == session;
    case VQ_MSG_SPEC: return msg->u.spec.session == session;
    case VQ_MSG_SAMPLE: return msg->u.sample.session == session;
    case VQ_MSG_LEASE: return msg->u.lease.session == session;
    case VQ_MSG_ACK: return msg->u.ack.session == session;
    case VQ_MSG_GRANT: return msg->u.grant.session == session;
    case VQ_MSG_CANCEL: return msg->u.cancel.session == session;
    case VQ_MSG_HEARTBEAT: return msg->u.held.session == session;
    case VQ_MSG_DRAIN: return msg->u.drain.session == session;
    case VQ_MSG_COLLECT: return msg->u.collect.session == session;
    case VQ_MSG_HELLO:
    case VQ_MSG_HELD:
    case VQ_MSG_CREDIT:
    case VQ_MSG_BATCH:
    case VQ_MSG_RESULTS: break;
    }
    return false; /* not a message to a worker */
}

static void on_message(struct vq_work *w, const struct vq_msg *msg)
{
    bool opens =
        msg->type == VQ_MSG_WELCOME || (msg->type == VQ_MSG_BYE && msg->u.bye.session == 0);
    if (w->link.state == VQ_WORK_LINK_NEW || !session_fits(&w->link, msg) ||
        (w->link.session == 0 && !opens)) {
        return;
    }
    w->link.heard_ns = w->now_ns;
    w->end.orphaned = false;
    switch (msg->type) {
    case VQ_MSG_WELCOME: vq_work_on_welcome(w, &msg->u.welcome); break;
    case VQ_MSG_SPEC: vq_work_on_spec(w, &msg->u.spec); break;
    case VQ_MSG_SAMPLE: vq_work_on_sample(w, &msg->u.sample); break;
    case VQ_MSG_LEASE: vq_work_on_lease(w, &msg->u.lease); break;
    case VQ_MSG_ACK: vq_work_on_ack(w, &msg->u.ack); break;
    case VQ_MSG_GRANT: vq_work_on_grant(w, &msg->u.grant); break;
    case VQ_MSG_CANCEL: vq_work_on_cancel(w, &msg->u.cancel); break;
    case VQ_MSG_HEARTBEAT: vq_work_on_echo(w, &msg->u.held); break;
    case VQ_MSG_DRAIN: vq_work_drain(w, "the coordinator drains"); break;
    case VQ_MSG_BYE: vq_work_on_bye(w, &msg->u.bye); break;
    case VQ_MSG_COLLECT:
        vq_work_queue(
            w, (struct vq_work_item){.type = VQ_WORK_ITEM_COLLECT, .u.collect = &msg->u.collect});
        break;
    case VQ_MSG_HELLO:
    case VQ_MSG_HELD:
    case VQ_MSG_CREDIT:
    case VQ_MSG_BATCH:
    case VQ_MSG_RESULTS: break;
    }
}

/* Whether such steps may follow each other without the actions in between. */
static bool may_follow(enum vq_work_event_type type)
{
    return type == VQ_WORK_REPLY || type == VQ_WORK_COLLECTED || type == VQ_WORK_BATCH;
}

enum vq_status vq_work_step(struct vq_work *w, int64_t now_ns, const struct vq_work_event *event)
{
    bool taken = w->actions.head == w->actions.count;
    w->actions.replies = (taken || w->actions.replies) && may_follow(event->type);
    VQ_ASSERT(taken || w->actions.replies); /* the actions of the last step were taken */
    w->now_ns = now_ns > w->now_ns ? now_ns : w->now_ns;
    w->actions.notes_count = taken ? 0 : w->actions.notes_count;
    if (w->end.exited || (w->status != VQ_OK && event->type != VQ_WORK_REPLY)) {
        return w->status;
    }
    switch (event->type) {
    case VQ_WORK_SPOOLED: vq_work_on_spooled(w, event->u.result); break;
    case VQ_WORK_CONNECTED: vq_work_on_connected(w); break;
    case VQ_WORK_MESSAGE: on_message(w, event->u.message); break;
    case VQ_WORK_KEY: vq_work_on_key(w, event->u.key); break;
    case VQ_WORK_REPLY: vq_work_on_reply(w, event->u.reply); break;
    case VQ_WORK_COLLECTED: vq_work_on_collected(w, event->u.collected); break;
    case VQ_WORK_BATCH: vq_work_on_batch(w, event->u.batch); break;
    case VQ_WORK_REFUSED: vq_work_on_refused(w, event->u.refused); break;
    case VQ_WORK_TICK: break;
    case VQ_WORK_DRAIN: vq_work_drain(w, "draining"); break;
    case VQ_WORK_STOP: vq_work_stop(w); break;
    case VQ_WORK_SPOOL_FAILED:
        w->end.spool_failed = true;
        vq_work_drain(w, "the spool cannot be written");
        break;
    }
    return w->status;
}

/* ---- actions ---- */

static bool give_held(struct vq_work *w, enum vq_msg_type type, struct vq_msg *msg)
{
    void *leases = w->actions.scratch;
    void *calls = w->actions.scratch2;
    size_t count = w->calls.count + w->outbox.count;
    if (!vq_work_ok(w, vq_grow(&leases, &w->actions.scratch_cap,
                               w->leases.count * sizeof(struct vq_held_lease), 1, SIZE_MAX / 2))) {
        return false;
    }
    w->actions.scratch = leases;
    if (!vq_work_ok(w, vq_grow(&calls, &w->actions.scratch2_cap,
                               count * sizeof(struct vq_held_call), 1, SIZE_MAX / 2))) {
        return false;
    }
    w->actions.scratch2 = calls;
    msg->type = type;
    struct vq_msg_held *held = &msg->u.held;
    *held = (struct vq_msg_held){
        .session = w->link.session, .stamp_ns = vq_work_stamp(w), .leases = leases, .calls = calls};
    for (struct vq_link *at = w->leases.list.next; at != &w->leases.list; at = at->next) {
        struct vq_work_lease *lease = VQ_CONTAINER_OF(at, struct vq_work_lease, link);
        lease->listed_ns = lease->listed_ns == 0 ? held->stamp_ns : lease->listed_ns;
        ((struct vq_held_lease *)leases)[held->leases_count++] = (struct vq_held_lease){
            .stage = w->spec->stage, .shard = lease->shard, .fence = lease->fence};
    }
    for (struct vq_link *at = w->calls.flights.next; at != &w->calls.flights; at = at->next) {
        const struct vq_work_call *call = &VQ_CONTAINER_OF(at, struct vq_work_flight, link)->call;
        ((struct vq_held_call *)calls)[held->calls_count++] =
            (struct vq_held_call){call->id, call->task, call->stage};
    }
    struct vq_link *lists[] = {&w->outbox.unread, &w->outbox.unsent, &w->outbox.sent};
    for (size_t i = 0; i < VQ_COUNT(lists); i++) {
        for (struct vq_link *at = lists[i]->next; at != lists[i]; at = at->next) {
            const struct vq_result *result =
                &VQ_CONTAINER_OF(at, struct vq_work_result, link)->result;
            ((struct vq_held_call *)calls)[held->calls_count++] =
                (struct vq_held_call){result->call, result->task, result->stage};
        }
    }
    return true;
}

/* Without a spool only the coordinator can remember a call after a kill. So the worker reports
 * calls to it first: all calls that come next. */
static bool give_sent(struct vq_work *w, struct vq_msg *msg)
{
    void *calls = w->actions.scratch2;
    if (w->link.state != VQ_WORK_LINK_OPEN ||
        !vq_work_ok(w, vq_grow(&calls, &w->actions.scratch2_cap,
                               (w->actions.count - w->actions.head) * sizeof(struct vq_held_call),
                               1, SIZE_MAX / 2))) {
        return false;
    }
    w->actions.scratch2 = calls;
    struct vq_held_call *list = calls;
    *msg =
        (struct vq_msg){.type = VQ_MSG_HELD, .u.held = {.session = w->link.session, .calls = list}};
    struct vq_msg_held *held = &msg->u.held;
    for (size_t i = w->actions.head; i < w->actions.count; i++) {
        struct vq_work_item *item = &w->actions.items[i];
        bool next = item->type == VQ_WORK_ITEM_SENT || i == w->actions.head;
        if (next && held->calls_count < VQ_WIRE_HELD_CALLS_MAX) {
            const struct vq_work_call *call = &item->u.flight->call;
            list[held->calls_count++] = (struct vq_held_call){call->id, call->task, call->stage};
            item->type = VQ_WORK_ITEM_CALL;
        }
    }
    return true;
}

static void give_hello(struct vq_work *w, struct vq_msg *msg)
{
    if (!w->link.hello_again) {
        w->link.hello_ns = vq_work_stamp(w);
    }
    msg->type = VQ_MSG_HELLO;
    msg->u.hello = (struct vq_msg_hello){.worker = w->options.worker,
                                         .run = w->link.run,
                                         .stamp_ns = w->link.hello_ns,
                                         .name = vq_span_str(w->name),
                                         .host = vq_span_str(w->host),
                                         .software = vq_span_str(w->software),
                                         .pid = w->options.pid,
                                         .local = w->options.local,
                                         .has_spool = w->options.has_spool,
                                         .before = w->options.before};
    if (w->spec != NULL) {
        msg->u.hello.spec = w->spec->hash;
    }
}

static void give_cancel(struct vq_work *w, struct vq_work_cancel *cancel, struct vq_msg *msg)
{
    w->actions.cancel_out = cancel;
    msg->type = VQ_MSG_CANCEL;
    msg->u.cancel = (struct vq_msg_cancel){.session = w->link.session,
                                           .stage = cancel->stage,
                                           .shard = cancel->shard,
                                           .fence = cancel->fence,
                                           .reason = VQ_CANCEL_RETURNED,
                                           .tasks = cancel->tasks,
                                           .tasks_count = cancel->tasks_count};
}

/* Builds a message; false: it is not sent, because there is no session, no content or no memory. */
static bool give_message(struct vq_work *w, struct vq_work_item *item, struct vq_msg *msg)
{
    memset(msg, 0, sizeof(*msg));
    if (item->type == VQ_WORK_ITEM_HELLO) {
        give_hello(w, msg);
        return true;
    }
    if (w->link.state != VQ_WORK_LINK_OPEN) {
        if (item->type == VQ_WORK_ITEM_CANCEL) {
            vq_list_push(&w->leases.returned, &item->u.cancel->link);
        } else if (item->type == VQ_WORK_ITEM_BATCH) {
            vq_free(item->u.news); /* the next session requests it again */
        }
        return false;
    }
    if (item->type == VQ_WORK_ITEM_HELD || item->type == VQ_WORK_ITEM_HEARTBEAT) {
        return give_held(w, item->type == VQ_WORK_ITEM_HELD ? VQ_MSG_HELD : VQ_MSG_HEARTBEAT, msg);
    }
    if (item->type == VQ_WORK_ITEM_CREDIT) {
        msg->type = VQ_MSG_CREDIT;
        return vq_work_credit_fill(w, &msg->u.credit);
    }
    if (item->type == VQ_WORK_ITEM_RESULTS) {
        msg->type = VQ_MSG_RESULTS;
        return vq_work_outbox_fill(w, &msg->u.results) && msg->u.results.results_count > 0;
    }
    if (item->type == VQ_WORK_ITEM_BATCH) {
        w->actions.news_out = item->u.news;
        msg->type = VQ_MSG_BATCH;
        msg->u.batch = item->u.news->batch;
        msg->u.batch.session = w->link.session;
    } else if (item->type == VQ_WORK_ITEM_CANCEL) {
        give_cancel(w, item->u.cancel, msg);
    } else if (item->type == VQ_WORK_ITEM_DRAIN) {
        msg->type = VQ_MSG_DRAIN;
        msg->u.drain.session = w->link.session;
    } else {
        msg->type = VQ_MSG_BYE;
        msg->u.bye = (struct vq_msg_bye){.session = w->link.session,
                                         .code = VQ_BYE_LEAVING,
                                         .text = vq_span_str("leaving as asked")};
    }
    return true;
}

static enum vq_work_action_type note_type(const struct vq_work_item *item)
{
    return item->u.read.result->batch ? VQ_WORK_SPOOL_UNSENT : VQ_WORK_SPOOL_ANSWER;
}

/* Builds the action of an item; false: the item was internal. */
static bool give(struct vq_work *w, struct vq_work_item *item, struct vq_work_action *action)
{
    switch (item->type) {
    case VQ_WORK_ITEM_RECONNECT: action->type = VQ_WORK_RECONNECT; return true;
    case VQ_WORK_ITEM_KEYS: action->type = VQ_WORK_KEYS; return true;
    case VQ_WORK_ITEM_SENT:
    case VQ_WORK_ITEM_CALL:
        if (item->type == VQ_WORK_ITEM_SENT && !w->options.has_spool) {
            action->type = VQ_WORK_SEND;
            return give_sent(w, &action->u.message);
        }
        action->type = item->type == VQ_WORK_ITEM_SENT ? VQ_WORK_SPOOL_SENT : VQ_WORK_CALL;
        action->u.call = item->u.flight->call;
        return true;
    case VQ_WORK_ITEM_GATHER:
        action->type = VQ_WORK_GATHER;
        action->u.call = item->u.flight->call;
        return true;
    case VQ_WORK_ITEM_GATHERED:
        action->type = VQ_WORK_GATHERED;
        action->u.id = item->u.id;
        return true;
    case VQ_WORK_ITEM_ANEW: action->type = VQ_WORK_BATCHES_RESTART; return true;
    case VQ_WORK_ITEM_COLLECT:
        action->type = VQ_WORK_COLLECT;
        action->u.collect = item->u.collect;
        return true;
    case VQ_WORK_ITEM_ANSWER:
        action->type = note_type(item);
        action->u.result = &item->u.read.result->result;
        return true;
    case VQ_WORK_ITEM_READ: vq_work_read(w, &item->u.read); return false;
    case VQ_WORK_ITEM_ACKED:
        action->type = VQ_WORK_SPOOL_ACKED;
        action->u.id = item->u.id;
        return true;
    case VQ_WORK_ITEM_NOTE:
        action->type = VQ_WORK_NOTE;
        action->u.note = (struct vq_work_note){w->actions.notes[item->u.note].level,
                                               w->actions.notes[item->u.note].text};
        return true;
    case VQ_WORK_ITEM_EXIT:
        action->type = VQ_WORK_EXIT;
        action->u.exit_code = w->end.exit_code;
        w->end.exited = true;
        return true;
    case VQ_WORK_ITEM_HELLO:
    case VQ_WORK_ITEM_HELD:
    case VQ_WORK_ITEM_HEARTBEAT:
    case VQ_WORK_ITEM_CREDIT:
    case VQ_WORK_ITEM_CANCEL:
    case VQ_WORK_ITEM_RESULTS:
    case VQ_WORK_ITEM_DRAIN:
    case VQ_WORK_ITEM_BATCH:
    case VQ_WORK_ITEM_BYE:
        action->type = VQ_WORK_SEND;
        return give_message(w, item, &action->u.message);
    }
    return false;
}

static void pump(struct vq_work *w)
{
    vq_work_delayed_pump(w);
    vq_work_calls_pump(w);
    vq_work_outbox_pump(w);
    vq_work_credit_pump(w);
    if (w->actions.count == 0) { /* leaving depends on the results of all of these */
        vq_work_session_pump(w);
    }
}

/* Whether the notes so far must be written next: before any item that is not a note. */
static bool write_due(struct vq_work *w, const struct vq_work_item *next)
{
    bool note = w->options.has_spool &&
                (next->type == VQ_WORK_ITEM_SENT || next->type == VQ_WORK_ITEM_ANSWER);
    bool due = w->actions.unwritten && !note;
    w->actions.unwritten = note;
    return due;
}

/* Queues the item that a note was for, after all notes that wait already. */
static void queue_second(struct vq_work *w, struct vq_work_item note)
{
    if (note.type == VQ_WORK_ITEM_SENT || note.type == VQ_WORK_ITEM_ANSWER) {
        note.type = note.type == VQ_WORK_ITEM_SENT ? VQ_WORK_ITEM_CALL : VQ_WORK_ITEM_READ;
        vq_work_queue(w, note);
    }
}

/* After the last action. Without memory, the notes of answers and their write are still handed out:
 * they need none. Calls that were noted as sent but were not sent count as unknown. */
static bool next_of_the_last(struct vq_work *w, struct vq_work_action *action)
{
    while (w->actions.head < w->actions.count) {
        const struct vq_work_item *item = &w->actions.items[w->actions.head++];
        bool note = item->type == VQ_WORK_ITEM_ANSWER && !w->end.exited;
        if (note) {
            action->type = note_type(item);
            action->u.result = &item->u.read.result->result;
        }
        item_free(item);
        if (note) {
            w->actions.unwritten = true;
            return true;
        }
    }
    w->actions.head = 0;
    w->actions.count = 0;
    if (w->actions.unheld) {
        w->actions.unheld = false;
        w->actions.unwritten = true;
        action->type = VQ_WORK_SPOOL_ANSWER;
        action->u.result = &w->actions.unheld_result;
        return true;
    }
    bool write = w->actions.unwritten;
    w->actions.unwritten = false;
    action->type = VQ_WORK_SPOOL_WRITE;
    return write;
}

bool vq_work_next(struct vq_work *w, struct vq_work_action *ret_action)
{
    vq_free(w->actions.cancel_out);
    w->actions.cancel_out = NULL;
    vq_free(w->actions.news_out);
    w->actions.news_out = NULL;
    w->actions.replies = false;
    while (w->status == VQ_OK && !w->end.exited) {
        if (w->actions.head == w->actions.count) {
            w->actions.head = 0;
            w->actions.count = 0;
            pump(w);
            if (w->actions.count == 0) {
                return false;
            }
            continue;
        }
        struct vq_work_item item = w->actions.items[w->actions.head];
        if (write_due(w, &item)) {
            ret_action->type = VQ_WORK_SPOOL_WRITE;
            return true;
        }
        if (item.type == VQ_WORK_ITEM_SENT && !w->options.has_spool) {
            w->actions.items[w->actions.head].type =
                VQ_WORK_ITEM_CALL; /* after the report to the coordinator */
        } else if (item.type == VQ_WORK_ITEM_CANCEL && w->link.state == VQ_WORK_LINK_OPEN &&
                   w->outbox.unsent_count > 0) {
            item.type = VQ_WORK_ITEM_RESULTS; /* results go before tasks that are given back */
        } else {
            w->actions.head++;
            queue_second(w, item);
            if (item.type == VQ_WORK_ITEM_SENT && w->status != VQ_OK) {
                break; /* no call may follow */
            }
        }
        if (give(w, &item, ret_action)) {
            return true;
        }
    }
    return next_of_the_last(w, ret_action);
}

enum vq_status vq_work_status(const struct vq_work *w)
{
    return w->status;
}

int64_t vq_work_wake_ns(const struct vq_work *w)
{
    if (w->status != VQ_OK || w->end.exited) {
        return INT64_MAX;
    }
    int64_t wakes[] = {vq_work_session_wake(w), vq_work_outbox_wake(w), vq_work_calls_wake(w),
                       vq_work_credit_wake(w)};
    int64_t wake = INT64_MAX;
    for (size_t i = 0; i < VQ_COUNT(wakes); i++) {
        wake = wakes[i] < wake ? wakes[i] : wake;
    }
    return wake;
}

int64_t vq_work_create_until_ns(const struct vq_work *w)
{
    bool may = w->link.state == VQ_WORK_LINK_OPEN && !w->end.draining && !w->end.orphaned;
    return may && w->slices.until_ns > w->now_ns ? w->slices.until_ns : 0;
}

const struct vq_work_spec *vq_work_spec(const struct vq_work *w)
{
    return w->spec;
}

void vq_work_stats(const struct vq_work *w, struct vq_work_stats *ret_stats)
{
    *ret_stats =
        (struct vq_work_stats){.session = w->link.state == VQ_WORK_LINK_OPEN ? w->link.session : 0,
                               .leases = w->leases.count,
                               .samples = w->samples.count,
                               .samples_bytes = w->samples.bytes,
                               .asks_open = w->leases.asks_open,
                               .calls = w->calls.count,
                               .results = w->outbox.count,
                               .results_bytes = w->outbox.bytes,
                               .calls_started = w->calls.started,
                               .calls_ended = w->calls.ended,
                               .notes_dropped = w->actions.notes_dropped,
                               .leases_refused = w->leases.refused,
                               .draining = w->end.draining};
}
