/* GCRA and jittered waits. No clock, no state but what the caller keeps; a schedule is ahead of now by no
 * more than a burst or one call, so that its nanoseconds neither overflow nor lose precision that matters. */
#include "worker/core/pace.h"

#define MINUTE_NS      60e9
#define NS_MAX         1e17 /* three years: a bound for what odd limits and counts multiply to */
#define PER_MINUTE_MAX 1e12 /* above: no limit */

static int64_t as_ns(double ns)
{
    return (int64_t)(ns > NS_MAX ? NS_MAX : ns < -NS_MAX ? -NS_MAX : ns);
}

void vq_gcra_set(struct vq_gcra *gcra, double per_minute, double burst_s)
{
    if (!(per_minute > 0 && per_minute < PER_MINUTE_MAX)) { /* NaN too */
        gcra->unit_ns = 0;
        return;
    }
    double burst = per_minute / 60 * burst_s;
    gcra->burst = burst < 1 ? 1 : burst;
    double steady = per_minute - (gcra->burst - 1); /* the first of a burst is on schedule anyway */
    gcra->unit_ns = MINUTE_NS / steady;
}

int64_t vq_gcra_when(const struct vq_gcra *gcra, double cost, int64_t now_ns)
{
    if (gcra->unit_ns <= 0) {
        return now_ns;
    }
    double room = gcra->burst - cost;
    int64_t when = gcra->next_ns - (room > 0 ? as_ns(room * gcra->unit_ns) : 0);
    return when > now_ns ? when : now_ns;
}

void vq_gcra_spend(struct vq_gcra *gcra, double cost, int64_t now_ns)
{
    if (gcra->unit_ns <= 0) {
        return;
    }
    int64_t from = gcra->next_ns > now_ns ? gcra->next_ns : now_ns;
    gcra->next_ns = from + as_ns(cost * gcra->unit_ns) + 1; /* rounded up: never faster */
}

void vq_gcra_settle(struct vq_gcra *gcra, double reserved, double actual)
{
    if (gcra->unit_ns > 0) {
        gcra->next_ns -= as_ns((reserved - actual) * gcra->unit_ns);
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
