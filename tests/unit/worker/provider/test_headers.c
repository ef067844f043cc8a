/* Retry-After in its forms, and rate limit headers as providers write them. */

#include "tests/unit/test.h"

#include "worker/provider/provider.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define NOW 784111777 /* Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110 */

static void add(struct vq_reply_headers *headers, const char *name, const char *value)
{
    vq_reply_headers_add(headers, vq_span_str(name), vq_span_str(value));
}

static int64_t wait_of(const char *value)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    add(&headers, "Retry-After", value);
    return vq_retry_after_ms(&headers, NOW);
}

TEST(test_retry_after)
{
    static const struct {
        const char *value;
        int64_t wait_ms;
    } cases[] = {
        {"0", 0},
        {"1", 1000},
        {" 20 ", 20000},
        {"1.5", 1500},
        {"0.0019", 1},
        {"2.", 2000},
        {"3600", 3600000},
        {"3601", VQ_RETRY_AFTER_MS_MAX},
        {"99999999999999999999999999", VQ_RETRY_AFTER_MS_MAX},
        {"Sun, 06 Nov 1994 08:49:47 GMT", 10000},
        {"Sunday, 06-Nov-94 08:50:37 GMT", 60000},
        {"Sun Nov  6 08:49:38 1994", 1000},
        {"Sun, 06 Nov 1994 08:49:37 GMT", 0},
        {"Sun, 06 Nov 1994 08:00:00 GMT", 0},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Fri, 31 Dec 9999 23:59:59 GMT", VQ_RETRY_AFTER_MS_MAX},
        {"Mon, 07 nov 1994 08:49:60 gmt", VQ_RETRY_AFTER_MS_MAX},
        {"", -1},
        {"-1", -1},
        {"+1", -1},
        {"soon", -1},
        {"1 2", -1},
        {"1s", -1},
        {".5", -1},
        {"Sun, 06 Nov 1994", -1},
        {"Sun, 06 Nov 1994 8:49:37 GMT", -1},
        {"Sun, 06 Nov 1994 24:49:37 GMT", -1},
        {"Sun, 06 Nov 1994 08:61:37 GMT", -1},
        {"Sun, 31 Nov 1994 08:49:37 GMT", -1},
        {"Sun, 29 Feb 1995 08:49:37 GMT", -1},
        {"Sun, 00 Nov 1994 08:49:37 GMT", -1},
        {"Sun, 06 Now 1994 08:49:37 GMT", -1},
        {"Sun, 06 Nov 1994 08:49:37 +0100", -1},
        {"Sun, 06 Nov 1969 08:49:37 GMT", -1},
        {"06 Nov 08:49:37", -1},
        {"1994-11-06T08:49:37Z", -1},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        int64_t wait_ms = wait_of(cases[i].value);
        if (wait_ms != cases[i].wait_ms) {
            fail_msg("\"%s\" is %lld", cases[i].value, (long long)wait_ms);
        }
    }
    struct vq_reply_headers none;
    vq_reply_headers_init(&none);
    assert_int_equal(vq_retry_after_ms(&none, NOW), -1);
}

/* Against the C library, for the days of 450 years. */
TEST(test_dates_are_those_of_the_calendar)
{
    for (int64_t day = 0; day < 164000; day++) {
        time_t at = (time_t)(day * 86400 + day % 86400);
        struct tm tm;
        char text[64];
        assert_non_null(gmtime_r(&at, &tm));
        (void)strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
        struct vq_reply_headers headers;
        vq_reply_headers_init(&headers);
        add(&headers, "date", text);
        assert_int_equal(headers.date_unix_s, at);
    }
}

TEST(test_which_wait_counts)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    add(&headers, "retry-after", "Sun, 06 Nov 1994 08:49:57 GMT");
    assert_int_equal(vq_retry_after_ms(&headers, NOW), 20000);
    assert_int_equal(vq_retry_after_ms(&headers, NOW + 3600), 0);
    add(&headers, "DATE", "Sun, 06 Nov 1994 08:49:52 GMT");
    assert_int_equal(vq_retry_after_ms(&headers, NOW + 3600), 5000);
    add(&headers, "Retry-After", "7");
    assert_int_equal(vq_retry_after_ms(&headers, NOW), 7000);
    add(&headers, "Retry-After-Ms", "250.7");
    assert_int_equal(vq_retry_after_ms(&headers, NOW), 250);
    add(&headers, "Retry-After-Ms", "none");
    assert_int_equal(vq_retry_after_ms(&headers, NOW), 7000);
    add(&headers, "retry-after-ms", "999999999999999999999999");
    assert_int_equal(vq_retry_after_ms(&headers, NOW), VQ_RETRY_AFTER_MS_MAX);
}

