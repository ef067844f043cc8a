/* Signals that a program watches while its loop runs, for a controlled stop.
 *
 * A user may send a signal again after the loop has ended, while the process only closes its files.
 * That signal must not kill the process: its exit code would no longer report the result of its
 * work. So after the first watched signal, signals that are no longer watched are ignored until the
 * process ends. */
#pragma once

#include "common/net/loop.h"

/* From now on the signal does not end the process. A signal that arrives is kept for the next
 * vq_signal_create: `caught` runs in the first turn of that loop. For a program that is already
 * announced but still opens files before its loop runs. VQ_INVALID: as below. VQ_IO. */
enum vq_status vq_signal_keep(int signum) VQ_WARN_UNUSED;

struct vq_signal;
/* `caught` runs on the loop, in step 1; several signals within one turn are reported as one.
 * VQ_EXISTS: the process already watches this signal. VQ_INVALID: the signal does not exist or
 * cannot be caught. VQ_IO, VQ_NOMEM. */
enum vq_status vq_signal_create(struct vq_loop *loop, int signum,
                                void (*caught)(void *ctx, int signum), void *ctx,
                                struct vq_signal **ret_signal) VQ_WARN_UNUSED;
/* `caught` never runs afterwards. If no watched signal has arrived yet, the signal gets its
 * previous action again. */
void vq_signal_destroy(struct vq_signal **signal);
