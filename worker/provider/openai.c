/* The OpenAI chat dialect, of OpenAI and of the many servers that follow it: POST
 * BASE/chat/completions, a bearer key, no streaming.
 *
 * A response is read in this order: an error object decides, whatever the status is; then the
 * status; then the first choice. A paid response is an answer if its text can be found, even if the
 * text is empty. Not its job: parts that all dialects share (read.c), embeddings (openai_embed.c),
 * retries, waiting, verdicts. */
#include "worker/provider/openai.h"
#include "worker/provider/answer.h"
#include "worker/provider/dialects.h"
#include "worker/provider/logprobs.h"
#include "worker/provider/schema.h"
#include "worker/provider/tier.h"
#include "worker/provider/url.h"
#include "worker/provider/usage.h"

#include "common/text/json.h"

#define TEMPERATURE_DIGITS 9 /* 0.7 is sent as 0.7 */

static const char dialect_name[] = "openai";

static enum vq_status openai_url(const struct vq_judge *judge, const char *base_url,
                                 struct vq_buf *url)
{
    (void)judge;
    return vq_url_join(base_url, "/chat/completions", url);
}

static void put_message(struct vq_json *json, const char *role, struct vq_span text)
{
    vq_json_object(json);
    vq_json_put_str(json, "role", role);
    vq_json_put_span(json, "content", text);
    vq_json_object_end(json);
}

/* With an image, the content is a list of parts. */
static void put_user(struct vq_json *json, const struct vq_prompt *prompt)
{
    if (prompt->image.bytes == 0) {
        put_message(json, "user", prompt->user);
        return;
    }
    vq_json_object(json);
    vq_json_put_str(json, "role", "user");
    vq_json_put_array(json, "content");
    vq_json_object(json);
    vq_json_put_str(json, "type", "image_url");
    vq_json_put_object(json, "image_url");
    vq_json_put_span(json, "url", prompt->image);
    vq_json_object_end(json);
    vq_json_object_end(json);
    vq_json_object(json);
    vq_json_put_str(json, "type", "text");
    vq_json_put_span(json, "text", prompt->user);
    vq_json_object_end(json);
    vq_json_array_end(json);
    vq_json_object_end(json);
}

static void put_format(struct vq_json *json, enum vq_prompt_asks asks)
{
    vq_json_put_object(json, "response_format");
    vq_json_put_str(json, "type", "json_schema");
    vq_json_put_object(json, "json_schema");
    vq_json_put_str(json, "name", "verdict");
    vq_json_put_bool(json, "strict", true);
    vq_json_key(json, "schema");
    vq_schema_put(json, asks, false);
    vq_json_object_end(json);
    vq_json_object_end(json);
}

enum vq_status vq_openai_body(const struct vq_judge *judge, const struct vq_prompt *prompt,
                              struct vq_buf *body)
{
    struct vq_json json;
    vq_buf_clear(body);
    vq_json_open(&json, body, 0);
    vq_json_put_str(&json, "model", judge->model);
    vq_json_put_array(&json, "messages");
    if (prompt->system.bytes > 0) {
        bool developer = judge->system_role == VQ_SYSTEM_ROLE_DEVELOPER;
        put_message(&json, developer ? "developer" : "system", prompt->system);
    }
    for (size_t i = 0; i < prompt->history_count; i++) {
        put_message(&json, i % 2 == 0 ? "user" : "assistant", prompt->history[i]);
    }
    put_user(&json, prompt);
    vq_json_array_end(&json);
    vq_json_put_u64(&json, judge->max_tokens_field, judge->max_tokens);
    if (judge->send_temperature) {
        vq_json_put_real(&json, "temperature", judge->temperature, TEMPERATURE_DIGITS);
    }
    if (judge->seed >= 0) {
        vq_json_put_i64(&json, "seed", judge->seed);
    }
    if (vq_schema_wanted(judge, prompt)) {
        put_format(&json, prompt->asks);
    }
    if (vq_logprobs_wanted(judge, prompt)) {
        vq_json_put_bool(&json, "logprobs", true);
        vq_json_put_u64(&json, "top_logprobs", VQ_LOGPROBS_TOP);
    }
    vq_tier_put(&json, "service_tier", prompt);
    vq_json_object_end(&json);
    return body->status;
}

