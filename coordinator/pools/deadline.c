/* The slack decides. Chances only choose which batch is cancelled, and whether submitting one is
 * worth it. Owns nothing. Not its job: the cost of a call and the measured rates (the caller), and
 * the batches themselves (the workers). */
#include "coordinator/pools/deadline.h"

#include <math.h>
#include <string.h>

#define CHANCE_MIN 0.02 /* with less, a batch is not worth submitting */

/* ---- chances ---- */

/* The number of the ascending values that are not larger. */
static uint32_t until(const double *values, uint32_t count, double seconds)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (values[middle] <= seconds) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

double vq_durations_chance(const struct vq_durations *d, double age_s, double within_s)
{
    if (within_s <= 0) {
        return 0;
    }
    uint32_t before = until(d->ended, d->count, age_s);
    double older = d->count - before + d->expired;
    double ends = until(d->ended, d->count, age_s + within_s) - before;
    /* a batch that was cancelled earlier shows nothing about the time after it */
    older += d->cancelled_count - until(d->cancelled, d->cancelled_count, age_s + within_s);
    double prior = 1 - exp(-within_s / VQ_DEADLINE_PRIOR_S);
    return (ends + VQ_DEADLINE_PRIOR * prior) / (older + VQ_DEADLINE_PRIOR);
}

double vq_durations_within(const struct vq_durations *d, double share)
{
    for (uint32_t i = 0; i < d->count; i++) {
        uint32_t later = d->cancelled_count - until(d->cancelled, d->cancelled_count, d->ended[i]);
        if (i + 1 >= share * ((double)d->count + d->expired + later)) {
            return d->ended[i];
        }
    }
    return INFINITY;
}

/* ---- slack ---- */

static uint64_t in_batches(const struct vq_deadline_state *s)
{
    uint64_t calls = 0;
    for (uint32_t i = 0; i < s->batches_count; i++) {
        calls += s->batches[i].calls;
    }
    return calls;
}

static double rate_of(const struct vq_deadline_state *s)
{
    return s->rate * VQ_DEADLINE_RATE_SHARE;
}

static double left_s(const struct vq_deadline_state *s)
{
    return (double)(s->deadline_s - s->now_s) - VQ_DEADLINE_MARGIN_S;
}

static uint32_t later_count(const struct vq_deadline_state *s)
{
    return s->later_count < VQ_DEADLINE_STAGES_MAX ? s->later_count : VQ_DEADLINE_STAGES_MAX;
}

double vq_deadline_slack(const struct vq_deadline_state *s)
{
    double calls = (double)(s->open + s->returned + s->buying + in_batches(s));
    for (uint32_t i = 0; i < s->later_count; i++) {
        calls += (double)s->later[i];
    }
    return left_s(s) - (s->rate > 0 ? calls / rate_of(s) : 0);
}

/* ---- the wait of a stage ---- */

#define CELLS 64u /* of the slack */

/* The result of waiting for the batches of a stage, by cells of time: the expected number of calls
 * that have come by then, and the chance that all batches have ended. */
struct prospect {
    double calls[CELLS + 1], all[CELLS + 1];
};

static uint32_t batches_for(double calls)
{
    double count = fmin(VQ_DEADLINE_BATCHES, ceil(calls / VQ_DEADLINE_CALLS_MIN));
    return calls > 0 ? (uint32_t)count : 0;
}

static void add_fresh(const struct vq_deadline_state *s, double calls, double cell,
                      struct prospect *p)
{
    for (uint32_t t = 0; t <= CELLS && calls > 0; t++) {
        double chance = vq_durations_chance(&s->durations, 0, t * cell);
        p->calls[t] += calls * chance;
        p->all[t] *= pow(chance, batches_for(calls));
    }
}

static void add_running(const struct vq_deadline_state *s, const struct vq_deadline_batch *b,
                        double cell, struct prospect *p)
{
    double age = (double)(s->now_s - b->submitted_s);
    for (uint32_t t = 0; t <= CELLS; t++) {
        double chance = vq_durations_chance(&s->durations, age, t * cell);
        p->calls[t] += (double)b->calls * chance;
        p->all[t] *= chance;
    }
}

static struct prospect nothing(void)
{
    struct prospect p = {.calls = {0}};
    for (uint32_t t = 0; t <= CELLS; t++) {
        p.all[t] = 1;
    }
    return p;
}

/* The largest expected number of calls at the batch price from this stage on with `slack` cells.
 * `after[n]`: the same for the later stages, with n cells. *ret_wait: the cells after which this
 * stage stops waiting. */
static double best_wait(const struct prospect *p, const double *after, uint32_t slack,
                        uint32_t *ret_wait)
{
    double best = -1, early = 0; /* early: for later stages, if all batches end before */
    for (uint32_t t = 0; t <= slack; t++) {
        early += (p->all[t] - (t > 0 ? p->all[t - 1] : 0)) * after[slack - t];
        double value = p->calls[t] + early + (1 - p->all[t]) * after[slack - t];
        if (value > best) {
            best = value;
            *ret_wait = t;
        }
    }
    return best;
}

