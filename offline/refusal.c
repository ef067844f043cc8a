/* Refusals, with the headers of each dialect. Not its job: the decision to refuse (rules.c,
 * limiter.c). */
#include "offline/refusal.h"

#include "common/base/clock.h"
#include "offline/dialect.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A wall time in the form of a Date header. */
static void http_date(int64_t unix_s, char *to, size_t bytes)
{
    struct tm utc;
    time_t at = (time_t)unix_s;
    if (gmtime_r(&at, &utc) == NULL ||
        strftime(to, bytes, "%a, %d %b %Y %H:%M:%S GMT", &utc) == 0) {
        to[0] = '\0';
    }
}

static bool has_habit(enum vq_fault fault)
{
    return fault == VQ_FAULT_RATE_LIMIT || fault == VQ_FAULT_TOKEN_LIMIT ||
           fault == VQ_FAULT_SLOW_DOWN || fault == VQ_FAULT_UNAVAILABLE ||
           fault == VQ_FAULT_OVERLOADED;
}

/* Retry-After as the rule requires it:
 * - not given: one second, if a provider would send it
 * - "absent": none
 * - "right": until the rule ends
 * - "date:S": a date
 * - "ms:N": retry-after-ms
 * - any other text as it is. */
static void add_retry_after(struct vq_offline_reply *reply, const struct vq_fault_rule *rule,
                            int64_t since_start_ms, int64_t unix_ms)
{
    const char *want = rule->retry_after;
    if (want[0] == '\0' && has_habit(rule->fault)) {
        want = "1";
    }
    if (want[0] == '\0' || strcmp(want, "absent") == 0) {
        return;
    }
    if (strcmp(want, "right") == 0) {
        int64_t left_ms = rule->until_ms > since_start_ms ? rule->until_ms - since_start_ms : 1000;
        vq_offline_reply_header(reply, "Retry-After", "%" PRId64, (left_ms + 999) / 1000);
    } else if (strncmp(want, "date:", 5) == 0) {
        char date[64];
        http_date(unix_ms / 1000 + strtoll(want + 5, NULL, 10), date, sizeof(date));
        vq_offline_reply_header(reply, "Retry-After", "%s", date);
    } else if (strncmp(want, "ms:", 3) == 0) {
        vq_offline_reply_header(reply, "retry-after-ms", "%s", want + 3);
    } else {
        vq_offline_reply_header(reply, "Retry-After", "%s", want);
    }
}

/* A refusal by a daily quota has a wait that is far too short, as observed with Gemini. */
#define DAY_RETRY_MS 22000

static const struct {
    enum vq_limit_kind kind;
    enum vq_fault fault;
    const char *quota; /* Gemini's name */
    const char *what;  /* the limited quantity */
} limit_rows[] = {
    {VQ_LIMIT_REQUESTS, VQ_FAULT_RATE_LIMIT, VQ_DIALECT_QUOTA_REQUESTS, "requests per minute"},
    {VQ_LIMIT_INPUT, VQ_FAULT_TOKEN_LIMIT, VQ_DIALECT_QUOTA_INPUT, "input tokens per minute"},
    {VQ_LIMIT_OUTPUT, VQ_FAULT_TOKEN_LIMIT, VQ_DIALECT_QUOTA_TOKENS, "output tokens per minute"},
    {VQ_LIMIT_TOKENS, VQ_FAULT_TOKEN_LIMIT, VQ_DIALECT_QUOTA_TOKENS, "tokens per minute"},
    {VQ_LIMIT_DAY_REQUESTS, VQ_FAULT_DAY_QUOTA, VQ_DIALECT_QUOTA_DAY_REQUESTS, "requests per day"},
    {VQ_LIMIT_DAY_TOKENS, VQ_FAULT_DAY_QUOTA, VQ_DIALECT_QUOTA_DAY_TOKENS, "tokens per day"},
    {VQ_LIMIT_CONCURRENCY, VQ_FAULT_CONCURRENCY, NULL, "calls at a time"},
    {VQ_LIMIT_RAMP, VQ_FAULT_SLOW_DOWN, NULL, "the growth of the rate"},
    {VQ_LIMIT_MONEY, VQ_FAULT_QUOTA, NULL, "money"},
};

static size_t row_of_limit(enum vq_limit_kind kind)
{
    size_t i = 0;
    while (i + 1 < VQ_COUNT(limit_rows) && limit_rows[i].kind != kind) {
        i++;
    }
    return i;
}

/* The limit of a fault; VQ_LIMIT_REQUESTS if it has none. */
static enum vq_limit_kind kind_of_fault(enum vq_fault fault)
{
    for (size_t i = 0; i < VQ_COUNT(limit_rows); i++) {
        if (limit_rows[i].fault == fault) {
            return limit_rows[i].kind;
        }
    }
    return VQ_LIMIT_REQUESTS;
}

