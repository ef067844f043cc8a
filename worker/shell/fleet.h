/* A worker that outlives runs: `vibeq-worker --stay`, or with several certificates. */
#pragma once

#include "worker/shell/options.h"

#define VQ_FLEET_CERTS_MAX 64u

/* The wait before the next start, without its jitter. A worker whose run has ended (exit code 0)
 * starts again soon; after failures the wait doubles. */
uint32_t vq_fleet_wait_ms(int code, uint32_t failures);

/* Runs one worker process per certificate until a signal comes. Returns the exit code. */
int vq_fleet_run(const struct vq_worker_options *options, int argc, char **argv);
