/* Response headers of any bytes: "name:value" lines. Waits are within their bounds, limits are -1
 * or not negative. */
#include "worker/provider/provider.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_limit(const struct vq_ratelimit *limit)
{
    VQ_ASSERT(limit->limit >= -1 && limit->remaining >= -1 && limit->reset_ms >= -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"retry-after",
                                        "retry-after-ms",
                                        "date",
                                        "x-ratelimit-limit-tokens",
                                        "x-ratelimit-reset-requests",
                                        "anthropic-ratelimit-input-tokens-reset",
                                        "anthropic-ratelimit-output-tokens-remaining"};
    struct vq_span all = vq_span((const char *)data, size);
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        struct vq_reply_headers headers;
        vq_reply_headers_init(&headers);
        vq_reply_headers_add(&headers, vq_span_str(names[i]), all);
        int64_t wait_ms = vq_retry_after_ms(&headers, 1000000000);
        VQ_ASSERT(wait_ms >= -1 && wait_ms <= VQ_RETRY_AFTER_MS_MAX);
        check_limit(&headers.requests);
        check_limit(&headers.tokens);
        check_limit(&headers.input_tokens);
        check_limit(&headers.output_tokens);
    }
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    const char *end = all.at + all.bytes;
    for (const char *line = all.at; size > 0 && line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline == NULL ? end : newline;
        const char *colon = memchr(line, ':', (size_t)(line_end - line));
        if (colon != NULL) {
            vq_reply_headers_add(&headers, vq_span(line, (size_t)(colon - line)),
                                 vq_span(colon + 1, (size_t)(line_end - colon - 1)));
        }
        line = line_end + 1;
    }
    int64_t wait_ms = vq_retry_after_ms(&headers, -1);
    VQ_ASSERT(wait_ms >= -1 && wait_ms <= VQ_RETRY_AFTER_MS_MAX);
    check_limit(&headers.requests);
    check_limit(&headers.tokens);
    check_limit(&headers.input_tokens);
    check_limit(&headers.output_tokens);
    return 0;
}
