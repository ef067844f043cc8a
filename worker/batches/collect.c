/* Batches of another worker, and cancels. The coordinator sends the drafts of a batch in parts; the
 * batch's life starts after the last part. If a part is lost, the others are dropped: the
 * coordinator gets no report on the batch, and sends all parts again. Not its job: whether the
 * provider has the batch. */
#include "worker/batches/inside.h"

#include <stdio.h>

static struct vq_batches_entry *entry_named(const struct vq_batches *b, struct vq_span name)
{
    for (struct vq_link *at = b->list.next; at != &b->list; at = at->next) {
        struct vq_batches_entry *entry = VQ_CONTAINER_OF(at, struct vq_batches_entry, link);
        if (vq_span_eq(vq_span_str(entry->name), name)) {
            return entry;
        }
    }
    return NULL;
}

/* Whether every draft belongs to this batch. */
static bool is_sound(const struct vq_msg_collect *message)
{
    for (uint32_t i = 0; i < message->drafts_count; i++) {
        struct vq_span name;
        uint32_t number;
        if (!vq_result_batch(&message->drafts[i], &name, &number) ||
            !vq_span_eq(name, message->name)) {
            return false;
        }
    }
    return message->calls <= VQ_BATCH_CALLS_MAX && message->id.bytes < VQ_BATCH_ID_BYTES_MAX;
}

static enum vq_status take_drafts(struct vq_batches *b, struct vq_batches_entry *entry,
                                  const struct vq_msg_collect *message)
{
    for (uint32_t i = 0; i < message->drafts_count; i++) {
        struct vq_span name;
        uint32_t number = 0;
        (void)vq_result_batch(&message->drafts[i], &name, &number);
        if (number >= entry->calls || entry->drafts[number] == NULL) {
            VQ_TRY(vq_entry_draft(b, entry, number, &message->drafts[i], VQ_DRAFT_COMMITTED));
        }
    }
    return VQ_OK;
}

static enum vq_status begin(struct vq_batches *b, struct vq_batches_entry *entry,
                            const struct vq_msg_collect *message)
{
    uint32_t foreign_ms = b->options.foreign_settle_ms;
    struct vq_batch_rules rules = vq_batch_rules_of(entry->dialect, 0);
    rules.poll_ms = rules.poll_max_ms = entry->poll_ms;
    rules.settle_ms = foreign_ms != 0 ? foreign_ms : VQ_BATCH_FOREIGN_SETTLE_MS;
    rules.collects = true;
    rules.size_unknown = message->calls == 0;
    struct vq_batch_record record = {
        .phase = message->id.bytes > 0 ? VQ_BATCH_CREATED : VQ_BATCH_CREATING,
        .calls = message->calls > entry->calls ? message->calls : entry->calls,
        .planned_unix_s = vq_entry_planned_unix_s(entry)};
    memcpy(record.name, entry->name, sizeof(record.name));
    (void)snprintf(record.id, sizeof(record.id), "%.*s", (int)message->id.bytes,
                   message->id.bytes == 0 ? "" : message->id.at);
    return vq_entry_begin(b, entry, &record, &rules, true);
}

static enum vq_status open_foreign(struct vq_batches *b, const struct vq_msg_collect *message,
                                   const struct vq_batches_pool *pool,
                                   struct vq_batches_entry **ret_entry)
{
    char name[VQ_BATCH_NAME_BYTES_MAX + 1];
    if (message->name.bytes >= sizeof(name)) {
        return VQ_INVALID;
    }
    (void)snprintf(name, sizeof(name), "%.*s", (int)message->name.bytes,
                   message->name.bytes == 0 ? "" : message->name.at);
    if (!vq_batch_name_ok(name)) {
        return VQ_INVALID;
    }
    if (b->count >= VQ_BATCHES_MAX) {
        return VQ_AGAIN;
    }
    *ret_entry = vq_entry_open(b, name, pool);
    if (*ret_entry == NULL) {
        return VQ_NOMEM;
    }
    (*ret_entry)->state = VQ_ENTRY_INCOMING;
    return VQ_OK;
}

static void cancel(struct vq_batches_entry *entry)
{
    entry->ordered = true;
    if (entry->state == VQ_ENTRY_GATHERS || entry->state == VQ_ENTRY_CLOSED) {
        vq_entry_abandon(entry, VQ_BATCH_WHY_CANCELLED);
    } else if (entry->state == VQ_ENTRY_LIVES) {
        entry->cancel = true;
    }
}

enum vq_status vq_batches_collect(struct vq_batches *b, const struct vq_msg_collect *message,
                                  const struct vq_batches_pool *pool, int64_t now_ms)
{
    vq_batches_now(b, now_ms);
    if (!is_sound(message)) {
        return VQ_INVALID;
    }
    struct vq_batches_entry *entry = entry_named(b, message->name);
    if (entry != NULL && entry->state != VQ_ENTRY_INCOMING) {
        if (message->cancel) {
            cancel(entry);
        }
        /* the coordinator has no report yet that this worker follows the batch */
        entry->reported.any = false;
        return VQ_OK;
    }
    if (entry != NULL && message->before != entry->incoming) {
        vq_entry_free(b, entry);
        entry = NULL;
    }
    if (entry == NULL && message->before > 0) {
        return VQ_OK;
    }
    if (entry == NULL) {
        VQ_TRY(open_foreign(b, message, pool, &entry));
    }
    entry->incoming += message->drafts_count;
    enum vq_status status = take_drafts(b, entry, message);
    if (status == VQ_OK && message->more) {
        return VQ_OK;
    }
    if (status == VQ_OK && entry->calls > 0) {
        status = begin(b, entry, message);
    }
    if (status != VQ_OK || entry->calls == 0) { /* no drafts: no result to collect */
        vq_entry_free(b, entry);
        return status;
    }
    entry->cancel = entry->ordered = message->cancel;
    return VQ_OK;
}
