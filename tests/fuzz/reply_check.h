/* What must hold of the reply that any bytes of a chat response were read into: every string is one
 * line of UTF-8, an answer came with a success, everything else has a message, the end fits the
 * class, and counts and waits are in their ranges. */
#pragma once

#include "common/text/utf8.h"
#include "worker/provider/provider.h"

static void check_line(const char *line, size_t cap)
{
    struct vq_span text = vq_span_str(line);
    VQ_ASSERT(text.bytes < cap);
    VQ_ASSERT(vq_utf8_valid_bytes(text) == text.bytes);
    for (size_t i = 0; i < text.bytes; i++) {
        VQ_ASSERT((unsigned char)text.at[i] >= ' ' && text.at[i] != 0x7F);
    }
}

static void check_texts(const struct vq_reply *reply)
{
    check_line(reply->finish_reason, sizeof(reply->finish_reason));
    check_line(reply->model, sizeof(reply->model));
    check_line(reply->system_fingerprint, sizeof(reply->system_fingerprint));
    check_line(reply->request_id, sizeof(reply->request_id));
    check_line(reply->error_type, sizeof(reply->error_type));
    check_line(reply->error_code, sizeof(reply->error_code));
    check_line(reply->error_message, sizeof(reply->error_message));
}

static void check_numbers(const struct vq_reply *reply)
{
    VQ_ASSERT(reply->tokens_in >= -1 && reply->tokens_out >= -1 && reply->tokens_cached >= -1);
    VQ_ASSERT(reply->tokens_reasoning >= -1 && reply->tokens_cache_written >= -1);
    VQ_ASSERT(reply->retry_after_ms >= -1 && reply->retry_after_ms <= VQ_RETRY_AFTER_MS_MAX);
    VQ_ASSERT(reply->park_until_unix_s >= -1);
}

/* Reads `body` in the dialect and checks what came of it. `status` chooses among statuses. */
static inline void check_response(const char *dialect, unsigned status, struct vq_span body)
{
    static const int statuses[] = {200, 201, 301, 400, 401, 404, 429, 500};
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {.status = statuses[status & 7],
                                   .headers = &headers,
                                   .body = body,
                                   .now_unix_s = 1772359200};
    struct vq_reply reply;
    vq_reply_init(&reply);
    VQ_ASSERT(vq_provider_find(dialect)->read(&response, &reply) == VQ_OK);
    if (reply.class == VQ_REPLY_ANSWER) {
        struct vq_span content = vq_buf_span(&reply.content);
        VQ_ASSERT(response.status <= 299 && vq_reply_end(&reply) == VQ_END_ANSWER);
        VQ_ASSERT(vq_utf8_valid_bytes(content) == content.bytes);
        VQ_ASSERT(vq_outcome_is_answered(
            vq_verdict_ranker(content, vq_span_str(reply.finish_reason), reply.refusal)));
    } else {
        VQ_ASSERT(reply.error_message[0] != '\0' && vq_reply_end(&reply) != VQ_END_ANSWER);
    }
    check_numbers(&reply);
    check_texts(&reply);
    vq_reply_hide(&reply, response.body);
    vq_reply_free(&reply);
}
