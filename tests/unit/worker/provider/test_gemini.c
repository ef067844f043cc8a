/* The Gemini dialect: the request to the byte, answers and refusals, usage, waits in error details,
 * what is no answer. */
#define DIALECT      "gemini"
#define DIALECT_SEED 3
#include "tests/unit/worker/provider/dialect.h"

#include "common/judge/vectors.h"

#include <stdio.h>

TEST(test_url_and_headers)
{
    check_url("gemini-x", "https://g.example.com/v1beta/",
              "https://g.example.com/v1beta/models/gemini-x:generateContent");
    check_url("a:b", "https://h/v1", "https://h/v1/models/a%3Ab:generateContent");
    check_url("tunedModels/mine", "https://h/v1", "https://h/v1/tunedModels/mine:generateContent");
    assert_string_equal(provider()->auth_header, "x-goog-api-key");
    assert_string_equal(provider()->auth_prefix, "");
}

TEST(test_embedding_requests)
{
    struct vq_buf out;
    vq_buf_init(&out, 4096);
    struct vq_judge named = judge;
    static const char *const urls[][2] = {
        {"e-1", "https://h/v1beta/models/e-1:batchEmbedContents"},
        {"tunedModels/mine", "https://h/v1beta/tunedModels/mine:batchEmbedContents"}};
    for (size_t i = 0; i < VQ_COUNT(urls); i++) {
        named.model = urls[i][0];
        assert_int_equal(provider()->embed_url(&named, "https://h/v1beta/", &out), VQ_OK);
        assert_string_equal(out.at, urls[i][1]);
    }
    uint32_t count = 0;
    named.model = "e-1";
    assert_int_equal(
        provider()->embed_body(&named, vq_span_str("[\"a\\n\\\"b\\\"\", \"\"]"), &out, &count),
        VQ_OK);
    assert_int_equal(count, 2);
    assert_string_equal(
        out.at, "{\"requests\":[{\"model\":\"models/e-1\",\"content\":{\"parts\":[{\"text\":"
                "\"a\\n\\\"b\\\"\"}]}},{\"model\":\"models/e-1\",\"content\":{\"parts\":[{"
                "\"text\":\"\"}]}}]}");
    static const char *const bad[] = {"", "{}", "[]", "[1]", "[\"a\",null]", "\"a\""};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        assert_int_equal(provider()->embed_body(&named, vq_span_str(bad[i]), &out, &count),
                         VQ_INVALID);
    }
    for (uint64_t n = 1;; n++) { /* memory fails at each place once */
        vq_alloc_fail_at(n);
        enum vq_status status =
            provider()->embed_body(&named, vq_span_str("[\"abc\"]"), &out, &count);
        vq_alloc_fail_at(0);
        if (status == VQ_OK) {
            break;
        }
        assert_int_equal(status, VQ_NOMEM);
        vq_buf_free(&out);
        vq_buf_init(&out, 4096);
    }
    vq_buf_free(&out);
}

static void read_vectors(const char *body, int status, struct vq_reply *reply)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {
        .status = status, .headers = &headers, .body = vq_span_str(body)};
    vq_reply_init(reply);
    assert_int_equal(provider()->embed_read(&response, 2, reply), VQ_OK);
}

