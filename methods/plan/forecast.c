/* The arithmetic of a forecast: tokens and dollars of a line's calls; the time of a stage, whose
 * calls are distributed over the pools that may serve them, until the last pool is done; and how
 * far a sum of money or time reaches. Owns nothing. Not its job: the stages that may follow
 * (vq_method_type.stages); tokens, latencies and limits (methods/plan/files). */
#include "methods/plan/forecast.h"

#include "common/conf/batches.h"
#include "common/text/fmt.h"

#include <math.h>
#include <string.h>

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

bool vq_range_is_exact(struct vq_range a)
{
    return a.most - a.least < 0.5;
}

/* ---- time ---- */

/* The least, the expected and the highest value are computed one after the other. */
enum which {
    LEAST,
    EXPECTED,
    MOST,
    WHICH__COUNT
};

static double pick(struct vq_range r, enum which which)
{
    return which == LEAST ? r.least : which == EXPECTED ? r.expected : r.most;
}

static void put(struct vq_range *r, enum which which, double value)
{
    *(which == LEAST ? &r->least : which == EXPECTED ? &r->expected : &r->most) = value;
}

static double calls_of(const struct vq_forecast_line *l, enum which which)
{
    return pick(l->calls, which) + pick(l->repairs, which);
}

/* ---- batches ---- */

/* The pools that a line's figures use: those of the kind that f->way prefers, or else those of the
 * other kind. */
struct chosen {
    uint32_t pools[VQ_FORECAST_POOLS_MAX];
    uint32_t count;
    bool batch;
};

static struct chosen choose(const struct vq_forecast *f, const struct vq_forecast_line *l)
{
    bool fits = vq_stage_shows_outputs(l->kind);
    struct chosen c = {.batch = f->way == VQ_WAY_BATCH && fits};
    for (int turn = 0; c.count == 0 && turn < 2; turn++) {
        c.batch = turn == 0 ? c.batch : !c.batch;
        for (uint32_t i = 0; i < l->pools_count; i++) {
            if (f->limits[l->pools[i]].batch == c.batch) {
                c.pools[c.count++] = l->pools[i];
            }
        }
    }
    return c;
}

/* The number of batches of the line that follow each other: repairs wait for answers, and second
 * orders may wait. */
static uint32_t batches_of(const struct vq_forecast_line *l, enum which which)
{
    return (pick(l->calls, which) >= 0.5 ? 1u : 0u) + (pick(l->repairs, which) >= 0.5 ? 1u : 0u) +
           (l->seconds_wait ? 1u : 0u);
}

static double batch_seconds(const struct vq_forecast_line *l,
                            const struct vq_forecast_limits *limits, enum which which)
{
    const struct vq_range assumed = {VQ_ASSUMED_BATCH_LEAST_S, VQ_ASSUMED_BATCH_S,
                                     VQ_ASSUMED_BATCH_MOST_S};
    return batches_of(l, which) * pick(limits->batch_times > 0 ? limits->batch_s : assumed, which);
}

/* Puts both orders into one batch: then lazy swap saves only settled scores. A second call changes
 * nothing. */
static void ask_both_orders(struct vq_forecast_line *l)
{
    double settled = l->from_store + l->saved.least;
    l->calls = (struct vq_range){fmax(l->calls.least, l->planned.least - settled),
                                 fmax(l->calls.expected, l->planned.expected - settled),
                                 fmax(l->calls.most, l->planned.most - settled)};
    l->saved = vq_range_of(l->saved.least);
}

/* Decides like the run (coordinator/pools/second_orders.h), which knows a share from the store, or
 * from its first stage of comparisons. *known: whether there was such a stage. */
static void place_second_orders(struct vq_forecast *f, uint32_t first, uint32_t end, bool *known)
{
    bool compares = false;
    for (uint32_t i = first; i < end; i++) {
        struct vq_forecast_line *l = &f->lines[i];
        double saved = l->saved.expected - l->saved.least;
        bool batch = choose(f, l).batch;
        compares = compares || (vq_stage_shows_outputs(l->kind) && l->planned.expected > 0);
        l->seconds_wait = batch && (*known || l->settles_known) &&
                          saved > VQ_CONF_BATCH_GAIN * (l->calls.expected + saved);
        if (batch && !l->seconds_wait) {
            ask_both_orders(l);
        }
    }
    *known = *known || compares;
}

