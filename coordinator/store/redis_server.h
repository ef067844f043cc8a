/* The private Redis server of a run: started, watched, restarted with backoff, stopped. Its folder is RUN_DIR/redis; its
 * socket lives in $XDG_RUNTIME_DIR or in a 0700 folder of the user under the temporary directory. Looked after by
 * vq_redis_server_tick; nothing here blocks, except where said. */
#ifndef VQ_COORDINATOR_STORE_REDIS_SERVER_H
#define VQ_COORDINATOR_STORE_REDIS_SERVER_H

#include "common/net/loop.h"

#include <sys/types.h>

#define VQ_REDIS_TICK_MS        50
#define VQ_REDIS_LOCK_WAIT_MS   10000  /* for the end of a server that a killed coordinator left */
#define VQ_REDIS_LOCK_TERM_MS   3000   /* of these: then it gets SIGTERM, */
#define VQ_REDIS_LOCK_KILL_MS   6000   /* and SIGKILL */
#define VQ_REDIS_READY_MS       120000 /* for reading its file */
#define VQ_REDIS_PING_MS        1000   /* for one PONG */
#define VQ_REDIS_BACKOFF_MIN_MS 100
#define VQ_REDIS_BACKOFF_MAX_MS 5000
#define VQ_REDIS_FAILS_MAX      10 /* starts in a row that never became ready */
#define VQ_REDIS_STOP_MS        5000
#define VQ_REDIS_PATH_MAX       107 /* of a unix socket; longer ones fail */

enum vq_redis_server_state {
    VQ_REDIS_WAITING,  /* for the previous server to end, or between two starts */
    VQ_REDIS_STARTING, /* runs; does not answer PING yet */
    VQ_REDIS_READY,
    VQ_REDIS_FAILED, /* given up; the text says why. The run stops, resumable */
};

struct vq_redis_server;

/* Finds the binary, makes the folders and begins. From the thread that runs the loop and lives as long as the process: the
 * server gets SIGTERM when that thread ends. `uid_hex`: the run's uid. VQ_NOT_FOUND: no redis-server (err says how to get one).
 * VQ_LIMIT: the socket path is too long. VQ_DENIED: the socket's folder is somebody else's. */
enum vq_status vq_redis_server_create(struct vq_loop *loop, const char *run_dir,
                                      const char *uid_hex, int64_t now_ns,
                                      struct vq_redis_server **ret_server,
                                      struct vq_error *err) VQ_WARN_UNUSED;
/* Every VQ_REDIS_TICK_MS. *ret_restarts (may be NULL) counts the starts after the first: after one the data may be gone, so
 * the run state begins anew. */
enum vq_redis_server_state vq_redis_server_tick(struct vq_redis_server *server, int64_t now_ns,
                                                uint64_t *ret_restarts);
/* SIGTERM, waits up to VQ_REDIS_STOP_MS for it to write its file, then SIGKILL; removes the socket. Blocks for as long. NULL
 * inside is fine. */
void vq_redis_server_destroy(struct vq_redis_server **server);

const char *vq_redis_server_socket(const struct vq_redis_server *server); /* a path, for vq_redis */
const char *vq_redis_server_text(
    const struct vq_redis_server *server); /* what it does or waits for, or why it failed */
pid_t vq_redis_server_pid(const struct vq_redis_server *server); /* 0: none runs */

#endif
