/* A plan as JSON, format 1: the names of keys are stable. An interval is {"least", "expected",
 * "most"}; unknown values are null. */
#include "cli/plan_show.h"
#include "common/text/json.h"
#include "methods/files/method_type.h"

#include <math.h>

#define DIGITS 9

static void real(struct vq_json *j, const char *key, double value)
{
    vq_json_put_real(j, key, value, DIGITS);
}

static void range(struct vq_json *j, const char *key, struct vq_range r)
{
    vq_json_put_object(j, key);
    real(j, "least", r.least);
    real(j, "expected", r.expected);
    real(j, "most", r.most);
    vq_json_object_end(j);
}

static void dollars(struct vq_json *j, const char *key, struct vq_range r, bool known)
{
    if (known) {
        range(j, key, r);
    } else {
        vq_json_put_null(j, key);
    }
}

static const char *role_word(enum vq_role role)
{
    static const char *const words[VQ_ROLE__COUNT] = {[VQ_ROLE_JUDGE] = "judge",
                                                      [VQ_ROLE_PREFERENCE_JUDGE] =
                                                          "preference_judge",
                                                      [VQ_ROLE_PROPOSER] = "proposer",
                                                      [VQ_ROLE_REDUCER] = "reducer",
                                                      [VQ_ROLE_EMBEDDER] = "embedder"};
    return words[role];
}

static void sums(struct vq_json *j, const struct vq_forecast_sums *s, struct vq_range seconds)
{
    range(j, "planned", s->planned);
    real(j, "from_store", s->from_store);
    range(j, "saved_by_lazy_swap", s->saved);
    range(j, "calls", s->calls);
    range(j, "repairs", s->repairs);
    range(j, "tokens_in", s->tokens_in);
    range(j, "tokens_out", s->tokens_out);
    dollars(j, "usd", s->usd, s->priced);
    range(j, "seconds", seconds);
}

static void line(struct vq_json *j, const struct vq_forecast *f, const struct vq_forecast_line *l)
{
    struct vq_forecast one = *f; /* with only this line */
    one.lines += l - f->lines;
    one.lines_count = 1;
    struct vq_range seconds;
    uint32_t next;
    struct vq_forecast_sums s = vq_forecast_stage_sums(&one, 0, &seconds, &next);
    vq_json_object(j);
    vq_json_put_str(j, "name", l->judge);
    vq_json_put_str(j, "model", l->called);
    sums(j, &s, seconds);
    real(j, "cached_share", l->cached_share);
    real(j, "cache_written_share", l->written_share);
    vq_json_put_str(j, "limited_by", vq_forecast_bound_word(l->bound));
    vq_json_object_end(j);
}

