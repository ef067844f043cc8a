/* The next action of each batch. Some actions of a life need nothing outside and are answered here
 * (its record needs no write: the ledger has each draft). Others become results of drafts.
 * Invariant: a draft leaves the state ADDED or COMMITTED once, with one action. */
#include "worker/batches/inside.h"

#include "worker/batches/batches.h"

#include <stdio.h>

static const char *why_text(struct vq_batches *b, const struct vq_batches_entry *entry,
                            enum vq_batch_why why)
{
    static const char *const words[] = {
        [VQ_BATCH_WHY_MISSING] = "has no usable result for this call",
        [VQ_BATCH_WHY_EXPIRED] = "expired before this call was worked on",
        [VQ_BATCH_WHY_CANCELLED] = "was cancelled",
        [VQ_BATCH_WHY_REFUSED] = "was refused by the provider",
        [VQ_BATCH_WHY_FAILED] = "failed at the provider",
        [VQ_BATCH_WHY_LIMITED] = "is over a limit of what may be enqueued",
        [VQ_BATCH_WHY_LOST] = "is not known to the provider any more",
        [VQ_BATCH_WHY_UNSENT] = "was never submitted"};
    VQ_ASSERT((size_t)why < VQ_COUNT(words));
    bool failed = why == VQ_BATCH_WHY_FAILED || why == VQ_BATCH_WHY_LIMITED;
    const char *error = failed ? entry->life.view.error : "";
    (void)snprintf(b->text, sizeof(b->text), "its batch %s %s%s%s", entry->name, words[why],
                   error[0] == '\0' ? "" : ": ", error);
    return b->text;
}

/* Marks the draft of call `number` as collected; NULL: it was collected before. */
static const struct vq_result *collected(struct vq_batches_entry *entry, uint32_t number)
{
    struct vq_draft *draft = number < entry->calls ? entry->drafts[number] : NULL;
    if (draft == NULL || draft->state > VQ_DRAFT_COMMITTED) {
        return NULL;
    }
    entry->added -= draft->state == VQ_DRAFT_ADDED ? 1 : 0;
    draft->state = VQ_DRAFT_COLLECTED;
    entry->unsettled++;
    return &draft->result;
}

static void give_up(struct vq_batches *b, const struct vq_batches_entry *entry,
                    enum vq_batch_why why, struct vq_batches_action *ret_action)
{
    ret_action->type = VQ_BATCHES_GIVE_UP;
    ret_action->text = why_text(b, entry, why);
    ret_action->why = why;
    ret_action->ordered = why == VQ_BATCH_WHY_CANCELLED && entry->ordered;
}

/* ---- a batch that was never submitted ---- */

/* A call is given up only after it is committed that it is part of the batch: so only one of its
 * two results is on its way at a time. */
static bool next_abandoned(struct vq_batches *b, struct vq_batches_entry *entry,
                           struct vq_batches_action *ret_action)
{
    while (entry->give_up_from < entry->calls) {
        const struct vq_draft *draft = entry->drafts[entry->give_up_from];
        if (draft != NULL && draft->state == VQ_DRAFT_ADDED) {
            return false;
        }
        ret_action->draft = collected(entry, entry->give_up_from++);
        if (ret_action->draft != NULL) {
            give_up(b, entry, entry->why, ret_action);
            return true;
        }
    }
    entry->state = VQ_ENTRY_SETTLES;
    return false;
}

/* ---- a batch with a life ---- */

static void answer(struct vq_batches *b, struct vq_batches_entry *entry,
                   enum vq_batch_event_type type)
{
    struct vq_batch_event event = {.type = type};
    vq_batch_life_step(&entry->life, &event, b->now_ms);
}

static bool settle(struct vq_batches *b, struct vq_batches_entry *entry,
                   struct vq_batches_action *ret_action)
{
    entry->state = VQ_ENTRY_SETTLES;
    vq_entry_learn_size(b, entry);
    vq_buf_clear(&b->note);
    vq_batch_collect_report(&entry->life.collect, &b->note);
    if (b->note.status != VQ_OK || b->note.bytes == 0) {
        return false;
    }
    ret_action->type = VQ_BATCHES_NOTE;
    ret_action->text = b->note.at;
    return true;
}

/* One action of a life; false: it was answered here. */
static bool take(struct vq_batches *b, struct vq_batches_entry *entry,
                 const struct vq_batch_action *action, struct vq_batches_action *ret_action)
{
    ret_action->type = VQ_BATCHES_DO;
    switch (action->type) {
    case VQ_BATCH_DO_WRITE: answer(b, entry, VQ_BATCH_WRITTEN); return false;
    case VQ_BATCH_DO_SETTLE: return settle(b, entry, ret_action);
    case VQ_BATCH_DO_FINISH: entry->state = VQ_ENTRY_OVER; return false;
    case VQ_BATCH_DO_DELIVER:
        ret_action->type = VQ_BATCHES_DELIVER;
        ret_action->draft = collected(entry, action->call);
        ret_action->line = action->line;
        return ret_action->draft != NULL;
    case VQ_BATCH_DO_GIVE_UP:
        ret_action->draft = collected(entry, action->call);
        give_up(b, entry, action->why, ret_action);
        entry->is_limited = entry->is_limited || action->why == VQ_BATCH_WHY_LIMITED;
        return ret_action->draft != NULL;
    case VQ_BATCH_DO_CREATE:
        /* the rules changed after the life had decided to create */
        if (entry->life.rules.collects) {
            answer(b, entry, VQ_BATCH_CREATE_UNSENT);
            return false;
        }
        break;
    case VQ_BATCH_DO_OPEN:
    case VQ_BATCH_DO_UPLOAD:
    case VQ_BATCH_DO_LIST:
    case VQ_BATCH_DO_PEEK:
    case VQ_BATCH_DO_GET:
    case VQ_BATCH_DO_FETCH:
    case VQ_BATCH_DO_CANCEL:
    case VQ_BATCH_DO_DROP: break;
    }
    ret_action->step = *action;
    return true;
}

