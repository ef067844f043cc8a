

#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "offline/service.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char log_path[64];

static struct vq_service *create(struct vq_service_config *config)
{
    struct vq_service *service = NULL;
    struct vq_error err = {0};
    config->log_path = log_path;
    if (vq_service_create(config, 0, &service, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return service;
}

static struct vq_service *create_with_fault(const char *option)
{
    struct vq_service_config config = {0};
    struct vq_error err = {0};
    if (vq_fault_rules_add(&config.rules, option, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return create(&config);
}

#define QUESTION                                                                                   \
    "<prompt>\\nWhy?\\n</prompt>\\n<output_a>\\nHello dear "                                       \
    "friend!\\n</output_a>\\n<output_b>\\nNo.\\n</output_b>\\n"                                    \
    "<axis>\\nName: Warmth\\nLow: cold\\nHigh: warm\\n</axis>"
#define BODY                                                                                       \
    "{\"model\":\"offline-a\",\"messages\":[{\"role\":\"system\",\"content\":\"Judge.\"},"         \
    "{\"role\":\"user\",\"content\":\"" QUESTION "\"}]}"

static struct vq_offline_reply post(struct vq_service *service, const char *path, const char *key,
                                    const char *body)
{
    struct vq_call call = {.method = "POST",
                           .path = path,
                           .authorization = key,
                           .client_id = "call-1",
                           .body = vq_span_str(body)};
    struct vq_offline_reply reply;
    struct vq_error err = {0};
    if (vq_service_take(service, &call, VQ_NS_PER_S, &reply, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(vq_service_answered(service, &reply, VQ_NS_PER_S, VQ_NS_PER_S, &err), VQ_OK);
    assert_int_equal(vq_service_over(service, &reply, NULL, VQ_NS_PER_S, &err), VQ_OK);
    return reply;
}

static struct vq_offline_reply chat(struct vq_service *service, const char *body)
{
    return post(service, "/v1/chat/completions", "Bearer sk-canary", body);
}

static json_t *parse(struct vq_offline_reply *reply)
{
    json_t *root = json_loadb(reply->body.at, reply->body.bytes, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    vq_offline_reply_free(reply);
    return root;
}

/* A text of the tree by its path; NULL where it is null or missing. */
static const char *text_at(const json_t *root, const char *a, const char *b)
{
    const json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
    const json_t *at = json_object_get(strcmp(a, "choice") == 0 ? choice : root, b);
    if (strcmp(a, "message") == 0) {
        at = json_object_get(json_object_get(choice, "message"), b);
    }
    if (strcmp(a, "error") == 0) {
        at = json_object_get(json_object_get(root, "error"), b);
    }
    return json_string_value(at);
}

TEST(answers_in_the_shape_of_the_api)
{
    struct vq_service *service = create(&(struct vq_service_config){.seed = 1});
    struct vq_offline_reply reply = chat(service, BODY);
    assert_int_equal(reply.status, 200);
    assert_true(reply.paid);
    assert_string_equal(reply.verdict, "A");
    uint64_t tokens = reply.completion_tokens;
    json_t *root = parse(&reply);
    assert_string_equal(text_at(root, "root", "object"), "chat.completion");
    assert_string_equal(text_at(root, "root", "model"), "offline-a");
    assert_string_equal(text_at(root, "root", "system_fingerprint"), "offline-lexical");
    assert_string_equal(text_at(root, "choice", "finish_reason"), "stop");
    const char *content = text_at(root, "message", "content");
    assert_non_null(strstr(content, "Analysis: "));
    assert_string_equal(content + strlen(content) - strlen("\nModel: A"), "\nModel: A");
    const json_t *usage = json_object_get(root, "usage");
    assert_int_equal(json_integer_value(json_object_get(usage, "completion_tokens")), tokens);
    assert_int_equal(tokens, (strlen(content) + 3) / 4);
    assert_int_equal(json_integer_value(json_object_get(usage, "total_tokens")),
                     json_integer_value(json_object_get(usage, "prompt_tokens")) +
                         (json_int_t)tokens);
    json_decref(root);
    vq_service_destroy(&service);
}

TEST(reads_parts_json_formats_and_ties)
{
    struct vq_service *service = create(&(struct vq_service_config){.seed = 1});
    struct vq_offline_reply reply = chat(
        service,
        "{\"model\":\"offline-a\",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{"
        "\"schema\":{\"properties\":{\"why\":{\"type\":\"string\"},\"pick\":{\"enum\":[\"A\",\"B\"]"
        "}}}}},"
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" QUESTION
        "\"}]}]}");
    json_t *root = parse(&reply);
    json_t *content = json_loads(text_at(root, "message", "content"), 0, NULL);
    assert_string_equal(json_string_value(json_object_get(content, "pick")), "A");
    assert_non_null(json_string_value(json_object_get(content, "why")));
    json_decref(content);
    json_decref(root);

    reply =
        chat(service,
             "{\"model\":\"offline-b\",\"messages\":[{\"role\":\"system\",\"content\":\"Model: {A, "
             "B, tie}\"},"
             "{\"role\":\"user\",\"content\":\"Prompt: x\\nOutput A: same\\nOutput B: same\"}]}");
    assert_string_equal(reply.verdict, "tie");
    vq_offline_reply_free(&reply);

    reply =
        chat(service,
             "{\"model\":\"offline-a\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello?\"}]}");
    assert_int_equal(reply.status, 200);
    assert_null(reply.verdict);
    vq_offline_reply_free(&reply);
    vq_service_destroy(&service);
}

TEST(repairs_state_the_decision_that_was_stated)
{
    struct vq_service *service = create(&(struct vq_service_config){.seed = 1});
    static const struct {
        const char *answer;
        const char *verdict;
    } cases[] = {{"All in all it is Output B which goes further.", "B"},
                 {"Output A, I would say.", "A"},
                 {"Both have merits.", "unclear"},
                 {"Output A or Output B", "unclear"}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        char body[512];
        (void)snprintf(body, sizeof(body),
                       "{\"model\":\"offline-a\",\"messages\":[{\"role\":\"user\",\"content\":\"<"
                       "answer>\\n%s\\n</answer>\"}]}",
                       cases[i].answer);
        struct vq_offline_reply reply = chat(service, body);
        assert_string_equal(reply.verdict, cases[i].verdict);
        vq_offline_reply_free(&reply);
    }
    vq_service_destroy(&service);
}

TEST(refuses_what_a_provider_would)
{
    struct vq_service *service =
        create(&(struct vq_service_config){.seed = 1, .require_key = true});
    static const struct {
        const char *path;
        const char *key;
        const char *body;
        unsigned status;
        const char *code;
    } cases[] = {
        {"/v1/chat/completions", NULL, BODY, 401, "invalid_api_key"},
        {"/v1/chat/completions", "Bearer ", BODY, 401, "invalid_api_key"},
        {"/v1/chat/completions", "Bearer k", "{", 400, "invalid_value"},
        {"/v1/chat/completions", "Bearer k", "[]", 400, "invalid_value"},
        {"/v1/chat/completions", "Bearer k", "{\"model\":\"offline-a\"}", 400, "invalid_value"},
        {"/v1/chat/completions", "Bearer k",
         "{\"model\":\"offline-a\",\"messages\":[{\"role\":\"user\"}]}", 400, "invalid_value"},
        {"/v1/chat/completions", "Bearer k",
         "{\"model\":\"offline-a\",\"stream\":true,\"messages\":[]}", 400, "invalid_value"},
        {"/v1/chat/completions", "Bearer k",
         "{\"model\":\"gpt\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", 404,
         "model_not_found"},
        {"/v1/embeddings", "Bearer k", "{\"model\":\"gpt\",\"input\":\"x\"}", 404,
         "model_not_found"},
        {"/v1/embeddings", "Bearer k", "{\"model\":\"offline-embed\",\"input\":[]}", 400,
         "invalid_value"},
        {"/v1/nothing", "Bearer k", "", 404, "unknown_url"},
        {"/v1/models", "Bearer k", "", 405, "unknown_url"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_offline_reply reply = post(service, cases[i].path, cases[i].key, cases[i].body);
        assert_int_equal(reply.status, cases[i].status);
        assert_false(reply.paid);
        json_t *root = parse(&reply);
        assert_string_equal(text_at(root, "error", "code"), cases[i].code);
        json_decref(root);
    }
    vq_service_destroy(&service);
}

TEST(spoiled_texts_look_as_said)
{
    static const struct {
        const char *fault;
        const char *finish_reason;
        const char *outcome;
    } cases[] = {
        {"refusal=1", "content_filter", "refused"},
        {"truncated=1", "length", "truncated"},
        {"wrong_format=1", "stop", "unparseable"},
        {"unparseable=1", "stop", "unparseable"},
        {"empty=1", "stop", "empty"},
        {"null_content=1", "stop", "empty"},
        {"two_verdicts=1", "stop", "unparseable"},
        {"open_thought=1", "stop", "unparseable"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_service *service = create_with_fault(cases[i].fault);
        struct vq_offline_reply reply = chat(service, BODY);
        assert_int_equal(reply.status, 200);
        assert_true(reply.paid);
        assert_null(reply.verdict);
        assert_string_equal(reply.outcome, cases[i].outcome);
        json_t *root = parse(&reply);
        assert_string_equal(text_at(root, "choice", "finish_reason"), cases[i].finish_reason);
        assert_int_equal(text_at(root, "message", "refusal") != NULL,
                         strcmp(cases[i].outcome, "refused") == 0);
        json_decref(root);
        vq_service_destroy(&service);
    }
    struct vq_service *service = create_with_fault("bad_json=1");
    struct vq_offline_reply reply = chat(service, BODY);
    assert_null(json_loadb(reply.body.at, reply.body.bytes, 0, NULL));
    vq_offline_reply_free(&reply);
    vq_service_destroy(&service);
    service = create_with_fault("error_200=1");
    reply = chat(service, BODY);
    assert_int_equal(reply.status, 200);
    assert_false(reply.paid);
    json_t *root = parse(&reply);
    assert_non_null(text_at(root, "error", "message"));
    json_decref(root);
    vq_service_destroy(&service);
}

#define LINES(kind, sections)                                                                      \
    "{\"model\":\"offline-b\",\"messages\":[{\"role\":\"system\",\"content\":\"Do.\"},"            \
    "{\"role\":\"user\",\"content\":\"" sections "<wanted>" kind "</wanted>\\nNow?\"}]}"
#define SHOUTING                                                                                   \
    "<row>\\n<prompt>\\nx\\n</prompt>\\n<output_1>\\nSo! It! "                                     \
    "Is!\\n</output_1>\\n<output_2>\\nSo. "                                                        \
    "It. Is.\\n</output_2>\\n</row>\\n"
#define DISCOVERY LINES("axes", "<rows>\\n" SHOUTING SHOUTING SHOUTING "</rows>\\n")

static json_t *answer_of(const char *fault, const char *body, const char *outcome)
{
    struct vq_service *service = create_with_fault(fault);
    struct vq_offline_reply reply = chat(service, body);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.outcome, outcome);
    assert_null(reply.verdict);
    vq_service_destroy(&service);
    return parse(&reply);
}

TEST(faults_of_lists_are_faults_of_lists)
{
    static const struct {
        const char *fault;
        const char *outcome;
        bool has_axes;
    } cases[] = {
        {"always_a=1", "ok", true},
        {"two_verdicts=1", "ok", true},
        {"wrong_format=1", "ok", true},
        {"wrong_format=1,variant=json", "ok", true},
        {"unparseable=1", "unparseable", false},
        {"empty=1", "empty", false},
        {"open_thought=1", "unparseable", false},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        json_t *root = answer_of(cases[i].fault, DISCOVERY, cases[i].outcome);
        const char *content = text_at(root, "message", "content");
        assert_int_equal(strstr(content, "High:") != NULL, cases[i].has_axes);
        assert_null(strstr(content, "Model: A or B"));
        if (strstr(cases[i].fault, "json") != NULL) {
            assert_int_equal(content[0], '[');
        }
        json_decref(root);
    }
}

/* The kinds of the log's "request" lines, in order. */
#define TWO_OUTPUTS                                                                                \
    "<prompt>\\nWhy?\\n</prompt>\\n<output_a>\\nHello dear "                                       \
    "friend!\\n</output_a>\\n<output_b>\\nNo.\\n</output_b>\\n"
#define JOINT                                                                                      \
    "{\"model\":\"offline-a\",\"messages\":[{\"role\":\"user\",\"content\":\"" TWO_OUTPUTS         \
    "<axes>\\n1. Name: Warmth\\n   Low: cold\\n   High: warm\\n2. Name: Chill\\n   Low: warm\\n"   \
    "   High: cold\\n3. Name: Xyzzy\\n   Low: qua\\n   High: quux\\n</axes>\\n"                    \
    "<wanted>verdicts by number</wanted>\"}]}"

/* Several axes in one prompt, each judged as it would be alone, and what faults do to that. */
TEST(joint_questions_are_answered_by_number)
{
    static const struct {
        const char *fault;
        const char *holds;
        const char *lacks;
    } cases[] = {
        {"slow_down=0", "Property 1: A\n", "Model:"},
        {"slow_down=0", "Property 2: B\n", "Property 4"},
        {"slow_down=0", "Property 3: N/A", "{"},
        {"wrong_format=1,variant=missing", "Property 3: N/A", "Property 2"},
        {"wrong_format=1,variant=numbers", "2) Model: B", "Property"},
        {"wrong_format=1,variant=markdown", "- **Property 1:** A", "Model"},
        {"wrong_format=1,variant=json", "{\"1\": \"A\", \"2\": \"B\", \"3\": \"N/A\"}", "Property"},
        {"wrong_format=1", "merits", "Property"},
        {"always_a=1", "Property 2: A", "Property 2: B"},
        {"truncated=1", "Property 1", "Property 3"},
        {"unparseable=1", "merits", "Property"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_service *service = create_with_fault(cases[i].fault);
        struct vq_offline_reply reply = chat(service, JOINT);
        assert_int_equal(reply.status, 200);
        json_t *root = parse(&reply);
        const char *content = text_at(root, "message", "content");
        if (strstr(content, cases[i].holds) == NULL || strstr(content, cases[i].lacks) != NULL) {
            fail_msg("%s: %s", cases[i].fault, content);
        }
        json_decref(root);
        vq_service_destroy(&service);
    }
}

TEST(the_log_names_the_kinds)
{
    static const struct {
        const char *path;
        const char *body;
        const char *kind;
    } cases[] = {
        {"/v1/chat/completions", BODY, "\"kind\":\"judge\""},
        {"/v1/chat/completions", DISCOVERY, "\"kind\":\"discover\""},
        {"/v1/chat/completions", LINES("names to keep", "<new_axes>\\n</new_axes>\\n"),
         "\"kind\":\"dedup\""},
        {"/v1/chat/completions",
         LINES("preference", "<output_a>\\na\\n</output_a>\\n<output_b>\\nb\\n"
                             "</output_b>\\n"),
         "\"kind\":\"prefer\""},
        {"/v1/chat/completions",
         "{\"model\":\"offline-a\",\"messages\":[{\"role\":\"user\",\"content\":\"<answer>x\"}]}",
         "\"kind\":\"repair\""},
        {"/v1/chat/completions", LINES("nothing known", ""), "\"kind\":\"other\""},
        {"/v1/chat/completions", "{", "\"kind\":null"},
        {"/v1/embeddings", "{\"model\":\"offline-a\",\"input\":\"x\"}", "\"kind\":\"embed\""},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        assert_int_equal(truncate(log_path, 0), 0);
        struct vq_service *service = create(&(struct vq_service_config){.seed = 1});
        struct vq_offline_reply reply = post(service, cases[i].path, NULL, cases[i].body);
        vq_offline_reply_free(&reply);
        vq_service_destroy(&service);
        char line[4096] = {0};
        FILE *file = fopen(log_path, "r");
        assert_non_null(file);
        assert_non_null(fgets(line, sizeof(line), file));
        (void)fclose(file);
        assert_non_null(strstr(line, cases[i].kind));
    }
}

TEST(an_oracle_leaves_discovery_to_the_words)
{
    char path[] = "/tmp/vq-truth-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    const char truth[] = "{\"axis\": \"Enthusiasm\", \"sample\": \"S1\", \"score\": 1}\n";
    assert_int_equal(write(fd, truth, sizeof(truth) - 1), sizeof(truth) - 1);
    (void)close(fd);
    struct vq_service *service = create(&(struct vq_service_config){.oracle_path = path});
    struct vq_offline_reply reply = chat(service, DISCOVERY);
    assert_int_equal(reply.status, 200);
    json_t *root = parse(&reply);
    assert_non_null(strstr(text_at(root, "message", "content"), "High:"));
    assert_string_equal(text_at(root, "root", "system_fingerprint"), "offline-oracle");
    json_decref(root);
    vq_service_destroy(&service);
    (void)unlink(path);
}

TEST(a_token_limit_truncates)
{
    struct vq_service *service = create(&(struct vq_service_config){.seed = 1});
    struct vq_offline_reply reply =
        chat(service, "{\"model\":\"offline-a\",\"max_tokens\":3,\"messages\":["
                      "{\"role\":\"user\",\"content\":\"" QUESTION "\"}]}");
    assert_int_equal(reply.completion_tokens, 3);
    assert_string_equal(reply.outcome, "truncated");
    json_t *root = parse(&reply);
    assert_string_equal(text_at(root, "message", "content"), "Analysis: By");
    assert_string_equal(text_at(root, "choice", "finish_reason"), "length");
    json_decref(root);
    vq_service_destroy(&service);
}

static const char *header(const struct vq_offline_reply *reply, const char *name)
{
    for (size_t i = 0; i < reply->headers_n; i++) {
        if (strcmp(reply->headers[i].name, name) == 0) {
            return reply->headers[i].value;
        }
    }
    return NULL;
}

TEST(retry_after_has_every_form)
{
    static const struct {
        const char *fault;
        const char *name;
        const char *value; /* NULL: absent */
    } cases[] = {
        {"rate_limit=1", "Retry-After", "1"},
        {"rate_limit=1,retry_after=absent", "Retry-After", NULL},
        {"rate_limit=1,retry_after=1000000000", "Retry-After", "1000000000"},
        {"rate_limit=1,retry_after=-5", "Retry-After", "-5"},
        {"rate_limit=1,retry_after=ms:250", "retry-after-ms", "250"},
        {"rate_limit=1,retry_after=right,until_ms=4500", "Retry-After",
         "4"}, /* the call comes at 1,000 ms */
        {"quota=1", "Retry-After", NULL},
        {"server_error=1,retry_after=soon", "Retry-After", "soon"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_service *service = create_with_fault(cases[i].fault);
        struct vq_offline_reply reply = chat(service, BODY);
        const char *value = header(&reply, cases[i].name);
        if (cases[i].value == NULL) {
            assert_null(value);
        } else {
            assert_non_null(value);
            assert_string_equal(value, cases[i].value);
        }
        vq_offline_reply_free(&reply);
        vq_service_destroy(&service);
    }
    struct vq_service *service = create_with_fault("rate_limit=1,retry_after=date:60");
    struct vq_offline_reply reply = chat(service, BODY);
    const char *date = header(&reply, "Retry-After");
    assert_non_null(date);
    assert_int_equal(strlen(date), strlen("Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_string_equal(date + strlen(date) - 4, " GMT");
    vq_offline_reply_free(&reply);
    vq_service_destroy(&service);
}

TEST(the_rate_limit_tells_what_is_left)
{
    struct vq_service_config config = {0};
    struct vq_error err = {0};
    assert_int_equal(vq_pools_add(&config.pools, "rpm=12,window_ms=10000", &err), VQ_OK);
    struct vq_service *service = create(&config);
    for (int i = 1; i >= 0; i--) {
        struct vq_offline_reply reply = chat(service, BODY);
        assert_int_equal(reply.status, 200);
        assert_string_equal(header(&reply, "x-ratelimit-remaining-requests"), i == 1 ? "1" : "0");
        assert_string_equal(header(&reply, "x-ratelimit-reset-requests"), "10.000s");
        vq_offline_reply_free(&reply);
    }
    struct vq_offline_reply reply = chat(service, BODY);
    assert_int_equal(reply.status, 429);
    assert_string_equal(header(&reply, "Retry-After"), "10");
    assert_string_equal(header(&reply, "retry-after-ms"), "10000");
    vq_offline_reply_free(&reply);
    reply = post(service, "/v1/chat/completions", "Bearer another", BODY);
    assert_int_equal(reply.status, 200); /* a pool of its own */
    vq_offline_reply_free(&reply);
    vq_service_destroy(&service);
}

TEST(models_are_listed_and_added)
{
    struct vq_service *service =
        create(&(struct vq_service_config){.models = {"house-model"}, .models_n = 1});
    struct vq_call call = {.method = "GET", .path = "/v1/models"};
    struct vq_offline_reply reply;
    assert_int_equal(vq_service_take(service, &call, 0, &reply, NULL), VQ_OK);
    json_t *root = parse(&reply);
    assert_int_equal(json_array_size(json_object_get(root, "data")), 5);
    json_decref(root);
    reply =
        chat(service,
             "{\"model\":\"house-model\",\"messages\":[{\"role\":\"user\",\"content\":\"" QUESTION
             "\"}]}");
    assert_int_equal(reply.status, 200);
    vq_offline_reply_free(&reply);
    vq_service_destroy(&service);
}

/* A request's and an answer's line each, joined by n, and no key anywhere. */
TEST(the_log_has_two_lines_a_call_and_no_key)
{
    assert_int_equal(truncate(log_path, 0), 0);
    struct vq_service *service = create(&(struct vq_service_config){.seed = 1});
    for (int i = 0; i < 3; i++) {
        struct vq_offline_reply reply = chat(service, BODY);
        vq_offline_reply_free(&reply);
    }
    vq_service_destroy(&service);
    FILE *file = fopen(log_path, "r");
    assert_non_null(file);
    char line[4096];
    for (int i = 0; i < 6; i++) {
        assert_non_null(fgets(line, sizeof(line), file));
        assert_null(strstr(line, "canary"));
        json_t *row = json_loads(line, 0, NULL);
        assert_non_null(row);
        assert_string_equal(json_string_value(json_object_get(row, "event")),
                            i % 2 == 0 ? "request" : "answer");
        assert_int_equal(json_integer_value(json_object_get(row, "n")), i / 2 + 1);
        if (i % 2 == 0) {
            assert_string_equal(json_string_value(json_object_get(row, "call")), "call-1");
            assert_int_equal(json_string_length(json_object_get(row, "key")),
                             2 * VQ_FINGERPRINT_BYTES);
            assert_int_equal(json_integer_value(json_object_get(row, "try")), i / 2 + 1);
        } else {
            assert_true(json_is_true(json_object_get(row, "paid")));
            assert_string_equal(json_string_value(json_object_get(row, "verdict")), "A");
        }
        json_decref(row);
    }
    assert_null(fgets(line, sizeof(line), file));
    (void)fclose(file);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(log_path, sizeof(log_path), "/tmp/vq-offline-log-XXXXXX");
    int fd = mkstemp(log_path);
    return fd >= 0 ? close(fd) : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(log_path);
}

TEST_GROUP(set_up, tear_down)
