/* Redis on the loop: pipelined commands, each with a deadline, over a connection that is restored
 * automatically. Without a connection, a command is not queued: the caller gets an error at once.
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
    "the server refuses us: "       /* the beginning of on_down's text; the server's text follows */
#define VQ_REDIS_PATH_BYTES_MAX 107 /* of a unix socket */
#define VQ_REDIS_HOST_BYTES_MAX 256
#define VQ_REDIS_USER_BYTES_MAX 127

/* redis://[[USER]:PASSWORD@]HOST[:PORT][/DB] rediss://... (with TLS) unix://PATH or a path that
 * begins with "/". */
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

/* VQ_INVALID: the error names the mistake and never repeats the password. */
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

/* A view, valid during the callback. */
struct vq_redis_reply {
    enum vq_redis_type type;
    int64_t integer;
    struct vq_span text;
    size_t items; /* of an array */
    const void *opaque;
};

/* Item i < items of an array. */
struct vq_redis_reply vq_redis_reply_item(const struct vq_redis_reply *reply, size_t i);

/* VQ_OK: `reply` is the server's reply, which may be an ERROR. VQ_TIMEOUT, VQ_UNAVAILABLE: no reply
 * in time, or the connection broke; `reply` is NULL, and it is unknown whether the command ran. */
typedef void (*vq_redis_fn)(void *ctx, enum vq_status status, const struct vq_redis_reply *reply);

struct vq_redis_options {
    const struct vq_redis_address *address; /* borrowed for the life of the client */
    uint32_t deadline_ms;                   /* of a command and of connecting; 0: the default */
    /* Called after connect, authentication and selection of the database: commands may be sent. */
    void (*on_up)(void *ctx);
    /* Called when the connection is lost, after the callbacks of all commands in flight; also if
     * the first attempt fails. */
    void (*on_down)(void *ctx, const char *why);
    void *ctx;
};

struct vq_redis;
/* Connects in the background. VQ_INVALID: the address needs TLS, and its ca_file is wrong or this
 * build has none. */
enum vq_status vq_redis_create(struct vq_loop *loop, const struct vq_redis_options *options,
                               struct vq_redis **ret_redis, struct vq_error *err) VQ_WARN_UNUSED;
/* Commands in flight end with VQ_UNAVAILABLE; on_down is not called. Must not be called from a
 * callback. */
void vq_redis_destroy(struct vq_redis **redis);
bool vq_redis_is_up(const struct vq_redis *redis);
/* Closes the connection (commands in flight end with VQ_UNAVAILABLE) and opens a new one. */
void vq_redis_drop(struct vq_redis *redis, const char *why);

/* Sends one command with binary arguments, which are copied. `fn` (NULL: the reply is ignored) is
 * called exactly once, never from inside this function; replies arrive in the order of the
 * commands. On failure `fn` is not called. VQ_UNAVAILABLE: no connection; VQ_LIMIT; VQ_NOMEM. */
enum vq_status vq_redis_command(struct vq_redis *redis, const struct vq_span *args, uint32_t count,
                                vq_redis_fn fn, void *ctx) VQ_WARN_UNUSED;
/* The same for words without binary arguments: "GET", key, NULL. */
enum vq_status vq_redis_words(struct vq_redis *redis, vq_redis_fn fn, void *ctx, const char *word,
                              ...) VQ_WARN_UNUSED
__attribute__((sentinel));

/* A Lua script. Its whole text is sent each time, because it is short compared with its
 * arguments. */
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
