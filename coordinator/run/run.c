/* A run from the first lock to the last file, in this order: store, loop, built-in server, socket,
 * Redis, core, control, workers; then the loop's turns; then the goodbye and the results. If a step
 * fails, everything opened so far is closed, and no paid answer is lost: it is in the store or in a
 * spool. */
#include "coordinator/run/run.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/crash.h"
#include "common/net/signals.h"
#include "common/text/log.h"
#include "coordinator/run/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- signals, timers, the turn ---- */

static void on_interrupt(void *ctx, int signum)
{
    struct vq_run *run = ctx;
    int64_t last_ns = run->stop.signal_ns;
    run->stop.signal_ns = vq_run_now();
    if (signum == run->stop.signum &&
        run->stop.signal_ns - last_ns < VQ_RUN_SAME_SIGNAL_MS * VQ_NS_PER_MS) {
        return;
    }
    run->stop.signum = signum;
    run->stop.interrupts++;
    vq_log(VQ_LOG_INFO, "signal", "number=%d count=%u", signum, run->stop.interrupts);
    if (run->coord == NULL || run->stop.finished || run->stop.stopped) {
        return;
    }
    int64_t now = vq_run_now();
    enum vq_status status;
    if (run->stop.interrupts == 1) {
        vq_run_message(run,
                       "Finishing the calls in flight; once more stops now. Nothing is lost either "
                       "way.");
        run->stop.draining = true;
        run->stop.until_ns = now + VQ_RUN_DRAIN_MS * VQ_NS_PER_MS;
        status = vq_coord_drain(run->coord, run->stop.until_ns, now);
    } else {
        status = vq_coord_stop(run->coord, now);
    }
    vq_run_check_core(run, status);
    vq_loop_again(run->loop);
}

static void on_hangup(void *ctx, int signum)
{
    struct vq_run *run = ctx;
    (void)signum;
    vq_progress_gone(&run->screen);
}

static enum vq_status open_log(struct vq_run *run, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_dir_join(run->dir, "log", path));
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) {
        return vq_fail(err, errno == ENOSPC ? VQ_FULL : VQ_IO, "cannot open %s: %s", path,
                       strerror(errno));
    }
    vq_log_to(fd, VQ_LOG_INFO, VQ_LOG_JSON);
    if (run->log_fd >= 0) {
        (void)close(run->log_fd);
    }
    run->log_fd = fd;
    return VQ_OK;
}

/* Another program has renamed the log: the next line goes into a new file of the same name. */
static void on_reopen(void *ctx, int signum)
{
    struct vq_run *run = ctx;
    struct vq_error err = {0};
    (void)signum;
    if (open_log(run, &err) != VQ_OK) { /* the old file stays open */
        vq_log(VQ_LOG_WARN, "log.not_reopened", "why=%s", err.text);
    } else {
        vq_log(VQ_LOG_INFO, "log.reopened", "pid=%d", (int)getpid());
    }
}

/* The core stops after its results are committed. Redis may be unreachable for good: then the core
 * stops without it. */
static void stop_without_redis(struct vq_run *run)
{
    bool due =
        run->stop.interrupts > 1 || (run->stop.draining && vq_run_now() >= run->stop.until_ns);
    if (!due || run->redis.phase == VQ_PHASE_UP || run->stop.finished || run->stop.stopped ||
        run->fatal != VQ_OK || run->coord == NULL) {
        return;
    }
    if (run->stages.is_over) {
        vq_stages_stop(run);
        vq_loop_again(run->loop);
    } else {
        vq_committer_give_up(run, "stopped while Redis was away");
    }
}

static void on_wake(void *ctx)
{
    struct vq_run *run = ctx;
    run->timers.wake_ns = INT64_MAX;
    if (run->coord != NULL && run->fatal == VQ_OK) {
        vq_run_check_core(run, vq_coord_tick(run->coord, vq_run_now()));
    }
    vq_limits_tick(run);
    vq_run_redis_tick(run);
    vq_committer_watch(run);
    vq_children_tick(run);
    vq_dispatch_watch(run);
    vq_watch_tick(run);
}

static void on_status_timer(void *ctx)
{
    vq_control_write_status(ctx);
}

static void on_progress_timer(void *ctx)
{
    vq_progress_line(ctx);
}

