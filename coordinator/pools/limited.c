/* The limit of a pool that binds now: its state, a rate, the calls in flight, its workers, or none.
 *
 * A rate limits a pool if the pool used most of that rate's slices in the last quarter of a window.
 * The concurrency limits it if all of it was in flight. Of several rates the most used one counts;
 * a rate counts before the concurrency. If work waits and no limit is reached, the workers are the
 * limit. Not its job: changing a limit. */
#include "coordinator/pools/limited.h"

#include "common/text/fmt.h"

#include <math.h>
#include <stdio.h>

#define RATE_REACHED 0.85 /* of the slices: paced calls never use quite all of them */
#define SLOW_PART    0.25 /* of the configured rate */
#define SLOW_REFUSED 0.05 /* of the calls: more refusals explain a slow pool */

static const enum vq_limited_by of_rate[VQ_RATE__COUNT] = {
    [VQ_RATE_REQUESTS] = VQ_LIMITED_BY_REQUESTS,
    [VQ_RATE_INPUT] = VQ_LIMITED_BY_INPUT,
    [VQ_RATE_OUTPUT] = VQ_LIMITED_BY_OUTPUT,
    [VQ_RATE_TOKENS] = VQ_LIMITED_BY_TOKENS,
};

const char *vq_limited_word(enum vq_limited_by by)
{
    static const char *const words[VQ_LIMITED_BY__COUNT] = {
        [VQ_LIMITED_BY_NOTHING] = "nothing",
        [VQ_LIMITED_BY_STATE] = "state",
        [VQ_LIMITED_BY_REQUESTS] = "requests_per_minute",
        [VQ_LIMITED_BY_INPUT] = "input_tokens_per_minute",
        [VQ_LIMITED_BY_OUTPUT] = "output_tokens_per_minute",
        [VQ_LIMITED_BY_TOKENS] = "tokens_per_minute",
        [VQ_LIMITED_BY_CONCURRENCY] = "concurrency",
        [VQ_LIMITED_BY_WORKERS] = "workers",
    };
    return words[by];
}

/* ---- which ---- */

static bool by_rate(const struct vq_authority_pool_status *s, struct vq_limited *ret)
{
    double most = RATE_REACHED;
    bool found = false;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        double dealt = s->dealt.rates.of[r];
        double part = dealt > 0 ? s->lately.of[r] / dealt : 0;
        if (part < most) {
            continue;
        }
        most = part;
        found = true;
        *ret = (struct vq_limited){.by = of_rate[r],
                                   .source = s->rates_by[r],
                                   .limit = s->limit.rates.of[r],
                                   .configured = s->configured.rates.of[r]};
        if (s->rates_by[r] == VQ_LIMIT_BY_LEARNING) {
            ret->why = s->rates_why;
        }
    }
    return found;
}

struct vq_limited vq_limited_of(const struct vq_authority_pool_status *s)
{
    struct vq_limited limited = {.by = VQ_LIMITED_BY_WORKERS};
    if (s->state != VQ_AUTHORITY_OPEN) {
        limited.by = VQ_LIMITED_BY_STATE;
    } else if (!s->work_waits) {
        limited.by = VQ_LIMITED_BY_NOTHING;
    } else if (!by_rate(s, &limited) && s->limit.concurrency > 0 &&
               s->in_flight_most >= s->limit.concurrency) {
        limited.by = VQ_LIMITED_BY_CONCURRENCY;
        limited.source = s->concurrency_by;
        limited.limit = s->limit.concurrency;
        limited.configured = s->configured.concurrency;
        if (s->concurrency_by == VQ_LIMIT_BY_LEARNING) {
            limited.why = s->level_why;
        }
    }
    return limited;
}

/* ---- text ---- */

static const char *count(double n, char ret_text[VQ_FMT_BYTES])
{
    return vq_fmt_count(n > 0 ? (uint64_t)llround(fmin(n, 1e15)) : 0, ret_text);
}

static void put_why(struct vq_buf *out, const struct vq_limited *l, const char *clock)
{
    char refused[VQ_FMT_BYTES], rate[VQ_FMT_BYTES];
    if (l->why.at_ns > 0) {
        vq_buf_printf(out, "learned at %s after %s refusal%s at %s a minute", clock,
                      count(l->why.refused, refused), l->why.refused < 1.5 ? "" : "s",
                      count(l->why.per_minute, rate));
    } else if (l->by == VQ_LIMITED_BY_CONCURRENCY) {
        vq_buf_puts(out, "not configured, and growing");
    } else {
        vq_buf_puts(out, "learned");
    }
}

static const char *source_text(enum vq_limit_source source)
{
    switch (source) {
    case VQ_LIMIT_BY_CONFIG: return "configured";
    case VQ_LIMIT_BY_HEADERS: return "from the provider's headers";
    case VQ_LIMIT_BY_HAND: return "set by vibeq ctl";
    case VQ_LIMIT_BY_LEARNING:
    case VQ_LIMIT_BY_NOBODY: break;
    }
    return "unknown";
}

