/* Reads runs without their lock: for `vibeq status`, `list` and `rm`. */
#pragma once

#include "coordinator/store/rundir/run_dir.h"

#define VQ_RUNS_LISTED_MAX 100000

struct vq_run_info {
    char name[VQ_RUN_NAME_BYTES_MAX + 1];
    bool running;            /* a process holds the run lock */
    bool has_status;         /* status.json exists */
    bool has_results;        /* results/results.json exists */
    int64_t changed_unix_ms; /* of status.json, or else of the folder */
};
/* VQ_NOT_FOUND: err names the nearest run. */
enum vq_status vq_run_info_read(const char *runs_dir, const char *name,
                                struct vq_run_info *ret_info, struct vq_error *err) VQ_WARN_UNUSED;
/* All runs by name; the caller frees *ret_runs with vq_free. */
enum vq_status vq_runs_list(const char *runs_dir, struct vq_run_info **ret_runs, size_t *ret_count,
                            struct vq_error *err) VQ_WARN_UNUSED;
/* The uids of all runs of the folder, except those that were never fully begun; the caller frees
 * *ret_uids with vq_free. If a uid cannot be read: VQ_CORRUPT, VQ_DENIED, VQ_IO, VQ_NOMEM, because
 * a caller that drops data of removed runs must know every run. */
enum vq_status vq_runs_uids(const char *runs_dir, struct vq_id **ret_uids, size_t *ret_count,
                            struct vq_error *err) VQ_WARN_UNUSED;
/* Reads a file of the run's folder into `out`, which is empty. VQ_NOT_FOUND. */
enum vq_status vq_run_file_read(const char *runs_dir, const char *name, const char *file,
                                struct vq_buf *out, struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_NOT_FOUND: the run is not active, or is just starting. */
enum vq_status vq_run_endpoint_read(const char *runs_dir, const char *name,
                                    struct vq_endpoint *ret_endpoint,
                                    struct vq_error *err) VQ_WARN_UNUSED;
/* Deletes a run's folder; its answers stay in the store. VQ_LOCKED: the run, or a local worker of
 * it, is active. Without `force`: VQ_EXISTS if its spools have answers that are not in the store,
 * and the statuses of vq_spool_import_one for damage. *ret_uid: for dropping its ledger (tools.h);
 * zero if it has none. */
enum vq_status vq_run_remove(const char *runs_dir, const char *name, bool force,
                             struct vq_id *ret_uid, struct vq_error *err) VQ_WARN_UNUSED;

/* Removes a folder with its contents, but no content on another file system. VQ_IO. */
enum vq_status vq_folder_remove(const char *path, struct vq_error *err) VQ_WARN_UNUSED;

/* For run_dir.c: VQ_NOT_FOUND with a sentence that names the nearest run. */
enum vq_status vq_run_unknown(const char *runs_dir, const char *name, struct vq_error *err);
/* For run_dir.c: reads a file into `out`, which is empty, up to its limit. Returns the statuses of
 * vq_file_read. */
enum vq_status vq_path_read(const char *path, struct vq_buf *out,
                            struct vq_error *err) VQ_WARN_UNUSED;
