/* What is lowered when noise does not explain the refusals, and whether it helped.
 *
 * A doubt has two suspects: the calls in flight, where their limit is not named, and the rates. One
 * after the other is lowered as a trial: the level to a part of what was in flight, at once; the
 * rates to a little less than what was accepted in the last window, once the doubt has lasted for a
 * window and a quarter, or two where few calls are refused at a rate that is named (a burst of
 * refusals is over by then). When the provider has had time to forget what was sent before (for
 * rates: a window) the refusals are counted and compared with those before by Wald's sequential
 * test: either they are as many, or a quarter (what noise explains, where that is more). Fewer:
 * what was lowered stays, and its ceiling is known. As many: it is undone at once. When no suspect
 * is left, the share of calls that are refused is noise.
 *
 * While a learned rate is probed upward, refusals at the ceiling that a trial found are proof at
 * once. Not its job: growing again (authority_learn.c, authority_level.c). */
#include "coordinator/pools/authority_parts.h"

#include <string.h>

#define MARGIN      0.98 /* of what was accepted */
#define LASTS       1.25 /* windows */
#define LASTS_NAMED 2.0  /* of a named rate, with few refusals: another client may be gone then */
#define MANY        0.3  /* of the calls refused */
/* of what is sent beyond the accepted: if less is refused, it is no ceiling */
#define BEYOND         0.25
#define HELPED         0.25  /* of the refusals before */
#define REST_MOST      0.015 /* refused below a ceiling that is right */
#define HELPED_MOST    0.8
#define SURE_HELPED    5.3                /* of the logarithm of likelihoods: wrong once in 200 */
#define SURE_NOT       4.6                /* once in 100 */
#define WINDOWS_MAX    4                  /* without a verdict: it did not help */
#define LEVEL_NS_MAX   (60 * VQ_AUTH_S)   /* the same */
#define LEVEL_NS       (400 * VQ_AUTH_MS) /* before that a level may not have arrived everywhere */
#define EXPLAINED      0.9  /* of a known limit accepted: the rate is suspected first */
#define NO_CEILING     3.0  /* times a ceiling accepted during its trial: it is none */
#define FAR_ABOVE      1.2  /* times the calls in flight that were cleared: they are tried again */
#define PATIENCE_GROWS 16   /* times, when that helped nothing */
#define NEAR_LEVEL     0.96 /* of a level that was refused: in flight */
#define FULL_WINDOWS   3    /* so long a window that was full is remembered */
#define LEAST          3.0  /* refusals */
#define ROUND_LEAST    8.0  /* the same, of one round of a level */

/* ---- lowering ---- */

/* What is accepted of a rate, as it is sent: noise takes its part of it. */
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

/* A ceiling may be the level's: it is refused again and again, while as many calls are in flight as
 * were refused once. The rates are lifted, and the level is tried. */
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
        p->find.round = (struct vq_auth_bucket){0}; /* of calls that started before */
        return false;
    }
    bool in_window =
        p->used.sum.refused >= ROUND_LEAST && p->doubt.since_ns != 0 &&
        now_ns - p->find.level.cut_ns >= p->window_ns / 2; /* else of the level before */
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
    double sent = fmax(lately.requests * 4, 1); /* a window at the present pace */
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
        requests = fmax(requests, p->doubt.full); /* pauses made it less since */
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
    double before =
        (t->before.refused - sqrt(t->before.refused)) / /* at the least: many made it begin */
        fmax(t->before.refused + t->before.answered, 1);
    double noise = p->doubt.again ? 0 : p->doubt.noise;
    double after = fmin(fmax(noise, before * HELPED), before * HELPED_MOST);
    double ended = t->seen.refused + t->seen.answered;
    int64_t longest_ns = t->kind == VQ_AUTH_TRIES_LEVEL ? LEVEL_NS_MAX : WINDOWS_MAX * p->window_ns;
    double likely = t->seen.refused * log(after / before) + ended * (before - after);
    bool over = now_ns - t->from_ns >= longest_ns; /* the likelier one, then */
    if (likely >= SURE_HELPED || (over && likely > 0)) {
        if (t->kind == VQ_AUTH_TRIES_RATES &&
            vq_auth_accepted(&p->used) > NO_CEILING * p->learn.ceiling) {
            p->learn.ceiling = 0; /* pauses had made it, and what was refused before is over */
        }
        t->kind = VQ_AUTH_TRIES_NOTHING;
        t->level_cleared = t->rates_cleared = false;
        t->ceiling_ns = now_ns;
        p->doubt.since_ns = 0;
        double rest = (t->seen.refused + sqrt(t->seen.refused)) / fmax(ended, 1);
        if (p->doubt.again) {
            vq_auth_noise_is(p, fmax(rest, p->doubt.noise / 2), now_ns);
        } else if (rest > p->doubt.noise && t->seen.refused >= LEAST && rest <= REST_MOST) {
            vq_auth_noise_is(p, rest, now_ns); /* what is refused below the ceiling yet */
        }
    } else if (likely <= -SURE_NOT || over) {
        undo(p, now_ns);
        t->kind = VQ_AUTH_TRIES_NOTHING;
    }
}

/* The rate is suspected first where refusals state a wait, what was accepted is near a limit that
 * is known, or a window was full. */
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
