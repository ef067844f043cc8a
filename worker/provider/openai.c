/* The OpenAI chat dialect, as OpenAI and the many servers that follow it speak it: POST
 * BASE/chat/completions, a bearer key, no streaming.
 *
 * Reading is in this order: an error object decides whatever the status says; then the status; then
 * the first choice. A response that was paid for is an answer whenever its text can be found, even
 * if the text is empty.
 * Not its job: embeddings (openai_embed.c), retries, waiting, verdicts. */
#include "worker/provider/openai.h"
#include "worker/provider/body.h"
#include "worker/provider/dialects.h"
#include "worker/provider/errors.h"
#include "worker/provider/text.h"

#include "common/text/json.h"
#include "common/text/utf8.h"

#include <stdio.h>

#define TEMPERATURE_DIGITS 9 /* 0.7 is sent as 0.7 */

static const char dialect_name[] = "openai";

enum vq_status vq_openai_url(const char *base_url, const char *path, struct vq_buf *url)
{
    size_t path_bytes = strcspn(base_url, "?#");
    const char *query = base_url + path_bytes;
    while (path_bytes > 0 && base_url[path_bytes - 1] == '/') {
        path_bytes--;
    }
    vq_buf_clear(url);
    vq_buf_append(url, base_url, path_bytes);
    vq_buf_puts(url, path);
    vq_buf_append(url, query, strcspn(query, "#"));
    return url->status;
}

static enum vq_status openai_url(const char *base_url, struct vq_buf *url)
{
    return vq_openai_url(base_url, "/chat/completions", url);
}

static void put_message(struct vq_json *json, const char *role, struct vq_span text)
{
    vq_json_object(json);
    vq_json_key(json, "role");
    vq_json_str(json, role);
    vq_json_key(json, "content");
    vq_json_span(json, text);
    vq_json_object_end(json);
}

static enum vq_status openai_body(const struct vq_judge *judge, struct vq_span system,
                                  struct vq_span user, struct vq_buf *body)
{
    struct vq_json json;
    vq_buf_clear(body);
    vq_json_init(&json, body, 0);
    vq_json_object(&json);
    vq_json_key(&json, "model");
    vq_json_str(&json, judge->model);
    vq_json_key(&json, "messages");
    vq_json_array(&json);
    if (system.bytes > 0) {
        put_message(&json, "system", system);
    }
    put_message(&json, "user", user);
    vq_json_array_end(&json);
    vq_json_key(&json, judge->max_tokens_field);
    vq_json_u64(&json, judge->max_tokens);
    if (judge->send_temperature) {
        vq_json_key(&json, "temperature");
        vq_json_real(&json, judge->temperature, TEMPERATURE_DIGITS);
    }
    if (judge->seed >= 0) {
        vq_json_key(&json, "seed");
        vq_json_i64(&json, judge->seed);
    }
    vq_json_object_end(&json);
    return body->status;
}

/* An error member; some servers always send one, null or empty. */
static bool has_error(const json_t *object)
{
    const json_t *error = vq_body_get(object, "error");
    return json_is_object(error) || vq_body_get_string(object, "error").bytes > 0;
}

/* A member that is a string or a number, as a line. */
static void take_scalar(const json_t *object, const char *key, char *ret_line, size_t cap)
{
    const json_t *value = vq_body_get(object, key);
    if (json_is_string(value)) {
        vq_text_line(ret_line, cap, vq_body_get_string(object, key));
    } else if (json_is_number(value)) {
        (void)snprintf(ret_line, cap, "%.0f", json_number_value(value));
    }
}

/* The error of an object, in any of the shapes that servers give it: {"error": {...}}, {"error":
 * "text"}, {"object": "error", ...}, {"message": ...}, {"detail": "text"}. */
static void take_error(const json_t *object, struct vq_reply *reply)
{
    const json_t *error = vq_body_get(object, "error");
    const json_t *from = json_is_object(error) ? error : object;
    take_scalar(from, "type", reply->error_type, sizeof(reply->error_type));
    take_scalar(from, "code", reply->error_code, sizeof(reply->error_code));
    struct vq_span message = vq_body_get_string(from, "message");
    if (json_is_string(error)) {
        message = vq_body_get_string(object, "error");
    } else if (message.bytes == 0) {
        message = vq_body_get_string(object, "detail");
    }
    vq_text_line(reply->error_message, sizeof(reply->error_message), message);
}

/* The status an error stands for when it came in a response that says 200: its numeric code, or a
 * server error. */
static int status_of_error(const struct vq_reply *reply)
{
    int code = 0;
    int end = 0;
    bool numeric =
        sscanf(reply->error_code, "%3d%n", &code, &end) == 1 && reply->error_code[end] == '\0';
    return numeric && code >= 400 && code <= 599 ? code : 500;
}

static void decide(struct vq_reply *reply, int status)
{
    reply->class = vq_error_decide(dialect_name, status, reply->error_code, reply->error_type,
                                   reply->error_message)
                       ->class;
    if (reply->error_message[0] == '\0') {
        (void)snprintf(reply->error_message, sizeof(reply->error_message),
                       "HTTP status %d without a message", reply->status);
    }
}

void vq_openai_bad_response(struct vq_reply *reply, const char *what)
{
    vq_buf_clear(&reply->content);
    reply->class = VQ_REPLY_BAD_RESPONSE;
    reply->maybe_billed = true;
    (void)snprintf(reply->error_message, sizeof(reply->error_message), "%s", what);
}

