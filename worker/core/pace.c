/* GCRA and jittered waits. No clock and no state except the caller's. A schedule is ahead of now by
 * at most one cost, so its nanoseconds neither overflow nor lose relevant precision. Not its job:
 * the cost of a call (reserve.c). */
#include "worker/core/pace.h"

#include "worker/core/limits.h"

#define MINUTE_NS      60e9
#define NS_MAX         1e17 /* three years: a bound for products of extreme limits and counts */
#define PER_MINUTE_MAX 1e12 /* above: no limit */
/* If a start is later than this, the schedule was idle; if it is earlier, the processor was
 * busy. */
#define IDLE_LATES 10

static int64_t as_ns(double ns)
{
    return (int64_t)(ns > NS_MAX ? NS_MAX : ns < -NS_MAX ? -NS_MAX : ns);
}

static double unit_of(double per_minute)
{
    bool limited = per_minute > 0 && per_minute < PER_MINUTE_MAX; /* this excludes NaN, too */
    return limited ? MINUTE_NS / per_minute : 0;
}

void vq_gcra_begin(struct vq_gcra *gcra, double per_minute, int64_t late_ns, int64_t now_ns)
{
    int64_t owed_ns = gcra->unit_ns > 0 && !gcra->empty ? gcra->next_ns : now_ns;
    *gcra = (struct vq_gcra){.unit_ns = unit_of(per_minute),
                             .next_ns = owed_ns > now_ns ? owed_ns : now_ns,
                             .busy_ns = now_ns,
                             .late_ns = late_ns,
                             .empty = true};
}

void vq_gcra_set(struct vq_gcra *gcra, double per_minute, int64_t now_ns)
{
    double unit_ns = unit_of(per_minute);
    if (gcra->unit_ns <= 0 && unit_ns > 0) {
        vq_gcra_begin(gcra, per_minute, gcra->late_ns, now_ns);
        return;
    }
    if (unit_ns > 0) {
        double by = unit_ns / gcra->unit_ns;
        if (gcra->empty || gcra->next_ns > now_ns) {
            gcra->next_ns = now_ns + as_ns((double)(gcra->next_ns - now_ns) * by);
        }
        gcra->back_ns = as_ns((double)gcra->back_ns * by);
    }
    gcra->unit_ns = unit_ns;
}

int64_t vq_gcra_when(const struct vq_gcra *gcra, double cost, int64_t now_ns)
{
    if (gcra->unit_ns <= 0) {
        return now_ns;
    }
    int64_t when = gcra->next_ns - gcra->back_ns;
    when += gcra->empty ? as_ns(cost * gcra->unit_ns) : 0;
    return when > now_ns ? when : now_ns;
}

void vq_gcra_spend(struct vq_gcra *gcra, double cost, int64_t now_ns)
{
    if (gcra->unit_ns <= 0) {
        return;
    }
    int64_t from_ns = gcra->next_ns;
    if (gcra->empty || from_ns < now_ns - gcra->late_ns) {
        if (gcra->empty || from_ns < now_ns - IDLE_LATES * gcra->late_ns) {
            gcra->busy_ns = now_ns;
            gcra->back_ns = 0;
        }
        from_ns = now_ns > from_ns ? now_ns : from_ns;
    } else if (from_ns > now_ns) {
        int64_t early_ns = from_ns - now_ns;
        int64_t used_ns = early_ns < gcra->back_ns ? early_ns : gcra->back_ns;
        gcra->back_ns -= used_ns;
        from_ns -= used_ns;
    }
    gcra->empty = false;
    gcra->next_ns = from_ns + as_ns(cost * gcra->unit_ns) + 1; /* rounded up: never faster */
}

void vq_gcra_settle(struct vq_gcra *gcra, double reserved, double actual, int64_t spent_ns)
{
    if (gcra->unit_ns <= 0) {
        return;
    }
    int64_t back_ns = as_ns((reserved - actual) * gcra->unit_ns);
    if (back_ns < 0) { /* the call cost more than reserved: a debt, first paid from back_ns */
        int64_t from_back = gcra->back_ns < -back_ns ? gcra->back_ns : -back_ns;
        gcra->back_ns -= from_back;
        gcra->next_ns += -back_ns - from_back;
    } else if (spent_ns >= gcra->busy_ns) {
        int64_t most_ns = as_ns(reserved * gcra->unit_ns);
        gcra->back_ns += back_ns;
        gcra->back_ns = gcra->back_ns > most_ns ? most_ns : gcra->back_ns;
    }
}

