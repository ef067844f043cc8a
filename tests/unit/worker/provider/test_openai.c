/* The OpenAI dialect: the request to the byte, answers in all the shapes that servers give them,
 * what is no answer, hostile bodies, no memory, and keys that come back. */

#include "tests/unit/test.h"

#include <stdio.h>

#include "common/base/alloc.h"
#include "tests/unit/worker/crowd.h"
#include "worker/provider/provider.h"

#include <string.h>

static const struct vq_provider *openai(void)
{
    const struct vq_provider *provider = vq_provider_find("openai");
    assert_non_null(provider);
    return provider;
}

static void read_body(int status, struct vq_span body, struct vq_reply *reply)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {.status = status, .headers = &headers, .body = body};
    vq_reply_init(reply);
    assert_int_equal(openai()->read(&response, reply), VQ_OK);
}

TEST(test_find)
{
    assert_null(vq_provider_find("open"));
    assert_null(vq_provider_find(""));
    assert_string_equal(openai()->dialect, "openai");
    assert_string_equal(openai()->auth_header, "Authorization");
    assert_string_equal(openai()->auth_prefix, "Bearer ");
    assert_string_equal(openai()->call_id_header, "X-Client-Request-Id");
}

TEST(test_url)
{
    static const struct {
        const char *base;
        const char *url;
    } cases[] = {
        {"https://api.example.com/v1", "https://api.example.com/v1/chat/completions"},
        {"https://api.example.com/v1/", "https://api.example.com/v1/chat/completions"},
        {"http://127.0.0.1:8000", "http://127.0.0.1:8000/chat/completions"},
        {"https://x/openai/d/?api-version=1", "https://x/openai/d/chat/completions?api-version=1"},
        {"https://x/v1?a=b#frag", "https://x/v1/chat/completions?a=b"},
        {"https://x/v1#frag", "https://x/v1/chat/completions"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_buf url;
        vq_buf_init(&url, 2048);
        vq_buf_puts(&url, "old");
        assert_int_equal(openai()->url(NULL, cases[i].base, &url), VQ_OK);
        assert_string_equal(url.at, cases[i].url);
        vq_buf_free(&url);
    }
}

TEST(test_an_image_comes_before_the_text)
{
    struct vq_buf body;
    vq_buf_init(&body, 1000);
    struct vq_judge judge = {
        .model = "m", .max_tokens = 60, .max_tokens_field = "max_tokens", .seed = -1};
    struct vq_prompt prompt = {.user = vq_span_str("u"),
                               .image = vq_span_str("data:image/png;base64,AAAA")};
    assert_int_equal(openai()->body(&judge, &prompt, &body), VQ_OK);
    assert_non_null(strstr(body.at, "{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
                                    "\"image_url\":{\"url\":\"data:image/png;base64,AAAA\"}},{"
                                    "\"type\":\"text\",\"text\":\"u\"}]}"));
    vq_buf_free(&body);
}

TEST(test_request_body)
{
    struct vq_judge judge = {.model = "gpt \"x\"",
                             .temperature = 0.7,
                             .send_temperature = true,
                             .max_tokens = 600,
                             .max_tokens_field = "max_completion_tokens",
                             .seed = 7};
    struct vq_buf body;
    vq_buf_init(&body, VQ_REQUEST_BODY_BYTES_MAX);
    vq_buf_puts(&body, "old");
    assert_int_equal(openai()->body(&judge,
                                    &(struct vq_prompt){.system = vq_span_str("sys"),
                                                        .user = vq_span("a\"\n\0\xC3\xA9\xFF", 7),
                                                        .shared_bytes = 2},
                                    &body),
                     VQ_OK);
    assert_string_equal(body.at, "{\"model\":\"gpt \\\"x\\\"\",\"messages\":[{\"role\":\"system\","
                                 "\"content\":\"sys\"},{\"role\":\"user\",\"content\":"
                                 "\"a\\\"\\n\\u0000\xC3\xA9\xEF\xBF\xBD\"}],"
                                 "\"max_completion_tokens\":600,\"temperature\":0.7,\"seed\":7}");
    judge = (struct vq_judge){
        .model = "m", .max_tokens = 1, .max_tokens_field = "max_tokens", .seed = -1};
    assert_int_equal(openai()->body(&judge, &(struct vq_prompt){.user = vq_span_str("u")}, &body),
                     VQ_OK);
    assert_string_equal(body.at, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":"
                                 "\"u\"}],\"max_tokens\":1}");
    judge.send_temperature = true;
    assert_int_equal(openai()->body(&judge, &(struct vq_prompt){.user = vq_span_str("u")}, &body),
                     VQ_OK);
    assert_non_null(strstr(body.at, "\"temperature\":0}"));
    vq_buf_free(&body);
    vq_buf_init(&body, 30);
    assert_int_equal(openai()->body(&judge, &(struct vq_prompt){.user = vq_span_str("u")}, &body),
                     VQ_LIMIT);
    vq_buf_free(&body);
}

TEST(test_a_whole_answer)
{
    static const char body[] =
        "{\"id\":\"c-1\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"gpt-x-2026\","
        "\"system_fingerprint\":\"fp_1\",\"choices\":[{\"index\":0,\"message\":{\"role\":"
        "\"assistant\",\"content\":\"Analysis: x\\nModel: A\",\"refusal\":null},\"logprobs\":null,"
        "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":812,\"completion_tokens\":51,"
        "\"total_tokens\":863,\"prompt_tokens_details\":{\"cached_tokens\":768},"
        "\"completion_tokens_details\":{\"reasoning_tokens\":12}},\"error\":null}";
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    vq_reply_headers_add(&headers, vq_span_str("x-request-id"), vq_span_str("req_9"));
    vq_reply_headers_add(&headers, vq_span_str("x-ratelimit-limit-tokens"), vq_span_str("9000"));
    struct vq_response response = {
        .status = 200, .headers = &headers, .body = vq_span_str(body), .now_unix_s = 1};
    struct vq_reply reply;
    vq_reply_init(&reply);
    assert_int_equal(openai()->read(&response, &reply), VQ_OK);
    assert_int_equal(reply.class, VQ_REPLY_ANSWER);
    assert_int_equal(vq_reply_end(&reply), VQ_END_ANSWER);
    assert_int_equal(reply.transport, VQ_TRANSPORT_OK);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.content.at, "Analysis: x\nModel: A");
    assert_false(reply.refusal);
    assert_false(reply.maybe_billed);
    assert_string_equal(reply.finish_reason, "stop");
    assert_string_equal(reply.model, "gpt-x-2026");
    assert_string_equal(reply.system_fingerprint, "fp_1");
    assert_int_equal(reply.tokens_in, 812);
    assert_int_equal(reply.tokens_cached, 768);
    assert_int_equal(reply.tokens_out, 51);
    assert_int_equal(reply.tokens_reasoning, 12);
    assert_int_equal(reply.retry_after_ms, -1);
    assert_int_equal(reply.tokens.limit, 9000);
    assert_string_equal(reply.request_id, "req_9");
    assert_string_equal(reply.error_message, "");
    vq_reply_free(&reply);
}

