/* Checks, a few times per second, whether a run still makes progress and whether its pools are
 * slow. It reports each problem once when it begins and once when it is over.
 * coordinator/queue/alarm.h and coordinator/pools/limited.h decide. Not its job: doing something
 * about it. */
#include "common/base/clock.h"
#include "common/text/log.h"
#include "coordinator/run/parts.h"

#include <stdio.h>
#include <time.h>

void vq_watch_open(struct vq_run *run)
{
    int64_t idle_ns = (int64_t)run->source.config->alarm.idle_s * VQ_NS_PER_S;
    vq_alarm_init(&run->watch.alarm, idle_ns, vq_run_now());
}

void vq_watch_when(int64_t unix_ms, char ret_text[VQ_RUN_WHEN_BYTES])
{
    time_t when = (time_t)(unix_ms / 1000);
    struct tm tm;
    (void)localtime_r(&when, &tm);
    (void)strftime(ret_text, VQ_RUN_WHEN_BYTES, "%Y-%m-%d %H:%M:%S", &tm);
}

int64_t vq_watch_since_unix_ms(const struct vq_run_watch *watch)
{
    int64_t quiet_ns = vq_run_now() - watch->alarm.quiet_since_ns;
    return watch->alarm.raised ? vq_clock_unix_ms() - quiet_ns / VQ_NS_PER_MS : 0;
}

static void say(struct vq_run *run, enum vq_alarm_change change)
{
    if (change == VQ_ALARM_CLEARED) {
        vq_log(VQ_LOG_INFO, "alarm.over", "kind=idle");
        vq_run_message(run, "The run makes progress again.");
        vq_alarms_over(run, "idle", "", "Run %s makes progress again.", vq_run_dir_name(run->dir));
        vq_run_trouble_over(run, VQ_TROUBLE_IDLE, "");
        return;
    }
    char since[VQ_RUN_WHEN_BYTES];
    vq_watch_when(vq_watch_since_unix_ms(&run->watch), since);
    vq_log(VQ_LOG_WARN, "alarm.idle", "since=%s idle_s=%u", since,
           run->source.config->alarm.idle_s);
    vq_run_trouble(run, VQ_TROUBLE_IDLE, "",
                   "Look at the workers, at workers.log and at the provider.",
                   "No answer arrived since %s, and tasks are open.", since);
    vq_run_message(run,
                   "No answer arrived since %s, and tasks are open: look at vibeq status %s, at "
                   "workers.log, and at the provider.",
                   since, vq_run_dir_name(run->dir));
    char action[VQ_NOTICE_TEXT_BYTES];
    (void)snprintf(action, sizeof(action),
                   "Look at vibeq status %s, at workers.log, and at the provider.",
                   vq_run_dir_name(run->dir));
    vq_alarms_begin(run, "idle", "", action,
                    "Run %s: no answer arrived since %s, and tasks are open.",
                    vq_run_dir_name(run->dir), since);
}

void vq_watch_brake(struct vq_run *run)
{
    for (uint32_t j = 0; run->coord != NULL && run->watch.braked_unix_ms == 0 &&
                         j < run->stages.asking->plan.grid.judges;
         j++) {
        struct vq_coord_judge_status judge;
        vq_coord_judge_fill(run->coord, j, vq_run_now(), &judge);
        if (judge.braked) {
            run->watch.braked_unix_ms = vq_clock_unix_ms();
            (void)snprintf(run->watch.brake_text, sizeof(run->watch.brake_text), "%s",
                           judge.closed_text);
            vq_run_trouble(run, VQ_TROUBLE_BRAKE, judge.name,
                           "Correct what the error names, then: vibeq resume RUN.", "%s",
                           run->watch.brake_text);
            vq_alarms_begin(run, "brake", judge.name,
                            "Remove the cause, then unpark the pool with vibeq ctl.", "Run %s: %s",
                            vq_run_dir_name(run->dir), run->watch.brake_text);
            vq_log(VQ_LOG_WARN, "alarm.brake", "judge=%s text=%s", judge.name,
                   run->watch.brake_text);
        }
    }
}

