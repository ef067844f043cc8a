/* The Anthropic dialect: the request to the byte with and without a cache breakpoint, answers,
 * usage in its parts, what is no answer. */
#define DIALECT      "anthropic"
#define DIALECT_SEED -1
#include "tests/unit/worker/provider/dialect.h"

TEST(test_url_and_headers)
{
    check_url("m", "https://api.example.com/v1/", "https://api.example.com/v1/messages");
    assert_string_equal(provider()->auth_header, "x-api-key");
    assert_string_equal(provider()->auth_prefix, "");
    bool version = false;
    for (size_t i = 0; i < provider()->headers_count; i++) {
        version = version || (strcmp(provider()->headers[i].name, "anthropic-version") == 0 &&
                              strcmp(provider()->headers[i].value, "2023-06-01") == 0);
    }
    assert_true(version);
    assert_null(provider()->embed_url);
}

TEST(test_body)
{
    check_body(&judge, (struct vq_prompt){vq_span_str("sys"), vq_span_str("row\nvibe"), 4},
               "{\"model\":\"m 1\",\"max_tokens\":60,\"temperature\":0.7,\"system\":\"sys\","
               "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
               "\"row\\n\",\"cache_control\":{\"type\":\"ephemeral\"}},{\"type\":\"text\","
               "\"text\":\"vibe\"}]}]}");
    struct vq_judge cold = judge;
    cold.send_temperature = false;
    static const char whole[] =
        "{\"model\":\"m 1\",\"max_tokens\":60,\"messages\":[{\"role\":\"user\",\"content\":[{"
        "\"type\":\"text\",\"text\":\" row \"}]}]}";
    static const size_t no_split[] = {0, 1, 4, 5, 6}; /* nothing, or only blanks, on one side */
    for (size_t i = 0; i < VQ_COUNT(no_split); i++) {
        check_body(&cold, (struct vq_prompt){vq_span_str(" "), vq_span_str(" row "), no_split[i]},
                   whole);
    }
}

TEST(test_images)
{
    struct vq_judge cold = judge;
    cold.send_temperature = false;
    check_body(
        &cold,
        (struct vq_prompt){.user = vq_span_str("u"),
                           .image = vq_span_str("data:image/png;base64,AAAA")},
        "{\"model\":\"m 1\",\"max_tokens\":60,\"messages\":[{\"role\":\"user\",\"content\":[{"
        "\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\","
        "\"data\":\"AAAA\"}},{\"type\":\"text\",\"text\":\"u\"}]}]}");
    check_body(
        &cold,
        (struct vq_prompt){.user = vq_span_str("u"), .image = vq_span_str("https://x/y.png")},
        "{\"model\":\"m 1\",\"max_tokens\":60,\"messages\":[{\"role\":\"user\",\"content\":[{"
        "\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"https://x/y.png\"}},{\"type\":"
        "\"text\",\"text\":\"u\"}]}]}");
}

TEST(test_answers)
{
#define SAYS(text, stop)                                                                           \
    "{\"type\":\"message\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"Model: B\"},{"       \
    "\"type\":\"text\",\"text\":\"" text "\"}],\"stop_reason\":\"" stop "\"}"
    check_answer(SAYS("Model: A", "end_turn"), "Model: A", "stop", false, VQ_OUTCOME_FIRST);
    check_answer(SAYS("Model: A", "stop_sequence"), "Model: A", "stop", false, VQ_OUTCOME_FIRST);
    check_answer(SAYS("Analysis", "max_tokens"), "Analysis", "length", false, VQ_OUTCOME_TRUNCATED);
    check_answer(SAYS("Analysis", "model_context_window_exceeded"), "Analysis", "length", false,
                 VQ_OUTCOME_TRUNCATED);
    check_answer(SAYS("No.", "refusal"), "No.", "content_filter", true, VQ_OUTCOME_REFUSED);
    check_answer(SAYS("Model: B", "Pause_Turn"), "Model: B", "pause_turn", false,
                 VQ_OUTCOME_TRUNCATED);
    check_answer("{\"content\":[],\"stop_reason\":\"refusal\"}", "", "content_filter", true,
                 VQ_OUTCOME_REFUSED);
    check_answer("{\"content\":[{\"type\":\"text\",\"text\":\"Mod\"},{\"type\":\"text\",\"text\":"
                 "\"el: A\"},7,null],\"stop_reason\":null}",
                 "Model: A", "", false, VQ_OUTCOME_FIRST);
#undef SAYS
}

TEST(test_usage)
{
    struct vq_reply reply;
    read_body("{\"model\":\"m-1\",\"content\":[],\"usage\":{\"input_tokens\":5,"
              "\"cache_read_input_tokens\":100,\"cache_creation_input_tokens\":30,"
              "\"output_tokens\":7}}",
              &reply);
    assert_string_equal(reply.model, "m-1");
    assert_int_equal(reply.tokens_in, 135);
    assert_int_equal(reply.tokens_cached, 100);
    assert_int_equal(reply.tokens_cache_written, 30);
    assert_int_equal(reply.tokens_uncounted, reply.tokens_cached);
    assert_int_equal(reply.tokens_out, 7);
    vq_reply_free(&reply);
    read_body("{\"content\":[],\"usage\":{\"input_tokens\":5}}", &reply);
    assert_int_equal(reply.tokens_in, 5);
    assert_int_equal(reply.tokens_cached, -1);
    assert_int_equal(reply.tokens_out, -1);
    vq_reply_free(&reply);
    read_body("{\"content\":[]}", &reply);
    assert_int_equal(reply.tokens_in, -1);
    vq_reply_free(&reply);
}

TEST(test_what_is_no_answer)
{
    static const char *const bodies[] = {
        "", "[]", "7", "{}", "{\"content\":\"Model: A\"}", "{\"choices\":[]}", "<html>"};
    for (size_t i = 0; i < VQ_COUNT(bodies); i++) {
        check_bad(bodies[i]);
    }
    struct vq_reply reply;
    read_body("{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"},"
              "\"request_id\":\"req_9\"}",
              &reply);
    assert_int_equal(reply.class, VQ_REPLY_PROVIDER);
    assert_string_equal(reply.error_message, "busy");
    assert_string_equal(reply.request_id, "req_9");
    vq_reply_free(&reply);
}