/* Sets the quota for the details of Gemini's error. */
static void set_quota(struct vq_offline_reply *reply, enum vq_limit_kind kind, uint64_t value)
{
    reply->error_quota = limit_rows[row_of_limit(kind)].quota;
    reply->error_quota_value = value;
    if (kind == VQ_LIMIT_DAY_REQUESTS || kind == VQ_LIMIT_DAY_TOKENS) {
        reply->error_wait_ms = DAY_RETRY_MS;
    }
}

void vq_refusal_of_rule(struct vq_offline_reply *reply, const struct vq_fault_rule *rule,
                        int64_t since_start_ms, int64_t unix_ms)
{
    const struct vq_fault_info *info = vq_fault_info(rule->fault);
    char message[256];
    (void)snprintf(message, sizeof(message), "Made on purpose by vibeq-offline: %s.", info->text);
    if (rule->fault == VQ_FAULT_CONCURRENCY) {
        (void)snprintf(message, sizeof(message),
                       "Made on purpose by vibeq-offline: too many calls at a time, limit of "
                       "%" PRIu64 " reached.",
                       rule->bytes == 0 ? 1 : rule->bytes);
    }
    set_quota(reply, kind_of_fault(rule->fault), 0);
    vq_offline_reply_error(reply, info->status, message, info->type, info->code);
    reply->fault = rule->fault;
    if (rule->fault == VQ_FAULT_BAD_GATEWAY) {
        vq_buf_clear(&reply->body);
        vq_buf_puts(&reply->body, "<html><body><h1>502 Bad Gateway</h1></body></html>\n");
        reply->content_type = "text/html";
    }
    if (rule->fault == VQ_FAULT_REDIRECT) {
        vq_offline_reply_header(reply, "Location", "%s",
                                rule->variant[0] != '\0' ? rule->variant
                                                         : "http://127.0.0.2:9/elsewhere");
    }
    add_retry_after(reply, rule, since_start_ms, unix_ms);
}

/* "12ms", "3.25s", "6m0s": the durations of x-ratelimit-reset-*. */
static void write_reset(char *to, size_t bytes, int64_t ns)
{
    int64_t ms = ns / VQ_NS_PER_MS;
    if (ms < 1000) {
        (void)snprintf(to, bytes, "%" PRId64 "ms", ms);
    } else if (ms < 60000) {
        (void)snprintf(to, bytes, "%" PRId64 ".%03" PRId64 "s", ms / 1000, ms % 1000);
    } else {
        (void)snprintf(to, bytes, "%" PRId64 "m%" PRId64 "s", ms / 60000, ms / 1000 % 60);
    }
}

