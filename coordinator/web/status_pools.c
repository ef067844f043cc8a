/* Pools and money in the status: the source and the use of each limit, and the parked pools with
 * the end of each park. */
#include "coordinator/web/status_parts.h"

#include "common/base/clock.h"
#include "coordinator/pools/incidents.h"
#include "coordinator/pools/limited.h"

#include <math.h>
#include <string.h>
#include <time.h>

static const char *const rate_names[VQ_RATE__COUNT] = {
    [VQ_RATE_REQUESTS] = "requests_per_minute",
    [VQ_RATE_INPUT] = "input_tokens_per_minute",
    [VQ_RATE_OUTPUT] = "output_tokens_per_minute",
    [VQ_RATE_TOKENS] = "tokens_per_minute",
};

static const char *source_word(enum vq_limit_source source)
{
    switch (source) {
    case VQ_LIMIT_BY_NOBODY: return "unknown";
    case VQ_LIMIT_BY_CONFIG: return "config";
    case VQ_LIMIT_BY_HEADERS: return "headers";
    case VQ_LIMIT_BY_LEARNING: return "learned";
    case VQ_LIMIT_BY_HAND: return "hand";
    }
    return "?";
}

static void unix_ms(struct vq_json *j, const char *key, const struct vq_status_facts *f, int64_t ns)
{
    vq_json_put_known(j, key, ns > 0, f->now_unix_ms + (ns - f->now_ns) / VQ_NS_PER_MS);
}

/* granted: the sum of the present slices; 0: not limited. */
static void limit(struct vq_json *j, const char *name, double most, enum vq_limit_source source,
                  double used, double granted)
{
    vq_json_put_object(j, name);
    vq_json_put_real(j, "limit", most > 0 ? most : NAN, 6);
    vq_json_put_str(j, "by", source_word(source));
    vq_json_put_real(j, "used", used, 6);
    vq_json_put_real(j, "granted", granted > 0 ? granted : NAN, 6);
    vq_json_object_end(j);
}

double vq_status_used(const struct vq_authority_pool_status *s, enum vq_rate rate)
{
    switch (rate) {
    case VQ_RATE_REQUESTS: return s->requests_per_minute;
    case VQ_RATE_INPUT: return s->input_per_minute;
    case VQ_RATE_OUTPUT: return s->output_per_minute;
    case VQ_RATE_TOKENS: return s->input_per_minute + s->output_per_minute;
    case VQ_RATE__COUNT: break;
    }
    return 0;
}

void vq_status_limited_text(const struct vq_authority_pool_status *s, int64_t now_ns,
                            int64_t now_unix_ms, char ret_text[VQ_LIMITED_TEXT_BYTES])
{
    struct vq_limited limited = vq_limited_of(s);
    char clock[16] = "";
    if (limited.why.at_ns > 0) {
        int64_t ago_ms = (now_ns - limited.why.at_ns) / VQ_NS_PER_MS;
        time_t at = (time_t)((now_unix_ms - ago_ms) / 1000);
        struct tm tm;
        (void)localtime_r(&at, &tm);
        (void)strftime(clock, sizeof(clock), "%H:%M", &tm);
    }
    vq_limited_text(&limited, s, clock, ret_text, VQ_LIMITED_TEXT_BYTES);
}

static bool is_slow(const struct vq_status_facts *f, uint32_t p)
{
    return f->slow != NULL && f->slow[p].raised;
}

/* The limit that binds now, and why. */
static void put_limited(struct vq_json *j, const struct vq_status_facts *f, uint32_t p,
                        const struct vq_authority_pool_status *s)
{
    struct vq_limited limited = vq_limited_of(s);
    char text[VQ_LIMITED_TEXT_BYTES];
    vq_status_limited_text(s, f->now_ns, f->now_unix_ms, text);
    bool learned = limited.why.at_ns > 0;
    vq_json_put_object(j, "limited");
    vq_json_put_str(j, "by", vq_limited_word(limited.by));
    vq_json_put_str(j, "source", source_word(limited.source));
    vq_json_put_real(j, "limit", limited.limit > 0 ? limited.limit : NAN, 6);
    vq_json_put_real(j, "configured", limited.configured > 0 ? limited.configured : NAN, 6);
    unix_ms(j, "learned_unix_ms", f, limited.why.at_ns);
    vq_json_put_real(j, "learned_refusals", learned ? limited.why.refused : NAN, 6);
    vq_json_put_real(j, "learned_at_per_minute", learned ? limited.why.per_minute : NAN, 6);
    vq_json_put_str(j, "text", text);
    vq_json_object_end(j);
    unix_ms(j, "slow_since_unix_ms", f, is_slow(f, p) ? f->slow[p].since_ns : 0);
}

