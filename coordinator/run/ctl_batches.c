/* The list of batches at providers for a person, and cancelling them. Not its job: the effects of a
 * cancel (coordinator/queue/api_batch.c and the worker). */
#include "coordinator/run/ctl_batches.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/text/fmt.h"
#include "coordinator/run/parts.h"

#define ALL "all"

static const char *state_text(uint8_t state)
{
    switch ((enum vq_batch_progress)state) {
    case VQ_BATCH_PROGRESS_GATHERS: return "gathers calls";
    case VQ_BATCH_PROGRESS_SUBMITTED: return "is submitted";
    case VQ_BATCH_PROGRESS_CREATED: return "is at the provider";
    case VQ_BATCH_PROGRESS_OVER: return "is over";
    }
    return "?";
}

static void put_batch(const struct vq_coord_batch_status *b, struct vq_buf *said)
{
    char calls[VQ_FMT_BYTES], waiting[VQ_FMT_BYTES], ended[VQ_FMT_BYTES], dollars[VQ_FMT_BYTES];
    vq_buf_printf(said, "\n  %s %s", b->name, state_text(b->state));
    if (b->id[0] != '\0') {
        vq_buf_printf(said, " as %s", b->id);
    }
    vq_buf_printf(said, ": pool %s, %s call%s, %s without a result", b->pool,
                  vq_fmt_count(b->calls, calls), vq_fmt_plural(b->calls),
                  vq_fmt_count(b->waiting, waiting));
    if (b->state == VQ_BATCH_PROGRESS_CREATED) {
        vq_buf_printf(said, ", the provider has ended %s", vq_fmt_count(b->ended, ended));
    }
    vq_buf_printf(said, "; at most %s; ", vq_fmt_dollars((double)b->cost_nano / 1e9, dollars));
    if (b->worker[0] != '\0') {
        vq_buf_printf(said, "worker %s collects it", b->worker);
    } else {
        vq_buf_puts(said, "no connected worker has a key of its pool to collect it");
    }
}

/* "; so far 32 batches of gpt-small ended: half within 6 min, 90 % within 50 min". */
static enum vq_status put_times(const struct vq_run *run, const struct vq_conf_use *use,
                                struct vq_buf *said)
{
    struct vq_durations d;
    double *memory = NULL;
    char half[VQ_FMT_BYTES], most[VQ_FMT_BYTES];
    if (use->batch == NULL) {
        return VQ_OK;
    }
    VQ_TRY(vq_batch_times_of(&run->deadline.times, use, 1, &d, &memory));
    if (d.count > 0) {
        double ns = (double)VQ_NS_PER_S;
        vq_buf_printf(said,
                      "\nso far %u batch%s of %s at %s ended: half within %s, 90 %% within %s",
                      d.count, d.count == 1 ? "" : "es", use->sent, use->dialect,
                      vq_fmt_duration((int64_t)(d.ended[(d.count - 1) / 2] * ns), half),
                      vq_fmt_duration((int64_t)(d.ended[(d.count - 1) * 9 / 10] * ns), most));
    }
    vq_free(memory);
    return VQ_OK;
}

enum vq_status vq_ctl_do_batches(struct vq_run *run, const char *const *values, struct vq_buf *said,
                                 struct vq_error *err)
{
    (void)values;
    VQ_TRY(vq_ctl_going(run, err));
    struct vq_coord_status s;
    struct vq_coord_batch_status batch;
    uint32_t count = 0;
    vq_coord_status_fill(run->coord, vq_run_now(), &s);
    while (vq_coord_api_batch_fill(run->coord, count, &batch)) {
        count++;
    }
    const struct vq_conf_uses *uses = &run->source.pools->uses;
    if (count == 0) {
        vq_buf_puts(said, "no call waits in a batch");
    }
    char calls[VQ_FMT_BYTES];
    if (count > 0) {
        vq_buf_printf(said, "%s call%s in %u batch%s:", vq_fmt_count(s.batched, calls),
                      vq_fmt_form(s.batched, " waits", "s wait"), count, count == 1 ? "" : "es");
    }
    for (uint32_t i = 0; vq_coord_api_batch_fill(run->coord, i, &batch); i++) {
        put_batch(&batch, said);
    }
    for (uint32_t p = 0; p < uses->count; p++) {
        VQ_TRY(put_times(run, &uses->uses[p], said));
    }
    return VQ_OK;
}

enum vq_status vq_ctl_do_cancel(struct vq_run *run, const char *const *values, struct vq_buf *said,
                                struct vq_error *err)
{
    uint32_t count;
    VQ_TRY(vq_ctl_going(run, err));
    const char *name = strcmp(values[0], ALL) == 0 ? NULL : values[0];
    VQ_TRY(vq_coord_api_batch_cancel(run->coord, name, vq_run_now(), &count));
    vq_loop_again(run->loop);
    if (count == 0) {
        return vq_fail(err, VQ_DENIED,
                       "no worker of this run owns %s%.80s; `vibeq ctl %s batches` lists "
                       "the batches",
                       name == NULL ? "a batch" : "a batch ", name == NULL ? "" : name,
                       vq_run_dir_name(run->dir));
    }
    vq_buf_printf(
        said,
        "%u batch%s cancelled; answers of the provider count, the other calls are asked again",
        count, count == 1 ? " is being" : "es are being");
    return VQ_OK;
}
