/* The state of a task as a pure function, and the state table. */

#include "tests/unit/test.h"

#include "coordinator/queue/task_state.h"

#include <stdio.h>

#define A  VQ_OUTCOME_FIRST
#define EQ VQ_OUTCOME_EQUAL

static struct vq_task_view view(struct vq_task_plan plan, struct vq_attempt first,
                                struct vq_attempt second, unsigned order)
{
    const struct vq_attempt *const both[2] = {plan.first == 0 ? &first : &second,
                                              plan.first == 0 ? &second : &first};
    struct vq_task_view ret;
    vq_task_state(&plan, both, order, &ret);
    return ret;
}

static enum vq_outcome second_of(struct vq_task_plan plan, struct vq_attempt first,
                                 struct vq_attempt second)
{
    return view(plan, first, second, 1 - plan.first).outcome;
}

static const struct vq_task_plan lazy = {.swap = VQ_SWAP_LAZY, .repair = true};

TEST(open_without_anything)
{
    struct vq_attempt none = {0};
    for (unsigned order = 0; order < 2; order++) {
        struct vq_task_view v = view(lazy, none, none, order);
        assert_int_equal(v.outcome, VQ_OUTCOME_NONE);
        assert_int_equal(v.repeat, 0);
        assert_false(v.wants_repair);
    }
}

TEST(failure_row_stands_before_all)
{
    struct vq_attempt failed = {.failure = VQ_OUTCOME_ERROR, .answer = A};
    assert_int_equal(view(lazy, failed, (struct vq_attempt){0}, 0).outcome, VQ_OUTCOME_ERROR);
    /* also before not needed */
    struct vq_attempt equal = {.answer = EQ};
    assert_int_equal(second_of(lazy, equal, failed), VQ_OUTCOME_ERROR);
}

TEST(not_needed_stands_before_answered)
{
    static const enum vq_outcome settling[] = {VQ_OUTCOME_EQUAL, VQ_OUTCOME_NA, VQ_OUTCOME_UNSURE};
    for (size_t i = 0; i < VQ_COUNT(settling); i++) {
        struct vq_attempt first = {.answer = settling[i]};
        assert_int_equal(second_of(lazy, first, (struct vq_attempt){0}), VQ_OUTCOME_NOT_NEEDED);
        assert_int_equal(second_of(lazy, first, (struct vq_attempt){.answer = A}),
                         VQ_OUTCOME_NOT_NEEDED);
        /* the first order itself is answered */
        assert_int_equal(view(lazy, first, (struct vq_attempt){0}, 0).outcome, settling[i]);
    }
}

TEST(only_a_parsed_tie_settles)
{
    static const struct vq_attempt firsts[] = {
        {.answer = A},
        {.answer = VQ_OUTCOME_SECOND},
        {.answer = VQ_OUTCOME_REFUSED},
        {.answer = VQ_OUTCOME_TRUNCATED},
        {.answer = VQ_OUTCOME_UNPARSEABLE, .repaired = VQ_OUTCOME_UNPARSEABLE},
        {.failure = VQ_OUTCOME_UNAVAILABLE},
        {.failure = VQ_OUTCOME_WORKER_LOST, .answer = EQ},
        {.answer = VQ_OUTCOME_NONE},
    };
    for (size_t i = 0; i < VQ_COUNT(firsts); i++) {
        assert_int_equal(second_of(lazy, firsts[i], (struct vq_attempt){0}), VQ_OUTCOME_NONE);
        assert_int_equal(second_of(lazy, firsts[i], (struct vq_attempt){.answer = A}), A);
    }
    /* a repaired tie is a parsed tie */
    struct vq_attempt repaired = {.answer = VQ_OUTCOME_UNPARSEABLE, .repaired = EQ};
    assert_int_equal(second_of(lazy, repaired, (struct vq_attempt){0}), VQ_OUTCOME_NOT_NEEDED);
}

TEST(audited_and_both_are_always_swapped)
{
    struct vq_task_plan audited = lazy;
    audited.audited = true;
    struct vq_task_plan both = {.swap = VQ_SWAP_BOTH, .repair = true};
    struct vq_attempt equal = {.answer = EQ};
    assert_int_equal(second_of(audited, equal, (struct vq_attempt){0}), VQ_OUTCOME_NONE);
    assert_int_equal(second_of(both, equal, (struct vq_attempt){0}), VQ_OUTCOME_NONE);
}

TEST(forward_asks_one_order)
{
    struct vq_task_plan forward = {.swap = VQ_SWAP_NONE, .repair = true};
    assert_int_equal(second_of(forward, (struct vq_attempt){0}, (struct vq_attempt){0}),
                     VQ_OUTCOME_NOT_NEEDED);
    assert_int_equal(view(forward, (struct vq_attempt){0}, (struct vq_attempt){0}, 0).outcome,
                     VQ_OUTCOME_NONE);
}

