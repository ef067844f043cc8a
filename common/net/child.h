/* Child processes on the loop. A child has its own process group, only the listed file descriptors,
 * and default signal handling. It gets a signal if this process dies (PR_SET_PDEATHSIG, set before
 * exec; the child then checks that its parent still lives). */
#pragma once

#include "common/net/loop.h"

#include <sys/types.h>

#define VQ_CHILD_ENV_MAX 4096 /* variables */
#define VQ_CHILD_FDS_MAX 16

struct vq_child_exit {
    int code;   /* -1: ended by a signal */
    int signal; /* 0: not ended by a signal */
};

/* Borrowed for the call. A zeroed struct means: output to /dev/null, no inherited variable, SIGTERM
 * if this process dies. */
struct vq_child_options {
    const char *path;            /* searched in PATH if it has no slash */
    const char *const *argv;     /* NULL-terminated; argv[0] may differ from path */
    const char *folder;          /* working directory; NULL: that of this process */
    bool env_all;                /* all variables of this process ... */
    const char *const *env_keep; /* ... or only these names (NULL-terminated, may be NULL) */
    /* and these "NAME=value", which override them (NULL-terminated or NULL) */
    const char *const *env_set;
    int stdout_fd;       /* 0: /dev/null; the child gets a copy */
    int stderr_fd;       /* 0: /dev/null */
    const int *keep_fds; /* inherited under the same number */
    uint32_t keep_fds_count;
    int death_signal; /* 0: SIGTERM */
    bool own_fate;    /* true: no death signal; the child survives this process */
    void (*exited)(void *ctx, struct vq_child_exit how); /* exactly once, unless destroyed before */
    void *ctx;
};

struct vq_child;
/* VQ_NOT_FOUND, VQ_DENIED or VQ_IO: the program cannot be executed. */
enum vq_status vq_child_spawn(struct vq_loop *loop, const struct vq_child_options *options,
                              struct vq_child **ret_child, struct vq_error *err) VQ_WARN_UNUSED;
pid_t vq_child_pid(const struct vq_child *child); /* 0 after its end */
/* Sends a signal to the child, or with `group` to its process group. VQ_NOT_FOUND: it has ended. */
enum vq_status vq_child_kill(struct vq_child *child, int signum, bool group);
/* Kills a running child and its group (SIGKILL) and waits for it; `exited` is not called. */
void vq_child_destroy(struct vq_child **child);
/* Releases a child with `own_fate`: it is not killed, and this process does not wait for it;
 * `exited` is not called. For the end of this process. *child may be NULL. */
void vq_child_leave(struct vq_child **child);
