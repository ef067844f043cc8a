/* Embeddings in the OpenAI dialect: the request to the byte, vectors in any order, all or none of
 * them, hostile bodies, and no memory. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/judge/vectors.h"
#include "worker/provider/provider.h"

static const struct vq_provider *openai(void)
{
    return vq_provider_find("openai");
}

static enum vq_status read_status(int status, struct vq_span body, uint32_t count,
                                  struct vq_reply *reply)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {.status = status, .headers = &headers, .body = body};
    vq_reply_init(reply);
    return openai()->embed_read(&response, count, reply);
}

static void read_body(const char *body, uint32_t count, struct vq_reply *reply)
{
    assert_int_equal(read_status(200, vq_span_str(body), count, reply), VQ_OK);
}

TEST(test_url)
{
    struct vq_buf url;
    vq_buf_init(&url, 2048);
    assert_int_equal(openai()->embed_url(NULL, "https://api.example.com/v1/?v=1", &url), VQ_OK);
    assert_string_equal(url.at, "https://api.example.com/v1/embeddings?v=1");
    vq_buf_free(&url);
}

TEST(test_request_body)
{
    struct vq_judge judge = {
        .model = "e-1", .max_tokens = 600, .max_tokens_field = "max_tokens", .seed = 4};
    struct vq_buf body;
    uint32_t count = 0;
    vq_buf_init(&body, VQ_REQUEST_BODY_BYTES_MAX);
    vq_buf_puts(&body, "old");
    assert_int_equal(
        openai()->embed_body(&judge, vq_span_str(" [\"a\\n\\\"b\\\"\", \"\"]\n"), &body, &count),
        VQ_OK);
    assert_string_equal(body.at, "{\"model\":\"e-1\",\"input\":[\"a\\n\\\"b\\\"\",\"\"]}");
    assert_int_equal(count, 2);
    static const char *const bad[] = {"",     "[]", "{}",           "\"a\"", "[3]",
                                      "[[]]", "[",  "[\"a\",null]", "x"};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        assert_int_equal(openai()->embed_body(&judge, vq_span_str(bad[i]), &body, &count),
                         VQ_INVALID);
    }
    struct vq_buf texts;
    vq_buf_init(&texts, 4096);
    for (uint32_t n = 0; n <= VQ_EMBED_BATCH_MAX; n++) {
        vq_buf_puts(&texts, n == 0 ? "[\"t\"" : ",\"t\"");
    }
    vq_buf_puts(&texts, "]");
    assert_int_equal(openai()->embed_body(&judge, vq_buf_span(&texts), &body, &count), VQ_INVALID);
    vq_buf_free(&texts);
    vq_buf_free(&body);
    vq_buf_init(&body, 20);
    assert_int_equal(openai()->embed_body(&judge, vq_span_str("[\"abcdefgh\"]"), &body, &count),
                     VQ_LIMIT);
    vq_buf_free(&body);
}

TEST(test_vectors_in_any_order)
{
    static const char *const bodies[] = {
        "{\"object\":\"list\",\"model\":\"e-1-2026\",\"data\":[{\"index\":1,\"embedding\":[3,-4.5]}"
        ","
        "{\"index\":0,\"embedding\":[1e-3,2]}],\"usage\":{\"prompt_tokens\":9,\"total_tokens\":9}}",
        "{\"model\":\"e-1-2026\",\"usage\":{\"prompt_tokens\":9},\"data\":[{\"embedding\":[0.001,2]"
        "},"
        "{\"embedding\":[3,-4.5]}]}",
    };
    for (size_t i = 0; i < VQ_COUNT(bodies); i++) {
        struct vq_reply reply;
        read_body(bodies[i], 2, &reply);
        assert_int_equal(reply.class, VQ_REPLY_ANSWER);
        assert_string_equal(reply.model, "e-1-2026");
        assert_int_equal(reply.tokens_in, 9);
        assert_int_equal(reply.tokens_out, -1);
        assert_int_equal(
            vq_verdict_of(VQ_STAGE_EMBED, vq_buf_span(&reply.content), vq_span_str(""), false),
            VQ_OUTCOME_TEXT);
        float *values;
        uint32_t count, dims;
        assert_int_equal(vq_vectors_decode(vq_buf_span(&reply.content), &values, &count, &dims),
                         VQ_OK);
        assert_int_equal(count, 2);
        assert_int_equal(dims, 2);
        const float expected[] = {0.001f, 2, 3, -4.5f};
        assert_memory_equal(values, expected, sizeof(expected));
        vq_free(values);
        vq_reply_free(&reply);
    }
}

TEST(test_what_is_no_batch)
{
    static const char *const bodies[] = {
        "",
        "[]",
        "{}",
        "{\"data\":null}",
        "{\"data\":{}}",
        "{\"data\":[]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":1,\"embedding\":[1]},"
        "{\"index\":2,\"embedding\":[1]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":0,\"embedding\":[1]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":2,\"embedding\":[1]}]}",
        "{\"data\":[{\"index\":1,\"embedding\":[1]},{\"index\":1e300,\"embedding\":[1]}]}",
        "{\"data\":[{\"index\":1,\"embedding\":[1]},{\"index\":9007199254740991,\"embedding\":[1]}]"
        "}",
        "{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":1,\"embedding\":[1,2]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":1,\"embedding\":[]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[]},{\"index\":1,\"embedding\":[]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":1,\"embedding\":[null]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":1,\"embedding\":[NaN]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":1,\"embedding\":[1e39]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":1,\"embedding\":[\"1\"]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":\"AACAPw==\"},{\"index\":1,\"embedding\":\"\"}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1]},null]}",
        "{\"data\":[3,4]}",
        "{\"choices\":[{\"message\":{\"content\":\"Model: A\"}}]}",
    };
    for (size_t i = 0; i < VQ_COUNT(bodies); i++) {
        struct vq_reply reply;
        read_body(bodies[i], 2, &reply);
        if (reply.class != VQ_REPLY_BAD_RESPONSE) {
            fail_msg("%s: %s", bodies[i], vq_reply_class_name(reply.class));
        }
        assert_true(reply.error_message[0] != '\0' && reply.content.bytes == 0);
        vq_reply_free(&reply);
    }
}

TEST(test_errors)
{
    struct vq_reply reply;
    assert_int_equal(read_status(429, vq_span_str("{\"error\":{\"message\":\"slow\"}}"), 1, &reply),
                     VQ_OK);
    assert_int_equal(vq_reply_end(&reply), VQ_END_RATE);
    vq_reply_free(&reply);
    read_body("{\"error\":{\"message\":\"no\",\"code\":503}}", 1, &reply);
    assert_int_equal(vq_reply_end(&reply), VQ_END_PROVIDER);
    vq_reply_free(&reply);
}

static void put_batch(struct vq_buf *body, uint32_t count, uint32_t dims)
{
    vq_buf_puts(body, "{\"data\":[");
    for (uint32_t i = 0; i < count; i++) {
        vq_buf_printf(body, "%s{\"index\":%u,\"embedding\":[", i == 0 ? "" : ",", i);
        for (uint32_t d = 0; d < dims; d++) {
            vq_buf_printf(body, "%s-0.0123456", d == 0 ? "" : ",");
        }
        vq_buf_puts(body, "]}");
    }
    vq_buf_puts(body, "]}");
    assert_int_equal(body->status, VQ_OK);
}

TEST(test_the_largest_batch)
{
    for (uint32_t over = 0; over < 2; over++) {
        struct vq_buf body;
        vq_buf_init(&body, VQ_EMBED_BODY_BYTES_MAX);
        put_batch(&body, VQ_EMBED_BATCH_MAX, VQ_VECTORS_DIMS_MAX + over);
        struct vq_reply reply;
        assert_int_equal(read_status(200, vq_buf_span(&body), VQ_EMBED_BATCH_MAX, &reply), VQ_OK);
        assert_int_equal(reply.class, over == 0 ? VQ_REPLY_ANSWER : VQ_REPLY_BAD_RESPONSE);
        vq_reply_free(&reply);
        vq_buf_free(&body);
    }
}

TEST(test_no_memory)
{
    static const char body[] = "{\"data\":[{\"index\":1,\"embedding\":[3,4]},"
                               "{\"index\":0,\"embedding\":[1,2]}]}";
    for (uint64_t n = 1;; n++) {
        struct vq_reply reply;
        vq_alloc_fail_at(n);
        enum vq_status status = read_status(200, vq_span_str(body), 2, &reply);
        vq_alloc_fail_at(0);
        if (status == VQ_OK && reply.class == VQ_REPLY_ANSWER) {
            assert_true(n > 2);
            vq_reply_free(&reply);
            return;
        }
        assert_true(status == VQ_NOMEM || reply.class == VQ_REPLY_BAD_RESPONSE);
        vq_reply_free(&reply);
    }
}
