/* A plan as a table that fits 80 columns, then its limits, the sums, and whether budget and
 * deadline hold. */
#include "cli/plan_show.h"
#include "methods/files/method_type.h"

#include <math.h>
#include <stdio.h>

#define NAME_COLUMNS  19u
#define JUDGE_COLUMNS 12u

/* 9,999 and 12.3 k and 4.56 M: three significant digits. */
static const char *brief(double n, char ret_text[VQ_FMT_BYTES])
{
    static const char *const units[] = {"", " k", " M", " G", " T"};
    size_t unit = 0;
    if (n < 9999.5) {
        return vq_fmt_count((uint64_t)llround(fmax(0, n)), ret_text);
    }
    while (n >= 999.5 && unit + 1 < VQ_COUNT(units)) {
        n /= 1000;
        unit++;
    }
    int digits = n < 9.995 ? 2 : n < 99.95 ? 1 : 0;
    (void)snprintf(ret_text, VQ_FMT_BYTES, "%.*f%s", digits, n, units[unit]);
    return ret_text;
}

static const char *whole(double n, char ret_text[VQ_FMT_BYTES])
{
    return vq_fmt_count((uint64_t)llround(fmax(0, n)), ret_text);
}

static const char *duration(double seconds, char ret_text[VQ_FMT_BYTES])
{
    return vq_fmt_duration((int64_t)fmin(seconds * 1e9, 9e18), ret_text);
}

/* "1,234", or "~1,234" if it depends on answers. */
static const char *about(struct vq_range r, char ret_text[VQ_FMT_BYTES])
{
    char n[VQ_FMT_BYTES];
    (void)snprintf(ret_text, VQ_FMT_BYTES, "%s%.28s", vq_range_is_exact(r) ? "" : "~",
                   whole(r.expected, n));
    return ret_text;
}

static const char *money(bool priced, double usd, char ret_text[VQ_FMT_BYTES])
{
    if (!priced) {
        (void)snprintf(ret_text, VQ_FMT_BYTES, "unknown");
        return ret_text;
    }
    return vq_fmt_dollars(usd, ret_text);
}

static void line(const struct vq_forecast_line *l, bool first, struct vq_buf *out)
{
    char calls[VQ_FMT_BYTES], most[VQ_FMT_BYTES], in[VQ_FMT_BYTES], tokens_out[VQ_FMT_BYTES],
        usd[VQ_FMT_BYTES];
    vq_buf_puts(out, "  ");
    vq_fmt_pad(out, vq_span_str(first ? l->stage : ""), NAME_COLUMNS);
    vq_buf_putc(out, ' ');
    vq_fmt_pad(out, vq_span_str(l->judge), JUDGE_COLUMNS);
    vq_buf_printf(out, "%11s%11s%8s%7s%9s\n", about(l->calls, calls), whole(l->calls.most, most),
                  brief(l->tokens_in.expected, in), brief(l->tokens_out.expected, tokens_out),
                  money(l->priced, l->usd.expected, usd));
}

static void lines(const struct vq_forecast *f, const struct vq_terminal *t, struct vq_buf *out)
{
    vq_buf_printf(out, "%s  %-*s %-*s%11s%11s%8s%7s%9s%s\n", vq_color(t, VQ_COLOR_BOLD),
                  (int)NAME_COLUMNS, "stage", (int)JUDGE_COLUMNS, "judge", "calls", "at most", "in",
                  "out", "price", vq_color(t, VQ_COLOR_RESET));
    uint32_t shown = UINT32_MAX, left_out = 0;
    for (uint32_t i = 0; i < f->lines_count; i++) {
        const struct vq_forecast_line *l = &f->lines[i];
        if (!l->known && l->calls.expected + l->repairs.expected < 0.5) {
            left_out++;
            continue;
        }
        line(l, shown != l->stage_no, out);
        shown = l->stage_no;
    }
    if (left_out > 0) {
        vq_buf_puts(out, "  (stages that are hardly expected are not shown)\n");
    }
    struct vq_forecast_line sum = {.stage = "all",
                                   .judge = "",
                                   .calls = f->all.calls,
                                   .tokens_in = f->all.tokens_in,
                                   .tokens_out = f->all.tokens_out,
                                   .usd = f->all.usd,
                                   .priced = true};
    vq_buf_puts(out, vq_color(t, VQ_COLOR_BOLD));
    line(&sum, true, out);
    vq_buf_puts(out, vq_color(t, VQ_COLOR_RESET));
}