/* How long one call of the line occupies the pool: the longest time over all limits. *ret_bound is
 * the limit with the longest time. */
static double call_seconds(const struct vq_forecast_line *l,
                           const struct vq_forecast_limits *limits, enum which which,
                           enum vq_forecast_bound *ret_bound)
{
    double calls = calls_of(l, which);
    if (limits->batch) {
        *ret_bound = VQ_BOUND_BATCH;
        return 0; /* share_out sets the time of the whole batch */
    }
    double in = calls > 0 ? pick(l->tokens_in, which) / calls : 0;
    double out = calls > 0 ? pick(l->tokens_out, which) / calls : 0;
    const double uses[VQ_BOUND__COUNT] = {[VQ_BOUND_REQUESTS] = 60,
                                          [VQ_BOUND_INPUT] = 60 * in,
                                          [VQ_BOUND_OUTPUT] = 60 * out,
                                          [VQ_BOUND_TOKENS] = 60 * (in + out),
                                          [VQ_BOUND_CONCURRENCY] = pick(l->latency_s, which)};
    double longest = 0;
    *ret_bound = VQ_BOUND_NONE;
    for (int b = VQ_BOUND_REQUESTS; b <= (int)VQ_BOUND_CONCURRENCY; b++) {
        double there_is = vq_forecast_bound_value(limits, (enum vq_forecast_bound)b);
        double seconds = there_is > 0 ? uses[b] / there_is : 0;
        if (seconds > longest) {
            longest = seconds;
            *ret_bound = (enum vq_forecast_bound)b;
        }
    }
    return longest;
}

/* The calls of a stage, distributed over its pools so that all pools that may serve a line finish
 * at the same time. */
struct shares {
    double calls[VQ_JUDGES_MAX][VQ_FORECAST_POOLS_MAX];
    double busy_s[VQ_FORECAST_POOLS_MAX];
};

/* of levelling, at most; the models of a stage mostly share all pools or none */
#define ROUNDS     40
#define BISECTIONS 60
#define LEVEL      1e-6 /* levelling ends if no larger share of a line's calls moves */

/* The time at which the line's pools all finish, if its calls come after the other lines' calls. */
static double find_level(const struct chosen *c, const struct shares *s, const double *each,
                         double calls)
{
    double low = 0, high = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        high = fmax(high, s->busy_s[c->pools[i]] + calls * each[i]);
    }
    for (int k = 0; k < BISECTIONS; k++) {
        double level = (low + high) / 2, fits = 0;
        for (uint32_t i = 0; i < c->count; i++) {
            double room = fmax(0, level - s->busy_s[c->pools[i]]);
            fits += each[i] > 0 ? room / each[i] : calls;
        }
        *(fits < calls ? &low : &high) = level;
    }
    return high;
}

/* Distributes the line's calls again, with the other lines unchanged. True if a call moved. */
static bool level_line(const struct vq_forecast *f, const struct vq_forecast_line *l, uint32_t row,
                       enum which which, struct shares *s)
{
    double each[VQ_FORECAST_POOLS_MAX];
    double calls = calls_of(l, which), given = 0;
    bool moved = false;
    const struct chosen c = choose(f, l);
    for (uint32_t i = 0; i < c.count; i++) {
        uint32_t p = c.pools[i];
        enum vq_forecast_bound bound;
        each[i] = call_seconds(l, &f->limits[p], which, &bound);
        s->busy_s[p] = fmax(0, s->busy_s[p] - s->calls[row][p] * each[i]);
    }
    double level = c.count > 1 ? find_level(&c, s, each, calls) : INFINITY;
    for (uint32_t i = 0; i < c.count; i++) {
        uint32_t p = c.pools[i];
        double room = fmax(0, level - s->busy_s[p]);
        double part = fmin(each[i] > 0 ? room / each[i] : calls, calls - given);
        moved = moved || fabs(part - s->calls[row][p]) > LEVEL * calls;
        s->calls[row][p] = part;
        given += part;
        s->busy_s[p] += part * each[i];
    }
    return moved;
}

