/* The state of a run as JSON for tools. Pure text: the shell fills in the numbers. */
#pragma once

#include "coordinator/pools/limited.h"
#include "coordinator/queue/coord.h"

#define VQ_STATUS_STAGES 16u /* earlier or later stages in a status */

/* Counters of a core, which lives as long as a stage. */
struct vq_status_totals {
    uint64_t commits, leases_lost, tokens_in, tokens_out, messages_broken, from_store, answers;
    uint64_t other_session, no_session, no_room, repeated, late;
};

/* Events in this process that should not occur. */
struct vq_status_seen {
    uint64_t unreadable;     /* messages that cannot be decoded */
    uint64_t foreign;        /* results that fit no task: recorded, but they settled nothing */
    uint64_t redis_rebuilds; /* the data in Redis was not what was written */
    uint64_t spools, spool_results, spool_unknown; /* spools of workers that ended: read */
    uint64_t spools_torn;       /* of these: with a record cut short at the end */
    uint64_t peers_refused;     /* handshakes with a key that is not approved */
    uint64_t frames_dropped;    /* of peers that named themselves, or to disconnected peers */
    uint64_t batches_cancelled; /* for the deadline */
};

/* The deadline of a run, and its expected end. */
enum vq_status_deadline_state {
    VQ_DEADLINE_STATE_UNKNOWN,     /* no rate is known yet */
    VQ_DEADLINE_STATE_BATCHES,     /* batches may end until `batches_until` */
    VQ_DEADLINE_STATE_INTERACTIVE, /* it will be met without waiting for batches */
    VQ_DEADLINE_STATE_LATE,        /* it cannot be met */
    VQ_DEADLINE_STATE_PASSED
};
struct vq_status_deadline {
    int64_t unix_s; /* 0: no deadline */
    enum vq_status_deadline_state state;
    int64_t ends_unix_s;          /* the forecast; 0: unknown */
    int64_t batches_until_unix_s; /* 0: the run waits for no batch */
};
const char *vq_status_deadline_word(enum vq_status_deadline_state state);

struct vq_status_facts {
    const char *run;
    const char *uid_hex;
    /* "starting", "running", "waiting", "paused", "held", "stalled", "draining", "finished",
     * "stopped" */
    const char *state;
    const char *note;            /* the reason of a wait or of the stop; "" */
    int64_t held_since_unix_ms;  /* paused by command; 0: not paused */
    int64_t alarm_since_unix_ms; /* no answer since then; 0: no alarm */
    uint32_t alarm_idle_s;       /* the time without an answer that raises it; 0: off */
    /* a judge's first calls all failed the same way; 0: no alarm */
    int64_t brake_since_unix_ms;
    const char *brake_text;     /* which judge, and how its calls failed */
    const struct vq_slow *slow; /* for each pool; NULL: unknown */
    int64_t started_unix_ms;
    int64_t now_unix_ms;
    int64_t now_ns;                            /* the clock of the core's times */
    const char *redis;                         /* "up", "away", "syncing" */
    const struct vq_coord *coord;              /* NULL: not created yet */
    const struct vq_authority *authority;      /* exists if `coord` does */
    const struct vq_status_deadline *deadline; /* NULL: none */
    bool blocked;     /* no call may be sent now: no remaining time is shown */
    const bool *idle; /* for each pool: no judge of the run needs it; NULL: all are needed */
    struct vq_status_totals before; /* of the earlier stages in this process */
    struct vq_status_seen seen;
    const char *stages_before[VQ_STATUS_STAGES]; /* the last finished ones */
    uint32_t stages_before_count;
    const char *stages_after[VQ_STATUS_STAGES]; /* the next ones that the method expects */
    uint32_t stages_after_count;
    const char *stage; /* its name */
    uint32_t stage_no;
    uint32_t judges;
};

/* Seconds until the open tasks are settled at the present rate; negative: unknown. */
double vq_status_eta_s(const struct vq_coord_status *status);
/* The time left, from `low_s` to `high_s`. The rate is only as precise as the number of tasks that
 * were settled lately, and tasks without a look-up may be in the store as often as the others were.
 * Negative: unknown. */
struct vq_status_eta {
    double low_s, high_s;
};
struct vq_status_eta vq_status_eta_range(const struct vq_coord_status *status);
const char *vq_status_stage_name(enum vq_coord_stage stage);

/* The pool's use of a rate in the last minute. */
double vq_status_used(const struct vq_authority_pool_status *s, enum vq_rate rate);

/* The text about the pool's present limit, with the local time at which a limit was learned. */
void vq_status_limited_text(const struct vq_authority_pool_status *s, int64_t now_ns,
                            int64_t now_unix_ms, char ret_text[VQ_LIMITED_TEXT_BYTES]);

void vq_status_add(struct vq_status_totals *totals, const struct vq_coord_status *of);
void vq_status_json(const struct vq_status_facts *facts, struct vq_buf *out);
