/* Events for which the core has no memory left: its queue of actions is full to the brim, and the
 * event's 1st, 2nd, ... allocation fails. Each says VQ_NOMEM, at once or by vq_coord_health when
 * its actions are taken, or leaves out a line for the log; never does it say VQ_OK to what it did
 * not do, and it can be taken apart. */
#include "tests/unit/coordinator/queue/rig.h"

struct scene {
    const char *name;
    void (*set)(struct rig *r);
    enum vq_status (*event)(struct rig *r);
    bool spared; /* some of the words of a note may be left out too */
};

static uint64_t session_of_7; /* of peer 7, as the scene was set */
static struct rig_said lease_of_7;

/* Strangers speak until there is room for so many more actions. */
static void fill(struct rig *r, uint64_t room)
{
    const struct vq_msg stranger = {.type = VQ_MSG_HEARTBEAT};
    uint64_t said = 0, before;
    do {
        before = vq_alloc_count();
        assert_int_equal(vq_coord_message(r->c, 1000, &stranger, r->now_ns), VQ_OK);
        said++;
    } while (vq_alloc_count() - before == 1); /* the text of the BYE; 2: and a ring twice as long */
    for (uint64_t more = said - 2; more > room; more--) {
        assert_int_equal(vq_coord_message(r->c, 1000, &stranger, r->now_ns), VQ_OK);
    }
}

/* Takes the actions; what the turn came to. */
static enum vq_status turn(struct rig *r)
{
    struct vq_coord_action action;
    while (vq_coord_next(r->c, r->now_ns, &action)) {
    }
    return vq_coord_health(r->c);
}

static enum vq_status tell(struct rig *r, uint64_t peer, const struct vq_msg *msg)
{
    return vq_coord_message(r->c, peer, msg, r->now_ns);
}

/* ---- scenes ---- */

static void joined(struct rig *r)
{
    rig_start(r);
    session_of_7 = rig_join(r, 7, 1, 4);
    lease_of_7 = *rig_lease(r, 0);
}

static struct vq_msg_hello hello_of(const struct rig *r, uint64_t n, bool has_spool)
{
    return (struct vq_msg_hello){.worker = rig_worker(n),
                                 .stamp_ns = r->now_ns + 1,
                                 .name = vq_span_str("worker"),
                                 .local = has_spool ? (int64_t)n : -1,
                                 .has_spool = has_spool};
}

static enum vq_status say_hello(struct rig *r)
{
    struct vq_msg msg = {.type = VQ_MSG_HELLO, .u.hello = hello_of(r, 2, true)};
    return tell(r, 8, &msg); /* WELCOME, and a SPEC */
}

static enum vq_status say_hello_again(struct rig *r)
{
    struct vq_msg msg = {.type = VQ_MSG_HELLO, .u.hello = hello_of(r, 1, true)};
    return tell(r, 8, &msg); /* its lease moves, its old connection is closed */
}

static int64_t stamp_of_8;

static void said_hello(struct rig *r)
{
    joined(r);
    struct vq_msg msg = {.type = VQ_MSG_HELLO, .u.hello = hello_of(r, 2, true)};
    stamp_of_8 = msg.u.hello.stamp_ns;
    rig_tell(r, 8, &msg);
}

static enum vq_status say_the_same_hello(struct rig *r)
{
    struct vq_msg msg = {.type = VQ_MSG_HELLO, .u.hello = hello_of(r, 2, true)};
    msg.u.hello.stamp_ns = stamp_of_8;
    return tell(r, 8, &msg);
}

static enum vq_status leave(struct rig *r)
{
    struct vq_msg msg = {.type = VQ_MSG_BYE,
                         .u.bye = {.session = session_of_7, .code = VQ_BYE_LEAVING}};
    return tell(r, 7, &msg);
}

static enum vq_status beat(struct rig *r)
{
    struct vq_held_lease held = {lease_of_7.shard, lease_of_7.fence};
    struct vq_msg msg = {
        .type = VQ_MSG_HEARTBEAT,
        .u.held = {
            .session = session_of_7, .stamp_ns = r->now_ns, .leases = &held, .leases_count = 1}};
    return tell(r, 7, &msg);
}

/* The next heartbeat says a GRANT too. */
static void before_a_grant(struct rig *r)
{
    joined(r);
    for (uint32_t i = 1; i < VQ_COORD_GRANT_HEARTBEATS; i++) {
        rig_beat(r, 7, session_of_7, &lease_of_7);
    }
}

