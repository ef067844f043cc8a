/* The Gemini dialect: POST BASE/models/MODEL:generateContent (BASE is
 * https://generativelanguage.googleapis.com/v1beta), no streaming, no tools.
 *
 * A blocked prompt is an answer that refuses: the provider read it, and would block it again. In
 * the error table TYPE is the error's `status` ("RESOURCE_EXHAUSTED"). CODE comes from its
 * `details`: the exceeded limits as QUOTA_ID=VALUE with spaces between; else the reason; else the
 * numeric code. A RetryInfo gives the wait if no header does. Thoughts are not part of the answer,
 * but are paid for. Embeddings: BASE/models/MODEL:batchEmbedContents, at most 100 texts there. Not
 * its job: parts that all dialects share (read.c). */
#include "worker/provider/gemini.h"
#include "worker/provider/answer.h"
#include "worker/provider/dialects.h"
#include "worker/provider/embed.h"
#include "worker/provider/logprobs.h"
#include "worker/provider/openai.h"
#include "worker/provider/scan.h"
#include "worker/provider/schema.h"
#include "worker/provider/text.h"
#include "worker/provider/tier.h"
#include "worker/provider/url.h"
#include "worker/provider/usage.h"

#include "common/judge/image.h"
#include "common/text/json.h"

#define TEMPERATURE_DIGITS 9 /* 0.7 is sent as 0.7 */
#define PATH_BYTES_MAX     1024

static const char dialect_name[] = "gemini";

enum vq_status vq_gemini_url(const char *model, const char *base_url, const char *method,
                             struct vq_buf *url)
{
    struct vq_buf path;
    vq_buf_init(&path, PATH_BYTES_MAX);
    const char *name = strchr(model, '/');
    if (name == NULL) {
        vq_buf_puts(&path, "/models/");
        name = model;
    } else {
        name++;
        vq_buf_putc(&path, '/');
        vq_buf_append(&path, model, (size_t)(name - model));
    }
    vq_buf_put_percent(&path, name);
    vq_buf_puts(&path, method);
    enum vq_status status = path.status;
    if (status == VQ_OK) {
        status = vq_url_join(base_url, path.at, url);
    }
    vq_buf_free(&path);
    return status;
}

static enum vq_status gemini_url(const struct vq_judge *judge, const char *base_url,
                                 struct vq_buf *url)
{
    return vq_gemini_url(judge->model, base_url, ":generateContent", url);
}

/* The API takes bytes, or files that were uploaded to it, but no URLs of the web. */
static void put_image(struct vq_json *json, struct vq_span image)
{
    struct vq_span type, base64;
    if (!vq_image_split(image, &type, &base64)) {
        return;
    }
    vq_json_object(json);
    vq_json_put_object(json, "inlineData");
    vq_json_put_span(json, "mimeType", type);
    vq_json_put_span(json, "data", base64);
    vq_json_object_end(json);
    vq_json_object_end(json);
}

/* `image` may be empty: no image. */
static void put_parts(struct vq_json *json, struct vq_span image, struct vq_span text)
{
    vq_json_put_array(json, "parts");
    put_image(json, image);
    vq_json_object(json);
    vq_json_put_span(json, "text", text);
    vq_json_object_end(json);
    vq_json_array_end(json);
}

static void put_content(struct vq_json *json, const char *role, struct vq_span image,
                        struct vq_span text)
{
    vq_json_object(json);
    vq_json_put_str(json, "role", role);
    put_parts(json, image, text);
    vq_json_object_end(json);
}

static enum vq_status gemini_body(const struct vq_judge *judge, const struct vq_prompt *prompt,
                                  struct vq_buf *body)
{
    struct vq_json json;
    vq_buf_clear(body);
    vq_json_open(&json, body, 0);
    if (prompt->system.bytes > 0) {
        vq_json_put_object(&json, "systemInstruction");
        put_parts(&json, vq_span("", 0), prompt->system);
        vq_json_object_end(&json);
    }
    vq_json_put_array(&json, "contents");
    for (size_t i = 0; i < prompt->history_count; i++) {
        put_content(&json, i % 2 == 0 ? "user" : "model", vq_span("", 0), prompt->history[i]);
    }
    put_content(&json, "user", prompt->image, prompt->user);
    vq_json_array_end(&json);
    vq_json_put_object(&json, "generationConfig");
    vq_json_put_u64(&json, "maxOutputTokens", judge->max_tokens);
    if (judge->send_temperature) {
        vq_json_put_real(&json, "temperature", judge->temperature, TEMPERATURE_DIGITS);
    }
    if (judge->seed >= 0) {
        vq_json_put_i64(&json, "seed", judge->seed);
    }
    if (vq_schema_wanted(judge, prompt)) {
        vq_json_put_str(&json, "responseMimeType", "application/json");
        vq_json_key(&json, "responseSchema");
        vq_schema_put(&json, prompt->asks, true);
    }
    if (vq_logprobs_wanted(judge, prompt)) {
        vq_json_put_bool(&json, "responseLogprobs", true);
        vq_json_put_u64(&json, "logprobs", VQ_LOGPROBS_TOP);
    }
    vq_json_object_end(&json);
    vq_tier_put(&json, "serviceTier", prompt);
    vq_json_object_end(&json);
    return body->status;
}