/* The latest time of the run's next tick. */
static int64_t next_wake_ns(const struct vq_run *run)
{
    bool has_core = run->coord != NULL && run->fatal == VQ_OK;
    bool drains = run->stop.draining && run->redis.phase != VQ_PHASE_UP && !run->stop.stopped;
    const int64_t wakes[] = {has_core ? vq_coord_wake_ns(run->coord) : INT64_MAX,
                             drains && run->stop.interrupts == 1 ? run->stop.until_ns : INT64_MAX,
                             vq_limits_wake_ns(run),
                             vq_run_redis_wake_ns(run),
                             vq_committer_wake_ns(&run->commit),
                             vq_children_wake_ns(run),
                             vq_distrust_wake_ns(run),
                             vq_deadline_wake_ns(run),
                             vq_watch_wake_ns(run)};
    int64_t wake_ns = INT64_MAX;
    for (size_t i = 0; i < VQ_COUNT(wakes); i++) {
        wake_ns = wakes[i] < wake_ns ? wakes[i] : wake_ns;
    }
    return wake_ns;
}

static void set_wake(struct vq_run *run)
{
    int64_t wake_ns = next_wake_ns(run);
    if (wake_ns != run->timers.wake_ns) {
        run->timers.wake_ns = wake_ns;
        vq_timer_start_at(run->timers.wake, wake_ns);
    }
}

static void on_turn(void *ctx)
{
    struct vq_run *run = ctx;
    vq_limits_turn(run);
    stop_without_redis(run);
    vq_children_turn(run);
    vq_alarms_turn(run);
    vq_deadline_turn(run); /* before the first LEASE of a stage is sent */
    vq_dispatch_pump(run);
    vq_distrust_turn(run);
    vq_stages_turn(run);
    set_wake(run);
    if ((run->stop.finished || run->stop.stopped || run->distrust.is_over) && !run->stop.done) {
        vq_loop_stop(run->loop);
    }
}

/* ---- opening, in order ---- */

static enum vq_status open_loop(struct vq_run *run, struct vq_error *err)
{
    VQ_TRY(vq_loop_create(&run->loop, err));
    (void)vq_loop_raise_files();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow counts as a full disk */
    VQ_TRY(vq_signal_create(run->loop, SIGINT, on_interrupt, run, &run->timers.sigint));
    VQ_TRY(vq_signal_create(run->loop, SIGTERM, on_interrupt, run, &run->timers.sigterm));
    VQ_TRY(vq_signal_create(run->loop, SIGHUP, on_hangup, run, &run->timers.sighup));
    (void)signal(SIGUSR1, SIG_IGN); /* also after the loop: a late signal must not kill */
    VQ_TRY(vq_signal_create(run->loop, SIGUSR1, on_reopen, run, &run->timers.sigusr1));
    VQ_TRY(vq_timer_create(run->loop, on_wake, run, &run->timers.wake));
    VQ_TRY(vq_timer_create(run->loop, on_status_timer, run, &run->timers.status_timer));
    return vq_timer_create(run->loop, on_progress_timer, run, &run->timers.progress_timer);
}

static enum vq_status open_all(struct vq_run *run, struct vq_error *err)
{
    VQ_TRY(open_loop(run, err));
    VQ_TRY(vq_alarms_open(run, err));
    run->owner.uid = *vq_run_dir_uid(run->dir);
    VQ_TRY(vq_distrust_open(run, err));
    VQ_TRY(vq_deadline_open(run, err));
    /* before the store: if the address is refused, no call store is made */
    VQ_TRY(vq_dispatch_open(run, err));
    VQ_TRY(vq_run_begin_store(run, err));
    /* before the scan of the ledger, which shows earlier failures */
    VQ_TRY(vq_looks_open(run, err));
    VQ_TRY(vq_metrics_open(run, err));
    VQ_TRY(vq_children_open(run, err));
    if (run->work->needs_offline) {
        VQ_TRY(vq_children_offline(run, err));
    }
    VQ_TRY(vq_stages_open(run, err));
    VQ_TRY(vq_run_redis_open(run, err));
    VQ_TRY(vq_stages_open_core(run, err));
    vq_ctl_settings_apply(run);
    VQ_TRY(vq_control_open(run, err));
    VQ_TRY(vq_children_workers(run, err));
    vq_watch_open(run);
    vq_loop_on_turn(run->loop, on_turn, run);
    run->timers.wake_ns = INT64_MAX;
    vq_timer_start(run->timers.wake, 0, 0);
    vq_timer_start(run->timers.status_timer, 0, VQ_RUN_STATUS_MS);
    uint64_t progress_ms = run->screen.terminal.is_tty ? 250 : 10000;
    vq_timer_start(run->timers.progress_timer, progress_ms, progress_ms);
    return VQ_OK;
}

