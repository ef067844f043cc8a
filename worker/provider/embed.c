/* Batches of embeddings, for all dialects: texts in, vectors out. The vectors are packed in the
 * order of the texts, all or none. If a vector is missing, comes twice, has another length or a
 * value that is not a number, the batch is a bad response. Not its job: the dialect's objects
 * around the vectors, errors, usage. */
#include "worker/provider/embed.h"

#include "common/base/alloc.h"

enum vq_status vq_embed_texts(struct vq_span texts, json_t **ret_texts)
{
    json_t *root = NULL;
    enum vq_status status = vq_body_load(texts, VQ_BODY_VALUES_MAX, NULL, &root);
    if (status != VQ_OK) {
        return status == VQ_NOMEM ? VQ_NOMEM : VQ_INVALID;
    }
    size_t count = json_array_size(root);
    bool good = json_is_array(root) && count > 0 && count <= VQ_EMBED_BATCH_MAX;
    for (size_t i = 0; good && i < count; i++) {
        good = json_is_string(json_array_get(root, i));
    }
    if (!good) {
        json_decref(root);
        return VQ_INVALID;
    }
    *ret_texts = root;
    return VQ_OK;
}

/* ---- the response ---- */

struct batch {
    uint32_t count; /* expected */
    uint32_t dims;  /* 0: not known yet */
    const char *key;
    float *values;
    bool *seen;
};

/* Reads one vector into its row. NULL, or the problem. */
static const char *take_vector(struct batch *b, const json_t *item, size_t at)
{
    const json_t *vector = vq_body_get(item, b->key);
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

/* Reads all vectors of `data`, which has the expected number. NULL, or the problem. */
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
    VQ_TRY(VQ_ALLOC(b->seen, b->count));
    VQ_TRY(VQ_ALLOC(b->values, (size_t)b->count * b->dims));
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

enum vq_status vq_embed_take(const json_t *list, const char *key, uint32_t count,
                             struct vq_reply *reply)
{
    struct batch b = {.count = count, .key = key};
    if (!json_is_array(list) || json_array_size(list) != b.count) {
        vq_read_bad(reply, "the response has not one embedding for each text");
        return VQ_OK;
    }
    size_t dims = json_array_size(vq_body_get(json_array_get(list, 0), key));
    if (dims == 0 || dims > VQ_VECTORS_DIMS_MAX) {
        vq_read_bad(reply, "an embedding is no list of numbers, or a longer one than "
                           "can be kept");
        return VQ_OK;
    }
    b.dims = (uint32_t)dims;
    enum vq_status status = take_batch(&b, list, reply);
    vq_free(b.seen);
    vq_free(b.values);
    return status;
}