/* ---- errors ---- */

/* Whether a detail is of this kind: its "@type" ends in ".NAME". */
static bool is_a(const json_t *detail, const char *name)
{
    struct vq_span type = vq_body_get_string(detail, "@type");
    size_t n = strlen(name);
    return type.bytes > n && type.at[type.bytes - n - 1] == '.' &&
           memcmp(type.at + type.bytes - n, name, n) == 0;
}

/* "QUOTA_ID=VALUE QUOTA_ID=VALUE", up to the size of `at`. */
struct codes {
    char at[VQ_REPLY_MESSAGE_BYTES_MAX];
    size_t bytes;
    bool full;
};

static void add_code(struct codes *codes, struct vq_span text)
{
    codes->full = codes->full || text.bytes > sizeof(codes->at) - codes->bytes;
    if (!codes->full && text.bytes > 0) {
        memcpy(codes->at + codes->bytes, text.at, text.bytes);
        codes->bytes += text.bytes;
    }
}

static void take_violations(const json_t *detail, struct codes *codes)
{
    const json_t *violations = vq_body_get(detail, "violations");
    for (size_t i = 0; i < json_array_size(violations); i++) {
        const json_t *violation = json_array_get(violations, i);
        struct vq_span id = vq_body_get_string(violation, "quotaId");
        char value[32] = "";
        vq_read_scalar(violation, "quotaValue", value, sizeof(value));
        if (id.bytes > 0) {
            add_code(codes, vq_span_str(codes->bytes == 0 ? "" : " "));
            add_code(codes, id);
            add_code(codes, vq_span_str(value[0] == '\0' ? "" : "="));
            add_code(codes, vq_span_str(value));
        }
    }
}

static void take_details(const json_t *details, struct vq_reply *reply)
{
    struct codes codes = {.bytes = 0};
    for (size_t i = 0; i < json_array_size(details); i++) {
        const json_t *detail = json_array_get(details, i);
        if (is_a(detail, "QuotaFailure")) {
            take_violations(detail, &codes);
        } else if (is_a(detail, "ErrorInfo")) {
            vq_read_scalar(detail, "reason", reply->error_code, sizeof(reply->error_code));
        } else if (is_a(detail, "RetryInfo") && reply->retry_after_ms < 0) {
            int64_t wait_ms = vq_scan_duration_ms(vq_body_get_string(detail, "retryDelay"));
            reply->retry_after_ms =
                wait_ms > VQ_RETRY_AFTER_MS_MAX ? VQ_RETRY_AFTER_MS_MAX : wait_ms;
        }
    }
    if (codes.bytes > 0) {
        vq_text_line(reply->error_code, sizeof(reply->error_code), vq_span(codes.at, codes.bytes));
    }
}

/* {"error":{"code","message","status","details":[{"@type",...}]}} */
static void take_error(const json_t *object, struct vq_reply *reply)
{
    const json_t *error = vq_body_get(object, "error");
    vq_read_scalar(error, "code", reply->error_code, sizeof(reply->error_code));
    vq_read_scalar(error, "status", reply->error_type, sizeof(reply->error_type));
    vq_read_scalar(error, "message", reply->error_message, sizeof(reply->error_message));
    take_details(vq_body_get(error, "details"), reply);
}

/* ---- answers ---- */

static void take_parts(const json_t *candidate, struct vq_reply *reply)
{
    const json_t *parts = vq_body_get(vq_body_get(candidate, "content"), "parts");
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        struct vq_span text = vq_body_get_string(part, "text");
        if (!json_is_true(vq_body_get(part, "thought"))) {
            vq_buf_append(&reply->content, text.at, text.bytes);
        }
    }
}

static const json_t *top_of(const json_t *result, size_t at)
{
    return vq_body_get(json_array_get(vq_body_get(result, "topCandidates"), at), "candidates");
}

