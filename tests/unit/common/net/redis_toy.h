/* A real Redis server in a folder of its own, on a unix socket and a TCP port, for the length of
 * a test. */
#pragma once

#include "net_test.h"

#include "common/net/child.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

struct redis_toy {
    struct vq_loop *loop;
    struct vq_child *child;
    bool ended;
    char folder[64];
    char socket[96];
    int port;
    const char *cert, *key; /* not NULL: the port speaks TLS; borrowed while it starts */
};

/* The redis-server program, or the same program under its other name (argv[0] decides what it
 * is); NULL: none here. */
static inline const char *redis_program(void)
{
    static const char *const paths[] = {"/usr/bin/redis-server", "/usr/bin/redis-check-rdb"};
    for (size_t i = 0; i < VQ_COUNT(paths); i++) {
        if (access(paths[i], X_OK) == 0) {
            return paths[i];
        }
    }
    return NULL;
}

static inline int free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    assert_int_equal(close(fd), 0);
    return ntohs(a.sin_port);
}

static inline void on_redis_ended(void *ctx, struct vq_child_exit how)
{
    (void)how;
    ((struct redis_toy *)ctx)->ended = true;
}

/* Its folder and its addresses, before it starts. */
static inline void redis_toy_prepare(struct redis_toy *toy)
{
    test_folder(toy->folder);
    (void)snprintf(toy->socket, sizeof(toy->socket), "%s/redis.sock", toy->folder);
    toy->port = free_port();
}

static inline void redis_toy_start(struct redis_toy *toy, struct vq_loop *loop,
                                   const char *password)
{
    if (toy->folder[0] == '\0') {
        redis_toy_prepare(toy);
    }
    bool tls = toy->cert != NULL;
    toy->loop = loop;
    toy->ended = false;
    char port[16];
    (void)snprintf(port, sizeof(port), "%d", toy->port);
    const char *argv[] = {"redis-server",
                          "--port",
                          tls ? "0" : port,
                          "--bind",
                          "127.0.0.1",
                          "--unixsocket",
                          toy->socket,
                          "--save",
                          "",
                          "--appendonly",
                          "no",
                          "--dir",
                          toy->folder,
                          "--requirepass",
                          password == NULL ? "" : password,
                          tls ? "--tls-port" : NULL, /* the rest is for TLS */
                          port,
                          "--tls-auth-clients",
                          "no",
                          "--tls-ca-cert-file",
                          toy->cert,
                          "--tls-cert-file",
                          toy->cert,
                          "--tls-key-file",
                          toy->key,
                          NULL};
    struct vq_child_options options = {.path = redis_program(),
                                       .argv = argv,
                                       .death_signal = 9,
                                       .exited = on_redis_ended,
                                       .ctx = toy};
    assert_ok(vq_child_spawn(loop, &options, &toy->child, NULL));
}

static inline void redis_toy_kill(struct redis_toy *toy)
{
    assert_ok(vq_child_kill(toy->child, 9, false));
    wait_flag(toy->loop, &toy->ended);
    vq_child_destroy(&toy->child);
}

static inline void redis_toy_stop(struct redis_toy *toy)
{
    vq_child_destroy(&toy->child);
    if (toy->folder[0] != '\0') {
        remove_folder(toy->folder);
    }
}
