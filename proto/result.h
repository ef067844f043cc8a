/* The texts of a call record. A copy of a record must copy all of them. */
#ifndef VQ_PROTO_RESULT_H
#define VQ_PROTO_RESULT_H

#include "proto/messages.h"

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

#endif