static void report_slow(struct vq_run *run, const char *pool, const char *text)
{
    const char *name = vq_run_dir_name(run->dir);
    char action[VQ_NOTICE_TEXT_BYTES];
    (void)snprintf(action, sizeof(action), "vibeq ctl %s pool %s --rpm N sets the rate.", name,
                   pool);
    vq_alarms_begin(run, "slow", pool, action,
                    "Run %s: pool %s has run under a quarter of its configured rate for %u s, "
                    "although hardly a call is refused: %s",
                    name, pool, run->source.config->alarm.slow_s, text);
}

/* Reports a pool once when it becomes slow, and once when it is no longer slow. */
static bool see_slow(struct vq_run *run, int64_t now_ns)
{
    int64_t after_ns = (int64_t)run->source.config->alarm.slow_s * VQ_NS_PER_S;
    bool changed = false;
    for (uint32_t p = 0; p < vq_authority_pools(run->limits.authority); p++) {
        struct vq_authority_pool_status s;
        vq_authority_status(run->limits.authority, p, now_ns, &s);
        bool rests =
            run->control.held || run->stop.draining || run->stop.stopped || run->stop.finished;
        s.work_waits = s.work_waits && !rests && !vq_limits_idle(run, p);
        enum vq_slow_change change = vq_slow_look(&run->watch.slow[p], &s, after_ns, now_ns);
        changed = changed || change != VQ_SLOW_SAME;
        if (change == VQ_SLOW_CLEARED) {
            vq_log(VQ_LOG_INFO, "alarm.over", "kind=slow pool=%s", s.name);
            vq_alarms_over(run, "slow", s.name, "Run %s: pool %s is no longer slow.",
                           vq_run_dir_name(run->dir), s.name);
            vq_run_trouble_over(run, VQ_TROUBLE_SLOW, s.name);
        } else if (change == VQ_SLOW_RAISED) {
            char text[VQ_LIMITED_TEXT_BYTES];
            vq_status_limited_text(&s, now_ns, vq_clock_unix_ms(), text);
            vq_run_trouble(run, VQ_TROUBLE_SLOW, s.name,
                           "vibeq ctl RUN pool NAME --rpm N sets the rate.",
                           "Pool %s runs under a quarter of its configured rate, although hardly a "
                           "call is refused: %s.",
                           s.name, text);
            vq_log(VQ_LOG_WARN, "alarm.slow", "pool=%s slow_s=%u text=%s", s.name,
                   run->source.config->alarm.slow_s, text);
            vq_run_message(
                run,
                "Pool %s has run under a quarter of its configured rate for %u s, although "
                "hardly a call is refused: %s. vibeq ctl %s pool %s --rpm N sets the rate.",
                s.name, run->source.config->alarm.slow_s, text, vq_run_dir_name(run->dir), s.name);
            report_slow(run, s.name, text);
        }
    }
    return changed;
}

int64_t vq_watch_wake_ns(const struct vq_run *run)
{
    return run->coord == NULL ? INT64_MAX : run->watch.looked_ns + VQ_RUN_LOOK_MS * VQ_NS_PER_MS;
}

void vq_watch_tick(struct vq_run *run)
{
    int64_t now_ns = vq_run_now();
    if (run->coord == NULL || now_ns - run->watch.looked_ns < VQ_RUN_WATCH_MS * VQ_NS_PER_MS) {
        return;
    }
    run->watch.looked_ns = now_ns;
    vq_metrics_tick(run, now_ns);
    struct vq_coord_status s;
    vq_coord_status_fill(run->coord, now_ns, &s);
    struct vq_status_totals t = run->stages.before;
    vq_status_add(&t, &s);
    struct vq_alarm_facts facts = {.answers = t.answers + t.from_store,
                                   .open = s.all.state[VQ_TASK_OPEN] + s.all.state[VQ_TASK_LEASED],
                                   .rests = run->control.held || run->stop.draining ||
                                            run->stop.stopped || run->stop.finished};
    enum vq_alarm_change change = vq_alarm_look(&run->watch.alarm, &facts, now_ns);
    if (change != VQ_ALARM_SAME) {
        say(run, change);
    }
    if (see_slow(run, now_ns) || change != VQ_ALARM_SAME) {
        vq_control_write_status(run);
    }
}