/* What the answer's text is, whether it is a refusal, and the verdict that follows. */
TEST(test_answers_in_all_their_shapes)
{
    static const struct {
        const char *body;
        const char *content;
        bool refusal;
        enum vq_outcome verdict;
    } cases[] = {
        {"{\"choices\":[{\"message\":{\"content\":\"Model: A\"}}]}", "Model: A", false,
         VQ_OUTCOME_FIRST},
        {"{\"choices\":[{\"message\":{\"content\":null},\"finish_reason\":\"length\"}]}", "", false,
         VQ_OUTCOME_TRUNCATED},
        {"{\"choices\":[{\"message\":{},\"finish_reason\":\"stop\"}]}", "", false,
         VQ_OUTCOME_EMPTY},
        {"{\"choices\":[{\"message\":{\"content\":\"\",\"tool_calls\":[]},"
         "\"finish_reason\":\"tool_calls\"}]}",
         "", false, VQ_OUTCOME_TRUNCATED},
        {"{\"choices\":[{\"message\":{\"content\":\"Model: A\"},"
         "\"finish_reason\":\"content_filter\"}]}",
         "Model: A", true, VQ_OUTCOME_REFUSED},
        {"{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"I will not\"},"
         "\"finish_reason\":\"stop\"}]}",
         "I will not", true, VQ_OUTCOME_REFUSED},
        {"{\"choices\":[{\"message\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[]},"
         "{\"type\":\"text\",\"text\":\"Model\"},3,{\"type\":\"text\",\"text\":\": B\"}]}}]}",
         "Model: B", false, VQ_OUTCOME_SECOND},
        {"{\"choices\":[{\"message\":{\"content\":[{\"type\":\"refusal\",\"refusal\":\"No\"}]}}]}",
         "No", true, VQ_OUTCOME_REFUSED},
        {"{\"choices\":[{\"message\":{\"content\":[]}}],\"error\":\"\"}", "", false,
         VQ_OUTCOME_EMPTY},
        {"\n {\"choices\":[{\"message\":{\"content\":\"Model: A\"}}],\"created\":"
         "123456789012345678901234567890}\r\n",
         "Model: A", false, VQ_OUTCOME_FIRST},
        /* mended */
        {"{\"choices\":[{\"message\":{\"content\":\"\\ud83d Model: "
         "A\"},\"p\":NaN,\"q\":-Infinity}]}",
         "\xEF\xBF\xBD Model: A", false, VQ_OUTCOME_FIRST},
        {"{\"choices\":[{\"message\":{\"content\":\"\\uDE00\\ud83d\\ude00\\u0041\"}}]}",
         "\xEF\xBF\xBD\xF0\x9F\x98\x80"
         "A",
         false, VQ_OUTCOME_UNPARSEABLE},
        {"{\"choices\":[{\"message\":{\"content\":\"\\ud83d\\ud83d\\ude00\"}}]}",
         "\xEF\xBF\xBD\xF0\x9F\x98\x80", false, VQ_OUTCOME_UNPARSEABLE},
        {"{\"choices\":[{\"message\":{\"content\":\"\xFF\n\tModel: A\\q\\\\\"}}]}",
         "\xEF\xBF\xBD\n\tModel: A\\q\\", false, VQ_OUTCOME_FIRST},
        {"{\"choices\":[{\"message\":{\"content\":\"NaN \\ud83d\"},\"n\":NaN}]}",
         "NaN \xEF\xBF\xBD", false, VQ_OUTCOME_UNPARSEABLE},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_reply reply;
        read_body(200, vq_span_str(cases[i].body), &reply);
        if (reply.class != VQ_REPLY_ANSWER) {
            fail_msg("%s: %s", cases[i].body, reply.error_message);
        }
        assert_string_equal(reply.content.at == NULL ? "" : reply.content.at, cases[i].content);
        assert_int_equal(reply.refusal, cases[i].refusal);
        enum vq_outcome verdict = vq_verdict_ranker(
            vq_buf_span(&reply.content), vq_span_str(reply.finish_reason), reply.refusal);
        assert_int_equal(verdict, cases[i].verdict);
        vq_reply_free(&reply);
    }
}