static void put_configured(struct vq_buf *out, const struct vq_limited *l,
                           const struct vq_authority_pool_status *s)
{
    static const char *const units[VQ_RATE__COUNT] = {"a minute", "input tokens a minute",
                                                      "output tokens a minute", "tokens a minute"};
    char n[VQ_FMT_BYTES];
    bool concurrency = l->by == VQ_LIMITED_BY_CONCURRENCY;
    bool own = l->source == VQ_LIMIT_BY_CONFIG || l->source == VQ_LIMIT_BY_HAND;
    if (!concurrency && l->configured > 0 && !own) {
        vq_buf_printf(out, "; configured %s", count(l->configured, n));
    }
    for (unsigned r = 0; (concurrency || l->by == VQ_LIMITED_BY_WORKERS) && r < VQ_RATE__COUNT;
         r++) {
        double rate = s->configured.rates.of[r];
        if (rate > 0) {
            vq_buf_printf(out, "; configured %s %s", count(rate, n), units[r]);
            break;
        }
    }
}

static void put_limit(struct vq_buf *out, const struct vq_limited *l, const char *clock)
{
    static const char *const names[VQ_LIMITED_BY__COUNT] = {
        [VQ_LIMITED_BY_REQUESTS] = "requests a minute",
        [VQ_LIMITED_BY_INPUT] = "input tokens a minute",
        [VQ_LIMITED_BY_OUTPUT] = "output tokens a minute",
        [VQ_LIMITED_BY_TOKENS] = "tokens a minute",
    };
    char n[VQ_FMT_BYTES];
    bool learned = l->source == VQ_LIMIT_BY_LEARNING;
    if (l->by == VQ_LIMITED_BY_CONCURRENCY) {
        vq_buf_printf(out, "limited by %sconcurrency %s (", learned ? "learned " : "",
                      count(l->limit, n));
    } else {
        vq_buf_printf(out, "limited by %s: %s, ", names[l->by], count(l->limit, n));
    }
    if (learned) {
        put_why(out, l, clock);
    } else {
        vq_buf_puts(out, source_text(l->source));
    }
    if (l->by == VQ_LIMITED_BY_CONCURRENCY) {
        vq_buf_puts(out, ")");
    }
}

void vq_limited_text(const struct vq_limited *l, const struct vq_authority_pool_status *s,
                     const char *clock, char *ret_text, size_t bytes)
{
    struct vq_buf out;
    vq_buf_init(&out, 4 * VQ_LIMITED_TEXT_BYTES);
    if (l->by == VQ_LIMITED_BY_NOTHING) {
        vq_buf_puts(&out, "limited by nothing: no work waits");
    } else if (l->by == VQ_LIMITED_BY_STATE) {
        bool why = s->text != NULL && s->text[0] != '\0';
        vq_buf_printf(&out, "limited by its state%s%s", why ? ": " : "", why ? s->text : "");
    } else if (l->by == VQ_LIMITED_BY_WORKERS) {
        vq_buf_printf(&out, "limited by its workers: %u in flight, and no limit is reached",
                      s->in_flight);
    } else {
        put_limit(&out, l, clock);
    }
    put_configured(&out, l, s);
    if (s->tries != VQ_AUTHORITY_TRIES_NOTHING && l->source == VQ_LIMIT_BY_LEARNING) {
        vq_buf_puts(&out, " (a trial: vibeq looks whether refusals become fewer)");
    }
    (void)snprintf(ret_text, bytes, "%s", out.status == VQ_OK && out.bytes > 0 ? out.at : "");
    vq_buf_free(&out);
}

/* ---- slow ---- */

/* The largest used part of a configured rate; negative: none is configured. */
static double part_of_configured(const struct vq_authority_pool_status *s)
{
    double most = -1;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        double rate = s->configured.rates.of[r];
        if (rate > 0) {
            most = fmax(most, s->lately.of[r] / rate);
        }
    }
    return most;
}

enum vq_slow_change vq_slow_look(struct vq_slow *slow, const struct vq_authority_pool_status *s,
                                 int64_t after_ns, int64_t now_ns)
{
    double part = part_of_configured(s);
    bool is = s->state == VQ_AUTHORITY_OPEN && s->work_waits && part >= 0 && part < SLOW_PART &&
              s->refused_part <= SLOW_REFUSED;
    slow->since_ns = !is ? 0 : slow->since_ns == 0 ? now_ns : slow->since_ns;
    bool raised = is && after_ns > 0 && now_ns - slow->since_ns >= after_ns;
    if (raised == slow->raised) {
        return VQ_SLOW_SAME;
    }
    slow->raised = raised;
    return raised ? VQ_SLOW_RAISED : VQ_SLOW_CLEARED;
}
