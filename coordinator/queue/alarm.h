/* The alarm of a run that makes no progress: no answer arrived for idle_ns although there are tasks
 * to ask. Pure: (state, facts, now) -> change. */
#pragma once

#include "common/base/status.h"

struct vq_alarm {
    int64_t idle_ns;        /* 0: off */
    int64_t quiet_since_ns; /* the last sign of progress */
    uint64_t answers;       /* as reported last */
    bool raised;
};

struct vq_alarm_facts {
    uint64_t answers; /* all answers so far, from calls or from the store; never falls */
    uint64_t open;    /* tasks to be asked or being asked */
    bool rests;       /* the run rests on purpose: paused by command, draining, over */
};

enum vq_alarm_change {
    VQ_ALARM_SAME,
    VQ_ALARM_RAISED,
    VQ_ALARM_CLEARED,
};

/* The idle time starts now. */
void vq_alarm_init(struct vq_alarm *alarm, int64_t idle_ns, int64_t now_ns);
/* Call it regularly; an alarm is late by at most the pause between two calls. A run that rests or
 * has no open task is not idle: its idle time starts again afterwards. An earlier now_ns counts as
 * the last one. */
enum vq_alarm_change vq_alarm_look(struct vq_alarm *alarm, const struct vq_alarm_facts *facts,
                                   int64_t now_ns) VQ_WARN_UNUSED;