static enum vq_status list_others(struct rig *r)
{
    struct vq_held_lease held[] = {{3, {4, 1}}, {.shard = 9, .fence = {4, 1}, .stage = 3}};
    struct vq_held_call call = {.call = {{1}}, .task = 9};
    struct vq_msg msg = {.type = VQ_MSG_HELD,
                         .u.held = {session_of_7, r->now_ns, held, 2, &call, 1}};
    return tell(r, 7, &msg); /* a lease of an earlier start, one of another stage, and a call */
}

/* Its lease has a settled task, and is in another session's hands. */
static void moved(struct rig *r)
{
    joined(r);
    rig_say_answer(r, 7, session_of_7, &lease_of_7, 0, "Model: equal");
    session_of_7 = rig_hello(r, 8, 1);
}

static enum vq_status list_moved(struct rig *r)
{
    struct vq_held_lease held = {lease_of_7.shard, lease_of_7.fence};
    struct vq_msg msg = {.type = VQ_MSG_HELD,
                         .u.held = {session_of_7, r->now_ns, &held, 1, NULL, 0}};
    return tell(r, 8, &msg);
}

/* A task of the lease was settled by an answer of an earlier one: that is said again. */
static void settled_by_another(struct rig *r)
{
    joined(r);
    struct rig_said old = lease_of_7;
    old.fence.n--;
    rig_say_answer(r, 7, session_of_7, &old, 0, "Model: equal");
}

static enum vq_status say_answers(struct rig *r)
{
    struct vq_result results[2] = {rig_answer(r, &lease_of_7, 0, "Model: A"),
                                   rig_answer(r, &lease_of_7, 2, "Model: B")};
    struct vq_msg msg = {
        .type = VQ_MSG_RESULTS,
        .u.results = {.session = session_of_7, .results = results, .results_count = 2}};
    return tell(r, 7, &msg);
}

static enum vq_status break_a_rule(struct rig *r)
{
    struct vq_msg msg = {.type = VQ_MSG_CANCEL, .u.cancel = {.session = session_of_7}};
    return tell(r, 7, &msg);
}

static enum vq_status say_why(struct rig *r)
{
    struct vq_credit credit = {.state = VQ_POOL_BAD_KEY, .text = vq_span_str("401")};
    struct vq_msg msg = {
        .type = VQ_MSG_CREDIT,
        .u.credit = {.session = session_of_7, .credits = &credit, .credits_count = 1}};
    return tell(r, 7, &msg);
}

static enum vq_status drain(struct rig *r)
{
    return vq_coord_drain(r->c, r->now_ns + rig_ms(RIG_TERM), r->now_ns);
}

static enum vq_status stop(struct rig *r)
{
    return vq_coord_stop(r->c, r->now_ns);
}

static enum vq_status hold(struct rig *r)
{
    return vq_coord_hold(r->c, true, r->now_ns);
}

/* A worker without a spool listed calls of one shard and has a lease of another. */
static void calls_listed(struct rig *r)
{
    r->params.remote = true;
    rig_start(r);
    session_of_7 = rig_hello_as(r, 7, hello_of(r, 1, false));
    struct vq_held_call calls[] = {{.call = {{1}}, .task = 5}, {.call = {{2}}, .task = 0}};
    rig_list(r, 7, session_of_7, VQ_MSG_HELD, NULL, 0, calls, 2);
    rig_credit(r, 7, session_of_7, 0, 100, VQ_POOL_OPEN);
    lease_of_7 = *rig_lease(r, 0);
}

static enum vq_status process_ends(struct rig *r)
{
    return vq_coord_local_ended(r->c, -1, r->now_ns);
}

static enum vq_status stop_and_turn(struct rig *r)
{
    enum vq_status status = stop(r);
    return status == VQ_OK ? turn(r) : status;
}

/* The same, when it was silent for nearly a term. */
static void nearly_silent(struct rig *r)
{
    calls_listed(r);
    rig_pass(r, RIG_TERM - 1);
}

static enum vq_status falls_silent(struct rig *r)
{
    r->now_ns += rig_ms(1);
    return vq_coord_tick(r->c, r->now_ns);
}

