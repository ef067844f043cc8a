/* Reads and writes whole files. Invariant: no reader sees a part of a file that vq_file_replace
 * writes. The functions block: use them for start-up and small result files, not in the loop's hot
 * path. */
#include "common/text/file.h"

#include "common/base/alloc.h"
#include "common/base/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_CHUNK_BYTES (256u << 10)

static enum vq_status from_errno(int code)
{
    switch (code) {
    case ENOENT:
    case ENOTDIR: return VQ_NOT_FOUND;
    case EACCES:
    case EPERM: return VQ_DENIED;
    case EISDIR: return VQ_INVALID;
    case ENOSPC:
    case EDQUOT: return VQ_FULL;
    case ENOMEM: return VQ_NOMEM;
    default: return VQ_IO;
    }
}

static enum vq_status fail_errno(struct vq_error *err, const char *what, const char *path)
{
    int code = errno;
    return vq_fail(err, from_errno(code), "cannot %s %s: %s", what, path, strerror(code));
}

static enum vq_status read_all(int fd, const char *path, struct vq_buf *buf, struct vq_error *err)
{
    for (;;) {
        size_t room = buf->bytes_max - buf->bytes;
        size_t chunk = room < READ_CHUNK_BYTES ? room : READ_CHUNK_BYTES;
        char spare;
        char *to = chunk == 0 ? &spare : vq_buf_reserve(buf, chunk);
        if (to == NULL) {
            return vq_fail(err, buf->status, "no memory to read %s", path);
        }
        ssize_t got = read(fd, to, chunk == 0 ? 1 : chunk);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail_errno(err, "read", path);
        }
        if (got == 0) {
            return VQ_OK;
        }
        if (chunk == 0) {
            return vq_fail(err, VQ_LIMIT, "%s is larger than %zu bytes", path, buf->bytes_max);
        }
        buf->bytes += (size_t)got;
        buf->at[buf->bytes] = '\0';
    }
}

enum vq_status vq_file_read(const char *path, size_t bytes_max, struct vq_buf *ret_bytes,
                            struct vq_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail_errno(err, "open", path);
    }
    struct vq_buf buf;
    vq_buf_init(&buf, bytes_max);
    struct stat st;
    enum vq_status status = VQ_OK;
    if (fstat(fd, &st) != 0) {
        status = fail_errno(err, "read", path);
    } else if (S_ISDIR(st.st_mode)) {
        status = vq_fail(err, VQ_INVALID, "%s is a folder, not a file", path);
    } else if (S_ISREG(st.st_mode) && (uint64_t)st.st_size <= bytes_max && st.st_size > 0 &&
               vq_buf_reserve(&buf, (size_t)st.st_size) ==
                   NULL) { /* one allocation if the size is known */
        status = vq_fail(err, buf.status, "no memory to read %s", path);
    }
    if (status == VQ_OK) {
        status = read_all(fd, path, &buf, err);
    }
    (void)close(fd); /* read only: nothing to lose */
    if (status != VQ_OK) {
        vq_buf_free(&buf);
        return status;
    }
    *ret_bytes = buf;
    return VQ_OK;
}

enum vq_status vq_file_read_stdin(size_t bytes_max, struct vq_buf *ret_bytes, struct vq_error *err)
{
    struct vq_buf buf;
    vq_buf_init(&buf, bytes_max);
    enum vq_status status = read_all(STDIN_FILENO, "standard input", &buf, err);
    if (status != VQ_OK) {
        vq_buf_free(&buf);
        return status;
    }
    *ret_bytes = buf;
    return VQ_OK;
}

static enum vq_status write_all(int fd, struct vq_span bytes)
{
    while (bytes.bytes > 0) {
        ssize_t put = write(fd, bytes.at, bytes.bytes);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            return VQ_IO;
        }
        bytes = vq_span(bytes.at + put, bytes.bytes - (size_t)put);
    }
    return VQ_OK;
}

static void sync_folder_of(const char *path)
{
    char *copy = vq_strdup(path);
    if (copy == NULL) {
        return;
    }
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd); /* some file systems refuse it on folders; the rename is done */
        (void)close(fd);
    }
    vq_free(copy);
}

struct vq_file_new {
    int fd;
    char *path;
    struct vq_buf temporary; /* the path of the new file, in the same folder */
};

static void new_free(struct vq_file_new **file)
{
    vq_buf_free(&(*file)->temporary);
    vq_free((*file)->path);
    vq_free(*file);
    *file = NULL;
}

