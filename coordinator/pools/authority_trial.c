/* Trials: a limit is lowered if noise does not explain the refusals, and then it is measured
 * whether this helped.
 *
 * A doubt has two suspects: the calls in flight, if their limit is not named, and the rates. A
 * trial lowers one after the other. The level is lowered at once, to a part of the calls in flight.
 * The rates are lowered to a little less than was accepted in the last window, after the doubt has
 * lasted for 1.25 windows, or for two if few calls are refused at a named rate (a burst of refusals
 * is over by then). After the provider has had time to forget earlier calls (for rates: a window),
 * the refusals are counted. Wald's sequential test compares them with those before: either they are
 * as many, or a quarter (or the share that noise explains, if that is more). If they are fewer, the
 * lowered limit stays and its ceiling is known. If they are as many, the trial is undone at once.
 * If no suspect remains, the share of refused calls is noise.
 *
 * While a learned rate is probed upward, refusals at a ceiling that a trial found are proof at
 * once. Not its job: growing again (authority_learn.c, authority_level.c). */
#include "coordinator/pools/authority_parts.h"

#include <string.h>

#define MARGIN 0.98 /* of the accepted rate */
#define LASTS  1.25 /* windows */
/* for a named rate with few refusals: another client may have stopped by then */
#define LASTS_NAMED 2.0
#define MANY        0.3 /* share of the calls that is refused */
/* share of the calls beyond the accepted: if fewer are refused, it is no ceiling */
#define BEYOND       0.25
#define HELPED       0.25  /* times the refusals before */
#define REST_MOST    0.015 /* share refused below a correct ceiling */
#define HELPED_MOST  0.8
#define SURE_HELPED  5.3              /* of the log-likelihood ratio: wrong once in 200 */
#define SURE_NOT     4.6              /* once in 100 */
#define WINDOWS_MAX  4                /* without a decision: it did not help */
#define LEVEL_NS_MAX (60 * VQ_AUTH_S) /* the same, for a level */
/* until then the new level may not have reached all workers */
#define LEVEL_NS   (400 * VQ_AUTH_MS)
#define EXPLAINED  0.9 /* of a known limit accepted: the rate is the first suspect */
#define NO_CEILING 3.0 /* times the ceiling accepted during its trial: it is no ceiling */
/* times the calls in flight that were cleared: the level is a suspect again */
#define FAR_ABOVE      1.2
#define PATIENCE_GROWS 16   /* factor, after a trial that did not help */
#define NEAR_LEVEL     0.96 /* of a refused level: in flight */
#define FULL_WINDOWS   3    /* a full window is remembered for this time */
#define LEAST          3.0  /* refusals */
#define ROUND_LEAST    8.0  /* the same, of one round of a level */

/* ---- lowering ---- */

/* The rate to send for this accepted rate: noise refuses a part of it. */
static double sent_of(const struct vq_auth_doubt *doubt, double accepted)
{
    return accepted / (1 - fmin(doubt->noise, 0.9));
}

static void rates_lower(struct vq_auth_pool *p, double requests, int64_t now_ns)
{
    vq_auth_limits(p);
    if (!(p->learn.rates.of[VQ_RATE_REQUESTS] > 0)) {
        p->learn.down_ns = now_ns;
    }
    for (unsigned i = 0; i < VQ_RATE__COUNT; i++) {
        enum vq_rate r = (enum vq_rate)i;
        double had = vq_auth_accepted_of(&p->used, r, requests);
        if (had < 0 || (r != VQ_RATE_REQUESTS && r != VQ_RATE_TOKENS) ||
            (r == VQ_RATE_TOKENS && !(p->word.unit.of[r] > 0))) {
            continue;
        }
        double least = r == VQ_RATE_REQUESTS ? 1 : p->word.unit.of[r];
        double rate = fmax(sent_of(&p->doubt, had) * MARGIN, least) / vq_auth_windows(p);
        p->learn.rates.of[r] =
            isfinite(p->force.limit.rates.of[r])
                ? fmax(fmin(rate, p->force.limit.rates.of[r]), p->force.limit.rates.of[r] / 2)
                : rate;
    }
    p->learn.clean_ns = p->learn.grown_ns = p->learn.over_ns = now_ns;
    p->learn.counted = false;
    p->learn.why = (struct vq_auth_why){now_ns, p->used.sum.refused, requests / vq_auth_windows(p)};
    p->doubt.since_ns = 0;
    p->deal.due = true;
}