TEST(test_a_nul_in_an_answer_is_kept)
{
    struct vq_reply reply;
    read_body(200, vq_span_str("{\"choices\":[{\"message\":{\"content\":\"a\\u0000b\"}}]}"),
              &reply);
    assert_int_equal(reply.class, VQ_REPLY_ANSWER);
    assert_int_equal(reply.content.bytes, 3);
    assert_memory_equal(reply.content.at, "a\0b", 3);
    vq_reply_free(&reply);
}

TEST(test_what_is_no_answer)
{
    static const char *const bodies[] = {
        "",
        "   ",
        "hello",
        "<html>",
        "null",
        "3",
        "[]",
        "[3]",
        "{}",
        "{\"choices\":null}",
        "{\"choices\":[]}",
        "{\"choices\":{}}",
        "{\"choices\":[null]}",
        "{\"choices\":[{}]}",
        "{\"choices\":[{\"message\":null}]}",
        "{\"choices\":[{\"message\":\"Model: A\"}]}",
        "{\"choices\":[{\"text\":\"Model: A\"}]}",
        "{\"choices\":[{\"message\":{\"content\":3}}]}",
        "{\"choices\":[{\"message\":{\"content\":{\"text\":\"Model: A\"}}}]}",
        "{\"choices\":[{\"message\":{\"content\":\"Model: A\"}}]",
        "{\"choices\":[{\"message\":{\"content\":\"Model: A",
        "{\"choices\":[{\"message\":{\"content\":\"Model: A\"}}]} trailing",
        "{\"choices\":[{\"message\":{\"content\":\"Model: A\\u12\"}}",
        "{\"choices\":[{\"message\":{\"content\":\"Model: A\\",
        "{\"choices\":[{\"message\":{\"content\":\"Model: A\",\"content\":\"Model: B\"}}]}",
    };
    for (size_t i = 0; i < VQ_COUNT(bodies); i++) {
        struct vq_reply reply;
        read_body(200, vq_span_str(bodies[i]), &reply);
        if (reply.class != VQ_REPLY_BAD_RESPONSE) {
            fail_msg("%s: %s", bodies[i], vq_reply_class_name(reply.class));
        }
        assert_true(reply.maybe_billed);
        assert_true(reply.error_message[0] != '\0');
        assert_int_equal(reply.content.bytes, 0);
        vq_reply_free(&reply);
    }
}

