/* A concurrency that is not configured finds its level, if the provider limits calls in flight.
 *
 * Slow start doubles the level in each round of answers in which it was the limit. The first
 * refusal ends slow start. After a level was refused, the concurrency grows towards it in parts,
 * and tries it again after more and more clean rounds, so that a small limit is not refused every
 * few calls. Later a trial lowers the level (authority_trial.c). Only refusals at a level that is
 * known as refused lower it at once, and only if more are refused than at lower levels: otherwise
 * each random refusal would lower it by one, down to 1.
 *
 * A level has a fraction, a number of calls has none: whether the level is the limit is decided by
 * its whole part. */
#include "coordinator/pools/authority_parts.h"

#define LEVEL_START     4.0
#define LEVEL_CAP       256.0 /* if no rate is known */
#define LEVEL_START_S   2.0   /* if a rate is known: seconds of it at the start, */
#define LEVEL_CAP_S     60.0  /* and at most */
#define LEVEL_MAX       65536.0
#define LEVEL_BOUND     0.7 /* share of it in flight: the level is the limit */
#define LEVEL_CUT_FIRST 0.5
#define LEVEL_CUT       0.8
#define LEVEL_GROW      0.125 /* of the refused level per round, until near it */
#define LEVEL_REFUSED   3.0   /* unexplained refusals in a round: the level does not grow */
#define FIRST_LEAST     2.0   /* refusals that end slow start, */
#define FIRST_SMALL     16.0  /* but only above this level */
#define CALM_NS         (2 * VQ_AUTH_S)
#define CALM_MOST       2000.0 /* remembered calls below the refused level */
#define CALM_SIGMAS     3.0
/* of a trial's result: below that another trial has to find the level */
#define SAME_LEVEL   0.9
#define PATIENCE_MAX 64u
#define ROUND_NS_MIN (200 * VQ_AUTH_MS)

