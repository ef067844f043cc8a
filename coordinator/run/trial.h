/* Tries whether a run could start on this machine, and undoes it: for `vibeq run --dry-run`. */
#pragma once

#include "coordinator/run/run.h"

#define VQ_TRIAL_SHARED_MS  5000  /* for a shared Redis to accept us and to answer PING */
#define VQ_TRIAL_PRIVATE_MS 10000 /* for a private server to become ready */

/* Checks --advertise and --cert, binds the addresses of --listen and --http, and sends PING to the
 * Redis of `config`, or (without one) starts a private redis-server in a temporary folder. All of
 * it is closed and removed again. Statuses and sentences are those of the run. */
enum vq_status vq_trial_start(const struct vq_run_options *options, const struct vq_config *config,
                              struct vq_error *err) VQ_WARN_UNUSED;