static void begin(struct vq_auth_pool *p, enum vq_auth_tries kind, const struct vq_auth_bucket *of,
                  int64_t wait_ns, int64_t now_ns)
{
    struct vq_auth_trial *t = &p->trial;
    t->kind = kind;
    t->before = *of;
    t->before_peak = vq_auth_peak(&p->used);
    t->level = p->find.level;
    t->ceiling = p->learn.ceiling;
    t->learned = p->learn.rates;
    t->from_ns = now_ns + wait_ns;
    t->measures = t->lifts = false;
}

/* A ceiling may be the level's: it is refused again and again, while about as many calls are in
 * flight as at an earlier refusal. Then the rates are lifted, and the level is tried. */
static bool level_instead(struct vq_auth_pool *p, const struct vq_auth_bucket *of, int64_t now_ns)
{
    struct vq_auth_trial *t = &p->trial;
    if (!vq_auth_level_free(p) || !(p->find.level.cut_at > 0) ||
        vq_auth_peak(&p->used) < NEAR_LEVEL * p->find.level.cut_at ||
        now_ns - t->ceiling_ns < t->patience_ns) {
        return false;
    }
    begin(p, VQ_AUTH_TRIES_LEVEL, of, LEVEL_NS, now_ns);
    t->lifts = true;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        p->learn.rates.of[r] = 0;
    }
    p->learn.ceiling = 0;
    vq_auth_level_cut(p, 1, now_ns);
    p->find.level.tried = p->find.level.refused_at;
    return true;
}

bool vq_auth_rates_refused(struct vq_auth_pool *p, int64_t now_ns)
{
    double requests = vq_auth_accepted(&p->used);
    struct vq_auth_bucket lately = vq_auth_used_lately(&p->used);
    if (!(p->learn.ceiling > 0) || !(p->learn.rates.of[VQ_RATE_REQUESTS] > 0) ||
        sent_of(&p->doubt, requests) < (1 - VQ_AUTH_SAME) * p->learn.ceiling ||
        lately.refused < LEAST || !vq_auth_unexplained(p, lately.refused, lately.answered)) {
        return false;
    }
    double learned = p->learn.rates.of[VQ_RATE_REQUESTS] * vq_auth_windows(p);
    bool over = learned > (1 + VQ_AUTH_SAME) * p->learn.ceiling;
    if (over && p->doubt.noise > 0 && p->doubt.since_ns == 0) {
        return false; /* the ceiling was wrong, and this is likely to be noise */
    }
    if (!level_instead(p, &lately, now_ns)) {
        rates_lower(p, requests, now_ns);
        p->learn.ceiling = (p->learn.ceiling + sent_of(&p->doubt, requests)) / 2;
    }
    return true;
}

/* ---- trials ---- */

