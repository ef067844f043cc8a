/* Shapes of other providers' chats: paths and keys, the same answer in each shape, errors and
 * limits in their words. */

#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "offline/dialect.h"
#include "offline/service.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char log_path[64];

#define QUESTION                                                                                   \
    "<prompt>\\nWhy?\\n</prompt>\\n<output_a>\\nHello dear "                                       \
    "friend!\\n</output_a>\\n<output_b>\\nNo.\\n</output_b>\\n"                                    \
    "<axis>\\nName: Warmth\\nLow: cold\\nHigh: warm\\n</axis>"

static const struct shape {
    const char *path;
    const char *body;
    const char *text_at[4]; /* members down to the text; "0": the first of a list */
} shapes[] = {
    {"/v1/chat/completions",
     "{\"model\":\"offline-a\",\"max_tokens\":500,\"messages\":[{\"role\":\"system\",\"content\":"
     "\"Judge.\"},{\"role\":\"user\",\"content\":\"" QUESTION "\"}]}",
     {"choices", "0", "message", "content"}},
    {"/openai/deployments/offline-a/chat/completions",
     "{\"model\":\"any\",\"max_tokens\":500,\"messages\":[{\"role\":\"system\",\"content\":"
     "\"Judge.\"},{\"role\":\"user\",\"content\":\"" QUESTION "\"}]}",
     {"choices", "0", "message", "content"}},
    {"/v1/messages",
     "{\"model\":\"offline-a\",\"max_tokens\":500,\"system\":\"Judge.\",\"messages\":[{\"role\":"
     "\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" QUESTION "\"}]}]}",
     {"content", "0", "text", NULL}},
    {"/v1beta/models/offline-a:generateContent",
     "{\"systemInstruction\":{\"parts\":[{\"text\":\"Judge.\"}]},\"contents\":[{\"role\":\"user\","
     "\"parts\":[{\"text\":\"" QUESTION "\"}]}],\"generationConfig\":{\"maxOutputTokens\":500}}",
     {"candidates", "0", "content", "parts"}},
};

static struct vq_service *create(struct vq_service_config *config)
{
    struct vq_service *service = NULL;
    config->log_path = log_path;
    assert_int_equal(vq_service_create(config, 0, &service, NULL), VQ_OK);
    return service;
}

static struct vq_offline_reply post(struct vq_service *service, const char *path, const char *key,
                                    const char *body)
{
    struct vq_call call = {.method = "POST",
                           .path = path,
                           .authorization = key,
                           .api_version = "1",
                           .client_id = "call-1",
                           .body = vq_span_str(body)};
    struct vq_offline_reply reply;
    assert_int_equal(vq_service_take(service, &call, VQ_NS_PER_S, &reply, NULL), VQ_OK);
    assert_int_equal(vq_service_over(service, &reply, NULL, VQ_NS_PER_S, NULL), VQ_OK);
    return reply;
}

static const char *key_for(const char *path)
{
    struct vq_route route;
    const char *prefix = NULL;
    vq_route_of(path, &route);
    (void)vq_route_key_header(&route, &prefix);
    return prefix[0] == '\0' ? "sk-canary-0123" : "Bearer sk-canary-0123";
}

static void test_routes(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        enum vq_route_kind kind;
        enum vq_dialect dialect;
        const char *model;
        const char *key;
    } cases[] = {
        {"/v1/chat/completions", VQ_ROUTE_CHAT, VQ_DIALECT_OPENAI, "", "Authorization"},
        {"/v1/embeddings", VQ_ROUTE_EMBED, VQ_DIALECT_OPENAI, "", "Authorization"},
        {"/openai/v1/chat/completions", VQ_ROUTE_CHAT, VQ_DIALECT_AZURE, "", "api-key"},
        {"/openai/deployments/d 1/chat/completions", VQ_ROUTE_CHAT, VQ_DIALECT_AZURE, "d 1",
         "api-key"},
        {"/openai/deployments/d/embeddings", VQ_ROUTE_EMBED, VQ_DIALECT_AZURE, "d", "api-key"},
        {"/v1/messages", VQ_ROUTE_CHAT, VQ_DIALECT_ANTHROPIC, "", "x-api-key"},
        {"/v1beta/models/g:generateContent", VQ_ROUTE_CHAT, VQ_DIALECT_GEMINI, "g",
         "x-goog-api-key"},
        {"/v1beta/models/:generateContent", VQ_ROUTE_NONE, VQ_DIALECT_OPENAI, "", "Authorization"},
        {"/v1beta/models/g:countTokens", VQ_ROUTE_NONE, VQ_DIALECT_OPENAI, "", "Authorization"},
        {"/v1/models", VQ_ROUTE_NONE, VQ_DIALECT_OPENAI, "", "Authorization"},
        {"", VQ_ROUTE_NONE, VQ_DIALECT_OPENAI, "", "Authorization"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_route route;
        const char *prefix = NULL;
        vq_route_of(cases[i].path, &route);
        assert_int_equal(route.kind, cases[i].kind);
        assert_int_equal(route.dialect, cases[i].dialect);
        assert_string_equal(route.model, cases[i].model);
        assert_string_equal(vq_route_key_header(&route, &prefix), cases[i].key);
    }
}

