/* Limits that nobody named, or named too high: a concurrency that finds its level, and rates that refusals teach.
 *
 * Concurrency: slow start (doubles each round of answers while it is what binds), after the first refusal it grows by parts towards the
 * level that was refused and tries that one again only after more and more clean rounds (so that a small limit is not refused every
 * few calls); a refusal halves it (later: takes a fifth), once a round.
 *
 * Rates: when a provider that looks at windows refuses, what it accepted in the window that ends there is its limit. The learned rate is set a
 * little below and grows slowly, faster with each clean window, until the next refusal. Started less refused counts as accepted.
 *
 * Which of both refused: the rate, when what was accepted is near a rate limit that is known, or when refusals go on although the calls in
 * flight came down after the concurrency was cut; else the concurrency. A limit that was named is doubted only on repeated refusals.
 *
 * "Slow down" (growing too fast): half the rate, then no more than half as much again each quarter of an hour. */
#include "coordinator/core/authority_parts.h"

#define LEVEL_START     4.0
#define LEVEL_CAP       256.0 /* where no rate is known */
#define LEVEL_START_S   2.0   /* where one is known: so many seconds of it at the start, */
#define LEVEL_CAP_S     60.0  /* and so many at the most */
#define LEVEL_MAX       65536.0
#define LEVEL_BOUND     0.7 /* of it in flight: it is what binds */
#define LEVEL_CUT_FIRST 0.5
#define LEVEL_CUT       0.8
#define LEVEL_GROW      0.125 /* of the level that was refused, each round, until near it */
#define PATIENCE_MAX    64u
#define ROUND_NS_MIN    (200 * VQ_AUTH_MS)
#define CUT_SEEN_NS                                                                                \
    (400 * VQ_AUTH_MS) /* after a cut: before that it may not have arrived everywhere */
#define LEVEL_BELOW                                                                                \
    0.85 /* of the level that was refused: refusals that go on there are not for it */
#define EXPLAINED        0.85 /* of a known limit accepted: the rate explains a refusal */
#define MARGIN_FIRST     0.95 /* of what was accepted */
#define MARGIN           0.98
#define GROWTH_FIRST     0.01 /* a window */
#define GROWTH_MAX       0.25
#define GROWTH_STEPS     50   /* of a window */
#define USED             0.75 /* of the learned rate: else it does not bind, and nothing is learned */
#define DOUBT_COUNT      3.0
#define DOUBT_PART       0.005
#define STREAK           8.0  /* refusals since the last answer */
#define ERRATIC_REQUESTS 10.0 /* in a window; and this part of them refused */
#define ERRATIC_LEAST    0.15
#define SLOWED_APART_NS  (10 * VQ_AUTH_S)
#define RAMP_GROWTH      1.5 /* each: */
#define RAMP_NS          (900 * VQ_AUTH_S)
#define RAMP_FORGET      4.0 /* times where it began, with no limit known: it no longer matters */

/* ---- what was used ---- */

static void turn(struct vq_auth_pool *p, int64_t now_ns)
{
    int64_t width_ns = p->window_ns / VQ_AUTH_BUCKETS;
    uint32_t turns = 0;
    while (now_ns - p->bucket_ns >= width_ns && turns++ < VQ_AUTH_BUCKETS) {
        p->bucket = (p->bucket + 1) % VQ_AUTH_BUCKETS;
        struct vq_auth_bucket *old = &p->buckets[p->bucket];
        p->sum.requests -= old->requests;
        p->sum.refused -= old->refused;
        p->sum.answered -= old->answered;
        p->sum.input -= old->input;
        p->sum.output -= old->output;
        *old = (struct vq_auth_bucket){0};
        p->bucket_ns += width_ns;
    }
    if (turns > VQ_AUTH_BUCKETS) {
        p->bucket_ns = now_ns;
    }
}

static void add(struct vq_auth_bucket *to, const struct vq_auth_bucket *used)
{
    to->requests += used->requests;
    to->refused += used->refused;
    to->answered += used->answered;
    to->input += used->input;
    to->output += used->output;
}

void vq_auth_learn_used(struct vq_auth_pool *p, const struct vq_auth_bucket *used, int64_t now_ns)
{
    turn(p, now_ns);
    add(&p->buckets[p->bucket], used);
    add(&p->sum, used);
    p->streak = used->answered > 0 ? 0 : p->streak + used->refused;
}

