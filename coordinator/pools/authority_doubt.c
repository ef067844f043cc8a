/* Decides which refusals noise explains: the use of the last window, the known noise of a pool, and
 * the doubt about its limits.
 *
 * Noise is the share of calls that a provider refuses at any rate. A share below TOLERATED changes
 * nothing; below PROBED if a limit is found by refusals. More refusals in a window than noise
 * explains (by SIGMAS of a Poisson count) are a doubt; trials follow from it (authority_trial.c).
 * Known noise falls with the refusals that are seen, rises only by a trial, and is tried again
 * after AGAIN_NS.
 *
 * A pool is noisy for its workers if noise is known, or if accepted calls soon followed most of its
 * last groups of refusals: a full window would have refused those calls. A pool with a named rate
 * stays within it, and counts as noisy from the start. If far more calls are refused than this
 * explains (CROWDED), the pool is not noisy. */
#include "coordinator/pools/authority_parts.h"

#define TOLERATED   0.01
#define PROBED      0.005
#define SIGMAS      3.0
#define LEAST       3.0 /* refusals in a window: fewer are no doubt */
#define LONE        4u
#define LONE_NS     (2 * VQ_AUTH_S) /* "soon": this, or a quarter of a window */
#define CROWDED     0.2             /* share of the calls, beyond noise */
#define CROWD_LEAST 8.0             /* refusals */
#define QUARTER     (VQ_AUTH_BUCKETS / 4)
#define NOISE_LEAST 0.001
#define BELOW_MOST  0.015 /* share below a ceiling: if more are refused, the ceiling may be lower */
#define AGAIN_NS    (1200 * VQ_AUTH_S)

/* ---- use ---- */

void vq_auth_used_turn(struct vq_auth_pool *p, int64_t now_ns)
{
    int64_t width_ns = p->window_ns / VQ_AUTH_BUCKETS;
    uint32_t turns = 0;
    while (now_ns - p->used.bucket_ns >= width_ns && turns++ < VQ_AUTH_BUCKETS) {
        p->used.bucket = (p->used.bucket + 1) % VQ_AUTH_BUCKETS;
        struct vq_auth_bucket *old = &p->used.buckets[p->used.bucket];
        p->used.sum.requests -= old->requests;
        p->used.sum.refused -= old->refused;
        p->used.sum.timed -= old->timed;
        p->used.sum.answered -= old->answered;
        p->used.sum.input -= old->input;
        p->used.sum.output -= old->output;
        *old = (struct vq_auth_bucket){0};
        p->used.bucket_ns += width_ns;
    }
    if (turns > VQ_AUTH_BUCKETS) {
        p->used.bucket_ns = now_ns;
    }
}

static void add(struct vq_auth_bucket *to, const struct vq_auth_bucket *used)
{
    to->requests += used->requests;
    to->refused += used->refused;
    to->timed += used->timed;
    to->answered += used->answered;
    to->input += used->input;
    to->output += used->output;
}

void vq_auth_used_forgive(struct vq_auth_pool *p)
{
    for (uint32_t i = 0; i < VQ_AUTH_BUCKETS; i++) {
        /* so that the accepted calls stay known */
        p->used.buckets[i].requests -= p->used.buckets[i].refused;
        p->used.buckets[i].refused = p->used.buckets[i].timed = 0;
    }
    p->used.sum.requests -= p->used.sum.refused;
    p->used.sum.refused = p->used.sum.timed = 0;
    p->doubt.since_ns = 0;
    p->doubt.full = 0;
    p->doubt.open = p->doubt.full_twice = p->doubt.crowded = false;
}

struct vq_auth_bucket vq_auth_used_lately(const struct vq_auth_used *used)
{
    struct vq_auth_bucket sum = {0};
    for (uint32_t i = 0; i < QUARTER; i++) {
        add(&sum, &used->buckets[(used->bucket + VQ_AUTH_BUCKETS - i) % VQ_AUTH_BUCKETS]);
    }
    return sum;
}

