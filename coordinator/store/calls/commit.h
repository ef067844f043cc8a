/* The commit of a batch of results: one write transaction, then the state in force of every cell
 * that it touched. */
#pragma once

#include "common/judge/verdict.h"
#include "coordinator/queue/batch.h"
#include "coordinator/store/calls/calls.h"
#include "coordinator/store/calls/plan.h"
#include "proto/messages.h"

#define VQ_BATCH_RESULTS_MAX 65536
#define VQ_BATCH_BYTES_MAX   (256u << 20) /* of the results' texts */

#define VQ_WORKER_NAME_BYTES 64

struct vq_commit {
    uint64_t n; /* number of this commit; unchanged if `stale` */
    /* Both orders of every touched cell, ascending, each once: they replace the earlier states of
     * these tasks. A stored second order becomes not needed if the first order's answer comes in
     * after it. */
    struct vq_settled *standing;
    size_t standing_count;
    /* indices of results whose calls have a cost in the ledger already; of end BATCHED: calls that
     * the ledger has as BATCHED or with their result */
    size_t *repeated;
    size_t repeated_count;
    size_t duplicates;  /* call ids that the ledger already had: nothing changed */
    size_t paid_unused; /* answers to a question that already had one */
    size_t foreign; /* results whose hash is not the task's: recorded, but they settle nothing */
    struct vq_id foreign_first; /* one of them, for a message */
    uint64_t foreign_task;
};

/* Results whose `stage` is not the plan's are recorded (answer, ledger row) and settle nothing;
 * they do not count as foreign.
 *
 * A job of the thread pool; touches no loop. All or nothing, and durable on return:
 *   - answers: the first one wins;
 *   - ledger rows: a known call id changes nothing, except that an `unknown` call may turn out to
 *     have ended;
 *   - failures of reopened tasks are lifted;
 *   - failure rows, if their task is still open after the answers were put;
 *   - commit n in the meta row.
 * On VQ_OK the caller frees *ret_commit. VQ_LIMIT: the batch has more results or bytes than the
 * bounds above. VQ_STALE: another coordinator raised the epoch; answers and ledger rows are
 * recorded, but no failure row and no n, and *ret_commit is unchanged: stop, and ACK nothing. */
enum vq_status vq_commit_run(struct vq_calls *calls, const struct vq_plan *plan,
                             const struct vq_id *run, uint64_t epoch, const struct vq_batch *batch,
                             int64_t unix_ms, struct vq_commit *ret_commit,
                             struct vq_error *err) VQ_WARN_UNUSED;
void vq_commit_free(struct vq_commit *commit);
