/* The commit of a batch of results: one write transaction, then the standing state of every cell
 * it touched. */
#ifndef VQ_COORDINATOR_STORE_CALLS_COMMIT_H
#define VQ_COORDINATOR_STORE_CALLS_COMMIT_H

#include "common/judge/verdict.h"
#include "coordinator/store/calls/calls.h"
#include "coordinator/store/calls/plan.h"
#include "proto/messages.h"

#define VQ_BATCH_RESULTS_MAX 65536
#define VQ_BATCH_BYTES_MAX   (256u << 20)

/* Results for one commit, lent, and tasks that fail or are open again. Filled by the loop thread,
 * then handed to the job whole. */
struct vq_batch;
enum vq_status vq_batch_create(struct vq_batch **ret_batch) VQ_WARN_UNUSED;
void vq_batch_destroy(struct vq_batch **batch);
void vq_batch_clear(struct vq_batch *batch); /* keeps its memory */
/* All results at once, not copied: they and what they point to stay the caller's, unchanged until
 * the batch is cleared. The batch holds none yet, and takes no more. `workers`: by result, its name
 * for accounting. VQ_LIMIT: too many, or too many bytes. */
enum vq_status vq_batch_lend(struct vq_batch *batch, const struct vq_result *results,
                             const struct vq_span *workers, size_t count) VQ_WARN_UNUSED;
/* A failure that comes with no result, such as VQ_OUTCOME_WORKER_LOST: settles the task if it is
 * still open. */
enum vq_status vq_batch_fail(struct vq_batch *batch, uint64_t task,
                             enum vq_outcome failure) VQ_WARN_UNUSED;
/* The failure of this task is lifted, if it stands as failed: it is open again, or what its answers
 * say. Its failure row stays, as one that settles nothing any more; the call that it names cannot
 * fail the task a second time. */
enum vq_status vq_batch_reopen(struct vq_batch *batch, uint64_t task) VQ_WARN_UNUSED;
#define VQ_WORKER_NAME_BYTES 64

/* A task's state after the commit. Overwrite what was known of it: a stored swapped answer
 * becomes not needed when the first order's answer comes in after it. NONE: still open (or open
 * again). */
struct vq_standing {
    uint64_t task;
    uint8_t outcome; /* enum vq_outcome */
};

struct vq_commit {
    uint64_t n;                   /* of this commit; unchanged when `stale` */
    struct vq_standing *standing; /* both orders of every touched cell, ascending, each once */
    size_t standing_count;
    size_t *repeated; /* results, by index, of calls whose cost is in the ledger already */
    size_t repeated_count;
    size_t duplicates;  /* call ids that the ledger knew already: nothing changed */
    size_t paid_unused; /* answers to a question that had one */
    size_t foreign;     /* results whose hash is not the task's: recorded, settled nothing */
    struct vq_id foreign_first; /* one of them, to be named */
    uint64_t foreign_task;
};

/* Results whose `stage` is not the plan's are recorded (answer, ledger row) and settle nothing;
 * they are not foreign.
 *
 * Job of the thread pool; touches no loop. All or nothing, and durable on return:
 *   - answers: the first one wins;
 *   - ledger rows: a known call id changes nothing, except that an `unknown` call may turn out to
 *     have ended;
 *   - failures of reopened tasks are lifted;
 *   - failure rows, while their task is open after the answers were put;
 *   - commit n in the meta row.
 * On VQ_OK the caller frees *ret_commit. VQ_STALE: another coordinator raised the epoch; answers
 * and ledger rows are recorded all the same, no failure row, no n, and *ret_commit is untouched:
 * stop, ACK nothing. */
enum vq_status vq_commit_run(struct vq_calls *calls, const struct vq_plan *plan,
                             const struct vq_id *run, uint64_t epoch, const struct vq_batch *batch,
                             int64_t unix_ms, struct vq_commit *ret_commit,
                             struct vq_error *err) VQ_WARN_UNUSED;
void vq_commit_free(struct vq_commit *commit);

#endif
