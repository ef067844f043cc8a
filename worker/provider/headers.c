/* Response headers: the wait and the limits. Providers write them in many forms; an unreadable
 * header is ignored. No clock: a date becomes a wait by the caller's time or the server's own. Not
 * its job: decisions about a wait. */
#include "worker/provider/provider.h"

#include "common/base/hash.h"

#include "worker/provider/scan.h"
#include "worker/provider/text.h"
#include "worker/provider/tier.h"

static struct vq_span trim(struct vq_span s)
{
    while (s.bytes > 0 && (s.at[0] == ' ' || s.at[0] == '\t')) {
        s = vq_span_after(s, 1);
    }
    while (s.bytes > 0 && (s.at[s.bytes - 1] == ' ' || s.at[s.bytes - 1] == '\t')) {
        s.bytes--;
    }
    return s;
}

void vq_reply_headers_init(struct vq_reply_headers *headers)
{
    *headers = (struct vq_reply_headers){
        .retry_seconds_ms = -1,
        .retry_ms = -1,
        .retry_date_unix_s = -1,
        .date_unix_s = -1,
        .requests = VQ_RATELIMIT_NONE,
        .tokens = VQ_RATELIMIT_NONE,
        .input_tokens = VQ_RATELIMIT_NONE,
        .output_tokens = VQ_RATELIMIT_NONE,
    };
}

static void add_retry_after(struct vq_reply_headers *headers, struct vq_span value)
{
    struct vq_span rest = value;
    int64_t thousandths = vq_scan_thousandths(&rest);
    if (thousandths >= 0 && rest.bytes == 0) {
        headers->retry_seconds_ms = thousandths;
    } else {
        headers->retry_date_unix_s = vq_scan_http_date_unix_s(value);
    }
}

static struct vq_ratelimit *limit_of(struct vq_reply_headers *headers, struct vq_span kind)
{
    static const struct {
        const char *name;
        size_t offset;
    } kinds[] = {{"requests", offsetof(struct vq_reply_headers, requests)},
                 {"tokens", offsetof(struct vq_reply_headers, tokens)},
                 {"input-tokens", offsetof(struct vq_reply_headers, input_tokens)},
                 {"output-tokens", offsetof(struct vq_reply_headers, output_tokens)}};
    for (size_t i = 0; i < VQ_COUNT(kinds); i++) {
        if (vq_scan_is(kind, kinds[i].name)) {
            return (struct vq_ratelimit *)(void *)((char *)headers + kinds[i].offset);
        }
    }
    return NULL;
}

static void set_limit(struct vq_ratelimit *limit, struct vq_span what, struct vq_span value)
{
    if (limit == NULL) {
        return;
    }
    if (vq_scan_is(what, "limit")) {
        limit->limit = vq_scan_number(value);
    } else if (vq_scan_is(what, "remaining")) {
        limit->remaining = vq_scan_number(value);
    } else if (vq_scan_is(what, "reset")) {
        limit->reset_ms = vq_scan_duration_ms(value);
        limit->reset_unix_s = vq_scan_rfc3339_unix_s(value);
    }
}

/* "limit-requests": the kind of number is the first word. */
static void add_ratelimit(struct vq_reply_headers *headers, struct vq_span name,
                          struct vq_span value)
{
    const char *dash = name.bytes == 0 ? NULL : memchr(name.at, '-', name.bytes);
    if (dash != NULL) {
        size_t n = (size_t)(dash - name.at);
        set_limit(limit_of(headers, vq_span_after(name, n + 1)), vq_span(name.at, n), value);
    }
}

/* "input-tokens-limit": the kind of number is the last word. */
static void add_anthropic_ratelimit(struct vq_reply_headers *headers, struct vq_span name,
                                    struct vq_span value)
{
    const char *dash = name.bytes == 0 ? NULL : memrchr(name.at, '-', name.bytes);
    if (dash != NULL) {
        size_t n = (size_t)(dash - name.at);
        set_limit(limit_of(headers, vq_span(name.at, n)), vq_span_after(name, n + 1), value);
    }
}

/* The part of a name after `prefix`; false: the name does not begin with it. */
static bool begins(struct vq_span name, const char *prefix, struct vq_span *ret_rest)
{
    size_t n = strlen(prefix);
    if (name.bytes <= n || !vq_scan_is(vq_span(name.at, n), prefix)) {
        return false;
    }
    *ret_rest = vq_span_after(name, n);
    return true;
}

/* A hash: it distinguishes organisations without naming them. */
static uint64_t organisation_of(struct vq_span name)
{
    struct vq_hash hash;
    vq_hash_of("organisation", name, &hash);
    uint64_t short_hash = vq_hash_u64(&hash);
    return name.bytes == 0 ? 0 : short_hash == 0 ? 1 : short_hash;
}

void vq_reply_headers_add(struct vq_reply_headers *headers, struct vq_span name,
                          struct vq_span value)
{
    name = trim(name);
    value = trim(value);
    struct vq_span rest = value;
    if (vq_scan_is(name, "retry-after")) {
        add_retry_after(headers, value);
    } else if (vq_scan_is(name, "retry-after-ms")) {
        int64_t thousandths = vq_scan_thousandths(&rest);
        headers->retry_ms = thousandths >= 0 && rest.bytes == 0 ? thousandths / 1000 : -1;
    } else if (vq_scan_is(name, "date")) {
        headers->date_unix_s = vq_scan_http_date_unix_s(value);
    } else if (vq_scan_is(name, "x-request-id") || vq_scan_is(name, "request-id")) {
        vq_text_line(headers->request_id, sizeof(headers->request_id), value);
    } else if (vq_scan_is(name, "openai-organization") ||
               vq_scan_is(name, "anthropic-organization-id")) {
        headers->organisation = organisation_of(value);
    } else if (vq_scan_is(name, "x-litellm-response-cost")) {
        double cost = vq_scan_real(value);
        headers->cost_usd = cost > 0 && cost < VQ_REPLY_COST_USD_MAX ? cost : 0;
    } else if (vq_scan_is(name, "x-gemini-service-tier")) {
        vq_tier_take(value, headers->service_tier);
    } else if (begins(name, "x-ratelimit-", &rest)) {
        add_ratelimit(headers, rest, value);
    } else if (begins(name, "anthropic-ratelimit-", &rest)) {
        add_anthropic_ratelimit(headers, rest, value);
    }
}

int64_t vq_retry_after_ms(const struct vq_reply_headers *headers, int64_t now_unix_s)
{
    int64_t wait_ms = headers->retry_ms >= 0 ? headers->retry_ms : headers->retry_seconds_ms;
    if (wait_ms < 0 && headers->retry_date_unix_s >= 0) {
        int64_t now = headers->date_unix_s >= 0 ? headers->date_unix_s : now_unix_s;
        int64_t wait_s = headers->retry_date_unix_s - (now > 0 ? now : 0);
        wait_ms =
            wait_s > 0 ? (wait_s > VQ_SCAN_NUMBER_MAX ? VQ_SCAN_NUMBER_MAX : wait_s) * 1000 : 0;
    }
    return wait_ms > VQ_RETRY_AFTER_MS_MAX ? VQ_RETRY_AFTER_MS_MAX : wait_ms;
}
