/* The error table: it is the one of docs/use/providers.md, each row decides a response that matches
 * it, and each class ends as the call record says. */

#include "tests/unit/test.h"

#include "worker/provider/errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_row(const struct vq_error_rule *rule, char *ret_row, size_t cap)
{
    static const char *const fields[] = {"CODE", "IN_CODE", "TYPE", "MESSAGE", "ANY"};
    static const char *const waits[] = {"said", "10 minutes", "day", "month"};
    char status[32] = "any";
    if (rule->status_min == rule->status_max) {
        (void)snprintf(status, sizeof(status), "%d", rule->status_min);
    } else if (rule->status_max < 999) {
        (void)snprintf(status, sizeof(status), "%d-%d", rule->status_min, rule->status_max);
    }
    (void)snprintf(ret_row, cap, "| %s | %s | %s | %s | %s | %s | ", rule->dialects, status,
                   fields[rule->field], rule->text, vq_reply_class_name(rule->class),
                   waits[rule->wait]);
}

TEST(test_documentation_has_the_same_rows_in_the_same_order)
{
    size_t count = 0;
    const struct vq_error_rule *rules = vq_error_rules(&count);
    FILE *file = fopen(VQ_SOURCE_DIR "/docs/use/providers.md", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t cap = 0;
    size_t n = 0;
    bool in_table = false;
    while (getline(&line, &cap, file) > 0) {
        bool is_head = strncmp(line, "| dialects |", 12) == 0;
        in_table = line[0] == '|' && (in_table || is_head);
        if (!in_table || is_head || strncmp(line, "| ---", 5) == 0) {
            continue;
        }
        char expected[256];
        assert_true(n < count);
        print_row(&rules[n++], expected, sizeof(expected));
        if (strncmp(line, expected, strlen(expected)) != 0) {
            fail_msg("the page has: %sthe table has: %s", line, expected);
        }
    }
    free(line);
    (void)fclose(file);
    assert_int_equal(n, count);
}

#define NOW 1772359200 /* 2026-03-01 10:00 UTC */

static void read_as(const char *dialect, int status, const char *body, struct vq_reply *reply)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {
        .status = status, .headers = &headers, .body = vq_span_str(body), .now_unix_s = NOW};
    vq_reply_init(reply);
    assert_int_equal(vq_provider_find(dialect)->read(&response, reply), VQ_OK);
}

static void read_response(int status, const char *body, struct vq_reply *reply)
{
    read_as("openai", status, body, reply);
}

/* A body in the dialect's shape that matches the rule's field and text. */
static void write_body(const char *dialect, const struct vq_error_rule *rule, char *ret_body,
                       size_t cap)
{
    const char *code = rule->field == VQ_ERROR_CODE      ? rule->text
                       : rule->field == VQ_ERROR_IN_CODE ? rule->text
                                                         : "other";
    const char *type = rule->field == VQ_ERROR_TYPE ? rule->text : "t";
    const char *message = rule->field == VQ_ERROR_MESSAGE ? rule->text : "m";
    if (strcmp(dialect, "anthropic") == 0) {
        (void)snprintf(ret_body, cap,
                       "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"Sorry: %s, it "
                       "says\",\"details\":{\"error_code\":\"%s\"}},\"request_id\":\"req_1\"}",
                       type, message, code);
    } else if (strcmp(dialect, "gemini") == 0 && rule->field == VQ_ERROR_IN_CODE) {
        bool value = code[0] == '='; /* matched in the value of a limit, else in its name */
        (void)snprintf(ret_body, cap,
                       "{\"error\":{\"code\":429,\"message\":\"m\",\"status\":"
                       "\"RESOURCE_EXHAUSTED\",\"details\":[{\"@type\":\"type.googleapis.com/"
                       "google.rpc.QuotaFailure\",\"violations\":[{\"quotaId\":"
                       "\"Requests%sPerProject\",\"quotaValue\":\"%s\"}]},{\"@type\":"
                       "\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"22s\"}]}}",
                       value ? "" : code, value ? code + 1 : "50");
    } else if (strcmp(dialect, "gemini") == 0) {
        (void)snprintf(ret_body, cap,
                       "{\"error\":{\"code\":400,\"message\":\"Sorry: %s, it "
                       "says\",\"status\":\"%s\",\"details\":[{\"@type\":\"type.googleapis.com/"
                       "google.rpc.ErrorInfo\",\"reason\":\"%s\"}]}}",
                       message, type, code);
    } else {
        (void)snprintf(ret_body, cap,
                       "{\"error\":{\"message\":\"Sorry: %s, it says\",\"type\":\"%s\","
                       "\"param\":null,\"code\":\"%s\"}}",
                       message, type, code);
    }
}