TEST(test_embedding_responses)
{
    struct vq_reply reply;
    read_vectors("{\"embeddings\":[{\"values\":[1,-2.5]},{\"values\":[0,1e-3]}],"
                 "\"usageMetadata\":{\"promptTokenCount\":7}}",
                 200, &reply);
    assert_int_equal(reply.class, VQ_REPLY_ANSWER);
    assert_int_equal(reply.tokens_in, 7);
    float *values;
    uint32_t count, dims;
    assert_int_equal(vq_vectors_decode(vq_buf_span(&reply.content), &values, &count, &dims), VQ_OK);
    assert_int_equal(count, 2);
    assert_int_equal(dims, 2);
    assert_true(values[0] == 1 && values[1] == -2.5f && values[2] == 0 && values[3] == 1e-3f);
    vq_free(values);
    vq_reply_free(&reply);
    read_vectors("{\"embeddings\":[{\"values\":[1]},{\"values\":[2]}]}", 200, &reply);
    assert_int_equal(reply.class, VQ_REPLY_ANSWER);
    assert_int_equal(reply.tokens_in, -1); /* older models tell no usage */
    vq_reply_free(&reply);
    static const char *const bad[] = {"{}",
                                      "[]",
                                      "{\"embeddings\":[]}",
                                      "{\"embeddings\":{}}",
                                      "{\"embeddings\":[{\"values\":[1]}]}",
                                      "{\"embeddings\":[{\"values\":[1]},{\"values\":[1,2]}]}",
                                      "{\"embeddings\":[{\"values\":[]},{\"values\":[]}]}",
                                      "{\"embeddings\":[{\"values\":[1]},{\"values\":[null]}]}",
                                      "{\"embeddings\":[{\"values\":[1]},{\"values\":[1e999]}]}",
                                      "{\"embeddings\":[{\"values\":1},{\"values\":2}]}",
                                      "{\"embedding\":{\"values\":[1]}}"};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        read_vectors(bad[i], 200, &reply);
        assert_int_equal(reply.class, VQ_REPLY_BAD_RESPONSE);
        assert_int_equal(reply.content.bytes, 0);
        vq_reply_free(&reply);
    }
    read_vectors("{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\"m\"}}",
                 429, &reply);
    assert_int_equal(reply.class, VQ_REPLY_RATE);
    vq_reply_free(&reply);
}

TEST(test_body)
{
    check_body(&judge, (struct vq_prompt){vq_span_str("sys"), vq_span_str("row\nvibe"), 4},
               "{\"systemInstruction\":{\"parts\":[{\"text\":\"sys\"}]},\"contents\":[{\"role\":"
               "\"user\",\"parts\":[{\"text\":\"row\\nvibe\"}]}],\"generationConfig\":{"
               "\"maxOutputTokens\":60,\"temperature\":0.7,\"seed\":3}}");
    struct vq_judge plain = judge;
    plain.send_temperature = false;
    plain.seed = -1;
    check_body(&plain, (struct vq_prompt){.user = vq_span_str("u")},
               "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"u\"}]}],"
               "\"generationConfig\":{\"maxOutputTokens\":60}}");
    check_body(&plain,
               (struct vq_prompt){.user = vq_span_str("u"),
                                  .image = vq_span_str("data:image/webp;base64,AAAA")},
               "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"inlineData\":{\"mimeType\":"
               "\"image/webp\",\"data\":\"AAAA\"}},{\"text\":\"u\"}]}],"
               "\"generationConfig\":{\"maxOutputTokens\":60}}");
}

TEST(test_answers)
{
#define SAYS(text, finish)                                                                         \
    "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Model: "                                \
    "B\",\"thought\":true},{\"text\":\"" text                                                      \
    "\"}],\"role\":\"model\"},\"finishReason\":\"" finish "\"}]}"
    check_answer(SAYS("Model: A", "STOP"), "Model: A", "stop", false, VQ_OUTCOME_FIRST);
    check_answer(SAYS("Analysis", "MAX_TOKENS"), "Analysis", "length", false, VQ_OUTCOME_TRUNCATED);
    check_answer(SAYS("Model: A", "OTHER"), "Model: A", "other", false, VQ_OUTCOME_TRUNCATED);
#undef SAYS
    static const char *const refusals[] = {"SAFETY",      "RECITATION",         "LANGUAGE",
                                           "BLOCKLIST",   "PROHIBITED_CONTENT", "SPII",
                                           "IMAGE_SAFETY"};
    for (size_t i = 0; i < VQ_COUNT(refusals); i++) {
        char body[128];
        (void)snprintf(body, sizeof(body), "{\"candidates\":[{\"finishReason\":\"%s\"}]}",
                       refusals[i]);
        check_answer(body, "", "content_filter", true, VQ_OUTCOME_REFUSED);
    }
    check_answer("{\"promptFeedback\":{\"blockReason\":\"OTHER\"}}", "", "content_filter", true,
                 VQ_OUTCOME_REFUSED);
}

