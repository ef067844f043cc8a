/* Our other programs as child processes: their paths, and the start of the built-in server. */
#pragma once

#include "common/conf/config.h"
#include "common/net/child.h"

#define VQ_PROGRAM_PATH_BYTES_MAX  4096
#define VQ_PROGRAM_URL_BYTES_MAX   128
#define VQ_PROGRAM_OFFLINE_WAIT_MS 10000

/* The folder of this program, as in an installation or a build; otherwise the bare name, for a
 * search in PATH. */
void vq_program_path(const char *name, char ret_path[VQ_PROGRAM_PATH_BYTES_MAX]);

/* Borrowed during the call. */
struct vq_program_offline {
    const struct vq_conf_offline *conf;
    const char *log; /* the server's own log of requests and answers; NULL: none */
    /* added after "the built-in server did not start": the place of its messages; "" */
    const char *hint;
    int stderr_fd;
    void (*exited)(void *ctx, struct vq_child_exit how); /* see vq_child_options */
    void *ctx;
};

/* Starts vibeq-offline on a free loopback port and waits until it listens. It dies with this
 * process. VQ_UNAVAILABLE, or a status of vq_child_spawn. *ret_child is set if the process was
 * started, even if it did not listen in the end. */
enum vq_status vq_program_offline_start(struct vq_loop *loop,
                                        const struct vq_program_offline *options,
                                        struct vq_child **ret_child,
                                        char ret_url[VQ_PROGRAM_URL_BYTES_MAX],
                                        struct vq_error *err) VQ_WARN_UNUSED;