static double accepted(const struct vq_auth_pool *p)
{
    return fmax(p->sum.requests - p->sum.refused, 0);
}

/* Of the rate, in the last window; tokens of calls that are out yet by what others had. Negative: not known. */
static double accepted_of(const struct vq_auth_pool *p, enum vq_rate r, double requests)
{
    if (r == VQ_RATE_REQUESTS) {
        return requests;
    }
    double tokens = r == VQ_RATE_INPUT    ? p->sum.input
                    : r == VQ_RATE_OUTPUT ? p->sum.output
                                          : p->sum.input + p->sum.output;
    return p->sum.answered >= 1 ? requests * tokens / p->sum.answered : -1;
}

/* ---- concurrency ---- */

/* A known limit of requests (or of tokens, by the largest request), each second; 0: none. */
static double known_per_s(const struct vq_auth_pool *p)
{
    double least = INFINITY;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        double unit = r == VQ_RATE_REQUESTS ? 1 : p->unit[r];
        if (isfinite(p->limit[r]) && unit > 0) {
            least = fmin(least, p->limit[r] / unit / 60);
        }
    }
    return isfinite(least) ? least : 0;
}

static double level_cap(const struct vq_auth_pool *p)
{
    return fmin(fmax(LEVEL_CAP, known_per_s(p) * LEVEL_CAP_S), LEVEL_MAX);
}

static void round_begin(struct vq_auth_pool *p, int64_t now_ns)
{
    p->find.round_ended = p->ended;
    p->find.round_ns = now_ns;
    p->find.round_peak = vq_auth_u32(p->in_flight);
}

void vq_auth_learn_init(struct vq_auth_pool *p, int64_t now_ns)
{
    p->find = (struct vq_auth_level){.level = LEVEL_START, .fast = true, .cut_ns = INT64_MIN / 2};
    p->bucket_ns = now_ns;
    p->cut_ns = p->slowed_ns = INT64_MIN / 2;
    p->grown_ns = p->ramp_ns = now_ns;
    round_begin(p, now_ns);
}

void vq_auth_learn_forget(struct vq_auth_pool *p, int64_t now_ns)
{
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        p->learned[r] = p->ramp[r] = 0;
    }
    p->cut_ns = p->slowed_ns = INT64_MIN / 2;
    p->grown_ns = now_ns;
    p->streak = 0;
}

static void level_grow(struct vq_auth_pool *p)
{
    struct vq_auth_level *find = &p->find;
    if (find->fast) {
        find->level *= 2;
    } else if (!(find->refused_at > 0) || find->level + 1 < find->refused_at) {
        double step = fmax(1, find->refused_at * LEVEL_GROW);
        double most =
            find->refused_at > 0 ? fmax(find->refused_at - 1, find->level) : (double)INFINITY;
        find->level = fmin(find->level + step, most);
    } else if (++find->waited > find->patience) { /* try the refused level again, and beyond */
        find->level = floor(find->level) + 1;
        find->waited = 0;
        if (find->level > find->refused_at) {
            find->refused_at = 0;
            find->patience = 0;
        }
    }
    find->level = fmin(find->level, level_cap(p));
}

static bool level_round(struct vq_auth_pool *p, int64_t now_ns)
{
    struct vq_auth_level *find = &p->find;
    double was = find->level;
    if (find->fast) {
        find->level = fmax(find->level, fmin(known_per_s(p) * LEVEL_START_S, level_cap(p)));
    }
    if ((double)(p->ended - find->round_ended) >= find->level &&
        now_ns - find->round_ns >= ROUND_NS_MIN) {
        bool bound = find->round_peak >= LEVEL_BOUND * find->level;
        if (bound && find->cut_ns < find->round_ns) {
            find->cut = false; /* a round was taken: it was the concurrency */
            level_grow(p);
        }
        round_begin(p, now_ns);
    }
    return (uint32_t)was != (uint32_t)find->level;
}

