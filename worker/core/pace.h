/* Pacing: a limit "so many units in any minute" as a virtual schedule (GCRA), and the times of retries. Pure numbers. */
#ifndef VQ_WORKER_PACE_H
#define VQ_WORKER_PACE_H

#include "common/base/rng.h"

#include <stdbool.h>

/* GCRA, Traffic Management Specification 4.0 (ATM Forum), with a burst of `burst` units. The schedule is a little slower
 * than the limit, by the burst, so that no window of a minute holds more than the limit: at most
 * burst + (per_minute - burst) units. A single cost above the burst waits until the schedule is idle and is then more than
 * its window should hold, by what it is above the burst. */
struct vq_gcra {
    double unit_ns; /* time between two units; 0: no limit */
    double burst;
    int64_t next_ns; /* theoretical arrival time */
};

/* burst_s: how many seconds' worth may go at once; at least one unit. per_minute <= 0: no limit. Keeps what is owed. */
void vq_gcra_set(struct vq_gcra *gcra, double per_minute, double burst_s);
/* When a cost may be spent: `now_ns` or later. */
int64_t vq_gcra_when(const struct vq_gcra *gcra, double cost, int64_t now_ns);
void vq_gcra_spend(struct vq_gcra *gcra, double cost, int64_t now_ns);
/* The cost turned out as `actual`. */
void vq_gcra_settle(struct vq_gcra *gcra, double reserved, double actual);

/* Full jitter: uniform in [0, min(max, base * 2^(tries-1))]; tries counts from 1. */
int64_t vq_backoff_ms(struct vq_rng *rng, uint32_t tries, uint32_t base_ms, uint32_t max_ms);
/* Half jitter, for a whole pool: uniform in [d/2, d], d = min(max, base * 2^growth). Never 0 with a base. */
int64_t vq_pause_ms(struct vq_rng *rng, uint32_t growth, uint32_t base_ms, uint32_t max_ms);

#endif
