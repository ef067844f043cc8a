/* The batches of this worker at their providers: carries out the decisions of worker/batches over
 * HTTP. A batch uses the first good key of its pool, since only the owner of that key sees the
 * batch. */
#pragma once

#include "worker/core/work.h"
#include "worker/shell/pools.h"

struct vq_batcher;

/* The functions are called from the loop, never from inside a function below; their arguments are
 * borrowed. Their steps may follow each other without the core's actions in between. */
struct vq_batcher_options {
    struct vq_loop *loop;
    struct vq_shell_pools *pools; /* they must live longer */
    const struct vq_work *work;   /* likewise */
    struct vq_id worker;
    const char *ca_file; /* PEM; NULL: the file of SSL_CERT_FILE, or the system's */
    void (*reply)(void *ctx, const struct vq_work_reply *reply); /* of a GATHER */
    void (*collected)(void *ctx, const struct vq_work_collected *collected);
    void (*progress)(void *ctx, const struct vq_msg_batch *progress);
    void (*refused)(void *ctx, const struct vq_work_refused *refused);
    void (*no_memory)(void *ctx); /* an answer cannot be read: the process must end */
    void *ctx;
};
enum vq_status vq_batcher_create(const struct vq_batcher_options *options,
                                 struct vq_batcher **ret_batcher,
                                 struct vq_error *err) VQ_WARN_UNUSED;
/* Batches at their providers continue. */
void vq_batcher_destroy(struct vq_batcher **batcher);

/* These carry out actions of the core: VQ_WORK_GATHER, _GATHERED, _BATCHES_ANEW, _COLLECT.
 * VQ_NOMEM: the process must end. */
enum vq_status vq_batcher_gather(struct vq_batcher *batcher, const struct vq_work_call *call,
                                 int64_t started_unix_ms) VQ_WARN_UNUSED;
void vq_batcher_gathered(struct vq_batcher *batcher, const struct vq_id *call);
void vq_batcher_restart(struct vq_batcher *batcher);
enum vq_status vq_batcher_collect(struct vq_batcher *batcher,
                                  const struct vq_msg_collect *message) VQ_WARN_UNUSED;