/* A known limit of requests (or of tokens, by the largest request), per second; 0: none. */
static double known_per_s(const struct vq_auth_pool *p)
{
    double least = INFINITY;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        double unit = r == VQ_RATE_REQUESTS ? 1 : p->word.unit.of[r];
        if (isfinite(p->force.limit.rates.of[r]) && unit > 0) {
            least = fmin(least, p->force.limit.rates.of[r] / unit / 60);
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
    p->find.level.round_ended = p->totals.ended;
    p->find.level.round_ns = now_ns;
    p->find.level.round_peak = vq_auth_u32(p->members.in_flight);
    p->find.round = (struct vq_auth_bucket){0};
}

void vq_auth_level_init(struct vq_auth_pool *p, int64_t now_ns)
{
    p->find.level =
        (struct vq_auth_level){.level = LEVEL_START, .fast = true, .cut_ns = INT64_MIN / 2};
    p->find.why = (struct vq_auth_why){0};
    round_begin(p, now_ns);
}

bool vq_auth_level_free(const struct vq_auth_pool *p)
{
    return p->named.limit.concurrency == 0 && p->word.cap == 0;
}

static void level_grow(struct vq_auth_pool *p)
{
    struct vq_auth_level *find = &p->find.level;
    if (find->fast) {
        find->level *= 2;
    } else if (!(find->refused_at > 0)) {
        find->level += fmax(1, find->level * LEVEL_GROW);
    } else if (find->level + 1 < find->refused_at) {
        double most = fmax(find->refused_at - 1, find->level);
        find->level = fmin(find->level + fmax(1, find->refused_at * LEVEL_GROW), most);
    } else if (++find->waited > find->patience) {
        /* tries the refused level again, and higher ones */
        find->level = floor(find->level) + 1;
        find->waited = 0;
        if (find->level > find->refused_at) {
            find->refused_at = 0;
            find->patience = 0;
        }
    }
    find->level = fmin(find->level, level_cap(p));
}

bool vq_auth_level_round(struct vq_auth_pool *p, int64_t now_ns)
{
    struct vq_auth_level *find = &p->find.level;
    double was = find->level;
    bool tried = p->trial.kind == VQ_AUTH_TRIES_LEVEL;
    if (find->fast && !tried) {
        find->level = fmax(find->level, fmin(known_per_s(p) * LEVEL_START_S, level_cap(p)));
    }
    if ((double)(p->totals.ended - find->round_ended) >= find->level &&
        now_ns - find->round_ns >= ROUND_NS_MIN) {
        bool bound = find->round_peak >= LEVEL_BOUND * floor(find->level);
        bool refused = p->find.round.refused >= LEVEL_REFUSED &&
                       vq_auth_unexplained(p, p->find.round.refused, p->find.round.answered);
        if (bound && !tried && !refused && find->cut_ns < find->round_ns) {
            level_grow(p);
        }
        round_begin(p, now_ns);
    }
    return (uint32_t)was != (uint32_t)find->level;
}

void vq_auth_level_cut(struct vq_auth_pool *p, double accepted, int64_t now_ns)
{
    struct vq_auth_level *find = &p->find.level;
    double peak = vq_auth_peak(&p->used); /* pauses may have lowered the number in flight since */
    double high = fmin(find->level, fmax(peak, 1));
    bool again = find->refused_at > 0 && high >= find->refused_at - 1;
    find->patience = again ? find->patience * 2 + 1 : 1;
    find->patience = find->patience > PATIENCE_MAX ? PATIENCE_MAX : find->patience;
    find->waited = 0;
    if (!(find->refused_at > 0)) { /* the rounds before were not calm */
        p->find.calm_refused = fmax(p->find.calm_refused - p->used.sum.refused, 0);
    }
    find->refused_at = find->cut_at = high;
    bool bound = find->fast && high >= LEVEL_BOUND * floor(find->level);
    find->level =
        fmax(high * fmax(accepted, LEVEL_CUT_FIRST) * (bound ? LEVEL_CUT_FIRST : LEVEL_CUT), 1);
    find->fast = false;
    find->cut_ns = now_ns;
    double minutes =
        vq_auth_windows(p) * fmin((double)(now_ns - p->used.began_ns) / (double)p->window_ns, 1);
    p->find.why = (struct vq_auth_why){now_ns, p->used.sum.refused,
                                       vq_auth_accepted(&p->used) / fmax(minutes, 1.0 / 60)};
    round_begin(p, now_ns - 1);
    p->deal.due = true;
}

void vq_auth_level_used(struct vq_auth_pool *p, const struct vq_auth_bucket *used, int64_t now_ns)
{
    struct vq_auth_level *find = &p->find.level;
    bool below = !(find->refused_at > 0) || floor(find->level) < find->refused_at - 1;
    if (!below || now_ns - find->cut_ns < CALM_NS) {
        return; /* at the refused level, or calls that started there */
    }
    p->find.calm_refused += used->refused;
    p->find.calm_ended += used->refused + used->answered;
    if (p->find.calm_ended > CALM_MOST) {
        p->find.calm_refused /= 2;
        p->find.calm_ended /= 2;
    }
}

/* As many calls are refused in a round at lower levels: this level is not the cause. */
static bool is_calm(const struct vq_auth_finding *find)
{
    double share = find->calm_refused / fmax(find->calm_ended, 1);
    double usual = share * fmax(find->round.refused + find->round.answered, find->level.level);
    return find->round.refused <= usual + CALM_SIGMAS * sqrt(usual);
}

bool vq_auth_level_refused(struct vq_auth_pool *p, int64_t now_ns)
{
    struct vq_auth_level *find = &p->find.level;
    double peak = fmin(find->level, (double)find->round_peak);
    bool bound = peak >= LEVEL_BOUND * floor(find->level) && find->cut_ns < find->round_ns;
    bool first = p->find.round.refused >= FIRST_LEAST || find->level <= FIRST_SMALL;
    if (find->level <= 1) {
        return false; /* it cannot be lower: a trial finds out whether it is the cause at all */
    }
    if (bound && first && vq_auth_level_free(p) && !vq_auth_noisy(p) && !vq_auth_blames_rate(p) &&
        vq_auth_unexplained(p, p->find.round.refused, p->find.round.answered)) {
        double ended = p->find.round.refused + p->find.round.answered;
        vq_auth_level_cut(p, p->find.round.answered / fmax(ended, 1), now_ns);
        find->tried = find->refused_at;
        return true;
    }
    if (peak < SAME_LEVEL * find->tried || !vq_auth_level_free(p) || !(find->refused_at > 0) ||
        peak < find->refused_at - 1 || find->cut_ns >= find->round_ns ||
        !vq_auth_unusual(p, p->find.round.refused, p->find.round.answered) || is_calm(&p->find)) {
        return false;
    }
    vq_auth_level_cut(p, 1, now_ns);
    return true;
}

void vq_auth_level_is(struct vq_auth_pool *p, const struct vq_auth_level *was, int64_t now_ns)
{
    p->find.level = *was;
    round_begin(p, now_ns);
    p->deal.due = true;
}
