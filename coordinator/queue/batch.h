/* What one commit makes durable. The queue gathers a batch, the store commits it. */
#pragma once

#include "common/judge/verdict.h"
#include "proto/messages.h"

/* A task and its state in the store, or its state after a commit. NONE: it is open. */
struct vq_settled {
    uint64_t task;
    enum vq_outcome outcome;
};

/* A task that fails without a result: a failure row for (run uid, hash of task and repeat). */
struct vq_batch_failure {
    uint64_t task;
    uint32_t repeat;
    enum vq_outcome outcome;
};

/* What is known about a batch at a provider. */
struct vq_batch_report {
    struct vq_msg_batch about;
    struct vq_id owner; /* the worker that owns it; zero: none */
};

/* Results may be of another stage (see their `stage`): the store records them, and they settle
 * nothing. The core that gathered the batch owns its memory. It changes nothing of it during the
 * commit, because another thread may read it. */
struct vq_batch {
    uint64_t no; /* 1, 2, ... in this process */
    const struct vq_result *results;
    const struct vq_span *workers; /* for each result: the name of the worker that brought it */
    size_t results_count;
    const struct vq_batch_failure *failures;
    size_t failures_count;
    /* Tasks found settled by a look-up: for the run's columns only, written before the tasks that
     * this commit settles. */
    const struct vq_settled *settled;
    size_t settled_count;
    /* Failed tasks that are asked again: the store lifts their failure before it records any other
     * failure of the batch. The task is then open, or settled by its answers. */
    const uint64_t *reopened;
    size_t reopened_count;
    const struct vq_batch_report *said; /* news about batches at providers */
    size_t said_count;
};
