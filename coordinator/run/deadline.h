/* A run with a deadline: the state of its decisions, and the status for people. Private to this
 * folder. */
#pragma once

#include "coordinator/pools/deadline_round.h"
#include "coordinator/queue/coord.h"
#include "coordinator/queue/limits.h"
#include "coordinator/store/rundir/batch_times.h"
#include "coordinator/web/status.h"
#include "proto/limits.h"

/* For tests, in which batches take seconds and not minutes: the number of seconds of a decision per
 * second of the run; normally 1. Margins, durations and the remaining time are multiplied by it. */
#define VQ_DEADLINE_SPEED "VIBEQ_DEADLINE_SPEED"

struct vq_run_batch { /* a batch at a provider, as last seen */
    char name[VQ_WIRE_BATCH_NAME_BYTES_MAX + 1];
    uint32_t pool; /* VQ_POOLS_MAX: not a pool of this run */
    uint32_t calls, waiting;
    int64_t since_unix_ms;
    int64_t cancelled_unix_ms; /* 0: not cancelled */
    bool created;              /* the provider has it */
    bool here;                 /* it existed at the last look */
};

/* Judges of a stage that share pools, directly or through others. */
struct vq_run_group {
    uint32_t judges;
    bool steers;          /* some of its calls may go into batches, or be asked interactively */
    bool decided, direct; /* by the last round */
    bool said;            /* reported to the person: no more batches */
    uint64_t keep;
    double rate;    /* calls per second of its interactive pools; 0: it has none */
    bool is_known;  /* the rate: by limits, or measured */
    double slack_s; /* seconds before calls have to be bought */
    double need_s;  /* seconds for all calls without an answer, at that rate */
    uint64_t open;  /* calls without an answer, in this stage and later ones */
};

struct vq_run_deadline {
    time_t at; /* 0: none */
    double speed;
    int64_t looked_ns;
    uint32_t stage_no; /* number of the groups' stage, + 1 */
    struct vq_run_group *groups;
    uint32_t groups_count;
    uint32_t *group_of;            /* of each judge */
    int64_t stage_ns;              /* when the groups were made */
    double measured[VQ_POOLS_MAX]; /* calls per second while it had work all the time; 0: unknown */
    int64_t busy_from_ns[VQ_POOLS_MAX]; /* since when it has had work all the time; 0: it has not */
    struct vq_run_batch *batches;
    size_t batches_count, batches_cap;
    struct vq_batch_times times;
    bool is_late, is_over; /* cannot be met; has passed: already reported */
    int64_t late_ns;       /* since when it seems late; 0: it does not */
    struct vq_status_deadline shown;
};