double vq_auth_peak(const struct vq_auth_used *used)
{
    double peak = 0;
    for (uint32_t i = 0; i < VQ_AUTH_BUCKETS; i++) {
        peak = fmax(peak, used->buckets[i].peak);
    }
    return peak;
}

double vq_auth_accepted(const struct vq_auth_used *used)
{
    return fmax(used->sum.requests - used->sum.refused, 0);
}

double vq_auth_accepted_of(const struct vq_auth_used *used, enum vq_rate r, double requests)
{
    if (r == VQ_RATE_REQUESTS) {
        return requests;
    }
    double tokens = r == VQ_RATE_INPUT    ? used->sum.input
                    : r == VQ_RATE_OUTPUT ? used->sum.output
                                          : used->sum.input + used->sum.output;
    return used->sum.answered >= 1 ? requests * tokens / used->sum.answered : -1;
}

/* ---- noise ---- */

bool vq_auth_unexplained(const struct vq_auth_pool *p, double refused, double answered)
{
    bool probed = p->learn.ceiling > 0 || !isfinite(p->force.limit.rates.of[VQ_RATE_REQUESTS]);
    double explained = fmax(p->doubt.noise, probed ? PROBED : TOLERATED) * (refused + answered);
    return refused > explained + SIGMAS * sqrt(explained);
}

bool vq_auth_unusual(const struct vq_auth_pool *p, double refused, double answered)
{
    double share = p->used.sum.refused / fmax(p->used.sum.refused + p->used.sum.answered, 1);
    double usual = share * (refused + answered);
    return vq_auth_unexplained(p, refused, answered) && refused > usual + SIGMAS * sqrt(usual);
}

/* A rate has a time to wait that a provider can state; a free place for a call in flight has
 * none. */
bool vq_auth_blames_rate(const struct vq_auth_pool *p)
{
    bool known = false;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        known = known || isfinite(p->force.limit.rates.of[r]);
    }
    return known && !p->trial.rates_cleared && p->used.sum.timed > p->used.sum.refused / 2;
}

bool vq_auth_noisy(const struct vq_auth_pool *p)
{
    if (p->trial.kind == VQ_AUTH_TRIES_LEVEL) {
        return true; /* pauses would hide the effect of the trial */
    }
    bool tries = p->trial.kind == VQ_AUTH_TRIES_RATES;
    return !p->doubt.crowded && (p->doubt.noise > 0 || p->doubt.lone >= LONE || tries);
}

void vq_auth_noise_is(struct vq_auth_pool *p, double share, int64_t now_ns)
{
    p->doubt.noise = share;
    p->doubt.noise_ns = p->doubt.fell_ns = now_ns;
    p->doubt.since_ns = 0;
    p->doubt.again = false;
    p->deal.due = true;
}

void vq_auth_noise_below(struct vq_auth_pool *p, int64_t now_ns)
{
    double ended = fmax(p->used.sum.refused + p->used.sum.answered, 1);
    if (p->used.sum.refused >= LEAST && p->used.sum.refused / ended <= BELOW_MOST) {
        vq_auth_noise_is(p, (p->used.sum.refused + sqrt(p->used.sum.refused)) / ended, now_ns);
    }
}

/* A group of refusals looks like a full window. If the same number was accepted at the last such
 * group, half a window ago or longer, this number is the limit. */
static void full(struct vq_auth_pool *p)
{
    struct vq_auth_doubt *doubt = &p->doubt;
    if (doubt->full > 0 && doubt->first_ns - doubt->full_ns < p->window_ns / 2) {
        return; /* the same window */
    }
    doubt->full_twice = doubt->full > 0 && fabs(doubt->accepted / doubt->full - 1) <= VQ_AUTH_SAME;
    doubt->full = doubt->accepted;
    doubt->full_ns = doubt->first_ns;
}

