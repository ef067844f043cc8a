/* The caps on attempts: what counts, which cap is met first, and that the core gives a task up
 * instead of leasing it again. */
#include "tests/unit/coordinator/queue/rig.h"

/* ---- pure ---- */

TEST(what_counts_and_what_does_not)
{
    static const struct {
        enum vq_call_end end;
        int class; /* -1: none */
    } rows[VQ_END__COUNT] = {
        {VQ_END_ANSWER, -1},
        {VQ_END_RATE, -1},
        {VQ_END_PROVIDER, VQ_ATTEMPT_PROVIDER},
        {VQ_END_NETWORK, VQ_ATTEMPT_NETWORK},
        {VQ_END_LOST, VQ_ATTEMPT_LOST},
        {VQ_END_BAD_RESPONSE, VQ_ATTEMPT_BAD_RESPONSE},
        {VQ_END_BAD_REQUEST, -1},
        {VQ_END_TOO_LONG, -1},
        {VQ_END_CLOSED, VQ_ATTEMPT_CLOSED},
        {VQ_END_UNKNOWN, VQ_ATTEMPT_UNKNOWN},
        {VQ_END_CANCELLED, -1},
        {VQ_END_BATCHED, -1},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        struct vq_attempts a = {{0}};
        vq_attempts_count(&a, rows[i].end);
        for (int c = 0; c < VQ_ATTEMPT__COUNT; c++) {
            assert_int_equal(a.of[c], c == rows[i].class ? 1 : 0);
        }
    }
    struct vq_attempts many = {{0}};
    for (int i = 0; i < 1000; i++) {
        vq_attempts_count(&many, VQ_END_LOST);
    }
    assert_int_equal(many.of[VQ_ATTEMPT_LOST], UINT8_MAX);
    assert_string_equal(vq_attempt_name(VQ_ATTEMPT_BAD_RESPONSE), "bad_response");
    assert_string_equal(vq_attempt_name(VQ_ATTEMPT__COUNT), "?");
}

TEST(which_cap_is_met)
{
    struct vq_attempts a = {.of = {[VQ_ATTEMPT_PROVIDER] = 3, [VQ_ATTEMPT_BAD_RESPONSE] = 4}};
    struct vq_attempt_caps none = {.all = 0};
    struct vq_attempt_caps all = {.all = 7};
    struct vq_attempt_caps more = {.all = 8};
    struct vq_attempt_caps provider = {.of = {[VQ_ATTEMPT_PROVIDER] = 3}};
    struct vq_attempt_caps bad = {.all = 100, .of = {[VQ_ATTEMPT_BAD_RESPONSE] = 4}};
    assert_int_equal(vq_attempts_over(&a, &none), VQ_OUTCOME_NONE);
    assert_int_equal(vq_attempts_over(&a, &more), VQ_OUTCOME_NONE);
    assert_int_equal(vq_attempts_over(&a, &all), VQ_OUTCOME_BAD_RESPONSE); /* most of them */
    assert_int_equal(vq_attempts_over(&a, &provider), VQ_OUTCOME_UNAVAILABLE);
    assert_int_equal(vq_attempts_over(&a, &bad), VQ_OUTCOME_BAD_RESPONSE);
    for (int c = 0; c < VQ_ATTEMPT__COUNT; c++) { /* whatever it is, it is a failure */
        struct vq_attempts one = {{0}};
        one.of[c] = 5;
        assert_true(vq_outcome_is_failed(vq_attempts_over(&one, &(struct vq_attempt_caps){5})));
    }
    struct vq_buf text;
    vq_buf_init(&text, 100);
    vq_attempts_text(&a, &text);
    assert_string_equal(text.at, "provider 3, bad_response 4");
    vq_buf_free(&text);
}

/* ---- in the core ---- */

/* The worker sends the first task of its next lease once, in vain, and gives everything back. Its
 * number. */