void vq_status_pool_fields(struct vq_json *j, const struct vq_status_facts *f, uint32_t p)
{
    struct vq_authority_pool_status status;
    const struct vq_authority_pool_status *s = &status;
    vq_authority_status(f->authority, p, f->now_ns, &status);
    vq_json_put_str(j, "name", s->name);
    vq_json_put_str(j, "state", vq_authority_state_word(s->state));
    vq_json_put_str(j, "text", s->text == NULL ? "" : s->text);
    unix_ms(j, "since_unix_ms", f, s->since_ns);
    unix_ms(j, "until_unix_ms", f, s->until_ns);
    vq_json_put_u64(j, "workers", s->workers);
    vq_json_put_u64(j, "in_flight", s->in_flight);
    vq_json_put_u64(j, "waiting", s->waiting);
    vq_json_put_object(j, "limits");
    for (int r = 0; r < VQ_RATE__COUNT; r++) {
        limit(j, rate_names[r], s->limit.rates.of[r], s->rates_by[r],
              vq_status_used(s, (enum vq_rate)r), s->dealt.rates.of[r]);
    }
    limit(j, "concurrency", s->limit.concurrency, s->concurrency_by, s->in_flight,
          s->dealt.concurrency);
    vq_json_object_end(j);
    put_limited(j, f, p, s);
    vq_json_put_u64(j, "calls", s->requests);
    vq_json_put_u64(j, "answered", s->answered);
    vq_json_put_u64(j, "refused", s->refused);
    vq_json_put_u64(j, "slowed", s->slowed);
    vq_json_put_u64(j, "failed", s->failed);
    vq_json_put_u64(j, "tokens_in", s->input_tokens);
    vq_json_put_u64(j, "tokens_cached", s->cached_tokens);
    vq_json_put_u64(j, "tokens_out", s->output_tokens);
    vq_json_put_u64(j, "day_requests", s->day_requests_spent);
    vq_json_put_u64(j, "day_tokens", s->day_tokens_spent);
}

static double usd(uint64_t nano)
{
    return nano == VQ_AMOUNT_ANY ? NAN : (double)nano / VQ_NANO_PER_USD;
}

void vq_status_slow_alarm(struct vq_json *j, const struct vq_status_facts *f)
{
    uint32_t first = 0, count = f->authority == NULL ? 0 : vq_authority_pools(f->authority);
    while (first < count && !is_slow(f, first)) {
        first++;
    }
    if (first >= count) {
        vq_json_null(j);
        return;
    }
    struct vq_authority_pool_status s;
    vq_authority_status(f->authority, first, f->now_ns, &s);
    char text[VQ_LIMITED_TEXT_BYTES];
    vq_status_limited_text(&s, f->now_ns, f->now_unix_ms, text);
    vq_json_object(j);
    vq_json_put_str(j, "kind", "slow");
    unix_ms(j, "since_unix_ms", f, f->slow[first].since_ns);
    vq_json_put_str(j, "pool", s.name);
    vq_json_put_str(j, "text", text);
    vq_json_object_end(j);
}

void vq_status_pools(struct vq_json *j, const struct vq_status_facts *f)
{
    vq_json_put_array(j, "pools");
    for (uint32_t p = 0; p < vq_authority_pools(f->authority); p++) {
        if (f->idle == NULL || !f->idle[p]) {
            vq_json_object(j);
            vq_status_pool_fields(j, f, p);
            vq_json_object_end(j);
        }
    }
    vq_json_array_end(j);
    struct vq_authority_money money;
    vq_authority_money(f->authority, &money);
    vq_json_put_object(j, "money");
    vq_json_put_real(j, "budget_usd", usd(money.budget_nano), 9);
    vq_json_put_real(j, "spent_usd", usd(money.spent_nano), 9);
    bool over = strcmp(f->state, "finished") == 0; /* advances are not spent any more */
    vq_json_put_real(j, "reserved_usd", over ? 0 : usd(money.out_nano), 9);
    vq_json_object_end(j);
}
