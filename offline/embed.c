/* Hashed n-grams: every word and every run of three to five characters inside words (with their
 * borders) adds +1 or -1 to one of the dimensions, by hash. N-grams alone do not show that "terse"
 * and "brief" mean about the same. So each word of an axis that the lexical judge knows adds its
 * measures, with a larger weight than its letters. Not its job: any further meaning. */
#include "offline/embed.h"

#include "common/base/alloc.h"
#include "common/text/json.h"
#include "common/text/json_load.h"
#include "offline/judge/axis.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#define WORD_BYTES_MAX   64
#define GRAM_MIN         3
#define GRAM_MAX         5
#define WORD_WEIGHT      2.0f
#define GRAM_SHARE       0.5
#define FEATURE_SHARE    0.87
#define GEMINI_BATCH_MAX 100
#define DIGITS           9 /* of a float: enough to read back the same value */

static uint64_t hash_of(const char *at, size_t bytes)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ (unsigned char)at[i]) * UINT64_C(1099511628211);
    }
    return hash ^ (hash >> 29);
}

static void add(float *vector, size_t dimensions, const char *at, size_t bytes, float weight)
{
    uint64_t hash = hash_of(at, bytes);
    vector[hash % dimensions] += (hash >> 40) & 1 ? weight : -weight;
}

/* `word` has a border mark at both ends. */
static void add_word(float *vector, size_t dimensions, const char *word, size_t bytes)
{
    add(vector, dimensions, word, bytes, WORD_WEIGHT);
    for (size_t n = GRAM_MIN; n <= GRAM_MAX; n++) {
        for (size_t i = 0; i + n <= bytes && n < bytes; i++) {
            add(vector, dimensions, word + i, n, 1.0f);
        }
    }
}

/* Scales to the length `share`; a zero vector stays zero. */
static bool scale_to(float *vector, size_t dimensions, double share)
{
    double sum = 0;
    for (size_t i = 0; i < dimensions; i++) {
        sum += (double)vector[i] * (double)vector[i];
    }
    float scale = sum > 0 ? (float)(share / sqrt(sum)) : 0;
    for (size_t i = 0; i < dimensions; i++) {
        vector[i] *= scale;
    }
    return sum > 0;
}

static void add_grams(float *vector, size_t dimensions, struct vq_span text)
{
    char word[WORD_BYTES_MAX + 2];
    size_t bytes = 1;
    word[0] = '<';
    for (size_t i = 0; i <= text.bytes; i++) {
        unsigned char c = i < text.bytes ? (unsigned char)text.at[i] : ' ';
        if (isalnum(c) || c >= 0x80) {
            if (bytes < WORD_BYTES_MAX) {
                word[bytes++] = (char)tolower(c);
            }
        } else if (bytes > 1) {
            word[bytes++] = '>';
            add_word(vector, dimensions, word, bytes);
            bytes = 1;
        }
    }
}

/* The topics of a text, by the lexical judge's words, as weights of measures without signs: here
 * both ends of an axis are equal, and so are an axis and its mirror image. */
static bool find_measures(struct vq_span text, struct vq_axis_weights *ret_weights)
{
    double mentions[VQ_TOPIC__COUNT];
    vq_topic_mentions(text, mentions);
    *ret_weights = (struct vq_axis_weights){0};
    for (size_t t = 0; t < VQ_TOPIC__COUNT; t++) {
        struct vq_axis_weights weights;
        vq_topic_weights(VQ_JUDGE_KIND_A, (enum vq_topic)t, &weights);
        for (size_t m = 0; m < VQ_MEASURE__COUNT && mentions[t] > 0; m++) {
            ret_weights->at[m] += mentions[t] * fabs(weights.at[m]);
            ret_weights->any = true;
        }
    }
    return ret_weights->any;
}

void vq_embed_text(struct vq_span text, size_t dimensions, float *ret_vector)
{
    memset(ret_vector, 0, dimensions * sizeof(*ret_vector));
    add_grams(ret_vector, dimensions, text);
    struct vq_axis_weights found;
    if (!scale_to(ret_vector, dimensions, GRAM_SHARE) || !find_measures(text, &found)) {
        (void)scale_to(ret_vector, dimensions, 1);
        return;
    }
    double sum = 0;
    for (size_t m = 0; m < VQ_MEASURE__COUNT; m++) {
        sum += found.at[m] * found.at[m];
    }
    for (size_t m = 0; m < VQ_MEASURE__COUNT; m++) {
        const char *label = vq_measure_label((enum vq_measure)m);
        float weight = (float)(found.at[m] * FEATURE_SHARE / sqrt(sum));
        add(ret_vector, dimensions, label, strlen(label), weight);
    }
    (void)scale_to(ret_vector, dimensions, 1);
}

