/* Turns an HTTP request into a reply, and logs both: keys, models, faults, limits, answers. Knows
 * nothing of sockets; `now_ns` is monotonic. */
#pragma once

#include "common/base/secret.h"
#include "offline/answer.h"
#include "offline/batch/rules.h"
#include "offline/call.h"
#include "offline/call_log.h"
#include "offline/faults/latency.h"
#include "offline/faults/pools.h"
#include "offline/tries.h"

#define VQ_SERVICE_MODELS_MAX   64
#define VQ_SERVICE_KEYS_MAX     64
#define VQ_SERVICE_SUBJECTS_MAX 16

struct vq_model_latency {
    const char *model; /* NULL: every model without a separate line */
    struct vq_latency latency;
};

/* The values of the command line. Strings are borrowed for the life of the service. */
struct vq_service_config {
    uint64_t seed;
    const char *log_path;
    const char *oracle_path;
    const char *faults_path;
    struct vq_fault_rules rules; /* from single options; the service takes them over */
    struct vq_pools pools;       /* likewise */
    struct vq_offline_batch_rules_set batches;
    struct vq_model_latency latencies[VQ_SERVICE_MODELS_MAX];
    size_t latencies_n;
    const char *models[VQ_SERVICE_MODELS_MAX]; /* further names, which answer like offline-a */
    size_t models_n;
    /* models that play a persona; a default one is added if none has its name */
    struct vq_subject subjects[VQ_SERVICE_SUBJECTS_MAX];
    size_t subjects_n;
    bool require_key;
    /* hex fingerprints of the accepted keys; none: any key */
    const char *keys[VQ_SERVICE_KEYS_MAX];
    size_t keys_n;
};

struct vq_service;

enum vq_status vq_service_create(struct vq_service_config *take_config, int64_t now_ns,
                                 struct vq_service **ret_service,
                                 struct vq_error *err) VQ_WARN_UNUSED;
void vq_service_destroy(struct vq_service **service);

/* Makes the reply. It may have to wait for delay_ns before it is sent. If there is a delay, the
 * request's line is already in the log and flushed; vq_service_answered writes the answer's line.
 * Fails only for reasons of the server itself (no memory, no log); then the server stops. */
enum vq_status vq_service_take(struct vq_service *service, const struct vq_call *call,
                               int64_t now_ns, struct vq_offline_reply *ret_reply,
                               struct vq_error *err) VQ_WARN_UNUSED;

/* Call this just before the first byte of the reply is sent: it ends the call for its pool's limits
 * and writes the answer's line. `taken_ns` is when the request came. */
enum vq_status vq_service_answered(struct vq_service *service, struct vq_offline_reply *reply,
                                   int64_t taken_ns, int64_t now_ns,
                                   struct vq_error *err) VQ_WARN_UNUSED;

/* Answers the due lines of batches. A failure stops the server. */
enum vq_status vq_service_turn(struct vq_service *service, int64_t now_ns,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* When the next turn is due; INT64_MAX: never. */
int64_t vq_service_next_ns(const struct vq_service *service, int64_t now_ns);

/* The request is over. `why` is NULL if all its bytes were sent; else it is the reason ("client",
 * "fault", "stopped") and is logged as a separate line. */
enum vq_status vq_service_over(struct vq_service *service, struct vq_offline_reply *reply,
                               const char *why, int64_t now_ns,
                               struct vq_error *err) VQ_WARN_UNUSED;
