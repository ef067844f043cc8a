/* Whether a run could start here, tried and undone: for `vibeq run --dry-run`. */
#pragma once

#include "coordinator/run/run.h"

#define VQ_TRIAL_SHARED_MS  5000  /* for a shared Redis to let us in and to answer PING */
#define VQ_TRIAL_PRIVATE_MS 10000 /* for a private server to become ready */

/* Looks at --advertise and --cert, binds the addresses of --listen and --http, asks the Redis of
 * `config` for a PING, or (none) starts a private redis-server in a temporary folder. All of it
 * is closed and removed again. Statuses and sentences are those of the run. */
enum vq_status vq_trial_start(const struct vq_run_options *options, const struct vq_config *config,
                              struct vq_error *err) VQ_WARN_UNUSED;
