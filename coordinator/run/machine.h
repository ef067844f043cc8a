/* Checks this machine's limits before a run starts on it. */
#pragma once

#include "coordinator/pools/run_pools.h"

#define VQ_MACHINE_CONCURRENCY 16u /* of a model without a limit */
#define VQ_MACHINE_FILES_SPARE 64u /* open files of a process in addition to its calls */

/* Raises the limit of open files, which children inherit, to its hard limit. VQ_LIMIT with a
 * sentence: a local worker, or the built-in server, could not have the calls in flight that the
 * configuration allows. */
enum vq_status vq_machine_check(const struct vq_run_pools *pools, const struct vq_config *config,
                                struct vq_error *err) VQ_WARN_UNUSED;
