/* The state of a task as a pure function, and the state machine of the table proto/task_states.def.
 *
 * Invariants: vq_task_state uses only its arguments. Its order is: failure row, not needed,
 * answered, open. The state of the turn before a chain's turn is one of its arguments. The table
 * names every pair of state and event exactly once (a missing or doubled pair does not compile: see
 * rules[]). Not its job: reading answers or failure rows, knowing which tasks are leased. */
#include "coordinator/queue/task_state.h"

/* ---- (answers, failure rows, plan) -> state ---- */

/* The outcome in force of one attempt; NONE: open (then *ret_wants_repair may be set). */
static enum vq_outcome attempt_outcome(const struct vq_task_plan *plan, const struct vq_attempt *a,
                                       bool *ret_wants_repair)
{
    *ret_wants_repair = false;
    if (a->failure != VQ_OUTCOME_NONE) {
        return a->failure;
    }
    if (a->answer != VQ_OUTCOME_UNPARSEABLE) {
        return a->answer;
    }
    if (a->repaired != VQ_OUTCOME_NONE) {
        return vq_outcome_is_good(a->repaired) ? a->repaired : VQ_OUTCOME_UNPARSEABLE;
    }
    if (plan->repair) {
        *ret_wants_repair = true;
        return VQ_OUTCOME_NONE;
    }
    return VQ_OUTCOME_UNPARSEABLE;
}

/* Over the repeats: the first good answer; otherwise the first open attempt that may be asked;
 * otherwise the last outcome. */
static void attempts_view(const struct vq_task_plan *plan, const struct vq_attempt *attempts,
                          struct vq_task_view *ret_view)
{
    VQ_ASSERT(plan->retries <= plan->repeat_max);
    uint32_t failures_max = plan->repeat_max - plan->retries;
    uint32_t failures = 0;
    for (uint32_t r = 0;; r++) {
        bool wants_repair;
        enum vq_outcome outcome = attempt_outcome(plan, &attempts[r], &wants_repair);
        if (outcome == VQ_OUTCOME_NONE && failures > failures_max) {
            return; /* *ret_view is the failure before it */
        }
        failures += attempts[r].failure != VQ_OUTCOME_NONE;
        *ret_view = (struct vq_task_view){outcome, r, wants_repair};
        if (outcome == VQ_OUTCOME_NONE || vq_outcome_is_good(outcome) || r == plan->repeat_max) {
            return;
        }
    }
}

void vq_task_state(const struct vq_task_plan *plan, const struct vq_attempt *const attempts[2],
                   unsigned order, struct vq_task_view *ret_view)
{
    VQ_ASSERT(order < 2 && plan->first < 2);
    struct vq_task_view own;
    if (plan->unasked) {
        *ret_view = (struct vq_task_view){VQ_OUTCOME_NOT_NEEDED, 0, false};
        return;
    }
    if (order == plan->first && plan->follows && !vq_outcome_is_good(plan->before)) {
        *ret_view = (struct vq_task_view){
            plan->before == VQ_OUTCOME_NONE ? VQ_OUTCOME_NONE : VQ_OUTCOME_BLOCKED, 0, false};
        return;
    }
    attempts_view(plan, attempts[order], &own);
    *ret_view = own;
    if (order == plan->first || vq_outcome_is_failed(own.outcome)) {
        return;
    }
    bool needed = plan->swap != VQ_SWAP_NONE;
    if (plan->swap == VQ_SWAP_LAZY && !plan->audited) {
        struct vq_task_view first;
        attempts_view(plan, attempts[plan->first], &first);
        needed = !vq_outcome_settles(first.outcome);
    }
    if (!needed) {
        *ret_view = (struct vq_task_view){VQ_OUTCOME_NOT_NEEDED, 0, false};
    }
}

/* ---- the state machine ---- */

struct rule {
    uint8_t rule; /* enum vq_task_rule */
    uint8_t next;
    const char *why;
};

