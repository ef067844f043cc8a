/* Signals that a program watches while its loop runs: one asks it to stop, and it stops in its own
 * time.
 *
 * Who asks once may ask again, also when the loop has ended and all that is left is to close and to
 * exit. The process then must not die of the signal: it would end with another exit code than the
 * one that tells what became of its work. So once any watched signal has come, those that are no
 * longer watched are ignored until the process ends. */
#ifndef VQ_NET_SIGNALS_H
#define VQ_NET_SIGNALS_H

#include "common/net/loop.h"

struct vq_signal;
/* `caught` runs on the loop, in step 1; signals that come faster than the loop turns are told as
 * one. VQ_EXISTS: the process watches it already. VQ_INVALID: there is no such signal, or it cannot
 * be caught. VQ_IO, VQ_NOMEM. */
enum vq_status vq_signal_create(struct vq_loop *loop, int signum,
                                void (*caught)(void *ctx, int signum), void *ctx,
                                struct vq_signal **ret_signal) VQ_WARN_UNUSED;
/* `caught` never runs afterwards. As long as no watched signal has come, it does again what it did
 * before. */
void vq_signal_destroy(struct vq_signal **signal);

#endif
