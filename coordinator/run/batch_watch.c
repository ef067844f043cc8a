/* Watches the batches at providers in this process. The duration of each one is recorded, for this
 * run's deadline and for later runs of the folder. Not recorded: a batch that was
 * filled before this process started, because its end may not have been seen, and a batch that the
 * provider never had. */
#include "coordinator/run/parts.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/conf/batches.h"
#include "common/text/log.h"

#include <stdio.h>
#include <string.h>

#define EXPIRED_S (0.98 * VQ_CONF_BATCH_WINDOW_S)

static struct vq_run_batch *find(struct vq_run_deadline *d, const char *name)
{
    for (size_t i = 0; i < d->batches_count; i++) {
        if (strcmp(d->batches[i].name, name) == 0) {
            return &d->batches[i];
        }
    }
    return NULL;
}

static void record(struct vq_run *run, const struct vq_run_batch *b, int64_t now_unix_ms)
{
    if (!b->created || b->pool == UINT32_MAX || b->since_unix_ms < run->started_unix_ms) {
        return;
    }
    const struct vq_conf_use *use = &run->source.pools->uses.uses[b->pool];
    int64_t until = b->cancelled_unix_ms != 0 ? b->cancelled_unix_ms : now_unix_ms;
    double seconds = until > b->since_unix_ms ? (double)(until - b->since_unix_ms) / 1000 : 0;
    struct vq_batch_time time = {.seconds = seconds,
                                 .end = b->cancelled_unix_ms != 0 ? 'c'
                                        : seconds >= EXPIRED_S    ? 'x'
                                                                  : 'e'};
    struct vq_error err = {.text = ""};
    (void)snprintf(time.dialect, sizeof(time.dialect), "%s", use->dialect);
    (void)snprintf(time.model, sizeof(time.model), "%s", use->sent);
    vq_log(VQ_LOG_INFO, "batch.ended", "name=%s pool=%s calls=%u seconds=%.1f cancelled=%s",
           b->name, use->name, b->calls, seconds, time.end == 'c' ? "true" : "false");
    if (vq_batch_times_add(&run->deadline.times, run->options->runs_dir, &time, b->calls,
                           now_unix_ms, &err) != VQ_OK) {
        vq_log(VQ_LOG_WARN, "batches.unwritten", "why=%s", err.text);
    }
}

static enum vq_status take(struct vq_run *run, const struct vq_coord_batch_status *s,
                           int64_t now_unix_ms)
{
    struct vq_run_deadline *d = &run->deadline;
    struct vq_run_batch *b = find(d, s->name);
    if (b == NULL) {
        VQ_TRY(
            VQ_GROW(d->batches, &d->batches_cap, d->batches_count + 1, VQ_COORD_API_BATCHES_MAX));
        b = &d->batches[d->batches_count++];
        *b = (struct vq_run_batch){
            .pool = vq_conf_uses_find(&run->source.pools->uses, vq_span_str(s->pool))};
        (void)snprintf(b->name, sizeof(b->name), "%s", s->name);
    }
    b->here = true;
    b->calls = s->calls;
    b->waiting = s->waiting;
    b->created = b->created || s->state >= VQ_BATCH_PROGRESS_CREATED;
    b->since_unix_ms = s->since_unix_ms > now_unix_ms ? now_unix_ms : s->since_unix_ms;
    if (s->cancelling && b->cancelled_unix_ms == 0) {
        b->cancelled_unix_ms = now_unix_ms;
    }
    return VQ_OK;
}

void vq_batch_watch_look(struct vq_run *run)
{
    struct vq_run_deadline *d = &run->deadline;
    struct vq_coord_batch_status s;
    int64_t now_unix_ms = vq_clock_unix_ms();
    for (size_t i = 0; i < d->batches_count; i++) {
        d->batches[i].here = false;
    }
    for (uint32_t i = 0; vq_coord_api_batch_fill(run->coord, i, &s); i++) {
        if (take(run, &s, now_unix_ms) != VQ_OK) {
            vq_run_fatal(run, VQ_NOMEM, "out of memory for the list of batches");
            return;
        }
    }
    for (size_t i = d->batches_count; i-- > 0;) {
        if (!d->batches[i].here) {
            record(run, &d->batches[i], now_unix_ms);
            d->batches[i] = d->batches[--d->batches_count];
        }
    }
}
