/* Calls whose prompts begin alike: the calls of one order of a lease show the same two outputs and
 * differ in their last lines. A provider that caches prompts reads the common prefix ("front") only
 * once, if the calls reach it one after the other.
 *
 * The first call of such a group, its leader, is sent alone. The others leave their judge's queue
 * and wait, so that leaders of other groups use the capacity meanwhile. When the leader was
 * answered, or after some time (by then the provider has read its prompt), the others follow to its
 * pool. If the judge has several pools, they wait in that pool's own queue, which comes before the
 * judge's queue. If the leader failed, the provider's cache has nothing: the next ask of the group
 * leads.
 *
 * This is a heuristic; only the price depends on it. A follower whose pool cannot take it returns
 * to the judge's queue: at once if the pool is closed or pauses for long, after a moment if no
 * other ask waits for the judge, else after a longer time. An ask without a leader is treated as in
 * a run without caching.
 *
 * Not its job: limits of a pool (pool.c), marking the front in a request (the shell and its
 * dialect). */
#include "worker/core/state.h"

/* The group of the ask; NULL: no group, or one that is not worth caching. */
static struct vq_work_front *front_of(const struct vq_work *w, const struct vq_work_ask *ask)
{
    struct vq_work_lease *lease = ask->lease;
    struct vq_work_front *front = &lease->fronts[ask->order];
    if (front->bytes == 0 || ask->kind != VQ_CALL_ASK || ask->output_bytes_max > 0) {
        return NULL;
    }
    const struct vq_work_pool *pool = &w->pools[w->spec->judges[lease->judge].pools[0]];
    const struct vq_ratio *ratio = &pool->ratios[VQ_CALL_ASK][w->spec->kind];
    bool is_long = vq_ratio_tokens_mean(ratio, (double)front->bytes) >= VQ_WORK_FRONT_TOKENS_MIN;
    return is_long || w->spec->prefix_cache == VQ_PREFIX_ON ? front : NULL;
}

void vq_work_front_find(const struct vq_work *w, struct vq_work_lease *lease)
{
    const struct vq_work_spec *spec = w->spec;
    if (spec->prefix_cache == VQ_PREFIX_OFF || !vq_stage_has_axes(spec->kind) ||
        spec->axes_count < 2) {
        return;
    }
    for (unsigned order = 0; order < VQ_COUNT(lease->fronts); order++) {
        lease->fronts[order].bytes = vq_request_shared_bytes(&spec->judges[lease->judge].asker,
                                                             &lease->sample->text, order, 0);
    }
}

static bool is_warm(const struct vq_work *w, const struct vq_work_front *front)
{
    return front->state == VQ_WORK_FRONT_WARM &&
           w->now_ns - front->at_ns < VQ_WORK_S(VQ_WORK_FRONT_LIFE_S);
}

/* ---- the leader ---- */

static int64_t patience_ns(const struct vq_work *w, uint32_t pool)
{
    double ms = 2 * w->pools[pool].latency_ms;
    ms = ms < VQ_WORK_FRONT_MS ? VQ_WORK_FRONT_MS : ms;
    return VQ_WORK_MS(ms > VQ_WORK_FRONT_MS_MAX ? VQ_WORK_FRONT_MS_MAX : ms);
}

bool vq_work_front_waits(struct vq_work *w, struct vq_work_ask *ask)
{
    struct vq_work_front *front = front_of(w, ask);
    if (front == NULL) {
        return false;
    }
    if (front->state == VQ_WORK_FRONT_LEADING && front->until_ns > w->now_ns) {
        vq_work_ask_delay(w, ask, front->until_ns);
        ask->follows = true;
        w->judges[ask->lease->judge].following++;
        return true;
    }
    if (front->state == VQ_WORK_FRONT_LEADING) {
        /* the provider has read its prompt, even if it is still writing */
        front->state = VQ_WORK_FRONT_WARM;
        front->at_ns = w->now_ns;
    }
    if (vq_work_front_pool(w, ask) == UINT32_MAX) {
        return false;
    }
    vq_work_ask_ready(w, ask); /* puts it into the right queue */
    return true;
}

void vq_work_front_started(struct vq_work *w, const struct vq_work_ask *ask, uint32_t pool)
{
    struct vq_work_front *front = front_of(w, ask);
    if (front == NULL) {
        return;
    }
    if (!is_warm(w, front)) {
        front->state = VQ_WORK_FRONT_LEADING;
        front->leader = ask->task;
        front->pool = pool;
        front->until_ns = w->now_ns + patience_ns(w, pool);
    }
    front->at_ns = w->now_ns;
}

