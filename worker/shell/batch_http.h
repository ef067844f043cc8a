/* Private to the batcher: the HTTP exchanges of batches. Each becomes one event of vq_batches. */
#pragma once

#include "worker/batches/batches.h"
#include "worker/shell/pools.h"

#define VQ_BATCH_HTTP_CALLS_MAX 64u
#define VQ_BATCH_HTTP_FETCH_MS  3600000u /* results may be hundreds of megabytes */

struct vq_batch_http;

struct vq_batch_http_options {
    struct vq_loop *loop;
    struct vq_shell_pools *pools;
    struct vq_batches *batches;
    const char *ca_file;
    /* until when a create may be sent, on the monotonic clock */
    int64_t (*create_until_ns)(void *ctx);
    /* the provider refuses a batch of this pool for good */
    void (*refused)(void *ctx, const struct vq_work_refused *refused);
    /* events were passed to `batches`: take its actions, but start nothing now */
    void (*changed)(void *ctx);
    void *ctx;
};
enum vq_status vq_batch_http_create(const struct vq_batch_http_options *options,
                                    struct vq_batch_http **ret_http,
                                    struct vq_error *err) VQ_WARN_UNUSED;
void vq_batch_http_destroy(struct vq_batch_http **http);

/* Carries out a VQ_BATCHES_DO: it starts from the loop, in a later step. VQ_NOMEM. */
enum vq_status vq_batch_http_do(struct vq_batch_http *http,
                                const struct vq_batches_action *action) VQ_WARN_UNUSED;
