/* Sessions (rule 2): HELLO, lists, what belongs to which session, and peers that break the
 * rules. */
#include "tests/unit/coordinator/queue/rig.h"

TEST_WITH(hello_opens_a_session_and_echoes_its_stamp, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    assert_int_not_equal(session, 0);
    const struct rig_said *welcome = rig_last(r, 7, VQ_MSG_WELCOME);
    assert_int_equal(welcome->stamp_ns, r->now_ns);
    assert_int_equal(welcome->term_ms, RIG_TERM);
    assert_int_equal(rig_count(r, 7, VQ_MSG_SPEC), 0); /* it has the SPEC */
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, NULL, 0);
    struct vq_coord_worker_status worker;
    assert_true(vq_coord_worker_fill(r->c, 0, &worker));
    assert_string_equal(worker.name, "worker");
    assert_int_equal(worker.local, 1);
    assert_false(vq_coord_worker_fill(r->c, 1, &worker));
}

TEST_WITH(another_spec_is_sent, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    struct vq_msg_hello hello = {.worker = rig_worker(1), .stamp_ns = 1, .local = -1};
    (void)rig_hello_as(r, 7, hello);
    assert_int_equal(rig_count(r, 7, VQ_MSG_SPEC), 1);
}

TEST_WITH(strangers_are_asked_to_say_hello, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    rig_beat(r, 7, 3, NULL);
    assert_int_equal(rig_last(r, 7, VQ_MSG_BYE)->code, VQ_BYE_NO_SESSION);
    assert_int_equal(rig_status(r).dropped_unknown, 1);
    struct vq_msg bye = {.type = VQ_MSG_BYE, .u.bye.session = 3};
    rig_mark(r);
    rig_tell(r, 7, &bye); /* and are not answered when they leave */
    assert_int_equal(rig_count(r, 7, VQ_MSG_BYE), 0);
}

TEST_WITH(other_sessions_messages_are_dropped, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    rig_mark(r);
    rig_beat(r, 7, session + 1, NULL);
    assert_int_equal(rig_count(r, 7, VQ_MSG_HEARTBEAT), 0);
    assert_int_equal(rig_status(r).dropped_session, 1);
}

TEST_WITH(other_runs_are_refused, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    struct vq_msg msg = {.type = VQ_MSG_HELLO,
                         .u.hello = {.worker = rig_worker(1), .run = {{8}}, .stamp_ns = 1}};
    rig_tell(r, 7, &msg);
    assert_int_equal(rig_last(r, 7, VQ_MSG_BYE)->code, VQ_BYE_OTHER_RUN);
    assert_int_equal(rig_status(r).sessions, 0);
    msg.u.hello.run = r->params.run;
    rig_tell(r, 7, &msg);
    assert_int_equal(rig_status(r).sessions, 1);
}

TEST_WITH(the_same_hello_twice_is_one_session, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t first = rig_hello(r, 7, 1);
    assert_int_equal(rig_hello(r, 7, 1), first);
    assert_int_equal(rig_status(r).sessions, 1);
}

TEST_WITH(a_second_hello_replaces_the_session_and_its_held_decides, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_tried(r, 12, "Model: A");
    rig_start(r);
    uint64_t old = rig_join(r, 7, 1, 12);
    struct rig_said kept = *rig_lease(r, 0);
    struct rig_said lost = *rig_lease(r, 1);
    assert_int_equal(rig_status(r).leased_shards, 3);
    rig_pass(r, 100);
    rig_mark(r);
    uint64_t session = rig_hello(r, 8, 1); /* from another connection, as after a reconnect */
    assert_int_not_equal(session, old);
    assert_int_equal(r->said[r->mark].action, VQ_COORD_CLOSE);
    assert_int_equal(rig_status(r).sessions, 1);
    assert_int_equal(rig_status(r).leased_shards, 3); /* in limbo */
    rig_credit(r, 8, session, 0, 4, VQ_POOL_OPEN);
    assert_int_equal(rig_count(r, 8, VQ_MSG_LEASE), 0); /* nothing before HELD */
    struct vq_held_lease held = {kept.shard, kept.fence};
    rig_list(r, 8, session, VQ_MSG_HELD, &held, 1, NULL, 0);
    assert_int_equal(rig_status(r).leased_shards, 1);
    assert_int_equal(rig_count(r, 8, VQ_MSG_CANCEL), 0);
    rig_say_answer(r, 8, session, &kept, kept.tasks[0], "Model: equal");
    rig_credit(r, 8, session, 0, 100, VQ_POOL_OPEN);
    /* what it did not list is leased again, under a later fence, and its sample is sent again */
    const struct rig_said *again = rig_last(r, 8, VQ_MSG_LEASE);
    assert_true(again->fence.n > lost.fence.n);
    assert_true(rig_count(r, 8, VQ_MSG_SAMPLE) > 0);
    assert_int_equal(rig_status(r).leases_lost, 0);
}

