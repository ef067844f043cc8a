/* What went wrong with pools, reported once each: a pool that is parked, closed, taken by another
 * run, or that fails all it is asked. Begins with one event and ends with one, however often the
 * cause is seen in between. Pure. */
#pragma once

#include "coordinator/pools/authority.h"

#define VQ_INCIDENTS_MAX       1000u               /* remembered; more are counted */
#define VQ_INCIDENT_FAILING_NS INT64_C(5000000000) /* no answer, and ... */
/* ... this number of failures since the last one */
#define VQ_INCIDENT_FAILING_CALLS 5u

struct vq_incident {
    uint32_t pool;
    enum vq_authority_state state; /* OPEN: it fails what it is asked */
    bool key;                      /* one of its keys was refused; it goes on: over at once */
    int64_t since_ns, until_ns;    /* until: as foreseen; 0: not known */
    int64_t over_ns;               /* 0: it goes on */
    uint64_t refused, failed;      /* calls meanwhile */
    char text[VQ_AUTHORITY_TEXT_BYTES];
};

struct vq_incidents;

enum vq_status vq_incidents_create(uint32_t pools,
                                   struct vq_incidents **ret_incidents) VQ_WARN_UNUSED;
void vq_incidents_destroy(struct vq_incidents **incidents);

/* How pool p stands now. The incident that begins or ends with it, or NULL; valid until the next
 * call. Call again until NULL: one may end and another begin. */
const struct vq_incident *vq_incidents_see(struct vq_incidents *incidents, uint32_t p,
                                           const struct vq_authority_pool_status *status,
                                           int64_t now_ns);

/* All that are remembered, in the order in which they began. */
const struct vq_incident *vq_incidents_all(const struct vq_incidents *incidents,
                                           uint32_t *ret_count, uint64_t *ret_forgotten);

const char *
vq_authority_state_word(enum vq_authority_state state); /* "open", "paused", "parked", ... */
const char *
vq_incident_word(const struct vq_incident *incident); /* "failing" where it is not the state's */
