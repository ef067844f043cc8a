/* Invariant: a pool has at most one active incident; `now` points at it. A pause that a refusal
 * asks for is normal and no incident. An incident does not end because no worker is connected that
 * could report on the pool (workers leave when a run stops). */
#include "coordinator/pools/incidents.h"

#include "common/base/alloc.h"

#include <stdio.h>

struct pool {
    uint32_t now;      /* index + 1 of the active incident; 0: none */
    uint64_t answered; /* when its last answer was seen, and its failures by then */
    uint64_t failed, refused;
    int64_t answered_ns;
    uint32_t keys_refused; /* already reported */
};

struct vq_incidents {
    struct pool *pools;
    uint32_t pools_count;
    struct vq_incident *list;
    uint32_t count;
    uint64_t forgotten;
};

enum vq_status vq_incidents_create(uint32_t pools, struct vq_incidents **ret_incidents)
{
    struct vq_incidents *x = vq_alloc(1, sizeof(*x));
    if (x == NULL) {
        return VQ_NOMEM;
    }
    x->pools_count = pools;
    x->pools = vq_alloc(pools, sizeof(*x->pools));
    x->list = vq_alloc(VQ_INCIDENTS_MAX, sizeof(*x->list));
    if (x->pools == NULL || x->list == NULL) {
        vq_incidents_destroy(&x);
        return VQ_NOMEM;
    }
    *ret_incidents = x;
    return VQ_OK;
}

void vq_incidents_destroy(struct vq_incidents **incidents)
{
    if (*incidents != NULL) {
        vq_free((*incidents)->pools);
        vq_free((*incidents)->list);
        vq_free(*incidents);
        *incidents = NULL;
    }
}

static bool is_incident(enum vq_authority_state state)
{
    return state == VQ_AUTHORITY_PARKED || state == VQ_AUTHORITY_HELD ||
           state == VQ_AUTHORITY_LOCKED || state == VQ_AUTHORITY_CLOSED;
}

static bool is_failing(const struct pool *pool, const struct vq_authority_pool_status *status,
                       int64_t now_ns)
{
    return status->failed >= pool->failed + VQ_INCIDENT_FAILING_CALLS &&
           now_ns - pool->answered_ns >= VQ_INCIDENT_FAILING_NS;
}

static const struct vq_incident *end(struct vq_incidents *x, struct pool *pool,
                                     const struct vq_authority_pool_status *status, int64_t now_ns)
{
    struct vq_incident *i = &x->list[pool->now - 1];
    pool->now = 0;
    i->over_ns = now_ns;
    i->refused = status->refused - i->refused;
    i->failed = status->failed - i->failed;
    return i;
}

static const struct vq_incident *begin(struct vq_incidents *x, uint32_t p,
                                       enum vq_authority_state state,
                                       const struct vq_authority_pool_status *status,
                                       int64_t now_ns)
{
    if (x->count == VQ_INCIDENTS_MAX) {
        x->forgotten++;
        return NULL;
    }
    struct vq_incident *i = &x->list[x->count++];
    bool failing = state == VQ_AUTHORITY_OPEN;
    *i = (struct vq_incident){.pool = p,
                              .state = state,
                              .since_ns = failing ? x->pools[p].answered_ns : now_ns,
                              .until_ns = status->until_ns,
                              .refused = status->refused,
                              .failed = failing ? x->pools[p].failed : status->failed};
    (void)snprintf(i->text, sizeof(i->text), "%s",
                   failing ? "every call fails by the provider's or the network's fault"
                   : status->text == NULL ? ""
                                          : status->text);
    x->pools[p].now = x->count;
    return i;
}

static const struct vq_incident *key_gone(struct vq_incidents *x, uint32_t p,
                                          const struct vq_authority_pool_status *status,
                                          int64_t now_ns)
{
    x->pools[p].keys_refused = status->keys_refused;
    if (x->count == VQ_INCIDENTS_MAX) {
        x->forgotten++;
        return NULL;
    }
    struct vq_incident *i = &x->list[x->count++];
    *i = (struct vq_incident){
        .pool = p, .state = status->state, .key = true, .since_ns = now_ns, .over_ns = now_ns};
    (void)snprintf(i->text, sizeof(i->text), "%s", status->key_text);
    return i;
}

const struct vq_incident *vq_incidents_see(struct vq_incidents *x, uint32_t p,
                                           const struct vq_authority_pool_status *status,
                                           int64_t now_ns)
{
    VQ_ASSERT(p < x->pools_count);
    struct pool *pool = &x->pools[p];
    if (pool->answered_ns == 0 || status->answered > pool->answered) {
        pool->answered = status->answered;
        pool->failed = status->failed;
        pool->answered_ns = now_ns;
    }
    if (status->keys_refused > pool->keys_refused) {
        return key_gone(x, p, status, now_ns);
    }
    bool bad = is_incident(status->state);
    bool failing = is_failing(pool, status, now_ns);
    if (pool->now != 0) {
        enum vq_authority_state is = x->list[pool->now - 1].state;
        bool unknown = status->state == VQ_AUTHORITY_NOBODY; /* until a worker is connected again */
        bool goes_on = is == VQ_AUTHORITY_OPEN ? failing && !bad : unknown || is == status->state;
        return goes_on ? NULL : end(x, pool, status, now_ns);
    }
    if (bad) {
        return begin(x, p, status->state, status, now_ns);
    }
    return failing ? begin(x, p, VQ_AUTHORITY_OPEN, status, now_ns) : NULL;
}

const struct vq_incident *vq_incidents_all(const struct vq_incidents *x, uint32_t *ret_count,
                                           uint64_t *ret_forgotten)
{
    *ret_count = x->count;
    *ret_forgotten = x->forgotten;
    return x->list;
}

const char *vq_authority_state_word(enum vq_authority_state state)
{
    switch (state) {
    case VQ_AUTHORITY_OPEN: return "open";
    case VQ_AUTHORITY_PAUSED: return "paused";
    case VQ_AUTHORITY_PARKED: return "parked";
    case VQ_AUTHORITY_HELD: return "held";
    case VQ_AUTHORITY_LOCKED: return "locked";
    case VQ_AUTHORITY_CLOSED: return "closed";
    case VQ_AUTHORITY_NOBODY: return "unserved";
    }
    return "?";
}

const char *vq_incident_word(const struct vq_incident *incident)
{
    return incident->key                          ? "without a key"
           : incident->state == VQ_AUTHORITY_OPEN ? "failing"
                                                  : vq_authority_state_word(incident->state);
}
