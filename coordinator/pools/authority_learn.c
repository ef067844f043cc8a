/* Limits that the configuration does not set, or sets too high: how a learned limit grows again,
 * and "slow down".
 *
 * A limit that a trial lowered (authority_trial.c) is probed upward again. Near its ceiling it
 * waits a window, then slowly grows over it. Above the ceiling (which was wrong then), or far below
 * it, it grows fast. It stops at the named limit.
 *
 * "Slow down" (a refusal for growing too fast): the rate is halved, then grows by at most a half
 * each quarter of an hour. */
#include "coordinator/pools/authority_parts.h"

#define OVER         1.04 /* times the ceiling, without refusals: then it is no ceiling */
#define GROWTH_MAX   1.0
#define GROWTH_STEPS 50 /* per window */
/* How a learned rate grows: it stays for `hold` windows (to settle, and to count noise), then grows
 * by `near` per window up to the ceiling, and by `over` above it, doubled with each clean window. A
 * named rate is likely to be right again, so it is tried sooner. Once it has been too high for
 * SLOW_WINDOWS or longer, it is tried up to SLOW_MOST times more slowly, because each try costs
 * refusals. */
static const struct growth {
    double hold, near, over;
} unknown_grows = {2.0, 0.07, 0.2}, named_grows = {0.75, 0.45, 1.0};
#define SLOW_WINDOWS 7
#define SLOW_MOST    2.0

/* share of the learned rate: with less use it does not bind, and nothing is learned */
#define USED            0.75
#define SLOWED_APART_NS (10 * VQ_AUTH_S)
#define RAMP_GROWTH     1.5 /* factor for each RAMP_NS */
#define RAMP_NS         (900 * VQ_AUTH_S)
#define RAMP_FORGET     4.0 /* times its start, without a known limit: then the ramp is forgotten */

bool vq_auth_is_named(const struct vq_auth_named *named)
{
    bool is = false;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        is = is || named->limit.rates.of[r] > 0;
    }
    return is;
}

void vq_auth_learn_init(struct vq_auth_pool *p, int64_t now_ns)
{
    p->used.bucket_ns = now_ns;
    p->doubt.lone = vq_auth_is_named(&p->named) ? VQ_AUTH_LONE_MOST : 0;
    p->learn.slowed_ns = INT64_MIN / 2;
    p->trial.patience_ns = VQ_AUTH_PATIENCE_NS;
    p->learn.grown_ns = p->learn.clean_ns = p->learn.over_ns = p->learn.ramp_ns = now_ns;
    vq_auth_level_init(p, now_ns);
}

void vq_auth_learn_forget(struct vq_auth_pool *p, int64_t now_ns)
{
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        p->learn.rates.of[r] = p->learn.ramp.of[r] = 0;
    }
    p->learn.ceiling = 0;
    p->learn.counted = false;
    p->learn.grown_ns = p->learn.clean_ns = p->learn.over_ns = now_ns;
    p->learn.why = (struct vq_auth_why){0};
    p->trial = (struct vq_auth_trial){.cleared_ns = now_ns, .patience_ns = VQ_AUTH_PATIENCE_NS};
    vq_auth_used_forgive(p);
    if (vq_auth_level_free(p)) {
        vq_auth_level_init(p, now_ns);
        (void)vq_auth_level_round(p, now_ns);
    }
}

/* The known limit without learning, per minute; 0: none. */
static double named(const struct vq_auth_pool *p, enum vq_rate r)
{
    double limit = p->named.limit.rates.of[r];
    double said = p->word.said.of[r] * p->named.share;
    return said > 0 && (limit <= 0 || said < limit) ? said : fmax(limit, 0);
}

void vq_auth_learn_refused(struct vq_auth_pool *p, int64_t now_ns)
{
    vq_auth_used_turn(p, now_ns);
    vq_auth_limits(p);
    if (p->trial.kind == VQ_AUTH_TRIES_NOTHING && !vq_auth_level_refused(p, now_ns)) {
        (void)vq_auth_rates_refused(p, now_ns);
    }
}

static struct growth grows_by(const struct vq_auth_pool *p, int64_t now_ns)
{
    if (!vq_auth_is_named(&p->named)) {
        return unknown_grows;
    }
    double down = (double)(now_ns - p->learn.down_ns) / (double)p->window_ns;
    double slow = fmin(fmax(down / SLOW_WINDOWS, 1), SLOW_MOST);
    return (struct growth){named_grows.hold * slow, named_grows.near / slow, named_grows.over};
}

