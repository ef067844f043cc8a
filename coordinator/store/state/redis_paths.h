/* Private to the store: the paths of a private Redis server's binary, socket and files. */
#pragma once

#include "proto/id.h"

#include <sys/types.h>

#define VQ_REDIS_PATH_BYTES   4096
#define VQ_REDIS_SOCKET_BYTES 108 /* of sockaddr_un, with its NUL */

struct vq_redis_paths {
    char binary[VQ_REDIS_PATH_BYTES];
    char dir[VQ_REDIS_PATH_BYTES]; /* RUN_DIR/redis, absolute */
    char conf[VQ_REDIS_PATH_BYTES];
    char log[VQ_REDIS_PATH_BYTES];
    char lock[VQ_REDIS_PATH_BYTES];
    char pid[VQ_REDIS_PATH_BYTES];
    char socket[VQ_REDIS_SOCKET_BYTES];
};

/* Finds or makes all paths and writes redis.conf. Statuses of vq_redis_server_create. */
enum vq_status vq_redis_paths_make(const char *run_dir, const struct vq_id *uid,
                                   struct vq_redis_paths *ret_paths,
                                   struct vq_error *err) VQ_WARN_UNUSED;

/* The process in the pid file, if it has the lock file open; otherwise 0. */
pid_t vq_redis_paths_holder(const struct vq_redis_paths *paths);

/* Whether its socket was removed, for example because a logout or a cleaner removed the folder. */
bool vq_redis_paths_gone(const struct vq_redis_paths *paths);
/* Makes the socket's folder if it is missing. If this is not possible, `paths` gets another path
 * for the socket, which is written to the configuration. */
enum vq_status vq_redis_paths_again(struct vq_redis_paths *paths,
                                    struct vq_error *err) VQ_WARN_UNUSED;
