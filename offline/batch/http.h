/* A call of a batch API, for the function of its dialect. */
#pragma once

#include "offline/batch/store.h"
#include "offline/call.h"

struct vq_offline_batch_http {
    struct vq_offline_batches *batches;
    const struct vq_call *call;
    enum vq_dialect dialect;
    const char *account;
    const char *key; /* fingerprint; "" */
    bool (*knows_model)(const void *context, const char *model);
    const void *context;
    int64_t now_ns;
    int64_t now_ms;
    char batch[VQ_BATCH_ID_BYTES]; /* the batch that the call concerns, for the log; "": none */
};

/* Fill the reply; an error of the dialect is a reply, too. They fail only for reasons of the server
 * itself. */
enum vq_status vq_offline_batch_openai_take(struct vq_offline_batch_http *http,
                                            struct vq_offline_reply *reply) VQ_WARN_UNUSED;
enum vq_status vq_offline_batch_anthropic_take(struct vq_offline_batch_http *http,
                                               struct vq_offline_reply *reply) VQ_WARN_UNUSED;
enum vq_status vq_offline_batch_gemini_take(struct vq_offline_batch_http *http,
                                            struct vq_offline_reply *reply) VQ_WARN_UNUSED;
/* The account of the upload that this call continues, so that its pieces need no key; NULL: it
 * continues none. */
const char *vq_offline_batch_upload_account(struct vq_offline_batches *batches,
                                            const struct vq_call *call);

/* ---- common functions of the dialects ---- */

bool vq_offline_batch_http_is(const struct vq_offline_batch_http *http, const char *method);
/* Matches "FRONT" ID "TAIL" without a slash in ID: copies the ID. */
bool vq_offline_batch_path_id(const char *path, const char *front, const char *tail,
                              char ret_id[VQ_BATCH_ID_BYTES]);
/* Finds the batch of this id, and names it in the log; NULL: this account has none. */
struct vq_offline_batch *vq_offline_batch_http_find(struct vq_offline_batch_http *http,
                                                    const char *id);
void vq_offline_batch_http_refuse(struct vq_offline_reply *reply, unsigned status, const char *code,
                                  const char *fmt, ...) VQ_PRINTF(4, 5);
/* The body of the call; NULL: it is not a JSON object, and the reply is an error. */
struct json_t;
enum vq_status vq_offline_batch_http_object(const struct vq_offline_batch_http *http,
                                            struct vq_offline_reply *reply,
                                            struct json_t **ret_root) VQ_WARN_UNUSED;
/* An empty batch of the caller's account; NULL: no memory. */
struct vq_offline_batch *vq_offline_batch_http_new(const struct vq_offline_batch_http *http);
/* Like vq_offline_batches_add; if there is no room, the reply is an error. */
enum vq_status vq_offline_batch_http_add(struct vq_offline_batch_http *http, const char *id_prefix,
                                         struct vq_offline_batch *take_batch,
                                         struct vq_offline_reply *reply,
                                         bool *ret_added) VQ_WARN_UNUSED;
/* The number in a field of the query, from 1 to `max`; `otherwise`: the field is missing. */
size_t vq_offline_batch_http_limit(const struct vq_offline_batch_http *http, const char *name,
                                   size_t otherwise, size_t max);
/* "2026-11-28T04:44:16.123Z" */
#define VQ_BATCH_DATE_BYTES 32
void vq_offline_batch_date(int64_t unix_ms, char ret_date[VQ_BATCH_DATE_BYTES]);
