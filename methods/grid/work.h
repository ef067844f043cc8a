/* What a run carries out, as its loop sees it: a script, what the script's stages are made of, and
 * who takes the end. The loop knows nothing else of a method. */
#pragma once

#include "coordinator/store/calls/calls.h"
#include "coordinator/store/rundir/run_dir.h"
#include "methods/grid/stage_grid.h"
#include "methods/script.h"

/* Where the answers of a run are. Borrowed. */
struct vq_run_answers {
    struct vq_calls *calls;
    const struct vq_id *run; /* whose answers */
    const struct vq_run_dir *dir;
    uint32_t generation; /* of --retry-failed */
};

/* The name of a stage that may follow. */
#define VQ_EXPECTED_MAX 512u
struct vq_expected_stage {
    char name[64];
    uint64_t calls; /* of each of its models, probably; a dialogue's turns count each */
};

/* All borrowed. */
struct vq_run_work {
    struct vq_grid_source source;
    bool needs_offline; /* a model of the built-in server is asked */
    struct vq_script script;
    bool is_first_implied; /* the progress line shows no name for the first stage */
    /* Called once, when the script has no stage left: writes the results. *ret_missing: some
     * answers are missing. NULL: the script asks something beside the run, nothing is written, and
     * who gave the script has its answers. */
    enum vq_status (*write)(void *ctx, const struct vq_run_answers *answers, bool *ret_missing,
                            struct vq_error *err);
    /* The record of the data that a sample is about; -1: none. NULL: it is known of no sample. */
    int64_t (*record)(const void *ctx, const struct vq_stage_grid *stage, uint32_t sample);
    /* The stages that the script will probably name, in order; room for VQ_EXPECTED_MAX. NULL: it
     * is known of none. */
    uint32_t (*expected)(const void *ctx, struct vq_expected_stage *ret_stages);
    void *ctx;
};
