/* What holds in every dialect: hostile bodies are no answers, a key that comes back is hidden, a
 * long answer is refused, memory that runs out is said or does no harm. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "tests/unit/worker/crowd.h"
#include "worker/provider/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct dialect {
    const char *name;
    const char *answer_front; /* of a body, up to the text */
    const char *answer_back;
    const char *error; /* of status 429 */
} dialects[] = {
    {"openai", "{\"choices\":[{\"message\":{\"content\":\"", "\"}}]}",
     "{\"error\":{\"message\":\"no, sk-canary-0123456789 is busy\",\"code\":\"x\"}}"},
    {"azure", "{\"choices\":[{\"message\":{\"content\":\"", "\"}}]}",
     "{\"error\":{\"message\":\"no, sk-canary-0123456789 is busy\",\"code\":\"429\"}}"},
    {"anthropic", "{\"content\":[{\"type\":\"text\",\"text\":\"",
     "\"}],\"stop_reason\":\"end_turn\"}",
     "{\"error\":{\"message\":\"no, sk-canary-0123456789 is "
     "busy\",\"type\":\"rate_limit_error\"}}"},
    {"gemini", "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"",
     "\"}]},\"finishReason\":\"STOP\"}]}",
     "{\"error\":{\"message\":\"no, sk-canary-0123456789 is busy\",\"details\":[{\"@type\":"
     "\"x.QuotaFailure\",\"violations\":[{\"quotaId\":\"sk-canary-0123456789PerMinute\"}]}]}}"},
};

static enum vq_status read_as(const struct dialect *dialect, int status, struct vq_span body,
                              struct vq_reply *reply)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {.status = status, .headers = &headers, .body = body};
    vq_reply_init(reply);
    return vq_provider_find(dialect->name)->read(&response, reply);
}

static void answer_body(const struct dialect *dialect, const char *text, size_t times,
                        struct vq_buf *body)
{
    vq_buf_init(body, 8u << 20);
    vq_buf_puts(body, dialect->answer_front);
    for (size_t i = 0; i < times; i++) {
        vq_buf_puts(body, text);
    }
    vq_buf_puts(body, dialect->answer_back);
    assert_int_equal(body->status, VQ_OK);
}

TEST(test_sizes_of_answers)
{
    for (size_t d = 0; d < VQ_COUNT(dialects); d++) {
        for (size_t over = 0; over < 2; over++) {
            struct vq_buf body;
            struct vq_reply reply;
            answer_body(&dialects[d], "Model: A", VQ_ANSWER_BYTES_MAX / 8 + over, &body);
            assert_int_equal(read_as(&dialects[d], 200, vq_buf_span(&body), &reply), VQ_OK);
            assert_int_equal(reply.class, over ? VQ_REPLY_BAD_RESPONSE : VQ_REPLY_ANSWER);
            assert_int_equal(reply.maybe_billed, over == 1);
            assert_int_equal(reply.content.bytes, over ? 0 : VQ_ANSWER_BYTES_MAX);
            vq_reply_free(&reply);
            vq_buf_free(&body);
        }
    }
}

TEST(test_hostile_bodies)
{
    struct vq_buf deep, wide;
    vq_buf_init(&deep, 1u << 20);
    vq_buf_init(&wide, 1u << 20);
    vq_buf_puts(&wide, "{\"content\":[0");
    for (int i = 0; i < 200000; i++) {
        vq_buf_puts(&deep, "[");
        vq_buf_puts(&wide, ",0");
    }
    vq_buf_puts(&wide, "]}");
    const struct vq_span bodies[] = {
        vq_buf_span(&deep),    vq_buf_span(&wide),    vq_span(NULL, 0),  vq_span_str("null"),
        vq_span_str("<html>"), vq_span_str("[[{}]]"), vq_span("{\0}", 3)};
    for (size_t d = 0; d < VQ_COUNT(dialects); d++) {
        for (size_t i = 0; i < VQ_COUNT(bodies); i++) {
            struct vq_reply reply;
            assert_int_equal(read_as(&dialects[d], 200, bodies[i], &reply), VQ_OK);
            assert_int_equal(reply.class, VQ_REPLY_BAD_RESPONSE);
            assert_true(reply.error_message[0] != '\0');
            vq_reply_free(&reply);
            assert_int_equal(read_as(&dialects[d], 500, bodies[i], &reply), VQ_OK);
            assert_int_equal(reply.class, VQ_REPLY_PROVIDER);
            vq_reply_free(&reply);
        }
    }
    vq_buf_free(&deep);
    vq_buf_free(&wide);
}

