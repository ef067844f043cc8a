/* Arithmetic of a forecast: what a line's calls come to in tokens and dollars, how long a stage takes when each limits entry works
 * for itself and the slowest decides, and how far a sum of money or time goes. Owns nothing. Not its job: counting calls that are
 * not known (forecast_calls.c), and where tokens, latencies and limits come from (the shell). */
#include "coordinator/pipeline/forecast.h"

#include <math.h>
#include <string.h>

#define CONCURRENCY_DEFAULT 16.0

struct vq_range vq_range_of(double exact)
{
    return (struct vq_range){exact, exact, exact};
}

struct vq_range vq_range_add(struct vq_range a, struct vq_range b)
{
    return (struct vq_range){a.least + b.least, a.expected + b.expected, a.most + b.most};
}

struct vq_range vq_range_mul(struct vq_range a, struct vq_range b)
{
    return (struct vq_range){a.least * b.least, a.expected * b.expected, a.most * b.most};
}

struct vq_range vq_range_scale(struct vq_range a, double by)
{
    return (struct vq_range){a.least * by, a.expected * by, a.most * by};
}

static struct vq_range range_max(struct vq_range a, struct vq_range b)
{
    return (struct vq_range){fmax(a.least, b.least), fmax(a.expected, b.expected),
                             fmax(a.most, b.most)};
}

bool vq_range_is_exact(struct vq_range a)
{
    return a.most - a.least < 0.5;
}

/* ---- words ---- */

const char *vq_forecast_bound_word(enum vq_forecast_bound bound)
{
    static const char *const words[VQ_BOUND__COUNT] = {[VQ_BOUND_NONE] = "nothing",
                                                       [VQ_BOUND_REQUESTS] = "requests_per_minute",
                                                       [VQ_BOUND_TOKENS] = "tokens_per_minute",
                                                       [VQ_BOUND_CONCURRENCY] = "concurrency"};
    return bound < VQ_BOUND__COUNT ? words[bound] : "?";
}

const char *vq_forecast_verdict_word(enum vq_forecast_verdict verdict)
{
    switch (verdict) {
    case VQ_HOLDS_SURELY: return "yes";
    case VQ_HOLDS_LIKELY: return "likely";
    case VQ_HOLDS_NOT: return "no";
    case VQ_HOLDS_UNKNOWN: return "unknown";
    }
    return "?";
}

const char *vq_forecast_assumed_text(unsigned bit)
{
    static const char *const texts[VQ_ASSUMED_BITS] = {
        "input is taken as one token for 4 bytes (3 to 5): no answer of such a call is stored",
        "verdicts are taken as 120 tokens and other texts as 400, at most max_tokens: no answer of "
        "such a call is stored",
        "a call is taken to last 1 s and 1 s more for each 50 tokens of its answer: no call of "
        "that model is stored",
        "two first answers in five are taken to settle their score: none is stored",
        "one answer in a hundred is taken to need a repair, at most ten: none is stored",
        "after an iteration of discovery another one is taken to follow in one case of two, with "
        "half as many new vibes; three vibes in five are taken to pass the gates",
        "one vibe in four is taken to be stopped early",
        "rows that are judged ties will be left out, which makes later stages smaller",
    };
    return bit < VQ_ASSUMED_BITS ? texts[bit] : "?";
}

struct vq_forecast_limits vq_forecast_limits_of(const struct vq_conf_judge *judge)
{
    const struct vq_conf_limits *l = &judge->limits;
    return (struct vq_forecast_limits){.name = judge->name,
                                       .requests_per_minute = l->requests_per_minute,
                                       .tokens_per_minute = l->tokens_per_minute,
                                       .concurrency = l->concurrency > 0 ? l->concurrency
                                                                         : CONCURRENCY_DEFAULT,
                                       .price_input_usd = l->price_input_usd,
                                       .price_cached_usd = l->price_cached_usd,
                                       .price_output_usd = l->price_output_usd};
}

/* ---- time ---- */

/* What a limits entry has to do in a stage. */
struct load {
    struct vq_range calls, tokens, busy_s;
};

static void load_add(struct load *to, const struct vq_forecast_line *line)
{
    struct vq_range calls = vq_range_add(line->calls, line->repairs);
    to->calls = vq_range_add(to->calls, calls);
    to->tokens = vq_range_add(to->tokens, vq_range_add(line->tokens_in, line->tokens_out));
    to->busy_s = vq_range_add(to->busy_s, vq_range_mul(calls, line->latency_s));
}

