/* The texts of a call record. A copy of a record must copy all of them. */
#pragma once

#include "common/base/hash.h"
#include "proto/limits.h"
#include "proto/messages.h"

#include <stdio.h>
#include <string.h>

#define VQ_RESULT_TEXTS 8

/* *ret_texts point into `result`. */
static inline void vq_result_texts(struct vq_result *result,
                                   struct vq_span *ret_texts[VQ_RESULT_TEXTS])
{
    struct vq_span *const texts[VQ_RESULT_TEXTS] = {
        &result->pool,        &result->answer, &result->finish_reason,  &result->model,
        &result->fingerprint, &result->error,  &result->label_logprobs, &result->tier};
    memcpy(ret_texts, texts, sizeof(texts));
}

static inline size_t vq_result_texts_bytes(const struct vq_result *result)
{
    return result->pool.bytes + result->answer.bytes + result->finish_reason.bytes +
           result->model.bytes + result->fingerprint.bytes + result->error.bytes +
           result->label_logprobs.bytes + result->tier.bytes;
}

/* Copies all texts to `at` and points `result` to the copies. `at` has room for
 * vq_result_texts_bytes; the caller owns it. */
static inline void vq_result_texts_move(struct vq_result *result, char *at)
{
    struct vq_span *texts[VQ_RESULT_TEXTS];
    vq_result_texts(result, texts);
    for (size_t i = 0; i < VQ_RESULT_TEXTS; i++) {
        size_t bytes = texts[i]->bytes;
        if (bytes > 0) {
            memcpy(at, texts[i]->at, bytes);
        }
        texts[i]->at = at;
        at += bytes;
    }
}

/* Of a result with end BATCHED: `error` is "NAME NUMBER", the batch and the call's number in it. */
#define VQ_RESULT_BATCH_BYTES 80 /* of that text, with its NUL */
static inline void vq_result_batch_text(const char *name, uint32_t number,
                                        char ret_text[VQ_RESULT_BATCH_BYTES])
{
    (void)snprintf(ret_text, VQ_RESULT_BATCH_BYTES, "%s %u", name, number);
}

/* A batch is named after the process that made its calls: its name begins with "vq-", the first
 * bytes of that process's id in hex, and "-". The ids of its calls begin with the same bytes. */
#define VQ_BATCH_NAME_ID_BYTES    8
#define VQ_BATCH_NAME_FRONT_BYTES (VQ_HEX_BYTES(VQ_BATCH_NAME_ID_BYTES) + 4)
static inline void vq_batch_name_front(const struct vq_id *id,
                                       char ret_front[VQ_BATCH_NAME_FRONT_BYTES])
{
    char hex[VQ_HEX_BYTES(VQ_BATCH_NAME_ID_BYTES)];
    vq_hex(id->b, VQ_BATCH_NAME_ID_BYTES, hex);
    (void)snprintf(ret_front, VQ_BATCH_NAME_FRONT_BYTES, "vq-%s-", hex);
}

/* Whether the name can be a batch's name: 1 to 64 characters of [A-Za-z0-9_.-]. */
static inline bool vq_batch_name_fits(struct vq_span name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    for (size_t i = 0; i < name.bytes && i <= VQ_WIRE_BATCH_NAME_BYTES_MAX; i++) {
        if (memchr(allowed, name.at[i], sizeof(allowed) - 1) == NULL) {
            return false;
        }
    }
    return name.bytes > 0 && name.bytes <= VQ_WIRE_BATCH_NAME_BYTES_MAX;
}

/* false: `result` does not have this form. *ret_name points into `result`. */
static inline bool vq_result_batch(const struct vq_result *result, struct vq_span *ret_name,
                                   uint32_t *ret_number)
{
    const char *space =
        result->error.bytes == 0 ? NULL : memchr(result->error.at, ' ', result->error.bytes);
    if (result->end != VQ_END_BATCHED || space == NULL || space == result->error.at) {
        return false;
    }
    *ret_name = vq_span(result->error.at, (size_t)(space - result->error.at));
    uint64_t number = 0;
    const char *end = result->error.at + result->error.bytes;
    for (const char *at = space + 1; at < end; at++) {
        if (*at < '0' || *at > '9' ||
            (number = number * 10 + (uint64_t)(*at - '0')) >= VQ_WIRE_BATCH_CALLS_MAX) {
            return false;
        }
    }
    *ret_number = (uint32_t)number;
    return space + 1 < end && vq_batch_name_fits(*ret_name);
}
