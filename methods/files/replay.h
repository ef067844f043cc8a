/* Walks through a run again, from the call store alone: it parses every stored answer again,
 * computes all numbers again, and sends nothing. */
#pragma once

#include "coordinator/store/calls/calls.h"
#include "methods/files/method_script.h"

/* A score (a cell of a ranking stage) that the stored answers do not decide. */
struct vq_undecided {
    int64_t record;
    uint32_t judge;
    char vibe[VQ_NAME_BYTES_MAX + 1];
};

struct vq_replay {
    struct vq_method_script method; /* at its end when `whole` */
    bool whole;                     /* the walk went through every stage */
    /* if not `whole`: the stage where the walk ended, because later stages depend on its answers */
    char stage[VQ_STAGE_NAME_BYTES];
    uint64_t open; /* tasks without an answer: calls that would have to be made */
    /* of `open`, the tasks of the first stage that has any; their answers may change the later
     * stages */
    uint64_t open_first;
    /* number of that first stage; if stages_count > open_stage + 1, or not `whole`, stages follow
     * it */
    uint32_t open_stage;
    struct vq_stage_grid **stages; /* retired, in order: the questions of each stage */
    uint32_t stages_count;
    size_t stages_cap;
    struct vq_undecided *undecided;
    size_t undecided_count, undecided_cap;
};

/* `script` NULL: the script of the job's method; else a script beside the run, and `method` stays
 * closed. `job`'s generation is that of the run (`vq_calls_read_run`). After a ranking stage the
 * walk continues with the scores that are decided, and the other scores are missing. A stage of
 * texts or vectors needs all its answers. The caller frees *ret_replay. */
enum vq_status vq_replay_walk(const struct vq_job *job, struct vq_calls *calls,
                              const struct vq_id *run, const struct vq_script *script,
                              struct vq_replay *ret_replay, struct vq_error *err) VQ_WARN_UNUSED;
void vq_replay_free(struct vq_replay *replay);