static void share_out(const struct vq_forecast *f, uint32_t first, uint32_t end, enum which which,
                      struct shares *s)
{
    memset(s, 0, sizeof(*s));
    bool moved = true;
    for (int round = 0; moved && round < ROUNDS; round++) {
        moved = false;
        for (uint32_t i = first; i < end; i++) {
            moved |= level_line(f, &f->lines[i], i - first, which, s);
        }
    }
    for (uint32_t i = first; i < end; i++) {
        for (uint32_t p = 0; p < f->limits_count; p++) {
            if (f->limits[p].batch && s->calls[i - first][p] > 0) {
                s->busy_s[p] =
                    fmax(s->busy_s[p], batch_seconds(&f->lines[i], &f->limits[p], which));
            }
        }
    }
}

/* The longest time of a pool or of a dialogue, whose turns follow each other. */
static double longest(const struct vq_forecast *f, uint32_t first, uint32_t end, enum which which,
                      const struct shares *s)
{
    double seconds = 0;
    for (uint32_t p = 0; p < f->limits_count; p++) {
        seconds = fmax(seconds, s->busy_s[p]);
    }
    for (uint32_t i = first; i < end; i++) {
        seconds = fmax(seconds, f->lines[i].turns * pick(f->lines[i].latency_s, which));
    }
    return seconds;
}

static uint32_t stage_end(const struct vq_forecast *f, uint32_t first)
{
    uint32_t end = first;
    while (end < f->lines_count && end - first < VQ_JUDGES_MAX &&
           f->lines[end].stage_no == f->lines[first].stage_no) {
        end++;
    }
    return end;
}

static struct vq_range stage_seconds(const struct vq_forecast *f, uint32_t first, uint32_t end)
{
    struct vq_range seconds = {0};
    struct shares s;
    for (int which = 0; which < (int)WHICH__COUNT; which++) {
        share_out(f, first, end, (enum which)which, &s);
        put(&seconds, (enum which)which, longest(f, first, end, (enum which)which, &s));
    }
    return seconds;
}

/* ---- tokens and money ---- */

static bool has_price(const struct vq_forecast_limits *limits)
{
    return limits->price_input_usd >= 0 && limits->price_output_usd >= 0;
}

/* The cost of one call: least, expected or highest. */
static double call_usd(const struct vq_forecast_line *l, const struct vq_forecast_limits *limits,
                       enum which which)
{
    double calls = calls_of(l, which);
    if (calls <= 0 || !has_price(limits)) {
        return 0;
    }
    double cached =
        limits->price_cached_usd >= 0 ? limits->price_cached_usd : limits->price_input_usd;
    double input = limits->price_input_usd + (cached - limits->price_input_usd) * l->cached_share +
                   (limits->price_written_usd - limits->price_input_usd) * l->written_share;
    double usd = pick(l->tokens_in, which) * input;
    usd += pick(l->tokens_out, which) * limits->price_output_usd;
    double tier = limits->service_tier == NULL ? 1 : limits->tier_price;
    tier = which == MOST ? fmax(tier, 1) : which == LEAST ? fmin(tier, 1) : tier;
    return usd * tier * (limits->batch ? limits->batch_price : 1) / 1e6 / calls;
}

static void figure_money(const struct vq_forecast *f, struct vq_forecast_line *l, uint32_t row,
                         const struct shares *s)
{
    double cheapest = INFINITY, dearest = 0, expected = 0;
    bool asks = l->calls.most + l->repairs.most > 0;
    const struct chosen c = choose(f, l);
    l->priced = true;
    for (uint32_t i = 0; i < c.count; i++) {
        const struct vq_forecast_limits *limits = &f->limits[c.pools[i]];
        l->priced = l->priced && (has_price(limits) || !asks);
        cheapest = fmin(cheapest, call_usd(l, limits, LEAST));
        dearest = fmax(dearest, call_usd(l, limits, MOST));
        expected += s->calls[row][c.pools[i]] * call_usd(l, limits, EXPECTED);
    }
    l->usd =
        (struct vq_range){calls_of(l, LEAST) * cheapest, expected, calls_of(l, MOST) * dearest};
}

