/* The terminal's side of the screen. Invariant: after any end, the terminal has its cursor, its
 * line wrap and its former contents again. A frame is one write over the last one, without clearing
 * first, so nothing flickers. Signals are handled only while it waits. Not its job: the contents of
 * the screen (status_screen.c). */
#include "cli/status_watch.h"

#include "cli/status_screen.h"
#include "common/base/buf.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define EVERY_MS        1000
#define FRAME_BYTES_MAX (1u << 20)
#define ROWS_DEFAULT    24u
#define ENTER           "\033[?1049h\033[?25l\033[?7l"
#define LEAVE           "\033[?7h\033[?25h\033[?1049l"
#define FRAME_BEGIN     "\033[?2026h\033[H" /* shown at once, if the terminal supports it */
#define FRAME_END       "\033[?2026l"

static volatile sig_atomic_t signal_seen; /* SIGINT, SIGTERM, SIGHUP; 0: none */

static void on_end(int signum)
{
    signal_seen = signum;
}

/* The signal only ends the wait. */
static void on_size(int signum)
{
    (void)signum;
}

static void put(const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t n = write(STDOUT_FILENO, text + at, bytes - at);
        if (n > 0) {
            at += (size_t)n;
        } else if (errno != EINTR) {
            return; /* the terminal is lost: SIGHUP follows */
        }
    }
}

static void size(struct vq_terminal *terminal, uint32_t *ret_rows)
{
    struct winsize size = {0};
    *ret_rows = ROWS_DEFAULT;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
        terminal->columns = size.ws_col;
        *ret_rows = size.ws_row;
    }
}

static void draw(const json_t *status, const char *run, const struct vq_status_trail *trail,
                 struct vq_terminal *terminal, struct vq_buf *frame)
{
    uint32_t rows;
    size(terminal, &rows);
    vq_buf_clear(frame);
    vq_buf_puts(frame, FRAME_BEGIN);
    vq_status_screen(status, run, trail, terminal, rows, frame);
    vq_buf_puts(frame, FRAME_END);
    if (frame->status == VQ_OK) {
        put(frame->at, frame->bytes);
    }
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};

struct handlers {
    struct sigaction before[VQ_COUNT(signals)];
    sigset_t mask; /* the former mask, used during the wait */
};

static void handle(struct handlers *handlers)
{
    sigset_t ours;
    (void)sigemptyset(&ours);
    for (size_t i = 0; i < VQ_COUNT(signals); i++) {
        struct sigaction action = {.sa_handler = signals[i] == SIGWINCH ? on_size : on_end};
        (void)sigemptyset(&action.sa_mask);
        (void)sigaction(signals[i], &action, &handlers->before[i]);
        (void)sigaddset(&ours, signals[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &ours, &handlers->mask);
}

static void handle_no_more(const struct handlers *handlers)
{
    for (size_t i = 0; i < VQ_COUNT(signals); i++) {
        (void)sigaction(signals[i], &handlers->before[i], NULL);
    }
    (void)sigprocmask(SIG_SETMASK, &handlers->mask, NULL);
}

/* False: a signal ended the wait. */
static bool wait_for_next(const struct handlers *handlers)
{
    struct timespec every = {.tv_sec = EVERY_MS / 1000, .tv_nsec = EVERY_MS % 1000 * 1000000L};
    return ppoll(NULL, 0, &every, &handlers->mask) == 0;
}

static enum vq_status watch(const char *run, vq_status_fetch fetch, void *ctx,
                            const struct handlers *handlers, struct vq_buf *frame,
                            struct vq_error *err)
{
    struct vq_status_trail trail = {.pools_count = 0};
    struct vq_terminal terminal;
    vq_terminal_of(STDOUT_FILENO, &terminal);
    for (bool running = true; running && signal_seen == 0;) {
        json_t *status = NULL;
        VQ_TRY(fetch(ctx, &status, &running, err));
        vq_status_trail_add(&trail, status);
        draw(status, run, &trail, &terminal, frame);
        /* A signal ends the wait: the same status is drawn in the new size. */
        while (running && signal_seen == 0 && !wait_for_next(handlers)) {
            draw(status, run, &trail, &terminal, frame);
        }
        json_decref(status);
    }
    return VQ_OK;
}

enum vq_status vq_status_watch(const char *run, vq_status_fetch fetch, void *ctx,
                               struct vq_error *err)
{
    struct handlers handlers;
    struct vq_buf frame;
    vq_buf_init(&frame, FRAME_BYTES_MAX);
    handle(&handlers);
    put(ENTER, sizeof(ENTER) - 1);
    enum vq_status status = watch(run, fetch, ctx, &handlers, &frame, err);
    put(LEAVE, sizeof(LEAVE) - 1);
    handle_no_more(&handlers);
    vq_buf_free(&frame);
    if (signal_seen != 0) {
        (void)raise(signal_seen); /* as if there were no handler */
    }
    return status;
}
