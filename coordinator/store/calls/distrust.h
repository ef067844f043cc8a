/* Throws away the answers that a worker delivered to a run: they no longer count, and their
 * questions are open again, as are the tasks that the worker failed. The calls stay in the ledger,
 * because they were charged. Each answer stays next to its call, for an audit. */
#pragma once

#include "coordinator/store/calls/lookup.h"

/* Separates the name of a certificate from the name that a worker chose. */
#define VQ_WORKER_OF_CERT ':'

/* A worker's answers and failures in force, by stage. */
struct vq_distrust_stage {
    uint32_t stage;
    uint64_t answers;  /* in force in the store */
    uint64_t failures; /* of tasks, by its calls, in force */
};

struct vq_distrust {
    struct vq_distrust_stage *stages; /* owned; ascending; those with an answer or a failure */
    size_t stages_count, stages_cap;
    uint64_t answers, failures; /* over all stages */
    uint64_t calls;             /* all calls of this worker in the run */
    uint64_t cost_nano;         /* of these calls */
};

/* `worker`: a name from the ledger, or the name of a certificate: then all workers with this
 * certificate. */
bool vq_distrust_names(const char *worker, struct vq_span name);

/* The caller frees *ret_found, only after VQ_OK. */
enum vq_status vq_distrust_find(struct vq_view *view, const struct vq_id *run, const char *worker,
                                struct vq_distrust *ret_found, struct vq_error *err) VQ_WARN_UNUSED;
/* For a run without a coordinator: throws the answers away, in transactions of a bounded size. A
 * second call finds nothing. The commit number rises, so that Redis is rebuilt. */
enum vq_status vq_distrust_carry_out(struct vq_calls *calls, const struct vq_id *run,
                                     const char *worker, int64_t unix_ms,
                                     struct vq_distrust *ret_found,
                                     struct vq_error *err) VQ_WARN_UNUSED;
void vq_distrust_free(struct vq_distrust *found);

/* An answer that was thrown away, by its call. VQ_NOT_FOUND. */
enum vq_status vq_distrust_answer(struct vq_view *view, const struct vq_id *run,
                                  const struct vq_id *call, struct vq_answer *ret_answer,
                                  struct vq_error *err) VQ_WARN_UNUSED;
