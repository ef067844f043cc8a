/* The results of a method that has no stage left: results.json, the CSVs, report.html, the table on
 * the terminal. */
#pragma once

#include "coordinator/store/calls/calls.h"
#include "methods/files/method_script.h"

#define VQ_RESULT_ACCOUNT                                                                          \
    "accounting.json"             /* in the run's folder, and in the folders of later purchases */
#define VQ_RESULT_REPLAY "replay" /* the folder for results with other settings */

/* Borrowed. */
struct vq_results {
    const struct vq_job *job;
    const struct vq_method_script *method; /* its script has no stage left */
    struct vq_calls *calls;
    const struct vq_id *run; /* the run that the answers belong to */
    const struct vq_run_dir *dir;
    const char *folder; /* name of the folder within `dir`: "results" */
    /* the report shows the calls of `folder`, not those of the run */
    bool own_account;
    bool json;   /* prints results.json on standard output instead of the table */
    bool silent; /* prints neither */
    /* Not NULL: nothing is written or printed; each file is made again and compared with the one in
     * the folder. It is called for a file that is missing or differs, with `how` as the rest of a
     * sentence. The page is not compared, because it also shows calls. */
    void (*differs)(void *ctx, const char *file, const char *how);
    void *differs_ctx;
};

/* *ret_missing: some answers are missing. */
enum vq_status vq_results_write(const struct vq_results *results, bool *ret_missing,
                                struct vq_error *err) VQ_WARN_UNUSED;