static void write_base64(struct vq_buf *out, const void *bytes, size_t n)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = bytes;
    vq_buf_putc(out, '"');
    for (size_t i = 0; i < n; i += 3) {
        unsigned group = (unsigned)at[i] << 16;
        group |= i + 1 < n ? (unsigned)at[i + 1] << 8 : 0;
        group |= i + 2 < n ? (unsigned)at[i + 2] : 0;
        char four[4] = {letters[group >> 18], letters[(group >> 12) & 63],
                        i + 1 < n ? letters[(group >> 6) & 63] : '=',
                        i + 2 < n ? letters[group & 63] : '='};
        vq_buf_append(out, four, sizeof(four));
    }
    vq_buf_putc(out, '"');
}

static void write_vector(struct vq_buf *out, const float *vector, size_t n, bool base64)
{
    if (base64) {
        write_base64(out, vector, n * sizeof(*vector));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        char text[VQ_REAL_BYTES];
        vq_real_text((double)vector[i], DIGITS, text);
        vq_buf_putc(out, i == 0 ? '[' : ',');
        vq_buf_puts(out, text);
    }
    vq_buf_putc(out, ']');
}

struct embed_request {
    const json_t *input;
    size_t n;
    size_t dimensions;
    bool base64, is_gemini;
};

static struct vq_span input_of(const struct embed_request *request, size_t i)
{
    const json_t *text =
        json_is_string(request->input) ? request->input : json_array_get(request->input, i);
    return vq_span(json_string_value(text), json_string_length(text));
}

/* Converts Gemini's list of requests into a list of texts, which `root` then owns; NULL: it is not
 * valid. */
static const json_t *texts_of_requests(json_t *root, const char *model)
{
    const json_t *requests = json_object_get(root, "requests");
    json_t *texts = json_array();
    for (size_t i = 0; i < json_array_size(requests); i++) {
        const json_t *one = json_array_get(requests, i);
        const char *named = json_string_value(json_object_get(one, "model"));
        json_t *text = json_object_get(
            json_array_get(json_object_get(json_object_get(one, "content"), "parts"), 0), "text");
        bool good = named != NULL && strncmp(named, "models/", 7) == 0 &&
                    strcmp(named + 7, model) == 0 && text != NULL;
        if (!good || json_array_append(texts, text) != 0) {
            json_decref(texts);
            return NULL;
        }
    }
    return json_object_set_new(root, "input", texts) == 0 ? texts : NULL;
}

/* NULL: the request is valid; else the problem. */
static const char *read_gemini(json_t *root, const char *model, struct embed_request *request)
{
    request->is_gemini = true;
    request->dimensions = VQ_EMBED_DIMENSIONS;
    request->input = texts_of_requests(root, model);
    request->n = json_array_size(request->input);
    if (request->n == 0 || request->n > GEMINI_BATCH_MAX) {
        return "* BatchEmbedContentsRequest.requests: 1 to 100 requests can be in one batch, each "
               "with "
               "its model and a text";
    }
    for (size_t i = 0; i < request->n; i++) {
        if (!json_is_string(json_array_get(request->input, i))) {
            return "'text' must be a text";
        }
    }
    return NULL;
}

/* NULL: the request is valid; else the problem. */
static const char *read_request(const json_t *root, struct embed_request *request)
{
    request->input = json_object_get(root, "input");
    request->n = json_is_string(request->input) ? 1 : json_array_size(request->input);
    if (request->n == 0 || request->n > VQ_EMBED_INPUTS_MAX) {
        return "'input' must be a text or a list of 1 to 2048 texts";
    }
    for (size_t i = 0; i < json_array_size(request->input); i++) {
        if (!json_is_string(json_array_get(request->input, i))) {
            return "'input' must hold texts only";
        }
    }
    const json_t *dimensions = json_object_get(root, "dimensions");
    request->dimensions = VQ_EMBED_DIMENSIONS;
    if (dimensions != NULL) {
        int64_t n = json_integer_value(dimensions);
        if (n < 1 || n > VQ_EMBED_DIMENSIONS_MAX) {
            return "'dimensions' must be a number from 1 to 4096";
        }
        request->dimensions = (size_t)n;
    }
    const char *format = json_string_value(json_object_get(root, "encoding_format"));
    request->base64 = format != NULL && strcmp(format, "base64") == 0;
    return NULL;
}