TEST(test_deep_and_wide_bodies_are_refused)
{
    static char body[VQ_RESPONSE_BODY_BYTES_MAX];
    static const char *const units[] = {"[", "{\"a\":", "[],", "\"\\\"[", "NaN,"};
    for (size_t u = 0; u < VQ_COUNT(units); u++) {
        size_t unit_bytes = strlen(units[u]);
        for (size_t i = 0; i < sizeof(body); i++) {
            body[i] = units[u][i % unit_bytes];
        }
        struct vq_reply reply;
        read_body(200, vq_span(body, sizeof(body)), &reply);
        assert_int_equal(reply.class, VQ_REPLY_BAD_RESPONSE);
        vq_reply_free(&reply);
    }
}

TEST(test_an_answer_over_the_limit)
{
    static const char head[] = "{\"choices\":[{\"message\":{\"content\":\"";
    static const char tail[] = "\"}}]}";
    for (size_t over = 0; over < 2; over++) {
        struct vq_buf body;
        vq_buf_init(&body, VQ_RESPONSE_BODY_BYTES_MAX);
        vq_buf_puts(&body, head);
        for (size_t i = 0; i < VQ_ANSWER_BYTES_MAX + over; i++) {
            vq_buf_putc(&body, 'x');
        }
        vq_buf_puts(&body, tail);
        struct vq_reply reply;
        read_body(200, vq_buf_span(&body), &reply);
        assert_int_equal(reply.class, over == 0 ? VQ_REPLY_ANSWER : VQ_REPLY_BAD_RESPONSE);
        assert_int_equal(reply.content.bytes, over == 0 ? VQ_ANSWER_BYTES_MAX : 0);
        vq_reply_free(&reply);
        vq_buf_free(&body);
    }
}

TEST(test_odd_usage_counts_as_not_reported)
{
    static const char *const usages[] = {
        "null",
        "[]",
        "{}",
        "{\"prompt_tokens\":-1}",
        "{\"prompt_tokens\":\"five\"}",
        "{\"prompt_tokens\":1e300}",
    };
    for (size_t i = 0; i < VQ_COUNT(usages); i++) {
        struct vq_buf body;
        vq_buf_init(&body, 1000);
        vq_buf_printf(&body, "{\"choices\":[{\"message\":{\"content\":\"x\"}}],\"usage\":%s}",
                      usages[i]);
        struct vq_reply reply;
        read_body(200, vq_buf_span(&body), &reply);
        assert_int_equal(reply.class, VQ_REPLY_ANSWER);
        assert_int_equal(reply.tokens_in, -1);
        assert_int_equal(reply.tokens_cached, -1);
        vq_reply_free(&reply);
        vq_buf_free(&body);
    }
}

TEST(test_a_reply_can_be_used_again)
{
    struct vq_reply reply;
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {.status = 200, .headers = &headers};
    vq_reply_init(&reply);
    response.body = vq_span_str("{\"model\":\"m\",\"choices\":[{\"message\":{\"content\":\"x\"},"
                                "\"finish_reason\":\"content_filter\"}]}");
    assert_int_equal(openai()->read(&response, &reply), VQ_OK);
    response.status = 500;
    response.body = vq_span(NULL, 0);
    assert_int_equal(openai()->read(&response, &reply), VQ_OK);
    assert_int_equal(reply.class, VQ_REPLY_PROVIDER);
    assert_false(reply.refusal);
    assert_string_equal(reply.model, "");
    assert_string_equal(reply.finish_reason, "");
    assert_int_equal(reply.content.bytes, 0);
    vq_reply_free(&reply);
}

