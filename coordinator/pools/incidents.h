/* Problems of pools, each reported once: a pool that is parked, closed, taken by another run, or
 * that fails all its calls. An incident begins with one event and ends with one, however often its
 * cause is seen in between. Pure. */
#pragma once

#include "coordinator/pools/authority.h"

#define VQ_INCIDENTS_MAX       1000u               /* stored; further ones are counted */
#define VQ_INCIDENT_FAILING_NS INT64_C(5000000000) /* no answer, and ... */
/* ... this number of failures since the last one */
#define VQ_INCIDENT_FAILING_CALLS 5u

struct vq_incident {
    uint32_t pool;
    enum vq_authority_state state; /* OPEN: its calls fail */
    bool key; /* one of its keys was refused and the pool continues: over at once */
    int64_t since_ns, until_ns; /* until: expected; 0: unknown */
    int64_t over_ns;            /* 0: the incident is active */
    uint64_t refused, failed;   /* calls during the incident */
    char text[VQ_AUTHORITY_TEXT_BYTES];
};

struct vq_incidents;

enum vq_status vq_incidents_create(uint32_t pools,
                                   struct vq_incidents **ret_incidents) VQ_WARN_UNUSED;
void vq_incidents_destroy(struct vq_incidents **incidents);

/* Takes the present status of pool p. Returns the incident that begins or ends with it, or NULL;
 * valid until the next call. Call it again until NULL: one may end and another begin. */
const struct vq_incident *vq_incidents_see(struct vq_incidents *incidents, uint32_t p,
                                           const struct vq_authority_pool_status *status,
                                           int64_t now_ns);

/* All stored incidents, in the order in which they began. */
const struct vq_incident *vq_incidents_all(const struct vq_incidents *incidents,
                                           uint32_t *ret_count, uint64_t *ret_forgotten);

const char *
vq_authority_state_word(enum vq_authority_state state); /* "open", "paused", "parked", ... */
/* "failing", or the word of the state */
const char *vq_incident_word(const struct vq_incident *incident);