/* The service tier of a pool, and the price of a call there. */
static void tier(const struct vq_forecast_limits *l, struct vq_buf *out)
{
    if (l->service_tier != NULL) {
        vq_buf_printf(out, "  %-*s tier %s at %.6g of the price%s\n", (int)NAME_COLUMNS, "",
                      l->service_tier, l->tier_price,
                      l->tier_price_assumed ? " (assumed: service_tier_price)" : "");
    }
}

/* The measured use of prompt caches, over all calls. */
static void caches(const struct vq_forecast *f, struct vq_buf *out)
{
    double in = 0, cached = 0, written = 0;
    for (uint32_t i = 0; i < f->lines_count; i++) {
        const struct vq_forecast_line *l = &f->lines[i];
        in += l->tokens_in.expected;
        cached += l->tokens_in.expected * l->cached_share;
        written += l->tokens_in.expected * l->written_share;
    }
    if (cached + written > 0) {
        vq_buf_printf(out, "Cache   %.0f %% of the input is read from a cache", 100 * cached / in);
        if (written > 0) {
            vq_buf_printf(out, ", %.0f %% written to one", 100 * written / in);
        }
        vq_buf_puts(out, ", as in earlier calls\n");
    }
}

/* "half of 14 recorded within 7 min 10 s" */
static void recorded(const struct vq_forecast_limits *l, struct vq_buf *out)
{
    char n[VQ_FMT_BYTES], time[VQ_FMT_BYTES];
    vq_buf_printf(out, "half of %s recorded within %s", vq_fmt_count(l->batch_times, n),
                  duration(l->batch_s.expected, time));
}

static void batch_pool(const struct vq_forecast_limits *l, const struct vq_forecast_pool *p,
                       struct vq_buf *out)
{
    char time[VQ_FMT_BYTES];
    vq_buf_printf(out, " %12s  batch: ",
                  p->bound == VQ_BOUND_NONE ? "" : duration(p->seconds.expected, time));
    if (l->batch_times > 0) {
        recorded(l, out);
        vq_buf_puts(out, ", ");
    }
    vq_buf_printf(out, "up to 24 h each, at %.6g of the price%s\n", l->batch_price,
                  l->batch_price_assumed ? " (assumed)" : "");
}

static void limits(const struct vq_forecast *f, struct vq_buf *out)
{
    vq_buf_puts(out, "\nPools, by time and what limits it:\n");
    for (uint32_t k = 0; k < f->limits_count; k++) {
        const struct vq_forecast_pool *p = &f->pools[k];
        const struct vq_forecast_limits *l = &f->limits[k];
        if (!p->serves) {
            continue;
        }
        char time[VQ_FMT_BYTES];
        double value = vq_forecast_bound_value(l, p->bound);
        vq_buf_puts(out, "  ");
        vq_fmt_pad(out, vq_span_str(l->name), NAME_COLUMNS);
        if (l->batch) {
            batch_pool(l, p, out);
            continue;
        }
        if (p->bound == VQ_BOUND_NONE) {
            vq_buf_puts(out, " nothing to ask\n");
            continue;
        }
        vq_buf_printf(out, " %12s  %s: %.15g%s\n", duration(p->seconds.expected, time),
                      vq_forecast_bound_word(p->bound), value,
                      vq_forecast_bound_assumed(l, p->bound) ? " (assumed: not set)" : "");
        tier(l, out);
    }
}

/* The recorded batches from which the time was computed. False: none. */
static bool per_batch(const struct vq_plan_shown *plan, struct vq_buf *out)
{
    const struct vq_forecast *f = plan->forecast;
    bool any = false;
    for (uint32_t k = 0; k < f->limits_count; k++) {
        const struct vq_forecast_limits *l = &f->limits[k];
        bool used = plan->batches.configured ? l->batch : l->can_batch;
        if (used && f->pools[k].serves && l->batch_times > 0) {
            any = true;
            vq_buf_printf(out, "        batches of %s: ", l->name);
            recorded(l, out);
            vq_buf_putc(out, '\n');
        }
    }
    return any;
}

