/* Reports once that a run made no progress for too long, and once that it makes progress again.
 * Invariant: the alarm is raised only while a task is open and the run does not rest on purpose.
 * Not its job: why no answer comes, and where the report goes. */
#include "coordinator/queue/alarm.h"

void vq_alarm_init(struct vq_alarm *alarm, int64_t idle_ns, int64_t now_ns)
{
    *alarm = (struct vq_alarm){.idle_ns = idle_ns, .quiet_since_ns = now_ns};
}

static enum vq_alarm_change clear(struct vq_alarm *alarm)
{
    bool was_raised = alarm->raised;
    alarm->raised = false;
    return was_raised ? VQ_ALARM_CLEARED : VQ_ALARM_SAME;
}

enum vq_alarm_change vq_alarm_look(struct vq_alarm *alarm, const struct vq_alarm_facts *facts,
                                   int64_t now_ns)
{
    bool moved = facts->answers != alarm->answers;
    alarm->answers = facts->answers;
    if (moved || facts->rests || facts->open == 0) {
        alarm->quiet_since_ns = now_ns > alarm->quiet_since_ns ? now_ns : alarm->quiet_since_ns;
        return clear(alarm);
    }
    bool quiet = alarm->idle_ns > 0 && now_ns - alarm->quiet_since_ns >= alarm->idle_ns;
    if (!quiet || alarm->raised) {
        return VQ_ALARM_SAME;
    }
    alarm->raised = true;
    return VQ_ALARM_RAISED;
}