static void figure_tokens(struct vq_forecast_line *l)
{
    l->tokens_in = vq_range_add(vq_range_mul(l->calls, l->in_each),
                                vq_range_mul(l->repairs, l->repair_in_each));
    l->tokens_out = vq_range_add(vq_range_mul(l->calls, l->out_each),
                                 vq_range_mul(l->repairs, l->repair_out_each));
}

static void sums_add(struct vq_forecast_sums *to, const struct vq_forecast_line *l)
{
    to->planned = vq_range_add(to->planned, l->planned);
    to->calls = vq_range_add(to->calls, l->calls);
    to->repairs = vq_range_add(to->repairs, l->repairs);
    to->saved = vq_range_add(to->saved, l->saved);
    to->tokens_in = vq_range_add(to->tokens_in, l->tokens_in);
    to->tokens_out = vq_range_add(to->tokens_out, l->tokens_out);
    to->usd = vq_range_add(to->usd, l->usd);
    to->from_store += l->from_store;
    to->priced = to->priced && l->priced;
}

struct vq_forecast_sums vq_forecast_stage_sums(const struct vq_forecast *f, uint32_t first,
                                               struct vq_range *ret_seconds, uint32_t *ret_next)
{
    uint32_t end = stage_end(f, first);
    struct vq_forecast_sums sums = {.priced = true};
    for (uint32_t i = first; i < end; i++) {
        sums_add(&sums, &f->lines[i]);
    }
    *ret_seconds = stage_seconds(f, first, end);
    *ret_next = end;
    return sums;
}

/* ---- all of it ---- */

/* Adds a stage's shares to the pools; `by_bound` is [pool][bound]. */
static void figure_pools(struct vq_forecast *f, uint32_t first, uint32_t end, enum which which,
                         const struct shares *s, double (*by_bound)[VQ_BOUND__COUNT])
{
    for (uint32_t p = 0; p < f->limits_count; p++) {
        struct vq_forecast_pool *pool = &f->pools[p];
        put(&pool->seconds, which, pick(pool->seconds, which) + s->busy_s[p]);
        for (uint32_t i = first; i < end; i++) {
            const struct vq_forecast_line *l = &f->lines[i];
            double calls = s->calls[i - first][p], all = calls_of(l, which);
            if (calls <= 0 || all <= 0) {
                continue;
            }
            enum vq_forecast_bound bound;
            double seconds = calls * call_seconds(l, &f->limits[p], which, &bound);
            seconds = f->limits[p].batch ? s->busy_s[p] : seconds;
            double tokens = pick(l->tokens_in, which) + pick(l->tokens_out, which);
            put(&pool->calls, which, pick(pool->calls, which) + calls);
            put(&pool->tokens, which, pick(pool->tokens, which) + tokens * calls / all);
            by_bound[p][bound] += which == EXPECTED ? seconds : 0;
        }
    }
}

static void figure_stage(struct vq_forecast *f, uint32_t first, uint32_t end,
                         double (*by_bound)[VQ_BOUND__COUNT])
{
    struct shares s;
    uint32_t batches = 0;
    for (int k = 0; k < (int)WHICH__COUNT; k++) {
        enum which which = (enum which)k;
        share_out(f, first, end, which, &s);
        put(&f->seconds, which, pick(f->seconds, which) + longest(f, first, end, which, &s));
        figure_pools(f, first, end, which, &s, by_bound);
        for (uint32_t i = first; which == EXPECTED && i < end; i++) {
            figure_money(f, &f->lines[i], i - first, &s);
        }
    }
    for (uint32_t i = first; i < end; i++) {
        struct vq_forecast_line *l = &f->lines[i];
        l->seconds = stage_seconds(f, i, i + 1);
        double best = INFINITY;
        const struct chosen c = choose(f, l);
        batches = c.batch && batches_of(l, MOST) > batches ? batches_of(l, MOST) : batches;
        for (uint32_t k = 0; k < c.count && c.batch && batches_of(l, MOST) > 0; k++) {
            f->assumed |= f->limits[c.pools[k]].batch_times == 0 ? VQ_ASSUMED_BATCH : 0;
        }
        for (uint32_t k = 0; calls_of(l, EXPECTED) > 0 && k < c.count; k++) {
            enum vq_forecast_bound bound;
            double each = call_seconds(l, &f->limits[c.pools[k]], EXPECTED, &bound);
            l->bound = each < best ? bound : l->bound;
            best = fmin(best, each);
        }
        sums_add(&f->all, l);
    }
    f->batches += batches;
}

