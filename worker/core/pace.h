/* Pacing: a rate of N units per minute as a virtual schedule without bursts (GCRA), and the times
 * of retries. Pure numbers. */
#pragma once

#include "common/base/limit.h"
#include "common/base/rng.h"

#include <stdbool.h>

/* GCRA, Traffic Management Specification 4.0 (ATM Forum), without tolerance except for late timers:
 * after a cost c at the rate r the next start waits c / r. A start that is late by at most
 * `late_ns` does not move the schedule: timers are coarse, and at a hundred starts per second each
 * lost millisecond is a tenth of the rate. So any window w holds at most r * (w + late_ns) plus the
 * last cost in it. A new schedule holds nothing: it has to earn its first cost too.
 *
 * A cost is a reservation until it is settled. If a call cost less than it reserved, the difference
 * (`back_ns`) brings the next start forward: by at most the reservation of that call, and only if
 * the schedule was not idle since, because idle time earns nothing. A start that is late by up to
 * ten times late_ns loses that time, but does not count as idle. */
struct vq_gcra {
    double unit_ns;  /* time that earns one unit; 0: no limit */
    int64_t next_ns; /* when the last cost is earned; if `empty`: since when the first is earned */
    int64_t back_ns; /* returned by calls that cost less than reserved */
    int64_t busy_ns; /* not idle since */
    int64_t late_ns;
    bool empty;
};

/* Starts a schedule that holds nothing at `now_ns`; debts stay. per_minute <= 0: no limit. */
void vq_gcra_begin(struct vq_gcra *gcra, double per_minute, int64_t late_ns, int64_t now_ns);
/* Sets another rate. Debts and earned costs keep their number of units. A schedule without a limit
 * starts as vq_gcra_begin does, with the last `late_ns`. */
void vq_gcra_set(struct vq_gcra *gcra, double per_minute, int64_t now_ns);
/* The earliest time at which `cost` may be spent: `now_ns` or later. */
int64_t vq_gcra_when(const struct vq_gcra *gcra, double cost, int64_t now_ns);
void vq_gcra_spend(struct vq_gcra *gcra, double cost, int64_t now_ns);
/* Settles the cost that was spent at `spent_ns`: it was `actual` instead of `reserved`. */
void vq_gcra_settle(struct vq_gcra *gcra, double reserved, double actual, int64_t spent_ns);

/* Full jitter: uniform in [0, min(max, base * 2^(tries-1))]; tries counts from 1. */
int64_t vq_backoff_ms(struct vq_rng *rng, uint32_t tries, uint32_t base_ms, uint32_t max_ms);
/* Half jitter, for a whole pool: uniform in [d/2, d], d = min(max, base * 2^growth). Never 0 with a
 * base. */
int64_t vq_pause_ms(struct vq_rng *rng, uint32_t growth, uint32_t base_ms, uint32_t max_ms);

/* The waits that refusals cause. By default a refusal pauses the whole pool. If it stated no
 * wait, one call finds out after the pause whether the provider takes calls again. A noisy pool
 * refuses calls at random: there only the refused call waits, and the pool pauses after
 * VQ_REFUSALS_ROW refusals in a row. */
#define VQ_REFUSALS_ROW 4u
struct vq_refusals {
    int64_t cut_ns; /* refusals of calls that started before it do not lengthen the next pause */
    /* The end of the last pause. If there is no refusal for the same time after it, the next pause
     * is short. */
    int64_t until_ns;
    uint32_t growth; /* of the pause */
    uint32_t row;    /* refusals since the last other end */
    /* the pool paused, and since then no call has ended in any other way than by a refusal */
    bool tries;
};
struct vq_refusal_wait {
    int64_t pool_ms; /* no call of the pool starts during this time */
    int64_t call_ms; /* the refused call is not retried during this time */
};
struct vq_pause_bounds {
    uint32_t pause_ms, pause_ms_max;     /* of a pool */
    uint32_t backoff_ms, backoff_ms_max; /* of a call */
};
/* The bounds for a pool with these rates, and limits over this window (0: a minute). */
struct vq_pause_bounds vq_refusal_bounds(const struct vq_rates *rates, int64_t window_ms);
/* `asked_ms`: the wait that the provider stated; 0 or less: none. */
struct vq_refusal_wait vq_refusal(struct vq_refusals *refusals, struct vq_rng *rng, bool noisy,
                                  int64_t started_ns, int64_t asked_ms, int64_t now_ns,
                                  const struct vq_pause_bounds *bounds);
/* A call that started at `started_ns` was answered, or failed in another way. */
void vq_refusals_over(struct vq_refusals *refusals, int64_t started_ns);
/* Whether one call at a time must find out if the pool takes calls again. */
bool vq_refusals_doubt(const struct vq_refusals *refusals, bool noisy);
