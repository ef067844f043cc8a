/* A batch: what one commit makes durable. The queue gathers it, the store commits it. */
#pragma once

#include "common/judge/verdict.h"
#include "proto/messages.h"

/* A task and its state: what the store says of it, or what a commit made of it. NONE: it is open.
 */
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

/* What is known of a batch at a provider. */
struct vq_batch_said {
    struct vq_msg_batch about;
    struct vq_id owner; /* the worker that looks after it; zero: none */
};

/* Results may be of another stage (their `stage` says so): the store records them, they settle
 * nothing. The core that gathered the batch owns its memory, and changes nothing of it while it is
 * being committed (also by another thread). */
struct vq_batch {
    uint64_t no; /* 1, 2, ... in this process */
    const struct vq_result *results;
    const struct vq_span *workers; /* by result: the name of the worker that brought it */
    size_t results_count;
    const struct vq_batch_failure *failures;
    size_t failures_count;
    /* Found settled by a look-up: for the run's columns only, before what the commit settles. */
    const struct vq_settled *settled;
    size_t settled_count;
    /* Failed tasks that are asked again: the store lifts their failure before it records any other
     * failure of the batch. The task is then open, or settled by its answers. */
    const uint64_t *reopened;
    size_t reopened_count;
    const struct vq_batch_said *said; /* what is new of batches at providers */
    size_t said_count;
};