/* The full days that a pool must wait for its quota. */
static double days_over(double need, double quota)
{
    return quota > 0 && need > quota ? ceil(need / quota) - 1 : 0;
}

static void figure_days(struct vq_forecast *f, uint32_t p)
{
    const struct vq_forecast_limits *l = &f->limits[p];
    struct vq_forecast_pool *pool = &f->pools[p];
    for (int k = 0; k < (int)WHICH__COUNT; k++) {
        enum which which = (enum which)k;
        double days = fmax(days_over(pick(pool->calls, which), l->requests_per_day),
                           days_over(pick(pool->tokens, which), l->tokens_per_day));
        double seconds = fmax(0, days - (which == LEAST ? 1 : 0)) * 86400;
        if (seconds > pick(pool->seconds, which)) {
            put(&pool->seconds, which, seconds);
            pool->bound = which == EXPECTED ? VQ_BOUND_DAY : pool->bound;
        }
        put(&f->seconds, which, fmax(pick(f->seconds, which), seconds));
    }
}

void vq_forecast_figure(struct vq_forecast *f)
{
    double by_bound[VQ_FORECAST_POOLS_MAX][VQ_BOUND__COUNT] = {{0}};
    VQ_ASSERT(f->limits_count <= VQ_FORECAST_POOLS_MAX);
    f->all = (struct vq_forecast_sums){.priced = true};
    f->seconds = (struct vq_range){0};
    f->batches = 0;
    f->assumed &= ~(unsigned)VQ_ASSUMED_BATCH;
    memset(f->pools, 0, f->limits_count * sizeof(*f->pools));
    bool known = false;
    for (uint32_t first = 0; first < f->lines_count; first = stage_end(f, first)) {
        place_second_orders(f, first, stage_end(f, first), &known);
    }
    for (uint32_t i = 0; i < f->lines_count; i++) {
        figure_tokens(&f->lines[i]);
        for (uint32_t k = 0; k < f->lines[i].pools_count; k++) {
            f->pools[f->lines[i].pools[k]].serves = true;
        }
    }
    for (uint32_t first = 0; first < f->lines_count; first = stage_end(f, first)) {
        figure_stage(f, first, stage_end(f, first), by_bound);
    }
    for (uint32_t p = 0; p < f->limits_count; p++) {
        for (int b = 0; b < (int)VQ_BOUND__COUNT; b++) {
            bool more = by_bound[p][b] > by_bound[p][f->pools[p].bound];
            f->pools[p].bound = more ? (enum vq_forecast_bound)b : f->pools[p].bound;
        }
        if (vq_forecast_bound_assumed(&f->limits[p], f->pools[p].bound)) {
            f->assumed |= VQ_ASSUMED_FLIGHT;
        }
        figure_days(f, p);
    }
}

/* ---- budget and deadline ---- */

/* Takes stages in order, each with its expected cost or time, until the sum is used up. */
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

uint64_t vq_forecast_calls_of(const struct vq_forecast *f, enum vq_role role)
{
    double calls = 0;
    for (uint32_t i = 0; i < f->lines_count; i++) {
        calls += f->lines[i].role == role ? f->lines[i].calls.most : 0;
    }
    return (uint64_t)calls;
}

void vq_forecast_show_total(const struct vq_forecast *f, struct vq_buf *out)
{
    char calls[VQ_FMT_BYTES], in[VQ_FMT_BYTES], reply[VQ_FMT_BYTES], usd[VQ_FMT_BYTES];
    vq_buf_printf(out, "At most %s calls, about %s tokens in and %s out",
                  vq_fmt_count((uint64_t)f->all.calls.most, calls),
                  vq_fmt_count((uint64_t)f->all.tokens_in.expected, in),
                  vq_fmt_count((uint64_t)f->all.tokens_out.expected, reply));
    if (f->all.usd.expected > 0) {
        vq_buf_printf(out, ", about %s%s", vq_fmt_dollars(f->all.usd.expected, usd),
                      f->all.priced ? "" : " for the models with a price");
    }
    vq_buf_printf(out, ":\n");
}
