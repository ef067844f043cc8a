/* Embeddings in the OpenAI dialect: POST BASE/embeddings with a list of texts; the vectors come in any order, each with its
 * index. They are packed in the order of the texts, all or none: a batch with a vector missing, twice, of another length or with
 * a number that is none is a bad response.
 * Not its job: errors and usage (openai.c), what is near to what. */
#include "common/base/alloc.h"
#include "common/text/json.h"
#include "worker/provider/openai.h"

static enum vq_status put_texts(struct vq_json *json, const json_t *texts)
{
    size_t count = json_array_size(texts);
    if (!json_is_array(texts) || count == 0 || count > VQ_EMBED_BATCH_MAX) {
        return VQ_INVALID;
    }
    vq_json_array(json);
    for (size_t i = 0; i < count; i++) {
        const json_t *text = json_array_get(texts, i);
        if (!json_is_string(text)) {
            return VQ_INVALID;
        }
        vq_json_span(json, vq_span(json_string_value(text), json_string_length(text)));
    }
    vq_json_array_end(json);
    return VQ_OK;
}

enum vq_status vq_openai_embed_body(const struct vq_judge *judge, struct vq_span texts,
                                    struct vq_buf *body, uint32_t *ret_count)
{
    json_t *root = NULL;
    enum vq_status status = vq_body_load(texts, VQ_BODY_VALUES_MAX, &root);
    if (status != VQ_OK) {
        return status == VQ_NOMEM ? VQ_NOMEM : VQ_INVALID;
    }
    struct vq_json json;
    vq_buf_clear(body);
    vq_json_init(&json, body, 0);
    vq_json_object(&json);
    vq_json_key(&json, "model");
    vq_json_str(&json, judge->model);
    vq_json_key(&json, "input");
    status = put_texts(&json, root);
    if (status == VQ_OK) {
        vq_json_object_end(&json);
        *ret_count = (uint32_t)json_array_size(root);
        status = body->status;
    }
    json_decref(root);
    return status;
}

/* ---- the response ---- */

struct batch {
    uint32_t count; /* wanted */
    uint32_t dims;  /* 0: not known yet */
    float *values;
    bool *seen;
};

/* One vector into its row. NULL, or what is wrong with it. */
static const char *take_vector(struct batch *b, const json_t *item, size_t at)
{
    const json_t *vector = vq_body_get(item, "embedding");
    int64_t index = vq_body_get_count(item, "index", (int64_t)at);
    if (!json_is_array(vector) || json_array_size(vector) != b->dims) {
        return "the embeddings of the response are not lists of numbers of one length";
    }
    if (index >= (int64_t)b->count || b->seen[index]) {
        return "an embedding has an index that is not one of the batch, or that came already";
    }
    b->seen[index] = true;
    for (size_t i = 0; i < b->dims; i++) {
        const json_t *number = json_array_get(vector, i);
        if (!json_is_number(number)) {
            return "an embedding is not a list of numbers";
        }
        b->values[(size_t)index * b->dims + i] = (float)json_number_value(number);
    }
    return NULL;
}

/* All vectors of `data`, which has as many as were asked for. NULL, or what is wrong. */
static const char *take_vectors(struct batch *b, const json_t *data)
{
    for (size_t i = 0; i < b->count; i++) {
        const char *wrong = take_vector(b, json_array_get(data, i), i);
        if (wrong != NULL) {
            return wrong;
        }
    }
    return NULL;
}

static enum vq_status take_batch(struct batch *b, const json_t *data, struct vq_reply *reply)
{
    b->seen = vq_alloc(b->count, sizeof(*b->seen));
    b->values = vq_alloc((size_t)b->count * b->dims, sizeof(*b->values));
    if (b->seen == NULL || b->values == NULL) {
        return VQ_NOMEM;
    }
    const char *wrong = take_vectors(b, data);
    if (wrong == NULL) {
        enum vq_status status = vq_vectors_encode(b->values, b->count, b->dims, &reply->content);
        if (status == VQ_NOMEM) {
            return status;
        }
        wrong = status == VQ_OK ? NULL : "an embedding holds a number that is not finite";
    }
    if (wrong != NULL) {
        vq_read_bad(reply, wrong);
        return VQ_OK;
    }
    reply->class = VQ_REPLY_ANSWER;
    return VQ_OK;
}

static enum vq_status read_vectors(const struct vq_reading *reading, void *ctx, const json_t *root,
                                   struct vq_reply *reply)
{
    (void)reading;
    const json_t *data = vq_body_get(root, "data");
    struct batch b = {.count = *(const uint32_t *)ctx};
    if (!json_is_array(data) || json_array_size(data) != b.count) {
        vq_read_bad(reply, "the response has not one embedding for each text");
        return VQ_OK;
    }
    size_t dims = json_array_size(vq_body_get(json_array_get(data, 0), "embedding"));
    if (dims == 0 || dims > VQ_VECTORS_DIMS_MAX) {
        vq_read_bad(reply, "an embedding is no list of numbers, or a longer one than "
                           "can be kept");
        return VQ_OK;
    }
    b.dims = (uint32_t)dims;
    enum vq_status status = take_batch(&b, data, reply);
    vq_free(b.seen);
    vq_free(b.values);
    return status;
}

enum vq_status vq_openai_embed_read(const char *dialect, const struct vq_response *response,
                                    uint32_t count, struct vq_reply *reply)
{
    VQ_ASSERT(count > 0 && count <= VQ_EMBED_BATCH_MAX);
    return vq_openai_read(dialect, response, VQ_BODY_VECTOR_VALUES_MAX, read_vectors, &count,
                          reply);
}
