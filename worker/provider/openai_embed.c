/* Embeddings in the OpenAI dialect: POST BASE/embeddings with a list of texts; the vectors come in
 * any order, each with its index. Not its job: errors and usage (openai.c), the checks of a batch
 * (embed.c), distances. */
#include "common/text/json.h"
#include "worker/provider/embed.h"
#include "worker/provider/openai.h"

enum vq_status vq_openai_embed_body(const struct vq_judge *judge, struct vq_span texts,
                                    struct vq_buf *body, uint32_t *ret_count)
{
    json_t *list = NULL;
    VQ_TRY(vq_embed_texts(texts, &list));
    struct vq_json json;
    vq_buf_clear(body);
    vq_json_open(&json, body, 0);
    vq_json_put_str(&json, "model", judge->model);
    vq_json_put_array(&json, "input");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *text = json_array_get(list, i);
        vq_json_span(&json, vq_span(json_string_value(text), json_string_length(text)));
    }
    vq_json_array_end(&json);
    vq_json_object_end(&json);
    *ret_count = (uint32_t)json_array_size(list);
    json_decref(list);
    return body->status;
}

static enum vq_status read_vectors(const struct vq_reading *reading, void *ctx, const json_t *root,
                                   struct vq_reply *reply)
{
    (void)reading;
    return vq_embed_take(vq_body_get(root, "data"), "embedding", *(const uint32_t *)ctx, reply);
}

enum vq_status vq_openai_embed_read(const char *dialect, const struct vq_response *response,
                                    uint32_t count, struct vq_reply *reply)
{
    VQ_ASSERT(count > 0 && count <= VQ_EMBED_BATCH_MAX);
    return vq_openai_read(dialect, response, VQ_BODY_VECTOR_VALUES_MAX, read_vectors, &count,
                          reply);
}