/* Anthropic's headers: a reset is a date. */
static void add_anthropic_limit(struct vq_offline_reply *reply, const char *kind, uint64_t limit,
                                uint64_t left, int64_t reset_ns)
{
    char name[64];
    char date[32] = "";
    struct tm utc;
    time_t at = (time_t)((vq_clock_unix_ms() + reset_ns / VQ_NS_PER_MS + 999) / 1000);
    if (gmtime_r(&at, &utc) != NULL) {
        (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    (void)snprintf(name, sizeof(name), "anthropic-ratelimit-%s-limit", kind);
    vq_offline_reply_header(reply, name, "%" PRIu64, limit);
    (void)snprintf(name, sizeof(name), "anthropic-ratelimit-%s-remaining", kind);
    vq_offline_reply_header(reply, name, "%" PRIu64, left);
    (void)snprintf(name, sizeof(name), "anthropic-ratelimit-%s-reset", kind);
    vq_offline_reply_header(reply, name, "%s", date);
}

static void add_openai_limit(struct vq_offline_reply *reply, const char *kind, uint64_t limit,
                             uint64_t left, int64_t reset_ns)
{
    char name[64];
    char reset[32];
    write_reset(reset, sizeof(reset), reset_ns);
    (void)snprintf(name, sizeof(name), "x-ratelimit-limit-%s", kind);
    vq_offline_reply_header(reply, name, "%" PRIu64, limit);
    (void)snprintf(name, sizeof(name), "x-ratelimit-remaining-%s", kind);
    vq_offline_reply_header(reply, name, "%" PRIu64, left);
    (void)snprintf(name, sizeof(name), "x-ratelimit-reset-%s", kind);
    vq_offline_reply_header(reply, name, "%s", reset);
}

void vq_refusal_add_limits(struct vq_offline_reply *reply, const struct vq_limits *limits,
                           const struct vq_admission *admission)
{
    static const struct {
        enum vq_limit_kind kind;
        const char *name;
        bool is_anthropic_only;
    } rows[] = {{VQ_LIMIT_REQUESTS, "requests", false},
                {VQ_LIMIT_INPUT, "input-tokens", true},
                {VQ_LIMIT_OUTPUT, "output-tokens", true},
                {VQ_LIMIT_TOKENS, "tokens", false}};
    bool is_anthropic = reply->dialect == VQ_DIALECT_ANTHROPIC;
    if (!limits->headers || reply->dialect == VQ_DIALECT_GEMINI) {
        return; /* Gemini does not have these headers */
    }
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        uint64_t limit = limits->per_minute[rows[i].kind];
        uint64_t left = admission->left[rows[i].kind];
        if (limit > 0 && is_anthropic) {
            add_anthropic_limit(reply, rows[i].name, limit, left, admission->reset_ns);
        } else if (limit > 0 && !rows[i].is_anthropic_only) {
            add_openai_limit(reply, rows[i].name, limit, left, admission->reset_ns);
        }
    }
}

static uint64_t limit_of(const struct vq_limits *limits, enum vq_limit_kind kind)
{
    switch ((int)kind) {
    case VQ_LIMIT_DAY_REQUESTS: return limits->day_requests;
    case VQ_LIMIT_DAY_TOKENS: return limits->day_tokens;
    case VQ_LIMIT_CONCURRENCY: return limits->concurrency;
    default: break;
    }
    return kind < VQ_LIMIT_WINDOWED ? limits->per_minute[kind] : 0;
}

/* Only the text for concurrency has "Limit of N": clients read it. */
static void write_text(char *to, size_t bytes, const struct vq_limits *limits,
                       const struct vq_admission *admission, const char *model,
                       const char *organisation)
{
    const char *what = limit_rows[row_of_limit(admission->refused_by)].what;
    uint64_t limit = limit_of(limits, admission->refused_by);
    switch ((int)admission->refused_by) {
    case VQ_LIMIT_MONEY:
        (void)snprintf(to, bytes, "The account of %s has no money left.", organisation);
        return;
    case VQ_LIMIT_RAMP:
        (void)snprintf(to, bytes,
                       "Slow down: the rate of calls of %s for %s rose too fast (%" PRIu64
                       " in this window); raise it step by step.",
                       organisation, model, admission->used);
        return;
    case VQ_LIMIT_CONCURRENCY:
        (void)snprintf(to, bytes, "Too many calls of %s for %s at a time: limit of %" PRIu64 ".",
                       organisation, model, limit);
        return;
    default: break;
    }
    (void)snprintf(to, bytes,
                   "%s of %s for %s on %s: limit %" PRIu64 ", used %" PRIu64 " in this window, "
                   "asked %" PRIu64 ".",
                   admission->never ? "Request too large" : "Rate limit reached", organisation,
                   model, what, limit, admission->used, admission->asked);
}

/* retry-after in the form of each dialect; Gemini has it in the body. */
static void add_hint(struct vq_offline_reply *reply, int64_t hint_ns)
{
    if (reply->dialect == VQ_DIALECT_GEMINI) {
        return;
    }
    if (reply->dialect != VQ_DIALECT_ANTHROPIC) {
        vq_offline_reply_header(reply, "retry-after-ms", "%" PRId64,
                                (hint_ns + VQ_NS_PER_MS - 1) / VQ_NS_PER_MS);
    }
    vq_offline_reply_header(reply,
                            reply->dialect == VQ_DIALECT_ANTHROPIC ? "retry-after" : "Retry-After",
                            "%" PRId64, (hint_ns + VQ_NS_PER_S - 1) / VQ_NS_PER_S);
}

void vq_refusal_of_limit(struct vq_offline_reply *reply, const struct vq_limits *limits,
                         const struct vq_admission *admission, const char *model,
                         const char *organisation)
{
    char text[384];
    reply->fault = limit_rows[row_of_limit(admission->refused_by)].fault;
    const struct vq_fault_info *info = vq_fault_info(reply->fault);
    write_text(text, sizeof(text), limits, admission, model, organisation);
    int64_t hint_ns = admission->wait_ns / 100 * limits->hint_percent;
    bool says = limits->hint_percent >= 0 && hint_ns > 0;
    if (says) {
        reply->error_wait_ms = (hint_ns + VQ_NS_PER_MS - 1) / VQ_NS_PER_MS;
    }
    set_quota(reply, admission->refused_by, limit_of(limits, admission->refused_by));
    if (limits->hint_percent < 0) {
        reply->error_wait_ms = -1;
    }
    vq_offline_reply_error(reply, info->status, text, info->type, info->code);
    reply->delay_ns = 0;
    reply->verdict = NULL;
    reply->prompt_tokens = 0;
    reply->completion_tokens = 0;
    if (says) {
        add_hint(reply, hint_ns);
    }
}
