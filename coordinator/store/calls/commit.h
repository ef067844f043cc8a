/* The commit of a batch of results: one write transaction, then the standing state of every cell
 * it touched. */
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
    uint64_t n; /* of this commit; unchanged when `stale` */
    /* Both orders of every touched cell, ascending, each once: they replace what was known of these
     * tasks. A stored swapped answer becomes not needed when the first order's answer comes in
     * after it. */
    struct vq_settled *standing;
    size_t standing_count;
    /* results, by index, of calls whose cost is in the ledger already; of end BATCHED: those that
     * the ledger has as BATCHED or with what followed */
    size_t *repeated;
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
 * On VQ_OK the caller frees *ret_commit. VQ_LIMIT: the batch has more results or bytes than the
 * bounds above. VQ_STALE: another coordinator raised the epoch; answers and ledger rows are
 * recorded all the same, no failure row, no n, and *ret_commit is untouched: stop, ACK nothing. */
enum vq_status vq_commit_run(struct vq_calls *calls, const struct vq_plan *plan,
                             const struct vq_id *run, uint64_t epoch, const struct vq_batch *batch,
                             int64_t unix_ms, struct vq_commit *ret_commit,
                             struct vq_error *err) VQ_WARN_UNUSED;
void vq_commit_free(struct vq_commit *commit);