TEST(test_rate_limits)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    add(&headers, "x-ratelimit-limit-requests", "500");
    add(&headers, "X-RateLimit-Remaining-Requests", " 499 ");
    add(&headers, "x-ratelimit-reset-requests", "120ms");
    add(&headers, "x-ratelimit-remaining-tokens", "-1");
    add(&headers, "x-ratelimit-reset-tokens", "6m0s");
    add(&headers, "x-ratelimit-limit-tokens_usage_based", "5");
    add(&headers, "x-ratelimit-limit", "6");
    add(&headers, "x-ratelimit-", "6");
    add(&headers, "x-request-id", "req_\x01 1");
    assert_int_equal(headers.requests.limit, 500);
    assert_int_equal(headers.requests.remaining, 499);
    assert_int_equal(headers.requests.reset_ms, 120);
    assert_int_equal(headers.tokens.limit, -1);
    assert_int_equal(headers.tokens.remaining, -1);
    assert_int_equal(headers.tokens.reset_ms, 360000);
    assert_string_equal(headers.request_id, "req_ 1");
}

TEST(test_durations)
{
    static const struct {
        const char *value;
        int64_t ms;
    } cases[] = {
        {"12ms", 12},     {"1s", 1000}, {"7.66s", 7660}, {"1m30.5s", 90500}, {"1h2m3s", 3723000},
        {"1d", 86400000}, {"2", 2000},  {"0.5", 500},    {"0s", 0},          {"500us", 0},
        {"", -1},         {"s", -1},    {"1x", -1},      {"1m5", -1},        {"1 s", -1},
        {"-1s", -1},      {"1msx", -1}, {"1mm", -1},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_reply_headers headers;
        vq_reply_headers_init(&headers);
        add(&headers, "x-ratelimit-reset-tokens", cases[i].value);
        if (headers.tokens.reset_ms != cases[i].ms) {
            fail_msg("\"%s\" is %lld", cases[i].value, (long long)headers.tokens.reset_ms);
        }
    }
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    add(&headers, "x-ratelimit-reset-tokens", "99999999999999999999999d99999999999999999d");
    assert_true(headers.tokens.reset_ms > INT64_C(86400000));
}

/* Every header of the family that puts the kind first. */
TEST(test_anthropic_limits)
{
    static const struct {
        const char *kind;
        size_t offset;
    } kinds[] = {{"requests", offsetof(struct vq_reply_headers, requests)},
                 {"tokens", offsetof(struct vq_reply_headers, tokens)},
                 {"input-tokens", offsetof(struct vq_reply_headers, input_tokens)},
                 {"output-tokens", offsetof(struct vq_reply_headers, output_tokens)}};
    for (size_t i = 0; i < VQ_COUNT(kinds); i++) {
        struct vq_reply_headers headers;
        vq_reply_headers_init(&headers);
        static const char *const parts[] = {"limit", "remaining", "reset"};
        static const char *const values[] = {"4000", "3999", "1994-11-06T08:50:00Z"};
        for (size_t k = 0; k < VQ_COUNT(parts); k++) {
            char name[64];
            (void)snprintf(name, sizeof(name), "Anthropic-RateLimit-%s-%s", kinds[i].kind,
                           parts[k]);
            add(&headers, name, values[k]);
        }
        for (size_t k = 0; k < VQ_COUNT(kinds); k++) {
            struct vq_ratelimit got;
            memcpy(&got, (const char *)&headers + kinds[k].offset, sizeof(got));
            assert_int_equal(got.limit, k == i ? 4000 : -1);
            assert_int_equal(got.remaining, k == i ? 3999 : -1);
            assert_int_equal(got.reset_unix_s, k == i ? NOW + 23 : -1);
        }
    }
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    add(&headers, "anthropic-ratelimit-priority-input-tokens-limit", "5");
    add(&headers, "anthropic-ratelimit-requests", "5");
    add(&headers, "anthropic-ratelimit-", "5");
    add(&headers, "anthropic-ratelimit-requests-limits", "5");
    add(&headers, "request-id", "req_7");
    assert_int_equal(headers.requests.limit, -1);
    assert_int_equal(headers.input_tokens.limit, -1);
    assert_string_equal(headers.request_id, "req_7");
}