/* Seconds until the row lets go on, from NOW; -1 where the response says. */
static int64_t row_wait_s(const struct vq_error_rule *rule)
{
    switch (rule->wait) {
    case VQ_ERROR_WAIT_SAID: return -1;
    case VQ_ERROR_WAIT_TEN_MINUTES: return 600;
    case VQ_ERROR_WAIT_DAY: return 22 * 3600;                /* 08:00 UTC, winter */
    case VQ_ERROR_WAIT_MONTH: return 31 * 86400 - 10 * 3600; /* to 2026-04-01 */
    }
    return -1;
}

static void check_row(const char *dialect, const struct vq_error_rule *rule, int status)
{
    char body[768];
    struct vq_reply reply;
    write_body(dialect, rule, body, sizeof(body));
    read_as(dialect, status, body, &reply);
    assert_int_equal(reply.status, status);
    if (reply.class != rule->class) {
        fail_msg("%s, %s, status %d: %s", dialect, rule->text, status,
                 vq_reply_class_name(reply.class));
    }
    assert_true(reply.error_message[0] != '\0');
    assert_int_equal(reply.content.bytes > 0, rule->class == VQ_REPLY_REFUSED);
    int64_t wait_s = row_wait_s(rule);
    bool parks = rule->wait == VQ_ERROR_WAIT_DAY || rule->wait == VQ_ERROR_WAIT_MONTH;
    assert_int_equal(reply.parks, wait_s >= 0);
    assert_int_equal(reply.park_until_unix_s, parks ? NOW + wait_s : -1);
    if (wait_s >= 0) {
        int64_t wait_ms = wait_s * 1000;
        assert_int_equal(reply.retry_after_ms,
                         wait_ms > VQ_RETRY_AFTER_MS_MAX ? VQ_RETRY_AFTER_MS_MAX : wait_ms);
    }
    vq_reply_free(&reply);
}

static bool names(const char *dialects, const char *dialect)
{
    const char *found = strstr(dialects, dialect);
    size_t n = strlen(dialect);
    return found != NULL && (found == dialects || found[-1] == ' ') &&
           (found[n] == '\0' || found[n] == ' ');
}

/* In every dialect that the row is of. */
TEST(test_every_row_decides_a_response)
{
    static const char *const dialects[] = {"openai", "azure", "anthropic", "gemini"};
    size_t count = 0;
    size_t checked = 0;
    const struct vq_error_rule *rules = vq_error_rules(&count);
    for (size_t i = 0; i + 1 < count; i++) { /* the last row is for what is no response */
        const struct vq_error_rule *rule = &rules[i];
        int any = rule->field == VQ_ERROR_ANY ? rule->status_min : 429;
        int statuses[2] = {rule->status_min == 0 ? any : rule->status_min,
                           rule->status_max == 999 ? 400 : rule->status_max};
        for (size_t k = 0; k < 2; k++) {
            bool claimed = false; /* by a row above, whose range is narrower */
            for (size_t above = 0; above < i && rule->field == VQ_ERROR_ANY; above++) {
                claimed = claimed || (rules[above].field == VQ_ERROR_ANY &&
                                      statuses[k] >= rules[above].status_min &&
                                      statuses[k] <= rules[above].status_max);
            }
            for (size_t d = 0; d < VQ_COUNT(dialects) && !claimed; d++) {
                if (rule->dialects[0] == '*' || names(rule->dialects, dialects[d])) {
                    check_row(dialects[d], rule, statuses[k]);
                    checked++;
                }
            }
        }
    }
    assert_true(checked > 2 * count);
}

