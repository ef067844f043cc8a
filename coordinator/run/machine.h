/* What this machine has to allow before a run starts on it. */
#pragma once

#include "coordinator/pools/run_pools.h"

#define VQ_MACHINE_CONCURRENCY 16u /* of a model that names none */
#define VQ_MACHINE_FILES_SPARE 64u /* open files of a process besides its calls */

/* Raises the limit of open files to its hard limit, which children inherit. VQ_LIMIT with a
 * sentence when a local worker, or the built-in server, could not hold the calls in flight that the
 * configuration asks for. */
enum vq_status vq_machine_check(const struct vq_run_pools *pools, const struct vq_config *config,
                                struct vq_error *err) VQ_WARN_UNUSED;
