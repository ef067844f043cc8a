/* What the core makes of the authority over the pools: GRANTs, pools that close or park, the
 * budget, and what gone workers left. */
#include "tests/unit/coordinator/queue/rig.h"

static const uint32_t both[] = {0, 1};

/* One judge, past its probe, that two pools serve. */
static void two_pools(struct rig *r)
{
    r->judges[0].pools = both;
    r->judges[0].pools_count = 2;
    r->pool[1] = (struct vq_authority_pool){.name = "other", .limit.concurrency = 1000};
    r->pools.pools_count = 2;
}

static void beats(struct rig *r, uint64_t peer, uint64_t session, int64_t ms)
{
    for (int64_t at = 0; at < ms; at += RIG_HEARTBEAT) {
        rig_pass(r, RIG_HEARTBEAT);
        rig_beat(r, peer, session, NULL);
    }
}

static struct vq_authority_money money_of(const struct rig *r)
{
    struct vq_authority_money money;
    vq_authority_money(r->authority, &money);
    return money;
}

static void who_reports_is_granted_a_slice(void **state)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, NULL, 0);
    assert_int_equal(rig_count(r, 7, VQ_MSG_GRANT), 0); /* who knows what it goes by */
    rig_credit(r, 7, session, 0, 8, VQ_POOL_OPEN);
    rig_pass(r, RIG_HEARTBEAT);
    uint64_t n = rig_last(r, 7, VQ_MSG_GRANT)->n;
    assert_true(rig_last(r, 7, VQ_MSG_GRANT)->concurrency > 0);
    assert_int_equal(rig_last(r, 7, VQ_MSG_GRANT)->spend_most, VQ_AMOUNT_ANY);
    rig_credit(r, 7, session, 0, 8, VQ_POOL_OPEN);
    rig_mark(r);
    beats(r, 7, session, (int64_t)VQ_COORD_GRANT_HEARTBEATS * RIG_HEARTBEAT);
    assert_true(rig_count(r, 7, VQ_MSG_GRANT) >= 1); /* either way a message may be lost */
    assert_true(rig_last(r, 7, VQ_MSG_GRANT)->n > n);
}

static void a_worker_goes_on_with_its_slices_in_the_next_stage(void **state)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 1, 1, 1);
    r->params.more = true;
    r->store.swap = VQ_SWAP_BOTH;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    rig_pass(r, 10);
    uint64_t n = rig_last(r, 7, VQ_MSG_GRANT)->n;
    struct rig_said lease = *rig_last(r, 7, VQ_MSG_LEASE);
    struct vq_result results[2] = {rig_answer(r, &lease, 0, "Model: A"),
                                   rig_answer(r, &lease, 1, "Model: A")};
    rig_results(r, 7, session, results, 2);
    assert_int_equal(r->finished, 1);
    struct vq_coord *before = r->c;
    r->params.stage = r->store.stage = 1;
    r->params.grid.samples = 2;
    struct vq_error err = {""};
    assert_int_equal(vq_coord_create(&r->params, r->now_ns, &r->c, &err), VQ_OK);
    assert_int_equal(vq_coord_hand_over(before, r->c, r->now_ns), VQ_OK);
    vq_coord_destroy(&before);
    struct vq_authority_pool_status pool;
    vq_authority_status(r->authority, 0, r->now_ns, &pool);
    assert_int_equal(pool.workers, 1); /* it has said nothing since, and has not gone */
    session = rig_join(r, 7, 1, 8);
    beats(r, 7, session, (int64_t)VQ_COORD_GRANT_HEARTBEATS * RIG_HEARTBEAT);
    assert_true(rig_last(r, 7, VQ_MSG_GRANT)->n > n);
}

/* ---- pools that let nothing start ---- */

