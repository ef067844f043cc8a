/* What a limit looks like from outside in each dialect: headers with every answer, the bodies of
 * refusals, and their lines in the log. */

#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "offline/service.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char log_path[64];

static int clear_log(void **state)
{
    (void)state;
    (void)unlink(log_path);
    return 0;
}

static void name_log(void)
{
    (void)snprintf(log_path, sizeof(log_path), "/tmp/vq-refusal-%d.log", (int)getpid());
}

enum {
    OPENAI,
    AZURE,
    ANTHROPIC,
    GEMINI,
    DIALECTS
};

#define TEXT "12345678901234567890123456789012" /* eight tokens */

static const struct shape {
    const char *name;
    const char *path;
    const char *body;
    const char *key;
} shapes[DIALECTS] = {
    {"openai", "/v1/chat/completions",
     "{\"model\":\"offline-a\",\"service_tier\":\"flex\",\"max_tokens\":9,\"messages\":[{\"role\":"
     "\"user\",\"content\":"
     "\"" TEXT "\"}]}",
     "Bearer sk-canary"},
    {"azure", "/openai/deployments/offline-a/chat/completions",
     "{\"service_tier\":\"flex\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":"
     "\"" TEXT "\"}]}",
     "sk-canary"},
    {"anthropic", "/v1/messages",
     "{\"model\":\"offline-a\",\"service_tier\":\"flex\",\"max_tokens\":9,\"messages\":[{\"role\":"
     "\"user\",\"content\":"
     "\"" TEXT "\"}]}",
     "sk-canary"},
    {"gemini", "/v1beta/models/offline-a:generateContent",
     "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"" TEXT
     "\"}]}],\"serviceTier\":\"flex\",\"generationConfig\":{\"maxOutputTokens\":9}}",
     "sk-canary"},
};