/* The error of an object, in any shape that servers use: {"error": {...}}, {"error": "text"},
 * {"object": "error", ...}, {"message": ...}, {"detail": "text"}. */
static void take_error(const json_t *object, struct vq_reply *reply)
{
    const json_t *error = vq_body_get(object, "error");
    const json_t *from = json_is_object(error) ? error : object;
    vq_read_scalar(from, "type", reply->error_type, sizeof(reply->error_type));
    vq_read_scalar(from, "code", reply->error_code, sizeof(reply->error_code));
    vq_read_scalar(from, "param", reply->error_param, sizeof(reply->error_param));
    const json_t *message = json_is_string(error) ? error : vq_body_get(from, "message");
    bool none = message == NULL || json_is_null(message) ||
                /* of a choice: it is the message of the answer */
                vq_body_get(message, "content") != NULL ||
                (json_is_string(message) && json_string_length(message) == 0);
    vq_read_text(none ? vq_body_get(object, "detail") : message, reply->error_message,
                 sizeof(reply->error_message));
}

static void take_parts(const json_t *parts, struct vq_reply *reply)
{
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        struct vq_span type = vq_body_get_string(part, "type");
        struct vq_span text = vq_body_get_string(part, "text");
        struct vq_span refusal = vq_body_get_string(part, "refusal");
        if (vq_span_eq(type, vq_span_str("text"))) {
            vq_buf_append(&reply->content, text.at, text.bytes);
        } else if (vq_span_eq(type, vq_span_str("refusal"))) {
            reply->refusal = true;
            vq_buf_append(&reply->content, refusal.at, refusal.bytes);
        }
    }
}

/* The text in a field of a message: a string, null, or a list of parts, of which those of type
 * "text" count. False: none of these. */
static bool take_content(const json_t *message, const char *field, struct vq_reply *reply)
{
    const json_t *content = vq_body_get(message, field);
    if (json_is_string(content)) {
        struct vq_span text = vq_body_get_string(message, field);
        vq_buf_append(&reply->content, text.at, text.bytes);
        return true;
    }
    take_parts(content, reply);
    return json_is_array(content) || content == NULL || json_is_null(content);
}

/* If the content is empty: takes the judge's own field, or names the field that has the text. */
static void take_elsewhere(const struct vq_reading *reading, const json_t *message,
                           struct vq_reply *reply)
{
    const char *field = reading->response->answer_field;
    if (!vq_answer_is_blank(reply) || reply->refusal) {
        return;
    }
    if (field != NULL && field[0] != '\0') {
        vq_buf_clear(&reply->content);
        (void)take_content(message, field, reply);
    }
    if (vq_answer_is_blank(reply)) {
        vq_answer_elsewhere(message, true, reply);
    }
}

static void take_refusal(const json_t *message, struct vq_reply *reply)
{
    struct vq_span refusal = vq_body_get_string(message, "refusal");
    if (refusal.bytes > 0) {
        reply->refusal = true;
        if (reply->content.bytes == 0) {
            vq_buf_append(&reply->content, refusal.at, refusal.bytes);
        }
    }
    if (strcmp(reply->finish_reason, "content_filter") == 0) {
        reply->refusal = true;
    }
}

static const json_t *top_of(const json_t *content, size_t at)
{
    return vq_body_get(json_array_get(content, at), "top_logprobs");
}