/* ---- the end ---- */

static bool workers_left(void *ctx)
{
    struct vq_run *run = ctx;
    bool committing = run->commit.busy && run->commit.from != NULL;
    return (vq_children_gone(run) && !committing) || run->fatal != VQ_OK;
}

/* The core has sent BYE. Local workers get a short time to leave; the contents of their spools are
 * committed. */
static void goodbye(struct vq_run *run)
{
    run->stop.done = true;
    vq_children_strays_again(&run->children);
    vq_children_stop(&run->children, run->stop.interrupts > 1 ? SIGKILL : SIGTERM);
    enum vq_status status = vq_loop_run_until(run->loop, workers_left, run, VQ_RUN_GOODBYE_MS);
    if (status != VQ_OK) {
        vq_log(VQ_LOG_WARN, "workers.linger", "status=%s", vq_status_name(status));
    }
    run->goodbye_ns = vq_run_now();
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

/* Workers on other machines may still be reading their ACKs and the BYE: closing the connection
 * drops unread messages, and these workers would wait for a coordinator that does not come back. A
 * worker that sends a frame in this time gets BYE again. */
static void linger(struct vq_run *run)
{
    bool remote = run->options->listen != NULL || run->options->workers == 0;
    int64_t left_ms = VQ_RUN_LINGER_MS - (vq_run_now() - run->goodbye_ns) / VQ_NS_PER_MS;
    if (!remote || run->fatal != VQ_OK || run->stop.interrupts > 1) {
        return;
    }
    /* writing the results took longer, and no frame was read in that time */
    if (left_ms < VQ_RUN_LINGER_LEAST_MS) {
        left_ms = VQ_RUN_LINGER_LEAST_MS;
    }
    enum vq_status status = vq_loop_run_until(run->loop, never, NULL, (uint32_t)left_ms);
    if (status != VQ_TIMEOUT) {
        vq_log(VQ_LOG_WARN, "linger.cut", "status=%s", vq_status_name(status));
    }
}

/* Prints the most frequent failure, and what to do about it. */
static void say_failures(const struct vq_run_watch *watch)
{
    char text[VQ_ERROR_BYTES_MAX];
    vq_failures_text(&watch->failures, text, sizeof(text));
    if (text[0] != '\0') {
        fprintf(stderr, "The most frequent failure: %s\n", text);
    }
}

static enum vq_run_end stopped_end(struct vq_run *run)
{
    vq_progress_clear(&run->screen);
    const char *name = vq_run_dir_name(run->dir);
    bool asked = run->stop.kind == VQ_COORD_STOP_DRAINED || run->stop.kind == VQ_COORD_STOP_NOW;
    fprintf(stderr, "vibeq: %s\n",
            run->fatal != VQ_OK ? run->err.text
            : asked             ? "stopped"
                                : run->stop.text);
    if (run->watch.braked_unix_ms == 0) { /* otherwise the brake's message already has it */
        say_failures(&run->watch);
    }
    fprintf(stderr, "Nothing that was paid for is lost. ");
    if (run->work->write == NULL) {
        fprintf(stderr, "The same command continues the run.\n");
    } else {
        fprintf(stderr, "Continue with: vibeq resume %s\n", name);
    }
    bool ours = run->fatal != VQ_OK && run->fatal != VQ_FULL && run->fatal != VQ_STALE &&
                vq_status_class(run->fatal) != VQ_CLASS_RETRY;
    return ours ? VQ_RUN_FAILED : VQ_RUN_STOPPED;
}

static enum vq_run_end finished_end(struct vq_run *run)
{
    bool missing = false;
    struct vq_error err = {0};
    vq_progress_line(run);
    vq_progress_look(&run->screen);
    vq_progress_clear(&run->screen);
    if (run->work->write == NULL) { /* the script's caller has its answers */
        return VQ_RUN_DONE;
    }
    struct vq_run_answers answers = {.calls = run->calls,
                                     .run = &run->owner.uid,
                                     .dir = run->dir,
                                     .generation = run->source.generation};
    enum vq_status status = run->work->write(run->work->ctx, &answers, &missing, &err);
    if (status != VQ_OK) {
        run->fatal = VQ_OK;
        vq_run_fatal(run, status, "all answers are there, but the results could not be written: %s",
                     err.text[0] != '\0' ? err.text : vq_status_text(status));
        return stopped_end(run);
    }
    if (missing) {
        say_failures(&run->watch);
    }
    return missing ? VQ_RUN_MISSING : VQ_RUN_DONE;
}

static void end_clean(struct vq_run *run)
{
    struct vq_error err = {0};
    bool clean = run->fatal == VQ_OK &&
                 (run->stop.finished || (run->stop.stopped && run->stop.clean) ||
                  (run->distrust.is_over && run->distrust.is_clean)) &&
                 vq_children_gone(run);
    if (clean && vq_calls_end_run(run->calls, &run->owner.uid, run->owner.epoch, vq_clock_unix_ms(),
                                  &err) != VQ_OK) {
        vq_log(VQ_LOG_WARN, "run.not_clean", "why=%s", err.text);
    }
    if (clean) {
        vq_limits_release(run);
    }
}

static enum vq_run_end end(struct vq_run *run)
{
    enum vq_run_end how;
    struct vq_error err = {0};
    VQ_CRASH_POINT(goodbye_before);
    if (run->fatal == VQ_OK) {
        goodbye(run);
    }
    if (run->limits.authority != NULL) {
        vq_learned_tick(run); /* for a run that was over before the next check */
    }
    enum vq_status status = vq_finish_accounting(run, &err); /* the report shows it */
    if (status != VQ_OK) {
        vq_run_message(run, "accounting.json is not up to date: %s", err.text);
    }
    if (run->fatal == VQ_OK && run->distrust.is_over && run->stop.interrupts == 0) {
        how = VQ_RUN_AGAIN;
    } else if (run->fatal == VQ_OK && run->stop.finished) {
        how = finished_end(run);
    } else {
        how = stopped_end(run);
    }
    end_clean(run);
    vq_advances_end(run);
    vq_control_write_status(run);
    vq_alarms_end(run);
    if (how != VQ_RUN_AGAIN) { /* otherwise workers on other machines wait for the restart */
        linger(run);
    }
    return how;
}

static void close_all(struct vq_run *run)
{
    if (run->loop != NULL) { /* its last turns find nothing open */
        vq_loop_on_turn(run->loop, NULL, NULL);
    }
    vq_alarms_close(&run->alarms);
    vq_control_close(run);
    vq_children_close(run);
    vq_gate_close(&run->gate);
    vq_dispatch_close(&run->links);
    vq_run_redis_close(&run->redis);
    vq_timer_destroy(&run->timers.wake);
    vq_timer_destroy(&run->timers.status_timer);
    vq_timer_destroy(&run->timers.progress_timer);
    vq_signal_destroy(&run->timers.sigint);
    vq_signal_destroy(&run->timers.sigterm);
    vq_signal_destroy(&run->timers.sighup);
    vq_signal_destroy(&run->timers.sigusr1);
    (void)signal(SIGHUP, SIG_IGN); /* the rest takes a short time, and the run is over */
    vq_loop_destroy(&run->loop);   /* waits for a commit in the thread pool */
    vq_coord_destroy(&run->coord);
    vq_limits_close(&run->limits);
    vq_committer_free(&run->commit);
    vq_bills_free(&run->limits);
    vq_stages_close(&run->stages);
    vq_ctl_settings_free(&run->control.settings);
    vq_buf_free(&run->links.spec_body);
    vq_distrust_close(run);
    vq_deadline_close(&run->deadline);
    vq_calls_close(&run->calls);
}

enum vq_status vq_run_carry_out(const struct vq_run_options *options,
                                const struct vq_run_work *work, struct vq_run_dir *dir,
                                enum vq_run_end *ret_end, struct vq_error *err)
{
    struct vq_run *run = vq_alloc(1, sizeof(*run));
    if (run == NULL) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    run->options = options;
    run->work = work;
    run->source = work->source;
    run->dir = dir;
    run->started_ns = vq_run_now();
    run->started_unix_ms = vq_clock_unix_ms();
    vq_terminal_of(STDERR_FILENO, &run->screen.terminal);
    run->screen.was_tty = run->screen.terminal.is_tty || isatty(STDOUT_FILENO) == 1;
    run->log_fd = -1;
    enum vq_status status = open_log(run, err);
    if (status == VQ_OK) {
        status = open_all(run, err);
    }
    if (status == VQ_OK) {
        status = vq_loop_run(run->loop);
        *ret_end = end(run);
    } else if (err != NULL && err->text[0] == '\0') {
        (void)vq_fail(err, status, "cannot start the run: %s", vq_status_text(status));
    }
    close_all(run);
    vq_log_to(STDERR_FILENO, VQ_LOG_INFO, VQ_LOG_AUTO);
    if (run->log_fd >= 0) {
        (void)close(run->log_fd);
    }
    vq_free(run);
    return status;
}