static const struct rule rules[VQ_TASK_STATES][VQ_TASK_EVENTS] = {
#define VQ_TASK_MOVE(state, event, to)                                                             \
    [VQ_TASK_##state][VQ_TASK_ON_##event] = {VQ_TASK_MOVES, VQ_TASK_##to, NULL},
#define VQ_TASK_STAY(state, event, text)                                                           \
    [VQ_TASK_##state][VQ_TASK_ON_##event] = {VQ_TASK_STAYS, VQ_TASK_##state, text},
#define VQ_TASK_REFUSE(state, event, text)                                                         \
    [VQ_TASK_##state][VQ_TASK_ON_##event] = {VQ_TASK_REFUSED, VQ_TASK_##state, text},
#include "proto/task_states.def"
#undef VQ_TASK_MOVE
#undef VQ_TASK_STAY
#undef VQ_TASK_REFUSE
};

/* A doubled pair redefines an enumerator, a missing one leaves the count too low. */
enum pairs {
#define VQ_TASK_MOVE(state, event, to)     PAIR_##state##_##event,
#define VQ_TASK_STAY(state, event, text)   PAIR_##state##_##event,
#define VQ_TASK_REFUSE(state, event, text) PAIR_##state##_##event,
#include "proto/task_states.def"
#undef VQ_TASK_MOVE
#undef VQ_TASK_STAY
#undef VQ_TASK_REFUSE
    PAIRS
};
_Static_assert((int)PAIRS == (int)VQ_TASK_STATES * (int)VQ_TASK_EVENTS,
               "task_states.def: every pair exactly once");

static const struct {
    const char *text;
    bool terminal;
} states[VQ_TASK_STATES] = {
#define VQ_TASK_STATE(name, state_text, is_terminal) {state_text, is_terminal},
#include "proto/task_states.def"
#undef VQ_TASK_STATE
};

static const struct {
    const char *name;
    const char *text;
} events[VQ_TASK_EVENTS] = {
#define VQ_TASK_EVENT(event_name, event_text) {#event_name, event_text},
#include "proto/task_states.def"
#undef VQ_TASK_EVENT
};

const char *vq_task_state_name(enum vq_task_states state)
{
    return state < VQ_TASK_STATES ? states[state].text : "?";
}

const char *vq_task_event_text(enum vq_task_events event)
{
    return event < VQ_TASK_EVENTS ? events[event].text : "?";
}

bool vq_task_state_terminal(enum vq_task_states state)
{
    return state < VQ_TASK_STATES && states[state].terminal;
}

enum vq_task_rule vq_task_next(enum vq_task_states state, enum vq_task_events event,
                               enum vq_task_states *ret_next, const char **ret_why)
{
    VQ_ASSERT(state < VQ_TASK_STATES && event < VQ_TASK_EVENTS);
    const struct rule *rule = &rules[state][event];
    *ret_next = (enum vq_task_states)rule->next;
    if (ret_why != NULL) {
        *ret_why = rule->why;
    }
    return (enum vq_task_rule)rule->rule;
}

enum vq_task_states vq_task_state_of(enum vq_outcome outcome)
{
    if (outcome == VQ_OUTCOME_NONE) {
        return VQ_TASK_OPEN;
    }
    if (outcome == VQ_OUTCOME_NOT_NEEDED) {
        return VQ_TASK_NOT_NEEDED;
    }
    if (outcome == VQ_OUTCOME_BLOCKED) {
        return VQ_TASK_BLOCKED;
    }
    return vq_outcome_is_answered(outcome) ? VQ_TASK_ANSWERED : VQ_TASK_FAILED;
}

enum vq_task_events vq_task_event_of(enum vq_outcome outcome)
{
    static const uint8_t event_of[VQ_TASK_STATES] = {[VQ_TASK_ANSWERED] = VQ_TASK_ON_ANSWER,
                                                     [VQ_TASK_NOT_NEEDED] = VQ_TASK_ON_NOT_NEED,
                                                     [VQ_TASK_FAILED] = VQ_TASK_ON_FAIL,
                                                     [VQ_TASK_BLOCKED] = VQ_TASK_ON_BLOCK};
    VQ_ASSERT(outcome != VQ_OUTCOME_NONE);
    return (enum vq_task_events)event_of[vq_task_state_of(outcome)];
}

void vq_task_states_dot(struct vq_buf *out)
{
    vq_buf_puts(out, "digraph task_states {\n    rankdir=LR;\n    node [shape=box];\n");
    for (int s = 0; s < VQ_TASK_STATES; s++) {
        vq_buf_printf(out, "    s%d [label=\"%s\"%s];\n", s, states[s].text,
                      states[s].terminal ? ", peripheries=2" : "");
    }
    for (int s = 0; s < VQ_TASK_STATES; s++) {
        for (int e = 0; e < VQ_TASK_EVENTS; e++) {
            if (rules[s][e].rule == VQ_TASK_MOVES) {
                vq_buf_printf(out, "    s%d -> s%d [label=\"%s\"];\n", s, rules[s][e].next,
                              events[e].name);
            }
        }
    }
    vq_buf_puts(out, "}\n");
}
