/* Answers that say nothing, in three dialects: what a person is told, the judge's own field, and
 * endings that are no text. */

#include "tests/unit/test.h"

#include "worker/provider/answer.h"

#include <stdio.h>
#include <string.h>

static void read_body(const char *dialect, const char *body, const char *field,
                      struct vq_reply *reply)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {.status = 200,
                                   .headers = &headers,
                                   .body = vq_span_str(body),
                                   .now_unix_s = 1000,
                                   .answer_field = field};
    vq_reply_init(reply);
    assert_int_equal(vq_provider_find(dialect)->read(&response, reply), VQ_OK);
    assert_int_equal(reply->class, VQ_REPLY_ANSWER);
}

#define MESSAGE(message) "{\"choices\":[{\"finish_reason\":\"stop\",\"message\":" message "}]}"

TEST(test_an_empty_answer_says_where_the_text_is)
{
    static const struct {
        const char *dialect, *body, *says;
    } rows[] = {
        {"openai", MESSAGE("{\"content\":null,\"reasoning_content\":\"h\xC3\xA9ll\"}"),
         "the answer is empty; the server put 4 characters into `reasoning_content`: "
         "`answer_field: reasoning_content` reads them"},
        {"azure", MESSAGE("{\"content\":\" \\n\",\"reasoning\":\"abc\",\"role\":\"assistant\"}"),
         "the answer is empty; the server put 3 characters into `reasoning`: `answer_field: "
         "reasoning` reads them"},
        {"openai", MESSAGE("{\"content\":\"\",\"reasoning_details\":[{\"text\":\"abcde\"}]}"),
         "the answer is empty; the server put 5 characters into `reasoning_details`"},
        {"openai", MESSAGE("{\"content\":[{\"type\":\"thinking\",\"thinking\":\"ab\"}]}"),
         "the answer is empty; the server put 2 characters into `thinking`"},
        {"openai", MESSAGE("{\"content\":null,\"tool_calls\":[]}"), "the answer is empty"},
        {"openai", MESSAGE("{\"content\":\"<think>Model: A\"}"),
         "the answer is nothing but thinking"},
        {"openai", MESSAGE("{\"content\":\"Model: A\",\"reasoning\":\"x\"}"), ""},
        {"openai", MESSAGE("{\"content\":null,\"refusal\":\"No.\"}"), ""},
        {"anthropic",
         "{\"stop_reason\":\"end_turn\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"abc\"}]"
         "}",
         "the answer is empty; the server put 3 characters into `thinking`"},
        {"anthropic", "{\"stop_reason\":\"end_turn\",\"content\":[]}", "the answer is empty"},
        {"gemini",
         "{\"candidates\":[{\"finishReason\":\"STOP\",\"content\":{\"parts\":[{\"text\":\"ab\","
         "\"thought\":true}]}}]}",
         "the answer is empty; the server put 2 characters into `thinking`"},
        {"gemini", "{\"candidates\":[{\"finishReason\":2}]}",
         "the server ended the answer with \"2\", which is no ordinary ending "
         "(docs/use/providers.md)"},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        struct vq_reply reply;
        read_body(rows[i].dialect, rows[i].body, NULL, &reply);
        assert_string_equal(reply.error_message, rows[i].says);
        vq_reply_free(&reply);
    }
}

TEST(test_the_answer_field_is_read_where_content_is_empty)
{
    static const struct {
        const char *message, *content;
    } rows[] = {
        {MESSAGE("{\"content\":null,\"reasoning\":\"Model: B\"}"), "Model: B"},
        {MESSAGE("{\"content\":\" \",\"reasoning\":[{\"type\":\"text\",\"text\":\"Model: B\"}]}"),
         "Model: B"},
        {MESSAGE("{\"content\":\"Model: A\",\"reasoning\":\"Model: B\"}"), "Model: A"},
        {MESSAGE("{\"content\":null,\"thoughts\":\"Model: B\"}"), ""},
        {MESSAGE("{\"content\":null,\"reasoning\":3}"), ""},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        struct vq_reply reply;
        read_body("openai", rows[i].message, "reasoning", &reply);
        assert_true(vq_span_eq(vq_buf_span(&reply.content), vq_span_str(rows[i].content)));
        vq_reply_free(&reply);
    }
}

TEST(test_endings_in_all_shapes)
{
    static const struct {
        const char *value, *ending;
    } rows[] = {
        {"\"stop\"", "stop"},
        {"null", ""},
        {"2", "2"},
        {"true", "true"},
        {"false", "false"},
        {"{\"type\":\"length\",\"length\":3}", "length"},
        {"{}", "object"},
        {"[\"x\"]", "array"},
        {"{\"reason\":\"x\"}", "x"},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        char body[256];
        (void)snprintf(body, sizeof(body),
                       "{\"choices\":[{\"finish_reason\":%s,\"message\":{\"content\":\"x\"}}]}",
                       rows[i].value);
        struct vq_reply reply;
        read_body("openai", body, NULL, &reply);
        assert_string_equal(reply.finish_reason, rows[i].ending);
        vq_reply_free(&reply);
    }
}
