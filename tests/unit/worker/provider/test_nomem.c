/* Responses of every dialect, and the requests to them, with every allocation failing in turn:
 * VQ_NOMEM comes back, never an answer that says less, a bad response or another class of error. */

#include "tests/unit/test.h"

#include "tests/unit/heap.h"
#include "tests/unit/worker/crowd.h"
#include "worker/provider/provider.h"

struct exchange {
    const char *dialect;
    const char *body;
    int status;
    enum vq_reply_class class;
    const char *says; /* content or error code */
    uint32_t vectors; /* not 0: of an embedding */
};

#define GEMINI_LOGPROBS                                                                            \
    "\"logprobsResult\":{\"chosenCandidates\":[{\"token\":\"Model\"},{\"token\":\": "              \
    "\"},{\"token\":\"A\"}],\"topCandidates\":[{},{},{\"candidates\":[{\"token\":\"A\","           \
    "\"logProbability\":-0.1}]}]}"

static const struct exchange exchanges[] = {
    {"openai",
     "{\"model\":\"m\",\"choices\":[{\"finish_reason\":\"stop\",\"message\":{\"content\":[{"
     "\"type\":"
     "\"text\",\"text\":\"Model: \"},{\"type\":\"text\",\"text\":\"A\"}]},\"logprobs\":{"
     "\"content\":[{\"token\":\"Model: \"},{\"token\":\"A\",\"top_logprobs\":[{\"token\":\"A\","
     "\"logprob\":-0.5}]}]}}],\"usage\":{\"prompt_tokens\":3}}",
     200, VQ_REPLY_ANSWER, "Model: A", 0},
    {"openai", "{\"x\":NaN,\"choices\":[{\"message\":{\"content\":\"a\\ud800\tb\"}}]}", 200,
     VQ_REPLY_ANSWER, "a\xEF\xBF\xBD\tb", 0},
    {"openai", "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"no money\"}}", 429,
     VQ_REPLY_MONEY, "insufficient_quota", 0},
    {"azure", "{\"choices\":[{\"message\":{\"content\":\"B\"}}]}", 200, VQ_REPLY_ANSWER, "B", 0},
    {"anthropic",
     "{\"content\":[{\"type\":\"text\",\"text\":\"equal\"}],\"stop_reason\":\"end_turn\"}", 200,
     VQ_REPLY_ANSWER, "equal", 0},
    {"gemini",
     "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Model: A\"}]},\"finishReason\":"
     "\"STOP\"," GEMINI_LOGPROBS "}]}",
     200, VQ_REPLY_ANSWER, "Model: A", 0},
    {"gemini",
     "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\"quota\",\"details\":"
     "["
     "{\"@type\":\"type.googleapis.com/google.rpc.QuotaFailure\",\"violations\":[{\"quotaId\":"
     "\"GenerateRequestsPerDayPerProjectPerModel\",\"quotaValue\":\"50\"}]}]}}",
     429, VQ_REPLY_QUOTA, "GenerateRequestsPerDayPerProjectPerModel=50", 0},
    {"openai",
     "{\"object\":\"list\",\"data\":[{\"index\":1,\"embedding\":[1,2]},{\"index\":0,\"embedding\":"
     "[3,4]}],\"model\":\"e\"}",
     200, VQ_REPLY_ANSWER, NULL, 2},
    {"gemini", "{\"embeddings\":[{\"values\":[1,2]},{\"values\":[3,4]}]}", 200, VQ_REPLY_ANSWER,
     NULL, 2},
};

static enum vq_status read_one(void *ctx)
{
    const struct exchange *x = ctx;
    const struct vq_provider *provider = vq_provider_find(x->dialect);
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {
        .status = x->status, .headers = &headers, .body = vq_span_str(x->body), .now_unix_s = 1000};
    struct vq_reply reply;
    vq_reply_init(&reply);
    enum vq_status status = x->vectors > 0 ? provider->embed_read(&response, x->vectors, &reply)
                                           : provider->read(&response, &reply);
    if (status == VQ_OK) {
        if (reply.class != x->class) {
            fail_msg("%s: %s %s", x->body, vq_reply_class_name(reply.class), reply.error_message);
        }
        const char *said = x->class == VQ_REPLY_ANSWER ? reply.content.at : reply.error_code;
        assert_true(x->says == NULL || strcmp(said, x->says) == 0);
    }
    vq_reply_free(&reply);
    return status;
}

TEST(responses)
{
    for (size_t i = 0; i < VQ_COUNT(exchanges); i++) {
        struct exchange x = exchanges[i];
        struct vq_buf body;
        (void)heap_torture(x.body, read_one, &x, false);
        crowd(vq_span_str(x.body), &body);
        x.body = body.at;
        assert_true(heap_torture(x.body, read_one, &x, false) > 5);
        vq_buf_free(&body);
    }
}

static enum vq_status write_one(void *ctx)
{
    const struct vq_provider *provider = ctx;
    struct vq_judge judge = {.model = "m",
                             .max_tokens = 60,
                             .max_tokens_field = "max_tokens",
                             .send_temperature = true,
                             .structured = true,
                             .logprobs = strcmp(provider->dialect, "anthropic") != 0};
    struct vq_prompt prompt = {.system = vq_span_str("be brief"),
                               .user = vq_span_str("the same front and the rest"),
                               .shared_bytes = 14,
                               .asks = VQ_PROMPT_ASKS_VERDICT};
    struct vq_buf url, body;
    vq_buf_init(&url, 2048);
    vq_buf_init(&body, 4096);
    uint32_t count = 0;
    enum vq_status status = provider->url(&judge, "https://x.example/v1?api-version=1", &url);
    status = status == VQ_OK ? provider->body(&judge, &prompt, &body) : status;
    if (status == VQ_OK && provider->embed_body != NULL) {
        status = provider->embed_url(&judge, "https://x.example/v1", &url);
        status =
            status == VQ_OK
                ? provider->embed_body(&judge, vq_span_str("[\"a\",\"b \\u00e9\"]"), &body, &count)
                : status;
        assert_true(status != VQ_OK || count == 2);
    }
    vq_buf_free(&url);
    vq_buf_free(&body);
    return status;
}

TEST(requests)
{
    static const char *const dialects[] = {"openai", "azure", "anthropic", "gemini"};
    for (size_t i = 0; i < VQ_COUNT(dialects); i++) {
        void *provider = (void *)(uintptr_t)vq_provider_find(dialects[i]);
        assert_true(heap_torture(dialects[i], write_one, provider, false) > 2);
    }
}
