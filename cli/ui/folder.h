/* RUNS/.ui: the `vibeq ui` that serves a runs folder, and its address. One process holds the lock
 * in it. */
#pragma once

#include "coordinator/store/rundir/run_dir.h"

#define VQ_UI_FOLDER ".ui" /* cannot be a run's name */

struct vq_ui_folder {
    char path[VQ_RUN_PATH_BYTES_MAX];
    int lock_fd; /* -1: not taken */
};

/* VQ_LOCKED: another process serves the runs folder. VQ_DENIED: the folder cannot be written. */
enum vq_status vq_ui_folder_take(const char *runs_dir, struct vq_ui_folder *ret_folder,
                                 struct vq_error *err) VQ_WARN_UNUSED;
/* Writes the address and the token for this user's other commands. */
enum vq_status vq_ui_folder_publish(const struct vq_ui_folder *folder,
                                    const struct vq_endpoint *endpoint,
                                    struct vq_error *err) VQ_WARN_UNUSED;
/* Writes a page that redirects a browser to `url`, so that the token is in no command line. */
enum vq_status vq_ui_folder_write_door(const struct vq_ui_folder *folder, const char *url,
                                       char ret_path[VQ_RUN_PATH_BYTES_MAX],
                                       struct vq_error *err) VQ_WARN_UNUSED;
void vq_ui_folder_release(struct vq_ui_folder *folder);

/* The address at which the runs folder is served. VQ_NOT_FOUND: it is not served, or this user is
 * not allowed to read the address. The caller wipes *ret_endpoint. */
enum vq_status vq_ui_folder_find(const char *runs_dir,
                                 struct vq_endpoint *ret_endpoint) VQ_WARN_UNUSED;
