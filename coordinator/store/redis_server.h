/* The private Redis server of a run: started, watched, restarted, stopped. Its folder is RUN_DIR/redis. Driven by a timer of the
 * loop (vq_redis_server_tick); never blocks for more than a moment except where said. */
#ifndef VQ_COORDINATOR_STORE_REDIS_SERVER_H
#define VQ_COORDINATOR_STORE_REDIS_SERVER_H

#include "common/base/status.h"

#include <sys/types.h>

#define VQ_REDIS_TICK_MS        50
#define VQ_REDIS_LOCK_WAIT_MS   10000 /* for the end of a server that a killed coordinator left */
#define VQ_REDIS_READY_MS       60000 /* loading its file */
#define VQ_REDIS_BACKOFF_MIN_MS 100
#define VQ_REDIS_BACKOFF_MAX_MS 5000
#define VQ_REDIS_FAILS_MAX      10 /* in a row, none of which became ready */

enum vq_redis_server_state {
    VQ_REDIS_WAITING,  /* for the previous server's lock, or for the backoff */
    VQ_REDIS_STARTING, /* started; does not answer PING yet */
    VQ_REDIS_READY,
    VQ_REDIS_FAILED, /* given up; the text says why. The run stops, resumable */
};

struct vq_redis_server;

/* Finds the binary, makes RUN_DIR/redis and the socket's folder, and begins. Call from the main thread: the server dies with the
 * thread that started it. VQ_NOT_FOUND: no redis-server (err says how to install it). VQ_LIMIT: the socket path is too long. */
enum vq_status vq_redis_server_create(const char *run_dir, const char *uid_hex, int64_t now_ns,
                                      struct vq_redis_server **ret_server,
                                      struct vq_error *err) VQ_WARN_UNUSED;
/* Every VQ_REDIS_TICK_MS. *ret_restarts (may be NULL) counts the starts after the first: a change means reconnect and begin. */
enum vq_redis_server_state vq_redis_server_tick(struct vq_redis_server *server, int64_t now_ns,
                                                uint64_t *ret_restarts);
/* SIGTERM, then waits up to a few seconds, then SIGKILL. NULL is fine. */
void vq_redis_server_destroy(struct vq_redis_server **server);

const char *vq_redis_server_socket(const struct vq_redis_server *server); /* for vq_redis */
const char *vq_redis_server_text(
    const struct vq_redis_server *server); /* what it waits for, or why it failed */
pid_t vq_redis_server_pid(const struct vq_redis_server *server); /* 0: none runs */

#endif
