/* Opens one folder after the other with openat. Invariant: every part of a path is opened
 * separately and without following links, so the file is certainly in the intended folder. */
#include "cli/ui/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#define PLAIN (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static enum vq_status from_errno(void)
{
    switch (errno) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP: return VQ_NOT_FOUND;
    case EACCES:
    case EPERM: return VQ_DENIED;
    case ENOMEM: return VQ_NOMEM;
    default: return VQ_IO;
    }
}

enum vq_status vq_ui_folder_open(int runs_fd, const char *name, int *ret_fd)
{
    /* the owner of the runs folder may have linked the folder of a run */
    int fd = openat(runs_fd, name, PLAIN | O_DIRECTORY);
    if (fd < 0) {
        return from_errno();
    }
    *ret_fd = fd;
    return VQ_OK;
}

static enum vq_status read_all(int fd, struct vq_buf *out, const struct stat *st)
{
    if (!S_ISREG(st->st_mode)) {
        return VQ_NOT_FOUND;
    }
    if ((uint64_t)st->st_size > out->bytes_max) {
        return VQ_LIMIT;
    }
    for (;;) { /* up to the size that it had at fstat: a log may grow for ever */
        size_t want = (size_t)st->st_size - out->bytes;
        char *to = want == 0 ? NULL : vq_buf_reserve(out, want);
        if (to == NULL) {
            return want == 0 ? VQ_OK : out->status;
        }
        ssize_t got = read(fd, to, want);
        if (got < 0 && errno != EINTR) {
            return VQ_IO;
        }
        if (got == 0) {
            return VQ_OK;
        }
        out->bytes += got > 0 ? (size_t)got : 0;
        out->at[out->bytes] = '\0';
    }
}

enum vq_status vq_ui_file_read(int fd, const char *file, struct vq_buf *out, struct stat *ret_stat)
{
    struct stat st;
    int file_fd = openat(fd, file, PLAIN | O_NOFOLLOW);
    if (file_fd < 0) {
        return from_errno();
    }
    enum vq_status status = fstat(file_fd, &st) != 0 ? from_errno() : read_all(file_fd, out, &st);
    (void)close(file_fd); /* opened for reading: a failure loses nothing */
    if (status == VQ_OK && ret_stat != NULL) {
        *ret_stat = st;
    }
    return status;
}

static int open_inner(int fd, const char *folder)
{
    return openat(fd, folder, PLAIN | O_DIRECTORY | O_NOFOLLOW);
}

enum vq_status vq_ui_file_read_in(int fd, const char *folder, const char *file, struct vq_buf *out,
                                  struct stat *ret_stat)
{
    int inner = open_inner(fd, folder);
    if (inner < 0) {
        return from_errno();
    }
    enum vq_status status = vq_ui_file_read(inner, file, out, ret_stat);
    (void)close(inner);
    return status;
}

bool vq_ui_file_stat_in(int fd, const char *folder, const char *file, struct stat *ret_stat)
{
    struct stat st;
    int inner = open_inner(fd, folder);
    if (inner < 0) {
        return false;
    }
    bool found = fstatat(inner, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
    (void)close(inner);
    if (found) {
        *ret_stat = st;
    }
    return found;
}

enum vq_status vq_ui_lock_is_held(int fd, const char *file, bool *ret_held)
{
    int lock = openat(fd, file, PLAIN | O_NOFOLLOW);
    if (lock < 0) {
        if (from_errno() != VQ_NOT_FOUND) {
            return from_errno();
        }
        *ret_held = false;
        return VQ_OK;
    }
    *ret_held = flock(lock, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    (void)close(lock);
    return VQ_OK;
}
