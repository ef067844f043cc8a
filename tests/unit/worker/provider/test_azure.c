/* The Azure dialect: addresses of deployments, the key's header; bodies and answers are
 * OpenAI's. */
#define DIALECT      "azure"
#define DIALECT_SEED -1
#include "tests/unit/worker/provider/dialect.h"

TEST(test_url)
{
    check_url("gpt-4o", "https://n.example.com?api-version=1",
              "https://n.example.com/openai/deployments/gpt-4o/chat/completions?api-version=1");
    check_url(
        "a b/c?", "https://n.example.com/openai/?api-version=1",
        "https://n.example.com/openai/deployments/a%20b%2Fc%3F/chat/completions?api-version=1");
    check_url("m", "https://n.example.com/openai/deployments/d/?api-version=1",
              "https://n.example.com/openai/deployments/d/chat/completions?api-version=1");
    check_url("m", "https://n.example.com/openai/v1/",
              "https://n.example.com/openai/v1/chat/completions");
}

TEST(test_embeddings)
{
    struct vq_buf url;
    vq_buf_init(&url, 2048);
    assert_int_equal(provider()->embed_url(&judge, "https://h?api-version=1", &url), VQ_OK);
    assert_string_equal(url.at, "https://h/openai/deployments/m%201/embeddings?api-version=1");
    vq_buf_free(&url);
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {
        .status = 200,
        .headers = &headers,
        .body = vq_span_str("{\"data\":[{\"index\":0,\"embedding\":[1,2]}]}")};
    struct vq_reply reply;
    vq_reply_init(&reply);
    assert_int_equal(provider()->embed_read(&response, 1, &reply), VQ_OK);
    assert_int_equal(reply.class, VQ_REPLY_ANSWER);
    vq_reply_free(&reply);
}

TEST(test_key_and_body_and_answer)
{
    assert_string_equal(provider()->auth_header, "api-key");
    assert_string_equal(provider()->auth_prefix, "");
    struct vq_buf bodies[2];
    const struct vq_provider *both[2] = {provider(), vq_provider_find("openai")};
    struct vq_prompt prompt = {vq_span_str("s"), vq_span_str("uu"), 1};
    for (int i = 0; i < 2; i++) {
        vq_buf_init(&bodies[i], 4096);
        assert_int_equal(both[i]->body(&judge, &prompt, &bodies[i]), VQ_OK);
    }
    assert_string_equal(bodies[0].at, bodies[1].at);
    vq_buf_free(&bodies[0]);
    vq_buf_free(&bodies[1]);
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {
        .status = 200,
        .headers = &headers,
        .body = vq_span_str("{\"choices\":[{\"finish_reason\":\"content_filter\",\"message\":{"
                            "\"content\":\"Model: A\"},\"content_filter_results\":{}}]}")};
    struct vq_reply reply;
    vq_reply_init(&reply);
    assert_int_equal(provider()->read(&response, &reply), VQ_OK);
    assert_int_equal(reply.class, VQ_REPLY_ANSWER);
    assert_true(reply.refusal);
    vq_reply_free(&reply);
}
