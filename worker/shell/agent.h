/* The worker's process: the core, carried out. Link to the coordinator, calls, spool, timers,
 * signals. */
#pragma once

#include "worker/shell/options.h"

/* Until the core says EXIT. Returns the program's exit code; everything worth saying went to the
 * log, and what kept it from starting to standard error. */
int vq_agent_run(const struct vq_worker_options *options);
