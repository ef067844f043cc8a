/* Chats in OpenAI's form; requests of other dialects are converted to it first (dialect.c). The
 * body is parsed once; spans of the question point into the tree. Only the relevant fields are
 * read; others are ignored, as a lenient provider does. Not its job: the answer (answer.c). */
#include "offline/chat.h"

#include "common/text/json.h"
#include "common/text/json_load.h"
#include "offline/dialect.h"
#include "offline/logprobs.h"

#include <jansson.h>
#include <stdio.h>

#define QUESTION_BYTES_MAX (64u << 20)
#define TOKENS_MAX         (INT64_C(1) << 32)

uint64_t vq_chat_tokens(uint64_t bytes)
{
    return (bytes + 3) / 4;
}

/* The text of a message: a string, or the text parts of a list. The parts are joined in
 * `joined`. */
static struct vq_span text_of(const json_t *message, struct vq_buf *joined)
{
    const json_t *content = json_object_get(message, "content");
    if (json_is_string(content)) {
        return vq_span(json_string_value(content), json_string_length(content));
    }
    vq_buf_clear(joined);
    size_t i = 0;
    const json_t *part = NULL;
    json_array_foreach((json_t *)(uintptr_t)content, i, part)
    {
        const json_t *text = json_object_get(part, "text");
        if (json_is_string(text)) {
            vq_buf_append(joined, json_string_value(text), json_string_length(text));
        }
    }
    return vq_buf_span(joined);
}

static bool has_role(const json_t *message, const char *role)
{
    const char *text = json_string_value(json_object_get(message, "role"));
    return text != NULL && strcmp(text, role) == 0;
}

static bool holds(struct vq_span text, const char *needle)
{
    return text.bytes > 0 && memmem(text.at, text.bytes, needle, strlen(needle)) != NULL;
}

static enum vq_wanted wanted_of(struct vq_span text, struct vq_sections *ret_question)
{
    enum vq_wanted wanted = vq_wanted_find(text);
    if (vq_wanted_is_part(wanted) || vq_wanted_is_rating(wanted)) {
        return wanted;
    }
    bool axes_apart = wanted == VQ_WANTED_PREFERENCE || wanted == VQ_WANTED_VERDICTS;
    if (axes_apart && vq_sections_find_outputs(text, ret_question) == VQ_OK) {
        return wanted;
    }
    if (vq_sections_find(text, ret_question) == VQ_OK) {
        return ret_question->has_axis ? VQ_WANTED_JUDGEMENT : VQ_WANTED_PREFERENCE;
    }
    return VQ_WANTED_OTHER;
}

/* The last user message with a known kind of question; if there is none, the last user message. */
static enum vq_status find_question(const json_t *messages, struct vq_chat_request *request)
{
    request->wanted = VQ_WANTED_OTHER;
    for (size_t i = json_array_size(messages); i > 0; i--) {
        const json_t *message = json_array_get(messages, i - 1);
        if (!has_role(message, "user")) {
            continue;
        }
        struct vq_span text = text_of(message, &request->joined);
        VQ_TRY(request->joined.status);
        request->wanted = wanted_of(text, &request->question);
        if (request->wanted != VQ_WANTED_OTHER) {
            request->question_text = text;
            return VQ_OK;
        }
    }
    for (size_t i = json_array_size(messages); i > 0; i--) {
        const json_t *message = json_array_get(messages, i - 1);
        if (has_role(message, "user")) {
            request->question_text = text_of(message, &request->joined);
            bool is_repair = holds(request->question_text, "<answer>");
            request->wanted = is_repair ? VQ_WANTED_REPAIR : VQ_WANTED_OTHER;
            return request->joined.status;
        }
    }
    return VQ_OK;
}