static void stages(struct vq_json *j, const struct vq_forecast *f)
{
    vq_json_put_array(j, "stages");
    for (uint32_t i = 0, next; i < f->lines_count; i = next) {
        struct vq_range seconds;
        struct vq_forecast_sums s = vq_forecast_stage_sums(f, i, &seconds, &next);
        vq_json_object(j);
        vq_json_put_str(j, "name", f->lines[i].stage);
        vq_json_put_str(j, "role", role_word(f->lines[i].role));
        vq_json_put_bool(j, "known", f->lines[i].known);
        vq_json_put_bool(j, "exact", vq_range_is_exact(s.calls));
        sums(j, &s, seconds);
        vq_json_put_array(j, "judges");
        for (uint32_t k = i; k < next; k++) {
            line(j, f, &f->lines[k]);
        }
        vq_json_array_end(j);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

/* 0 or less means "not set". */
static void limit(struct vq_json *j, const char *key, double value)
{
    real(j, key, value > 0 ? value : NAN);
}

static void price(struct vq_json *j, const char *key, double value)
{
    real(j, key, value >= 0 ? value : NAN);
}

static void limits(struct vq_json *j, const struct vq_forecast *f)
{
    vq_json_put_array(j, "limits");
    for (uint32_t k = 0; k < f->limits_count; k++) {
        const struct vq_forecast_limits *l = &f->limits[k];
        if (!f->pools[k].serves) {
            continue;
        }
        vq_json_object(j);
        vq_json_put_str(j, "name", l->name);
        limit(j, "requests_per_minute", l->rates.requests);
        limit(j, "input_tokens_per_minute", l->rates.input_tokens);
        limit(j, "output_tokens_per_minute", l->rates.output_tokens);
        limit(j, "tokens_per_minute", l->rates.tokens);
        limit(j, "requests_per_day", l->requests_per_day);
        limit(j, "tokens_per_day", l->tokens_per_day);
        limit(j, "concurrency", l->concurrency);
        price(j, "price_input_usd", l->price_input_usd);
        price(j, "price_cached_usd", l->price_cached_usd);
        price(j, "price_cache_write_usd", l->price_input_usd < 0 ? -1 : l->price_written_usd);
        price(j, "price_output_usd", l->price_output_usd);
        vq_json_put_str(j, "service_tier", l->service_tier);
        price(j, "service_tier_price", l->service_tier == NULL ? -1 : l->tier_price);
        vq_json_put_bool(j, "batch", l->batch);
        price(j, "batch_price", l->batch ? l->batch_price : -1);
        vq_json_put_u64(j, "recorded_batches", l->batch_times);
        limit(j, "recorded_batch_s", l->batch_times > 0 ? l->batch_s.expected : 0);
        range(j, "calls", f->pools[k].calls);
        range(j, "tokens", f->pools[k].tokens);
        range(j, "seconds", f->pools[k].seconds);
        vq_json_put_str(j, "limited_by", vq_forecast_bound_word(f->pools[k].bound));
        limit(j, "assumed_concurrency",
              vq_forecast_bound_assumed(l, f->pools[k].bound) ? VQ_ASSUMED_CONCURRENCY : 0);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

static void bounded(struct vq_json *j, const struct vq_forecast_bounded *b)
{
    vq_json_put_str(j, "holds", vq_forecast_verdict_word(b->verdict));
    real(j, "share_of_calls", b->reached);
    vq_json_put_str(j, "ends_in", b->stage);
    real(j, "needed_factor", b->factor);
}

static void holds(struct vq_json *j, const struct vq_plan_shown *plan)
{
    if (plan->has_budget) {
        vq_json_put_object(j, "budget");
        real(j, "usd", plan->budget_usd);
        bounded(j, &plan->budget);
        vq_json_object_end(j);
    } else {
        vq_json_put_null(j, "budget");
    }
    if (plan->has_deadline) {
        vq_json_put_object(j, "deadline");
        vq_json_put_i64(j, "unix_s", (int64_t)plan->deadline);
        real(j, "seconds_left", difftime(plan->deadline, plan->now));
        bounded(j, &plan->by_deadline);
        time_t until = vq_plan_batches_until(plan);
        vq_json_put_known(j, "batches_until_unix_s", until != 0, (int64_t)until);
        vq_json_object_end(j);
    } else {
        vq_json_put_null(j, "deadline");
    }
}

static void power(struct vq_json *j, const struct vq_power *p)
{
    if (p->units == 0) {
        return;
    }
    vq_json_put_object(j, "power");
    vq_json_put_u64(j, "prompts", p->units);
    vq_json_put_u64(j, "vibes", p->tests);
    real(j, "smallest_separability", p->smallest);
    real(j, "with_half_the_rows", p->smallest_half);
    real(j, "with_twice_the_rows", p->smallest_twice);
    vq_json_object_end(j);
}

/* null: no call can go into a batch, or all do already. */
static void as_batches(struct vq_json *j, const struct vq_forecast_batches *b)
{
    if (!b->possible) {
        vq_json_put_null(j, "as_batches");
        return;
    }
    vq_json_put_object(j, "as_batches");
    vq_json_put_bool(j, "configured", b->configured);
    vq_json_put_bool(j, "price_assumed", b->price_assumed);
    vq_json_put_bool(j, "time_assumed", b->time_assumed);
    vq_json_put_u64(j, "in_sequence", b->in_sequence);
    range(j, "calls", b->all.calls);
    dollars(j, "usd", b->all.usd, b->all.priced);
    range(j, "seconds", b->seconds);
    vq_json_object_end(j);
}

void vq_plan_json(const struct vq_plan_shown *plan, struct vq_buf *out)
{
    const struct vq_forecast *f = plan->forecast;
    struct vq_json j;
    vq_json_init(&j, out, 2);
    vq_json_object(&j);
    vq_json_put_u64(&j, "format", VQ_PLAN_FORMAT);
    if (plan->job->method->show_size_json != NULL) {
        plan->job->method->show_size_json(plan->job, &j);
    }
    sums(&j, &f->all, f->seconds);
    dollars(&j, "usd_known", f->all.usd, true);
    as_batches(&j, &plan->batches);
    stages(&j, f);
    limits(&j, f);
    power(&j, &f->power);
    holds(&j, plan);
    vq_json_put_array(&j, "assumed");
    for (unsigned bit = 0; bit < VQ_ASSUMED_BITS; bit++) {
        if ((f->assumed & 1u << bit) != 0) {
            vq_json_str(&j, vq_forecast_assumed_text(bit));
        }
    }
    vq_json_array_end(&j);
    vq_json_object_end(&j);
    vq_buf_putc(out, '\n');
}
