/* What a run is doing, as JSON for people's tools. Pure text: the shell fills in the numbers. */
#pragma once

#include "coordinator/pools/limited.h"
#include "coordinator/queue/coord.h"

#define VQ_STATUS_STAGES 16u /* of the past, in a status */

/* Counters of a core, which lives as long as a stage. */
struct vq_status_totals {
    uint64_t commits, leases_lost, tokens_in, tokens_out, messages_broken, from_store, answers;
    uint64_t other_session, no_session, no_room, repeated, late;
};

/* What this process has come across that should not be. */
struct vq_status_seen {
    uint64_t unreadable;     /* messages that are none */
    uint64_t foreign;        /* results that fit no task: recorded, they settled nothing */
    uint64_t redis_rebuilds; /* what Redis held was not what was written */
    uint64_t spools, spool_results, spool_unknown; /* of dead workers, read */
    uint64_t spools_torn;                          /* of them, with a record cut short at the end */
    uint64_t peers_refused;                        /* handshakes with a key that is not approved */
    uint64_t frames_dropped;    /* of peers that named themselves, or to peers that are gone */
    uint64_t batches_cancelled; /* for the deadline */
};

/* The deadline of a run, and when it will be over. */
enum vq_status_deadline_state {
    VQ_DEADLINE_STATE_UNKNOWN,     /* no rate is known yet */
    VQ_DEADLINE_STATE_BATCHES,     /* batches have until `batches_until` */
    VQ_DEADLINE_STATE_INTERACTIVE, /* it will be met, without waiting for batches */
    VQ_DEADLINE_STATE_LATE,        /* it cannot be met */
    VQ_DEADLINE_STATE_PASSED
};
struct vq_status_deadline {
    int64_t unix_s; /* 0: there is none */
    enum vq_status_deadline_state state;
    int64_t ends_unix_s;          /* the forecast; 0: not known */
    int64_t batches_until_unix_s; /* 0: no batch is awaited */
};
const char *vq_status_deadline_word(enum vq_status_deadline_state state);

struct vq_status_facts {
    const char *run;
    const char *uid_hex;
    /* "starting", "running", "waiting", "paused", "held", "stalled", "draining", "finished",
     * "stopped" */
    const char *state;
    const char *note;            /* what it waits for or why it stopped; "" */
    int64_t held_since_unix_ms;  /* paused by hand; 0: not */
    int64_t alarm_since_unix_ms; /* nothing was answered since; 0: no alarm */
    uint32_t alarm_idle_s;       /* what raises it; 0: off */
    /* a judge's first calls all failed the same way; 0: no such alarm */
    int64_t brake_since_unix_ms;
    const char *brake_text;     /* which one, and how */
    const struct vq_slow *slow; /* of each pool; NULL: unknown */
    int64_t started_unix_ms;
    int64_t now_unix_ms;
    int64_t now_ns;                            /* the clock of the core's times */
    const char *redis;                         /* "up", "away", "syncing" */
    const struct vq_coord *coord;              /* NULL: not there yet */
    const struct vq_authority *authority;      /* there when `coord` is */
    const struct vq_status_deadline *deadline; /* NULL: none */
    bool blocked;                              /* no call may be sent now: no time left is shown */
    const bool *idle;               /* of each pool: no judge of the run needs it; NULL: none is */
    struct vq_status_totals before; /* of the stages that this process has left behind */
    struct vq_status_seen seen;
    const char *stages_before[VQ_STATUS_STAGES]; /* the last ones that are over */
    uint32_t stages_before_count;
    const char *stages_after[VQ_STATUS_STAGES]; /* the next ones, as the method expects them */
    uint32_t stages_after_count;
    const char *stage; /* its name */
    uint32_t stage_no;
    uint32_t judges;
};

/* Seconds until the open tasks are settled at the present rate; negative: unknown. */
double vq_status_eta_s(const struct vq_coord_status *status);
/* From `low_s` to `high_s`: the rate is known only as well as the tasks show that were settled
 * lately, and what was not looked up yet may be in the store like what was. Negative: unknown. */
struct vq_status_eta {
    double low_s, high_s;
};
struct vq_status_eta vq_status_eta_range(const struct vq_coord_status *status);
const char *vq_status_stage_name(enum vq_coord_stage stage);

/* What a pool used of a rate in the last minute. */
double vq_status_used(const struct vq_authority_pool_status *s, enum vq_rate rate);

/* What limits the pool now, in words, with the local time at which a limit was learned. */
void vq_status_limited_text(const struct vq_authority_pool_status *s, int64_t now_ns,
                            int64_t now_unix_ms, char ret_text[VQ_LIMITED_TEXT_BYTES]);

void vq_status_add(struct vq_status_totals *totals, const struct vq_coord_status *of);
void vq_status_json(const struct vq_status_facts *facts, struct vq_buf *out);
