/* Small parts of HTTP that every dialect of batches needs. */
#include "offline/batch/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