static const json_t *down(const json_t *at, const char *const path[4])
{
    for (int i = 0; i < 4 && path[i] != NULL; i++) {
        at = strcmp(path[i], "0") == 0 ? json_array_get(at, 0) : json_object_get(at, path[i]);
    }
    return json_is_array(at) ? json_object_get(json_array_get(at, 0), "text") : at;
}

static void test_the_same_answer_in_every_shape(void **state)
{
    (void)state;
    struct vq_service_config config = {.require_key = true};
    struct vq_service *service = create(&config);
    char wanted[512] = "";
    uint64_t tokens = 0;
    for (size_t i = 0; i < VQ_COUNT(shapes); i++) {
        struct vq_offline_reply reply =
            post(service, shapes[i].path, key_for(shapes[i].path), shapes[i].body);
        assert_int_equal(reply.status, 200);
        json_t *root = json_loadb(reply.body.at, reply.body.bytes, 0, NULL);
        const char *text = json_string_value(down(root, shapes[i].text_at));
        assert_non_null(text);
        assert_non_null(strstr(text, "Model: A"));
        if (i == 0) {
            (void)snprintf(wanted, sizeof(wanted), "%s", text);
            tokens = reply.prompt_tokens;
        }
        assert_string_equal(text, wanted);
        assert_int_equal(reply.prompt_tokens, tokens);
        json_decref(root);
        vq_offline_reply_free(&reply);
    }
    vq_service_destroy(&service);
}

static const char *error_type(const struct vq_offline_reply *reply, char *to, size_t cap)
{
    json_t *root = json_loadb(reply->body.at, reply->body.bytes, 0, NULL);
    const json_t *error = json_object_get(root, "error");
    const char *type = json_string_value(json_object_get(error, "status"));
    type = type != NULL ? type : json_string_value(json_object_get(error, "type"));
    (void)snprintf(to, cap, "%s", type == NULL ? "" : type);
    json_decref(root);
    return to;
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *fault;
        unsigned status[2]; /* of Anthropic, of Gemini */
        const char *type[2];
    } cases[] = {
        {"rate_limit=1", {429, 429}, {"rate_limit_error", "RESOURCE_EXHAUSTED"}},
        {"quota=1", {400, 429}, {"invalid_request_error", "RESOURCE_EXHAUSTED"}},
        {"bad_key=1", {401, 400}, {"authentication_error", "INVALID_ARGUMENT"}},
        {"no_money=1", {402, 429}, {"billing_error", "RESOURCE_EXHAUSTED"}},
        {"no_model=1", {404, 404}, {"not_found_error", "NOT_FOUND"}},
        {"too_long=1", {400, 400}, {"invalid_request_error", "INVALID_ARGUMENT"}},
        {"server_error=1", {500, 500}, {"api_error", "INTERNAL"}},
        {"unavailable=1", {529, 503}, {"overloaded_error", "UNAVAILABLE"}},
        {"overloaded=1", {529, 503}, {"overloaded_error", "UNAVAILABLE"}},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_service_config config = {0};
        assert_int_equal(vq_fault_rules_add(&config.rules, cases[i].fault, NULL), VQ_OK);
        struct vq_service *service = create(&config);
        for (int d = 0; d < 2; d++) {
            char type[64];
            struct vq_offline_reply reply =
                post(service, shapes[2 + d].path, "k", shapes[2 + d].body);
            assert_int_equal(reply.status, cases[i].status[d]);
            assert_string_equal(error_type(&reply, type, sizeof(type)), cases[i].type[d]);
            vq_offline_reply_free(&reply);
        }
        vq_service_destroy(&service);
    }
}

static json_int_t usage(const struct vq_offline_reply *reply, const char *member)
{
    json_t *root = json_loadb(reply->body.at, reply->body.bytes, 0, NULL);
    json_int_t n = json_integer_value(json_object_get(json_object_get(root, "usage"), member));
    json_decref(root);
    return n;
}

