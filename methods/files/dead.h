/* The dead letters of a run: tasks that failed for good, with the cause of each as far as it is
 * known. They are read from the call store, so it does not matter whether the run is active. */
#pragma once

#include "coordinator/store/calls/ledger.h"
#include "methods/files/replay.h"

struct vq_dead_letter {
    uint32_t stage; /* index of vq_replay.stages */
    uint64_t task;
    enum vq_outcome reason;
    uint32_t sends;       /* calls of the task in the ledger, over all leases, starts and repeats */
    enum vq_call_end end; /* how the last of these calls ended; only valid if sends > 0 */
    uint32_t http_status; /* of the last call */
    int64_t started_unix_ms; /* when the last call was sent */
    struct vq_span error;    /* error text of the last call; points into the view */
};

struct vq_dead_list {
    struct vq_dead_letter *letters; /* by stage, then task; owned */
    size_t count, cap;
};

/* Finds the tasks that count as failed in the stages that the walk reached, as the view shows them.
 * Cheap if no task ever failed. The caller frees *ret_list with vq_dead_free before it ends the
 * view. */
enum vq_status vq_dead_find(const struct vq_replay *replay, struct vq_view *view,
                            const struct vq_id *run, struct vq_dead_list *ret_list,
                            struct vq_error *err) VQ_WARN_UNUSED;
void vq_dead_free(struct vq_dead_list *list);

/* Whether the run has a failure that was not lifted. If it has none, no walk is needed. */
enum vq_status vq_dead_any(struct vq_view *view, const struct vq_id *run, bool *ret_any,
                           struct vq_error *err) VQ_WARN_UNUSED;
