/* The service's state, for its files: service.c (calls) and batching.c. */
#pragma once

#include "offline/batch/store.h"
#include "offline/dialect.h"
#include "offline/fronts.h"
#include "offline/service.h"

#define VQ_SERVICE_KEYS_CACHED 64u

struct vq_cached_key {
    struct vq_hash header; /* hash of the key, which is not stored */
    bool used;
    char print[VQ_FINGERPRINT_HEX];
};

struct vq_service {
    struct vq_service_config config;
    struct vq_answerer answerer;
    struct vq_oracle *oracle;
    struct vq_index tries;
    struct vq_call_log log;
    struct vq_cached_key keys[VQ_SERVICE_KEYS_CACHED];
    struct vq_fronts fronts;
    struct vq_offline_batches batches;
    int64_t start_ns;
    uint64_t calls;
};

/* NULL if the model plays no persona. */
const struct vq_subject *vq_service_find_subject(const struct vq_service *service,
                                                 const char *model);
/* VQ_NOT_FOUND: this server does not have the model. */
enum vq_status vq_service_find_model(const struct vq_service *service, const char *model,
                                     enum vq_judge_kind *ret_kind) VQ_WARN_UNUSED;
/* Writes the fingerprint of the key in a header into `print` (VQ_FINGERPRINT_HEX); "" without a
 * key. */
enum vq_status vq_service_print_key(struct vq_service *service, const struct vq_route *route,
                                    const char *header, char *print) VQ_WARN_UNUSED;
bool vq_service_may_enter(const struct vq_service *service, const char *print);
bool vq_service_knows_model(const void *service, const char *model);

/* ---- batching.c ---- */

void vq_batching_start(struct vq_service *service);
/* A call of a path of VQ_ROUTE_BATCH. */
enum vq_status vq_batching_take(struct vq_service *service, const struct vq_call *call,
                                const struct vq_route *route, int64_t now_ns,
                                struct vq_offline_reply *reply) VQ_WARN_UNUSED;
