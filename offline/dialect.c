/* Forms of chats. Requests are rebuilt as trees with shared members, so that one reader (chat.c) is
 * enough for all dialects; answers and errors are written from the same facts. Lenient like a
 * provider: unknown fields are ignored. Not its job: the answer, limits, OpenAI's own form
 * (chat.c). */
#include "offline/dialect.h"

#include "common/base/hash.h"
#include "common/text/json.h"
#include "offline/logprobs.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#define BYTES_PER_TOKEN 4

const char *vq_dialect_name(enum vq_dialect dialect)
{
    static const char *const names[] = {[VQ_DIALECT_OPENAI] = "openai",
                                        [VQ_DIALECT_AZURE] = "azure",
                                        [VQ_DIALECT_ANTHROPIC] = "anthropic",
                                        [VQ_DIALECT_GEMINI] = "gemini"};
    return names[dialect];
}

/* ---- paths ---- */

/* Takes the text between `front` and `end` in a path as the route's model; false: the path has
 * another form. */
static bool named_between(const char *path, const char *front, const char *end,
                          struct vq_route *route)
{
    size_t n = strlen(front);
    if (strncmp(path, front, n) != 0 || !vq_span_ends_with(vq_span_str(path + n), end)) {
        return false;
    }
    size_t bytes = strlen(path + n) - strlen(end);
    if (bytes == 0 || bytes >= sizeof(route->model)) {
        return false;
    }
    memcpy(route->model, path + n, bytes);
    route->model[bytes] = '\0';
    return true;
}

static enum vq_route_kind plain_kind(const char *path)
{
    if (strcmp(path, "/v1/chat/completions") == 0) {
        return VQ_ROUTE_CHAT;
    }
    return strcmp(path, "/v1/embeddings") == 0 ? VQ_ROUTE_EMBED : VQ_ROUTE_NONE;
}

