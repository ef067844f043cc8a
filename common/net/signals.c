/* Uses its own handler instead of libuv's. libuv restores the default action when the last handle
 * of a signal closes; until a later signal(SIG_IGN), the same signal would kill the process. This
 * file replaces the handler by SIG_IGN in one step.
 *
 * The handler increments an eventfd of its signal, which the loop polls. Invariants: an eventfd is
 * never closed, because a handler in another thread may be about to write to it; at most one
 * vq_signal watches a signal. Not its job: the reaction to a signal, and SIGCHLD (child.c). */
#include "common/net/signals.h"

#include "common/base/alloc.h"
#include "common/net/loop_private.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct vq_signal {
    uv_poll_t poll;
    int signum;
    struct sigaction before;
    void (*caught)(void *ctx, int signum);
    void *ctx;
};

static struct {
    int event; /* the descriptor + 1; 0: not created yet */
    bool watched;
    bool kept; /* a signal that arrives while no vq_signal watches is kept for the next one */
} signals[NSIG];
static volatile sig_atomic_t any_came;

static void on_arrival(int signum)
{
    int saved = errno;
    uint64_t one = 1;
    any_came = 1;
    ssize_t wrote = write(signals[signum].event - 1, &one, sizeof(one));
    (void)wrote; /* fails only at the largest count, and then the loop has an event already */
    errno = saved;
}

static bool take_count(int signum)
{
    uint64_t count;
    ssize_t got;
    do {
        got = read(signals[signum].event - 1, &count, sizeof(count));
    } while (got < 0 && errno == EINTR);
    return got > 0;
}

static void on_readable(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    struct vq_signal *self = handle->data;
    if (take_count(self->signum)) {
        self->caught(self->ctx, self->signum); /* may destroy it */
    }
}

static void free_signal(uv_handle_t *handle)
{
    vq_free(handle->data);
}

static enum vq_status event_of(int signum)
{
    if (signals[signum].event == 0) {
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd < 0) {
            return VQ_IO;
        }
        signals[signum].event = fd + 1;
    }
    if (!signals[signum].kept) {
        (void)take_count(signum); /* drops the count of an earlier watch */
    }
    return VQ_OK;
}

static bool catch (int signum, struct sigaction *ret_before)
{
    struct sigaction action = {.sa_handler = on_arrival, .sa_flags = SA_RESTART};
    (void)sigfillset(&action.sa_mask);
    return sigaction(signum, &action, ret_before) == 0;
}

enum vq_status vq_signal_keep(int signum)
{
    if (signum <= 0 || signum >= NSIG) {
        return VQ_INVALID;
    }
    VQ_TRY(event_of(signum));
    signals[signum].kept = true;
    return signals[signum].watched || catch (signum, NULL) ? VQ_OK : VQ_INVALID;
}

enum vq_status vq_signal_create(struct vq_loop *loop, int signum,
                                void (*caught)(void *ctx, int signum), void *ctx,
                                struct vq_signal **ret_signal)
{
    if (signum <= 0 || signum >= NSIG) {
        return VQ_INVALID;
    }
    if (signals[signum].watched) {
        return VQ_EXISTS;
    }
    VQ_TRY(event_of(signum));
    struct vq_signal *self;
    VQ_TRY(VQ_ALLOC(self, 1));
    *self = (struct vq_signal){.signum = signum, .caught = caught, .ctx = ctx};
    if (uv_poll_init(vq_loop_uv(loop), &self->poll, signals[signum].event - 1) != 0) {
        vq_free(self);
        return VQ_IO;
    }
    self->poll.data = self;
    bool polls = uv_poll_start(&self->poll, UV_READABLE, on_readable) == 0;
    if (!polls || !catch (signum, &self->before)) {
        uv_close((uv_handle_t *)&self->poll, free_signal);
        return polls ? VQ_INVALID : VQ_IO;
    }
    signals[signum].watched = true;
    *ret_signal = self;
    return VQ_OK;
}

void vq_signal_destroy(struct vq_signal **signal)
{
    struct vq_signal *self = *signal;
    if (self == NULL) {
        return;
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(self->signum, &ignore, NULL);
    if (any_came == 0) { /* checked after SIG_IGN is set, so that no signal is missed */
        (void)sigaction(self->signum, &self->before, NULL);
    }
    signals[self->signum].watched = false;
    uv_close((uv_handle_t *)&self->poll, free_signal);
    *signal = NULL;
}
