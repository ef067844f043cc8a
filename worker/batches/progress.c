/* The reports on a batch to the coordinator. A new state is reported at once, since it decides what
 * another worker would have to find out; numbers are reported at most every VQ_BATCHES_TELL_MS. */
#include "worker/batches/inside.h"

static int64_t at_least_0(int64_t n)
{
    return n < 0 ? 0 : n;
}

static uint32_t ended_of(const struct vq_batches_entry *entry)
{
    const struct vq_batch_view *view = &entry->life.view;
    int64_t ended = at_least_0(view->succeeded) + at_least_0(view->errored) +
                    at_least_0(view->cancelled) + at_least_0(view->expired);
    return ended > entry->life.record.calls ? entry->life.record.calls : (uint32_t)ended;
}

static struct vq_msg_batch progress_of(const struct vq_batches_entry *entry)
{
    struct vq_msg_batch progress = {.name = vq_span_str(entry->name),
                                    .pool = vq_span_str(entry->pool),
                                    .state = VQ_BATCH_PROGRESS_GATHERS,
                                    .calls = entry->calls};
    if (entry->lives) {
        const struct vq_batch_record *record = &entry->life.record;
        progress.id = vq_span_str(record->id);
        progress.state =
            record->id[0] != '\0' ? VQ_BATCH_PROGRESS_CREATED : VQ_BATCH_PROGRESS_SUBMITTED;
        progress.calls = record->calls;
        progress.ended = ended_of(entry);
    }
    if (entry->state == VQ_ENTRY_OVER) {
        progress.state = VQ_BATCH_PROGRESS_OVER;
        progress.ended = progress.calls;
    }
    return progress;
}

static bool has_news(const struct vq_batches_entry *entry, const struct vq_msg_batch *progress)
{
    return !entry->reported.any || entry->reported.state != progress->state ||
           entry->reported.calls != progress->calls || entry->reported.ended != progress->ended;
}

/* When a report may be sent; INT64_MAX: there is nothing new. */
static int64_t due_ms(const struct vq_batches_entry *entry, const struct vq_msg_batch *progress,
                      int64_t now_ms)
{
    if (entry->state == VQ_ENTRY_INCOMING || entry->state == VQ_ENTRY_ABANDONED ||
        !has_news(entry, progress)) {
        return INT64_MAX;
    }
    return !entry->reported.any || entry->reported.state != progress->state
               ? now_ms
               : entry->reported.at_ms + VQ_BATCHES_TELL_MS;
}

bool vq_entry_report(struct vq_batches_entry *entry, int64_t now_ms,
                     struct vq_msg_batch *ret_progress)
{
    *ret_progress = progress_of(entry);
    if (due_ms(entry, ret_progress, now_ms) > now_ms) {
        return false;
    }
    entry->reported.any = true;
    entry->reported.state = ret_progress->state;
    entry->reported.calls = ret_progress->calls;
    entry->reported.ended = ret_progress->ended;
    entry->reported.at_ms = now_ms;
    return true;
}

int64_t vq_entry_wake_ms(const struct vq_batches_entry *entry, int64_t now_ms)
{
    struct vq_msg_batch progress = progress_of(entry);
    int64_t wake_ms = due_ms(entry, &progress, now_ms), own_ms = INT64_MAX;
    if (entry->state == VQ_ENTRY_GATHERS) {
        int64_t full_ms = entry->first_ms + entry->wait_ms;
        own_ms = entry->last_ms + VQ_BATCHES_IDLE_MS;
        own_ms = full_ms < own_ms ? full_ms : own_ms;
    } else if (entry->state == VQ_ENTRY_LIVES) {
        own_ms = vq_batch_life_wake_ms(&entry->life);
    }
    return own_ms < wake_ms ? own_ms : wake_ms;
}