/* Seconds that this stage still waits for batches. */
static double wait_s(const struct vq_deadline_state *s)
{
    double slack = vq_deadline_slack(s), cell = slack / CELLS;
    if (slack <= 0 || later_count(s) == 0 || s->rate <= 0) {
        return slack;
    }
    double after[CELLS + 1] = {0}, from[CELLS + 1];
    uint32_t wait = 0;
    for (uint32_t i = later_count(s); i-- > 0;) {
        struct prospect p = nothing();
        add_fresh(s, (double)s->later[i], cell, &p);
        for (uint32_t t = 0; t <= CELLS; t++) {
            from[t] = best_wait(&p, after, t, &wait);
        }
        memcpy(after, from, sizeof(after));
    }
    struct prospect here = nothing();
    add_fresh(s, (double)s->open, cell, &here);
    for (uint32_t i = 0; i < s->batches_count; i++) {
        if (!s->batches[i].cancelling) {
            add_running(s, &s->batches[i], cell, &here);
        }
    }
    (void)best_wait(&here, after, CELLS, &wait);
    return wait * cell;
}

/* ---- decisions ---- */

/* The batch whose calls are bought next; batches_count: there is none. */
static uint32_t worst(const struct vq_deadline_state *s)
{
    uint32_t found = s->batches_count;
    double least = INFINITY;
    for (uint32_t i = 0; i < s->batches_count; i++) {
        const struct vq_deadline_batch *b = &s->batches[i];
        double chance = vq_durations_chance(&s->durations, (double)(s->now_s - b->submitted_s),
                                            fmax(left_s(s), 1));
        if (!b->cancelling && chance < least) {
            least = chance;
            found = i;
        }
    }
    return found;
}

/* Calls that the interactive pools have, or will have when a cancel takes effect. */
static double pipeline(const struct vq_deadline_state *s)
{
    double calls = (double)(s->open + s->returned + s->buying);
    for (uint32_t i = 0; i < s->batches_count; i++) {
        calls += s->batches[i].cancelling ? (double)s->batches[i].calls : 0;
    }
    return calls;
}

uint64_t vq_deadline_each(uint64_t calls)
{
    uint64_t each = (calls + VQ_DEADLINE_BATCHES - 1) / VQ_DEADLINE_BATCHES;
    return each < VQ_DEADLINE_CALLS_MIN ? VQ_DEADLINE_CALLS_MIN : each;
}

static struct vq_deadline_action submit(uint64_t calls)
{
    return (struct vq_deadline_action){
        .what = VQ_DEADLINE_SUBMIT, .calls = calls, .each = vq_deadline_each(calls)};
}

static struct vq_deadline_action wait_until(const struct vq_deadline_state *s, double seconds)
{
    return (struct vq_deadline_action){.what = VQ_DEADLINE_WAIT,
                                       .at_s = s->now_s + (int64_t)fmax(1, floor(seconds))};
}

static struct vq_deadline_action buy(uint64_t calls)
{
    return (struct vq_deadline_action){.what = VQ_DEADLINE_BUY, .calls = calls};
}

/* Places open calls if there is no slack: the interactive pools get calls until a cancel takes
 * effect; the others may end in a batch in the meantime, and are cancelled when they are needed. */
static struct vq_deadline_action place(const struct vq_deadline_state *s)
{
    double need = 2 * VQ_DEADLINE_LEAD_S * s->rate - (pipeline(s) - (double)s->open);
    bool may_end = s->batch_usd < s->interactive_usd && left_s(s) > VQ_DEADLINE_SLACK_S &&
                   vq_durations_chance(&s->durations, 0, left_s(s)) > CHANCE_MIN;
    if (need >= (double)s->open || !may_end) {
        return buy(s->open);
    }
    return need >= 1 ? buy((uint64_t)need) : submit(s->open);
}

/* There is no slack: the interactive pools work, and never run out of calls. */
static struct vq_deadline_action hurry(const struct vq_deadline_state *s)
{
    if (s->returned > 0) {
        return buy(s->returned);
    }
    if (s->open > 0) {
        return place(s);
    }
    double dry_s = pipeline(s) / s->rate - VQ_DEADLINE_LEAD_S;
    uint32_t batch = worst(s);
    if (batch == s->batches_count) {
        return wait_until(s, fmax(left_s(s), VQ_DEADLINE_LEAD_S));
    }
    return dry_s > 0 ? wait_until(s, dry_s)
                     : (struct vq_deadline_action){.what = VQ_DEADLINE_CANCEL, .batch = batch};
}

/* There are only batch pools. */
static struct vq_deadline_action only_batches(const struct vq_deadline_state *s)
{
    uint64_t wanted = s->open + s->returned;
    return wanted > 0 ? submit(wanted) : wait_until(s, fmax(left_s(s), VQ_DEADLINE_LEAD_S));
}

static bool worth_a_batch(const struct vq_deadline_state *s, double slack)
{
    return s->open > 0 && s->batch_usd < s->interactive_usd && slack > VQ_DEADLINE_SLACK_S &&
           vq_durations_chance(&s->durations, 0, slack) > CHANCE_MIN;
}

void vq_deadline_decide(const struct vq_deadline_state *s, struct vq_deadline_action *ret_action)
{
    double slack = wait_s(s);
    if (s->rate <= 0) {
        *ret_action = only_batches(s);
    } else if (worth_a_batch(s, slack)) {
        *ret_action = submit(s->open);
    } else if (s->open > 0 || s->returned > 0 || slack <= 0) {
        *ret_action = hurry(s);
    } else {
        *ret_action = wait_until(s, slack);
    }
}
