/* The Anthropic messages dialect: POST BASE/messages (BASE is https://api.anthropic.com/v1), no
 * streaming, no tools, no seed.
 *
 * The system text is a separate member. If the user's text shares its front with other calls, the
 * front is a separate block that ends at a cache breakpoint: the next call with the same system
 * text and front reads them from the provider's cache. In the error table TYPE and MESSAGE are
 * those of the error, CODE is `details.error_code`. Not its job: parts that all dialects share
 * (read.c, usage.c). */
#include "worker/provider/answer.h"
#include "worker/provider/dialects.h"
#include "worker/provider/read.h"
#include "worker/provider/schema.h"
#include "worker/provider/tier.h"
#include "worker/provider/url.h"
#include "worker/provider/usage.h"

#include "common/judge/image.h"
#include "common/text/json.h"

#define API_VERSION        "2023-06-01"
#define TEMPERATURE_DIGITS 9 /* 0.7 is sent as 0.7 */

static const char dialect_name[] = "anthropic";

static enum vq_status anthropic_url(const struct vq_judge *judge, const char *base_url,
                                    struct vq_buf *url)
{
    (void)judge;
    return vq_url_join(base_url, "/messages", url);
}

static void put_block(struct vq_json *json, struct vq_span text, bool breakpoint)
{
    vq_json_object(json);
    vq_json_put_str(json, "type", "text");
    vq_json_put_span(json, "text", text);
    if (breakpoint) {
        vq_json_put_object(json, "cache_control");
        vq_json_put_str(json, "type", "ephemeral");
        vq_json_object_end(json);
    }
    vq_json_object_end(json);
}

static void put_said(struct vq_json *json, const struct vq_prompt *prompt)
{
    for (size_t i = 0; i < prompt->history_count; i++) {
        bool last = i + 1 == prompt->history_count;
        vq_json_object(json);
        vq_json_put_str(json, "role", i % 2 == 0 ? "user" : "assistant");
        vq_json_put_array(json, "content");
        put_block(json, prompt->history[i], last && prompt->front == VQ_PROMPT_FRONT_HISTORY);
        vq_json_array_end(json);
        vq_json_object_end(json);
    }
}

static void put_image(struct vq_json *json, struct vq_span image)
{
    struct vq_span type, base64;
    bool held = vq_image_split(image, &type, &base64);
    vq_json_object(json);
    vq_json_put_str(json, "type", "image");
    vq_json_put_object(json, "source");
    vq_json_put_str(json, "type", held ? "base64" : "url");
    if (held) {
        vq_json_put_span(json, "media_type", type);
    }
    vq_json_put_span(json, held ? "data" : "url", held ? base64 : image);
    vq_json_object_end(json);
    vq_json_object_end(json);
}

/* The API refuses blank blocks: a text is split only if both parts have a text. */
static void put_user(struct vq_json *json, const struct vq_prompt *prompt)
{
    size_t shared = prompt->shared_bytes < prompt->user.bytes ? prompt->shared_bytes : 0;
    struct vq_span front = vq_span(prompt->user.at, shared);
    struct vq_span rest =
        shared == 0 ? prompt->user : vq_span(prompt->user.at + shared, prompt->user.bytes - shared);
    vq_json_object(json);
    vq_json_put_str(json, "role", "user");
    vq_json_put_array(json, "content");
    if (prompt->image.bytes > 0) {
        put_image(json, prompt->image);
    }
    if (!vq_span_is_blank(front) && !vq_span_is_blank(rest)) {
        put_block(json, front, true);
        put_block(json, rest, false);
    } else {
        put_block(json, prompt->user, prompt->front == VQ_PROMPT_FRONT_ALL);
    }
    vq_json_array_end(json);
    vq_json_object_end(json);
}