static double growth_of(struct vq_auth_pool *p, int64_t now_ns)
{
    struct growth grows = grows_by(p, now_ns);
    double learned = p->learn.rates.of[VQ_RATE_REQUESTS] * vq_auth_windows(p);
    double clean = (double)(now_ns - p->learn.clean_ns) / (double)p->window_ns;
    if (p->learn.ceiling > 0 && learned <= fmax(OVER * p->learn.ceiling, p->learn.ceiling + 2)) {
        p->learn.over_ns = now_ns;
        if (clean >= grows.hold && !p->learn.counted) {
            p->learn.counted = true;
            vq_auth_noise_below(p, now_ns);
        }
        return clean < grows.hold ? 0 : grows.near;
    }
    double over = (double)(now_ns - p->learn.over_ns) / (double)p->window_ns;
    return fmin(grows.over * exp2(floor(over)), GROWTH_MAX);
}

static void rates_grow(struct vq_auth_pool *p, int64_t now_ns)
{
    double span = (double)(now_ns - p->learn.grown_ns) / (double)p->window_ns;
    if (span < 1.0 / GROWTH_STEPS || p->trial.kind != VQ_AUTH_TRIES_NOTHING) {
        return;
    }
    p->learn.grown_ns = now_ns;
    double growth = growth_of(p, now_ns) * fmin(span, 1);
    double requests = vq_auth_accepted(&p->used);
    for (unsigned i = 0; i < VQ_RATE__COUNT; i++) {
        enum vq_rate r = (enum vq_rate)i;
        double learned = p->learn.rates.of[r];
        if (!(learned > 0)) {
            continue;
        }
        double limit = learned * vq_auth_windows(p);
        /* one request per window */
        double least = r == VQ_RATE_REQUESTS && growth > 0 ? fmin(span, 1) : 0;
        if (vq_auth_accepted_of(&p->used, r, requests) >= fmin(USED * limit, limit - 2)) {
            learned += fmax(learned * growth, least / vq_auth_windows(p));
        }
        double base = named(p, r);
        p->learn.rates.of[r] = base > 0 && learned >= base ? 0 : learned;
    }
    if (!(p->learn.rates.of[VQ_RATE_REQUESTS] > 0)) {
        p->learn.ceiling = 0;
    }
    p->deal.due = true;
}

/* ---- growing too fast ---- */

void vq_auth_learn_slowed(struct vq_auth_pool *p, int64_t now_ns)
{
    if (now_ns - p->learn.slowed_ns < SLOWED_APART_NS) {
        return;
    }
    vq_auth_used_turn(p, now_ns);
    vq_auth_limits(p);
    p->learn.slowed_ns = p->learn.ramp_ns = now_ns;
    double requests = vq_auth_accepted(&p->used);
    double age = (double)(now_ns - p->used.began_ns) / (double)p->window_ns;
    for (unsigned i = 0; i < VQ_RATE__COUNT; i++) {
        enum vq_rate r = (enum vq_rate)i;
        double had = vq_auth_accepted_of(&p->used, r, requests) / vq_auth_windows(p) /
                     fmin(fmax(age, 0.02), 1);
        bool paced = r == VQ_RATE_REQUESTS || isfinite(p->force.limit.rates.of[r]);
        if (!paced || (had <= 0 && !isfinite(p->force.limit.rates.of[r]))) {
            continue;
        }
        double from = isfinite(p->force.limit.rates.of[r]) && had <= 0
                          ? p->force.limit.rates.of[r]
                          : fmin(had, p->force.limit.rates.of[r]);
        double least = 1 / vq_auth_windows(p) * (r == VQ_RATE_REQUESTS ? 1 : p->word.unit.of[r]);
        p->learn.ramp.of[r] = fmax(from / 2, fmax(least, 1e-3));
        p->learn.ramp_from.of[r] = from;
    }
    p->deal.due = true;
}

static void ramp_grow(struct vq_auth_pool *p, int64_t now_ns)
{
    if (now_ns - p->learn.ramp_ns < VQ_AUTH_S) {
        return;
    }
    double growth = pow(RAMP_GROWTH, (double)(now_ns - p->learn.ramp_ns) / (double)RAMP_NS);
    p->learn.ramp_ns = now_ns;
    for (unsigned i = 0; i < VQ_RATE__COUNT; i++) {
        if (!(p->learn.ramp.of[i] > 0)) {
            continue;
        }
        double base = named(p, (enum vq_rate)i);
        double over = base > 0 ? base : p->learn.ramp_from.of[i] * RAMP_FORGET;
        p->learn.ramp.of[i] =
            p->learn.ramp.of[i] * growth >= over ? 0 : p->learn.ramp.of[i] * growth;
        p->deal.due = true;
    }
}

bool vq_auth_learn_tick(struct vq_auth_pool *p, int64_t now_ns)
{
    vq_auth_used_turn(p, now_ns);
    bool was = p->deal.due;
    p->deal.due = false;
    vq_auth_doubt_tick(p, now_ns);
    vq_auth_trial_step(p, now_ns);
    rates_grow(p, now_ns);
    ramp_grow(p, now_ns);
    bool changed = vq_auth_level_round(p, now_ns) || p->deal.due;
    p->deal.due = was;
    return changed;
}
