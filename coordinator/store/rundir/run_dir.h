/* The runs folder and a run's folder in it: names, the run lock, files. All have mode 0700/0600,
 * because they contain prompts. See also run_inputs.h (copies of a run's inputs) and run_list.h
 * (reading runs without their lock). */
#pragma once

#include "proto/id.h"

#define VQ_RUN_NAME_BYTES_MAX 100
#define VQ_RUN_PATH_BYTES_MAX 4096
#define VQ_RUN_BEGUN_FILE     "run.yaml" /* written last: a folder without it never became a run */
#define VQ_RUN_LOCK_TRIES     10         /* tries in a row: `vibeq status` may be reading */
#define VQ_RUN_LOCK_TRY_MS    20

struct vq_run_dir; /* an open run: holds the run lock until it is closed */

/* `option`, or else VIBEQ_RUNS, or else "./runs"; made absolute, and created (0700) if missing. The
 * caller frees *ret_path. */
enum vq_status vq_runs_dir(const char *option, char **ret_path,
                           struct vq_error *err) VQ_WARN_UNUSED;

/* The same name as given, whether it exists or not; borrowed. */
const char *vq_runs_dir_wanted(const char *option);

/* The same, but VQ_NOT_FOUND if it is missing: for reading runs. */
enum vq_status vq_runs_dir_find(const char *option, char **ret_path,
                                struct vq_error *err) VQ_WARN_UNUSED;

/* Letters, digits, `-`, `_`, `.`; begins with a letter or digit; not a name that the runs folder
 * uses itself. VQ_INVALID. */
enum vq_status vq_run_name_check(const char *name, struct vq_error *err) VQ_WARN_UNUSED;

/* A new run: folder, lock, a random uid (file `uid`). A folder without VQ_RUN_BEGUN_FILE is of a
 * start that was interrupted before it sent anything; it is used again. VQ_EXISTS: err names `vibeq
 * resume NAME`. */
enum vq_status vq_run_dir_create(const char *runs_dir, const char *name,
                                 struct vq_run_dir **ret_run, struct vq_error *err) VQ_WARN_UNUSED;
/* An existing run: takes the lock before it reads anything. VQ_NOT_FOUND: err names the nearest
 * run. VQ_LOCKED: it is active. VQ_NOT_FOUND, or VQ_CORRUPT if its uid is damaged: it was never
 * fully begun. */
enum vq_status vq_run_dir_open(const char *runs_dir, const char *name, struct vq_run_dir **ret_run,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_NOT_FOUND if VQ_RUN_BEGUN_FILE is missing. */
enum vq_status vq_run_dir_check_begun(const struct vq_run_dir *run,
                                      struct vq_error *err) VQ_WARN_UNUSED;
/* The same without the lock: for reading only. */
enum vq_status vq_run_dir_look(const char *runs_dir, const char *name, struct vq_run_dir **ret_run,
                               struct vq_error *err) VQ_WARN_UNUSED;
void vq_run_dir_close(struct vq_run_dir **run); /* gives up the lock; NULL inside is fine */

const char *vq_run_dir_path(const struct vq_run_dir *run);
const char *vq_run_dir_name(const struct vq_run_dir *run);
const struct vq_id *vq_run_dir_uid(const struct vq_run_dir *run);
/* PATH/FILE into `ret_path`; VQ_LIMIT. `file` may name a subfolder's file. */
enum vq_status vq_run_dir_join(const struct vq_run_dir *run, const char *file,
                               char ret_path[VQ_RUN_PATH_BYTES_MAX]) VQ_WARN_UNUSED;

/* `file` is relative to the run folder; missing subfolders are made. The file is written whole or
 * not at all; if `durable`, it survives a power cut. */
enum vq_status vq_run_dir_write(const struct vq_run_dir *run, const char *file,
                                struct vq_span bytes, bool durable,
                                struct vq_error *err) VQ_WARN_UNUSED;
/* The same for a text in a buffer, which it frees; if the buffer has failed, returns its status. */
enum vq_status vq_run_dir_write_buf(const struct vq_run_dir *run, const char *file,
                                    struct vq_buf *take_text, bool durable,
                                    struct vq_error *err) VQ_WARN_UNUSED;
/* The same, durable, for a file that is written in pieces (common/text/file.h). */
struct vq_file_new;
enum vq_status vq_run_dir_begin(const struct vq_run_dir *run, const char *file,
                                struct vq_file_new **ret_file, struct vq_error *err) VQ_WARN_UNUSED;
/* Reads the file into `out`, which is empty; its limit is the maximum. VQ_NOT_FOUND, VQ_LIMIT. */
enum vq_status vq_run_dir_read(const struct vq_run_dir *run, const char *file, struct vq_buf *out,
                               struct vq_error *err) VQ_WARN_UNUSED;

/* endpoint.json: the address for `vibeq status`. Every process that can read it may send
 * requests. */
#define VQ_ENDPOINT_TOKEN_BYTES 257
struct vq_endpoint {
    char address[256];                   /* http://127.0.0.1:PORT */
    char token[VQ_ENDPOINT_TOKEN_BYTES]; /* visible ASCII */
    uint64_t pid;
};
/* As JSON, and back; the text may be any bytes. VQ_CORRUPT, VQ_NOMEM. */
void vq_endpoint_put(const struct vq_endpoint *endpoint, struct vq_buf *out);
enum vq_status vq_endpoint_parse(struct vq_span text,
                                 struct vq_endpoint *ret_endpoint) VQ_WARN_UNUSED;
enum vq_status vq_run_dir_write_endpoint(const struct vq_run_dir *run,
                                         const struct vq_endpoint *endpoint,
                                         struct vq_error *err) VQ_WARN_UNUSED;
void vq_run_dir_remove_endpoint(const struct vq_run_dir *run);

#include "coordinator/store/rundir/run_inputs.h"
#include "coordinator/store/rundir/run_list.h"