TEST_WITH(a_fence_that_is_not_current_gets_cancel, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    struct vq_held_lease held = {2, {4, 1}}; /* of an earlier epoch */
    rig_list(r, 7, session, VQ_MSG_HELD, &held, 1, NULL, 0);
    const struct rig_said *cancel = rig_last(r, 7, VQ_MSG_CANCEL);
    assert_int_equal(cancel->code, VQ_CANCEL_STALE);
    assert_int_equal(cancel->shard, 2);
    assert_int_equal(cancel->fence.epoch, 4);
    assert_int_equal(cancel->count, 0); /* all of it */
}

TEST_WITH(heartbeats_are_echoed_and_count_as_held, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    rig_credit(r, 7, session, 0, 8, VQ_POOL_OPEN);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0);
    rig_pass(r, 10);
    rig_beat(r, 7, session, NULL);
    assert_int_equal(rig_last(r, 7, VQ_MSG_HEARTBEAT)->stamp_ns, r->now_ns);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 1);
    assert_int_equal(rig_last(r, 7, VQ_MSG_LEASE)->stamp_ns,
                     r->now_ns); /* the latest that was read */
}

TEST_WITH(grant_is_said_again, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 0);
    rig_mark(r);
    for (unsigned i = 0; i < VQ_COORD_GRANT_HEARTBEATS; i++) {
        rig_pass(r, 10);
        rig_beat(r, 7, session, NULL);
    }
    assert_int_equal(rig_count(r, 7, VQ_MSG_GRANT), 1);
}

TEST_WITH(bye_ends_the_session_and_frees_its_leases, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    assert_int_equal(rig_status(r).leased_shards, 1);
    struct vq_msg bye = {.type = VQ_MSG_BYE, .u.bye = {session, VQ_BYE_LEAVING, {"done", 4}}};
    rig_tell(r, 7, &bye);
    assert_int_equal(rig_status(r).sessions, 0);
    assert_int_equal(rig_status(r).leased_shards, 0);
    assert_int_equal(rig_status(r).leases_lost, 0);
    assert_int_equal(r->said[r->said_count - 1].action, VQ_COORD_CLOSE);
}

/* ---- broken rules: BYE PROTOCOL, then deaf until a HELLO; never an assertion ---- */

static void assert_breaks(struct rig *r, const struct vq_msg *msg)
{
    uint64_t broken = rig_status(r).broken;
    rig_tell(r, 7, msg);
    assert_int_equal(rig_last(r, 7, VQ_MSG_BYE)->code, VQ_BYE_PROTOCOL);
    assert_int_equal(rig_status(r).broken, broken + 1);
    rig_pass(r, 1);
    (void)rig_hello(r, 7, 1); /* makes it good */
}

TEST_WITH(what_breaks_a_rule_makes_the_session_deaf, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t s = rig_hello(r, 7, 1);
    struct vq_held_lease lease = {99, {5, 1}};
    struct vq_credit credit = {.judge = 1};
    struct vq_msg held = {.type = VQ_MSG_HELD};
    held.u.held = (struct vq_msg_held){.session = s, .leases = &lease, .leases_count = 1};
    assert_breaks(r, &held);
    held.u.held = (struct vq_msg_held){.session = s + 1, .leases = &lease, .leases_count = 1};
    assert_breaks(r, &held);
    struct vq_msg msg = {.type = VQ_MSG_CREDIT,
                         .u.credit = {.session = s + 2, .credits = &credit, .credits_count = 1}};
    assert_breaks(r, &msg);
    credit = (struct vq_credit){.state = VQ_POOL_NO_MODEL + 1};
    msg.u.credit.session++;
    assert_breaks(r, &msg);
    struct vq_pool_report report = {.pool = 1};
    msg.u.credit = (struct vq_msg_credit){.session = s + 4, .reports = &report, .reports_count = 1};
    assert_breaks(r, &msg);
    report = (struct vq_pool_report){.state = VQ_POOL_NO_MODEL + 1};
    msg.u.credit.session++;
    assert_breaks(r, &msg);
    msg = (struct vq_msg){.type = VQ_MSG_LEASE, .u.lease.session = s + 6};
    assert_breaks(r, &msg);
    msg = (struct vq_msg){.type = VQ_MSG_CANCEL, .u.cancel = {.session = s + 7}};
    assert_breaks(r, &msg);
    struct vq_result result = {.fence = {5, 1}, .task = 3, .shard = 1};
    msg = (struct vq_msg){.type = VQ_MSG_RESULTS, .u.results = {s + 8, &result, 1}};
    assert_breaks(r, &msg);
    result = (struct vq_result){.fence = {5, 1}, .task = 16, .shard = 4};
    msg.u.results.session++;
    assert_breaks(r, &msg);
    result = (struct vq_result){.task = 3, .shard = 0, .end = VQ_END__COUNT};
    msg.u.results.session++;
    assert_breaks(r, &msg);
    struct vq_msg other = {.type = VQ_MSG_HELLO, .u.hello = {.worker = rig_worker(2)}};
    assert_breaks(r, &other); /* a second worker on one connection */
}

