/* Child processes on the loop. A child gets its own process group, no file descriptor but those
 * listed, default signal handling, and a signal when this process dies (PR_SET_PDEATHSIG, set
 * before exec, checked against a parent that died just then). */
#pragma once

#include "common/net/loop.h"

#include <sys/types.h>

#define VQ_CHILD_ENV_MAX 4096 /* variables */
#define VQ_CHILD_FDS_MAX 16

struct vq_child_exit {
    int code;   /* -1: ended by a signal */
    int signal; /* 0: ended by itself */
};

/* Borrowed for the call. Zero means: /dev/null, no inherited variable, SIGTERM at our death. */
struct vq_child_options {
    const char *path;            /* without a slash: looked for in PATH */
    const char *const *argv;     /* NULL-terminated; argv[0] may differ from path */
    const char *folder;          /* working directory; NULL: ours */
    bool env_all;                /* every variable of ours ... */
    const char *const *env_keep; /* ... or only these names (NULL-terminated, may be NULL) */
    const char *const *env_set;  /* and these "NAME=value", which win (NULL-terminated or NULL) */
    int stdout_fd;               /* 0: /dev/null; the child gets a copy */
    int stderr_fd;               /* 0: /dev/null */
    const int *keep_fds;         /* inherited under the same number */
    uint32_t keep_fds_count;
    int death_signal;                                    /* 0: SIGTERM */
    bool own_fate;                                       /* true: no death signal, it survives us */
    void (*exited)(void *ctx, struct vq_child_exit how); /* exactly once, unless destroyed before */
    void *ctx;
};

struct vq_child;
/* VQ_NOT_FOUND, VQ_DENIED or VQ_IO with a sentence when it cannot be executed: known before this
 * returns. */
enum vq_status vq_child_spawn(struct vq_loop *loop, const struct vq_child_options *options,
                              struct vq_child **ret_child, struct vq_error *err) VQ_WARN_UNUSED;
pid_t vq_child_pid(const struct vq_child *child); /* 0 after its end */
/* To the child, or with `group` to its whole process group. VQ_NOT_FOUND when it has ended. */
enum vq_status vq_child_kill(struct vq_child *child, int signum, bool group);
/* A child that still runs is killed with its group (SIGKILL) and waited for; `exited` is not
 * called. */
void vq_child_destroy(struct vq_child **child);
/* A child with a fate of its own is left to it: neither killed nor waited for; `exited` is not
 * called. For the end of this process. NULL is fine. */
void vq_child_leave(struct vq_child **child);