static struct vq_service *create(const char *limits, const char *fault)
{
    struct vq_service_config config = {.log_path = log_path};
    struct vq_service *service = NULL;
    struct vq_error err = {0};
    if ((limits != NULL && vq_pools_add(&config.pools, limits, &err) != VQ_OK) ||
        (fault != NULL && vq_fault_rules_add(&config.rules, fault, &err) != VQ_OK) ||
        vq_service_create(&config, 0, &service, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return service;
}

static struct vq_offline_reply take(struct vq_service *service, int dialect, int64_t now_ns)
{
    struct vq_call call = {.method = "POST",
                           .path = shapes[dialect].path,
                           .authorization = shapes[dialect].key,
                           .api_version = "1",
                           .body = vq_span_str(shapes[dialect].body)};
    struct vq_offline_reply reply;
    assert_int_equal(vq_service_take(service, &call, now_ns, &reply, NULL), VQ_OK);
    return reply;
}

static struct vq_offline_reply ask(struct vq_service *service, int dialect, int64_t now_ns)
{
    struct vq_offline_reply reply = take(service, dialect, now_ns);
    assert_int_equal(vq_service_answered(service, &reply, now_ns, now_ns, NULL), VQ_OK);
    assert_int_equal(vq_service_over(service, &reply, NULL, now_ns, NULL), VQ_OK);
    return reply;
}

static const char *header(const struct vq_offline_reply *reply, const char *name)
{
    for (size_t i = 0; i < reply->headers_n; i++) {
        if (strcmp(reply->headers[i].name, name) == 0) {
            return reply->headers[i].value;
        }
    }
    return NULL;
}

static void expect_header(const struct vq_offline_reply *reply, const char *name, const char *value)
{
    const char *found = header(reply, name);
    if (value == NULL ? found != NULL : found == NULL || strcmp(found, value) != 0) {
        fail_msg("%s is %s, not %s", name, found == NULL ? "absent" : found,
                 value == NULL ? "absent" : value);
    }
}

TEST_WITH(test_headers_of_what_is_left, clear_log, clear_log)
{
    /* A call is 8 tokens in and 9 out; a window of 30 s has half a minute's limits. */
    static const char limits[] = "acme:rpm=20,itpm=200,otpm=100,tpm=400,window_ms=30000";
    for (int d = 0; d < DIALECTS; d++) {
        struct vq_service *service = create(limits, NULL);
        bool plain = d == OPENAI || d == AZURE;
        bool anthropic = d == ANTHROPIC;
        for (int i = 1; i <= 2; i++) {
            struct vq_offline_reply reply = ask(service, d, VQ_NS_PER_S);
            assert_int_equal(reply.status, 200);
            expect_header(&reply, "openai-organization", plain ? "org-acme" : NULL);
            expect_header(&reply, "anthropic-organization-id", anthropic ? "org-acme" : NULL);
            expect_header(&reply, "x-ratelimit-limit-requests", plain ? "20" : NULL);
            expect_header(&reply, "x-ratelimit-remaining-requests",
                          !plain   ? NULL
                          : i == 1 ? "9"
                                   : "8");
            expect_header(&reply, "x-ratelimit-reset-requests", plain ? "30.000s" : NULL);
            expect_header(&reply, "x-ratelimit-limit-tokens", plain ? "400" : NULL);
            expect_header(&reply, "x-ratelimit-remaining-tokens",
                          !plain   ? NULL
                          : i == 1 ? "183"
                                   : "166");
            expect_header(&reply, "anthropic-ratelimit-requests-limit", anthropic ? "20" : NULL);
            expect_header(&reply, "anthropic-ratelimit-input-tokens-remaining",
                          !anthropic ? NULL
                          : i == 1   ? "92"
                                     : "84");
            expect_header(&reply, "anthropic-ratelimit-output-tokens-remaining",
                          !anthropic ? NULL
                          : i == 1   ? "41"
                                     : "32");
            expect_header(&reply, "anthropic-ratelimit-tokens-limit", anthropic ? "400" : NULL);
            const char *reset = header(&reply, "anthropic-ratelimit-tokens-reset");
            assert_int_equal(reset != NULL, anthropic);
            if (anthropic) {
                assert_int_equal(strlen(reset), strlen("2026-01-01T00:00:00Z"));
                assert_int_equal(reset[10], 'T');
                assert_int_equal(reset[19], 'Z');
            }
            vq_offline_reply_free(&reply);
        }
        vq_service_destroy(&service);
    }
}

/* One refusal of each kind in each dialect. */
struct refusal {
    const char *limits; /* refuse the second call in a window */
    const char *refused_by;
    unsigned status[DIALECTS];
    const char *contains[DIALECTS]; /* by the body */
    const char *lacks[DIALECTS];    /* NULL: anything */
    const char *wait_s;             /* of retry-after; NULL: none; "*": some */
};

#define SAME(x)                                                                                    \
    {                                                                                              \
        x, x, x, x                                                                                 \
    }
#define OPENAI_RATE    "\"code\":\"rate_limit_exceeded\""
#define ANTHROPIC_RATE "\"type\":\"rate_limit_error\""
#define MINUTE(id)     "\"quotaId\":\"" id "\",\"quotaValue\":\""
#define PER_MINUTE(id) MINUTE("Generate" id "PerMinutePerProjectPerModel")
#define LYING_RETRY    "\"retryDelay\":\"22.000s\""

static const struct refusal refusals[] = {
    {"p:rpm=1",
     "requests",
     SAME(429),
     {OPENAI_RATE, OPENAI_RATE, ANTHROPIC_RATE, PER_MINUTE("Requests") "1\""},
     {"limit of", "limit of", "limit of", "PerDay"},
     "60"},
    {"p:itpm=12",
     "input_tokens",
     SAME(429),
     {"\"type\":\"tokens\"", OPENAI_RATE, "input tokens per minute: limit 12, used 8",
      PER_MINUTE("ContentInputTokens") "12\""},
     SAME("limit of"),
     "60"},
    {"p:otpm=12",
     "output_tokens",
     SAME(429),
     {OPENAI_RATE, OPENAI_RATE, ANTHROPIC_RATE, PER_MINUTE("ContentTokens")},
     SAME("limit of"),
     "60"},
    {"p:tpm=20,window_ms=60000",
     "tokens",
     SAME(429),
     {OPENAI_RATE, OPENAI_RATE, ANTHROPIC_RATE, "\"retryDelay\":\"60.000s\""},
     SAME("too large"),
     "60"},
    {"p:tpm=10", "tokens", SAME(429),
     SAME("\"Request too large of org-p for offline-a on tokens per minute"), SAME("limit of"),
     "60"},
    {"p:rpd=1,day_ms=86400000",
     "day_requests",
     SAME(429),
     {"requests per day: limit 1", OPENAI_RATE, ANTHROPIC_RATE,
      "\"quotaId\":\"GenerateRequestsPerDayPerProjectPerModel\",\"quotaValue\":\"1\""},
     SAME("PerMinute"),
     "*"},
    {"p:tpd=30",
     "day_tokens",
     SAME(429),
     {"tokens per day: limit 30", OPENAI_RATE, ANTHROPIC_RATE, LYING_RETRY},
     SAME("PerMinute"),
     "*"},
    {"p:ramp=50,ramp_floor=1",
     "ramp",
     SAME(429),
     {"\"code\":\"slow_down\"", "\"code\":\"slow_down\"", ANTHROPIC_RATE, "RESOURCE_EXHAUSTED"},
     SAME("QuotaFailure"),
     "60"},
    {"p:usd=0.00005,usd_in=1,usd_out=2",
     "money",
     {429, 429, 400, 429},
     {"insufficient_quota", "insufficient_quota",
      "You have reached your specified API usage limits. The account of org-p",
      "Your prepayment credits are depleted. "},
     SAME("QuotaFailure"),
     NULL},
};

static void check_refusal(const struct refusal *row, int d, struct vq_offline_reply *reply)
{
    assert_int_equal(reply->status, row->status[d]);
    assert_false(reply->paid);
    assert_int_equal(reply->completion_tokens, 0);
    const char *body = reply->body.at;
    if (strstr(body, row->contains[d]) == NULL || strstr(body, row->lacks[d]) != NULL) {
        fail_msg("%s, %s: %s", row->limits, shapes[d].name, body);
    }
    const char *wait = header(reply, d == ANTHROPIC ? "retry-after" : "Retry-After");
    if (row->wait_s == NULL || d == GEMINI) {
        assert_null(wait);
        assert_null(header(reply, "retry-after-ms"));
    } else {
        assert_non_null(wait);
        assert_true(row->wait_s[0] == '*' ? atoll(wait) > 0 : strcmp(wait, row->wait_s) == 0);
        assert_int_equal(header(reply, "retry-after-ms") != NULL, d != ANTHROPIC);
    }
    assert_int_equal(strstr(body, "RetryInfo") != NULL, d == GEMINI && row->wait_s != NULL);
}

/* The last line of the log with this event. */
static json_t *last_line(const char *event)
{
    char line[4096];
    json_t *found = NULL;
    FILE *file = fopen(log_path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        json_t *row = json_loads(line, 0, NULL);
        const char *name = json_string_value(json_object_get(row, "event"));
        if (name != NULL && strcmp(name, event) == 0) {
            json_decref(found);
            found = json_incref(row);
        }
        json_decref(row);
    }
    (void)fclose(file);
    assert_non_null(found);
    return found;
}

static json_int_t number(const json_t *row, const char *name)
{
    assert_non_null(json_object_get(row, name));
    return json_integer_value(json_object_get(row, name));
}

TEST_WITH(test_every_refusal_in_every_dialect, clear_log, clear_log)
{
    for (size_t i = 0; i < VQ_COUNT(refusals); i++) {
        for (int d = 0; d < DIALECTS; d++) {
            struct vq_service *service = create(refusals[i].limits, NULL);
            bool never = strstr(refusals[i].contains[d], "too large") != NULL;
            struct vq_offline_reply first = ask(service, d, VQ_NS_PER_S);
            assert_int_equal(first.status, never ? 429 : 200);
            vq_offline_reply_free(&first);
            struct vq_offline_reply second = ask(service, d, VQ_NS_PER_S);
            check_refusal(&refusals[i], d, &second);
            vq_offline_reply_free(&second);
            json_t *row = last_line("request");
            assert_string_equal(json_string_value(json_object_get(row, "refused_by")),
                                refusals[i].refused_by);
            assert_string_equal(json_string_value(json_object_get(row, "pool")), "p");
            assert_string_equal(json_string_value(json_object_get(row, "dialect")), shapes[d].name);
            assert_int_equal(number(row, "asked_in"), 8);
            assert_int_equal(number(row, "asked_out"), 9);
            json_decref(row);
            vq_service_destroy(&service);
        }
    }
}

/* A call runs until it is answered. */
TEST_WITH(test_concurrency, clear_log, clear_log)
{
    for (int d = 0; d < DIALECTS; d++) {
        struct vq_service *service = create("p:concurrency=1", NULL);
        struct vq_offline_reply first = take(service, d, VQ_NS_PER_S);
        struct vq_offline_reply second = ask(service, d, VQ_NS_PER_S);
        assert_int_equal(first.status, 200);
        assert_int_equal(second.status, 429);
        assert_non_null(strstr(second.body.at, "limit of 1."));
        assert_null(strstr(second.body.at, "QuotaFailure"));
        assert_null(header(&second, "Retry-After"));
        vq_offline_reply_free(&second);
        assert_int_equal(vq_service_answered(service, &first, 0, 0, NULL), VQ_OK);
        second = ask(service, d, VQ_NS_PER_S);
        assert_int_equal(second.status, 200);
        vq_offline_reply_free(&second);
        assert_int_equal(vq_service_over(service, &first, "client", 0, NULL), VQ_OK);
        second = ask(service, d, VQ_NS_PER_S);
        assert_int_equal(second.status, 200);
        vq_offline_reply_free(&second);
        vq_offline_reply_free(&first);
        /* One whose client went away before it was answered is over too. */
        first = take(service, d, VQ_NS_PER_S);
        assert_int_equal(vq_service_over(service, &first, "client", 0, NULL), VQ_OK);
        second = ask(service, d, VQ_NS_PER_S);
        assert_int_equal(second.status, 200);
        vq_offline_reply_free(&first);
        vq_offline_reply_free(&second);
        vq_service_destroy(&service);
    }
}

TEST_WITH(test_hints_can_be_absent_or_wrong, clear_log, clear_log)
{
    static const struct {
        const char *limits;
        bool headers;
        const char *wait_s; /* NULL: none is told */
        const char *delay;  /* of Gemini */
    } cases[] = {
        {"rpm=1", true, "60", "\"60.000s\""},
        {"rpm=1,headers=off", false, "60", "\"60.000s\""},
        {"rpm=1,hint=absent", true, NULL, NULL},
        {"rpm=1,hint=absent,headers=off", false, NULL, NULL},
        {"rpm=1,hint=50", true, "30", "\"30.000s\""},
        {"rpm=1,hint=200", true, "120", "\"120.000s\""},
        {"rpd=1,hint=absent", false, NULL, NULL},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        for (int d = 0; d < DIALECTS; d++) {
            struct vq_service *service = create(cases[i].limits, NULL);
            for (int n = 0; n < 2; n++) {
                struct vq_offline_reply reply = ask(service, d, VQ_NS_PER_S);
                assert_int_equal(reply.status, n == 0 ? 200 : 429);
                bool plain = d == OPENAI || d == AZURE;
                assert_int_equal(header(&reply, "x-ratelimit-limit-requests") != NULL,
                                 cases[i].headers && plain);
                assert_int_equal(header(&reply, "anthropic-ratelimit-requests-limit") != NULL,
                                 cases[i].headers && d == ANTHROPIC);
                const char *wait = n == 0 || d == GEMINI ? NULL : cases[i].wait_s;
                expect_header(&reply, d == ANTHROPIC ? "retry-after" : "Retry-After", wait);
                if (n == 1 && d == GEMINI) {
                    const char *delay = strstr(reply.body.at, "retryDelay");
                    assert_int_equal(delay != NULL, cases[i].delay != NULL);
                    assert_true(delay == NULL || strstr(delay, cases[i].delay) != NULL);
                }
                vq_offline_reply_free(&reply);
            }
            vq_service_destroy(&service);
        }
    }
}

/* Which output tokens count, as the log tells it: those of the answer, or the most that were
 * allowed. */
TEST_WITH(test_ways_of_counting, clear_log, clear_log)
{
    static const struct {
        const char *limits;
        json_int_t asked, counted; /* 0: those of the answer */
    } cases[] = {{"tpm=9000", 0, 0},
                 {"tpm=9000,count=max", 500, 500},
                 {"tpm=9000,count=settle", 500, 0},
                 {"otpm=9000,count=max,per=all", 500, 500}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_service *service = create(cases[i].limits, NULL);
        struct vq_call call = {
            .method = "POST",
            .path = "/v1/chat/completions",
            .body = vq_span_str("{\"model\":\"offline-a\",\"max_tokens\":500,\"messages\":[{"
                                "\"role\":\"user\",\"content\":\"" TEXT "\"}]}")};
        struct vq_offline_reply reply;
        assert_int_equal(vq_service_take(service, &call, 0, &reply, NULL), VQ_OK);
        assert_int_equal(vq_service_answered(service, &reply, 0, 0, NULL), VQ_OK);
        assert_in_range(reply.completion_tokens, 10, 100);
        json_int_t actual = (json_int_t)reply.completion_tokens;
        vq_offline_reply_free(&reply);
        json_t *request = last_line("request");
        json_t *answer = last_line("answer");
        assert_int_equal(number(request, "asked_out"),
                         cases[i].asked == 0 ? actual : cases[i].asked);
        assert_int_equal(number(answer, "counted_out"),
                         cases[i].counted == 0 ? actual : cases[i].counted);
        json_decref(request);
        json_decref(answer);
        vq_service_destroy(&service);
    }
}

/* Faults that say what limits say. */
TEST_WITH(test_faults_of_limits, clear_log, clear_log)
{
    static const struct {
        const char *fault;
        unsigned status[DIALECTS];
        const char *contains[DIALECTS];
    } cases[] = {
        {"day_quota=1", SAME(429), {OPENAI_RATE, OPENAI_RATE, ANTHROPIC_RATE, "RequestsPerDay"}},
        {"day_quota=1", SAME(429), {"day", "day", "day", LYING_RETRY}},
        {"concurrency=1,bytes=7", SAME(429), SAME("limit of 7 ")},
        {"slow_down=1", SAME(429), {"slow_down", "slow_down", ANTHROPIC_RATE, "\"details\":[]"}},
        {"spend_limit=1",
         SAME(429),
         {"organization_spend_limit_exceeded", "organization_spend_limit_exceeded",
          "\"error_code\":\"enforced_spend_limit_reached\"", "monthly spending cap"}},
        {"no_flex=1",
         SAME(429),
         {"resource_unavailable", "resource_unavailable", ANTHROPIC_RATE, "RESOURCE_EXHAUSTED"}},
        {"capacity=1",
         SAME(498),
         {"capacity_exceeded", "capacity_exceeded", "api_error", "INTERNAL"}},
        {"overloaded=1,pool=p", {529, 529, 529, 503}, SAME("overloaded")},
        {"overloaded=1,pool=q", SAME(200), SAME("offline")},
        {"bad_key=1,after_ms=500", {401, 401, 401, 400}, SAME("key")},
        {"bad_key=1,after_ms=1500", SAME(200), SAME("offline")},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        for (int d = 0; d < DIALECTS; d++) {
            struct vq_service *service = create("p:rpm=10", cases[i].fault);
            struct vq_offline_reply reply = ask(service, d, VQ_NS_PER_S);
            if (reply.status != cases[i].status[d] ||
                strstr(reply.body.at, cases[i].contains[d]) == NULL) {
                fail_msg("%s, %s: %u %s", cases[i].fault, shapes[d].name, reply.status,
                         reply.body.at);
            }
            vq_offline_reply_free(&reply);
            vq_service_destroy(&service);
        }
    }
}

TEST_WITH(test_calls_that_fail_can_count, clear_log, clear_log)
{
    for (int counts = 0; counts < 2; counts++) {
        struct vq_service *service =
            create(counts == 1 ? "rpm=2,count_failed=1" : "rpm=2", "overloaded=1,nth=1");
        static const unsigned statuses[2][4] = {{529, 200, 200, 429}, {529, 200, 429, 429}};
        for (int i = 0; i < 4; i++) {
            struct vq_offline_reply reply = ask(service, OPENAI, VQ_NS_PER_S);
            assert_int_equal(reply.status, statuses[counts][i]);
            assert_false(reply.hold.is_held);
            vq_offline_reply_free(&reply);
            json_t *row = last_line("request");
            const char *by = json_string_value(json_object_get(row, "refused_by"));
            const json_t *admitted = json_object_get(row, "admitted");
            assert_true(i == 0 ? (counts == 1 ? strcmp(by, "fault") == 0 : by == NULL) : true);
            assert_true(i == 0 ? (counts == 1 ? json_is_false(admitted) : json_is_null(admitted))
                               : json_is_boolean(admitted));
            json_decref(row);
        }
        vq_service_destroy(&service);
    }
}

TEST_WITH(test_slow_answers_are_good_answers, clear_log, clear_log)
{
    struct vq_service *service = create("p:rpm=2", "slow=1,delay_ms=60000,after_ms=900");
    struct vq_offline_reply reply = ask(service, OPENAI, 800 * VQ_NS_PER_MS);
    assert_int_equal(reply.delay_ns, 0);
    vq_offline_reply_free(&reply);
    reply = ask(service, OPENAI, VQ_NS_PER_S);
    assert_int_equal(reply.status, 200);
    assert_true(reply.paid);
    assert_int_equal(reply.delay_ns, 60 * VQ_NS_PER_S);
    assert_string_equal(reply.outcome, "truncated"); /* by max_tokens */
    vq_offline_reply_free(&reply);
    reply = ask(service, OPENAI, VQ_NS_PER_S);
    assert_int_equal(reply.status, 429);
    assert_int_equal(reply.delay_ns, 0); /* a refusal does not wait */
    vq_offline_reply_free(&reply);
    struct vq_call embed = {.method = "POST",
                            .path = "/v1/embeddings",
                            .body = vq_span_str("{\"model\":\"offline-embed\",\"input\":\"x\"}")};
    assert_int_equal(vq_service_take(service, &embed, 70 * VQ_NS_PER_S, &reply, NULL), VQ_OK);
    assert_int_equal(reply.delay_ns, 60 * VQ_NS_PER_S);
    assert_true(reply.hold.is_held); /* embeddings meet limits too */
    assert_int_equal(vq_service_over(service, &reply, NULL, 0, NULL), VQ_OK);
    vq_offline_reply_free(&reply);
    vq_service_destroy(&service);
}

/* What a call reads from the cache is no input for the limit, and a refused call fills no cache. */
TEST_WITH(test_cached_tokens_are_free, clear_log, clear_log)
{
    static const char body[] =
        "{\"model\":\"offline-a\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":["
        "{\"type\":\"text\",\"text\":\"" TEXT "\",\"cache_control\":{\"type\":\"ephemeral\"}},"
        "{\"type\":\"text\",\"text\":\"1234\"}]}]}";
    struct vq_service *service = create("itpm=20,rpm=100", NULL);
    static const struct {
        unsigned status;
        json_int_t asked_in;
    } calls[] = {{200, 9}, {200, 1}, {200, 1}};
    for (size_t i = 0; i < VQ_COUNT(calls); i++) {
        struct vq_call call = {.method = "POST", .path = "/v1/messages", .body = vq_span_str(body)};
        struct vq_offline_reply reply;
        assert_int_equal(vq_service_take(service, &call, VQ_NS_PER_S, &reply, NULL), VQ_OK);
        assert_int_equal(reply.status, calls[i].status);
        assert_int_equal(vq_service_answered(service, &reply, 0, 0, NULL), VQ_OK);
        vq_offline_reply_free(&reply);
        json_t *row = last_line("request");
        assert_int_equal(number(row, "asked_in"), calls[i].asked_in);
        json_decref(row);
    }
    vq_service_destroy(&service);
    service = create("itpm=8", NULL);
    for (int i = 0; i < 2; i++) {
        struct vq_call call = {.method = "POST", .path = "/v1/messages", .body = vq_span_str(body)};
        struct vq_offline_reply reply;
        assert_int_equal(vq_service_take(service, &call, VQ_NS_PER_S, &reply, NULL), VQ_OK);
        assert_int_equal(reply.status, 429); /* twice: the first has not filled the cache */
        vq_offline_reply_free(&reply);
    }
    vq_service_destroy(&service);
}

TEST_START(name_log)