static void while_one_pool_is_closed_the_other_goes_on(void **state)
{
    struct rig *r = *state;
    two_pools(r);
    rig_start(r);
    r->report[0].state = VQ_POOL_BAD_KEY;
    uint64_t session = rig_join(r, 7, 1, 8);
    rig_probe(r, 7, session);
    assert_int_equal(r->stopped, 0);
    assert_true(rig_count(r, 7, VQ_MSG_LEASE) > 1);
    struct vq_coord_judge_status judge;
    vq_coord_judge_fill(r->c, 0, r->now_ns, &judge);
    assert_false(judge.closed);
    assert_true(judge.when_ns <= r->now_ns);
    r->report[1].state = VQ_POOL_NO_MONEY;
    rig_credit(r, 7, session, 0, 0, VQ_POOL_NO_MONEY);
    vq_coord_judge_fill(r->c, 0, r->now_ns, &judge);
    assert_true(judge.when_ns == INT64_MAX);
}

static void a_probe_that_one_pool_refused_goes_to_the_other(void **state)
{
    struct rig *r = *state;
    two_pools(r);
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    r->report[0].state = VQ_POOL_BAD_KEY;
    rig_credit(r, 7, session, 0, 8, VQ_POOL_OPEN);
    rig_pass(r, RIG_HEARTBEAT);
    assert_int_equal(r->stopped, 0);
    r->report[1].state = VQ_POOL_NO_MODEL;
    struct vq_msg back = {.type = VQ_MSG_CANCEL,
                          .u.cancel = {.session = session,
                                       .shard = rig_lease(r, 0)->shard,
                                       .fence = rig_lease(r, 0)->fence,
                                       .reason = VQ_CANCEL_RETURNED}};
    rig_credit(r, 7, session, 0, 0, VQ_POOL_NO_MODEL);
    rig_tell(r, 7, &back);
    assert_int_equal(rig_count(r, 7, VQ_MSG_DRAIN), 1); /* now nobody can answer */
}

static void parked_pools_are_waited_for(void **state)
{
    struct rig *r = *state;
    rig_start(r);
    vq_authority_clock(r->authority, 1000000, r->now_ns);
    uint64_t session = rig_join(r, 7, 1, 8);
    rig_probe(r, 7, session);
    int64_t park_s = 10 * RIG_TERM / 1000;
    r->report[0].park_unix_s = 1000000 + park_s;
    rig_credit(r, 7, session, 0, 8, VQ_POOL_OPEN);
    struct vq_coord_judge_status judge;
    vq_coord_judge_fill(r->c, 0, r->now_ns, &judge);
    assert_true(judge.when_ns > r->now_ns + rig_ms(5 * RIG_TERM));
    beats(r, 7, session, (int64_t)8 * RIG_TERM);
    assert_int_equal(rig_last(r, 7, VQ_MSG_GRANT)->concurrency, 0);
    assert_int_equal(r->stopped, 0);
    assert_int_equal(rig_status(r).all.state[VQ_TASK_FAILED], 0);
    assert_int_equal(rig_status(r).sessions, 1);
    beats(r, 7, session, (int64_t)4 * RIG_TERM);
    r->report[0].park_unix_s = 0;
    rig_credit(r, 7, session, 0, 8, VQ_POOL_OPEN);
    beats(r, 7, session, 2 * (int64_t)RIG_HEARTBEAT);
    assert_true(rig_last(r, 7, VQ_MSG_GRANT)->concurrency > 0);
}

/* ---- money ---- */

static struct vq_result paid(struct rig *r, const struct rig_said *lease, uint64_t task,
                             uint64_t cost_nano)
{
    struct vq_result result = rig_answer(r, lease, task, "Model: A");
    result.cost_nano = cost_nano;
    result.pool = vq_span_str("ada");
    return result;
}