TEST(first_order_may_be_either)
{
    struct vq_task_plan plan = lazy;
    plan.first = 1;
    struct vq_attempt equal = {.answer = EQ};
    assert_int_equal(view(plan, equal, (struct vq_attempt){0}, 1).outcome, EQ);
    assert_int_equal(view(plan, equal, (struct vq_attempt){0}, 0).outcome, VQ_OUTCOME_NOT_NEEDED);
}

TEST(unparseable_wants_one_repair)
{
    struct vq_attempt none = {0};
    struct vq_attempt bad = {.answer = VQ_OUTCOME_UNPARSEABLE};
    struct vq_task_view v = view(lazy, bad, none, 0);
    assert_int_equal(v.outcome, VQ_OUTCOME_NONE);
    assert_true(v.wants_repair);
    struct vq_task_plan no_repair = lazy;
    no_repair.repair = false;
    assert_int_equal(view(no_repair, bad, none, 0).outcome, VQ_OUTCOME_UNPARSEABLE);
    bad.repaired = VQ_OUTCOME_REFUSED; /* whatever the repair says that is no vote: unparseable */
    assert_int_equal(view(lazy, bad, none, 0).outcome, VQ_OUTCOME_UNPARSEABLE);
    bad.repaired = VQ_OUTCOME_SECOND;
    assert_int_equal(view(lazy, bad, none, 0).outcome, VQ_OUTCOME_SECOND);
    bad.repaired = VQ_OUTCOME_NONE;
    bad.failure = VQ_OUTCOME_UNAVAILABLE; /* the repair's tries are used up */
    assert_int_equal(view(lazy, bad, none, 0).outcome, VQ_OUTCOME_UNAVAILABLE);
}

static struct vq_task_view repeats(const struct vq_attempt *attempts, uint32_t repeat_max)
{
    struct vq_task_plan plan = lazy;
    plan.repeat_max = repeat_max;
    static const struct vq_attempt none[4];
    const struct vq_attempt *const both[2] = {attempts, none};
    struct vq_task_view v;
    vq_task_state(&plan, both, 0, &v);
    return v;
}

TEST(retry_failed_asks_with_the_next_repeat)
{
    struct vq_attempt attempts[4] = {{.answer = VQ_OUTCOME_REFUSED}};
    assert_int_equal(repeats(attempts, 0).outcome, VQ_OUTCOME_REFUSED);
    struct vq_task_view v = repeats(attempts, 1);
    assert_int_equal(v.outcome, VQ_OUTCOME_NONE);
    assert_int_equal(v.repeat, 1);
    attempts[1].failure = VQ_OUTCOME_UNAVAILABLE;
    assert_int_equal(repeats(attempts, 1).outcome, VQ_OUTCOME_UNAVAILABLE);
    v = repeats(attempts, 2);
    assert_int_equal(v.outcome, VQ_OUTCOME_NONE);
    assert_int_equal(v.repeat, 2);
    attempts[2].answer = A;
    v = repeats(attempts, 3); /* a vote ends it */
    assert_int_equal(v.outcome, A);
    assert_int_equal(v.repeat, 2);
    attempts[0] = (struct vq_attempt){.answer = EQ};
    v = repeats(attempts, 3); /* the first vote stands */
    assert_int_equal(v.outcome, EQ);
    assert_int_equal(v.repeat, 0);
}

TEST(what_failed_is_not_asked_again_by_itself)
{
    static const struct vq_attempt none[4];
    struct vq_attempt attempts[4] = {{.failure = VQ_OUTCOME_ERROR}};
    const struct vq_attempt *const both[2] = {attempts, none};
    struct vq_task_plan plan = lazy;
    plan.repair = false;
    plan.repeat_max = plan.retries = 1;
    struct vq_task_view v;
    vq_task_state(&plan, both, 0, &v);
    assert_int_equal(v.outcome, VQ_OUTCOME_ERROR);
    assert_int_equal(v.repeat, 0);
    plan.repeat_max = 2; /* a person asked for it: once, and once more if that cannot be read */
    vq_task_state(&plan, both, 0, &v);
    assert_int_equal(v.outcome, VQ_OUTCOME_NONE);
    assert_int_equal(v.repeat, 1);
    attempts[1].answer = VQ_OUTCOME_UNPARSEABLE;
    vq_task_state(&plan, both, 0, &v);
    assert_int_equal(v.outcome, VQ_OUTCOME_NONE);
    assert_int_equal(v.repeat, 2);
    attempts[1] = (struct vq_attempt){.failure = VQ_OUTCOME_UNAVAILABLE};
    vq_task_state(&plan, both, 0, &v);
    assert_int_equal(v.outcome, VQ_OUTCOME_UNAVAILABLE);
    attempts[2].answer = A; /* bought all the same, by another run: it stands */
    vq_task_state(&plan, both, 0, &v);
    assert_int_equal(v.outcome, A);
    assert_int_equal(v.repeat, 2);
}

