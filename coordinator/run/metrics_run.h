/* Private to this folder: the run's data for its metrics (coordinator/web/metrics.h). */
#pragma once

#include "coordinator/store/calls/calls.h"
#include "coordinator/store/rundir/run_dir.h"
#include "coordinator/web/metrics.h"

#define VQ_COUNTERS_FILE "counters.json" /* counters of events, over all processes of the run */

struct vq_run_metrics {
    struct vq_call_tally calls;
    struct vq_counters past; /* of earlier processes */
    struct vq_counters kept; /* as in the file */
    bool is_kept;
    int64_t turn_ns_max[2]; /* of this minute and of the one before */
    int64_t turn_since_ns;  /* when this minute began */
    uint32_t carried;       /* the maximum of calls in flight of one worker */
};

struct vq_run;

/* Counts the calls of earlier processes from the ledger, and reads VQ_COUNTERS_FILE. */
enum vq_status vq_metrics_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
/* Results that are durable now; `repeated`: the indices of those that the ledger already had. */
void vq_metrics_see(struct vq_run *run, const struct vq_result *results, size_t count,
                    const size_t *repeated, size_t repeated_count);
/* Call it about once per second. */
void vq_metrics_tick(struct vq_run *run, int64_t now_ns);
/* Appends the metrics. No counter that a scraper sees is ahead of VQ_COUNTERS_FILE, so that no
 * counter falls when the run is resumed. */
void vq_metrics_serve(struct vq_run *run, const struct vq_status_facts *facts, struct vq_buf *out);
/* Writes both files. */
void vq_metrics_write(struct vq_run *run, const struct vq_status_facts *facts);

/* process_metrics.c: process_* of this process; values that /proc lacks are left out. */
void vq_process_metrics(struct vq_buf *out);
