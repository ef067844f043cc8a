/* Redis on the loop: pipelined commands, each with a deadline, over a connection that is
 * restored automatically. Without a connection nothing is queued: the caller gets an error at once.
 * After a lost or late reply it is unknown whether the command ran. */
#pragma once

#include "common/base/buf.h"
#include "common/base/secret.h"
#include "common/net/loop.h"

#define VQ_REDIS_PENDING_MAX       65536 /* commands without a reply */
#define VQ_REDIS_ARGS_MAX          4096
#define VQ_REDIS_COMMAND_BYTES_MAX (64u << 20)
#define VQ_REDIS_DEADLINE_MS       5000
#define VQ_REDIS_RETRY_MS          50 /* first pause before connecting again; doubles, jittered */
#define VQ_REDIS_RETRY_MAX_MS      2000
#define VQ_REDIS_REFUSES                                                                           \
    "the server refuses us: "       /* on_down's text begins so, then the server's own */
#define VQ_REDIS_PATH_BYTES_MAX 107 /* of a unix socket */
#define VQ_REDIS_HOST_BYTES_MAX 256
#define VQ_REDIS_USER_BYTES_MAX 127

/* redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]  rediss://... (with TLS)  unix://PATH  or just a path
 * beginning with "/". */
struct vq_redis_address {
    char unix_path[VQ_REDIS_PATH_BYTES_MAX + 1]; /* "": use host and port */
    char host[VQ_REDIS_HOST_BYTES_MAX];
    uint16_t port;
    uint32_t db;
    bool tls;
    const char *ca_file; /* borrowed, for TLS; NULL: the certificates that the system trusts */
    char user[VQ_REDIS_USER_BYTES_MAX + 1]; /* "": Redis' default user */
    struct vq_secret *password;             /* owned; NULL: none */
};

/* VQ_INVALID with what is wrong, without repeating the password. */
enum vq_status vq_redis_address_parse(const char *url, const char *ca_file,
                                      struct vq_redis_address *ret_address,
                                      struct vq_error *err) VQ_WARN_UNUSED;
void vq_redis_address_destroy(struct vq_redis_address *address);

enum vq_redis_type {
    VQ_REDIS_NIL = 0,
    VQ_REDIS_STATUS, /* text */
    VQ_REDIS_ERROR,  /* text */
    VQ_REDIS_INTEGER,
    VQ_REDIS_STRING, /* text, any bytes */
    VQ_REDIS_ARRAY,
};

/* A view: good during the callback. */
struct vq_redis_reply {
    enum vq_redis_type type;
    int64_t integer;
    struct vq_span text;
    size_t items; /* of an array */
    const void *opaque;
};

/* Item i < items of an array. */
struct vq_redis_reply vq_redis_reply_item(const struct vq_redis_reply *reply, size_t i);

/* VQ_OK: `reply` is the server's, which may be an ERROR. VQ_TIMEOUT, VQ_UNAVAILABLE: no reply in
 * time, or the connection broke; reply is NULL and whether it ran is unknown. */
typedef void (*vq_redis_fn)(void *ctx, enum vq_status status, const struct vq_redis_reply *reply);

struct vq_redis_options {
    const struct vq_redis_address *address; /* borrowed for the life of the client */
    uint32_t deadline_ms;                   /* of a command and of connecting; 0: the default */
    /* Connected, authenticated, database selected: commands may go. */
    void (*on_up)(void *ctx);
    /* After the callbacks of all commands in flight; also for a failed first attempt. */
    void (*on_down)(void *ctx, const char *why);
    void *ctx;
};

struct vq_redis;
/* Connects in the background. VQ_INVALID: the address needs TLS, and its ca_file is wrong or this
 * build has none. */
enum vq_status vq_redis_create(struct vq_loop *loop, const struct vq_redis_options *options,
                               struct vq_redis **ret_redis, struct vq_error *err) VQ_WARN_UNUSED;
/* Commands in flight end with VQ_UNAVAILABLE; on_down is not called. Not from a callback. */
void vq_redis_destroy(struct vq_redis **redis);
bool vq_redis_is_up(const struct vq_redis *redis);
/* Gives the connection up (commands in flight: VQ_UNAVAILABLE) and makes a new one. */
void vq_redis_drop(struct vq_redis *redis, const char *why);

/* One command of binary arguments, copied into the output. `fn` (NULL: the reply is ignored) is
 * called exactly once, never from inside. Replies come in the order of the commands.
 * VQ_UNAVAILABLE: no connection; VQ_LIMIT; VQ_NOMEM: fn is not called. */
enum vq_status vq_redis_command(struct vq_redis *redis, const struct vq_span *args, uint32_t count,
                                vq_redis_fn fn, void *ctx) VQ_WARN_UNUSED;
/* The same for words without binary arguments: "GET", key, NULL. */
enum vq_status vq_redis_words(struct vq_redis *redis, vq_redis_fn fn, void *ctx, const char *word,
                              ...) VQ_WARN_UNUSED
__attribute__((sentinel));

/* A Lua script, sent whole each time: short beside what it carries. */
struct vq_redis_script {
    const char *text;
};
enum vq_status vq_redis_eval(struct vq_redis *redis, const struct vq_redis_script *script,
                             const struct vq_span *keys, uint32_t keys_count,
                             const struct vq_span *args, uint32_t args_count, vq_redis_fn fn,
                             void *ctx) VQ_WARN_UNUSED;

struct vq_redis_stats {
    uint64_t commands, replies, timeouts, connects;
    uint32_t pending;
};
struct vq_redis_stats vq_redis_stats(const struct vq_redis *redis);
