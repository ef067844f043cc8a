/* Files of a run's folder, read for a browser. The files and the folder may be foreign. */
#pragma once

#include "common/base/buf.h"

#include <sys/stat.h>

/* Opens the folder of a run; the caller closes *ret_fd. VQ_NOT_FOUND: it does not exist, or is not
 * a folder. VQ_DENIED: this user may not read it. VQ_IO. */
enum vq_status vq_ui_folder_open(int runs_fd, const char *name, int *ret_fd) VQ_WARN_UNUSED;

/* Reads a regular file in the folder `fd`; no link is followed, and nothing blocks. `out` must be
 * empty, and its limit bounds it. *ret_stat: of the file; may be NULL. VQ_NOT_FOUND (also if it is
 * not a regular file), VQ_DENIED, VQ_LIMIT, VQ_IO, VQ_NOMEM. */
enum vq_status vq_ui_file_read(int fd, const char *file, struct vq_buf *out,
                               struct stat *ret_stat) VQ_WARN_UNUSED;

/* The same in a subfolder. */
enum vq_status vq_ui_file_read_in(int fd, const char *folder, const char *file, struct vq_buf *out,
                                  struct stat *ret_stat) VQ_WARN_UNUSED;

/* Of a file in a subfolder. False: it does not exist, or is not a regular file. */
bool vq_ui_file_stat_in(int fd, const char *folder, const char *file, struct stat *ret_stat);

/* Whether a process holds the lock `file` in the folder. VQ_DENIED: it cannot be opened. VQ_OK,
 * false: the file does not exist. */
enum vq_status vq_ui_lock_is_held(int fd, const char *file, bool *ret_held) VQ_WARN_UNUSED;
