/* The worker's process: carries out the core's actions. Link to the coordinator, calls, spool,
 * timers, signals. */
#pragma once

#include "worker/shell/options.h"

/* Runs until the core's EXIT. Returns the program's exit code. Messages go to the log; if the
 * worker cannot start, the reason goes to standard error. */
int vq_agent_run(const struct vq_worker_options *options);
