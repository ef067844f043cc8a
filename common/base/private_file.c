/* The file is judged by its open descriptor, so that it cannot be exchanged after the check. Not
 * its job: reading it. */
#include "common/base/private_file.h"

#include "common/base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum vq_private_verdict vq_private_judge(const struct stat *file, uid_t user, bool in_group,
                                         bool credential)
{
    if (file->st_uid != user && file->st_uid != 0) {
        return VQ_PRIVATE_OTHER_OWNER;
    }
    if ((file->st_mode & (S_IRWXG | S_IRWXO)) == 0) {
        return VQ_PRIVATE_OK;
    }
    bool group_reads = (file->st_mode & (S_IRWXG | S_IRWXO)) == S_IRGRP;
    if (!group_reads || file->st_uid != 0) {
        return VQ_PRIVATE_OPEN;
    }
    return in_group || credential ? VQ_PRIVATE_OK : VQ_PRIVATE_OPEN_GROUP;
}

static bool is_our_group(gid_t group)
{
    if (group == getegid()) {
        return true;
    }
    int count = getgroups(0, NULL);
    gid_t *groups =
        count > 0 && count <= NGROUPS_MAX ? vq_alloc((size_t)count, sizeof(*groups)) : NULL;
    bool found = false;
    if (groups != NULL) {
        count = getgroups(count, groups);
        for (int i = 0; i < count && !found; i++) {
            found = groups[i] == group;
        }
    }
    vq_free(groups);
    return found;
}

static bool is_credential(const char *path)
{
    const char *dir = getenv("CREDENTIALS_DIRECTORY");
    size_t bytes = dir == NULL ? 0 : strlen(dir);
    while (bytes > 0 && dir[bytes - 1] == '/') {
        bytes--;
    }
    return bytes > 0 && dir[0] == '/' && strncmp(path, dir, bytes) == 0 && path[bytes] == '/' &&
           strstr(path + bytes, "/..") == NULL;
}

static enum vq_status judge(int fd, const char *what, const char *path, struct vq_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return vq_fail(err, VQ_INVALID, "the %s %s is not a regular file", what, path);
    }
    switch (vq_private_judge(&st, geteuid(), is_our_group(st.st_gid), is_credential(path))) {
    case VQ_PRIVATE_OK: return VQ_OK;
    case VQ_PRIVATE_OTHER_OWNER:
        return vq_fail(err, VQ_DENIED, "the %s %s belongs to another user", what, path);
    case VQ_PRIVATE_OPEN_GROUP:
        return vq_fail(err, VQ_DENIED,
                       "the %s %s can be read by group %lu, and this process is not in that group; "
                       "run it in that group, or run: chmod 600 %s",
                       what, path, (unsigned long)st.st_gid, path);
    case VQ_PRIVATE_OPEN: break;
    }
    return vq_fail(err, VQ_DENIED, "the %s %s can be read by others; run: chmod 600 %s", what, path,
                   path);
}

/* A link of another user could name any file that this process can read. */
static bool is_trusted_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) &&
           (st.st_uid == geteuid() || st.st_uid == 0);
}

enum vq_status vq_private_open(const char *what, const char *path, int *ret_fd,
                               struct vq_error *err)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    int fd = open(path, flags | O_NOFOLLOW);
    bool link = fd < 0 && errno == ELOOP;
    if (link && is_trusted_link(path)) {
        fd = open(path, flags);
        link = false;
    }
    if (fd < 0) {
        return vq_fail(err, link || errno != ENOENT ? VQ_DENIED : VQ_NOT_FOUND,
                       "cannot open the %s %s: %s", what, path,
                       link ? "it is a symbolic link of another user" : strerror(errno));
    }
    enum vq_status status = judge(fd, what, path, err);
    if (status != VQ_OK) {
        (void)close(fd); /* read only: nothing to lose */
        return status;
    }
    *ret_fd = fd;
    return VQ_OK;
}
