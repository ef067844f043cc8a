/* From an HTTP request to a reply, and the log of both: keys, models, faults, limits, answers.
 * Knows nothing of sockets; `now_ns` is monotonic. */
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
    const char *model; /* NULL: every model without a line of its own */
    struct vq_latency latency;
};

/* What the command line says. Strings are borrowed for the life of the service. */
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
    const char *models[VQ_SERVICE_MODELS_MAX]; /* further names that answer as offline-a does */
    size_t models_n;
    /* models that play a persona; one of default where none has its name */
    struct vq_subject subjects[VQ_SERVICE_SUBJECTS_MAX];
    size_t subjects_n;
    bool require_key;
    const char *keys[VQ_SERVICE_KEYS_MAX]; /* fingerprints in hex that are let in; none = any key */
    size_t keys_n;
};

struct vq_service;

enum vq_status vq_service_create(struct vq_service_config *take_config, int64_t now_ns,
                                 struct vq_service **ret_service,
                                 struct vq_error *err) VQ_WARN_UNUSED;
void vq_service_destroy(struct vq_service **service);

/* Makes the reply, which may have to wait for delay_ns before it is sent. The log has the request's
 * line and has been flushed when there is a delay; the answer's line follows with
 * vq_service_answered. Fails only for our own reasons (no memory, no log); then the
 * server stops. */
enum vq_status vq_service_take(struct vq_service *service, const struct vq_call *call,
                               int64_t now_ns, struct vq_offline_reply *ret_reply,
                               struct vq_error *err) VQ_WARN_UNUSED;

/* Just before the first byte of the reply is sent: ends the call for its pool's limits and writes
 * the answer's line, `taken_ns` being when the request came. */
enum vq_status vq_service_answered(struct vq_service *service, struct vq_offline_reply *reply,
                                   int64_t taken_ns, int64_t now_ns,
                                   struct vq_error *err) VQ_WARN_UNUSED;

/* Answers the lines of batches that are due. A failure stops the server. */
enum vq_status vq_service_turn(struct vq_service *service, int64_t now_ns,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* When the next turn is due; INT64_MAX. */
int64_t vq_service_next_ns(const struct vq_service *service, int64_t now_ns);

/* The request is over. `why` is NULL when all its bytes went out, else says what kept them
 * ("client", "fault", "stopped") and is logged as a line of its own. */
enum vq_status vq_service_over(struct vq_service *service, struct vq_offline_reply *reply,
                               const char *why, int64_t now_ns,
                               struct vq_error *err) VQ_WARN_UNUSED;