/* A group of refusals is lone if soon more calls are answered than were in flight at its first
 * refusal. */
static void lone(struct vq_auth_pool *p, const struct vq_auth_bucket *used, int64_t now_ns)
{
    struct vq_auth_doubt *doubt = &p->doubt;
    if (doubt->open) {
        bool early = doubt->answered + doubt->refused < doubt->in_flight;
        doubt->answered += used->answered;
        doubt->refused += used->refused;
        if (early) { /* some of the calls in flight at the first refusal are refused, too */
            doubt->accepted = vq_auth_accepted(&p->used);
        }
        int64_t soon_ns = p->window_ns / 4 > LONE_NS ? p->window_ns / 4 : LONE_NS;
        bool soon = now_ns - doubt->first_ns <= soon_ns;
        if (doubt->answered > doubt->in_flight || !soon) {
            bool is_lone = soon && doubt->refused <= CROWDED * (doubt->refused + doubt->answered);
            if (is_lone) {
                doubt->lone += doubt->lone < VQ_AUTH_LONE_MOST;
            } else {
                bool crowd = doubt->refused >= CROWD_LEAST || doubt->lone < 2;
                doubt->lone = crowd ? 0 : doubt->lone - 2;
            }
            doubt->open = false;
            if (doubt->answered <= doubt->in_flight && doubt->refused >= CROWD_LEAST) {
                full(p);
            }
        }
    } else if (used->refused > 0) {
        doubt->open = true;
        doubt->first_ns = now_ns;
        doubt->refused = used->refused;
        doubt->answered = 0;
        doubt->in_flight = (double)p->members.in_flight;
        doubt->accepted = vq_auth_accepted(&p->used);
    }
}

void vq_auth_used(struct vq_auth_pool *p, const struct vq_auth_bucket *used, int64_t now_ns)
{
    vq_auth_used_turn(p, now_ns);
    add(&p->used.buckets[p->used.bucket], used);
    add(&p->used.sum, used);
    p->used.buckets[p->used.bucket].peak =
        fmax(p->used.buckets[p->used.bucket].peak, (double)p->members.in_flight);
    add(&p->find.round, used);
    vq_auth_level_used(p, used, now_ns);
    add(&p->trial.seen, used);
    bool was = vq_auth_noisy(p);
    lone(p, used, now_ns);
    p->deal.due = p->deal.due || was != vq_auth_noisy(p);
}

void vq_auth_doubt_tick(struct vq_auth_pool *p, int64_t now_ns)
{
    struct vq_auth_doubt *doubt = &p->doubt;
    double ended = p->used.sum.refused + p->used.sum.answered;
    if (doubt->noise > TOLERATED && now_ns - doubt->noise_ns >= AGAIN_NS) {
        doubt->again = true;
        doubt->noise_ns = now_ns;
    } else if (doubt->noise > 0 && now_ns - doubt->fell_ns >= p->window_ns) {
        double most = p->used.sum.refused + SIGMAS * sqrt(p->used.sum.refused + 1);
        doubt->fell_ns = now_ns;
        doubt->noise = ended > 0 ? fmin(doubt->noise, most / ended) : doubt->noise;
        doubt->noise = doubt->noise < NOISE_LEAST ? 0 : doubt->noise;
        doubt->again = doubt->again && doubt->noise > 0;
    }
    struct vq_auth_bucket lately = vq_auth_used_lately(&p->used);
    bool was = vq_auth_noisy(p);
    doubt->crowded = lately.refused >= CROWD_LEAST &&
                     lately.refused > (doubt->noise + CROWDED) * (lately.refused + lately.answered);
    p->deal.due = p->deal.due || was != vq_auth_noisy(p);
    bool is = p->used.sum.refused >= LEAST &&
              vq_auth_unexplained(p, p->used.sum.refused, p->used.sum.answered);
    doubt->since_ns = !is ? 0 : doubt->since_ns == 0 ? now_ns : doubt->since_ns;
}
