/* The recent activity of the pools and workers of a run: a sample every few seconds, in memory, for
 * small charts and rates. Pure. */
#pragma once

#include "coordinator/web/status.h"

#define VQ_RECENT_EVERY_MS 5000
#define VQ_RECENT_SAMPLES  120u /* 10 minutes */

struct vq_recent;
/* For this number of pools. NULL: no memory. */
struct vq_recent *vq_recent_create(uint32_t pools);
void vq_recent_destroy(struct vq_recent **recent);

/* Takes a sample, at most one per VQ_RECENT_EVERY_MS. Before there is a core it does nothing. */
void vq_recent_add(struct vq_recent *recent, const struct vq_status_facts *facts);

/* {"format", "every_ms", "pools": [as in the status, with "recent": {...}]} */
void vq_recent_pools_json(const struct vq_recent *recent, const struct vq_status_facts *facts,
                          struct vq_buf *out);
/* {"format", "workers": [as in the status, with "results_per_s"]} */
void vq_recent_workers_json(const struct vq_recent *recent, const struct vq_status_facts *facts,
                            struct vq_buf *out);
