/* Shared by the files of the status. Private to this folder. */
#pragma once

#include "common/text/json.h"
#include "coordinator/web/status.h"

/* The fields of a worker, into an object. */
void vq_status_worker_fields(struct vq_json *j, const struct vq_status_facts *f,
                             const struct vq_coord_worker_status *w);

/* status_pools.c; facts->authority must exist. */
/* The fields of pool p, into an object. */
void vq_status_pool_fields(struct vq_json *j, const struct vq_status_facts *f, uint32_t p);
void vq_status_pools(struct vq_json *j, const struct vq_status_facts *f);
/* The value of "alarm": the first slow pool, or null. */
void vq_status_slow_alarm(struct vq_json *j, const struct vq_status_facts *f);