static bool level_begin(struct vq_auth_pool *p, int64_t now_ns)
{
    bool in_round = p->find.round.refused >= ROUND_LEAST &&
                    vq_auth_unexplained(p, p->find.round.refused, p->find.round.answered);
    if (now_ns - p->find.level.cut_ns < 2 * LEVEL_NS) {
        p->find.round = (struct vq_auth_bucket){0}; /* refusals of calls that started before */
        return false;
    }
    /* otherwise they are of the level before */
    bool in_window = p->used.sum.refused >= ROUND_LEAST && p->doubt.since_ns != 0 &&
                     now_ns - p->find.level.cut_ns >= p->window_ns / 2;
    if (!in_round && !in_window && !p->doubt.again) {
        return false;
    }
    const struct vq_auth_bucket *of = in_round ? &p->find.round : &p->used.sum;
    begin(p, VQ_AUTH_TRIES_LEVEL, of, LEVEL_NS, now_ns);
    vq_auth_level_cut(p, of->answered / fmax(of->refused + of->answered, 1), now_ns);
    p->find.level.tried = p->find.level.refused_at;
    p->find.level.patience = 1;
    return true;
}

static void rates_begin(struct vq_auth_pool *p, int64_t now_ns)
{
    struct vq_auth_bucket lately = vq_auth_used_lately(&p->used);
    bool few = lately.refused < MANY * (lately.refused + lately.answered);
    double windows = few && vq_auth_is_named(&p->named) ? LASTS_NAMED : LASTS;
    int64_t lasts_ns = (int64_t)(windows * (double)p->window_ns);
    double sent = fmax(lately.requests * 4, 1); /* per window, at the present pace */
    double beyond = fmax(1 - vq_auth_accepted(&p->used) / sent, 0);
    bool lasts = p->doubt.since_ns != 0 && now_ns - p->doubt.since_ns >= lasts_ns &&
                 lately.refused >= BEYOND * beyond * lately.requests &&
                 vq_auth_unexplained(p, lately.refused, lately.answered);
    if (!lasts && !p->doubt.again) {
        return;
    }
    double requests = vq_auth_accepted(&p->used);
    bool limited = isfinite(p->force.limit.rates.of[VQ_RATE_REQUESTS]) ||
                   isfinite(p->force.limit.rates.of[VQ_RATE_TOKENS]);
    if (!limited && now_ns - p->doubt.full_ns < FULL_WINDOWS * p->window_ns) {
        requests = fmax(requests, p->doubt.full); /* pauses have lowered it since */
    }
    begin(p, VQ_AUTH_TRIES_RATES, &p->used.sum, p->window_ns, now_ns);
    p->learn.ceiling = sent_of(&p->doubt, requests);
    rates_lower(p, requests, now_ns);
}

static void undo(struct vq_auth_pool *p, int64_t now_ns)
{
    struct vq_auth_trial *t = &p->trial;
    if (t->kind == VQ_AUTH_TRIES_LEVEL) {
        vq_auth_level_is(p, &t->level, now_ns);
        t->level_cleared = true;
        if (t->lifts) {
            p->learn.rates = t->learned;
            p->learn.ceiling = t->ceiling;
            p->learn.clean_ns = p->learn.grown_ns = p->learn.over_ns = now_ns;
            t->ceiling_ns = now_ns;
            t->patience_ns *= PATIENCE_GROWS;
        }
        t->cleared_at = fmin(p->find.level.level, t->before_peak);
    } else {
        p->learn.rates = t->learned;
        p->learn.ceiling = t->ceiling;
        p->learn.clean_ns = p->learn.grown_ns = p->learn.over_ns = now_ns;
        t->rates_cleared = true;
    }
    if (t->rates_cleared && (t->level_cleared || !vq_auth_level_free(p))) {
        double refused = t->before.refused + t->seen.refused;
        double answered = t->before.answered + t->seen.answered;
        vq_auth_noise_is(p, refused / fmax(refused + answered, 1), now_ns);
        t->level_cleared = t->rates_cleared = false;
    }
    t->cleared_ns = now_ns;
    p->deal.due = true;
}

