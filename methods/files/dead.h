/* The dead letters of a run: tasks that failed for good, with what is known of why. Out of the call
 * store, so of a run that goes on as well as of one that is over. */
#pragma once

#include "coordinator/store/calls/ledger.h"
#include "methods/files/replay.h"

struct vq_dead_letter {
    uint32_t stage; /* index of vq_replay.stages */
    uint64_t task;
    enum vq_outcome reason;
    uint32_t sends; /* calls of it that the ledger knows, over all leases, starts and repeats */
    enum vq_call_end end;    /* how the last of them ended; with sends 0: nothing */
    uint32_t http_status;    /* of that one */
    int64_t started_unix_ms; /* when it was sent */
    struct vq_span error;    /* what it said; points into the view */
};

struct vq_dead_list {
    struct vq_dead_letter *letters; /* by stage, then task; owned */
    size_t count, cap;
};

/* What stands as failed in the stages that the walk reached, as the view sees it. Cheap where
 * nothing ever failed. The caller frees *ret_list with vq_dead_free, before it ends the view. */
enum vq_status vq_dead_find(const struct vq_replay *replay, struct vq_view *view,
                            const struct vq_id *run, struct vq_dead_list *ret_list,
                            struct vq_error *err) VQ_WARN_UNUSED;
void vq_dead_free(struct vq_dead_list *list);

/* Whether the run has any failure that was not lifted: without one there is nothing to walk for. */
enum vq_status vq_dead_any(struct vq_view *view, const struct vq_id *run, bool *ret_any,
                           struct vq_error *err) VQ_WARN_UNUSED;
