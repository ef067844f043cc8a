/* Refusals, with the headers of each dialect. Not its job: to decide who is refused (rules.c, limiter.c). */
#include "offline/refusal.h"

#include "common/base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A Date header's form of a wall time. */
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

/* Retry-After as the rule wants it: nothing said = one second where a provider would say so;
 * "absent"; "right" (until the rule ends); "date:S"; "ms:N" (retry-after-ms); any other text as it
 * is. */
static void add_retry_after(struct vq_reply *reply, const struct vq_fault_rule *rule,
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
        vq_reply_header(reply, "Retry-After", "%" PRId64, (left_ms + 999) / 1000);
    } else if (strncmp(want, "date:", 5) == 0) {
        char date[64];
        http_date(unix_ms / 1000 + strtoll(want + 5, NULL, 10), date, sizeof(date));
        vq_reply_header(reply, "Retry-After", "%s", date);
    } else if (strncmp(want, "ms:", 3) == 0) {
        vq_reply_header(reply, "retry-after-ms", "%s", want + 3);
    } else {
        vq_reply_header(reply, "Retry-After", "%s", want);
    }
}

void vq_refusal_of_rule(struct vq_reply *reply, const struct vq_fault_rule *rule,
                        int64_t since_start_ms, int64_t unix_ms)
{
    const struct vq_fault_info *info = vq_fault_info(rule->fault);
    char message[256];
    (void)snprintf(message, sizeof(message), "Made on purpose by vibeq-offline: %s.", info->text);
    vq_reply_error(reply, info->status, message, info->type, info->code);
    reply->fault = rule->fault;
    if (rule->fault == VQ_FAULT_BAD_GATEWAY) {
        vq_buf_clear(&reply->body);
        vq_buf_puts(&reply->body, "<html><body><h1>502 Bad Gateway</h1></body></html>\n");
        reply->content_type = "text/html";
    }
    if (rule->fault == VQ_FAULT_REDIRECT) {
        vq_reply_header(reply, "Location", "%s",
                        rule->variant[0] != '\0' ? rule->variant : "http://127.0.0.2:9/elsewhere");
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
static void add_anthropic_limit(struct vq_reply *reply, const char *kind, uint64_t limit,
                                uint64_t left, int64_t reset_ns)
{
    char name[40];
    char date[32] = "";
    struct tm utc;
    time_t at = (time_t)((vq_clock_unix_ms() + reset_ns / VQ_NS_PER_MS + 999) / 1000);
    if (gmtime_r(&at, &utc) != NULL) {
        (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    (void)snprintf(name, sizeof(name), "anthropic-ratelimit-%s-limit", kind);
    vq_reply_header(reply, name, "%" PRIu64, limit);
    (void)snprintf(name, sizeof(name), "anthropic-ratelimit-%s-remaining", kind);
    vq_reply_header(reply, name, "%" PRIu64, left);
    (void)snprintf(name, sizeof(name), "anthropic-ratelimit-%s-reset", kind);
    vq_reply_header(reply, name, "%s", date);
}

void vq_refusal_add_limits(struct vq_reply *reply, const struct vq_limits *limits,
                           const struct vq_admission *admission)
{
    if (reply->dialect == VQ_DIALECT_GEMINI) {
        return; /* it has no such headers */
    }
    if (reply->dialect == VQ_DIALECT_ANTHROPIC) {
        if (limits->requests > 0) {
            add_anthropic_limit(reply, "requests", limits->requests, admission->requests_left,
                                admission->reset_ns);
        }
        if (limits->tokens > 0) {
            add_anthropic_limit(reply, "tokens", limits->tokens, admission->tokens_left,
                                admission->reset_ns);
        }
        return;
    }
    char reset[32];
    write_reset(reset, sizeof(reset), admission->reset_ns);
    if (limits->requests > 0) {
        vq_reply_header(reply, "x-ratelimit-limit-requests", "%" PRIu64, limits->requests);
        vq_reply_header(reply, "x-ratelimit-remaining-requests", "%" PRIu64,
                        admission->requests_left);
        vq_reply_header(reply, "x-ratelimit-reset-requests", "%s", reset);
    }
    if (limits->tokens > 0) {
        vq_reply_header(reply, "x-ratelimit-limit-tokens", "%" PRIu64, limits->tokens);
        vq_reply_header(reply, "x-ratelimit-remaining-tokens", "%" PRIu64, admission->tokens_left);
        vq_reply_header(reply, "x-ratelimit-reset-tokens", "%s", reset);
    }
}

void vq_refusal_of_limit(struct vq_reply *reply, const struct vq_limits *limits,
                         const struct vq_admission *admission)
{
    bool by_tokens = admission->refused_by == VQ_LIMIT_TOKENS;
    reply->fault = by_tokens ? VQ_FAULT_TOKEN_LIMIT : VQ_FAULT_RATE_LIMIT;
    const struct vq_fault_info *info = vq_fault_info(reply->fault);
    const char *text = "Rate limit reached; wait as long as Retry-After says.";
    if (admission->never) {
        text = "Request too large: it has more tokens than a whole window allows.";
    } else if (admission->refused_by == VQ_LIMIT_CONCURRENCY) {
        text = "Too many calls at a time.";
    }
    int64_t hint_ns = admission->wait_ns / 100 * limits->hint_percent;
    bool says = limits->hint_percent >= 0 && hint_ns > 0;
    if (says) {
        reply->error_wait_ms = (hint_ns + VQ_NS_PER_MS - 1) / VQ_NS_PER_MS;
    }
    vq_reply_error(reply, info->status, text, info->type, info->code);
    if (says && reply->dialect == VQ_DIALECT_ANTHROPIC) {
        vq_reply_header(reply, "retry-after", "%" PRId64,
                        (hint_ns + VQ_NS_PER_S - 1) / VQ_NS_PER_S);
    } else if (says && reply->dialect != VQ_DIALECT_GEMINI) {
        vq_reply_header(reply, "retry-after-ms", "%" PRId64,
                        (hint_ns + VQ_NS_PER_MS - 1) / VQ_NS_PER_MS);
        vq_reply_header(reply, "Retry-After", "%" PRId64,
                        (hint_ns + VQ_NS_PER_S - 1) / VQ_NS_PER_S);
    }
}