enum vq_status vq_file_new_begin(const char *path, uint32_t mode, struct vq_file_new **ret_file,
                                 struct vq_error *err)
{
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) { /* such as /dev/null */
        return vq_fail(err, VQ_INVALID,
                       "%s is not a regular file, so it is not replaced; name another file", path);
    }
    struct vq_file_new *file;
    VQ_TRY(VQ_ALLOC(file, 1));
    vq_buf_init(&file->temporary, strlen(path) + 16);
    vq_buf_printf(&file->temporary, "%s.XXXXXX", path);
    file->path = vq_strdup(path);
    if (file->temporary.status != VQ_OK || file->path == NULL) {
        new_free(&file);
        return VQ_NOMEM;
    }
    file->fd = mkostemp(file->temporary.at, O_CLOEXEC);
    if (file->fd < 0) {
        enum vq_status status = fail_errno(err, "create", path);
        new_free(&file);
        return status;
    }
    if (fchmod(file->fd, (mode_t)mode) != 0) {
        enum vq_status status = fail_errno(err, "write", path);
        vq_file_new_abandon(&file);
        return status;
    }
    *ret_file = file;
    return VQ_OK;
}

enum vq_status vq_file_new_add(struct vq_file_new *file, struct vq_span bytes, struct vq_error *err)
{
    return write_all(file->fd, bytes) == VQ_OK ? VQ_OK : fail_errno(err, "write", file->path);
}

enum vq_status vq_file_new_commit(struct vq_file_new **ret_file, struct vq_error *err)
{
    struct vq_file_new *file = *ret_file;
    enum vq_status status = VQ_OK;
    VQ_CRASH_POINT(file_written);
    if (fsync(file->fd) != 0) {
        status = fail_errno(err, "write", file->path);
    }
    if (close(file->fd) != 0 && status == VQ_OK) {
        status = fail_errno(err, "write", file->path);
    }
    VQ_CRASH_POINT(file_synced);
    if (status == VQ_OK && rename(file->temporary.at, file->path) != 0) {
        status = fail_errno(err, "replace", file->path);
    }
    VQ_CRASH_POINT(file_renamed);
    if (status == VQ_OK) {
        sync_folder_of(file->path);
    } else {
        (void)unlink(file->temporary.at); /* best effort: the first failure is reported */
    }
    new_free(ret_file);
    return status;
}

void vq_file_new_abandon(struct vq_file_new **file)
{
    if (*file != NULL) {
        (void)close((*file)->fd);
        (void)unlink((*file)->temporary.at);
        new_free(file);
    }
}

enum vq_status vq_file_replace(const char *path, struct vq_span bytes, uint32_t mode,
                               struct vq_error *err)
{
    struct vq_file_new *file = NULL;
    VQ_TRY(vq_file_new_begin(path, mode, &file, err));
    enum vq_status status = vq_file_new_add(file, bytes, err);
    if (status != VQ_OK) {
        vq_file_new_abandon(&file);
        return status;
    }
    return vq_file_new_commit(&file, err);
}

enum vq_status vq_file_create(const char *path, struct vq_span bytes, uint32_t mode,
                              struct vq_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
    if (fd < 0) {
        return errno == EEXIST
                   ? vq_fail(err, VQ_EXISTS, "%s is there already and is left as it is", path)
                   : fail_errno(err, "create", path);
    }
    enum vq_status status = VQ_OK;
    if (write_all(fd, bytes) != VQ_OK || fsync(fd) != 0) {
        status = fail_errno(err, "write", path);
    }
    if (close(fd) != 0 && status == VQ_OK) {
        status = fail_errno(err, "write", path);
    }
    if (status == VQ_OK) {
        sync_folder_of(path);
    } else {
        (void)unlink(path); /* best effort: the first failure is reported */
    }
    return status;
}

enum vq_status vq_file_lines(const char *path, size_t bytes_max, vq_file_line_fn take, void *ctx,
                             struct vq_error *err)
{
    struct vq_buf text;
    VQ_TRY(vq_file_read(path, bytes_max, &text, err));
    enum vq_status status = VQ_OK;
    unsigned long long number = 0;
    for (size_t at = 0; status == VQ_OK && at < text.bytes;) {
        const char *end = memchr(text.at + at, '\n', text.bytes - at);
        size_t bytes = end == NULL ? text.bytes - at : (size_t)(end - (text.at + at));
        struct vq_span line = vq_span(text.at + at, bytes), bare = vq_span_trim(line);
        number++;
        at += bytes + 1;
        if (bare.bytes > 0 && bare.at[0] != '#') {
            status = take(ctx, line, err);
        }
    }
    vq_buf_free(&text);
    if (status != VQ_OK) {
        vq_error_prefix(err, "%s, line %llu", path, number);
    }
    return status;
}

enum vq_status vq_path_join(const char *base_dir, const char *path, char **ret_path)
{
    bool absolute = path[0] == '/' || base_dir == NULL || base_dir[0] == '\0';
    size_t bytes = strlen(path) + (absolute ? 0 : strlen(base_dir) + 1);
    char *joined;
    VQ_TRY(VQ_ALLOC(joined, bytes + 1));
    bool slash = !absolute && base_dir[strlen(base_dir) - 1] != '/';
    (void)snprintf(joined, bytes + 1, "%s%s%s", absolute ? "" : base_dir, slash ? "/" : "", path);
    *ret_path = joined;
    return VQ_OK;
}
