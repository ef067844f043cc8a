/* Files with a secret, such as a key or a certificate: the check that no other user can read
 * them. */
#pragma once

#include "common/base/status.h"

#include <sys/stat.h>

enum vq_private_verdict {
    VQ_PRIVATE_OK,
    VQ_PRIVATE_OTHER_OWNER, /* the owner is neither this user nor root */
    VQ_PRIVATE_OPEN_GROUP,  /* a group can read this file of root, and this process is not in it */
    VQ_PRIVATE_OPEN,        /* other users can read or write it */
};

/* `user`: the effective user of this process. `in_group`: this process is in the file's group.
 * `credential`: the file is below $CREDENTIALS_DIRECTORY. */
enum vq_private_verdict vq_private_judge(const struct stat *file, uid_t user, bool in_group,
                                         bool credential);

/* Opens `path` for reading. It must be a regular file of this user or of root, without permissions
 * for group and others. There are two exceptions, only for files that root owns. First, the group
 * may read the file if this process is in that group: for a pod with an fsGroup, Kubernetes makes a
 * secret of mode 0400 readable for the group. Second, any group may read a file below
 * $CREDENTIALS_DIRECTORY: systemd grants access there by an access list, which stat shows as group
 * permissions. A symbolic link must belong to this user or root. `what`: "key file". VQ_NOT_FOUND,
 * VQ_DENIED, VQ_INVALID. */
enum vq_status vq_private_open(const char *what, const char *path, int *ret_fd,
                               struct vq_error *err) VQ_WARN_UNUSED;