/* A single task is out at a worker, after as many losses as there may be. */
static void lost_once_more(struct rig *r)
{
    r->params.worker_lost_max = 1;
    rig_start(r);
    for (uint64_t n = 1; n <= 2; n++) {
        session_of_7 = rig_join(r, 6 + n, n, 100);
        lease_of_7 = *rig_last(r, 6 + n, VQ_MSG_LEASE);
        struct vq_held_call call = {.call = {{(uint8_t)n}}, .task = 0};
        struct vq_held_lease held = {0, (struct vq_fence){5, 0}};
        for (unsigned i = 0; i < rig_count(r, 6 + n, VQ_MSG_LEASE); i++) {
            held.fence = rig_lease(r, i)->shard == 0 ? rig_lease(r, i)->fence : held.fence;
        }
        rig_list(r, 6 + n, session_of_7, VQ_MSG_HEARTBEAT, &held, 1, &call, 1);
        if (n == 1) {
            assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK);
            rig_pull(r);
            rig_mark(r);
        }
    }
}

static enum vq_status the_second_ends(struct rig *r)
{
    return vq_coord_local_ended(r->c, 2, r->now_ns);
}

/* ---- look-ups and commits ---- */

static void looked_up_for(struct rig *r)
{
    r->hold_lookups = true;
    rig_start(r);
}

static enum vq_status answer_look_up(struct rig *r)
{
    const struct vq_known known[4] = {{.outcome = VQ_OUTCOME_FIRST},
                                      {.outcome = VQ_OUTCOME_FIRST, .second = true},
                                      {.prior = {"odd", 3}},
                                      {.second = true, .lazy = true}};
    return vq_coord_looked_up(r->c, 0, known, r->now_ns);
}

/* A task was sent as often as it may be, and is looked up again. */
static void used_up(struct rig *r)
{
    r->params.attempts = (struct vq_attempt_caps){.all = 1};
    joined(r);
    r->hold_lookups = true;
    struct vq_result vain =
        rig_failure(r, &lease_of_7, 0, VQ_END_NETWORK, false, VQ_OUTCOME_UNAVAILABLE);
    rig_results(r, 7, session_of_7, &vain, 1);
    struct vq_msg cancel = {.type = VQ_MSG_CANCEL,
                            .u.cancel = {.session = session_of_7,
                                         .shard = lease_of_7.shard,
                                         .fence = lease_of_7.fence,
                                         .reason = VQ_CANCEL_RETURNED}};
    rig_tell(r, 7, &cancel);
    assert_true(r->lookups_count > 0);
}

static enum vq_status give_up(struct rig *r)
{
    const struct vq_known known[4] = {{0}};
    return vq_coord_looked_up(r->c, 0, known, r->now_ns);
}

/* The answer to a task that another one holds is being committed. */
static void commit_in_flight(struct rig *r)
{
    joined(r);
    r->hold_commits = true;
    struct rig_said old = lease_of_7;
    old.fence.n--;
    rig_say_answer(r, 7, session_of_7, &old, 0, "Model: A");
    assert_non_null(r->batch);
}

static enum vq_status commit(struct rig *r)
{
    const struct vq_settled settled[] = {{0, VQ_OUTCOME_FIRST}};
    return vq_coord_committed(r->c, r->batch->no, settled, 1, r->now_ns);
}

static enum vq_status was_known(struct rig *r)
{
    const size_t known[] = {0};
    return vq_coord_repeated(r->c, r->batch->no, known, 1);
}

static enum vq_status commit_fails(struct rig *r)
{
    return vq_coord_commit_failed(r->c, "the disk is full", r->now_ns);
}

/* One more result that settles nothing stops the run. */
static void unsettled(struct rig *r)
{
    commit_in_flight(r);
    r->hold_commits = false;
    rig_pull(r);
    for (uint32_t i = 1; i < VQ_COORD_UNSETTLED_MAX + 1; i++) {
        if (i == VQ_COORD_UNSETTLED_MAX) {
            r->hold_commits = true;
        }
        lease_of_7 = *rig_last(r, 7, VQ_MSG_LEASE);
        struct vq_result result = rig_answer(r, &lease_of_7, lease_of_7.tasks[0], "Model: A");
        result.request.b[9] ^= 1; /* another question */
        rig_results(r, 7, session_of_7, &result, 1);
        rig_pass(r, RIG_TERM - 1); /* what it builds on may have been on its way */
        rig_beat(r, 7, session_of_7, NULL);
        rig_pass(r, 2);
    }
    assert_non_null(r->batch);
    assert_int_equal(r->stopped, 0);
}