TEST(test_statuses_without_a_body)
{
    static const struct {
        int status;
        enum vq_reply_class class;
    } cases[] = {
        {301, VQ_REPLY_MODEL},       {400, VQ_REPLY_BAD_REQUEST},  {401, VQ_REPLY_KEY},
        {402, VQ_REPLY_MONEY},       {403, VQ_REPLY_KEY},          {404, VQ_REPLY_MODEL},
        {408, VQ_REPLY_PROVIDER},    {409, VQ_REPLY_PROVIDER},     {413, VQ_REPLY_TOO_LONG},
        {418, VQ_REPLY_BAD_REQUEST}, {422, VQ_REPLY_BAD_REQUEST},  {429, VQ_REPLY_RATE},
        {498, VQ_REPLY_CAPACITY},    {500, VQ_REPLY_PROVIDER},     {502, VQ_REPLY_PROVIDER},
        {503, VQ_REPLY_PROVIDER},    {504, VQ_REPLY_PROVIDER},     {529, VQ_REPLY_PROVIDER},
        {599, VQ_REPLY_PROVIDER},    {100, VQ_REPLY_BAD_RESPONSE}, {700, VQ_REPLY_BAD_RESPONSE},
        {0, VQ_REPLY_BAD_RESPONSE},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        char expected[64];
        struct vq_reply reply;
        read_response(cases[i].status, "", &reply);
        assert_int_equal(reply.class, cases[i].class);
        (void)snprintf(expected, sizeof(expected), "HTTP status %d%s", cases[i].status,
                       cases[i].status == 301 ? ": redirects are not followed"
                                              : " without a message");
        assert_memory_equal(reply.error_message, expected, strlen(expected));
        vq_reply_free(&reply);
    }
}

