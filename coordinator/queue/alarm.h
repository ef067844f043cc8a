/* The alarm of a run that makes no progress: nothing was answered for so long while something is to
 * be asked. Pure: (state, facts, now) -> what changed. */
#pragma once

#include "common/base/status.h"

struct vq_alarm {
    int64_t idle_ns;        /* 0: off */
    int64_t quiet_since_ns; /* the last sign of progress */
    uint64_t answers;       /* as they were reported last */
    bool raised;
};

struct vq_alarm_facts {
    uint64_t answers; /* that ever came, by a call or out of the store; never falls */
    uint64_t open;    /* tasks to be asked or being asked */
    bool rests;       /* on purpose: paused by hand, draining, over */
};

enum vq_alarm_change {
    VQ_ALARM_SAME,
    VQ_ALARM_RAISED,
    VQ_ALARM_CLEARED,
};

/* The time of quiet begins now. */
void vq_alarm_init(struct vq_alarm *alarm, int64_t idle_ns, int64_t now_ns);
/* To be asked every now and then; an alarm is late by as much. What rests or has nothing open is
 * not quiet: its time begins again after that. A clock that went back counts as the last one. */
enum vq_alarm_change vq_alarm_look(struct vq_alarm *alarm, const struct vq_alarm_facts *facts,
                                   int64_t now_ns) VQ_WARN_UNUSED;