static enum vq_status commit_nothing(struct rig *r)
{
    return vq_coord_committed(r->c, r->batch->no, NULL, 0, r->now_ns);
}

/* A task failed under its holder, and is opened by the commit in flight. */
static void reopened(struct rig *r)
{
    joined(r);
    struct vq_result late =
        rig_failure(r, &lease_of_7, 0, VQ_END_BAD_REQUEST, true, VQ_OUTCOME_ERROR);
    late.fence.n--;
    rig_results(r, 7, session_of_7, &late, 1);
    r->hold_commits = true;
    uint64_t tasks;
    assert_int_equal(vq_coord_requeue(r->c, VQ_FAILURES_ALL, r->now_ns, &tasks), VQ_OK);
    assert_int_equal(tasks, 1);
    rig_pull(r);
    assert_int_equal(r->batch->reopened_count, 1);
}

static void failed(struct rig *r)
{
    joined(r);
    struct vq_result result =
        rig_failure(r, &lease_of_7, 0, VQ_END_BAD_REQUEST, true, VQ_OUTCOME_ERROR);
    rig_results(r, 7, session_of_7, &result, 1);
    uint64_t tasks;
    assert_int_equal(vq_coord_requeue(r->c, VQ_FAILURES_ALL, r->now_ns, &tasks), VQ_OK);
    assert_int_equal(tasks, 1);
}

/* ---- the end, and between two stages ---- */

static void all_stored(struct rig *r)
{
    for (uint64_t task = 0; task < 16; task++) {
        if (task != 12) { /* it is, in all scenes */
            rig_tried(r, task, "Model: A");
        }
    }
}

/* All is settled but one shard, which is about to be, and workers are there to be told. */
static void about_to_finish(struct rig *r)
{
    all_stored(r);
    r->hold_commits = true;
    rig_start(r);
    (void)rig_hello(r, 7, 1);
    (void)rig_hello(r, 8, 2);
    assert_int_equal(r->finished, 0);
}

static void about_to_finish_a_stage(struct rig *r)
{
    r->params.more = true;
    about_to_finish(r);
}

/* The same, and calls that were listed do not come back. */
static void about_to_finish_without_some(struct rig *r)
{
    all_stored(r);
    r->params.remote = true;
    r->params.finish_from_ns = r->now_ns + rig_ms(1);
    rig_start(r);
    uint64_t session = rig_hello_as(r, 7, hello_of(r, 1, false));
    struct vq_held_call call = {.call = {{1}}, .task = 5};
    for (int i = 0; i < RIG_TERM / RIG_HEARTBEAT; i++) {
        rig_list(r, 7, session, VQ_MSG_HEARTBEAT, NULL, 0, &call, 1);
        rig_pass(r, RIG_HEARTBEAT);
    }
    rig_list(r, 7, session, VQ_MSG_HEARTBEAT, NULL, 0, &call, 1);
    assert_int_equal(r->finished, 0);
}

static enum vq_status nobody_waits_longer(struct rig *r)
{
    r->now_ns += rig_ms(RIG_HEARTBEAT - 1);
    enum vq_status status = vq_coord_tick(r->c, r->now_ns);
    return status == VQ_OK ? turn(r) : status;
}

static enum vq_status commit_and_turn(struct rig *r)
{
    enum vq_status status = vq_coord_committed(r->c, r->batch->no, NULL, 0, r->now_ns);
    return status == VQ_OK ? turn(r) : status;
}

static void between_stages(struct rig *r)
{
    about_to_finish_a_stage(r);
    r->hold_commits = false;
    rig_pull(r);
    assert_int_equal(r->finished, 1);
    struct vq_msg msg = {.type = VQ_MSG_HELLO, .u.hello = hello_of(r, 3, true)};
    rig_tell(r, 9, &msg);
}

static enum vq_status wait_for_the_next(struct rig *r)
{
    struct vq_msg msg = {.type = VQ_MSG_HELLO, .u.hello = hello_of(r, 4, true)};
    return tell(r, 10, &msg);
}

static enum vq_status no_more(struct rig *r)
{
    return vq_coord_no_more(r->c, VQ_BYE_DONE, r->now_ns);
}

