/* An embeddings response of any bytes; the first one chooses the status and how many texts were
 * asked. What must hold: an answer came with a success and is exactly the packed vectors of that
 * many texts; everything else has a message and no content. */
#include "common/base/alloc.h"
#include "common/judge/vectors.h"
#include "worker/provider/provider.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 200, 200, 400, 401, 404, 429, 500};
    if (size == 0 || size > VQ_EMBED_BODY_BYTES_MAX) {
        return 0;
    }
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {.status = statuses[data[0] & 7],
                                   .headers = &headers,
                                   .body = vq_span((const char *)data + 1, size - 1)};
    uint32_t texts = 1 + (data[0] >> 3) % VQ_EMBED_BATCH_MAX;
    struct vq_reply reply;
    vq_reply_init(&reply);
    const char *dialect = size % 2 == 0 ? "openai" : "gemini";
    VQ_ASSERT(vq_provider_find(dialect)->embed_read(&response, texts, &reply) == VQ_OK);
    if (reply.class == VQ_REPLY_ANSWER) {
        float *values;
        uint32_t count, dims;
        VQ_ASSERT(response.status == 200 && vq_reply_end(&reply) == VQ_END_ANSWER);
        VQ_ASSERT(vq_vectors_decode(vq_buf_span(&reply.content), &values, &count, &dims) == VQ_OK);
        VQ_ASSERT(count == texts && dims > 0);
        vq_free(values);
    } else {
        VQ_ASSERT(reply.error_message[0] != '\0' && vq_reply_end(&reply) != VQ_END_ANSWER);
        VQ_ASSERT(reply.content.bytes == 0);
    }
    VQ_ASSERT(reply.tokens_in >= -1 && reply.tokens_out >= -1);
    vq_reply_free(&reply);
    return 0;
}
