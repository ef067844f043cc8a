/* Slices (rule 7): each worker's part of the judges' limits. An equal part for each that is here or expected; a new one gets
 * what is left, and the rest when others were lowered.
 *
 * Invariant: the sum of the slices in force never exceeds the limit. A session begins with none. A lowered one stays in force for
 * a term: what a session says arrives in order, so its worker has heard of it by then, or it has heard no echo and no LEASE since
 * and its leases' terms are over. A session that ends (its process ended, it said BYE, a whole term of silence) starts no
 * call any more. The rates go with the calls in flight. Who has a slice of none is leased nothing.
 * Not its job: parts by need; calls in flight that were started under a larger slice. */
#include "coordinator/core/internal.h"

static bool usable(const struct vq_coord_pool *pool)
{
    return !pool->said || pool->state == VQ_POOL_OPEN;
}

static uint32_t in_force(const struct vq_coord *c, const struct vq_coord_pool *pool)
{
    bool before = c->now_ns < pool->slice_until_ns && pool->slice_before > pool->slice;
    return before ? pool->slice_before : pool->slice;
}

/* What each may have of judge j, and what is not in force anywhere. */
static void look(const struct vq_coord *c, uint32_t j, uint32_t *ret_share, uint32_t *ret_left)
{
    uint32_t limit = c->lanes[j].limit.concurrency;
    uint64_t sum = 0;
    uint32_t count = 0;
    for (size_t i = 0; i < c->sessions_count; i++) {
        const struct vq_coord_session *s = c->sessions[i];
        sum += in_force(c, &s->pools[j]);
        count += s->deaf || s->draining || !usable(&s->pools[j]) ? 0 : 1;
    }
    count = count < c->params.workers ? c->params.workers : count;
    count = count == 0 ? 1 : count;
    *ret_share = c->held_by_hand ? 0 : limit / count + (limit % count != 0);
    *ret_left = sum < limit ? limit - (uint32_t)sum : 0;
}

static void lower(struct vq_coord *c, struct vq_coord_pool *pool, uint32_t to)
{
    pool->slice_before = in_force(c, pool);
    pool->slice_until_ns = c->now_ns + c->params.term_ns;
    pool->slice = to;
    if (c->slices_due_ns == 0) {
        c->slices_due_ns = pool->slice_until_ns;
    }
}

void vq_coord_slice_fill(struct vq_coord *c, struct vq_coord_session *s, uint32_t j,
                         struct vq_slice *ret_slice)
{
    const struct vq_slice *limit = &c->lanes[j].limit;
    struct vq_coord_pool *pool = &s->pools[j];
    uint32_t share, left;
    look(c, j, &share, &left);
    share = usable(pool) ? share : 0;
    if (share < pool->slice) {
        lower(c, pool, share);
    } else {
        uint64_t room = (uint64_t)in_force(c, pool) + left; /* what it may go by is its own */
        pool->slice = share < room ? share : (uint32_t)room;
    }
    vq_coord_hungry_update(c, pool);
    double part = (double)pool->slice / limit->concurrency;
    *ret_slice = (struct vq_slice){.judge = j,
                                   .concurrency = pool->slice,
                                   .requests_per_minute = limit->requests_per_minute * part,
                                   .tokens_per_minute = limit->tokens_per_minute * part};
}

enum vq_status vq_coord_grant_all(struct vq_coord *c)
{
    if (c->done || c->sessions_count > VQ_COORD_GRANT_ALL_MAX) {
        return VQ_OK;
    }
    for (int turn = 0; turn < 2; turn++) { /* first who may have to give, then who gets */
        for (size_t i = 0; i < c->sessions_count; i++) {
            const struct vq_coord_session *s = c->sessions[i];
            uint32_t share = 0, left = 0;
            bool less = false, more = false;
            for (uint32_t j = 0; j < c->params.grid.judges; j++) {
                look(c, j, &share, &left);
                less |= share < s->pools[j].slice;
                more |= share > s->pools[j].slice && left > 0;
            }
            if (s->held && (turn == 0 ? less : more && !less)) {
                VQ_TRY(vq_coord_say(c, (struct vq_coord_entry){.kind = ENTRY_GRANT,
                                                               .peer = s->peer,
                                                               .session = s->id}));
            }
        }
    }
    return VQ_OK;
}

enum vq_status vq_coord_slices_tick(struct vq_coord *c)
{
    if (c->slices_due_ns == 0 || c->now_ns < c->slices_due_ns) {
        return VQ_OK;
    }
    c->slices_due_ns = 0;
    for (size_t i = 0; i < c->sessions_count; i++) { /* others were lowered later */
        for (uint32_t j = 0; j < c->params.grid.judges; j++) {
            int64_t until_ns = c->sessions[i]->pools[j].slice_until_ns;
            bool next =
                until_ns > c->now_ns && (c->slices_due_ns == 0 || until_ns < c->slices_due_ns);
            c->slices_due_ns = next ? until_ns : c->slices_due_ns;
        }
    }
    return vq_coord_grant_all(c);
}

uint32_t vq_coord_slice_in_force(const struct vq_coord *c, uint32_t index, uint32_t judge)
{
    VQ_ASSERT(index < c->sessions_count && judge < c->params.grid.judges);
    return in_force(c, &c->sessions[index]->pools[judge]);
}