static void level_cut(struct vq_auth_pool *p, int64_t now_ns)
{
    struct vq_auth_level *find = &p->find;
    if (find->cut_ns >= find->round_ns) {
        return; /* once a round */
    }
    double high = fmin(find->level, fmax((double)find->round_peak, 1));
    find->old = find->level;
    find->cut = true;
    find->cut_accepted = accepted(p);
    bool again = find->refused_at > 0 && high >= find->refused_at - 1;
    find->patience = again ? find->patience * 2 + 1 : 1;
    find->patience = find->patience > PATIENCE_MAX ? PATIENCE_MAX : find->patience;
    find->waited = 0;
    find->refused_at = high;
    find->level = fmax(high * (find->fast ? LEVEL_CUT_FIRST : LEVEL_CUT), 1);
    find->fast = false;
    find->cut_ns = now_ns;
    round_begin(p, now_ns - 1);
    p->dirty = true;
}

/* ---- rates ---- */

/* The limit that is known without learning, a minute; 0: none. */
static double named(const struct vq_auth_pool *p, enum vq_rate r)
{
    double limit = vq_rates_get(&p->configured, r);
    double said = p->said[r] * p->share;
    return said > 0 && (limit <= 0 || said < limit) ? said : fmax(limit, 0);
}

/* A few refusals teach nothing yet: a full window refuses everything, one request after the other. A named limit is doubted only when
 * they are a part of the requests. */
static bool doubted(const struct vq_auth_pool *p)
{
    bool any_named = false;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        any_named = any_named || named(p, (enum vq_rate)r) > 0;
        if (p->learned[r] > 0) {
            return true;
        }
    }
    return any_named ? p->sum.refused >= fmax(DOUBT_COUNT, DOUBT_PART * p->sum.requests)
                     : p->streak >= STREAK;
}

/* Refused here and there through a whole window in which it was asked no more than was learned: it is no rate that refuses. */
static bool erratic(const struct vq_auth_pool *p, int64_t now_ns)
{
    return now_ns - p->learned_ns >= 2 * p->window_ns && p->sum.requests >= ERRATIC_REQUESTS &&
           p->sum.refused >= ERRATIC_LEAST * p->sum.requests;
}

static void rates_cut(struct vq_auth_pool *p, double requests, int64_t now_ns)
{
    if (!doubted(p)) {
        return;
    }
    if (erratic(p, now_ns)) {
        vq_auth_learn_forget(p, now_ns);
        p->dirty = true;
        return;
    }
    bool episode = now_ns - p->cut_ns < p->window_ns / 4;
    for (unsigned i = 0; i < VQ_RATE__COUNT; i++) {
        enum vq_rate r = (enum vq_rate)i;
        double had = accepted_of(p, r, requests);
        if (had < 0 || (r != VQ_RATE_REQUESTS && r != VQ_RATE_TOKENS) ||
            (r == VQ_RATE_TOKENS && !(p->unit[r] > 0))) {
            continue;
        }
        bool first = !(p->learned[r] > 0);
        double least = r == VQ_RATE_REQUESTS ? 1 : p->unit[r];
        double rate = fmax(had * (first ? MARGIN_FIRST : MARGIN), least) / vq_auth_windows(p);
        if (!first) {
            rate = fmin(rate, p->learned[r]);
            rate = fmax(rate, episode ? p->cut_from[i] / 2 : p->learned[r] / 2);
        }
        p->learned_ns = first ? now_ns : p->learned_ns;
        if (!episode) {
            p->cut_from[i] = first ? rate : p->learned[r];
        }
        p->learned[r] = rate;
    }
    if (!episode) {
        p->cut_ns = now_ns;
    }
    p->clean_ns = p->grown_ns = now_ns;
    p->dirty = true;
}

void vq_auth_learn_refused(struct vq_auth_pool *p, int64_t now_ns)
{
    turn(p, now_ns);
    vq_auth_limits(p);
    double requests = accepted(p);
    bool rate = p->concurrency != 0 || p->cap != 0;
    for (unsigned r = 0; r < VQ_RATE__COUNT && !rate; r++) {
        rate = isfinite(p->limit[r]) && accepted_of(p, (enum vq_rate)r, requests) >=
                                            EXPLAINED * p->limit[r] * vq_auth_windows(p);
    }
    struct vq_auth_level *find = &p->find;
    bool seen = find->cut && now_ns - find->cut_ns >= CUT_SEEN_NS &&
                (double)p->in_flight <= fmax(find->level, 1) &&
                (double)p->in_flight <= LEVEL_BELOW * find->refused_at;
    if (rate) {
        rates_cut(p, requests, now_ns);
    } else if (seen && now_ns - find->cut_ns < p->window_ns) {
        if (doubted(p)) { /* it was not the concurrency */
            find->level = fmax(find->level, find->old);
            find->refused_at = 0;
            find->patience = 0;
            find->cut = false;
            rates_cut(p, fmax(requests, find->cut_accepted), now_ns);
        }
    } else {
        level_cut(p, now_ns);
    }
}