static bool next_of_life(struct vq_batches *b, struct vq_batches_entry *entry,
                         struct vq_batches_action *ret_action)
{
    struct vq_batch_action action;
    while (true) {
        if (vq_batch_life_next(&entry->life, &action)) {
            if (take(b, entry, &action, ret_action)) {
                return true;
            }
        } else if (entry->cancel && entry->state == VQ_ENTRY_LIVES) {
            entry->cancel = false;
            answer(b, entry, VQ_BATCH_CANCEL_ASKED);
        } else {
            return false;
        }
    }
}

static enum vq_status submit(struct vq_batches *b, struct vq_batches_entry *entry)
{
    struct vq_batch_rules rules = vq_batch_rules_of(entry->dialect, entry->document.bytes);
    rules.poll_ms = rules.poll_max_ms = entry->poll_ms;
    rules.settle_ms = b->options.settle_ms;
    struct vq_batch_record record = {.phase = VQ_BATCH_PLANNED,
                                     .calls = entry->calls,
                                     .planned_unix_s = vq_entry_planned_unix_s(entry)};
    memcpy(record.name, entry->name, sizeof(record.name));
    return vq_entry_begin(b, entry, &record, &rules, false);
}

/* The provider has the document, so it will not be sent again. */
static void drop_document(struct vq_batches_entry *entry)
{
    const struct vq_batch_record *record = &entry->life.record;
    if (entry->document.at != NULL && (record->file[0] != '\0' || record->id[0] != '\0')) {
        vq_buf_free(&entry->document);
    }
}

/* ---- all of them ---- */

/* The next action of an entry by its state, from the earliest state to the last. */
static bool next_of(struct vq_batches *b, struct vq_batches_entry *entry,
                    struct vq_batches_action *ret_action)
{
    if (entry->state == VQ_ENTRY_GATHERS &&
        (b->now_ms - entry->first_ms >= entry->wait_ms ||
         b->now_ms - entry->last_ms >= VQ_BATCHES_IDLE_MS || entry->calls >= entry->calls_max)) {
        entry->state = VQ_ENTRY_CLOSED;
    }
    if (entry->state == VQ_ENTRY_CLOSED && entry->added == 0 && submit(b, entry) != VQ_OK) {
        vq_entry_abandon(entry, VQ_BATCH_WHY_UNSENT);
    }
    if (entry->state == VQ_ENTRY_ABANDONED && next_abandoned(b, entry, ret_action)) {
        return true;
    }
    if (entry->lives) {
        if (next_of_life(b, entry, ret_action)) {
            return true;
        }
        drop_document(entry);
    }
    if (entry->state == VQ_ENTRY_SETTLES && entry->unsettled == 0) {
        if (!entry->lives) {
            entry->state = VQ_ENTRY_OVER;
        } else {
            answer(b, entry, VQ_BATCH_SETTLED);
            if (next_of_life(b, entry, ret_action)) {
                return true;
            }
        }
    }
    ret_action->type = VQ_BATCHES_TELL;
    return vq_entry_report(entry, b->now_ms, &ret_action->progress);
}

bool vq_batches_next(struct vq_batches *b, struct vq_batches_action *ret_action)
{
    for (struct vq_link *at = b->list.next, *next = NULL; at != &b->list; at = next) {
        struct vq_batches_entry *entry = VQ_CONTAINER_OF(at, struct vq_batches_entry, link);
        next = at->next;
        *ret_action = (struct vq_batches_action){.batch = entry->no,
                                                 .pool = vq_span_str(entry->pool),
                                                 .dialect = entry->dialect,
                                                 .life = entry->lives ? &entry->life : NULL};
        if (next_of(b, entry, ret_action)) {
            return true;
        }
        if (entry->state == VQ_ENTRY_OVER) {
            vq_entry_free(b, entry);
        }
    }
    return false;
}

static struct vq_batches_entry *entry_of(const struct vq_batches *b, uint64_t no)
{
    for (struct vq_link *at = b->list.next; at != &b->list; at = at->next) {
        struct vq_batches_entry *entry = VQ_CONTAINER_OF(at, struct vq_batches_entry, link);
        if (entry->no == no) {
            return entry;
        }
    }
    return NULL;
}

const struct vq_batch_life *vq_batches_life(const struct vq_batches *b, uint64_t batch)
{
    const struct vq_batches_entry *entry = entry_of(b, batch);
    return entry != NULL && entry->lives ? &entry->life : NULL;
}

struct vq_span vq_batches_document(const struct vq_batches *b, uint64_t batch)
{
    const struct vq_batches_entry *entry = entry_of(b, batch);
    return entry == NULL ? vq_span(NULL, 0) : vq_buf_span(&entry->document);
}

void vq_batches_event(struct vq_batches *b, uint64_t batch, const struct vq_batch_event *event,
                      int64_t now_ms)
{
    vq_batches_now(b, now_ms);
    struct vq_batches_entry *entry = entry_of(b, batch);
    if (entry != NULL && entry->lives) {
        vq_batch_life_step(&entry->life, event, b->now_ms);
    }
}
