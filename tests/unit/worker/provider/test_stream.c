/* Event streams that nobody asked for: what is one, and the one answer that is made of it. */

#include "tests/unit/test.h"

#include "worker/provider/provider.h"
#include "worker/provider/stream.h"

#include <string.h>

static void read_as(const char *dialect, const char *body, struct vq_reply *reply)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {.status = 200, .headers = &headers, .body = vq_span_str(body)};
    vq_reply_init(reply);
    assert_int_equal(vq_provider_find(dialect)->read(&response, reply), VQ_OK);
}

TEST(what_is_a_stream)
{
    static const char *const yes[] = {"data: {}",
                                      "data:{}\r\n\r\n",
                                      "\n\ndata: [DONE]",
                                      ": hello\n\ndata",
                                      "event: ping\ndata: {}",
                                      ("\xef\xbb\xbf"
                                       "id: 4\n"),
                                      "retry: 10\n"};
    static const char *const no[] = {"", "{\"data\": 1}", "database: x", "<html>data: x", "[]"};
    for (size_t i = 0; i < VQ_COUNT(yes); i++) {
        assert_true(vq_stream_is(vq_span_str(yes[i])));
    }
    for (size_t i = 0; i < VQ_COUNT(no); i++) {
        assert_false(vq_stream_is(vq_span_str(no[i])));
    }
}

#define CHUNK(text)                                                                                \
    "{\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"}}]}"
#define END   "{\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}"
#define USAGE "{\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}"

TEST(chunks_are_one_answer)
{
    static const char *const bodies[] = {
        "data: " CHUNK("Model") "\n\ndata: " CHUNK(": A") "\n\ndata: " END "\n\ndata: " USAGE
                                                          "\n\ndata: [DONE]\n\n",
        "data:" CHUNK("Model") "\r\n\r\n: keep-alive\r\n\r\ndata:" CHUNK(
            ": A") "\r\n\r\ndata:" END "\r\n\r\ndata:" USAGE "\r\n\r\n",
        "event: message\nid: 1\ndata: " CHUNK("Model") "\ndata: " CHUNK(": A") "\ndata: " END
                                                                               "\ndata: " USAGE,
        "data: {\"model\":\"m\",\ndata: \"choices\":[{\"delta\":{\"content\":\"Model: A\"},"
        "\"finish_reason\":\"stop\"}],\ndata: \"usage\":{\"prompt_tokens\":7,"
        "\"completion_tokens\":3}}\n\n",
        "data: {\"model\":\"m\",\"choices\":[{\"message\":{\"content\":\"Model: A\"},"
        "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}"
        "\n\n"};
    for (size_t i = 0; i < VQ_COUNT(bodies); i++) {
        struct vq_reply reply;
        read_as("openai", bodies[i], &reply);
        if (reply.class != VQ_REPLY_ANSWER) {
            fail_msg("%zu: %s", i, reply.error_message);
        }
        assert_true(vq_span_eq(vq_buf_span(&reply.content), vq_span_str("Model: A")));
        assert_string_equal(reply.finish_reason, "stop");
        assert_string_equal(reply.model, "m");
        assert_int_equal(reply.tokens_in, 7);
        assert_int_equal(reply.tokens_out, 3);
        vq_reply_free(&reply);
    }
}

TEST(a_stream_without_its_end_was_cut)
{
    struct vq_reply reply;
    read_as("openai", "data: " CHUNK("Model: A") "\n\n", &reply);
    assert_int_equal(reply.class, VQ_REPLY_ANSWER);
    assert_string_equal(reply.finish_reason, "length");
    vq_reply_free(&reply);
    read_as("openai", "data: " CHUNK("Model: A") "\n\ndata: [DONE]\n\n", &reply);
    assert_int_equal(reply.class, VQ_REPLY_ANSWER);
    assert_string_equal(reply.finish_reason, "");
    vq_reply_free(&reply);
}

TEST(events_of_anthropic_are_one_message)
{
    struct vq_reply reply;
    read_as("anthropic",
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"c\","
            "\"content\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n"
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"
            "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
            "event: ping\ndata: {\"type\":\"ping\"}\n\n"
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
            "\"delta\":{\"type\":\"text_delta\",\"text\":\"Model\"}}\n\n"
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
            "\"delta\":{\"type\":\"text_delta\",\"text\":\": B\"}}\n\n"
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
            "\"end_turn\"},\"usage\":{\"output_tokens\":4}}\n\n"
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
            &reply);
    assert_int_equal(reply.class, VQ_REPLY_ANSWER);
    assert_true(vq_span_eq(vq_buf_span(&reply.content), vq_span_str("Model: B")));
    assert_string_equal(reply.finish_reason, "stop");
    assert_int_equal(reply.tokens_in, 9);
    assert_int_equal(reply.tokens_out, 4);
    vq_reply_free(&reply);
}

TEST(errors_and_rubbish)
{
    struct vq_reply reply;
    read_as("openai",
            "data: " CHUNK("Mo") "\n\ndata: {\"error\":{\"message\":\"no\",\"code\":429}}\n\n",
            &reply);
    assert_int_equal(reply.class, VQ_REPLY_RATE);
    vq_reply_free(&reply);
    static const char *const bad[] = {"data: [DONE]\n\n", "data: hello\n\n", ": nothing\n\n",
                                      "data: {\"choices\":[]}\n\n", "data: [1,2]\n\n"};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        read_as("openai", bad[i], &reply);
        assert_int_equal(reply.class, VQ_REPLY_BAD_RESPONSE);
        assert_non_null(strstr(reply.error_message, "event stream"));
        vq_reply_free(&reply);
    }
}