static enum vq_status write_gemini(const struct embed_request *request, float *vector,
                                   struct vq_offline_reply *reply)
{
    uint64_t bytes = 0;
    vq_buf_puts(&reply->body, "{\"embeddings\":[");
    for (size_t i = 0; i < request->n; i++) {
        struct vq_span text = input_of(request, i);
        bytes += text.bytes;
        vq_embed_text(text, request->dimensions, vector);
        vq_buf_puts(&reply->body, i == 0 ? "{\"values\":" : ",{\"values\":");
        write_vector(&reply->body, vector, request->dimensions, false);
        vq_buf_putc(&reply->body, '}');
    }
    reply->prompt_tokens = vq_chat_tokens(bytes);
    vq_buf_printf(&reply->body, "],\"usageMetadata\":{\"promptTokenCount\":%llu}}",
                  (unsigned long long)reply->prompt_tokens);
    reply->paid = true;
    return reply->body.status;
}

static enum vq_status write_answer(const struct embed_request *request, const char *model,
                                   struct vq_offline_reply *reply)
{
    float *vector;
    VQ_TRY(VQ_ALLOC(vector, request->dimensions));
    if (request->is_gemini) {
        enum vq_status status = write_gemini(request, vector, reply);
        vq_free(vector);
        return status;
    }
    uint64_t bytes = 0;
    vq_buf_puts(&reply->body, "{\"object\":\"list\",\"data\":[");
    for (size_t i = 0; i < request->n; i++) {
        struct vq_span text = input_of(request, i);
        bytes += text.bytes;
        vq_embed_text(text, request->dimensions, vector);
        vq_buf_printf(&reply->body,
                      "%s{\"object\":\"embedding\",\"index\":%zu,\"embedding\":", i == 0 ? "" : ",",
                      i);
        write_vector(&reply->body, vector, request->dimensions, request->base64);
        vq_buf_putc(&reply->body, '}');
    }
    vq_free(vector);
    unsigned long long tokens = vq_chat_tokens(bytes);
    vq_buf_puts(&reply->body, "],\"model\":");
    vq_json_string(&reply->body, vq_span_str(model));
    vq_buf_printf(&reply->body, ",\"usage\":{\"prompt_tokens\":%llu,\"total_tokens\":%llu}}",
                  tokens, tokens);
    reply->prompt_tokens = tokens;
    reply->paid = true;
    return reply->body.status;
}

enum vq_status vq_embed_answer(const struct vq_route *route, struct vq_span body,
                               bool (*knows_model)(const void *, const char *), const void *context,
                               struct vq_offline_reply *reply, char *ret_model)
{
    json_t *root = NULL;
    enum vq_status status = vq_json_load(body, 0, &root, NULL);
    if (status == VQ_NOMEM) {
        return status;
    }
    bool is_gemini = route->dialect == VQ_DIALECT_GEMINI;
    const char *model =
        is_gemini ? route->model : json_string_value(json_object_get(root, "model"));
    struct embed_request request = {0};
    const char *problem = "the body needs a 'model'";
    if (model != NULL && strlen(model) < VQ_CHAT_MODEL_BYTES) {
        (void)snprintf(ret_model, VQ_CHAT_MODEL_BYTES, "%s", model);
        problem = is_gemini ? read_gemini(root, model, &request) : read_request(root, &request);
    }
    status = VQ_OK;
    if (problem != NULL) {
        vq_offline_reply_error(reply, 400, problem, "invalid_request_error", "invalid_value");
    } else if (strcmp(model, VQ_EMBED_MODEL) != 0 && !knows_model(context, model)) {
        vq_offline_reply_error(reply, 404,
                               "The model does not exist; this server has offline-embed.",
                               "invalid_request_error", "model_not_found");
    } else {
        status = write_answer(&request, model, reply);
    }
    json_decref(root);
    return status;
}