static struct vq_range load_seconds(const struct load *load,
                                    const struct vq_forecast_limits *limits,
                                    enum vq_forecast_bound *ret_bound)
{
    struct vq_range by[VQ_BOUND__COUNT] = {{0}};
    if (limits->requests_per_minute > 0) {
        by[VQ_BOUND_REQUESTS] = vq_range_scale(load->calls, 60 / limits->requests_per_minute);
    }
    if (limits->tokens_per_minute > 0) {
        by[VQ_BOUND_TOKENS] = vq_range_scale(load->tokens, 60 / limits->tokens_per_minute);
    }
    by[VQ_BOUND_CONCURRENCY] = vq_range_scale(load->busy_s, 1 / limits->concurrency);
    enum vq_forecast_bound bound = VQ_BOUND_NONE;
    struct vq_range seconds = {0};
    for (int b = VQ_BOUND_NONE + 1; b < (int)VQ_BOUND__COUNT; b++) {
        if (by[b].expected > by[bound].expected) {
            bound = (enum vq_forecast_bound)b;
        }
        seconds = range_max(seconds, by[b]);
    }
    *ret_bound = bound;
    return seconds;
}

static uint32_t stage_end(const struct vq_forecast *f, uint32_t first)
{
    uint32_t end = first;
    while (end < f->lines_count && f->lines[end].stage_no == f->lines[first].stage_no) {
        end++;
    }
    return end;
}

/* Of a stage's lines on one limits entry. */
static struct vq_range pool_seconds(const struct vq_forecast *f, uint32_t first, uint32_t end,
                                    uint32_t limits, enum vq_forecast_bound *ret_bound)
{
    struct load load = {0};
    for (uint32_t i = first; i < end; i++) {
        if (f->lines[i].limits == limits) {
            load_add(&load, &f->lines[i]);
        }
    }
    return load_seconds(&load, &f->limits[limits], ret_bound);
}

static struct vq_range stage_seconds(const struct vq_forecast *f, uint32_t first, uint32_t end)
{
    struct vq_range seconds = {0};
    for (uint32_t k = 0; k < f->limits_count; k++) {
        enum vq_forecast_bound bound;
        seconds = range_max(seconds, pool_seconds(f, first, end, k, &bound));
    }
    return seconds;
}

static void figure_pool(struct vq_forecast *f, uint32_t k)
{
    struct vq_forecast_pool *pool = &f->pools[k];
    double by_bound[VQ_BOUND__COUNT] = {0};
    *pool = (struct vq_forecast_pool){.bound = VQ_BOUND_NONE};
    for (uint32_t first = 0; first < f->lines_count; first = stage_end(f, first)) {
        enum vq_forecast_bound bound;
        struct vq_range seconds = pool_seconds(f, first, stage_end(f, first), k, &bound);
        pool->seconds = vq_range_add(pool->seconds, seconds);
        by_bound[bound] += seconds.expected;
    }
    for (uint32_t i = 0; i < f->lines_count; i++) {
        const struct vq_forecast_line *l = &f->lines[i];
        if (l->limits == k) {
            pool->calls = vq_range_add(pool->calls, vq_range_add(l->calls, l->repairs));
        }
    }
    for (int b = 0; b < (int)VQ_BOUND__COUNT; b++) {
        pool->bound = by_bound[b] > by_bound[pool->bound] ? (enum vq_forecast_bound)b : pool->bound;
    }
}

/* ---- tokens and money ---- */

static bool has_price(const struct vq_forecast_limits *limits)
{
    return limits->price_input_usd >= 0 && limits->price_output_usd >= 0;
}

static void figure_line(struct vq_forecast_line *l, const struct vq_forecast_limits *limits)
{
    l->tokens_in = vq_range_add(vq_range_mul(l->calls, l->in_each),
                                vq_range_mul(l->repairs, l->repair_in_each));
    l->tokens_out = vq_range_add(vq_range_mul(l->calls, l->out_each),
                                 vq_range_mul(l->repairs, l->repair_out_each));
    l->usd = (struct vq_range){0};
    if (has_price(limits)) {
        double cached =
            limits->price_cached_usd >= 0 ? limits->price_cached_usd : limits->price_input_usd;
        double input =
            limits->price_input_usd + (cached - limits->price_input_usd) * l->cached_share;
        l->usd = vq_range_add(vq_range_scale(l->tokens_in, input / 1e6),
                              vq_range_scale(l->tokens_out, limits->price_output_usd / 1e6));
    }
    struct load load = {0};
    load_add(&load, l);
    l->seconds = load_seconds(&load, limits, &l->bound);
}