static void rates_grow(struct vq_auth_pool *p, int64_t now_ns)
{
    double span = (double)(now_ns - p->grown_ns) / (double)p->window_ns;
    if (span < 1.0 / GROWTH_STEPS) {
        return;
    }
    p->grown_ns = now_ns;
    double clean = (double)(now_ns - p->clean_ns) / (double)p->window_ns;
    double growth = fmin(GROWTH_FIRST * exp2(floor(clean)), GROWTH_MAX) * fmin(span, 1);
    double requests = accepted(p);
    for (unsigned i = 0; i < VQ_RATE__COUNT; i++) {
        enum vq_rate r = (enum vq_rate)i;
        double learned = p->learned[r];
        if (!(learned > 0)) {
            continue;
        }
        double limit = learned * vq_auth_windows(p);
        double least =
            growth * (r == VQ_RATE_REQUESTS ? 100 : 0); /* one more a window at the start */
        if (accepted_of(p, r, requests) >= fmin(USED * limit, limit - 2)) {
            learned += fmax(learned * growth, least / vq_auth_windows(p));
        }
        double base = named(p, r);
        p->learned[r] = base > 0 && learned >= base ? 0 : learned;
    }
    p->dirty = true;
}

/* ---- growing too fast ---- */

void vq_auth_learn_slowed(struct vq_auth_pool *p, int64_t now_ns)
{
    if (now_ns - p->slowed_ns < SLOWED_APART_NS) {
        return;
    }
    turn(p, now_ns);
    vq_auth_limits(p);
    p->slowed_ns = p->ramp_ns = now_ns;
    double requests = accepted(p);
    double age = (double)(now_ns - p->began_ns) / (double)p->window_ns;
    for (unsigned i = 0; i < VQ_RATE__COUNT; i++) {
        enum vq_rate r = (enum vq_rate)i;
        double had = accepted_of(p, r, requests) / vq_auth_windows(p) / fmin(fmax(age, 0.02), 1);
        bool paced = r == VQ_RATE_REQUESTS || isfinite(p->limit[r]);
        if (!paced || (had <= 0 && !isfinite(p->limit[r]))) {
            continue;
        }
        double from = isfinite(p->limit[r]) && had <= 0 ? p->limit[r] : fmin(had, p->limit[r]);
        double least = 1 / vq_auth_windows(p) * (r == VQ_RATE_REQUESTS ? 1 : p->unit[r]);
        p->ramp[r] = fmax(from / 2, fmax(least, 1e-3));
        p->ramp_from[r] = from;
    }
    p->dirty = true;
}

static void ramp_grow(struct vq_auth_pool *p, int64_t now_ns)
{
    if (now_ns - p->ramp_ns < VQ_AUTH_S) {
        return;
    }
    double growth = pow(RAMP_GROWTH, (double)(now_ns - p->ramp_ns) / (double)RAMP_NS);
    p->ramp_ns = now_ns;
    for (unsigned i = 0; i < VQ_RATE__COUNT; i++) {
        if (!(p->ramp[i] > 0)) {
            continue;
        }
        double base = named(p, (enum vq_rate)i);
        double over = base > 0 ? base : p->ramp_from[i] * RAMP_FORGET;
        p->ramp[i] = p->ramp[i] * growth >= over ? 0 : p->ramp[i] * growth;
        p->dirty = true;
    }
}

bool vq_auth_learn_tick(struct vq_auth_pool *p, int64_t now_ns)
{
    turn(p, now_ns);
    bool was = p->dirty;
    p->dirty = false;
    rates_grow(p, now_ns);
    ramp_grow(p, now_ns);
    bool changed = level_round(p, now_ns) || p->dirty;
    p->dirty = was;
    return changed;
}
