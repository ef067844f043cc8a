/* Reads and writes whole files, with a size limit. */
#pragma once

#include "common/base/buf.h"

/* Reads a regular file (or a pipe, to its end) into *ret_bytes, which the caller frees with
 * vq_buf_free. VQ_NOT_FOUND, VQ_DENIED, VQ_INVALID (a directory), VQ_LIMIT above bytes_max, VQ_IO,
 * VQ_NOMEM; the error names the path. */
enum vq_status vq_file_read(const char *path, size_t bytes_max, struct vq_buf *ret_bytes,
                            struct vq_error *err) VQ_WARN_UNUSED;

/* The same of standard input, to its end. */
enum vq_status vq_file_read_stdin(size_t bytes_max, struct vq_buf *ret_bytes,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* Replaces `path` in one step: a new file beside it (mode as given), fsync, rename, fsync of the
 * folder. A crash leaves the old content or the new, never a part. VQ_INVALID: `path` is something
 * other than a regular file; it is not changed. */
enum vq_status vq_file_replace(const char *path, struct vq_span bytes, uint32_t mode,
                               struct vq_error *err) VQ_WARN_UNUSED;

/* Creates a new file (mode less the umask) and syncs it. VQ_EXISTS: `path` exists already; it is
 * not changed. If a later step fails, the new file is removed. */
enum vq_status vq_file_create(const char *path, struct vq_span bytes, uint32_t mode,
                              struct vq_error *err) VQ_WARN_UNUSED;

/* The same as vq_file_replace, for a file that is written in pieces. */
struct vq_file_new;
enum vq_status vq_file_new_begin(const char *path, uint32_t mode, struct vq_file_new **ret_file,
                                 struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_file_new_add(struct vq_file_new *file, struct vq_span bytes,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* fsync, rename, fsync of the folder; on failure the old content stays. Frees the file either
 * way. */
enum vq_status vq_file_new_commit(struct vq_file_new **file, struct vq_error *err) VQ_WARN_UNUSED;
void vq_file_new_abandon(struct vq_file_new **file); /* the old content stays; *file may be NULL */

/* Calls `take` for each line, without its line end, except blank lines and lines that begin with
 * '#'. Stops if `take` fails: returns its status and puts path and line number before its message.
 * Other errors as vq_file_read. */
typedef enum vq_status (*vq_file_line_fn)(void *ctx, struct vq_span line, struct vq_error *err);
enum vq_status vq_file_lines(const char *path, size_t bytes_max, vq_file_line_fn take, void *ctx,
                             struct vq_error *err) VQ_WARN_UNUSED;

/* `path` itself when absolute, else `base_dir`/`path`. The caller frees *ret_path with vq_free. */
enum vq_status vq_path_join(const char *base_dir, const char *path, char **ret_path) VQ_WARN_UNUSED;