/* The same run with its batch pools; if it has none, their price. */
static void batches(const struct vq_plan_shown *plan, struct vq_buf *out)
{
    const struct vq_forecast_batches *b = &plan->batches;
    char usd[VQ_FMT_BYTES], least[VQ_FMT_BYTES], most[VQ_FMT_BYTES];
    if (!b->possible || !b->all.priced || b->all.usd.most <= 0) {
        return;
    }
    vq_buf_printf(out, "%s %s (%s to %s), ", b->configured ? "Batches" : "As a batch:",
                  vq_fmt_dollars(b->all.usd.expected, usd), vq_fmt_dollars(b->all.usd.least, least),
                  vq_fmt_dollars(b->all.usd.most, most));
    if (b->in_sequence > 1) {
        vq_buf_printf(out, "about %s, at most %s: %u in sequence\n",
                      duration(b->seconds.expected, usd), duration(b->seconds.most, most),
                      b->in_sequence);
    } else {
        vq_buf_printf(out, "about %s, up to %s\n", duration(b->seconds.expected, usd),
                      duration(b->seconds.most, most));
    }
    bool any = per_batch(plan, out);
    if (b->price_assumed || b->time_assumed) {
        vq_buf_printf(out, "        %s%s%s\n",
                      b->price_assumed ? "batch price: half of the interactive price, assumed" : "",
                      b->price_assumed && b->time_assumed ? "; " : "",
                      !b->time_assumed ? ""
                      : any            ? "1 h per batch of the other models, assumed"
                                       : "1 h per batch, assumed");
    }
}

static void sums(const struct vq_plan_shown *plan, struct vq_buf *out)
{
    const struct vq_forecast *f = plan->forecast;
    const struct vq_forecast_sums *s = &f->all;
    char a[VQ_FMT_BYTES], b[VQ_FMT_BYTES], c[VQ_FMT_BYTES];
    vq_buf_printf(out, "\nCalls   %s (%s to %s)", about(s->calls, a), whole(s->calls.least, b),
                  whole(s->calls.most, c));
    if (s->repairs.expected >= 0.5) {
        vq_buf_printf(out, ", and repairs ~%s", whole(s->repairs.expected, a));
    }
    vq_buf_printf(out, "\n        stored already %s, saved by lazy swap %s\n",
                  whole(s->from_store, a), about(s->saved, b));
    vq_buf_printf(out, "Tokens  %s in (%s to %s)", brief(s->tokens_in.expected, a),
                  brief(s->tokens_in.least, b), brief(s->tokens_in.most, c));
    vq_buf_printf(out, ", %s out (%s to %s)\n", brief(s->tokens_out.expected, a),
                  brief(s->tokens_out.least, b), brief(s->tokens_out.most, c));
    caches(f, out);
    if (s->priced || s->usd.expected > 0) {
        vq_buf_printf(out, "Price   %s (%s to %s)%s\n", vq_fmt_dollars(s->usd.expected, a),
                      vq_fmt_dollars(s->usd.least, b), vq_fmt_dollars(s->usd.most, c),
                      s->priced ? "" : ", without the judges whose price is unknown");
    } else {
        vq_buf_puts(out, "Price   unknown: set price_input_usd and price_output_usd\n");
    }
    vq_buf_printf(out, "Time    %s (%s to %s)\n", duration(f->seconds.expected, a),
                  duration(f->seconds.least, b), duration(f->seconds.most, c));
    batches(plan, out);
}

static void bounded(const char *what, const char *there_is, const struct vq_forecast_bounded *b,
                    const char *need, struct vq_buf *out)
{
    static const char *const says[] = {[VQ_HOLDS_SURELY] = "holds",
                                       [VQ_HOLDS_LIKELY] = "holds as expected, not at the most",
                                       [VQ_HOLDS_NOT] = "does not hold",
                                       [VQ_HOLDS_UNKNOWN] =
                                           "unknown: some prices are not configured"};
    vq_buf_printf(out, "%s %s %s", what, there_is, says[b->verdict]);
    if (b->verdict == VQ_HOLDS_NOT) {
        vq_buf_printf(out, ": about %.0f %% of the calls, into stage \"%s\"; %s", b->reached * 100,
                      b->stage == NULL ? "" : b->stage, need);
    }
    vq_buf_putc(out, '\n');
}