static void an_empty_budget_stops_the_run_and_says_how_to_go_on(void **state)
{
    struct rig *r = *state;
    r->pools.budget_nano = 1000;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    struct rig_said lease = *rig_lease(r, 0);
    r->hold_commits = true;
    struct vq_result result = paid(r, &lease, lease.tasks[0], 1000);
    rig_results(r, 7, session, &result, 1);
    r->spend = (struct vq_amount){.used = 1000, .open = 1000};
    rig_credit(r, 7, session, 0, 8, VQ_POOL_OPEN);
    beats(r, 7, session, 2 * (int64_t)VQ_COORD_BROKE_HEARTBEATS * RIG_HEARTBEAT);
    assert_int_equal(rig_count(r, 7, VQ_MSG_DRAIN), 0); /* what it cost is not durable yet */
    r->hold_commits = false;
    rig_pull(r);
    r->spend.open = 0;
    rig_credit(r, 7, session, 0, 8, VQ_POOL_OPEN);
    assert_int_equal(money_of(r).spent_nano, 1000);
    beats(r, 7, session, 2 * (int64_t)VQ_COORD_BROKE_HEARTBEATS * RIG_HEARTBEAT);
    assert_true(rig_count(r, 7, VQ_MSG_DRAIN) > 0);
    struct vq_msg bye = {.type = VQ_MSG_BYE, .u.bye = {.session = session, .code = VQ_BYE_LEAVING}};
    rig_tell(r, 7, &bye);
    assert_int_equal(r->stopped, 1);
    assert_int_equal(r->stop_kind, VQ_COORD_STOP_BUDGET);
    assert_non_null(strstr(r->stop_text, "vibeq resume rig --set budget.usd=N"));
    assert_int_equal(rig_status(r).all.state[VQ_TASK_FAILED], 0);
}

static void an_empty_budget_does_not_matter_when_all_is_stored(void **state)
{
    struct rig *r = *state;
    for (uint64_t task = 0; task < 16; task++) {
        rig_tried(r, task, "Model: A");
    }
    r->pools.budget_nano = r->pools.spent_nano = 1000;
    rig_start(r);
    assert_int_equal(r->finished, 1);
}

/* ---- who is gone ---- */

static void our_own_pause_is_nobodys_silence(void **state)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    r->now_ns += rig_ms(5 * RIG_TERM);
    assert_int_equal(vq_coord_tick(r->c, r->now_ns), VQ_OK);
    rig_pull(r);
    assert_int_equal(rig_status(r).sessions, 1);
    assert_int_equal(rig_status(r).pauses, 1);
    rig_beat(r, 7, session, NULL);
    assert_int_equal(rig_count(r, 7, VQ_MSG_BYE), 0);
    rig_pass(r, RIG_TERM);
    assert_int_equal(rig_status(r).sessions, 0);
}

/* It used up to 400 of the budget, of which 100 are committed. */
static uint64_t joined_with_open_calls(struct rig *r, struct rig_said *ret_lease)
{
    r->pools.budget_nano = 1000000;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    *ret_lease = *rig_lease(r, 0);
    struct vq_result result = paid(r, ret_lease, ret_lease->tasks[0], 100);
    rig_results(r, 7, session, &result, 1);
    r->spend = (struct vq_amount){.used = 400, .open = 300};
    rig_credit(r, 7, session, 0, 8, VQ_POOL_OPEN);
    assert_int_equal(money_of(r).spent_nano, 100);
    return session;
}

static void what_a_silent_worker_left_counts_until_its_spool_is_read(void **state)
{
    struct rig *r = *state;
    struct rig_said lease;
    (void)joined_with_open_calls(r, &lease);
    rig_pass(r, 3 * RIG_TERM);
    assert_int_equal(rig_status(r).sessions, 0);
    assert_true(money_of(r).out_nano >= 300);
    /* its process is found dead, and one call in its spool */
    struct vq_result found = paid(r, &lease, lease.tasks[0] ^ 1, 250);
    size_t taken;
    r->hold_commits = true;
    assert_int_equal(vq_coord_import(r->c, vq_span_str("worker"), &found, 1, r->now_ns, &taken),
                     VQ_OK);
    assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK);
    rig_pass(r, RIG_TERM);
    assert_true(money_of(r).out_nano >= 300); /* not durable yet */
    r->hold_commits = false;
    rig_pull(r);
    rig_pass(r, RIG_HEARTBEAT);
    assert_int_equal(money_of(r).out_nano, 0);
    assert_int_equal(money_of(r).spent_nano, 350);
}

static void a_worker_that_comes_back_left_nothing(void **state)
{
    struct rig *r = *state;
    struct rig_said lease;
    (void)joined_with_open_calls(r, &lease);
    rig_pass(r, 3 * RIG_TERM);
    r->spend.open = 0; /* all of it was refunded */
    r->spend.used = 100;
    uint64_t session = rig_join(r, 8, 1, 0);
    beats(r, 8, session, RIG_TERM);
    assert_int_equal(money_of(r).spent_nano, 100);
    rig_pass(r, RIG_TERM);
    assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK);
    rig_pass(r, RIG_HEARTBEAT);
    assert_int_equal(money_of(r).out_nano, 0);
}

