/* Small HTTP functions for all batch dialects. */
#include "offline/batch/http.h"

#include "common/text/json.h"
#include "common/text/json_load.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BODY_DEPTH_MAX 64u

bool vq_offline_batch_http_is(const struct vq_offline_batch_http *http, const char *method)
{
    return strcmp(http->call->method, method) == 0;
}

bool vq_offline_batch_path_id(const char *path, const char *front, const char *tail,
                              char ret_id[VQ_BATCH_ID_BYTES])
{
    size_t n = strlen(front);
    if (strncmp(path, front, n) != 0 || !vq_span_ends_with(vq_span_str(path + n), tail)) {
        return false;
    }
    size_t bytes = strlen(path + n) - strlen(tail);
    if (bytes == 0 || bytes >= VQ_BATCH_ID_BYTES || memchr(path + n, '/', bytes) != NULL) {
        return false;
    }
    (void)snprintf(ret_id, VQ_BATCH_ID_BYTES, "%.*s", (int)bytes, path + n);
    return true;
}

struct vq_offline_batch *vq_offline_batch_http_find(struct vq_offline_batch_http *http,
                                                    const char *id)
{
    struct vq_offline_batch *batch = vq_offline_batches_find(http->batches, id, http->account);
    if (batch != NULL) {
        memcpy(http->batch, batch->id, sizeof(http->batch));
    }
    return batch;
}

void vq_offline_batch_http_refuse(struct vq_offline_reply *reply, unsigned status, const char *code,
                                  const char *fmt, ...)
{
    char message[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    vq_offline_reply_error(reply, status, message, "invalid_request_error", code);
}

size_t vq_offline_batch_http_limit(const struct vq_offline_batch_http *http, const char *name,
                                   size_t otherwise, size_t max)
{
    const char *text = vq_call_query(http->call, name);
    long n = text == NULL ? 0 : strtol(text, NULL, 10);
    if (n < 1) {
        return otherwise;
    }
    return (size_t)n < max ? (size_t)n : max;
}

void vq_offline_batch_date(int64_t unix_ms, char ret_date[VQ_BATCH_DATE_BYTES])
{
    struct tm utc;
    char day[24] = "";
    time_t at = (time_t)(unix_ms / 1000);
    if (gmtime_r(&at, &utc) != NULL) {
        (void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &utc);
    }
    (void)snprintf(ret_date, VQ_BATCH_DATE_BYTES, "%s.%03dZ", day, (int)(unix_ms % 1000));
}

enum vq_status vq_offline_batch_http_object(const struct vq_offline_batch_http *http,
                                            struct vq_offline_reply *reply,
                                            struct json_t **ret_root)
{
    json_t *root = NULL;
    enum vq_status status = vq_json_exceeds(http->call->body, BODY_DEPTH_MAX, 0)
                                ? VQ_INVALID
                                : vq_json_load(http->call->body, 0, &root, NULL);
    if (status == VQ_NOMEM) {
        return status;
    }
    if (status != VQ_OK || !json_is_object(root)) {
        json_decref(root);
        root = NULL;
        vq_offline_batch_http_refuse(reply, 400, "invalid_value", "The body is not a JSON object.");
    }
    *ret_root = root;
    return VQ_OK;
}

struct vq_offline_batch *vq_offline_batch_http_new(const struct vq_offline_batch_http *http)
{
    struct vq_offline_batch *batch = vq_offline_batch_new();
    if (batch != NULL) {
        batch->dialect = http->dialect;
        (void)snprintf(batch->account, sizeof(batch->account), "%s", http->account);
        (void)snprintf(batch->key, sizeof(batch->key), "%s", http->key);
    }
    return batch;
}

enum vq_status vq_offline_batch_http_add(struct vq_offline_batch_http *http, const char *id_prefix,
                                         struct vq_offline_batch *take_batch,
                                         struct vq_offline_reply *reply, bool *ret_added)
{
    enum vq_status status =
        vq_offline_batches_add(http->batches, id_prefix, take_batch, http->now_ns, http->now_ms);
    *ret_added = status == VQ_OK;
    if (status == VQ_LIMIT) {
        vq_offline_batch_http_refuse(reply, 429, "rate_limit_exceeded",
                                     "This server has no room for more batches.");
        return VQ_OK;
    }
    if (status == VQ_OK) {
        memcpy(http->batch, take_batch->id, sizeof(http->batch));
    }
    return status;
}