static uint64_t send_in_vain(struct rig *r, uint64_t s, enum vq_call_end end)
{
    const struct rig_said lease = *rig_last(r, 1, VQ_MSG_LEASE);
    struct vq_result result = rig_failure(r, &lease, lease.tasks[0], end, false, VQ_OUTCOME_NONE);
    rig_results(r, 1, s, &result, 1);
    struct vq_msg cancel = {.type = VQ_MSG_CANCEL,
                            .u.cancel = {.session = s,
                                         .shard = lease.shard,
                                         .fence = lease.fence,
                                         .reason = VQ_CANCEL_RETURNED}};
    rig_tell(r, 1, &cancel);
    return lease.tasks[0];
}

static void begin(struct rig *r)
{
    for (uint64_t t = 0; t < 15; t++) { /* one task is left */
        rig_tried(r, t, "Model: A");
    }
    rig_start(r);
}

TEST_WITH(a_task_is_not_leased_without_end, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    r->params.attempts = (struct vq_attempt_caps){.all = 3};
    begin(r);
    uint64_t s = rig_join(r, 1, 1, 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(vq_coord_outcome(r->c, 15), VQ_OUTCOME_NONE);
        assert_int_equal(send_in_vain(r, s, i == 0 ? VQ_END_CLOSED : VQ_END_LOST), 15);
    }
    assert_int_equal(vq_coord_outcome(r->c, 15), VQ_OUTCOME_UNAVAILABLE);
    assert_int_equal(r->store.column[15], VQ_OUTCOME_UNAVAILABLE);
    assert_int_equal(r->finished, 1);
}

TEST_WITH(a_class_has_a_cap_of_its_own, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    r->params.attempts = (struct vq_attempt_caps){.all = 9, .of = {[VQ_ATTEMPT_BAD_RESPONSE] = 2}};
    begin(r);
    uint64_t s = rig_join(r, 1, 1, 4);
    for (int i = 0; i < 4; i++) {
        (void)send_in_vain(r, s, VQ_END_PROVIDER);
    }
    (void)send_in_vain(r, s, VQ_END_BAD_RESPONSE);
    assert_int_equal(vq_coord_outcome(r->c, 15), VQ_OUTCOME_NONE);
    (void)send_in_vain(r, s, VQ_END_BAD_RESPONSE);
    assert_int_equal(vq_coord_outcome(r->c, 15), VQ_OUTCOME_BAD_RESPONSE);
}

TEST_WITH(a_refusal_of_capacity_burns_none, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    r->params.attempts = (struct vq_attempt_caps){.all = 3};
    begin(r);
    uint64_t s = rig_join(r, 1, 1, 4);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(send_in_vain(r, s, VQ_END_RATE), 15);
    }
    assert_int_equal(vq_coord_outcome(r->c, 15), VQ_OUTCOME_NONE);
}

TEST_WITH(what_is_asked_again_by_hand_begins_anew, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    r->params.attempts = (struct vq_attempt_caps){.all = 2};
    begin(r);
    uint64_t s = rig_join(r, 1, 1, 4);
    (void)send_in_vain(r, s, VQ_END_LOST);
    r->hold_commits = true; /* of the failure: the stage does not end */
    (void)send_in_vain(r, s, VQ_END_LOST);
    while (vq_coord_outcome(r->c, 15) == VQ_OUTCOME_NONE) {
        rig_commit(r);
        uint64_t tasks;
        assert_int_equal(vq_coord_requeue(r->c, VQ_FAILURES_ALL, r->now_ns, &tasks), VQ_OK);
        rig_pull(r);
    }
    r->hold_commits = false;
    rig_pull(r);
    assert_int_equal(vq_coord_outcome(r->c, 15), VQ_OUTCOME_NONE);
    (void)send_in_vain(r, s, VQ_END_LOST);
    assert_int_equal(vq_coord_outcome(r->c, 15), VQ_OUTCOME_NONE);
    (void)send_in_vain(r, s, VQ_END_LOST);
    assert_int_equal(vq_coord_outcome(r->c, 15), VQ_OUTCOME_UNAVAILABLE);
}
