/* The results of a method that has walked to its end: results.json, the CSVs, report.html, the
 * table on the terminal. */
#pragma once

#include "coordinator/store/calls/calls.h"
#include "methods/files/method_script.h"

#define VQ_RESULT_ACCOUNT                                                                          \
    "accounting.json"             /* in the run's folder, and in that of what was bought later */
#define VQ_RESULT_REPLAY "replay" /* the folder for results with other settings */

/* Borrowed. */
struct vq_results {
    const struct vq_job *job;
    const struct vq_method_script *method; /* its script has no stage left */
    struct vq_calls *calls;
    const struct vq_id *run; /* whose answers */
    const struct vq_run_dir *dir;
    const char *folder; /* in it: "results" */
    /* the report shows the calls of the folder, not those of the run */
    bool own_account;
    bool json;   /* results.json on standard output instead of the table */
    bool silent; /* neither */
    /* Not NULL: nothing is written or printed; each file is made again and compared with the one in
     * the folder. Called for a file that is missing or differs, with `how` as the rest of a
     * sentence. The page is left out, because it also shows calls. */
    void (*differs)(void *ctx, const char *file, const char *how);
    void *differs_ctx;
};

/* *ret_missing: some answers are missing. */
enum vq_status vq_results_write(const struct vq_results *results, bool *ret_missing,
                                struct vq_error *err) VQ_WARN_UNUSED;