/* Over every combination: terminal states never change when something is added, but for what the
 * table allows. */
TEST(adding_facts_moves_only_where_the_table_does)
{
    static const enum vq_outcome answers[] = {VQ_OUTCOME_NONE, A, EQ, VQ_OUTCOME_REFUSED};
    for (unsigned bits = 0; bits < 4 * 4 * 2 * 2; bits++) {
        struct vq_attempt first = {.answer = answers[bits & 3],
                                   .failure = bits & 16 ? VQ_OUTCOME_ERROR : VQ_OUTCOME_NONE};
        struct vq_attempt second = {.answer = answers[(bits >> 2) & 3],
                                    .failure = bits & 32 ? VQ_OUTCOME_ERROR : VQ_OUTCOME_NONE};
        for (unsigned order = 0; order < 2; order++) {
            enum vq_outcome was = view(lazy, first, second, order).outcome;
            for (size_t i = 1; i < VQ_COUNT(answers); i++) {
                struct vq_attempt more = first;
                if (first.answer == VQ_OUTCOME_NONE) {
                    more.answer = answers[i];
                }
                enum vq_outcome is = view(lazy, more, second, order).outcome;
                if (is == was) {
                    continue;
                }
                enum vq_task_states next;
                assert_int_equal(
                    vq_task_next(vq_task_state_of(was), vq_task_event_of(is), &next, NULL),
                    VQ_TASK_MOVES);
                assert_int_equal(next, vq_task_state_of(is));
            }
        }
    }
}

/* ---- the table ---- */

TEST(every_pair_says_something)
{
    for (int s = 0; s < VQ_TASK_STATES; s++) {
        for (int e = 0; e < VQ_TASK_EVENTS; e++) {
            enum vq_task_states next = VQ_TASK_STATES;
            const char *why = NULL;
            enum vq_task_rule rule =
                vq_task_next((enum vq_task_states)s, (enum vq_task_events)e, &next, &why);
            assert_true(next < VQ_TASK_STATES);
            assert_int_equal(rule == VQ_TASK_MOVES, why == NULL);
            assert_int_equal(rule == VQ_TASK_MOVES, (int)next != s);
            assert_true(why == NULL || why[0] != '\0');
        }
    }
}

TEST(terminal_states_are_never_leased_and_open_again_only_by_hand)
{
    for (int s = 0; s < VQ_TASK_STATES; s++) {
        enum vq_task_states from = (enum vq_task_states)s;
        if (!vq_task_state_terminal(from)) {
            continue;
        }
        enum vq_task_states next;
        assert_int_equal(vq_task_next(from, VQ_TASK_ON_LEASE, &next, NULL), VQ_TASK_REFUSED);
        for (int e = 0; e < VQ_TASK_EVENTS; e++) {
            (void)vq_task_next(from, (enum vq_task_events)e, &next, NULL);
            bool by_hand =
                (from == VQ_TASK_FAILED || from == VQ_TASK_BLOCKED) && e == VQ_TASK_ON_REQUEUE;
            assert_true(vq_task_state_terminal(next) != by_hand);
        }
    }
}

TEST(outcomes_have_their_states)
{
    assert_int_equal(vq_task_state_of(VQ_OUTCOME_NONE), VQ_TASK_OPEN);
    assert_int_equal(vq_task_state_of(VQ_OUTCOME_UNSURE), VQ_TASK_ANSWERED);
    assert_int_equal(vq_task_state_of(VQ_OUTCOME_REFUSED), VQ_TASK_ANSWERED);
    assert_int_equal(vq_task_state_of(VQ_OUTCOME_UNPARSEABLE), VQ_TASK_ANSWERED);
    assert_int_equal(vq_task_state_of(VQ_OUTCOME_NOT_NEEDED), VQ_TASK_NOT_NEEDED);
    assert_int_equal(vq_task_state_of(VQ_OUTCOME_BLOCKED), VQ_TASK_BLOCKED);
    assert_int_equal(vq_task_state_of(VQ_OUTCOME_WORKER_LOST), VQ_TASK_FAILED);
    assert_int_equal(vq_task_event_of(VQ_OUTCOME_BLOCKED), VQ_TASK_ON_BLOCK);
    assert_int_equal(vq_task_event_of(VQ_OUTCOME_TOO_LONG), VQ_TASK_ON_FAIL);
    assert_int_equal(vq_task_event_of(VQ_OUTCOME_NOT_NEEDED), VQ_TASK_ON_NOT_NEED);
    assert_int_equal(vq_task_event_of(VQ_OUTCOME_TRUNCATED), VQ_TASK_ON_ANSWER);
    assert_string_equal(vq_task_state_name(VQ_TASK_NOT_NEEDED), "not_needed");
    assert_string_equal(vq_task_state_name(VQ_TASK_STATES), "?");
    assert_string_equal(vq_task_event_text(VQ_TASK_EVENTS), "?");
    assert_string_equal(vq_task_event_text(VQ_TASK_ON_ANSWER), "an answer to it is in force");
    assert_false(vq_task_state_terminal(VQ_TASK_STATES));
}

