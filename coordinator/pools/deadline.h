/* Decides, for a run with a deadline, about the calls of one judge that has interactive and batch
 * pools: batches first, because they are cheaper, and in time the rest interactively. Pure: (state,
 * now) -> action. It is in this folder because it needs the rates that the authority measures.
 *
 *     do { vq_deadline_decide(&state, &action); carry it out; update the state } while (not WAIT);
 *     again at action.at_s, or when a batch or a call ends
 *
 * Rules:
 * - The slack is the time until the deadline, less a margin, less the time that the interactive
 *   pools need for all calls without an answer. Without slack the interactive pools must not be
 *   idle: they get open calls, and a batch is cancelled shortly before they run out of calls.
 * - One batch is cancelled at a time, the one with the lowest chance to end in time. So the others
 *   may still end in the meantime, which increases the slack.
 * - Stages follow each other. A stage waits for its batches as long as this saves more than the
 *   same time would save in later stages, by the recorded durations of batches.
 * - Calls that a batch has given back are bought interactively. Open calls go into batches also
 *   without slack, as long as the interactive pools have other calls: a batch may end before these
 *   are done. */
#pragma once

#include "common/base/status.h"

#define VQ_DEADLINE_MARGIN_S   300  /* for cancelling, collecting, and calls that are retried */
#define VQ_DEADLINE_RATE_SHARE 0.85 /* of the measured rate: the decision relies on this part */
#define VQ_DEADLINE_LEAD_S     240  /* between a cancel and the time when its calls can be bought */
#define VQ_DEADLINE_SLACK_S    120  /* with less slack, no batch is submitted */
#define VQ_DEADLINE_BATCHES    16u /* open calls are submitted in at least this number of batches */
#define VQ_DEADLINE_CALLS_MIN  50u /* but no batch is smaller than this */
#define VQ_DEADLINE_STAGES_MAX 32u
#define VQ_DEADLINE_PRIOR      2.0    /* weight of the prior, in recorded batches */
#define VQ_DEADLINE_PRIOR_S    3600.0 /* its mean duration */

/* Durations of batches that ended, in seconds, ascending. Borrowed. */
struct vq_durations {
    const double *ended;
    uint32_t count;
    uint32_t expired; /* batches that did not end */
    /* ages of batches when they were cancelled, ascending: these would have ended later */
    const double *cancelled;
    uint32_t cancelled_count;
};

/* The chance that a batch of this age ends within the next `within_s` seconds. */
double vq_durations_chance(const struct vq_durations *durations, double age_s, double within_s);

/* The time in which this share of the recorded batches has ended. A batch that expired took longer,
 * and so did one that was cancelled later than this. INFINITY: fewer have ended. */
double vq_durations_within(const struct vq_durations *durations, double share);

struct vq_deadline_batch {
    int64_t submitted_s;
    uint64_t calls; /* without a result */
    bool cancelling;
};

struct vq_deadline_state {
    int64_t now_s, deadline_s;
    double rate; /* calls per second of the interactive pools; 0: there is none */
    double interactive_usd, batch_usd; /* per call, on average */
    uint64_t open;                     /* neither in a batch nor bought */
    uint64_t returned;                 /* such calls that a batch has given back */
    uint64_t buying;                   /* bought, without an answer */
    /* the maximum number of calls of each later stage; the first VQ_DEADLINE_STAGES_MAX count */
    const uint64_t *later;
    uint32_t later_count;
    const struct vq_deadline_batch *batches;
    uint32_t batches_count;
    struct vq_durations durations;
};

enum vq_deadline_do {
    VQ_DEADLINE_WAIT = 0, /* until at_s, or until a batch or call ends */
    VQ_DEADLINE_SUBMIT,   /* `calls` open calls, in batches of at most `each` */
    VQ_DEADLINE_BUY,      /* `calls` calls interactively, returned ones first */
    VQ_DEADLINE_CANCEL    /* batch number `batch` */
};

struct vq_deadline_action {
    enum vq_deadline_do what;
    uint64_t calls, each;
    uint32_t batch;
    int64_t at_s;
};

/* Seconds until calls have to be bought; negative: the time has passed. */
double vq_deadline_slack(const struct vq_deadline_state *state);

/* The largest size of a batch, so that `calls` make at least VQ_DEADLINE_BATCHES batches. */
uint64_t vq_deadline_each(uint64_t calls);

void vq_deadline_decide(const struct vq_deadline_state *state,
                        struct vq_deadline_action *ret_action);