static enum vq_status anthropic_body(const struct vq_judge *judge, const struct vq_prompt *prompt,
                                     struct vq_buf *body)
{
    struct vq_json json;
    vq_buf_clear(body);
    vq_json_open(&json, body, 0);
    vq_json_put_str(&json, "model", judge->model);
    vq_json_put_u64(&json, "max_tokens", judge->max_tokens);
    if (judge->send_temperature) {
        vq_json_put_real(&json, "temperature", judge->temperature, TEMPERATURE_DIGITS);
    }
    if (!vq_span_is_blank(prompt->system)) {
        vq_json_put_span(&json, "system", prompt->system);
    }
    vq_json_put_array(&json, "messages");
    put_said(&json, prompt);
    put_user(&json, prompt);
    vq_json_array_end(&json);
    if (vq_schema_wanted(judge, prompt)) {
        vq_json_put_object(&json, "output_config");
        vq_json_put_object(&json, "format");
        vq_json_put_str(&json, "type", "json_schema");
        vq_json_key(&json, "schema");
        vq_schema_put(&json, prompt->asks, false);
        vq_json_object_end(&json);
        vq_json_object_end(&json);
    }
    vq_tier_put(&json, "service_tier", prompt);
    vq_json_object_end(&json);
    return body->status;
}

/* {"type":"error","error":{"type","message","details":{"error_code"}},"request_id"} */
static void take_error(const json_t *object, struct vq_reply *reply)
{
    const json_t *error = vq_body_get(object, "error");
    vq_read_scalar(error, "type", reply->error_type, sizeof(reply->error_type));
    vq_read_scalar(error, "message", reply->error_message, sizeof(reply->error_message));
    vq_read_scalar(vq_body_get(error, "details"), "error_code", reply->error_code,
                   sizeof(reply->error_code));
    if (json_is_string(error)) {
        vq_read_scalar(object, "error", reply->error_message, sizeof(reply->error_message));
    }
    if (reply->request_id[0] == '\0') {
        vq_read_scalar(object, "request_id", reply->request_id, sizeof(reply->request_id));
    }
}

/* Anthropic's rate limits do not count tokens that were read from a cache. */
static void take_usage(const json_t *root, struct vq_reply *reply)
{
    vq_usage_take(root, reply);
    vq_tier_take(vq_body_get_string(vq_body_get(root, "usage"), "service_tier"),
                 reply->service_tier);
    reply->tokens_uncounted = reply->tokens_cached;
}

/* The text blocks, one after the other; thinking and all other blocks are left out. */
static enum vq_status read_message(const struct vq_reading *reading, const json_t *root,
                                   struct vq_reply *reply)
{
    vq_read_scalar(root, "model", reply->model, sizeof(reply->model));
    take_usage(root, reply);
    if (vq_read_has_error(root)) {
        vq_read_error(reading, root, reply);
        return VQ_OK;
    }
    const json_t *content = vq_body_get(root, "content");
    if (!json_is_array(content)) {
        vq_read_bad(reply, "the response has no content: it is not a message");
        return VQ_OK;
    }
    char ending[VQ_REPLY_NAME_BYTES_MAX] = "";
    vq_answer_ending(root, "stop_reason", ending, sizeof(ending));
    vq_read_finish(dialect_name, vq_span_str(ending), reply);
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *block = json_array_get(content, i);
        if (vq_span_eq(vq_body_get_string(block, "type"), vq_span_str("text"))) {
            struct vq_span text = vq_body_get_string(block, "text");
            vq_buf_append(&reply->content, text.at, text.bytes);
        }
    }
    if (vq_answer_is_blank(reply)) {
        vq_answer_elsewhere(root, false, reply);
    }
    return vq_read_answer(reply);
}

static enum vq_status anthropic_read(const struct vq_response *response, struct vq_reply *reply)
{
    struct vq_reading reading = {.dialect = dialect_name,
                                 .response = response,
                                 .values_max = VQ_BODY_VALUES_MAX,
                                 .take_error = take_error,
                                 .success = read_message};
    return vq_read_response(&reading, reply);
}

static const struct vq_provider_header fixed_headers[] = {
    {"Content-Type", "application/json"},
    {"Accept", "application/json"},
    {"anthropic-version", API_VERSION},
};

const struct vq_provider vq_provider_anthropic = {
    .dialect = dialect_name,
    .auth_header = "x-api-key",
    .auth_prefix = "",
    .headers = fixed_headers,
    .headers_count = VQ_COUNT(fixed_headers),
    .call_id_header = "X-Client-Request-Id",
    .url = anthropic_url,
    .body = anthropic_body,
    .read = anthropic_read,
};