TEST_WITH(what_does_not_fit_its_lease_breaks_a_rule, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t s = rig_join(r, 7, 1, 8);
    const struct rig_said lease = *rig_lease(r, 0);
    struct vq_result result = rig_answer(r, &lease, lease.tasks[0], "Model: A");
    struct vq_msg msg = {.type = VQ_MSG_RESULTS, .u.results = {s, &result, 1}};
    result.judge = 1; /* there is one */
    assert_breaks(r, &msg);
    result.judge = 0;
    result.answer = vq_span("x", VQ_ANSWER_BYTES_MAX + 1);
    msg.u.results.session++;
    assert_breaks(r, &msg);
    s = msg.u.results.session + 1;
    struct vq_held_lease held = {lease.shard, lease.fence};
    rig_list(r, 7, s, VQ_MSG_HELD, &held, 1, NULL, 0); /* it goes on with its lease */
    const uint64_t tasks[] = {lease.tasks[0], lease.tasks[0] + 4};
    struct vq_msg cancel = {.type = VQ_MSG_CANCEL,
                            .u.cancel = {.session = s,
                                         .shard = lease.shard,
                                         .fence = lease.fence,
                                         .reason = VQ_CANCEL_RETURNED,
                                         .tasks = tasks,
                                         .tasks_count = 2}};
    assert_breaks(r, &cancel);
    assert_int_equal(rig_status(r).all.calls, 0);
}

/* Workers whose ids begin alike fall together in the table and are two. */
TEST_WITH(ids_that_begin_alike_are_two_workers, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    struct vq_msg_hello hello = {
        .worker = rig_worker(1), .stamp_ns = 1, .spec = r->params.spec, .name = {"one", 3}};
    uint64_t one = rig_hello_as(r, 7, hello);
    hello.worker.b[12] ^= 1;
    hello.name = vq_span_str("two");
    uint64_t two = rig_hello_as(r, 8, hello);
    assert_int_equal(rig_status(r).sessions, 2);
    hello.worker.b[12] ^= 1;
    hello.stamp_ns = 2;
    assert_int_not_equal(rig_hello_as(r, 9, hello), one); /* the first one comes again */
    assert_int_equal(rig_status(r).sessions, 2);
    rig_mark(r);
    rig_beat(r, 8, two, NULL);
    assert_int_equal(rig_count(r, 8, VQ_MSG_HEARTBEAT), 1); /* and the second goes on */
    struct vq_msg bye = {.type = VQ_MSG_BYE, .u.bye = {two, VQ_BYE_LEAVING, {"", 0}}};
    rig_tell(r, 8, &bye);
    assert_int_equal(rig_status(r).sessions, 1);
    struct vq_coord_worker_status worker;
    assert_true(vq_coord_worker_fill(r->c, 0, &worker));
    assert_int_equal(worker.peer, 9);
}

/* A GRANT waits once, whatever asks for one, and is made when it is taken. */
TEST_WITH(one_grant_waits_at_a_time, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    rig_pass(r, RIG_HEARTBEAT);
    rig_mark(r);
    struct vq_msg beat = {.type = VQ_MSG_HEARTBEAT,
                          .u.held = {.session = session, .stamp_ns = r->now_ns}};
    for (uint32_t i = 0; i < 3 * VQ_COORD_GRANT_HEARTBEATS; i++) {
        assert_int_equal(vq_coord_message(r->c, 7, &beat, r->now_ns), VQ_OK);
    }
    rig_pull(r);
    assert_int_equal(rig_count(r, 7, VQ_MSG_HEARTBEAT), 3 * VQ_COORD_GRANT_HEARTBEATS);
    assert_int_equal(rig_count(r, 7, VQ_MSG_GRANT), 1);
}

