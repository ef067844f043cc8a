/* Looks, a few times a second, whether a run still makes progress, and says it once when it does not and once when it does again.
 * What counts is decided in core/alarm.h. Not its job: doing something about it. */
#include "common/base/clock.h"
#include "common/text/log.h"
#include "coordinator/shell/run/parts.h"

#include <stdio.h>
#include <time.h>

void vq_watch_open(struct vq_run *run)
{
    int64_t idle_ns = (int64_t)run->job->config->alarm.idle_s * VQ_NS_PER_S;
    vq_alarm_init(&run->alarm, idle_ns, vq_run_now());
}

void vq_watch_when(int64_t unix_ms, char ret_text[VQ_RUN_WHEN_BYTES])
{
    time_t when = (time_t)(unix_ms / 1000);
    struct tm tm;
    (void)localtime_r(&when, &tm);
    (void)strftime(ret_text, VQ_RUN_WHEN_BYTES, "%Y-%m-%d %H:%M:%S", &tm);
}

int64_t vq_watch_since_unix_ms(const struct vq_run *run)
{
    int64_t quiet_ns = vq_run_now() - run->alarm.quiet_since_ns;
    return run->alarm.raised ? vq_clock_unix_ms() - quiet_ns / VQ_NS_PER_MS : 0;
}

static void say(struct vq_run *run, enum vq_alarm_change change)
{
    if (change == VQ_ALARM_CLEARED) {
        vq_log(VQ_LOG_INFO, "alarm.over", "kind=idle");
        vq_run_say(run, "The run makes progress again.");
        return;
    }
    char since[VQ_RUN_WHEN_BYTES];
    vq_watch_when(vq_watch_since_unix_ms(run), since);
    vq_log(VQ_LOG_WARN, "alarm.idle", "since=%s idle_s=%u", since, run->job->config->alarm.idle_s);
    vq_run_say(run,
               "Nothing was answered since %s, and tasks are open: look at vibeq status %s, at "
               "workers.log, and at the provider.",
               since, vq_run_dir_name(run->dir));
}

void vq_watch_brake(struct vq_run *run)
{
    for (uint32_t j = 0;
         run->coord != NULL && run->braked_unix_ms == 0 && j < run->asking->plan.grid.judges; j++) {
        struct vq_coord_judge_status judge;
        vq_coord_judge_fill(run->coord, j, vq_run_now(), &judge);
        if (judge.braked) {
            run->braked_unix_ms = vq_clock_unix_ms();
            (void)snprintf(run->brake_text, sizeof(run->brake_text), "%s", judge.closed_text);
            vq_log(VQ_LOG_WARN, "alarm.brake", "judge=%s text=%s", judge.name, run->brake_text);
        }
    }
}

void vq_watch_tick(struct vq_run *run)
{
    int64_t now_ns = vq_run_now();
    if (run->coord == NULL || now_ns - run->watched_ns < VQ_RUN_WATCH_MS * VQ_NS_PER_MS) {
        return;
    }
    run->watched_ns = now_ns;
    struct vq_coord_status s;
    vq_coord_status_fill(run->coord, now_ns, &s);
    struct vq_status_totals t = run->before;
    vq_status_add(&t, &s);
    struct vq_alarm_facts facts = {.answers = t.answers + t.from_store,
                                   .open = s.all.state[VQ_TASK_OPEN] + s.all.state[VQ_TASK_LEASED],
                                   .rests =
                                       run->held || run->draining || run->stopped || run->finished};
    enum vq_alarm_change change = vq_alarm_look(&run->alarm, &facts, now_ns);
    if (change != VQ_ALARM_SAME) {
        say(run, change);
        vq_control_write_status(run);
    }
}