TEST(test_errors_in_all_their_shapes)
{
    static const struct {
        int status;
        const char *body;
        enum vq_reply_class class;
        const char *message;
    } cases[] = {
        {404, "{\"error\":\"model 'x' not found\"}", VQ_REPLY_MODEL, "model 'x' not found"},
        {400, "{\"object\":\"error\",\"message\":\"maximum Context Length is 8\",\"code\":400}",
         VQ_REPLY_TOO_LONG, "maximum Context Length is 8"},
        {422, "{\"detail\":\"no\"}", VQ_REPLY_BAD_REQUEST, "no"},
        {422, "{\"detail\":[{\"loc\":1}]}", VQ_REPLY_BAD_REQUEST, "[{\"loc\":1.0}]"},
        {429, "[{\"error\":{\"code\":429,\"message\":\"Slow\",\"status\":\"X\"}}]", VQ_REPLY_RATE,
         "Slow"},
        {502, "<html>\n<h1>Bad\tGateway</h1>", VQ_REPLY_PROVIDER, "<html> <h1>Bad Gateway</h1>"},
        {500, "\x1b[31m\xff\x01red", VQ_REPLY_PROVIDER, "[31m? red"},
        {401, "{\"error\":{}}", VQ_REPLY_KEY, "HTTP status 401 without a message"},
        {401, "null", VQ_REPLY_KEY, "null"},
        {200, "{\"error\":{\"message\":\"pay\",\"code\":402}}", VQ_REPLY_MONEY, "pay"},
        {200, "{\"error\":{\"message\":\"busy\",\"code\":429}}", VQ_REPLY_RATE, "busy"},
        {200, "{\"error\":{\"message\":\"up\",\"code\":\"502\"}}", VQ_REPLY_PROVIDER, "up"},
        {200, "{\"error\":{\"message\":\"odd\",\"code\":200}}", VQ_REPLY_PROVIDER, "odd"},
        {200, "{\"error\":{\"message\":\"odd\",\"code\":\"4 2\"}}", VQ_REPLY_PROVIDER, "odd"},
        {200, "{\"error\":\"gone\",\"choices\":[]}", VQ_REPLY_PROVIDER, "gone"},
        {200, "{\"object\":\"error\",\"message\":\"gone\"}", VQ_REPLY_PROVIDER, "gone"},
        {200, "{\"error\":{\"message\":\"m\",\"code\":\"insufficient_quota\"}}", VQ_REPLY_MONEY,
         "m"},
        {200,
         "{\"choices\":[{\"error\":{\"message\":\"late\",\"code\":503},\"finish_reason\":\"error\","
         "\"message\":{\"content\":\"Model: A\"}}]}",
         VQ_REPLY_PROVIDER, "late"},
        {200, "{\"choices\":[{\"finish_reason\":\"error\",\"message\":{\"content\":\"Mod\"}}]}",
         VQ_REPLY_PROVIDER, "HTTP status 200 without a message"},
        {429,
         "{\"error\":{\"message\":\"Request too large for x\",\"type\":\"tokens\","
         "\"code\":\"rate_limit_exceeded\"}}",
         VQ_REPLY_TOO_LONG, "Request too large for x"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_reply reply;
        read_response(cases[i].status, cases[i].body, &reply);
        if (reply.class != cases[i].class) {
            fail_msg("%s: %s", cases[i].body, vq_reply_class_name(reply.class));
        }
        assert_string_equal(reply.error_message, cases[i].message);
        assert_int_equal(reply.content.bytes, 0);
        vq_reply_free(&reply);
    }
}

TEST(test_long_messages_are_cut_at_a_character)
{
    char body[4096] = "{\"error\":{\"message\":\"x";
    for (int i = 0; i < 400; i++) {
        (void)strcat(body, "\xE2\x82\xAC");
    }
    (void)strcat(body, "\"}}");
    struct vq_reply reply;
    read_response(500, body, &reply);
    assert_int_equal(strlen(reply.error_message), 1 + 3 * 170); /* 511 bytes would fit */
    vq_reply_free(&reply);
}

static const char *const transport_texts[] = {
#define VQ_TRANSPORT(name, class, text) [VQ_TRANSPORT_##name] = text,
#include "worker/provider/transport.def"
#undef VQ_TRANSPORT
};

TEST(test_transport_failures)
{
    for (unsigned t = VQ_TRANSPORT_OK + 1; t < VQ_TRANSPORT__COUNT; t++) {
        for (unsigned sent = 0; sent < 2; sent++) {
            struct vq_reply reply;
            vq_reply_init(&reply);
            vq_buf_puts(&reply.content, "left over");
            vq_reply_from_transport((enum vq_transport)t, sent == 1, &reply);
            bool no_http = t == VQ_TRANSPORT_TOO_BIG || t == VQ_TRANSPORT_PROTOCOL;
            enum vq_reply_class class = t == VQ_TRANSPORT_CANCELLED ? VQ_REPLY_CANCELLED
                                        : no_http                   ? VQ_REPLY_BAD_RESPONSE
                                                                    : VQ_REPLY_NETWORK;
            enum vq_call_end end = no_http ? VQ_END_BAD_RESPONSE
                                   : sent  ? VQ_END_LOST
                                           : VQ_END_NETWORK;
            assert_int_equal(reply.class, class);
            assert_int_equal(vq_reply_end(&reply), end);
            assert_int_equal(reply.maybe_billed, sent == 1);
            assert_int_equal(reply.content.bytes, 0);
            assert_string_equal(reply.error_message, transport_texts[t]);
            vq_reply_free(&reply);
        }
    }
}

TEST(test_classes_end_as_the_call_record_says)
{
    static const struct {
        enum vq_reply_class class;
        enum vq_call_end end;
        enum vq_pool_state pool;
    } cases[VQ_REPLY__COUNT] = {
        {VQ_REPLY_ANSWER, VQ_END_ANSWER, VQ_POOL_OPEN},
        {VQ_REPLY_RATE, VQ_END_RATE, VQ_POOL_OPEN},
        {VQ_REPLY_SLOW_DOWN, VQ_END_RATE, VQ_POOL_OPEN},
        {VQ_REPLY_QUOTA, VQ_END_RATE, VQ_POOL_OPEN},
        {VQ_REPLY_CAPACITY, VQ_END_RATE, VQ_POOL_OPEN},
        {VQ_REPLY_MONEY, VQ_END_CLOSED, VQ_POOL_NO_MONEY},
        {VQ_REPLY_KEY, VQ_END_CLOSED, VQ_POOL_BAD_KEY},
        {VQ_REPLY_MODEL, VQ_END_CLOSED, VQ_POOL_NO_MODEL},
        {VQ_REPLY_BLOCKED, VQ_END_CLOSED, VQ_POOL_NO_MODEL},
        {VQ_REPLY_REFUSED, VQ_END_ANSWER, VQ_POOL_OPEN},
        {VQ_REPLY_TOO_LONG, VQ_END_TOO_LONG, VQ_POOL_OPEN},
        {VQ_REPLY_BAD_REQUEST, VQ_END_BAD_REQUEST, VQ_POOL_OPEN},
        {VQ_REPLY_PROVIDER, VQ_END_PROVIDER, VQ_POOL_OPEN},
        {VQ_REPLY_NETWORK, VQ_END_NETWORK, VQ_POOL_OPEN},
        {VQ_REPLY_BAD_RESPONSE, VQ_END_BAD_RESPONSE, VQ_POOL_OPEN},
        {VQ_REPLY_CANCELLED, VQ_END_NETWORK, VQ_POOL_OPEN},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_reply reply = {.class = cases[i].class};
        assert_int_equal(vq_reply_end(&reply), cases[i].end);
        assert_int_equal(vq_reply_pool(&reply), cases[i].pool);
    }
}