/* Another process has its spool, and says what is in it: 250, of one call. */
static void succeed(struct rig *r, uint64_t peer, uint64_t n)
{
    struct vq_msg_hello hello = {.worker = rig_worker(n),
                                 .before = rig_worker(1),
                                 .stamp_ns = r->now_ns,
                                 .spec = r->params.spec,
                                 .local = -1,
                                 .has_spool = true};
    uint64_t session = rig_hello_as(r, peer, hello);
    rig_list(r, peer, session, VQ_MSG_HELD, NULL, 0, NULL, 0);
    r->spend = (struct vq_amount){.used = 250, .open = 250, .most = 250};
    rig_credit(r, peer, session, 0, 0, VQ_POOL_OPEN);
    beats(r, peer, session, RIG_TERM);
}

static void who_has_the_spool_of_who_left_says_what_that_one_spent(void **state)
{
    struct rig *r = *state;
    struct rig_said lease;
    (void)joined_with_open_calls(r, &lease);
    rig_pass(r, 3 * RIG_TERM);
    assert_true(money_of(r).out_nano > 250);
    succeed(r, 8, 2);
    assert_int_equal(money_of(r).out_nano, 250);
}

static void who_has_the_spool_may_come_before_the_other_is_missed(void **state)
{
    struct rig *r = *state;
    struct rig_said lease;
    (void)joined_with_open_calls(r, &lease);
    rig_pass(r, RIG_HEARTBEAT);
    succeed(r, 8, 2);
    struct vq_msg_hello again = {.worker = rig_worker(2),
                                 .before = rig_worker(1),
                                 .stamp_ns = r->now_ns,
                                 .spec = r->params.spec,
                                 .local = -1,
                                 .has_spool = true};
    uint64_t session = rig_hello_as(r, 8, again); /* and in each later session */
    rig_list(r, 8, session, VQ_MSG_HELD, NULL, 0, NULL, 0);
    rig_credit(r, 8, session, 0, 0, VQ_POOL_OPEN);
    beats(r, 8, session, 3 * RIG_TERM);
    assert_int_equal(rig_status(r).sessions, 1);
    assert_in_range(money_of(r).out_nano, 250, 299); /* it may be granted a little more */
}

static void of_the_next_stage(void *ctx, uint64_t task, uint32_t repeat, struct vq_hash *ret)
{
    rig_request_of(ctx, task, repeat, ret);
    ret->b[5] ^= 1;
}

/* What was found of it between two stages is being committed when the next one begins, which sees
 * nothing of that: what it left counts until then. */
static void what_is_committed_across_two_stages_is_waited_for(void **state)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 1, 1, 1);
    r->params.more = true;
    r->store.swap = VQ_SWAP_BOTH;
    struct rig_said lease;
    uint64_t session = joined_with_open_calls(r, &lease);
    for (uint64_t task = 0; task < 2; task++) {
        rig_say_answer(r, 7, session, &lease, task, "Model: A");
    }
    assert_int_equal(r->finished, 1);
    r->hold_commits = true;
    assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK);
    struct vq_result found = paid(r, &lease, 1, 250);
    size_t taken;
    assert_int_equal(vq_coord_import(r->c, vq_span_str("worker"), &found, 1, r->now_ns, &taken),
                     VQ_OK);
    rig_pull(r);
    assert_non_null(r->batch);
    struct vq_coord *before = r->c, *next = NULL;
    r->params.stage = r->store.stage = 1;
    assert_int_equal(vq_coord_create(&r->params, r->now_ns, &next, NULL), VQ_OK);
    assert_int_equal(vq_coord_hand_over(before, next, r->now_ns), VQ_OK);
    r->c = next;
    r->store.request_of = of_the_next_stage;
    rig_pass(r, RIG_TERM - RIG_HEARTBEAT);
    assert_int_equal(money_of(r).spent_nano, 100);
    assert_true(money_of(r).out_nano >= 300);
    r->c = before;
    rig_commit(r);
    vq_coord_destroy(&before);
    r->c = next;
    assert_int_equal(money_of(r).spent_nano, 350);
    assert_int_equal(money_of(r).out_nano, 0);
}