static void sums_add(struct vq_forecast_sums *to, const struct vq_forecast_line *l,
                     const struct vq_forecast_limits *limits)
{
    to->planned = vq_range_add(to->planned, l->planned);
    to->calls = vq_range_add(to->calls, l->calls);
    to->repairs = vq_range_add(to->repairs, l->repairs);
    to->saved = vq_range_add(to->saved, l->saved);
    to->tokens_in = vq_range_add(to->tokens_in, l->tokens_in);
    to->tokens_out = vq_range_add(to->tokens_out, l->tokens_out);
    to->usd = vq_range_add(to->usd, l->usd);
    to->from_store += l->from_store;
    to->priced = to->priced && (has_price(limits) || l->calls.most + l->repairs.most <= 0);
}

struct vq_forecast_sums vq_forecast_stage_sums(const struct vq_forecast *f, uint32_t first,
                                               struct vq_range *ret_seconds, uint32_t *ret_next)
{
    uint32_t end = stage_end(f, first);
    struct vq_forecast_sums sums = {.priced = true};
    for (uint32_t i = first; i < end; i++) {
        sums_add(&sums, &f->lines[i], &f->limits[f->lines[i].limits]);
    }
    *ret_seconds = stage_seconds(f, first, end);
    *ret_next = end;
    return sums;
}

void vq_forecast_figure(struct vq_forecast *f)
{
    f->all = (struct vq_forecast_sums){.priced = true};
    f->seconds = (struct vq_range){0};
    for (uint32_t i = 0; i < f->lines_count; i++) {
        struct vq_forecast_line *l = &f->lines[i];
        figure_line(l, &f->limits[l->limits]);
        sums_add(&f->all, l, &f->limits[l->limits]);
    }
    for (uint32_t first = 0; first < f->lines_count; first = stage_end(f, first)) {
        f->seconds = vq_range_add(f->seconds, stage_seconds(f, first, stage_end(f, first)));
    }
    for (uint32_t k = 0; k < f->limits_count; k++) {
        figure_pool(f, k);
    }
}

/* ---- what there is ---- */

/* Stages in order, each using up its expected part, until nothing is left. */
static struct vq_forecast_bounded go_with(const struct vq_forecast *f, bool money, double there_is)
{
    struct vq_range need = money ? f->all.usd : f->seconds;
    struct vq_forecast_bounded b = {.verdict = need.most <= there_is       ? VQ_HOLDS_SURELY
                                               : need.expected <= there_is ? VQ_HOLDS_LIKELY
                                                                           : VQ_HOLDS_NOT,
                                    .reached = 1,
                                    .factor = there_is > 0 ? need.expected / there_is : INFINITY};
    if (b.verdict != VQ_HOLDS_NOT) {
        return b;
    }
    double calls = 0, left = there_is > 0 ? there_is : 0;
    for (uint32_t first = 0, next; first < f->lines_count; first = next) {
        struct vq_range seconds;
        struct vq_forecast_sums sums = vq_forecast_stage_sums(f, first, &seconds, &next);
        double part = money ? sums.usd.expected : seconds.expected;
        if (part > left) {
            calls += sums.calls.expected * left / part;
            b.stage = f->lines[first].stage;
            break;
        }
        calls += sums.calls.expected;
        left -= part;
    }
    b.reached = f->all.calls.expected > 0 ? calls / f->all.calls.expected : 1;
    return b;
}

struct vq_forecast_bounded vq_forecast_budget(const struct vq_forecast *f, double usd)
{
    struct vq_forecast_bounded b = go_with(f, true, usd);
    if (!f->all.priced && b.verdict != VQ_HOLDS_NOT) {
        b.verdict = VQ_HOLDS_UNKNOWN;
    }
    return b;
}

struct vq_forecast_bounded vq_forecast_deadline(const struct vq_forecast *f, double seconds)
{
    return go_with(f, false, seconds);
}
