/* A chat response of any bytes; the first one chooses the status. What must hold: every string of
 * the reply is one line of UTF-8, an answer came with a success, everything else has a message, and
 * the end fits the class. */
#include "common/text/utf8.h"
#include "worker/provider/provider.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const char *line, size_t cap)
{
    struct vq_span text = vq_span_str(line);
    VQ_ASSERT(text.bytes < cap);
    VQ_ASSERT(vq_utf8_valid_bytes(text) == text.bytes);
    for (size_t i = 0; i < text.bytes; i++) {
        VQ_ASSERT((unsigned char)text.at[i] >= ' ' && text.at[i] != 0x7F);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 201, 301, 400, 401, 404, 429, 500};
    if (size == 0 || size > VQ_RESPONSE_BODY_BYTES_MAX) {
        return 0;
    }
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {.status = statuses[data[0] & 7],
                                   .headers = &headers,
                                   .body = vq_span((const char *)data + 1, size - 1)};
    struct vq_reply reply;
    vq_reply_init(&reply);
    VQ_ASSERT(vq_provider_find("openai")->read(&response, &reply) == VQ_OK);
    if (reply.class == VQ_REPLY_ANSWER) {
        struct vq_span content = vq_buf_span(&reply.content);
        VQ_ASSERT(response.status <= 299 && vq_reply_end(&reply) == VQ_END_ANSWER);
        VQ_ASSERT(vq_utf8_valid_bytes(content) == content.bytes);
        VQ_ASSERT(vq_outcome_is_answered(
            vq_verdict_ranker(content, vq_span_str(reply.finish_reason), reply.refusal)));
    } else {
        VQ_ASSERT(reply.error_message[0] != '\0' && vq_reply_end(&reply) != VQ_END_ANSWER);
    }
    VQ_ASSERT(reply.tokens_in >= -1 && reply.tokens_out >= -1 && reply.tokens_cached >= -1);
    check_line(reply.finish_reason, sizeof(reply.finish_reason));
    check_line(reply.model, sizeof(reply.model));
    check_line(reply.system_fingerprint, sizeof(reply.system_fingerprint));
    check_line(reply.error_type, sizeof(reply.error_type));
    check_line(reply.error_code, sizeof(reply.error_code));
    check_line(reply.error_message, sizeof(reply.error_message));
    vq_reply_hide(&reply, response.body);
    vq_reply_free(&reply);
    return 0;
}