/* "/v1/files", "/v1/files/..." and similar paths. */
static bool is_under(const char *path, const char *front)
{
    size_t n = strlen(front);
    return strncmp(path, front, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* False: it is not a path of batches and their files. */
static bool batch_route(const char *path, struct vq_route *route)
{
    static const struct {
        const char *front;
        enum vq_dialect dialect;
        bool needs_version;
    } fronts[] = {{"/v1/files", VQ_DIALECT_OPENAI, false},
                  {"/v1/batches", VQ_DIALECT_OPENAI, false},
                  {"/openai/files", VQ_DIALECT_AZURE, true},
                  {"/openai/batches", VQ_DIALECT_AZURE, true},
                  {"/openai/v1/files", VQ_DIALECT_AZURE, false},
                  {"/openai/v1/batches", VQ_DIALECT_AZURE, false},
                  {"/v1/messages/batches", VQ_DIALECT_ANTHROPIC, false},
                  {"/v1beta/batches", VQ_DIALECT_GEMINI, false},
                  {"/v1beta/files", VQ_DIALECT_GEMINI, false},
                  {"/upload/v1beta/files", VQ_DIALECT_GEMINI, false},
                  {"/download/v1beta/files", VQ_DIALECT_GEMINI, false}};
    for (size_t i = 0; i < VQ_COUNT(fronts); i++) {
        if (is_under(path, fronts[i].front)) {
            *route = (struct vq_route){.kind = VQ_ROUTE_BATCH,
                                       .dialect = fronts[i].dialect,
                                       .needs_version = fronts[i].needs_version};
            return true;
        }
    }
    return false;
}

void vq_route_of(const char *path, struct vq_route *ret_route)
{
    static const char azure[] = "/openai";
    static const char deployments[] = "/openai/deployments/";
    *ret_route = (struct vq_route){.kind = plain_kind(path)};
    if (batch_route(path, ret_route)) {
        return;
    }
    if (strncmp(path, azure, sizeof(azure) - 1) == 0) {
        ret_route->dialect = VQ_DIALECT_AZURE;
        ret_route->kind = plain_kind(path + sizeof(azure) - 1);
        if (named_between(path, deployments, "/chat/completions", ret_route)) {
            ret_route->kind = VQ_ROUTE_CHAT;
        } else if (named_between(path, deployments, "/embeddings", ret_route)) {
            ret_route->kind = VQ_ROUTE_EMBED;
        }
        ret_route->needs_version = ret_route->model[0] != '\0';
    } else if (strcmp(path, "/v1/messages") == 0) {
        ret_route->dialect = VQ_DIALECT_ANTHROPIC;
        ret_route->kind = VQ_ROUTE_CHAT;
    } else if (named_between(path, "/v1beta/models/", ":generateContent", ret_route)) {
        ret_route->dialect = VQ_DIALECT_GEMINI;
        ret_route->kind = VQ_ROUTE_CHAT;
    } else if (named_between(path, "/v1beta/models/", ":batchGenerateContent", ret_route)) {
        ret_route->dialect = VQ_DIALECT_GEMINI;
        ret_route->kind = VQ_ROUTE_BATCH;
    } else if (named_between(path, "/v1beta/models/", ":batchEmbedContents", ret_route)) {
        ret_route->dialect = VQ_DIALECT_GEMINI;
        ret_route->kind = VQ_ROUTE_EMBED;
    }
}

const char *vq_route_key_header(const struct vq_route *route, const char **ret_prefix)
{
    static const char *const names[] = {[VQ_DIALECT_OPENAI] = "Authorization",
                                        [VQ_DIALECT_AZURE] = "api-key",
                                        [VQ_DIALECT_ANTHROPIC] = "x-api-key",
                                        [VQ_DIALECT_GEMINI] = "x-goog-api-key"};
    *ret_prefix = route->dialect == VQ_DIALECT_OPENAI ? "Bearer " : "";
    return names[route->dialect];
}

/* ---- requests ---- */

/* {"role", "content"}; if the content is missing, the reader refuses the message, as it should. */
static bool add_message(json_t *messages, const char *role, json_t *content)
{
    json_t *message = json_object();
    bool ok = message != NULL && json_object_set_new(message, "role", json_string(role)) == 0 &&
              (content == NULL || json_object_set(message, "content", content) == 0);
    if (!ok) {
        json_decref(message);
        return false;
    }
    return json_array_append_new(messages, message) == 0;
}

static bool anthropic_messages(const json_t *tree, json_t *messages)
{
    json_t *system = json_object_get(tree, "system");
    if (system != NULL && !add_message(messages, "system", system)) {
        return false;
    }
    return json_array_extend(messages, json_object_get(tree, "messages")) == 0 ||
           json_object_get(tree, "messages") == NULL;
}

/* A member under its name in JSON or in the protocol buffer: Gemini accepts both. */
static const json_t *either(const json_t *object, const char *camel, const char *snake)
{
    const json_t *value = json_object_get(object, camel);
    return value == NULL ? json_object_get(object, snake) : value;
}

static bool gemini_messages(const json_t *tree, json_t *messages)
{
    const json_t *system = either(tree, "systemInstruction", "system_instruction");
    if (system != NULL && !add_message(messages, "system", json_object_get(system, "parts"))) {
        return false;
    }
    const json_t *contents = json_object_get(tree, "contents");
    for (size_t i = 0; i < json_array_size(contents); i++) {
        const json_t *content = json_array_get(contents, i);
        const char *role = json_string_value(json_object_get(content, "role"));
        bool model = role != NULL && strcmp(role, "model") == 0;
        if (!add_message(messages, model ? "assistant" : "user",
                         json_object_get(content, "parts"))) {
            return false;
        }
    }
    return true;
}

static bool copy_member(json_t *to, const char *key, const json_t *from, const char *its_key)
{
    json_t *value = json_object_get(from, its_key);
    return value == NULL || json_object_set(to, key, value) == 0;
}

/* As OpenAI's response_format. */
static bool copy_schema(json_t *to, json_t *schema)
{
    if (schema == NULL) {
        return true;
    }
    json_t *format =
        json_pack("{s:s, s:{s:O}}", "type", "json_schema", "json_schema", "schema", schema);
    return format != NULL && json_object_set_new(to, "response_format", format) == 0;
}

static bool translate(const struct vq_route *route, const json_t *tree, json_t *chat)
{
    json_t *messages = json_array();
    if (messages == NULL || json_object_set_new(chat, "messages", messages) != 0) {
        return false;
    }
    if (route->dialect == VQ_DIALECT_ANTHROPIC) {
        return anthropic_messages(tree, messages) && copy_member(chat, "model", tree, "model") &&
               copy_member(chat, "max_tokens", tree, "max_tokens") &&
               copy_member(chat, "stream", tree, "stream") &&
               copy_member(chat, "service_tier", tree, "service_tier") &&
               copy_schema(chat,
                           json_object_get(
                               json_object_get(json_object_get(tree, "output_config"), "format"),
                               "schema"));
    }
    const json_t *config = either(tree, "generationConfig", "generation_config");
    return gemini_messages(tree, messages) &&
           json_object_set_new(chat, "model", json_string(route->model)) == 0 &&
           copy_member(chat, "max_tokens", config, "maxOutputTokens") &&
           copy_member(chat, "seed", config, "seed") &&
           copy_member(chat, "service_tier", tree, "serviceTier") &&
           copy_member(chat, "logprobs", config, "responseLogprobs") &&
           copy_schema(chat, json_object_get(config, "responseSchema"));
}

void *vq_dialect_request(const struct vq_route *route, void *take_tree)
{
    json_t *tree = take_tree;
    if (route->dialect == VQ_DIALECT_OPENAI) {
        return tree;
    }
    bool ok = true;
    if (route->dialect == VQ_DIALECT_AZURE) { /* the deployment overrides the model in the body */
        ok = route->model[0] == '\0' ||
             json_object_set_new(tree, "model", json_string(route->model)) == 0;
    } else {
        json_t *chat = json_object();
        ok = chat != NULL && translate(route, tree, chat);
        json_decref(tree);
        tree = chat;
    }
    if (!ok) {
        json_decref(tree);
        return NULL;
    }
    return tree;
}

/* The texts of messages, one after the other, in steps: the hash of a step covers all texts up to
 * it. */
struct front_walk {
    struct vq_chat_request *request;
    struct vq_hash so_far;
    uint64_t bytes, next; /* bytes so far; where the next front ends */
    struct vq_hasher step;
};

static void walk_text(struct front_walk *w, const json_t *text)
{
    struct vq_span left = vq_span(json_string_value(text), json_string_length(text));
    struct vq_chat_request *r = w->request;
    while (left.bytes > 0 && r->fronts_n < VQ_CHAT_FRONTS_MAX) {
        uint64_t room = w->next - w->bytes;
        struct vq_span piece = vq_span(left.at, left.bytes < room ? left.bytes : (size_t)room);
        vq_hasher_bytes(&w->step, piece.at, piece.bytes);
        w->bytes += piece.bytes;
        left = vq_span(left.at + piece.bytes, left.bytes - piece.bytes);
        if (w->bytes == w->next) {
            vq_hasher_final(&w->step, &w->so_far);
            r->fronts[r->fronts_n++] =
                (struct vq_chat_front){vq_hash_u64(&w->so_far), vq_chat_tokens(w->bytes)};
            vq_hasher_init(&w->step, "offline-cache");
            vq_hasher_bytes(&w->step, w->so_far.b, VQ_HASH_BYTES);
            w->next += (uint64_t)VQ_CHAT_FRONT_STEP * BYTES_PER_TOKEN;
        }
    }
}

static void read_long_fronts(const json_t *messages, struct vq_chat_request *request)
{
    struct front_walk w = {.request = request,
                           .next = (uint64_t)VQ_CHAT_FRONT_TOKENS_MIN * BYTES_PER_TOKEN};
    vq_hasher_init(&w.step, "offline-cache");
    vq_hasher_field(&w.step, vq_span_str(request->model));
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *content = json_object_get(json_array_get(messages, i), "content");
        if (json_is_string(content)) {
            walk_text(&w, content);
        }
        for (size_t k = 0; k < json_array_size(content); k++) {
            walk_text(&w, json_object_get(json_array_get(content, k), "text"));
        }
    }
}

static void hash_texts(struct vq_hasher *h, const json_t *content, size_t count, uint64_t *bytes)
{
    if (json_is_string(content)) {
        *bytes += json_string_length(content);
        vq_hasher_field(h, vq_span(json_string_value(content), json_string_length(content)));
    }
    for (size_t i = 0; i < count; i++) {
        hash_texts(h, json_object_get(json_array_get(content, i), "text"), 0, bytes);
    }
}

static void read_marked_front(const json_t *messages, struct vq_chat_request *request)
{
    size_t n = json_array_size(messages);
    const json_t *last =
        n == 0 ? NULL : json_object_get(json_array_get(messages, n - 1), "content");
    size_t parts = json_array_size(last);
    while (parts > 0 && json_object_get(json_array_get(last, parts - 1), "cache_control") == NULL) {
        parts--;
    }
    if (parts == 0) {
        return;
    }
    struct vq_hasher h;
    struct vq_hash hash;
    uint64_t bytes = 0;
    vq_hasher_init(&h, "offline-cache");
    vq_hasher_field(&h, vq_span_str(request->model));
    for (size_t i = 0; i + 1 < n; i++) {
        const json_t *content = json_object_get(json_array_get(messages, i), "content");
        hash_texts(&h, content, json_array_size(content), &bytes);
    }
    hash_texts(&h, last, parts, &bytes);
    vq_hasher_final(&h, &hash);
    request->fronts[0] = (struct vq_chat_front){vq_hash_u64(&hash), vq_chat_tokens(bytes)};
    request->fronts_n = 1;
}

void vq_dialect_read_fronts(const void *tree, struct vq_chat_request *request)
{
    const json_t *messages = json_object_get(tree, "messages");
    if (request->dialect == VQ_DIALECT_ANTHROPIC) {
        read_marked_front(messages, request);
    } else {
        read_long_fronts(messages, request);
    }
}

/* ---- answers ---- */

/* How an answer ended, in the terms of the dialect. */
static const char *finish_of(const char *openai, const char *stop, const char *length,
                             const char *refusal)
{
    if (strcmp(openai, "length") == 0) {
        return length;
    }
    return strcmp(openai, "content_filter") == 0 ? refusal : stop;
}

static void write_anthropic(struct vq_json *json, const struct vq_chat_answer *answer)
{
    vq_json_object(json);
    vq_json_put_str(json, "id", answer->id);
    vq_json_put_str(json, "type", "message");
    vq_json_put_str(json, "role", "assistant");
    vq_json_put_str(json, "model", answer->model);
    vq_json_put_array(json, "content");
    if (!answer->content_is_null) {
        vq_json_object(json);
        vq_json_put_str(json, "type", "text");
        vq_json_put_span(json, "text", answer->content);
        vq_json_object_end(json);
    }
    vq_json_array_end(json);
    vq_json_put_str(json, "stop_reason",
                    finish_of(answer->finish_reason, "end_turn", "max_tokens", "refusal"));
    if (answer->with_usage) {
        vq_json_put_object(json, "usage");
        vq_json_put_u64(json, "input_tokens",
                        answer->prompt_tokens - answer->cache_read_tokens -
                            answer->cache_written_tokens);
        vq_json_put_u64(json, "cache_creation_input_tokens", answer->cache_written_tokens);
        vq_json_put_u64(json, "cache_read_input_tokens", answer->cache_read_tokens);
        vq_json_put_u64(json, "output_tokens", answer->completion_tokens);
        vq_json_put_str(json, "service_tier", answer->tier);
        vq_json_object_end(json);
    }
    vq_json_object_end(json);
}

static void write_candidate(struct vq_json *json, const struct vq_chat_answer *answer)
{
    vq_json_object(json);
    if (!answer->content_is_null) {
        vq_json_put_object(json, "content");
        vq_json_put_array(json, "parts");
        vq_json_object(json);
        vq_json_put_span(json, "text", answer->content);
        vq_json_object_end(json);
        vq_json_array_end(json);
        vq_json_put_str(json, "role", "model");
        vq_json_object_end(json);
    }
    vq_json_put_str(json, "finishReason",
                    finish_of(answer->finish_reason, "STOP", "MAX_TOKENS", "SAFETY"));
    vq_json_put_u64(json, "index", 0);
    if (answer->with_logprobs && !answer->content_is_null) {
        vq_json_key(json, "logprobsResult");
        vq_logprobs_write(json, VQ_DIALECT_GEMINI, answer->content);
    }
    vq_json_object_end(json);
}

static void write_gemini(struct vq_json *json, const struct vq_chat_answer *answer)
{
    vq_json_object(json);
    vq_json_put_array(json, "candidates");
    write_candidate(json, answer);
    vq_json_array_end(json);
    if (answer->with_usage) {
        vq_json_put_object(json, "usageMetadata");
        vq_json_put_u64(json, "promptTokenCount", answer->prompt_tokens);
        if (answer->cache_read_tokens > 0) {
            vq_json_put_u64(json, "cachedContentTokenCount", answer->cache_read_tokens);
        }
        vq_json_put_u64(json, "candidatesTokenCount", answer->completion_tokens);
        vq_json_put_u64(json, "totalTokenCount", answer->prompt_tokens + answer->completion_tokens);
        vq_json_put_str(json, "serviceTier", answer->tier);
        vq_json_object_end(json);
    }
    vq_json_put_str(json, "modelVersion", answer->model);
    vq_json_put_str(json, "responseId", answer->id);
    vq_json_object_end(json);
}

void vq_dialect_write(struct vq_buf *body, enum vq_dialect dialect,
                      const struct vq_chat_answer *answer)
{
    struct vq_json json;
    vq_json_init(&json, body, 0);
    if (dialect == VQ_DIALECT_ANTHROPIC) {
        write_anthropic(&json, answer);
    } else {
        write_gemini(&json, answer);
    }
}

/* ---- errors ---- */

struct error {
    enum vq_dialect dialect;
    unsigned status;  /* OpenAI's; 0: any */
    const char *code; /* OpenAI's; NULL: any */
    unsigned becomes; /* 0: the same status */
    const char *type; /* the type; Gemini calls it status */
    /* put before the message, for readers that look for it because there is no code */
    const char *adds;
    const char *reason; /* in the details */
};

/* The first matching row decides. */
static const struct error errors[] = {
#define A VQ_DIALECT_ANTHROPIC
#define G VQ_DIALECT_GEMINI
    {A, 0, "insufficient_quota", 400, "invalid_request_error",
     "You have reached your specified API usage limits. ", NULL},
    {A, 0, "organization_spend_limit_exceeded", 429, "rate_limit_error", "",
     "enforced_spend_limit_reached"},
    {A, 0, "context_length_exceeded", 0, "invalid_request_error", "prompt is too long. ", NULL},
    {A, 400, NULL, 0, "invalid_request_error", "", NULL},
    {A, 401, NULL, 0, "authentication_error", "", NULL},
    {A, 402, NULL, 0, "billing_error", "", NULL},
    {A, 403, NULL, 0, "permission_error", "", NULL},
    {A, 404, NULL, 0, "not_found_error", "", NULL},
    {A, 408, NULL, 504, "timeout_error", "", NULL},
    {A, 409, NULL, 0, "conflict_error", "", NULL},
    {A, 413, NULL, 0, "request_too_large", "", NULL},
    {A, 429, NULL, 0, "rate_limit_error", "", NULL},
    {A, 503, NULL, 529, "overloaded_error", "", NULL},
    {A, 504, NULL, 0, "timeout_error", "", NULL},
    {A, 529, NULL, 0, "overloaded_error", "", NULL},
    {A, 0, NULL, 0, "api_error", "", NULL},
    {G, 0, "insufficient_quota", 429, "RESOURCE_EXHAUSTED",
     "Your prepayment credits are depleted. ", NULL},
    {G, 0, "organization_spend_limit_exceeded", 429, "RESOURCE_EXHAUSTED",
     "The project has exceeded its monthly spending cap. ", NULL},
    {G, 402, NULL, 429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted. ", NULL},
    {G, 0, "context_length_exceeded", 0, "INVALID_ARGUMENT",
     "The input token count exceeds the maximum number of tokens allowed. ", NULL},
    {G, 413, NULL, 400, "INVALID_ARGUMENT",
     "The input token count exceeds the maximum number of tokens allowed. ", NULL},
    {G, 400, NULL, 0, "INVALID_ARGUMENT", "", NULL},
    {G, 401, NULL, 400, "INVALID_ARGUMENT", "", "API_KEY_INVALID"},
    {G, 403, NULL, 0, "PERMISSION_DENIED", "", NULL},
    {G, 404, NULL, 0, "NOT_FOUND", "", NULL},
    {G, 408, NULL, 504, "DEADLINE_EXCEEDED", "", NULL},
    {G, 409, NULL, 0, "ABORTED", "", NULL},
    {G, 429, NULL, 0, "RESOURCE_EXHAUSTED", "", NULL},
    {G, 503, NULL, 0, "UNAVAILABLE", "", NULL},
    {G, 504, NULL, 0, "DEADLINE_EXCEEDED", "", NULL},
    {G, 529, NULL, 503, "UNAVAILABLE", "", NULL},
    {G, 0, NULL, 0, "INTERNAL", "", NULL},
#undef A
#undef G
};

static const struct error *find_error(enum vq_dialect dialect, unsigned status, const char *code)
{
    size_t i = 0;
    for (; i + 1 < VQ_COUNT(errors); i++) {
        const struct error *e = &errors[i];
        bool status_fits = e->status == 0 || e->status == status;
        bool code_fits = e->code == NULL || (code != NULL && strcmp(e->code, code) == 0);
        if (e->dialect == dialect && status_fits && code_fits) {
            break;
        }
    }
    return &errors[i];
}

static void open_detail(struct vq_json *json, const char *kind)
{
    char type[64];
    (void)snprintf(type, sizeof(type), "type.googleapis.com/google.rpc.%s", kind);
    vq_json_object(json);
    vq_json_put_str(json, "@type", type);
}

static void write_quota(struct vq_json *json, const struct vq_dialect_error *said)
{
    char value[24];
    (void)snprintf(value, sizeof(value), "%" PRIu64, said->quota_value);
    open_detail(json, "QuotaFailure");
    vq_json_put_array(json, "violations");
    vq_json_object(json);
    vq_json_put_str(json, "quotaId", said->quota);
    if (said->quota_value > 0) {
        vq_json_put_str(json, "quotaValue", value);
    }
    vq_json_object_end(json);
    vq_json_array_end(json);
    vq_json_object_end(json);
}

static void write_details(struct vq_json *json, const struct error *error, bool limited,
                          const struct vq_dialect_error *said)
{
    vq_json_put_array(json, "details");
    if (error->reason != NULL) {
        open_detail(json, "ErrorInfo");
        vq_json_put_str(json, "reason", error->reason);
        vq_json_object_end(json);
    }
    if (limited && said->quota != NULL) {
        write_quota(json, said);
    }
    if (said->wait_ms >= 0) {
        char delay[32];
        (void)snprintf(delay, sizeof(delay), "%" PRId64 ".%03" PRId64 "s", said->wait_ms / 1000,
                       said->wait_ms % 1000);
        open_detail(json, "RetryInfo");
        vq_json_put_str(json, "retryDelay", delay);
        vq_json_object_end(json);
    }
    vq_json_array_end(json);
}

static void write_anthropic_error(struct vq_json *json, const struct error *error, const char *text)
{
    vq_json_put_str(json, "type", error->type);
    vq_json_put_str(json, "message", text);
    if (error->reason != NULL) {
        vq_json_put_object(json, "details");
        vq_json_put_str(json, "error_code", error->reason);
        vq_json_object_end(json);
    }
}

unsigned vq_dialect_write_error(struct vq_buf *body, enum vq_dialect dialect,
                                const struct vq_dialect_error *said)
{
    unsigned status = said->status;
    const struct error *error = find_error(dialect, status, said->code);
    unsigned becomes = error->becomes == 0 || status == 200 ? status : error->becomes;
    char text[512];
    (void)snprintf(text, sizeof(text), "%s%s", error->adds, said->message);
    struct vq_json json;
    vq_json_open(&json, body, 0);
    if (dialect == VQ_DIALECT_ANTHROPIC) {
        vq_json_put_str(&json, "type", "error");
    }
    vq_json_put_object(&json, "error");
    if (dialect == VQ_DIALECT_ANTHROPIC) {
        write_anthropic_error(&json, error, text);
    } else {
        vq_json_put_u64(&json, "code", status == 200 ? 500 : becomes);
        vq_json_put_str(&json, "message", text);
        vq_json_put_str(&json, "status", error->type);
        write_details(&json, error, becomes == 429 && error->adds[0] == '\0', said);
    }
    vq_json_object_end(&json);
    vq_json_object_end(&json);
    return becomes;
}
