/* What the store knows of a task: the walk over its repeats, and a whole shard at once. A stored verdict is only a cache: raw
 * answers are parsed anew. */
#ifndef VQ_COORDINATOR_STORE_LOOKUP_H
#define VQ_COORDINATOR_STORE_LOOKUP_H

#include "common/judge/verdict.h"
#include "coordinator/store/calls.h"
#include "coordinator/store/plan.h"

/* One task by itself. Repeats 0 to plan->generation are walked: a vote stands; no vote, or a failure, moves on while there is
 * a further repeat, else it stands; a repeat with nothing stored is open and is the one to ask. */
struct vq_walk {
    enum vq_outcome answer;  /* what stands as an answer, after its repair; NONE */
    enum vq_outcome failure; /* the outcome of the failure row that stands; NONE */
    uint32_t repeat;         /* the repeat that stands, or that is to be asked */
    struct vq_hash
        ask; /* nothing stands: the request that is missing (of a repair, when `prior` is given) */
    struct vq_span
        prior; /* nothing stands, and there is an answer to repair: its text, in the view's memory */
};

/* `failures_of`: the run whose failure rows count. `prior` is valid until the view ends. VQ_CORRUPT, VQ_IO. */
enum vq_status vq_walk_task(struct vq_view *view, const struct vq_plan *plan,
                            const struct vq_id *failures_of, uint64_t task,
                            struct vq_walk *ret_walk, struct vq_error *err) VQ_WARN_UNUSED;

/* One task of a shard, with what its lease needs. */
struct vq_task_known {
    uint8_t outcome; /* enum vq_outcome; NONE: open */
    bool lazy; /* open, and may turn out not to be needed: ask when the other order has been seen */
    uint32_t repeat;      /* open: the repeat to ask */
    struct vq_span prior; /* open: an answer to go on repairing, in the text buffer; else empty */
};

/* The tasks of a shard, vq_grid_shard_tasks() of them, index = task - first task of the shard. `text` (borrowed; appended to)
 * holds the priors: they are valid until it changes or is freed. */
enum vq_status vq_lookup_shard(struct vq_view *view, const struct vq_plan *plan,
                               const struct vq_id *run, uint64_t shard,
                               struct vq_task_known *ret_tasks, struct vq_buf *text,
                               struct vq_error *err) VQ_WARN_UNUSED;

/* The same, outcomes only, for the columns of a rebuild: one byte a task into ret_outcomes. */
enum vq_status vq_lookup_outcomes(struct vq_view *view, const struct vq_plan *plan,
                                  const struct vq_id *run, uint64_t shard, uint8_t *ret_outcomes,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* One stored answer, for results and the command line. Spans are in the view's memory. */
struct vq_answer {
    struct vq_span answer;
    struct vq_span finish_reason;
    struct vq_span model;
    struct vq_span fingerprint;
    bool refusal;
    uint64_t tokens_in, tokens_cached, tokens_out;
    int64_t created_unix_ms;
    struct vq_id call; /* that bought it */
    struct vq_id run;  /* that bought it */
};
/* VQ_NOT_FOUND. */
enum vq_status vq_lookup_answer(struct vq_view *view, const struct vq_hash *request,
                                struct vq_answer *ret_answer, struct vq_error *err) VQ_WARN_UNUSED;

#endif