static void judge(struct vq_auth_pool *p, int64_t now_ns)
{
    struct vq_auth_trial *t = &p->trial;
    if (now_ns < t->from_ns) {
        return;
    }
    if (!t->measures) {
        t->measures = true;
        t->seen = (struct vq_auth_bucket){0};
        return;
    }
    /* lower bound: the trial began because it was high */
    double before = (t->before.refused - sqrt(t->before.refused)) /
                    fmax(t->before.refused + t->before.answered, 1);
    double noise = p->doubt.again ? 0 : p->doubt.noise;
    double after = fmin(fmax(noise, before * HELPED), before * HELPED_MOST);
    double ended = t->seen.refused + t->seen.answered;
    int64_t longest_ns = t->kind == VQ_AUTH_TRIES_LEVEL ? LEVEL_NS_MAX : WINDOWS_MAX * p->window_ns;
    double likely = t->seen.refused * log(after / before) + ended * (before - after);
    bool over = now_ns - t->from_ns >= longest_ns; /* then the likelier result counts */
    if (likely >= SURE_HELPED || (over && likely > 0)) {
        if (t->kind == VQ_AUTH_TRIES_RATES &&
            vq_auth_accepted(&p->used) > NO_CEILING * p->learn.ceiling) {
            p->learn.ceiling = 0; /* pauses caused the ceiling, and the earlier refusals are over */
        }
        t->kind = VQ_AUTH_TRIES_NOTHING;
        t->level_cleared = t->rates_cleared = false;
        t->ceiling_ns = now_ns;
        p->doubt.since_ns = 0;
        double rest = (t->seen.refused + sqrt(t->seen.refused)) / fmax(ended, 1);
        if (p->doubt.again) {
            vq_auth_noise_is(p, fmax(rest, p->doubt.noise / 2), now_ns);
        } else if (rest > p->doubt.noise && t->seen.refused >= LEAST && rest <= REST_MOST) {
            /* the share that is still refused below the ceiling */
            vq_auth_noise_is(p, rest, now_ns);
        }
    } else if (likely <= -SURE_NOT || over) {
        undo(p, now_ns);
        t->kind = VQ_AUTH_TRIES_NOTHING;
    }
}

/* The rate is the first suspect if refusals state a wait, if the accepted rate is near a known
 * limit, or if a window was full. */
static bool rate_explains(const struct vq_auth_pool *p, int64_t now_ns)
{
    double requests = vq_auth_accepted(&p->used);
    if (vq_auth_blames_rate(p) ||
        (p->learn.ceiling > 0 && sent_of(&p->doubt, requests) >= EXPLAINED * p->learn.ceiling)) {
        return true;
    }
    if (p->doubt.full > 0 && now_ns - p->doubt.full_ns < FULL_WINDOWS * p->window_ns) {
        return true;
    }
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        if (isfinite(p->force.limit.rates.of[r]) &&
            vq_auth_accepted_of(&p->used, (enum vq_rate)r, requests) >=
                EXPLAINED * p->force.limit.rates.of[r] * vq_auth_windows(p)) {
            return true;
        }
    }
    return false;
}

void vq_auth_trial_step(struct vq_auth_pool *p, int64_t now_ns)
{
    struct vq_auth_trial *t = &p->trial;
    if (t->kind != VQ_AUTH_TRIES_NOTHING) {
        judge(p, now_ns);
        return;
    }
    if (p->doubt.full_twice) {
        p->doubt.full_twice = false;
        p->learn.ceiling = sent_of(&p->doubt, p->doubt.full);
        rates_lower(p, p->doubt.full, now_ns);
        return;
    }
    bool higher = fmin(p->find.level.level, vq_auth_peak(&p->used)) > FAR_ABOVE * t->cleared_at;
    bool level = vq_auth_level_free(p) && (!t->level_cleared || higher);
    if (level && (t->rates_cleared || !rate_explains(p, now_ns)) && level_begin(p, now_ns)) {
        return;
    }
    if (p->doubt.since_ns == 0 && now_ns - t->cleared_ns >= 2 * p->window_ns) {
        t->level_cleared = t->rates_cleared = false;
    }
    if (!t->rates_cleared) {
        rates_begin(p, now_ns);
    }
}