/* What stands before a breakpoint is written once and read from then on, whatever comes after
 * it. */
static void test_cache(void **state)
{
    (void)state;
    struct vq_service_config config = {0};
    struct vq_service *service = create(&config);
#define ASK(front, rest)                                                                           \
    "{\"model\":\"offline-a\",\"max_tokens\":5,\"system\":\"12345678\",\"messages\":[{\"role\":"   \
    "\"user\","                                                                                    \
    "\"content\":[{\"type\":\"text\",\"text\":\"" front "\",\"cache_control\":{\"type\":"          \
    "\"ephemeral\"}},{\"type\":\"text\",\"text\":\"" rest "\"}]}]}"
    static const struct {
        const char *body;
        int plain, written, read;
    } cases[] = {
        {ASK("front of 16 byte", "rest"), 1, 6, 0},
        {ASK("front of 16 byte", "other rest"), 3, 0, 6},
        {ASK("another, 16 byte", "rest"), 1, 6, 0},
        {ASK("front of 16 byte", "rest"), 1, 0, 6},
    };
#undef ASK
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_offline_reply reply = post(service, "/v1/messages", "k", cases[i].body);
        assert_int_equal(reply.status, 200);
        assert_int_equal(usage(&reply, "input_tokens"), cases[i].plain);
        assert_int_equal(usage(&reply, "cache_creation_input_tokens"), cases[i].written);
        assert_int_equal(usage(&reply, "cache_read_input_tokens"), cases[i].read);
        vq_offline_reply_free(&reply);
    }
    vq_service_destroy(&service);
}

static bool has_header(const struct vq_offline_reply *reply, const char *name)
{
    for (size_t i = 0; i < reply->headers_n; i++) {
        if (strcmp(reply->headers[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void test_limits(void **state)
{
    (void)state;
    for (int d = 0; d < 2; d++) {
        struct vq_service_config config = {0};
        assert_int_equal(vq_pools_add(&config.pools, "rpm=1", NULL), VQ_OK);
        struct vq_service *service = create(&config);
        struct vq_offline_reply first = post(service, shapes[2 + d].path, "k", shapes[2 + d].body);
        struct vq_offline_reply second = post(service, shapes[2 + d].path, "k", shapes[2 + d].body);
        assert_int_equal(first.status, 200);
        assert_int_equal(second.status, 429);
        bool anthropic = d == 0;
        assert_int_equal(has_header(&first, "anthropic-ratelimit-requests-remaining"), anthropic);
        assert_int_equal(has_header(&second, "anthropic-ratelimit-requests-reset"), anthropic);
        assert_int_equal(has_header(&second, "retry-after"), anthropic);
        assert_false(has_header(&second, "x-ratelimit-limit-requests"));
        assert_int_equal(memmem(second.body.at, second.body.bytes, "retryDelay", 10) != NULL,
                         !anthropic);
        vq_offline_reply_free(&first);
        vq_offline_reply_free(&second);
        vq_service_destroy(&service);
    }
}

static void test_what_is_refused(void **state)
{
    (void)state;
    struct vq_service_config config = {.require_key = true};
    struct vq_service *service = create(&config);
    static const char *const bodies[] = {"", "[]", "{}", "{\"messages\":7,\"contents\":7}",
                                         "{\"contents\":[{}],\"messages\":[{}],\"model\":\"m\"}"};
    for (size_t i = 0; i < VQ_COUNT(shapes); i++) {
        for (size_t k = 0; k < VQ_COUNT(bodies); k++) {
            struct vq_offline_reply reply =
                post(service, shapes[i].path, key_for(shapes[i].path), bodies[k]);
            assert_int_equal(reply.status, 400);
            vq_offline_reply_free(&reply);
        }
        struct vq_offline_reply reply = post(service, shapes[i].path, NULL, shapes[i].body);
        assert_true(reply.status == 401 || reply.status == 400);
        vq_offline_reply_free(&reply);
    }
    struct vq_call call = {.method = "POST", .path = shapes[1].path, .body = vq_span_str("{}")};
    struct vq_offline_reply reply;
    assert_int_equal(vq_service_take(service, &call, 0, &reply, NULL), VQ_OK);
    assert_int_equal(reply.status, 404); /* no api-version */
    vq_offline_reply_free(&reply);
    vq_service_destroy(&service);
}

int main(void)
{
    (void)snprintf(log_path, sizeof(log_path), "/tmp/vq-dialect-%d.log", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_the_same_answer_in_every_shape),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_cache),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(log_path);
    return failed;
}
