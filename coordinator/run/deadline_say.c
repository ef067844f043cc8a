/* Messages about a deadline: until when batches may end, when the run will be over, and once, as
 * early as it is known, that the deadline cannot be met. Nothing here changes the run. */
#include "coordinator/run/parts.h"

#include "common/base/clock.h"
#include "common/text/log.h"

#include <stdio.h>
#include <time.h>

#define LATE_NS  (5 * VQ_NS_PER_S) /* a rate that lasts for this time counts */
#define ON_AGAIN 0.95 /* of the remaining time: below it, the deadline can be met again */

/* "07:00", or with its date if that is another day. */
void vq_deadline_when(int64_t unix_s, char ret_text[VQ_RUN_WHEN_BYTES])
{
    time_t when = (time_t)unix_s, now = (time_t)(vq_clock_unix_ms() / 1000);
    struct tm tm, today;
    (void)localtime_r(&when, &tm);
    (void)localtime_r(&now, &today);
    bool same = tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year;
    (void)strftime(ret_text, VQ_RUN_WHEN_BYTES, same ? "%H:%M" : "%H:%M on %Y-%m-%d", &tm);
}

/* ---- the outlook ---- */

struct prospect {
    bool known;   /* for each group with calls, the end is known */
    bool batches; /* the run waits for some batches */
    double need_s, slack_s;
    double rate;
};

static struct prospect prospect_of(const struct vq_run_deadline *d)
{
    struct prospect p = {.known = true, .slack_s = 1e15};
    for (uint32_t g = 0; g < d->groups_count; g++) {
        const struct vq_run_group *group = &d->groups[g];
        if (group->judges == 0 || group->open == 0) {
            continue;
        }
        p.known = p.known && group->is_known;
        if (group->need_s > p.need_s) {
            p.need_s = group->need_s;
            p.rate = group->rate;
        }
        if (group->steers && group->slack_s > 0) {
            p.batches = true;
            p.slack_s = group->slack_s < p.slack_s ? group->slack_s : p.slack_s;
        }
    }
    return p;
}

static void show(struct vq_run_deadline *d, const struct prospect *p, double left_s)
{
    int64_t now_s = vq_clock_unix_ms() / 1000;
    struct vq_status_deadline s = {.unix_s = (int64_t)d->at};
    if (p->known) {
        s.ends_unix_s = now_s + (int64_t)p->need_s;
    }
    if (left_s <= 0) {
        s.state = VQ_DEADLINE_STATE_PASSED;
    } else if (d->is_late) {
        s.state = VQ_DEADLINE_STATE_LATE;
    } else if (p->batches) {
        s.state = VQ_DEADLINE_STATE_BATCHES;
        s.batches_until_unix_s = now_s + (int64_t)p->slack_s;
        s.ends_unix_s = (int64_t)d->at - (int64_t)(VQ_DEADLINE_MARGIN_S / d->speed);
    } else {
        s.state = p->known ? VQ_DEADLINE_STATE_INTERACTIVE : VQ_DEADLINE_STATE_UNKNOWN;
    }
    d->shown = s;
}

/* ---- messages that are sent once ---- */

static void say_late(struct vq_run *run, const struct prospect *p)
{
    const char *name = vq_run_dir_name(run->dir);
    char at[VQ_RUN_WHEN_BYTES], ends[VQ_RUN_WHEN_BYTES], rate[VQ_FMT_BYTES],
        action[VQ_NOTICE_TEXT_BYTES];
    vq_deadline_when((int64_t)run->deadline.at, at);
    vq_deadline_when(vq_clock_unix_ms() / 1000 + (int64_t)p->need_s, ends);
    (void)vq_fmt_rate(p->rate, rate);
    (void)snprintf(
        action, sizeof(action),
        "Raise limits with vibeq ctl %s pool, add pools or keys, or set a later time with "
        "vibeq resume %s --deadline TIME.",
        name, name);
    vq_log(VQ_LOG_WARN, "deadline.late", "ends=%s rate=%.3f", ends, p->rate);
    vq_run_message(run,
                   "The deadline %s cannot be met: with calls at %s the run is over at about %s. "
                   "It continues as fast as it can. %s",
                   at, rate, ends, action);
    vq_run_trouble(run, VQ_TROUBLE_DEADLINE, "", action,
                   "The deadline %s cannot be met: with calls at %s the run is over at about %s.",
                   at, rate, ends);
    vq_alarms_begin(run, "deadline", "", action,
                    "Run %s: the deadline %s cannot be met; the run is over at about %s.", name, at,
                    ends);
}

static void say_on_again(struct vq_run *run)
{
    vq_log(VQ_LOG_INFO, "deadline.kept", "again=true");
    vq_run_message(run, "The deadline can be met again.");
    vq_run_trouble_over(run, VQ_TROUBLE_DEADLINE, "");
    vq_alarms_over(run, "deadline", "", "Run %s: the deadline can be met again.",
                   vq_run_dir_name(run->dir));
}

static void look_late(struct vq_run *run, const struct prospect *p, double left_s)
{
    struct vq_run_deadline *d = &run->deadline;
    int64_t now = vq_run_now();
    bool late = p->known && p->need_s > left_s;
    d->late_ns = !late ? 0 : d->late_ns == 0 ? now : d->late_ns;
    if (!d->is_late && late && now - d->late_ns >= LATE_NS) {
        d->is_late = true;
        say_late(run, p);
    } else if (d->is_late && p->known && p->need_s < ON_AGAIN * left_s) {
        d->is_late = false;
        say_on_again(run);
    }
}

static void say_passed(struct vq_run *run)
{
    char at[VQ_RUN_WHEN_BYTES];
    vq_deadline_when((int64_t)run->deadline.at, at);
    vq_log(VQ_LOG_WARN, "deadline.passed", "at=%s", at);
    vq_run_message(run,
                   "The deadline %s has passed; the run continues as fast as it can, with single "
                   "calls where there are pools for them.",
                   at);
    vq_run_moment(run, VQ_TROUBLE_DEADLINE, "",
                  "The run continues as fast as it can; you need not do anything.",
                  "The deadline %s has passed.", at);
}

/* From now on calls are bought, or batches are cancelled: once per stage. */
static void say_direct(struct vq_run *run, struct vq_run_group *group)
{
    uint64_t waiting = 0;
    char calls[VQ_FMT_BYTES];
    if (group->said || !group->steers || !group->direct || group->slack_s > 0 || group->open == 0) {
        return;
    }
    group->said = true;
    for (size_t i = 0; i < run->deadline.batches_count; i++) {
        waiting += run->deadline.batches[i].waiting;
    }
    if (waiting == 0) {
        vq_run_message(run, "For the deadline, calls are asked interactively now.");
        return;
    }
    vq_run_message(
        run,
        "For the deadline, calls are asked interactively now; batches in which %s call%s "
        "wait are cancelled one by one, when they are needed.",
        vq_fmt_count(waiting, calls), vq_fmt_plural(waiting));
}

void vq_deadline_report(struct vq_run *run)
{
    struct vq_run_deadline *d = &run->deadline;
    struct prospect p = prospect_of(d);
    double left_s = (double)((int64_t)d->at * 1000 - vq_clock_unix_ms()) / 1000;
    if (left_s <= 0 && !d->is_over) {
        d->is_over = true;
        say_passed(run);
    } else if (left_s > 0) {
        look_late(run, &p, left_s);
        for (uint32_t g = 0; g < d->groups_count; g++) {
            say_direct(run, &d->groups[g]);
        }
    }
    show(d, &p, left_s);
}