TEST(test_keys_that_come_back_are_hidden)
{
    struct vq_span key = vq_span_str("sk-secret-0123456789");
    struct vq_reply reply;
    read_body(401,
              vq_span_str("{\"error\":{\"message\":\"bad key sk-secret-0123456789 "
                          "(sk-secret-0123456789)\",\"code\":\"sk-secret-0123456789\"}}"),
              &reply);
    vq_buf_puts(&reply.content, "the key is sk-secret-0123456789, sk-secret-01");
    vq_reply_hide(&reply, key);
    assert_string_equal(reply.error_message, "bad key ******************** (********************)");
    assert_string_equal(reply.error_code, "********************");
    assert_string_equal(reply.content.at, "the key is ********************, sk-secret-01");
    (void)strcpy(reply.error_message, "cut off: sk-secret-01");
    vq_reply_hide(&reply, key);
    assert_string_equal(reply.error_message, "cut off: ************");
    /* short keys: whole words in lines, and in answers where they are no label */
    (void)strcpy(reply.error_message, "bad key 'pw1' for a pw10, pw1");
    vq_reply_hide(&reply, vq_span_str("pw1"));
    assert_string_equal(reply.error_message, "bad key '***' for a pw10, ***");
    vq_buf_clear(&reply.content);
    vq_buf_puts(&reply.content, "Model: A, team7");
    vq_reply_hide(&reply, vq_span_str("A"));
    vq_reply_hide(&reply, vq_span_str("team7"));
    assert_string_equal(reply.content.at, "Model: A, *****");
    vq_reply_free(&reply);
}

TEST(test_keys_that_come_back_in_another_form_are_hidden)
{
    static const char *const forms[] = {
        "c2stLys6c2VjcmV0LTAxMj8/",             /* base64 */
        "c2stLys6c2VjcmV0LTAxMj8_",             /* base64url */
        "736b2d2f2b3a7365637265742d3031323f3f", /* hex */
        "736B2D2F2B3A7365637265742D3031323F3F",
        "sk-%2F%2B%3Asecret-012%3F%3F", /* in a URL */
        "sk%2D%2F%2B%3Asecret%2D012%3F%3F",
        "\\u0073\\u006b\\u002d\\u002f\\u002b\\u003a\\u0073\\u0065\\u0063\\u0072\\u0065\\u0074\\u002"
        "d\\u0030\\u0031"
        "\\u0032\\u003f\\u003f",
    };
    struct vq_span key = vq_span_str("sk-/+:secret-012??");
    for (size_t i = 0; i < VQ_COUNT(forms); i++) {
        struct vq_reply reply;
        read_body(401, vq_span_str("{\"error\":{\"message\":\"no\"}}"), &reply);
        (void)snprintf(reply.error_message, sizeof(reply.error_message), "bad key '%s'.", forms[i]);
        vq_buf_printf(&reply.content, "the key is %s", forms[i]);
        vq_reply_hide(&reply, key);
        assert_null(strstr(reply.error_message, forms[i]));
        assert_null(strstr(reply.content.at, forms[i]));
        assert_non_null(strstr(reply.error_message, "bad key '****"));
        vq_reply_free(&reply);
    }
}

TEST(test_no_memory_at_any_allocation)
{
    static const char body[] = "{\"x\":NaN,\"model\":\"m\",\"choices\":[{\"message\":{\"content\":"
                               "[{\"type\":\"text\",\"text\":\"Model: A\"}]}}]}";
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_buf crowded;
    crowd(vq_span_str(body), &crowded);
    struct vq_response response = {
        .status = 200, .headers = &headers, .body = vq_buf_span(&crowded)};
    bool ok = false;
    unsigned refused = 0;
    for (uint64_t n = 1; !ok && n < 500; n++) {
        struct vq_reply reply;
        vq_reply_init(&reply);
        uint64_t before = vq_alloc_count();
        vq_alloc_fail_at(n);
        enum vq_status status = openai()->read(&response, &reply);
        vq_alloc_fail_at(0);
        assert_true(status == VQ_OK || status == VQ_NOMEM);
        assert_true(reply.class == VQ_REPLY_ANSWER || reply.class == VQ_REPLY_BAD_RESPONSE);
        ok = vq_alloc_count() - before < n; /* none failed */
        assert_true(!ok || (status == VQ_OK && reply.class == VQ_REPLY_ANSWER));
        refused += status == VQ_NOMEM;
        vq_reply_free(&reply);
    }
    vq_buf_free(&crowded);
    assert_true(ok);
    assert_true(refused > 20);
}
