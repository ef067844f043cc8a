/* A run with a deadline: what its decisions remember, and what people see of it. Private to this
 * room. */
#pragma once

#include "coordinator/pools/deadline_round.h"
#include "coordinator/queue/coord.h"
#include "coordinator/queue/limits.h"
#include "coordinator/store/rundir/batch_times.h"
#include "coordinator/web/status.h"
#include "proto/limits.h"

/* How many seconds of a decision a second of the run is: 1. For tests, in which batches take
 * seconds and not minutes: margins, durations and the time that is left count as so much longer. */
#define VQ_DEADLINE_SPEED "VIBEQ_DEADLINE_SPEED"

struct vq_run_batch { /* at a provider, as it was seen last */
    char name[VQ_WIRE_BATCH_NAME_BYTES_MAX + 1];
    uint32_t pool; /* VQ_POOLS_MAX: none of this run's */
    uint32_t calls, waiting;
    int64_t since_unix_ms;
    int64_t cancelled_unix_ms; /* 0: it is not being cancelled */
    bool created;              /* the provider has it */
    bool here;                 /* it was there at the last look */
};

/* Judges of a stage that share pools, directly or through others. */
struct vq_run_group {
    uint32_t judges;
    bool steers;          /* some of its calls may go into batches, or be asked interactively */
    bool decided, direct; /* as the last round said */
    bool said;            /* that batches are over, to the person */
    uint64_t keep;
    double rate;    /* calls in a second that its interactive pools make; 0: there is none */
    bool is_known;  /* the rate: by limits, or measured */
    double slack_s; /* before calls have to be bought */
    double need_s;  /* for all that is not answered, at that rate */
    uint64_t open;  /* calls without an answer, in this stage and later ones */
};

struct vq_run_deadline {
    time_t at; /* 0: none */
    double speed;
    int64_t looked_ns;
    uint32_t stage_no; /* of the groups, + 1 */
    struct vq_run_group *groups;
    uint32_t groups_count;
    uint32_t *group_of;                 /* of each judge */
    int64_t stage_ns;                   /* when the groups were made */
    double measured[VQ_POOLS_MAX];      /* calls a second when it had work all the time; 0: never */
    int64_t busy_from_ns[VQ_POOLS_MAX]; /* since when it has had work all the time; 0: not */
    struct vq_run_batch *batches;
    size_t batches_count, batches_cap;
    struct vq_batch_times times;
    bool is_late, is_over; /* it cannot be met, it has passed: reported */
    int64_t late_ns;       /* since when it seems so; 0: it does not */
    struct vq_status_deadline shown;
};
