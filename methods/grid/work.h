/* The work of a run, as its loop sees it: a script, the parts of the script's stages, and a
 * function that takes the end. The loop knows nothing else of a method. */
#pragma once

#include "coordinator/store/calls/calls.h"
#include "coordinator/store/rundir/run_dir.h"
#include "methods/grid/stage_grid.h"
#include "methods/script.h"

/* The place of a run's answers. Borrowed. */
struct vq_run_answers {
    struct vq_calls *calls;
    const struct vq_id *run; /* the run that the answers belong to */
    const struct vq_run_dir *dir;
    uint32_t generation; /* of --retry-failed */
};

/* The name of a stage that may follow. */
#define VQ_EXPECTED_MAX 512u
struct vq_expected_stage {
    char name[64];
    uint64_t calls; /* the probable calls to each of its models; each turn of a dialogue counts */
};

/* All borrowed. */
struct vq_run_work {
    struct vq_grid_source source;
    bool needs_offline; /* some model is served by the built-in server */
    struct vq_script script;
    bool is_first_implied; /* the progress line shows no name for the first stage */
    /* Called once, when the script has no stage left: writes the results. *ret_missing: some
     * answers are missing. NULL: the script asks something beside the run. Then no results are
     * written, and the owner of the script has its answers. */
    enum vq_status (*write)(void *ctx, const struct vq_run_answers *answers, bool *ret_missing,
                            struct vq_error *err);
    /* The record of the data that a sample belongs to; -1: none. NULL: no sample's record is
     * known. */
    int64_t (*record)(const void *ctx, const struct vq_stage_grid *stage, uint32_t sample);
    /* The stages that the script will probably name, in order; room for VQ_EXPECTED_MAX. NULL: none
     * is known. */
    uint32_t (*expected)(const void *ctx, struct vq_expected_stage *ret_stages);
    void *ctx;
};