TEST(test_usage)
{
    struct vq_reply reply;
    read_body("{\"modelVersion\":\"g-001\",\"candidates\":[{}],\"usageMetadata\":{"
              "\"promptTokenCount\":90,\"cachedContentTokenCount\":40,\"candidatesTokenCount\":8,"
              "\"thoughtsTokenCount\":20,\"totalTokenCount\":118}}",
              &reply);
    assert_string_equal(reply.model, "g-001");
    assert_int_equal(reply.tokens_in, 90);
    assert_int_equal(reply.tokens_cached, 40);
    assert_int_equal(reply.tokens_out, 28);
    assert_int_equal(reply.tokens_reasoning, 20);
    vq_reply_free(&reply);
    read_body("{\"candidates\":[{}],\"usageMetadata\":{\"thoughtsTokenCount\":20}}", &reply);
    assert_int_equal(reply.tokens_out, 20);
    assert_int_equal(reply.tokens_in, -1);
    vq_reply_free(&reply);
}

static void check_wait(const char *header, const char *delay, int64_t wait_ms)
{
    char body[256];
    (void)snprintf(body, sizeof(body),
                   "{\"error\":{\"code\":429,\"message\":\"m\",\"status\":\"RESOURCE_EXHAUSTED\","
                   "\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\","
                   "\"retryDelay\":\"%s\"}]}}",
                   delay);
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    vq_reply_headers_add(&headers, vq_span_str("retry-after"), vq_span_str(header));
    struct vq_response response = {.status = 429, .headers = &headers, .body = vq_span_str(body)};
    struct vq_reply reply;
    vq_reply_init(&reply);
    assert_int_equal(provider()->read(&response, &reply), VQ_OK);
    assert_int_equal(reply.class, VQ_REPLY_RATE);
    assert_int_equal(reply.retry_after_ms, wait_ms);
    vq_reply_free(&reply);
}

TEST(test_retry_info)
{
    check_wait("", "22s", 22000);
    check_wait("", "0.5s", 500);
    check_wait("", "36609.7s", VQ_RETRY_AFTER_MS_MAX);
    check_wait("", "soon", -1);
    check_wait("3", "22s", 3000);
}

/* Several limits at once: what is worst decides, wherever it stands; a day's limit does not believe
 * the delay. */
TEST(test_several_limits)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {
        .status = 429,
        .headers = &headers,
        .now_unix_s = 1772359200,
        .body = vq_span_str(
            "{\"error\":{\"code\":429,\"message\":\"m\",\"status\":\"RESOURCE_EXHAUSTED\","
            "\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":"
            "\"22s\"},{\"@type\":\"type.googleapis.com/google.rpc.QuotaFailure\",\"violations\":[{"
            "\"quotaId\":\"RequestsPerMinute\",\"quotaValue\":\"15\"},{\"quotaId\":"
            "\"RequestsPerDay\",\"quotaValue\":1500},{\"quotaValue\":\"0\"},9]}]}}")};
    struct vq_reply reply;
    vq_reply_init(&reply);
    assert_int_equal(provider()->read(&response, &reply), VQ_OK);
    assert_int_equal(reply.class, VQ_REPLY_QUOTA);
    assert_string_equal(reply.error_code, "RequestsPerMinute=15 RequestsPerDay=1500");
    assert_int_equal(reply.park_until_unix_s, 1772359200 + 22 * 3600);
    assert_int_equal(reply.retry_after_ms, VQ_RETRY_AFTER_MS_MAX);
    assert_int_equal(vq_reply_end(&reply), VQ_END_RATE);
    vq_reply_free(&reply);
}

TEST(test_what_is_no_answer)
{
    static const char *const bodies[] = {
        "", "[]", "{}", "{\"candidates\":[]}", "\"\"", "{\"candidates\":{}}", "{\"choices\":[{}]}"};
    for (size_t i = 0; i < VQ_COUNT(bodies); i++) {
        check_bad(bodies[i]);
    }
    struct vq_reply reply;
    read_body("[{\"error\":{\"code\":503,\"message\":\"busy\",\"status\":\"UNAVAILABLE\"}}]",
              &reply);
    assert_int_equal(reply.class, VQ_REPLY_PROVIDER);
    vq_reply_free(&reply);
}
