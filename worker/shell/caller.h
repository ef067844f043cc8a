/* Makes the calls: a call of the core becomes an HTTP exchange, and the end of the exchange becomes
 * a reply. */
#pragma once

#include "common/net/http.h"
#include "worker/core/work.h"
#include "worker/shell/pools.h"

#define VQ_CALLER_SLOW_BYTES_PER_S 1  /* a response slower than this ... */
#define VQ_CALLER_SLOW_S           60 /* ... for this time has stalled */

struct vq_caller;

/* `reply` is called once for each started call, from the loop, never from inside vq_caller_start;
 * its argument is borrowed. `key` is called from the loop if a key was refused and the pool
 * continues with others, and from vq_caller_pools. */
struct vq_caller_options {
    struct vq_loop *loop;
    struct vq_keyring *keys;
    uint32_t calls_max;
    bool announce_keys;  /* the log names each key and the host that it is sent to */
    const char *ca_file; /* PEM; NULL: the file of SSL_CERT_FILE, or the system's */
    void (*reply)(void *ctx, const struct vq_work_reply *reply);
    void (*key)(void *ctx, const struct vq_work_key *key);
    void *ctx;
};

enum vq_status vq_caller_create(const struct vq_caller_options *options,
                                struct vq_caller **ret_caller, struct vq_error *err) VQ_WARN_UNUSED;
/* Calls in flight are dropped without a reply. */
void vq_caller_destroy(struct vq_caller **caller);

/* Prepares the pools of a SPEC (borrowed until the next one): dialect, URL, keys. Calls `key` for
 * each. A key that was refused before stays refused. VQ_NOMEM. */
enum vq_status vq_caller_pools(struct vq_caller *caller,
                               const struct vq_work_spec *spec) VQ_WARN_UNUSED;

/* The same pools, for the batcher; owned by the caller. */
struct vq_shell_pools *vq_caller_shell_pools(const struct vq_caller *caller);

/* Starts a call. A call that cannot be rendered or sent gets its reply, too, in a later step.
 * VQ_NOMEM: it gets none. */
enum vq_status vq_caller_start(struct vq_caller *caller, const struct vq_work_call *call,
                               int64_t started_unix_ms) VQ_WARN_UNUSED;
/* Replies to a call that was not sent; `why` is the reason; `late` as in vq_work_reply.
 * VQ_NOMEM. */
enum vq_status vq_caller_refuse(struct vq_caller *caller, const struct vq_work_call *call,
                                int64_t started_unix_ms, const char *why, bool late) VQ_WARN_UNUSED;
