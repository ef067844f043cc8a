/* Stores the budget advances of workers on other machines in the run's folder, so that their
 * spending stays within the budget whichever process crashes at any time. Invariant: a GRANT is
 * sent only after the list that covers it is durable. Only with a budget. The list has 1.5 times
 * each worker's grants, so that new lists are rare. Not its job: the amounts (the authority). */
#include "coordinator/run/parts.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/text/log.h"
#include "coordinator/store/rundir/advances.h"

#define LESS_NS VQ_NS_PER_S /* the list may contain ended advances for this time */

static void keep(struct vq_run *run)
{
    uint32_t max = vq_authority_advances_count(run->limits.authority);
    struct vq_advance *advances = vq_alloc(max, sizeof(*advances));
    if (advances == NULL) {
        vq_run_fatal(run, VQ_NOMEM, "out of memory while storing the workers' grants");
        return;
    }
    uint32_t count = vq_authority_advances(run->limits.authority, advances, max);
    struct vq_error err = {0};
    enum vq_status status = vq_advances_write(run->dir, advances, count, &err);
    vq_free(advances);
    run->limits.advances_ns = vq_run_now();
    if (status != VQ_OK) {
        vq_run_fatal(run, status, "cannot store the grants of workers on other machines: %s",
                     err.text);
    }
}

bool vq_advances_cover(struct vq_run *run)
{
    if (vq_authority_advances_due(run->limits.authority) == VQ_ADVANCES_MORE) {
        keep(run);
    }
    return run->fatal == VQ_OK;
}

void vq_advances_tick(struct vq_run *run)
{
    if (vq_authority_advances_due(run->limits.authority) != VQ_ADVANCES_KEPT &&
        vq_run_now() - run->limits.advances_ns >= LESS_NS) {
        keep(run);
    }
}

int64_t vq_advances_wake_ns(const struct vq_run_limits *limits)
{
    return vq_authority_advances_due(limits->authority) == VQ_ADVANCES_KEPT
               ? INT64_MAX
               : limits->advances_ns + LESS_NS;
}

/* All tasks are settled, and no worker lists a call. */
static bool nothing_out(const struct vq_run *run)
{
    struct vq_coord_status status;
    vq_coord_status_fill(run->coord, vq_run_now(), &status);
    return run->stop.finished && status.calls_reserved == 0;
}

void vq_advances_end(struct vq_run *run)
{
    if (run->limits.authority == NULL || run->coord == NULL || run->fatal != VQ_OK) {
        return;
    }
    if (run->stop.stopped ? run->stop.clean : nothing_out(run)) {
        vq_authority_over(run->limits.authority, vq_run_now());
    }
    if (vq_authority_advances_due(run->limits.authority) != VQ_ADVANCES_KEPT) {
        keep(run);
    }
}

void vq_advances_report(struct vq_run *run)
{
    uint32_t workers = 0;
    uint64_t nano = vq_authority_advances_missed(run->limits.authority, &workers);
    if (workers == 0 || run->source.config->budget_usd <= 0) {
        return;
    }
    double usd = (double)nano / VQ_NANO_PER_USD;
    vq_log(VQ_LOG_WARN, "budget.advances", "workers=%u usd=%.9f", workers, usd);
    vq_run_message(run,
                   "Up to $%.4f of the budget may be spent already, by workers on other machines "
                   "that have not connected since the last stop (%u of them). This amount is "
                   "reserved until they, or workers with their spools, connect.",
                   usd, workers);
}
