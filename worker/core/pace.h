/* Pacing: "so many units a minute" as a virtual schedule without bursts (GCRA), and the times of
 * retries. Pure numbers. */
#ifndef VQ_WORKER_PACE_H
#define VQ_WORKER_PACE_H

#include "common/base/rng.h"

#include <stdbool.h>

/* GCRA, Traffic Management Specification 4.0 (ATM Forum), with no tolerance but for late timers:
 * after a cost c at the rate r the next one waits c / r. A start that is late by no more than
 * `late_ns` does not move the schedule: timers have a grain, and at a hundred starts a second every
 * lost millisecond is a tenth of the rate. So any window w holds at most r * (w + late_ns) + the
 * last cost in it. One that has just begun holds nothing: its first cost has to be earned too.
 *
 * A cost is a reservation until it is settled. What comes back (`back_ns`) brings the next one
 * forward, by no more than what that one call had reserved, and only while the schedule has not
 * stood idle since: time in which nobody wanted anything is gone. A start that is late by up to ten
 * times late_ns loses that time, but is no idleness. */
struct vq_gcra {
    double unit_ns;  /* time that earns one unit; 0: no limit */
    int64_t next_ns; /* when the last cost is earned; `empty`: since when it earns the first */
    int64_t back_ns; /* of reservations that were settled for less */
    int64_t busy_ns; /* since when it did not stand idle */
    int64_t late_ns;
    bool empty;
};

/* A schedule that holds nothing at `now_ns`; what is owed stays. per_minute <= 0: no limit. */
void vq_gcra_begin(struct vq_gcra *gcra, double per_minute, int64_t late_ns, int64_t now_ns);
/* Another rate: what is owed, or was earned while it was empty, is kept in units. From no limit to
 * one it begins, with the late_ns of the last beginning. */
void vq_gcra_set(struct vq_gcra *gcra, double per_minute, int64_t now_ns);
/* When a cost may be spent: `now_ns` or later. */
int64_t vq_gcra_when(const struct vq_gcra *gcra, double cost, int64_t now_ns);
void vq_gcra_spend(struct vq_gcra *gcra, double cost, int64_t now_ns);
/* The cost that was spent at `spent_ns` turned out as `actual`. */
void vq_gcra_settle(struct vq_gcra *gcra, double reserved, double actual, int64_t spent_ns);

/* Full jitter: uniform in [0, min(max, base * 2^(tries-1))]; tries counts from 1. */
int64_t vq_backoff_ms(struct vq_rng *rng, uint32_t tries, uint32_t base_ms, uint32_t max_ms);
/* Half jitter, for a whole pool: uniform in [d/2, d], d = min(max, base * 2^growth). Never 0 with a
 * base. */
int64_t vq_pause_ms(struct vq_rng *rng, uint32_t growth, uint32_t base_ms, uint32_t max_ms);

/* What the refusals of a pool ask for. By default a refusal pauses the whole pool. If it stated no
 * wait, one call finds out after the pause whether the provider takes calls again. A noisy pool
 * refuses calls at random: there only the refused call waits, and the pool pauses after
 * VQ_REFUSALS_ROW refusals in a row. */
#define VQ_REFUSALS_ROW 4u
struct vq_refusals {
    int64_t cut_ns; /* refusals of calls that started before do not lengthen the next pause */
    /* The end of the last pause. After as long again without a refusal the next pause is short. */
    int64_t until_ns;
    uint32_t growth; /* of the pause */
    uint32_t row;    /* refusals since the last other end */
    bool tries;      /* the pool paused, and no call that started since has ended otherwise */
};
struct vq_refusal_wait {
    int64_t pool_ms; /* no call of the pool starts for so long */
    int64_t call_ms; /* the refused call does not start again for so long */
};
struct vq_pause_bounds {
    uint32_t pause_ms, pause_ms_max;     /* of a pool */
    uint32_t backoff_ms, backoff_ms_max; /* of a call */
};
/* `asked_ms`: the wait that the provider stated; 0 or less: none. */
struct vq_refusal_wait vq_refusal(struct vq_refusals *refusals, struct vq_rng *rng, bool noisy,
                                  int64_t started_ns, int64_t asked_ms, int64_t now_ns,
                                  const struct vq_pause_bounds *bounds);
/* A call that started at `started_ns` was answered, or failed in another way. */
void vq_refusals_over(struct vq_refusals *refusals, int64_t started_ns);
/* One call at a time finds out whether the pool takes calls again. */
bool vq_refusals_doubt(const struct vq_refusals *refusals, bool noisy);

#endif