static void expect_bad(const struct dialect *dialect, struct vq_span body)
{
    struct vq_reply reply;
    assert_int_equal(read_as(dialect, 200, body, &reply), VQ_OK);
    if (reply.class != VQ_REPLY_BAD_RESPONSE) {
        fail_msg("%s: %.*s: %s", dialect->name, (int)body.bytes, body.at,
                 vq_reply_class_name(reply.class));
    }
    assert_true(reply.maybe_billed);
    assert_int_equal(reply.content.bytes, 0);
    vq_reply_free(&reply);
}

/* Wherever a body ends too early: it is no answer. */
TEST(test_every_prefix_is_no_answer)
{
    for (size_t d = 0; d < VQ_COUNT(dialects); d++) {
        struct vq_buf body;
        answer_body(&dialects[d], "Model: A\\nModel: \\u00e9 B ", 2, &body);
        for (size_t n = 0; n < body.bytes; n++) {
            expect_bad(&dialects[d], vq_span(body.at, n));
        }
        vq_buf_free(&body);
    }
}

/* Which of two is meant nobody knows; and numbers beyond all bounds are no numbers. */
TEST(test_keys_given_twice_and_endless_numbers)
{
    static const char *const fronts[] = {"{\"x\":1,\"x\":1,", "{\"x\":{\"y\":[{\"z\":1,\"z\":2}]},",
                                         "{\"x\":1e400,", "{\"x\":-1e999999999999999999999999,"};
    for (size_t d = 0; d < VQ_COUNT(dialects); d++) {
        struct vq_buf body, spoiled;
        answer_body(&dialects[d], "Model: A", 1, &body);
        for (size_t i = 0; i < VQ_COUNT(fronts); i++) {
            vq_buf_init(&spoiled, 1u << 20);
            vq_buf_puts(&spoiled, fronts[i]);
            vq_buf_puts(&spoiled, body.at + 1);
            expect_bad(&dialects[d], vq_buf_span(&spoiled));
            vq_buf_free(&spoiled);
        }
        vq_buf_free(&body);
    }
}

TEST(test_keys_are_hidden)
{
    for (size_t d = 0; d < VQ_COUNT(dialects); d++) {
        struct vq_reply reply;
        assert_int_equal(read_as(&dialects[d], 429, vq_span_str(dialects[d].error), &reply), VQ_OK);
        assert_int_equal(reply.class, VQ_REPLY_RATE);
        assert_non_null(strstr(reply.error_message, "canary"));
        vq_reply_hide(&reply, vq_span_str("sk-canary-0123456789"));
        assert_null(strstr(reply.error_message, "canary"));
        assert_null(strstr(reply.error_code, "canary"));
        vq_reply_free(&reply);
    }
}

/* Every allocation of a reading fails once. */
static void fail_each(const struct dialect *dialect, int status, struct vq_span body,
                      enum vq_reply_class class)
{
    struct vq_buf crowded;
    crowd(body, &crowded);
    bool whole = false;
    uint64_t refused = 0;
    for (uint64_t n = 1; !whole && n < 1000; n++) {
        struct vq_reply reply;
        uint64_t before = vq_alloc_count();
        vq_alloc_fail_at(n);
        enum vq_status got = read_as(dialect, status, vq_buf_span(&crowded), &reply);
        vq_alloc_fail_at(0);
        whole = vq_alloc_count() - before < n; /* none failed */
        assert_true(got == VQ_OK || got == VQ_NOMEM);
        assert_true(!whole || (got == VQ_OK && reply.class == class));
        refused += got == VQ_NOMEM;
        vq_reply_free(&reply);
    }
    vq_buf_free(&crowded);
    assert_true(whole && refused > 0);
}

TEST(test_no_memory)
{
    for (size_t d = 0; d < VQ_COUNT(dialects); d++) {
        struct vq_buf body;
        answer_body(&dialects[d], "Model: A", 1, &body);
        fail_each(&dialects[d], 200, vq_buf_span(&body), VQ_REPLY_ANSWER);
        fail_each(&dialects[d], 429, vq_span_str(dialects[d].error), VQ_REPLY_RATE);
        vq_buf_free(&body);
    }
}
