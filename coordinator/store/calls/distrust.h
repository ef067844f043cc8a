/* What a worker delivered to a run is thrown away: its answers no longer count and their questions
 * are open again, as are the tasks that it failed. The calls stay in the ledger, since they were
 * paid for, and each answer stays beside its call, for an audit. */
#pragma once

#include "coordinator/store/calls/lookup.h"

/* Between the name of a certificate and the name that a worker gave itself. */
#define VQ_WORKER_OF_CERT ':'

/* What counts of a worker, by stage. */
struct vq_distrust_stage {
    uint32_t stage;
    uint64_t answers;  /* that are in force in the store */
    uint64_t failures; /* of tasks, by its calls, that are in force */
};

struct vq_distrust {
    struct vq_distrust_stage *stages; /* owned; ascending; those with an answer or a failure */
    size_t stages_count, stages_cap;
    uint64_t answers, failures; /* over all stages */
    uint64_t calls;             /* all of this worker in the run */
    uint64_t cost_nano;         /* of these calls */
};

/* `worker` as the ledger has it, or the name of a certificate: all workers with that name before
 * their own. */
bool vq_distrust_names(const char *worker, struct vq_span name);

/* *ret_found is freed by the caller, with VQ_OK alone. */
enum vq_status vq_distrust_find(struct vq_view *view, const struct vq_id *run, const char *worker,
                                struct vq_distrust *ret_found, struct vq_error *err) VQ_WARN_UNUSED;
/* Of a run without a coordinator: throws it away, in transactions of a bounded size; again, it
 * finds nothing. The commit number rises, so that Redis is rebuilt. */
enum vq_status vq_distrust_carry_out(struct vq_calls *calls, const struct vq_id *run,
                                     const char *worker, int64_t unix_ms,
                                     struct vq_distrust *ret_found,
                                     struct vq_error *err) VQ_WARN_UNUSED;
void vq_distrust_free(struct vq_distrust *found);

/* An answer that was thrown away, by its call. VQ_NOT_FOUND. */
enum vq_status vq_distrust_answer(struct vq_view *view, const struct vq_id *run,
                                  const struct vq_id *call, struct vq_answer *ret_answer,
                                  struct vq_error *err) VQ_WARN_UNUSED;
