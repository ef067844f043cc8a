/* The private Redis server of a run: started, watched, restarted with backoff, stopped. Its
 * folder is RUN_DIR/redis; its socket lives in $XDG_RUNTIME_DIR or in a 0700 folder of the user
 * under the temporary directory. */
#pragma once

#include "common/net/loop.h"
#include "proto/id.h"

#include <sys/types.h>

#define VQ_REDIS_SERVER_LOCK_MS      10000 /* for the end of a killed coordinator's server */
#define VQ_REDIS_SERVER_KILL_MS      3000  /* of these: then it gets SIGTERM, at 2/3 SIGKILL */
#define VQ_REDIS_SERVER_POLL_MS      50
#define VQ_REDIS_SERVER_LOOK_MS      1000   /* while it is ready: whether its socket is there */
#define VQ_REDIS_SERVER_READY_MS     120000 /* for reading its file */
#define VQ_REDIS_SERVER_RETRY_MS     100    /* first pause before a restart; doubles */
#define VQ_REDIS_SERVER_RETRY_MAX_MS 5000
#define VQ_REDIS_SERVER_FAILS_MAX    10 /* starts in a row that never became ready */
#define VQ_REDIS_SERVER_STOP_MS      5000

enum vq_redis_server_state {
    VQ_REDIS_SERVER_WAITING,  /* for the previous server to end, or between two starts */
    VQ_REDIS_SERVER_STARTING, /* runs; does not answer PING yet */
    VQ_REDIS_SERVER_READY,
    VQ_REDIS_SERVER_FAILED, /* given up: the run stops, resumable */
};

struct vq_redis_server_options {
    const char *run_dir;
    const struct vq_id *uid;
    /* On each change of state, from the loop; `text` says why. READY again after a restart: the
     * data may be gone, so the run state begins again. Not from within create or destroy. */
    void (*changed)(void *ctx, enum vq_redis_server_state state, const char *text);
    void *ctx;
};

struct vq_redis_server;

/* Finds the binary, makes the folders and begins. From the thread that runs the loop and lives
 * as long as the process: the server gets SIGTERM when that thread ends. VQ_NOT_FOUND: no
 * redis-server (err says how to get one). VQ_LIMIT: the socket path is over 107 bytes.
 * VQ_DENIED: the socket's folder belongs to another user. */
enum vq_status vq_redis_server_create(struct vq_loop *loop,
                                      const struct vq_redis_server_options *options,
                                      struct vq_redis_server **ret_server,
                                      struct vq_error *err) VQ_WARN_UNUSED;
/* SIGTERM, waits up to VQ_REDIS_SERVER_STOP_MS for it to write its file, then SIGKILL; removes
 * the socket. Blocks for as long. NULL inside is fine. Not from `changed`. */
void vq_redis_server_destroy(struct vq_redis_server **server);

const char *vq_redis_server_socket(const struct vq_redis_server *server); /* a path, for vq_redis */
pid_t vq_redis_server_pid(const struct vq_redis_server *server);          /* 0: none runs */