static enum vq_status read_messages(const json_t *messages, struct vq_chat_request *request,
                                    struct vq_error *err)
{
    size_t n = json_array_size(messages);
    if (n == 0 || n > VQ_CHAT_MESSAGES_MAX) {
        return vq_fail(err, VQ_INVALID, "'messages' must be a list of 1 to %d messages",
                       VQ_CHAT_MESSAGES_MAX);
    }
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *message = json_array_get(messages, i);
        const json_t *content = json_object_get(message, "content");
        if (!json_is_string(json_object_get(message, "role")) ||
            (!json_is_string(content) && !json_is_array(content))) {
            return vq_fail(err, VQ_INVALID, "messages[%zu] needs a role and a content", i);
        }
        struct vq_span text = text_of(message, &request->joined);
        if (request->joined.status == VQ_NOMEM) {
            return VQ_NOMEM;
        }
        bytes += text.bytes;
        request->asks_for_tie =
            request->asks_for_tie || holds(text, ", tie") || holds(text, "tie}");
    }
    request->prompt_tokens = vq_chat_tokens(bytes);
    enum vq_status status = find_question(messages, request);
    return status == VQ_LIMIT ? vq_fail(err, VQ_INVALID, "too long") : status;
}

/* response_format: the names of the properties to fill. The property with a list of allowed values
 * gets the verdict. */
static void read_format(const json_t *root, struct vq_chat_request *request)
{
    const json_t *format = json_object_get(root, "response_format");
    const char *type = json_string_value(json_object_get(format, "type"));
    if (type == NULL || strncmp(type, "json", 4) != 0) {
        return;
    }
    request->wants_json = true;
    (void)snprintf(request->json_verdict, sizeof(request->json_verdict), "model");
    (void)snprintf(request->json_analysis, sizeof(request->json_analysis), "analysis");
    json_t *schema = json_object_get(json_object_get(format, "json_schema"), "schema");
    const char *name = NULL;
    json_t *property = NULL;
    json_object_foreach(json_object_get(schema, "properties"), name, property)
    {
        bool is_choice = json_is_array(json_object_get(property, "enum"));
        char *to = is_choice ? request->json_verdict : request->json_analysis;
        (void)snprintf(to, sizeof(request->json_verdict), "%s", name);
    }
}

static enum vq_status read_root(const json_t *root, struct vq_chat_request *request,
                                struct vq_error *err)
{
    const char *model = json_string_value(json_object_get(root, "model"));
    if (model == NULL || strlen(model) >= VQ_CHAT_MODEL_BYTES) {
        return vq_fail(err, VQ_INVALID, "'model' must be a text of at most %d bytes",
                       VQ_CHAT_MODEL_BYTES - 1);
    }
    (void)snprintf(request->model, sizeof(request->model), "%s", model);
    if (json_is_true(json_object_get(root, "stream"))) {
        return vq_fail(err, VQ_INVALID, "'stream' is not supported by this server");
    }
    const json_t *choices = json_object_get(root, "n");
    if (json_is_integer(choices) && json_integer_value(choices) != 1) {
        return vq_fail(err, VQ_INVALID, "'n' other than 1 is not supported by this server");
    }
    const json_t *limit = json_object_get(root, "max_completion_tokens");
    limit = limit != NULL ? limit : json_object_get(root, "max_tokens");
    if (limit != NULL && !json_is_null(limit)) {
        if (!json_is_integer(limit) || json_integer_value(limit) < 1) {
            return vq_fail(err, VQ_INVALID, "'max_tokens' must be a number of at least 1");
        }
        int64_t tokens = json_integer_value(limit);
        request->tokens_max = (uint64_t)(tokens < TOKENS_MAX ? tokens : TOKENS_MAX);
    }
    request->seed = json_integer_value(json_object_get(root, "seed"));
    request->wants_logprobs = json_is_true(json_object_get(root, "logprobs"));
    const char *tier = json_string_value(json_object_get(root, "service_tier"));
    (void)snprintf(request->tier, sizeof(request->tier), "%s", tier == NULL ? "" : tier);
    read_format(root, request);
    vq_dialect_read_fronts(root, request);
    return read_messages(json_object_get(root, "messages"), request, err);
}