void vq_work_front_ended(struct vq_work *w, const struct vq_work_ask *ask, bool answered)
{
    struct vq_work_lease *lease = ask->lease;
    struct vq_work_front *front = &lease->fronts[ask->order];
    bool leads = front->state != VQ_WORK_FRONT_COLD && front->leader == ask->task;
    if (front->bytes == 0 || !leads || (answered && front->state != VQ_WORK_FRONT_LEADING)) {
        return;
    }
    front->state = answered ? VQ_WORK_FRONT_WARM : VQ_WORK_FRONT_COLD;
    front->at_ns = w->now_ns;
    for (uint32_t i = 0; i < lease->asks_count; i++) {
        if (lease->asks[i].follows && lease->asks[i].order == ask->order) {
            vq_work_ask_ready(w, &lease->asks[i]);
        }
    }
}

/* ---- the followers ---- */

/* No call starts at this pool for some time. */
static bool is_away(const struct vq_work *w, uint32_t pool)
{
    const struct vq_work_pool *p = &w->pools[pool];
    int64_t held_ns = p->paused_ns > p->held_ns ? p->paused_ns : p->held_ns;
    return !vq_work_pool_usable(w, pool) ||
           held_ns > w->now_ns + VQ_WORK_MS(VQ_WORK_FRONT_PATIENCE_MS);
}

uint32_t vq_work_front_pool(const struct vq_work *w, const struct vq_work_ask *ask)
{
    if (ask->lease->chain != NULL) {
        return vq_work_chain_pool(w, ask);
    }
    const struct vq_work_front *front = front_of(w, ask);
    bool anywhere = front == NULL || ask->loose || !is_warm(w, front) ||
                    w->spec->judges[ask->lease->judge].pools_count == 1 ||
                    ask->failed_pool == front->pool + 1 || is_away(w, front->pool) ||
                    !vq_work_judge_uses(w, ask->lease->judge, front->pool);
    return anywhere ? UINT32_MAX : front->pool;
}

/* When the first ask of a pool's own queue has waited long enough. */
static int64_t loose_ns(const struct vq_work *w, const struct vq_work_ask *ask)
{
    bool others_wait = w->judges[ask->lease->judge].ready.count > 0 || ask->lease->chain != NULL;
    return ask->queued_ns +
           VQ_WORK_MS(others_wait ? VQ_WORK_FRONT_PATIENCE_MS_MAX : VQ_WORK_FRONT_PATIENCE_MS);
}

static void pool_pump(struct vq_work *w, uint32_t p)
{
    while (vq_work_may_start(w)) {
        struct vq_work_ask *ask = vq_work_queue_first(w, &w->pools[p].followers);
        if (ask == NULL) {
            return;
        }
        struct vq_work_need need;
        if (vq_work_front_pool(w, ask) != p || loose_ns(w, ask) <= w->now_ns) {
            ask->loose = true;
            vq_work_ask_ready(w, ask);
        } else if (vq_work_judge_when(w, ask, p, &need) > w->now_ns) {
            return;
        } else {
            vq_work_call_start(w, ask, p, &need);
        }
    }
}

void vq_work_fronts_pump(struct vq_work *w)
{
    uint32_t first = w->pool_turn++;
    for (uint32_t i = 0; w->spec != NULL && i < w->spec->pools_count; i++) {
        uint32_t p = (first + i) % w->spec->pools_count;
        if (w->pools[p].followers.count > 0) {
            pool_pump(w, p);
        }
    }
}

int64_t vq_work_fronts_wake(const struct vq_work *w)
{
    int64_t wake = INT64_MAX;
    for (uint32_t p = 0; p < w->spec->pools_count; p++) {
        const struct vq_heap_node *node = vq_heap_peek(&w->pools[p].followers);
        if (node == NULL) {
            continue;
        }
        const struct vq_work_ask *ask = VQ_CONTAINER_OF(node, const struct vq_work_ask, node);
        struct vq_work_need need;
        int64_t when = vq_work_judge_when(w, ask, p, &need);
        int64_t loose = loose_ns(w, ask);
        when = loose < when ? loose : when;
        wake = when < wake ? when : wake;
    }
    return wake;
}