TEST(drawing_has_every_move)
{
    struct vq_buf dot;
    vq_buf_init(&dot, 1u << 16);
    vq_task_states_dot(&dot);
    assert_int_equal(dot.status, VQ_OK);
    assert_non_null(strstr(dot.at, "digraph"));
    assert_non_null(strstr(dot.at, "s0 -> s1 [label=\"LEASE\"]"));
    assert_non_null(strstr(dot.at, "s2 -> s3 [label=\"NOT_NEED\"]"));
    assert_non_null(strstr(dot.at, "s4 -> s0 [label=\"REQUEUE\"]"));
    assert_non_null(strstr(dot.at, "s5 -> s0 [label=\"REQUEUE\"]"));
    assert_null(strstr(dot.at, "s3 -> "));
    vq_buf_free(&dot);
}

/* docs/develop/task-states.dot is what the table says: where they differ, the file is out of
 * date. */
TEST(drawing_in_the_docs_is_this_one)
{
    struct vq_buf dot;
    vq_buf_init(&dot, 1u << 16);
    vq_task_states_dot(&dot);
    char text[1u << 14];
    FILE *file = fopen(VQ_SOURCE_DIR "/docs/develop/task-states.dot", "r");
    assert_non_null(file);
    size_t bytes = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[bytes] = '\0';
    assert_string_equal(text, dot.at);
    vq_buf_free(&dot);
}

TEST(a_cell_that_is_left_out_is_never_needed)
{
    struct vq_attempt said[1] = {{.answer = VQ_OUTCOME_FIRST}}, none[1] = {{0}};
    const struct vq_attempt *const attempts[2] = {said, none};
    for (int swap = VQ_SWAP_BOTH; swap <= VQ_SWAP_NONE; swap++) {
        for (unsigned order = 0; order < 2; order++) {
            struct vq_task_plan plan = {
                .swap = (enum vq_swap)swap, .first = 1, .repair = true, .unasked = true};
            struct vq_task_view view;
            vq_task_state(&plan, attempts, order, &view);
            assert_int_equal(view.outcome, VQ_OUTCOME_NOT_NEEDED);
            assert_false(view.wants_repair);
        }
    }
}

TEST(a_turn_waits_for_the_one_before_it)
{
    struct vq_attempt said[1] = {{.answer = VQ_OUTCOME_TEXT}}, none[1] = {{0}};
    const struct vq_attempt *const attempts[2] = {said, none};
    static const enum vq_outcome cases[][2] = {
        {VQ_OUTCOME_NONE, VQ_OUTCOME_NONE},          {VQ_OUTCOME_TEXT, VQ_OUTCOME_TEXT},
        {VQ_OUTCOME_REFUSED, VQ_OUTCOME_BLOCKED},    {VQ_OUTCOME_ERROR, VQ_OUTCOME_BLOCKED},
        {VQ_OUTCOME_BLOCKED, VQ_OUTCOME_BLOCKED},    {VQ_OUTCOME_UNPARSEABLE, VQ_OUTCOME_BLOCKED},
        {VQ_OUTCOME_WORKER_LOST, VQ_OUTCOME_BLOCKED}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_task_plan plan = {.swap = VQ_SWAP_NONE, .follows = true, .before = cases[i][0]};
        struct vq_task_view view;
        vq_task_state(&plan, attempts, 0, &view);
        assert_int_equal(view.outcome, cases[i][1]);
        vq_task_state(&plan, attempts, 1, &view);
        assert_int_equal(view.outcome, VQ_OUTCOME_NOT_NEEDED);
        plan.follows = false;
        vq_task_state(&plan, attempts, 0, &view);
        assert_int_equal(view.outcome, VQ_OUTCOME_TEXT);
        plan.follows = plan.unasked = true; /* a chain without such a turn */
        vq_task_state(&plan, attempts, 0, &view);
        assert_int_equal(view.outcome, VQ_OUTCOME_NOT_NEEDED);
    }
}
