/* The private Redis server of a run: started, watched, restarted with backoff, stopped. Its folder
 * is RUN_DIR/redis. Its socket is in $XDG_RUNTIME_DIR, or in a 0700 folder of the user under the
 * temporary directory. */
#pragma once

#include "common/net/loop.h"
#include "proto/id.h"

#include <sys/types.h>

/* to wait for the server of a killed coordinator to end */
#define VQ_REDIS_SERVER_LOCK_MS 10000
/* after this part of the wait it gets SIGTERM, at 2/3 SIGKILL */
#define VQ_REDIS_SERVER_KILL_MS 3000
#define VQ_REDIS_SERVER_POLL_MS 50
/* interval, while it is ready: check that its socket exists */
#define VQ_REDIS_SERVER_LOOK_MS      1000
#define VQ_REDIS_SERVER_READY_MS     120000 /* for loading its file */
#define VQ_REDIS_SERVER_RETRY_MS     100    /* first pause before a restart; doubles */
#define VQ_REDIS_SERVER_RETRY_MAX_MS 5000
#define VQ_REDIS_SERVER_FAILS_MAX    10 /* starts in a row that did not become ready */
#define VQ_REDIS_SERVER_STOP_MS      5000

enum vq_redis_server_state {
    VQ_REDIS_SERVER_WAITING,  /* for the end of the previous server, or between two starts */
    VQ_REDIS_SERVER_STARTING, /* runs, but does not answer PING yet */
    VQ_REDIS_SERVER_READY,
    VQ_REDIS_SERVER_FAILED, /* given up: the run stops, resumable */
};

struct vq_redis_server_options {
    const char *run_dir;
    const struct vq_id *uid;
    /* Called by the loop on each change of state; `text` has the reason. READY again after a
     * restart: the data may be lost, so the run state begins again. Not called from within create
     * or destroy. */
    void (*changed)(void *ctx, enum vq_redis_server_state state, const char *text);
    void *ctx;
};

struct vq_redis_server;

/* Finds the binary, makes the folders and starts. Call it from the thread that runs the loop and
 * lives as long as the process: the server gets SIGTERM when that thread ends. VQ_NOT_FOUND: no
 * redis-server (err names the way to install it). VQ_LIMIT: the socket path is over 107 bytes.
 * VQ_DENIED: the socket's folder belongs to another user. */
enum vq_status vq_redis_server_create(struct vq_loop *loop,
                                      const struct vq_redis_server_options *options,
                                      struct vq_redis_server **ret_server,
                                      struct vq_error *err) VQ_WARN_UNUSED;
/* Sends SIGTERM, waits up to VQ_REDIS_SERVER_STOP_MS until the server has written its file, then
 * sends SIGKILL; removes the socket. Blocks during this time. NULL inside is fine. Do not call it
 * from `changed`. */
void vq_redis_server_destroy(struct vq_redis_server **server);

const char *vq_redis_server_socket(const struct vq_redis_server *server); /* a path, for vq_redis */
pid_t vq_redis_server_pid(const struct vq_redis_server *server);          /* 0: none runs */
