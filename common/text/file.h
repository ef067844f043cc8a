/* Whole files in and out, with a limit. */
#pragma once

#include "common/base/buf.h"

/* Reads a regular file (or a pipe, to its end) into *ret_bytes, which the caller frees with
 * vq_buf_free. VQ_NOT_FOUND, VQ_DENIED, VQ_INVALID (a directory), VQ_LIMIT above bytes_max, VQ_IO,
 * VQ_NOMEM; the sentence names the path. */
enum vq_status vq_file_read(const char *path, size_t bytes_max, struct vq_buf *ret_bytes,
                            struct vq_error *err) VQ_WARN_UNUSED;

/* The same of standard input, to its end. */
enum vq_status vq_file_read_stdin(size_t bytes_max, struct vq_buf *ret_bytes,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* Replaces `path` in one step: a new file beside it (mode as given), fsync, rename, fsync of the
 * folder. A crash leaves the old content or the new, never a part. VQ_INVALID where something else
 * than a regular file stands: it stays. */
enum vq_status vq_file_replace(const char *path, struct vq_span bytes, uint32_t mode,
                               struct vq_error *err) VQ_WARN_UNUSED;

/* A file that was not there (mode less the umask), synced. VQ_EXISTS where anything has the name:
 * it stays as it is. What fails in the middle leaves nothing. */
enum vq_status vq_file_create(const char *path, struct vq_span bytes, uint32_t mode,
                              struct vq_error *err) VQ_WARN_UNUSED;

/* The same as vq_file_replace for what is made piece by piece. */
struct vq_file_new;
enum vq_status vq_file_new_begin(const char *path, uint32_t mode, struct vq_file_new **ret_file,
                                 struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_file_new_add(struct vq_file_new *file, struct vq_span bytes,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* fsync, rename, fsync of the folder; on failure the old content stays. Frees the file either
 * way. */
enum vq_status vq_file_new_commit(struct vq_file_new **file, struct vq_error *err) VQ_WARN_UNUSED;
void vq_file_new_abandon(
    struct vq_file_new **file); /* the old content stays; NULL inside is fine */

/* Gives `take` each line of a file, without its end, but those that are blank or begin with '#',
 * until it fails: then as it says, with the path and the line before its sentence; else as
 * vq_file_read. */
typedef enum vq_status (*vq_file_line_fn)(void *ctx, struct vq_span line, struct vq_error *err);
enum vq_status vq_file_lines(const char *path, size_t bytes_max, vq_file_line_fn take, void *ctx,
                             struct vq_error *err) VQ_WARN_UNUSED;

/* `path` itself when absolute, else `base_dir`/`path`. The caller frees *ret_path with vq_free. */
enum vq_status vq_path_join(const char *base_dir, const char *path, char **ret_path) VQ_WARN_UNUSED;