static uint64_t doubled(uint32_t base, uint32_t times, uint32_t max)
{
    uint64_t ms = (uint64_t)base << (times > 24 ? 24 : times);
    return ms > max ? max : ms;
}

int64_t vq_backoff_ms(struct vq_rng *rng, uint32_t tries, uint32_t base_ms, uint32_t max_ms)
{
    uint64_t ms = doubled(base_ms, tries == 0 ? 0 : tries - 1, max_ms);
    return (int64_t)vq_rng_below(rng, ms + 1);
}

int64_t vq_pause_ms(struct vq_rng *rng, uint32_t growth, uint32_t base_ms, uint32_t max_ms)
{
    uint64_t ms = doubled(base_ms, growth, max_ms);
    return (int64_t)(ms - ms / 2 + vq_rng_below(rng, ms / 2 + 1));
}

struct vq_pause_bounds vq_refusal_bounds(const struct vq_rates *rates, int64_t window_ms)
{
    bool paced = false;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        paced = paced || unit_of(rates->of[r]) > 0;
    }
    int64_t most_ms = VQ_WORK_REFUSED_MS_MAX;
    if (paced) {
        most_ms = (window_ms > 0 ? window_ms : VQ_WORK_WINDOW_MS) / VQ_WORK_PACED_PARTS;
        most_ms = most_ms < VQ_WORK_PAUSE_MS ? VQ_WORK_PAUSE_MS : most_ms;
        most_ms = most_ms > VQ_WORK_PACED_MS_MAX ? VQ_WORK_PACED_MS_MAX : most_ms;
    }
    return (struct vq_pause_bounds){VQ_WORK_PAUSE_MS, (uint32_t)most_ms, VQ_WORK_BACKOFF_MS,
                                    VQ_WORK_BACKOFF_MS_MAX};
}

struct vq_refusal_wait vq_refusal(struct vq_refusals *refusals, struct vq_rng *rng, bool noisy,
                                  int64_t started_ns, int64_t asked_ms, int64_t now_ns,
                                  const struct vq_pause_bounds *bounds)
{
    refusals->row += refusals->row < UINT32_MAX;
    int64_t asked = asked_ms > 0
                        ? asked_ms + (int64_t)vq_rng_below(rng, (uint64_t)asked_ms / 10 + 1)
                        : 0; /* slightly longer, so that workers do not all retry at once */
    if (noisy && refusals->row < VQ_REFUSALS_ROW) {
        int64_t backoff =
            vq_backoff_ms(rng, refusals->row, bounds->backoff_ms, bounds->backoff_ms_max);
        return (struct vq_refusal_wait){.call_ms = asked > 0 ? asked : backoff};
    }
    if (asked > 0) {
        return (struct vq_refusal_wait){.pool_ms = asked};
    }
    if (started_ns <= refusals->cut_ns) {
        return (struct vq_refusal_wait){0};
    }
    if (refusals->growth > 0 &&
        now_ns - refusals->until_ns > refusals->until_ns - refusals->cut_ns) {
        refusals->growth = 0;
    }
    int64_t pause_ms = vq_pause_ms(rng, refusals->growth++, bounds->pause_ms, bounds->pause_ms_max);
    refusals->tries = true;
    refusals->cut_ns = now_ns;
    refusals->until_ns = now_ns + pause_ms * INT64_C(1000000);
    return (struct vq_refusal_wait){.pool_ms = pause_ms};
}

void vq_refusals_over(struct vq_refusals *refusals, int64_t started_ns)
{
    refusals->row = 0;
    if (started_ns > refusals->cut_ns) {
        refusals->growth = 0;
        refusals->tries = false;
    }
}

bool vq_refusals_doubt(const struct vq_refusals *refusals, bool noisy)
{
    return refusals->row >= VQ_REFUSALS_ROW || (refusals->tries && !noisy);
}
