/* Signals that a program watches while its loop runs: one asks it to stop, and it stops in its own
 * time.
 *
 * A user may send a signal again after the loop has ended, while the process only closes its files.
 * That signal must not kill the process: its exit code would no longer report the result of its
 * work. So after the first watched signal, signals that are no longer watched are ignored until the
 * process ends. */
#pragma once

#include "common/net/loop.h"

/* From now on the signal does not end the process: it waits for the next vq_signal_create, and
 * `caught` runs in the first turn of that loop. For a program that has announced itself and still
 * has files to open before its loop runs. VQ_INVALID: as below. VQ_IO. */
enum vq_status vq_signal_keep(int signum) VQ_WARN_UNUSED;

struct vq_signal;
/* `caught` runs on the loop, in step 1; signals that come faster than the loop turns are reported
 * as one. VQ_EXISTS: the process watches it already. VQ_INVALID: there is no such signal, or it
 * cannot be caught. VQ_IO, VQ_NOMEM. */
enum vq_status vq_signal_create(struct vq_loop *loop, int signum,
                                void (*caught)(void *ctx, int signum), void *ctx,
                                struct vq_signal **ret_signal) VQ_WARN_UNUSED;
/* `caught` never runs afterwards. As long as no watched signal has come, it does again what it did
 * before. */
void vq_signal_destroy(struct vq_signal **signal);
