/* The state of a task: the one pure function of (answers, failure rows, plan) that commit, look-up
 * and rebuild all call, and the state machine of proto/task_states.def, which every change of state
 * passes. */
#pragma once

#include "common/judge/verdict.h"

/* ---- (answers, failure rows, plan) -> state ---- */

enum vq_swap {
    VQ_SWAP_BOTH, /* both orders are always asked */
    VQ_SWAP_LAZY, /* the second one only if the first does not settle the score (strict rule) */
    VQ_SWAP_NONE, /* only `first` is asked (forward) */
};

/* The plan of one (sample, vibe, judge) cell. */
struct vq_task_plan {
    enum vq_swap swap;
    bool repair;            /* an unparseable answer gets one repair call */
    unsigned first;         /* the order asked first, 0 or 1: vq_first_order, or 0 for forward */
    bool audited;           /* both orders are asked in spite of lazy swap: vq_audited */
    bool unasked;           /* the stage leaves this cell out: neither order is ever asked */
    bool follows;           /* a turn of a chain that follows another turn ... */
    enum vq_outcome before; /* ... and the state of that turn */
    uint32_t repeat_max;    /* one for each resume with --retry-failed, plus `retries` */
    /* how many of these repeat an answer that cannot be read. A failure does not use them: it was
     * retried before */
    uint32_t retries;
};

/* The records of one request, that is, of a task's repeat number r. */
struct vq_attempt {
    enum vq_outcome failure; /* the run's failure row of this request; NONE: there is none */
    enum vq_outcome answer;  /* vq_verdict_of the answer in force; NONE: there is none */
    /* the same of the answer in force to its repair; NONE: there is none */
    enum vq_outcome repaired;
};

struct vq_task_view {
    enum vq_outcome outcome; /* NONE: open */
    /* open: the repeat number to ask. Otherwise the one whose answer is in force */
    uint32_t repeat;
    /* open: attempts[order][repeat] has an unparseable answer whose repair is to be asked */
    bool wants_repair;
};

/* The state of the task (cell, order). attempts[o] points to repeat_max + 1 attempts of order o.
 * The first matching rule decides:
 * - not needed, if the cell is left out;
 * - open or blocked, if the turn before it is open or has no good answer;
 * - failed, if there is a failure row;
 * - not needed (lazy swap, not audited, and the other order's outcome in force is a parsed equal,
 *   N/A or unsure; or forward's unasked order);
 * - answered; otherwise open.
 * A failed, refused or unparseable first order does not settle the second. Of several repeats the
 * first vote (or text) is in force; without one, the failure or non-vote of the last repeat. After
 * more failures than repeat_max - retries no further repeat is asked. */
void vq_task_state(const struct vq_task_plan *plan, const struct vq_attempt *const attempts[2],
                   unsigned order, struct vq_task_view *ret_view);

/* ---- what a look-up reports to the core about one task ---- */

struct vq_known {
    enum vq_outcome outcome; /* vq_task_state; NONE: open */
    uint32_t repeat;         /* open: the repeat number to ask next */
    bool second;             /* this order is asked second (plan.first is the other one) */
    bool lazy; /* second, and not needed if the other order settles: LAZY and not audited */
    struct vq_span prior; /* open and wants_repair: the unparseable answer; otherwise empty */
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

/* The table's entry for the pair: the next state (*ret_next: the same state unless MOVES) and, for
 * STAYS and REFUSED, the reason (*ret_why, nullable; NULL for MOVES). */
enum vq_task_rule vq_task_next(enum vq_task_states state, enum vq_task_events event,
                               enum vq_task_states *ret_next, const char **ret_why);

/* The state and the event of an outcome. NONE: OPEN; asking for the event of NONE is our bug. */
enum vq_task_states vq_task_state_of(enum vq_outcome outcome);
enum vq_task_events vq_task_event_of(enum vq_outcome outcome);

/* The table as a drawing in the DOT language. */
void vq_task_states_dot(struct vq_buf *out);