static enum vq_status read_choice(const struct vq_reading *reading, void *ctx, const json_t *root,
                                  struct vq_reply *reply)
{
    (void)ctx;
    const json_t *choice = json_array_get(vq_body_get(root, "choices"), 0);
    const json_t *message = vq_body_get(choice, "message");
    vq_answer_ending(choice, "finish_reason", reply->finish_reason, sizeof(reply->finish_reason));
    if (vq_read_has_error(choice) || strcmp(reply->finish_reason, "error") == 0) {
        vq_read_error(reading, choice, reply);
        return VQ_OK;
    }
    if (!json_is_object(message)) {
        vq_read_bad(reply, "the response has no message: it is not a chat completion");
        return VQ_OK;
    }
    if (!take_content(message, "content", reply)) {
        vq_read_bad(reply, "the message's content is neither a text nor a list of parts");
        return VQ_OK;
    }
    take_refusal(message, reply);
    take_elsewhere(reading, message, reply);
    static const struct vq_logprobs_shape shape = {"token", "logprob", top_of};
    const json_t *tokens = vq_body_get(vq_body_get(choice, "logprobs"), "content");
    VQ_TRY(vq_logprobs_take(tokens, tokens, &shape, reply));
    return vq_read_answer(reply);
}

/* The arguments of a content function besides the response. */
struct content {
    vq_openai_content_fn read;
    void *ctx;
};

static enum vq_status read_success(const struct vq_reading *reading, const json_t *root,
                                   struct vq_reply *reply)
{
    vq_read_scalar(root, "model", reply->model, sizeof(reply->model));
    vq_read_scalar(root, "system_fingerprint", reply->system_fingerprint,
                   sizeof(reply->system_fingerprint));
    vq_tier_take(vq_body_get_string(root, "service_tier"), reply->service_tier);
    vq_usage_take(root, reply);
    struct vq_span object = vq_body_get_string(root, "object");
    if (vq_read_has_error(root) || vq_span_eq(object, vq_span_str("error"))) {
        vq_read_error(reading, root, reply);
        return VQ_OK;
    }
    const struct content *content = reading->ctx;
    return content->read(reading, content->ctx, root, reply);
}

enum vq_status vq_openai_read(const char *dialect, const struct vq_response *response,
                              size_t values_max, vq_openai_content_fn content, void *ctx,
                              struct vq_reply *reply)
{
    struct content of = {content, ctx};
    struct vq_reading reading = {.dialect = dialect,
                                 .response = response,
                                 .values_max = values_max,
                                 .take_error = take_error,
                                 .success = read_success,
                                 .ctx = &of};
    return vq_read_response(&reading, reply);
}

enum vq_status vq_openai_read_chat(const char *dialect, const struct vq_response *response,
                                   struct vq_reply *reply)
{
    return vq_openai_read(dialect, response, VQ_BODY_VALUES_MAX, read_choice, NULL, reply);
}

static enum vq_status openai_read(const struct vq_response *response, struct vq_reply *reply)
{
    return vq_openai_read_chat(dialect_name, response, reply);
}

static enum vq_status embed_url(const struct vq_judge *judge, const char *base_url,
                                struct vq_buf *url)
{
    (void)judge;
    return vq_url_join(base_url, "/embeddings", url);
}

static enum vq_status embed_read(const struct vq_response *response, uint32_t count,
                                 struct vq_reply *reply)
{
    return vq_openai_embed_read(dialect_name, response, count, reply);
}

const struct vq_provider_header vq_json_headers[VQ_JSON_HEADERS] = {
    {"Content-Type", "application/json"},
    {"Accept", "application/json"},
};

const struct vq_provider vq_provider_openai = {
    .dialect = dialect_name,
    .auth_header = "Authorization",
    .auth_prefix = "Bearer ",
    .headers = vq_json_headers,
    .headers_count = VQ_JSON_HEADERS,
    .call_id_header = "X-Client-Request-Id",
    .url = openai_url,
    .body = vq_openai_body,
    .read = openai_read,
    .embed_url = embed_url,
    .embed_body = vq_openai_embed_body,
    .embed_read = embed_read,
};