static enum vq_status hand_over(struct rig *r)
{
    struct vq_coord *to = NULL;
    r->params.stage = 1;
    enum vq_status status = vq_coord_create(&r->params, r->now_ns, &to, NULL);
    if (status == VQ_OK) {
        status = vq_coord_hand_over(r->c, to, r->now_ns);
    }
    struct vq_coord *done = status == VQ_OK ? r->c : to;
    r->c = status == VQ_OK ? to : r->c;
    vq_coord_destroy(&done);
    return status;
}

/* One worker is gone before the stage ends, with what nobody has looked up. */
static void between_stages_without_one(struct rig *r)
{
    all_stored(r);
    r->params.more = true;
    r->hold_commits = true;
    rig_start(r);
    (void)rig_hello(r, 7, 1);
    rig_pass(r, RIG_TERM);
    assert_int_equal(rig_status(r).sessions, 0);
    r->hold_commits = false;
    rig_pull(r);
    assert_int_equal(r->finished, 1);
}

/* ---- all of them ---- */

static const struct scene scenes[] = {
    {"say hello", joined, say_hello},
    {"say hello again", joined, say_hello_again},
    {"say the same hello twice", said_hello, say_the_same_hello},
    {"leave", joined, leave},
    {"heartbeat", joined, beat},
    {"heartbeat with a grant", before_a_grant, beat},
    {"leases of others", joined, list_others},
    {"a lease that moved", moved, list_moved},
    {"a settled task again", settled_by_another, beat},
    {"answers", joined, say_answers},
    {"a broken rule", joined, break_a_rule},
    {"a closed pool", joined, say_why},
    {"drain", joined, drain},
    {"stop", joined, stop},
    {"hold", joined, hold},
    {"an end with calls out", calls_listed, process_ends},
    {"a stop with calls out", calls_listed, stop_and_turn},
    {"silence with calls out", nearly_silent, falls_silent},
    {"a last loss", lost_once_more, the_second_ends},
    {"a look-up", looked_up_for, answer_look_up},
    {"a look-up of what was sent too often", used_up, give_up, true},
    {"a commit", commit_in_flight, commit},
    {"known calls", commit_in_flight, was_known},
    {"a commit that fails", commit_in_flight, commit_fails},
    {"results of other questions", unsettled, commit_nothing},
    {"a task opened again", reopened, commit_nothing},
    {"asked again by hand", failed, turn},
    {"the end", about_to_finish, commit_and_turn},
    {"the end of a stage", about_to_finish_a_stage, commit_and_turn},
    {"the end without some calls", about_to_finish_without_some, nobody_waits_longer},
    {"a HELLO between stages", between_stages, wait_for_the_next},
    {"no further stage", between_stages, no_more},
    {"a further stage", between_stages, hand_over},
    {"a further stage without a worker", between_stages_without_one, hand_over},
};

/* The event with its at-th allocation failing, and room for so many actions (-1: for all); false:
 * it makes fewer. */
static bool play(struct rig *r, const struct scene *scene, int room, uint64_t at)
{
    rig_init(r, 4, 1, 2);
    rig_tried(r, 12, "Model: A"); /* past the probe */
    scene->set(r);
    if (room >= 0) {
        fill(r, (uint64_t)room);
    }
    uint64_t dropped = rig_status(r).notes_dropped;
    uint64_t before = vq_alloc_count();
    vq_alloc_fail_at(at);
    enum vq_status status = scene->event(r);
    bool reached = at > 0 && vq_alloc_count() - before >= at;
    vq_alloc_fail_at(0);
    bool unsaid = rig_status(r).notes_dropped > dropped; /* a line for the log was left out */
    bool spared = unsaid || scene->spared;
    if (status != (reached ? VQ_NOMEM : VQ_OK) && !(reached && spared && status == VQ_OK)) {
        fail_msg("%s, room for %d, allocation %llu: %s", scene->name, room, (unsigned long long)at,
                 vq_status_name(status));
    }
    rig_end(r);
    return reached;
}

TEST(what_cannot_be_said_is_not_said_to_be_done)
{
    static struct rig rig;
    for (size_t i = 0; i < VQ_COUNT(scenes); i++) {
        for (int room = -1; room < 3; room++) {
            (void)play(&rig, &scenes[i], room, 0); /* it goes well with all the memory it wants */
            uint64_t at = 1;
            while (play(&rig, &scenes[i], room, at)) {
                at++;
            }
            if (room == 0 && at == 1) {
                fail_msg("%s: nothing is said", scenes[i].name);
            }
        }
    }
}
