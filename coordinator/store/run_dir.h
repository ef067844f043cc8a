/* The runs folder and a run's own folder in it: names, the run lock, the small files, the list of runs. Everything is 0700/0600:
 * it holds prompts. Files are written whole or not at all (temporary file, fsync, rename). */
#ifndef VQ_COORDINATOR_STORE_RUN_DIR_H
#define VQ_COORDINATOR_STORE_RUN_DIR_H

#include "proto/id.h"

#define VQ_RUN_NAME_BYTES_MAX 100
#define VQ_RUN_FILE_BYTES_MAX (1u << 30)
#define VQ_RUN_PATH_BYTES_MAX 4096
#define VQ_RUNS_LISTED_MAX    100000
#define VQ_RUN_COPIES_MAX     64 /* files kept with their hashes */

struct vq_run_dir; /* an open run: holds the run lock until it is closed */

/* `--runs`, else VIBEQ_RUNS, else "./runs"; made absolute and created (0700) when missing. The caller frees *ret_path. */
enum vq_status vq_runs_dir(const char *option, char **ret_path,
                           struct vq_error *err) VQ_WARN_UNUSED;

/* Letters, digits, `-`, `_`, `.`; begins with a letter or digit; not a name the runs folder uses itself. VQ_INVALID. */
enum vq_status vq_run_name_check(const char *name, struct vq_error *err) VQ_WARN_UNUSED;

/* A new run: folder, lock, a random uid (file `uid`). VQ_EXISTS: names `vibeq resume NAME`. */
enum vq_status vq_run_dir_create(const char *runs_dir, const char *name,
                                 struct vq_run_dir **ret_run, struct vq_error *err) VQ_WARN_UNUSED;
/* An existing run: the lock is taken before anything is read. VQ_NOT_FOUND (err names the nearest run). VQ_LOCKED: it runs. */
enum vq_status vq_run_dir_open(const char *runs_dir, const char *name, struct vq_run_dir **ret_run,
                               struct vq_error *err) VQ_WARN_UNUSED;
void vq_run_dir_close(struct vq_run_dir **run); /* gives up the lock */

const char *vq_run_dir_path(const struct vq_run_dir *run);
const char *vq_run_dir_name(const struct vq_run_dir *run);
const struct vq_id *vq_run_dir_uid(const struct vq_run_dir *run);
/* PATH/FILE into `ret_path`; VQ_LIMIT. `file` may name a subfolder's file. */
enum vq_status vq_run_dir_join(const struct vq_run_dir *run, const char *file,
                               char ret_path[VQ_RUN_PATH_BYTES_MAX]) VQ_WARN_UNUSED;

/* `file` is relative to the run folder; missing subfolders are made. Durable on VQ_OK when `durable`, atomic always. */
enum vq_status vq_run_dir_write(const struct vq_run_dir *run, const char *file,
                                struct vq_span bytes, bool durable,
                                struct vq_error *err) VQ_WARN_UNUSED;
/* Appends the file to `out` (whose limit bounds it). VQ_NOT_FOUND, VQ_LIMIT. */
enum vq_status vq_run_dir_read(const struct vq_run_dir *run, const char *file, struct vq_buf *out,
                               struct vq_error *err) VQ_WARN_UNUSED;

/* Copies of what a run was started with (data, templates): `inputs/FILE` and a line in `inputs/HASHES`. */
enum vq_status vq_run_dir_keep(const struct vq_run_dir *run, const char *file, struct vq_span bytes,
                               const char *came_from, struct vq_error *err) VQ_WARN_UNUSED;
/* At resume: the kept copy must be undamaged. When its original still exists at the place it came from and differs:
 * VQ_INVALID, naming the original. A missing original is fine: the copy is used. */
enum vq_status vq_run_dir_check_kept(const struct vq_run_dir *run,
                                     struct vq_error *err) VQ_WARN_UNUSED;

/* endpoint.json: where `vibeq status` asks. */
struct vq_endpoint {
    char address[256]; /* http://127.0.0.1:PORT */
    char token[65];    /* hex */
    uint64_t pid;
};
enum vq_status vq_run_dir_write_endpoint(const struct vq_run_dir *run,
                                         const struct vq_endpoint *endpoint,
                                         struct vq_error *err) VQ_WARN_UNUSED;
void vq_run_dir_remove_endpoint(const struct vq_run_dir *run);

/* Without the lock, for `vibeq status`, `list` and `rm`. */
struct vq_run_info {
    char name[VQ_RUN_NAME_BYTES_MAX + 1];
    struct vq_id uid;
    bool running;            /* somebody holds the run lock */
    bool has_status;         /* status.json is there */
    bool has_results;        /* results/results.json is there */
    int64_t changed_unix_ms; /* of status.json, else of the folder */
};
enum vq_status vq_run_info_read(const char *runs_dir, const char *name,
                                struct vq_run_info *ret_info, struct vq_error *err) VQ_WARN_UNUSED;
/* All runs by name; the caller frees *ret_runs with vq_free. */
enum vq_status vq_runs_list(const char *runs_dir, struct vq_run_info **ret_runs, size_t *ret_count,
                            struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_run_file_read(const char *runs_dir, const char *name, const char *file,
                                struct vq_buf *out, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_run_endpoint_read(const char *runs_dir, const char *name,
                                    struct vq_endpoint *ret_endpoint,
                                    struct vq_error *err) VQ_WARN_UNUSED;
/* Deletes a run's folder; its answers stay in the store. VQ_LOCKED: it runs. *ret_uid: for dropping its ledger. */
enum vq_status vq_run_remove(const char *runs_dir, const char *name, struct vq_id *ret_uid,
                             struct vq_error *err) VQ_WARN_UNUSED;

#endif
