/* What state a task is in: the one pure function of (answers, failure rows, plan) that commit,
 * look-up and rebuild all call, and the state machine of proto/task_states.def that every change of
 * state goes through. */
#pragma once

#include "common/judge/verdict.h"

/* ---- (answers, failure rows, plan) -> state ---- */

enum vq_swap {
    VQ_SWAP_BOTH, /* both orders are always asked */
    VQ_SWAP_LAZY, /* the second one only when the first does not settle the score (strict rule) */
    VQ_SWAP_NONE, /* only `first` is asked (forward) */
};

/* The plan of one (sample, vibe, judge) cell. */
struct vq_task_plan {
    enum vq_swap swap;
    bool repair;            /* an unparseable answer gets one repair call */
    unsigned first;         /* the order asked first, 0 or 1: vq_first_order, or 0 for forward */
    bool audited;           /* swapped all the same: vq_audited */
    bool unasked;           /* the stage leaves this cell out: neither order is ever asked */
    bool follows;           /* a turn of a chain that another one comes before ... */
    enum vq_outcome before; /* ... and what stands of that one */
    uint32_t repeat_max;    /* one for each resume with --retry-failed, and `retries` */
    /* the number of them that follow an answer that cannot be read, and no failure: that was
     * tried often enough */
    uint32_t retries;
};

/* What is recorded of one request: a task's repeat number r. */
struct vq_attempt {
    enum vq_outcome failure; /* of this run's failure row of that request; NONE: there is none */
    enum vq_outcome answer;  /* vq_verdict_of the standing answer; NONE: there is none */
    /* the same of the standing answer to its repair; NONE: there is none */
    enum vq_outcome repaired;
};

struct vq_task_view {
    enum vq_outcome outcome; /* NONE: open */
    uint32_t repeat;         /* open: the repeat number to ask. Else the one whose answer stands */
    /* open: attempts[order][repeat] has an unparseable answer; its repair is to be asked */
    bool wants_repair;
};

/* The state of the task (cell, order). attempts[o] points to repeat_max + 1 attempts of order o. In
 * this order: not needed, in a cell that is left out; open or blocked, behind a turn that is open
 * or has no good answer; a failure row; not needed (lazy swap, the other order's standing outcome
 * is a parsed equal, N/A or unsure, not audited; or forward's unasked order); answered; open. A
 * failed, refused or unparseable first order does not settle. Of several repeats the first vote (or
 * text) stands; without one the last repeat's failure or non-vote. After more failures than
 * repeat_max - retries no further one is asked. */
void vq_task_state(const struct vq_task_plan *plan, const struct vq_attempt *const attempts[2],
                   unsigned order, struct vq_task_view *ret_view);

/* ---- what a look-up reports to the core of one task ---- */

struct vq_known {
    enum vq_outcome outcome; /* vq_task_state; NONE: open */
    uint32_t repeat;         /* open: the repeat number to ask next */
    bool second;             /* this order is asked second (plan.first is the other one) */
    bool lazy; /* second, and not needed if the other order settles: LAZY and not audited */
    struct vq_span prior; /* open and wants_repair: the unparseable answer; else empty */
};

/* ---- the state machine ---- */

enum vq_task_states {
#define VQ_TASK_STATE(name, text, terminal) VQ_TASK_##name,
#include "proto/task_states.def"
#undef VQ_TASK_STATE
    VQ_TASK_STATES
};

enum vq_task_events {
#define VQ_TASK_EVENT(name, text) VQ_TASK_ON_##name,
#include "proto/task_states.def"
#undef VQ_TASK_EVENT
    VQ_TASK_EVENTS
};

enum vq_task_rule {
    VQ_TASK_MOVES,
    VQ_TASK_STAYS,
    VQ_TASK_REFUSED
};

const char *vq_task_state_name(enum vq_task_states state); /* "open"; "?" */
const char *vq_task_event_text(enum vq_task_events event);
bool vq_task_state_terminal(enum vq_task_states state);

/* What the table says of the pair: where it leads (*ret_next: the same state unless it MOVES) and,
 * for STAYS and REFUSED, why (*ret_why, nullable; NULL for MOVES). */
enum vq_task_rule vq_task_next(enum vq_task_states state, enum vq_task_events event,
                               enum vq_task_states *ret_next, const char **ret_why);

/* The state and the event that an outcome means. NONE: OPEN; asking its event is our bug. */
enum vq_task_states vq_task_state_of(enum vq_outcome outcome);
enum vq_task_events vq_task_event_of(enum vq_outcome outcome);

/* The table as a drawing in the DOT language. */
void vq_task_states_dot(struct vq_buf *out);