static enum vq_status read_candidate(const struct vq_reading *reading, const json_t *root,
                                     struct vq_reply *reply)
{
    vq_read_scalar(root, "modelVersion", reply->model, sizeof(reply->model));
    vq_tier_take(vq_body_get_string(vq_body_get(root, "usageMetadata"), "serviceTier"),
                 reply->service_tier);
    vq_usage_take(root, reply);
    if (vq_read_has_error(root)) {
        vq_read_error(reading, root, reply);
        return VQ_OK;
    }
    struct vq_span blocked = vq_body_get_string(vq_body_get(root, "promptFeedback"), "blockReason");
    const json_t *candidate = json_array_get(vq_body_get(root, "candidates"), 0);
    if (blocked.bytes > 0) {
        vq_read_finish(dialect_name, vq_span_str("SAFETY"), reply);
    } else if (json_is_object(candidate)) {
        char ending[VQ_REPLY_NAME_BYTES_MAX] = "";
        vq_answer_ending(candidate, "finishReason", ending, sizeof(ending));
        vq_read_finish(dialect_name, vq_span_str(ending), reply);
        take_parts(candidate, reply);
        if (vq_answer_is_blank(reply)) {
            vq_answer_elsewhere(vq_body_get(candidate, "content"), false, reply);
        }
        static const struct vq_logprobs_shape shape = {"token", "logProbability", top_of};
        const json_t *result = vq_body_get(candidate, "logprobsResult");
        VQ_TRY(vq_logprobs_take(vq_body_get(result, "chosenCandidates"), result, &shape, reply));
    } else {
        vq_read_bad(reply, "the response has no candidate: it is not generated content");
        return VQ_OK;
    }
    return vq_read_answer(reply);
}

static enum vq_status gemini_read(const struct vq_response *response, struct vq_reply *reply)
{
    struct vq_reading reading = {.dialect = dialect_name,
                                 .response = response,
                                 .values_max = VQ_BODY_VALUES_MAX,
                                 .take_error = take_error,
                                 .success = read_candidate};
    return vq_read_response(&reading, reply);
}

/* ---- embeddings ---- */

static enum vq_status gemini_embed_url(const struct vq_judge *judge, const char *base_url,
                                       struct vq_buf *url)
{
    return vq_gemini_url(judge->model, base_url, ":batchEmbedContents", url);
}

/* Each text is a separate request, which names the model again. */
static enum vq_status gemini_embed_body(const struct vq_judge *judge, struct vq_span texts,
                                        struct vq_buf *body, uint32_t *ret_count)
{
    json_t *list = NULL;
    VQ_TRY(vq_embed_texts(texts, &list));
    struct vq_buf model;
    vq_buf_init(&model, PATH_BYTES_MAX);
    vq_buf_printf(&model, "%s%s", strchr(judge->model, '/') == NULL ? "models/" : "", judge->model);
    struct vq_json json;
    vq_buf_clear(body);
    vq_json_open(&json, body, 0);
    vq_json_put_array(&json, "requests");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *text = json_array_get(list, i);
        vq_json_object(&json);
        vq_json_put_span(&json, "model", vq_buf_span(&model));
        vq_json_put_object(&json, "content");
        put_parts(&json, vq_span("", 0),
                  vq_span(json_string_value(text), json_string_length(text)));
        vq_json_object_end(&json);
        vq_json_object_end(&json);
    }
    vq_json_array_end(&json);
    vq_json_object_end(&json);
    *ret_count = (uint32_t)json_array_size(list);
    json_decref(list);
    enum vq_status status = model.status == VQ_OK ? body->status : model.status;
    vq_buf_free(&model);
    return status;
}

static enum vq_status read_vectors(const struct vq_reading *reading, const json_t *root,
                                   struct vq_reply *reply)
{
    vq_usage_take(root, reply);
    if (vq_read_has_error(root)) {
        vq_read_error(reading, root, reply);
        return VQ_OK;
    }
    return vq_embed_take(vq_body_get(root, "embeddings"), "values", *(const uint32_t *)reading->ctx,
                         reply);
}

static enum vq_status gemini_embed_read(const struct vq_response *response, uint32_t count,
                                        struct vq_reply *reply)
{
    VQ_ASSERT(count > 0 && count <= VQ_EMBED_BATCH_MAX);
    struct vq_reading reading = {.dialect = dialect_name,
                                 .response = response,
                                 .values_max = VQ_BODY_VECTOR_VALUES_MAX,
                                 .take_error = take_error,
                                 .success = read_vectors,
                                 .ctx = &count};
    return vq_read_response(&reading, reply);
}

const struct vq_provider vq_provider_gemini = {
    .dialect = dialect_name,
    .auth_header = "x-goog-api-key",
    .auth_prefix = "",
    .headers = vq_json_headers,
    .headers_count = VQ_JSON_HEADERS,
    .call_id_header = "X-Client-Request-Id",
    .url = gemini_url,
    .body = gemini_body,
    .read = gemini_read,
    .embed_url = gemini_embed_url,
    .embed_body = gemini_embed_body,
    .embed_read = gemini_embed_read,
};
