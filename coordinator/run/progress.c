/* The progress line for a person: redrawn in place on a terminal, otherwise one line every ten
 * seconds. All of it goes to standard error; standard output is for results. */
#include "coordinator/run/parts.h"

#include "common/base/clock.h"
#include "common/text/fmt.h"
#include "common/text/log.h"
#include "coordinator/web/status.h"

#include <stdio.h>
#include <unistd.h>

void vq_progress_gone(struct vq_run_screen *screen)
{
    if (!screen->gone) {
        vq_log(VQ_LOG_INFO, "terminal.gone", "note=%s",
               "the terminal was closed; the run continues and writes its results");
    }
    screen->gone = true;
    screen->terminal.is_tty = screen->line_open = false;
}

/* A process of another session gets no signal when its terminal closes. */
void vq_progress_look(struct vq_run_screen *screen)
{
    if (screen->was_tty &&
        (vq_terminal_is_gone(STDOUT_FILENO) || vq_terminal_is_gone(STDERR_FILENO))) {
        vq_progress_gone(screen);
    }
}

void vq_progress_clear(struct vq_run_screen *screen)
{
    if (screen->line_open) {
        fputs("\r\033[K", stderr);
        screen->line_open = false;
    }
}

static uint64_t failures(const struct vq_coord_counts *c)
{
    uint64_t n = 0;
    for (int end = 0; end < VQ_CALL_ENDS; end++) {
        n += end == VQ_END_ANSWER || end == VQ_END_CANCELLED ? 0 : c->ends[end];
    }
    return n;
}

static void put_deadline(const struct vq_status_deadline *d, struct vq_buf *line)
{
    char at[VQ_RUN_WHEN_BYTES], ends[VQ_RUN_WHEN_BYTES];
    if (d->unix_s == 0) {
        return;
    }
    vq_deadline_when(d->unix_s, at);
    bool late = d->state == VQ_DEADLINE_STATE_LATE || d->state == VQ_DEADLINE_STATE_PASSED;
    vq_buf_printf(line, late ? ", DEADLINE %s MISSED" : ", deadline %s", at);
    if (d->batches_until_unix_s != 0) {
        vq_deadline_when(d->batches_until_unix_s, ends);
        vq_buf_printf(line, ", batches until %s", ends);
    } else if (d->ends_unix_s != 0) {
        vq_deadline_when(d->ends_unix_s, ends);
        vq_buf_printf(line, ", over at about %s", ends);
    }
}

static void compose(struct vq_run *run, struct vq_buf *line)
{
    struct vq_coord_status s;
    vq_coord_status_fill(run->coord, vq_run_now(), &s);
    char done[VQ_FMT_BYTES], total[VQ_FMT_BYTES], rate[VQ_FMT_BYTES], eta[VQ_FMT_BYTES],
        stored[VQ_FMT_BYTES], failed[VQ_FMT_BYTES];
    uint64_t settled = s.tasks - s.all.state[VQ_TASK_OPEN] - s.all.state[VQ_TASK_LEASED];
    if (run->stages.asking->no > 0 || !run->work->is_first_implied) {
        vq_buf_printf(line, "%s: ", run->stages.asking->name);
    }
    vq_buf_printf(line, "%s/%s answers (%d %%)", vq_fmt_count(settled, done),
                  vq_fmt_count(s.tasks, total),
                  s.tasks == 0 ? 100 : (int)(100.0 * (double)settled / (double)s.tasks));
    if (s.stage == VQ_COORD_WAITING) {
        vq_buf_puts(line, ", waiting out the terms of an earlier start");
    } else if (s.stage == VQ_COORD_PAUSED) {
        vq_buf_puts(line, ", paused");
    } else if (s.stage == VQ_COORD_HELD) {
        char since[VQ_RUN_WHEN_BYTES];
        vq_watch_when(run->control.held_since_unix_ms, since);
        vq_buf_printf(line, ", paused by vibeq ctl since %s", since);
    } else if (s.stage == VQ_COORD_DRAINING) {
        vq_buf_puts(line, ", draining");
    }
    struct vq_buf stopped;
    vq_buf_init(&stopped, 2048);
    bool all = vq_limits_stopped(run, &stopped);
    if (stopped.bytes > 0 && !run->control.held) {
        vq_buf_printf(line, ", %s%s", all ? "NO POOL TO ASK: " : "", stopped.at);
    }
    vq_buf_free(&stopped);
    if (run->watch.alarm.raised) {
        char since[VQ_RUN_WHEN_BYTES];
        vq_watch_when(vq_watch_since_unix_ms(&run->watch), since);
        vq_buf_printf(line, ", NOTHING ANSWERED since %s", since);
    }
    if (s.calls_per_s > 0) {
        vq_buf_printf(line, ", %s calls", vq_fmt_rate(s.calls_per_s, rate));
    }
    double eta_s = vq_status_eta_s(&s);
    if (eta_s > 0 && !all && !run->control.held && s.stage != VQ_COORD_PAUSED) {
        vq_buf_printf(line, ", %s left",
                      vq_fmt_duration((int64_t)(eta_s * (double)VQ_NS_PER_S), eta));
    }
    put_deadline(&run->deadline.shown, line);
    vq_buf_printf(line, ", %u worker%s", s.sessions, vq_fmt_plural(s.sessions));
    if (s.all.from_store > 0) {
        vq_buf_printf(line, ", %s from the store", vq_fmt_count(s.all.from_store, stored));
    }
    if (failures(&s.all) > 0) {
        vq_buf_printf(line, ", %s call%s failed", vq_fmt_count(failures(&s.all), failed),
                      vq_fmt_plural(failures(&s.all)));
    }
}

void vq_progress_line(struct vq_run *run)
{
    vq_progress_look(&run->screen);
    if (run->options->quiet || run->coord == NULL ||
        (run->screen.gone && vq_terminal_is_gone(STDERR_FILENO))) {
        return;
    }
    struct vq_buf line;
    vq_buf_init(&line, 4096);
    compose(run, &line);
    if (line.status == VQ_OK && run->screen.terminal.is_tty) {
        uint32_t columns = run->screen.terminal.columns > 1 ? run->screen.terminal.columns - 1 : 79;
        fprintf(stderr, "\r\033[K%.*s", (int)columns, line.at);
        run->screen.line_open = true;
    } else if (line.status == VQ_OK) {
        fprintf(stderr, "%s\n", line.at);
    }
    fflush(stderr);
    vq_buf_free(&line);
}
