/* Our other programs as children of this one: where they are, and how the built-in server is
 * started. */
#pragma once

#include "common/conf/config.h"
#include "common/net/child.h"

#define VQ_PROGRAM_PATH_BYTES_MAX  4096
#define VQ_PROGRAM_URL_BYTES_MAX   128
#define VQ_PROGRAM_OFFLINE_WAIT_MS 10000

/* Beside this program, where an installation and the build put them; else the bare name, to be
 * looked for in PATH. */
void vq_program_path(const char *name, char ret_path[VQ_PROGRAM_PATH_BYTES_MAX]);

/* Borrowed for the call. */
struct vq_program_offline {
    const struct vq_conf_offline *conf;
    const char *log;  /* the server's own log of requests and answers; NULL: none */
    const char *hint; /* put behind "the built-in server did not start": where its words are; "" */
    int stderr_fd;
    void (*exited)(void *ctx, struct vq_child_exit how); /* see vq_child_options */
    void *ctx;
};

/* Starts vibeq-offline on a free loopback port and waits until it listens. It dies with this
 * process. VQ_UNAVAILABLE, or what vq_child_spawn says. *ret_child is set whenever the process was
 * started, also when it did not come to listen. */
enum vq_status vq_program_offline_start(struct vq_loop *loop,
                                        const struct vq_program_offline *options,
                                        struct vq_child **ret_child,
                                        char ret_url[VQ_PROGRAM_URL_BYTES_MAX],
                                        struct vq_error *err) VQ_WARN_UNUSED;