static void take_usage(const json_t *root, struct vq_reply *reply)
{
    const json_t *usage = vq_body_get(root, "usage");
    reply->tokens_in = vq_body_get_count(usage, "prompt_tokens", -1);
    reply->tokens_out = vq_body_get_count(usage, "completion_tokens", -1);
    reply->tokens_cached =
        vq_body_get_count(vq_body_get(usage, "prompt_tokens_details"), "cached_tokens", -1);
    reply->tokens_reasoning =
        vq_body_get_count(vq_body_get(usage, "completion_tokens_details"), "reasoning_tokens", -1);
}

/* The text of a message: a string, null, or a list of parts of which those of type "text" count.
 * False: neither. */
static bool take_content(const json_t *message, struct vq_reply *reply)
{
    const json_t *content = vq_body_get(message, "content");
    if (json_is_string(content)) {
        struct vq_span text = vq_body_get_string(message, "content");
        vq_buf_append(&reply->content, text.at, text.bytes);
    } else if (json_is_array(content)) {
        for (size_t i = 0; i < json_array_size(content); i++) {
            const json_t *part = json_array_get(content, i);
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
    } else {
        return content == NULL || json_is_null(content);
    }
    return true;
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

static enum vq_status read_choice(void *ctx, const json_t *root, struct vq_reply *reply)
{
    (void)ctx;
    const json_t *choice = json_array_get(vq_body_get(root, "choices"), 0);
    const json_t *message = vq_body_get(choice, "message");
    take_scalar(choice, "finish_reason", reply->finish_reason, sizeof(reply->finish_reason));
    if (has_error(choice) || strcmp(reply->finish_reason, "error") == 0) {
        take_error(choice, reply);
        decide(reply, status_of_error(reply));
        return VQ_OK;
    }
    if (!json_is_object(message)) {
        vq_openai_bad_response(reply, "the response has no message: it is not a chat completion");
        return VQ_OK;
    }
    if (!take_content(message, reply)) {
        vq_openai_bad_response(reply,
                               "the message's content is neither a text nor a list of parts");
        return VQ_OK;
    }
    take_refusal(message, reply);
    if (reply->content.status == VQ_LIMIT) {
        vq_openai_bad_response(reply, "the answer is over the size limit");
        return VQ_OK;
    }
    if (reply->content.status == VQ_OK) {
        reply->class = VQ_REPLY_ANSWER;
    }
    return reply->content.status;
}

static enum vq_status read_success(const json_t *root, vq_openai_content_fn content, void *ctx,
                                   struct vq_reply *reply)
{
    take_scalar(root, "model", reply->model, sizeof(reply->model));
    take_scalar(root, "system_fingerprint", reply->system_fingerprint,
                sizeof(reply->system_fingerprint));
    take_usage(root, reply);
    struct vq_span object = vq_body_get_string(root, "object");
    if (has_error(root) || vq_span_eq(object, vq_span_str("error"))) {
        take_error(root, reply);
        decide(reply, status_of_error(reply));
        return VQ_OK;
    }
    return content(ctx, root, reply);
}

static void take_headers(const struct vq_response *response, struct vq_reply *reply)
{
    const struct vq_reply_headers *headers = response->headers;
    reply->status = response->status;
    reply->retry_after_ms = vq_retry_after_ms(headers, response->now_unix_s);
    reply->requests = headers->requests;
    reply->tokens = headers->tokens;
    memcpy(reply->request_id, headers->request_id, sizeof(reply->request_id));
}

enum vq_status vq_openai_read(const struct vq_response *response, size_t values_max,
                              vq_openai_content_fn content, void *ctx, struct vq_reply *reply)
{
    vq_reply_free(reply);
    take_headers(response, reply);
    bool success = response->status >= 200 && response->status <= 299;
    json_t *root = NULL;
    enum vq_status status = vq_body_load(response->body, values_max, &root);
    if (status == VQ_NOMEM) {
        return status;
    }
    const json_t *object = json_is_array(root) ? json_array_get(root, 0) : root;
    if (success && status == VQ_LIMIT) {
        vq_openai_bad_response(reply, "the response's JSON is over the limits of depth or size");
    } else if (success && !json_is_object(object)) {
        vq_openai_bad_response(reply,
                               "the response is not a JSON object; is this the address of an "
                               "OpenAI-compatible server?");
    } else if (success) {
        status = read_success(object, content, ctx, reply);
    } else {
        take_error(object, reply);
        if (root == NULL) {
            struct vq_span front = vq_utf8_cut(response->body, 120);
            vq_text_line(reply->error_message, sizeof(reply->error_message), front);
        }
        decide(reply, response->status);
    }
    json_decref(root);
    return status == VQ_NOMEM ? VQ_NOMEM : VQ_OK;
}

static enum vq_status openai_read(const struct vq_response *response, struct vq_reply *reply)
{
    return vq_openai_read(response, VQ_BODY_VALUES_MAX, read_choice, NULL, reply);
}

static const struct vq_provider_header fixed_headers[] = {
    {"Content-Type", "application/json"},
    {"Accept", "application/json"},
};

const struct vq_provider vq_provider_openai = {
    .dialect = dialect_name,
    .auth_header = "Authorization",
    .auth_prefix = "Bearer ",
    .headers = fixed_headers,
    .headers_count = VQ_COUNT(fixed_headers),
    .call_id_header = "X-Client-Request-Id",
    .url = openai_url,
    .body = openai_body,
    .read = openai_read,
    .embed_url = vq_openai_embed_url,
    .embed_body = vq_openai_embed_body,
    .embed_read = vq_openai_embed_read,
};
