/* Files with a secret, such as a key or a certificate: which of them are private enough to be
 * used. */
#pragma once

#include "common/base/status.h"

#include <sys/stat.h>

enum vq_private_verdict {
    VQ_PRIVATE_OK,
    VQ_PRIVATE_OTHER_OWNER, /* neither this user nor root */
    VQ_PRIVATE_OPEN_GROUP,  /* root lets a group read it, but not one of this process */
    VQ_PRIVATE_OPEN,        /* others can read or write it */
};

/* `user`: the effective one. `in_group`: the file's group is one of this process. `credential`: the
 * service manager handed the file over (below). */
enum vq_private_verdict vq_private_judge(const struct stat *file, uid_t user, bool in_group,
                                         bool credential);

/* Opens `path` for reading. The file must be a regular one of this user or of root, with which
 * others can do nothing. Two exceptions, both of files that root owns, so that root chose them: the
 * group may read it if this process is in that group, since Kubernetes makes a secret of mode 0400
 * so for a pod with an fsGroup; and any group may read a file below $CREDENTIALS_DIRECTORY, since
 * systemd lets the user in by an access list there, which stat shows as a group. A symbolic link
 * must belong to this user or root. `what`: "key file". VQ_NOT_FOUND, VQ_DENIED, VQ_INVALID. */
enum vq_status vq_private_open(const char *what, const char *path, int *ret_fd,
                               struct vq_error *err) VQ_WARN_UNUSED;
