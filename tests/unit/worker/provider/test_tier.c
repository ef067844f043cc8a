/* Service tiers in requests and responses of every dialect. */
#include "tests/unit/test.h"

#include "worker/provider/tier.h"

#include <string.h>

TEST(test_requests_name_it)
{
    static const struct {
        const char *dialect, *member;
    } cases[] = {{"openai", "\"service_tier\":\"flex\""},
                 {"azure", "\"service_tier\":\"flex\""},
                 {"anthropic", "\"service_tier\":\"flex\""},
                 {"gemini", "\"serviceTier\":\"flex\""}};
    const struct vq_judge judge = {
        .model = "m", .max_tokens = 9, .max_tokens_field = "max_tokens", .seed = -1};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        const struct vq_provider *provider = vq_provider_find(cases[i].dialect);
        struct vq_prompt prompt = {.user = vq_span_str("hello"), .service_tier = "flex"};
        struct vq_buf body;
        vq_buf_init(&body, 4096);
        assert_int_equal(provider->body(&judge, &prompt, &body), VQ_OK);
        assert_non_null(strstr(body.at, cases[i].member));
        prompt.service_tier = "";
        assert_int_equal(provider->body(&judge, &prompt, &body), VQ_OK);
        assert_null(strcasestr(body.at, "tier"));
        vq_buf_free(&body);
    }
}

TEST(test_responses_report_it)
{
    static const struct {
        const char *dialect, *header, *body, *tier;
    } cases[] = {
        {"openai", "", "{\"service_tier\":\"flex\"}", "flex"},
        {"openai", "", "{\"service_tier\":null}", ""},
        {"anthropic", "", "{\"usage\":{\"service_tier\":\"standard\"}}", "standard"},
        {"gemini", "", "{\"usageMetadata\":{\"serviceTier\":\"SERVICE_TIER_FLEX\"}}", "flex"},
        {"gemini", "Standard", "{}", "standard"},
        {"gemini", "standard", "{\"usageMetadata\":{\"serviceTier\":\"priority\"}}", "priority"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_reply_headers headers;
        vq_reply_headers_init(&headers);
        vq_reply_headers_add(&headers, vq_span_str("X-Gemini-Service-Tier"),
                             vq_span_str(cases[i].header));
        const struct vq_response response = {
            .status = 200, .headers = &headers, .body = vq_span_str(cases[i].body)};
        struct vq_reply reply;
        vq_reply_init(&reply);
        assert_int_equal(vq_provider_find(cases[i].dialect)->read(&response, &reply), VQ_OK);
        assert_string_equal(reply.service_tier, cases[i].tier);
        vq_reply_free(&reply);
    }
}

/* A server may put anything there, also the key. */
TEST(test_odd_texts_are_no_tier)
{
    static const char *const odd[] = {"", "sk-canary-1", "a b", "\x01",
                                      "longer_than_the_name_of_any_tier"};
    for (size_t i = 0; i < VQ_COUNT(odd); i++) {
        char tier[VQ_REPLY_NAME_BYTES_MAX] = "was";
        vq_tier_take(vq_span_str(odd[i]), tier);
        assert_string_equal(tier, "was");
    }
}