enum vq_status vq_chat_parse(struct vq_span body, const struct vq_route *route,
                             struct vq_chat_request *ret_request, struct vq_error *err)
{
    json_error_t why;
    json_t *root = NULL;
    enum vq_status status = vq_json_load(body, JSON_ALLOW_NUL, &root, &why);
    if (status == VQ_NOMEM) {
        return status;
    }
    if (!json_is_object(root)) {
        json_decref(root);
        return vq_fail(err, VQ_INVALID, "the body is not a JSON object: %s",
                       root == NULL ? why.text : "another kind of value");
    }
    root = vq_dialect_request(route, root);
    if (root == NULL) {
        return VQ_NOMEM;
    }
    struct vq_chat_request request = {.dialect = route->dialect, .tree = root};
    vq_buf_init(&request.joined, QUESTION_BYTES_MAX);
    status = read_root(root, &request, err);
    if (status != VQ_OK) {
        vq_chat_request_free(&request);
        return status;
    }
    *ret_request = request;
    return VQ_OK;
}

const char *vq_chat_tier(const struct vq_chat_request *request)
{
    bool special = strcmp(request->tier, "flex") == 0 || strcmp(request->tier, "priority") == 0;
    bool openai = request->dialect == VQ_DIALECT_OPENAI || request->dialect == VQ_DIALECT_AZURE;
    return special ? request->tier : openai ? "default" : "standard";
}

void vq_chat_request_free(struct vq_chat_request *request)
{
    json_decref(request->tree);
    request->tree = NULL;
    vq_buf_free(&request->joined);
}

static void write_choice(struct vq_json *json, const struct vq_chat_answer *answer)
{
    vq_json_object(json);
    vq_json_put_u64(json, "index", 0);
    vq_json_put_object(json, "message");
    vq_json_put_str(json, "role", "assistant");
    vq_json_key(json, "content");
    if (answer->content_is_null) {
        vq_json_null(json);
    } else {
        vq_json_span(json, answer->content);
    }
    vq_json_put_str(json, "refusal", answer->refusal);
    vq_json_object_end(json);
    vq_json_key(json, "logprobs");
    if (answer->with_logprobs) {
        vq_logprobs_write(json, VQ_DIALECT_OPENAI, answer->content);
    } else {
        vq_json_null(json);
    }
    vq_json_put_str(json, "finish_reason", answer->finish_reason);
    vq_json_object_end(json);
}

static void write_usage(struct vq_json *json, const struct vq_chat_answer *answer)
{
    vq_json_put_object(json, "usage");
    vq_json_put_u64(json, "prompt_tokens", answer->prompt_tokens);
    vq_json_put_u64(json, "completion_tokens", answer->completion_tokens);
    vq_json_put_u64(json, "total_tokens", answer->prompt_tokens + answer->completion_tokens);
    vq_json_put_object(json, "prompt_tokens_details");
    vq_json_put_u64(json, "cached_tokens", answer->cache_read_tokens);
    vq_json_object_end(json);
    vq_json_object_end(json);
}

void vq_chat_write(struct vq_buf *body, const struct vq_chat_answer *answer)
{
    struct vq_json json;
    vq_json_open(&json, body, 0);
    vq_json_put_str(&json, "id", answer->id);
    vq_json_put_str(&json, "object", "chat.completion");
    vq_json_put_u64(&json, "created", (uint64_t)answer->created_s);
    vq_json_put_str(&json, "model", answer->model);
    vq_json_put_str(&json, "system_fingerprint", answer->fingerprint);
    vq_json_put_str(&json, "service_tier", answer->tier);
    vq_json_put_array(&json, "choices");
    write_choice(&json, answer);
    vq_json_array_end(&json);
    if (answer->with_usage) {
        write_usage(&json, answer);
    }
    vq_json_object_end(&json);
}

void vq_chat_write_error(struct vq_buf *body, const char *message, const char *type,
                         const char *code)
{
    struct vq_json json;
    vq_json_open(&json, body, 0);
    vq_json_put_object(&json, "error");
    vq_json_put_str(&json, "message", message);
    vq_json_put_str(&json, "type", type);
    vq_json_put_str(&json, "param", NULL);
    vq_json_put_str(&json, "code", code);
    vq_json_object_end(&json);
    vq_json_object_end(&json);
}