/* A reset that is a date becomes a wait by the server's own clock. */
TEST(test_organisations)
{
    static const char *const names[] = {"openai-organization", "Anthropic-Organization-Id"};
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        struct vq_reply_headers one, same, other;
        vq_reply_headers_init(&one);
        vq_reply_headers_init(&same);
        vq_reply_headers_init(&other);
        assert_int_equal(one.organisation, 0);
        add(&one, names[i], "org-1");
        add(&same, names[i], " org-1 ");
        add(&other, names[i], "org-2");
        assert_true(one.organisation != 0 && one.organisation == same.organisation);
        assert_true(one.organisation != other.organisation);
        add(&other, names[i], "");
        assert_int_equal(other.organisation, 0);
    }
}

TEST(test_what_a_reply_says_of_limits)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    add(&headers, "anthropic-ratelimit-requests-limit", "50");
    add(&headers, "anthropic-ratelimit-input-tokens-limit", "30000");
    add(&headers, "anthropic-ratelimit-output-tokens-limit", "8000");
    add(&headers, "anthropic-ratelimit-tokens-limit", "0");
    add(&headers, "anthropic-organization-id", "us");
    struct vq_response response = {.status = 429,
                                   .headers = &headers,
                                   .body = vq_span_str("{\"type\":\"error\"}"),
                                   .now_unix_s = 1000};
    struct vq_reply reply;
    vq_reply_init(&reply);
    struct vq_rates none = vq_reply_rates(&reply);
    assert_true(none.requests == 0 && none.input_tokens == 0 && none.tokens == 0);
    assert_int_equal(vq_provider_find("anthropic")->read(&response, &reply), VQ_OK);
    struct vq_rates said = vq_reply_rates(&reply);
    assert_true(said.requests == 50 && said.input_tokens == 30000 && said.output_tokens == 8000);
    assert_true(said.tokens == 0); /* a limit of nothing is none that is known */
    assert_true(reply.organisation != 0 && reply.organisation == headers.organisation);
    assert_int_equal(reply.cap, 0);
    vq_reply_free(&reply);
}

/* A refusal may name how many calls there may be at a time. */
TEST(test_caps)
{
    static const struct {
        int status;
        const char *message;
        uint32_t cap;
    } cases[] = {{429, "Too many concurrent requests, limit of 60", 60},
                 {429, "You have reached the Concurrency Limit of 4.", 4},
                 {429, "too many calls at a time, limit of 12", 12},
                 {429, "Rate limit of 500 requests per minute reached", 0},
                 {429, "concurrency limit of many", 0},
                 {429, "concurrency limit of 99999999999999999999", 0},
                 {429, "concurrency: no limit", 0},
                 {500, "too many concurrent requests, limit of 60", 0}};
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        char body[256];
        (void)snprintf(body, sizeof(body), "{\"error\":{\"message\":\"%s\"}}", cases[i].message);
        struct vq_response response = {
            .status = cases[i].status, .headers = &headers, .body = vq_span_str(body)};
        struct vq_reply reply;
        vq_reply_init(&reply);
        assert_int_equal(vq_provider_find("openai")->read(&response, &reply), VQ_OK);
        assert_int_equal(reply.cap, cases[i].cap);
        vq_reply_free(&reply);
    }
}

TEST(test_reset_dates_in_a_reply)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    add(&headers, "anthropic-ratelimit-input-tokens-reset", "1994-11-06T08:50:37Z");
    add(&headers, "anthropic-ratelimit-requests-reset", "1994-11-06T08:49:00Z");
    add(&headers, "x-ratelimit-reset-tokens", "1m");
    add(&headers, "Date", "Sun, 06 Nov 1994 08:49:37 GMT");
    struct vq_response response = {
        .status = 429, .headers = &headers, .now_unix_s = NOW + 86400, .body = vq_span_str("{}")};
    struct vq_reply reply;
    vq_reply_init(&reply);
    assert_int_equal(vq_provider_find("anthropic")->read(&response, &reply), VQ_OK);
    assert_int_equal(reply.input_tokens.reset_ms, 60000);
    assert_int_equal(reply.requests.reset_ms, 0);
    assert_int_equal(reply.tokens.reset_ms, 60000);
    assert_int_equal(reply.output_tokens.reset_ms, -1);
    vq_reply_free(&reply);
}