/* However much a worker says when it leaves, its line in the log is short. */
TEST_WITH(a_long_farewell_is_cut, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    char text[1000];
    memset(text, 'z', sizeof(text));
    struct vq_msg bye = {.type = VQ_MSG_BYE,
                         .u.bye = {session, VQ_BYE_LEAVING, {text, sizeof(text)}}};
    assert_int_equal(vq_coord_message(r->c, 7, &bye, r->now_ns), VQ_OK);
    struct vq_coord_action action;
    size_t said = 0;
    while (vq_coord_next(r->c, r->now_ns, &action)) {
        const char *at = action.type == VQ_COORD_NOTE ? strstr(action.u.note.text, "left: ") : NULL;
        said = at != NULL ? strlen(at + strlen("left: ")) : said;
    }
    assert_int_equal(said, 200);
}

/* An earlier start may have come to another grid under the same number: what it left is recorded,
 * and reserves nothing. */
TEST_WITH(what_an_earlier_start_left_of_another_grid_is_recorded, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t s = rig_hello(r, 7, 1);
    struct vq_held_lease lease = {99, {4, 1}};
    struct vq_held_call call = {rig_worker(3), 16};
    rig_list(r, 7, s, VQ_MSG_HELD, &lease, 1, &call, 1);
    assert_int_equal(rig_last(r, 7, VQ_MSG_CANCEL)->code, VQ_CANCEL_STALE);
    struct vq_result result = {.fence = {4, 1}, .task = 999, .shard = 99, .call = rig_worker(3)};
    struct vq_msg msg = {.type = VQ_MSG_RESULTS, .u.results = {s, &result, 1}};
    r->hold_commits = true;
    rig_tell(r, 7, &msg);
    assert_int_equal(rig_status(r).broken, 0);
    assert_non_null(r->batch);
    assert_int_equal(r->batch->results_count, 1);
    assert_int_equal(r->batch->results[0].stage, VQ_STAGE_ELSEWHERE);
    rig_commit(r);
    rig_pull(r);
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 1);
}

TEST_WITH(a_deaf_session_is_not_heard_and_not_blamed, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    struct vq_msg msg = {.type = VQ_MSG_CANCEL, .u.cancel = {.session = session}};
    rig_tell(r, 7, &msg);
    rig_mark(r);
    rig_beat(r, 7, session, NULL);
    assert_int_equal(rig_count(r, 7, VQ_MSG_HEARTBEAT), 0);
    assert_int_equal(rig_status(r).leased_shards, 1); /* its term runs out first */
    rig_pass(r, RIG_TERM);
    assert_int_equal(rig_status(r).leased_shards, 0);
    assert_int_equal(rig_status(r).leases_lost, 0);
}

/* Its tasks may be somebody else's by now, and its CANCEL may be lost: the echo would renew it. */
TEST_WITH(a_list_of_a_lease_that_is_over_is_not_echoed, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    (void)rig_join(r, 7, 1, 4);
    const struct rig_said old = *rig_lease(r, 0);
    rig_pass(r, RIG_TERM);
    uint64_t session = rig_hello(r, 8, 1);
    rig_mark(r);
    rig_beat(r, 8, session, &old);
    assert_int_equal(rig_last(r, 8, VQ_MSG_CANCEL)->code, VQ_CANCEL_STALE);
    assert_int_equal(rig_count(r, 8, VQ_MSG_HEARTBEAT), 0);
    rig_pass(r, RIG_HEARTBEAT);
    rig_beat(r, 8, session, NULL);
    assert_int_equal(rig_count(r, 8, VQ_MSG_HEARTBEAT), 1);
}

TEST_WITH(a_list_that_crossed_the_end_of_a_lease_is_echoed, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 1);
    const struct rig_said lease = *rig_lease(r, 0);
    rig_credit(r, 7, session, 0, 0, VQ_POOL_OPEN);
    rig_say_answer(r, 7, session, &lease, lease.tasks[0], "Model: A");
    assert_int_equal(rig_status(r).leased_shards, 0);
    rig_mark(r);
    rig_beat(r, 7, session, &lease); /* its ACK was on the way */
    assert_int_equal(rig_count(r, 7, VQ_MSG_CANCEL), 1);
    assert_int_equal(rig_count(r, 7, VQ_MSG_HEARTBEAT), 1);
}