/* The limits that must grow to meet the time, and the factor. */
static void needed(const struct vq_forecast *f, double factor, struct vq_buf *out)
{
    if (!isfinite(factor)) {
        return;
    }
    for (uint32_t k = 0; k < f->limits_count; k++) {
        const struct vq_forecast_pool *p = &f->pools[k];
        if (p->bound == VQ_BOUND_NONE || p->seconds.expected * factor <= f->seconds.expected) {
            continue;
        }
        const struct vq_forecast_limits *l = &f->limits[k];
        double value = vq_forecast_bound_value(l, p->bound);
        vq_buf_printf(out, "         %s: %s %.15g instead of %.15g\n", l->name,
                      vq_forecast_bound_word(p->bound), ceil(value * factor), value);
    }
}

/* The latest end of batches that still lets the interactive pools answer everything. */
static void by_deadline(const struct vq_plan_shown *plan, struct vq_buf *out)
{
    const struct vq_forecast *f = plan->forecast;
    time_t until = vq_plan_batches_until(plan);
    char text[VQ_FMT_BYTES], least[VQ_FMT_BYTES], most[VQ_FMT_BYTES];
    struct tm tm;
    if (until == 0) {
        return;
    }
    (void)localtime_r(&until, &tm);
    (void)strftime(text, sizeof(text), "%H:%M", &tm);
    vq_buf_printf(out,
                  "         batches have until %s: %s if all of them end by then,\n"
                  "         %s if none does and all calls are asked interactively\n",
                  text, vq_fmt_dollars(plan->batches.all.usd.expected, least),
                  vq_fmt_dollars(f->all.usd.expected, most));
}

static void holds(const struct vq_plan_shown *plan, struct vq_buf *out)
{
    char text[VQ_FMT_BYTES], need[96], n[VQ_FMT_BYTES];
    if (plan->has_budget) {
        (void)snprintf(need, sizeof(need), "%s are needed",
                       vq_fmt_dollars(plan->forecast->all.usd.expected, n));
        bounded("Budget ", vq_fmt_dollars(plan->budget_usd, text), &plan->budget, need, out);
    }
    if (plan->has_deadline) {
        struct tm tm;
        (void)localtime_r(&plan->deadline, &tm);
        (void)strftime(text, sizeof(text), "%F %H:%M", &tm);
        (void)snprintf(need, sizeof(need), "limits %.1f times as high are needed",
                       plan->by_deadline.factor);
        bounded("Deadline", text, &plan->by_deadline, need, out);
        by_deadline(plan, out);
        if (plan->by_deadline.verdict == VQ_HOLDS_NOT) {
            needed(plan->forecast, plan->by_deadline.factor, out);
        }
    }
}

static const char *smallest(double separability, char ret_text[VQ_FMT_BYTES])
{
    if (isnan(separability)) {
        (void)snprintf(ret_text, VQ_FMT_BYTES, "none");
    } else {
        (void)snprintf(ret_text, VQ_FMT_BYTES, "%.2f", separability);
    }
    return ret_text;
}

static void power(const struct vq_power *p, struct vq_buf *out)
{
    char now[VQ_FMT_BYTES], half[VQ_FMT_BYTES], twice[VQ_FMT_BYTES], prompts[VQ_FMT_BYTES];
    if (p->units == 0) {
        return;
    }
    vq_buf_printf(out,
                  "Power   %s prompts, %u vibes can show a separability of %s or more\n"
                  "        (80 %% power, q 0.05); half the rows: %s, twice: %s\n",
                  vq_fmt_count(p->units, prompts), p->tests, smallest(p->smallest, now),
                  smallest(p->smallest_half, half), smallest(p->smallest_twice, twice));
}

void vq_plan_table(const struct vq_plan_shown *plan, const struct vq_terminal *t,
                   struct vq_buf *out)
{
    const struct vq_forecast *f = plan->forecast;
    if (plan->job->method->show_size != NULL) {
        plan->job->method->show_size(plan->job, out);
        vq_buf_puts(out, "; ");
    }
    vq_buf_puts(out, plan->has_store ? "stored answers are taken into account\n\n"
                                     : "there is no store yet\n\n");
    lines(f, t, out);
    limits(f, out);
    sums(plan, out);
    power(&f->power, out);
    holds(plan, out);
    for (unsigned bit = 0; bit < VQ_ASSUMED_BITS; bit++) {
        if ((f->assumed & 1u << bit) != 0) {
            vq_buf_printf(out, "%sAssumed: %s.%s\n", vq_color(t, VQ_COLOR_DIM),
                          vq_forecast_assumed_text(bit), vq_color(t, VQ_COLOR_RESET));
        }
    }
    vq_buf_puts(out, "Nothing was sent.\n");
}