/* A worker without a spool listed a call before it was killed: it is taken for as dear as any. */
static void a_call_that_nobody_can_look_up_is_paid_for(void **state)
{
    struct rig *r = *state;
    r->pools.budget_nano = 1000000;
    r->params.remote = true;
    rig_start(r);
    struct vq_msg_hello hello = {
        .worker = rig_worker(1), .stamp_ns = 1, .spec = r->params.spec, .local = -1};
    uint64_t session = rig_hello_as(r, 7, hello);
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, NULL, 0);
    rig_credit(r, 7, session, 0, 8, VQ_POOL_OPEN);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_result result = paid(r, &lease, lease.tasks[0], 100);
    rig_results(r, 7, session, &result, 1);
    r->spend = (struct vq_amount){.used = 400, .open = 300};
    rig_credit(r, 7, session, 0, 8, VQ_POOL_OPEN);
    struct vq_held_call calls[2] = {{.call = {{1}}, .task = 6}, {.call = {{2}}, .task = 7}};
    rig_list(r, 7, session, VQ_MSG_HEARTBEAT, NULL, 0, calls, 2);
    rig_pass(r, 2 * RIG_TERM);
    assert_int_equal(rig_status(r).sessions, 0);
    assert_int_equal(rig_status(r).all.ends[VQ_END_UNKNOWN], 2);
    assert_int_equal(money_of(r).spent_nano, 100 + 2 * 150);
    assert_true(money_of(r).out_nano >=
                300); /* it may have started more: that is kept back for good */
}

/* What a dead worker sent may be at its provider yet: the next start has to wait for it. */
static void a_stop_soon_after_a_kill_is_not_clean(void **state)
{
    struct rig *r = *state;
    rig_start(r);
    (void)rig_join(r, 7, 1, 0);
    assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK);
    rig_pull(r);
    assert_false(vq_coord_clean(r->c));
    rig_pass(r, RIG_TERM);
    assert_true(vq_coord_clean(r->c));
}

/* Most of the budget is kept for a worker that nobody finds, and what is left is less than a call
 * reserves. */
static void money_that_nobody_can_use_stops_the_run(void **state)
{
    struct rig *r = *state;
    struct rig_said lease;
    (void)joined_with_open_calls(r, &lease);
    rig_pass(r, 3 * RIG_TERM);
    uint64_t left = money_of(r).out_nano;
    r->spend = (struct vq_amount){.unit = 1000000 - 100 - left + 1};
    uint64_t session = rig_join(r, 8, 2, 8);
    beats(r, 8, session, RIG_TERM);
    assert_int_equal(rig_count(r, 8, VQ_MSG_DRAIN), 0); /* it may be found yet */
    beats(r, 8, session, (int64_t)(3 * VQ_COORD_BROKE_TERMS) * RIG_TERM);
    assert_true(rig_count(r, 8, VQ_MSG_DRAIN) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
        T(who_reports_is_granted_a_slice),
        T(a_worker_goes_on_with_its_slices_in_the_next_stage),
        T(while_one_pool_is_closed_the_other_goes_on),
        T(a_probe_that_one_pool_refused_goes_to_the_other),
        T(parked_pools_are_waited_for),
        T(an_empty_budget_stops_the_run_and_says_how_to_go_on),
        T(an_empty_budget_does_not_matter_when_all_is_stored),
        T(our_own_pause_is_nobodys_silence),
        T(what_a_silent_worker_left_counts_until_its_spool_is_read),
        T(a_worker_that_comes_back_left_nothing),
        T(who_has_the_spool_of_who_left_says_what_that_one_spent),
        T(who_has_the_spool_may_come_before_the_other_is_missed),
        T(what_is_committed_across_two_stages_is_waited_for),
        T(a_call_that_nobody_can_look_up_is_paid_for),
        T(a_stop_soon_after_a_kill_is_not_clean),
        T(money_that_nobody_can_use_stops_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
