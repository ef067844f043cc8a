/* What peers send at random never fails an assertion, never ends the run, and stays within bounds;
 * and a process that runs out of memory at any point says so and can be taken apart. */
#include "common/base/rng.h"
#include "proto/limits.h"
#include "proto/result.h"
#include "tests/unit/coordinator/queue/rig.h"

#define ROUNDS   20000
#define LIST_MAX 8

static struct rig rig;

struct dice {
    struct vq_rng rng;
    struct vq_held_lease leases[LIST_MAX];
    struct vq_held_call calls[LIST_MAX];
    struct vq_credit credits[LIST_MAX];
    struct vq_pool_report reports[LIST_MAX];
    struct vq_result results[LIST_MAX];
    uint64_t tasks[LIST_MAX];
    char text[VQ_RESULT_BATCH_BYTES]; /* the last one: results of a list share it */
};

static uint64_t draw(struct dice *d, uint64_t below)
{
    return vq_rng_below(&d->rng, below);
}

/* Mostly in range, sometimes just outside, sometimes anything. */
static uint64_t near(struct dice *d, uint64_t below)
{
    uint64_t kind = draw(d, 50);
    return kind == 0 ? vq_rng_u64(&d->rng) : kind == 1 ? below : draw(d, below);
}

static struct vq_fence fence(struct dice *d, const struct rig *r)
{
    if (draw(d, 3) > 0) {
        for (size_t i = r->said_count; i > 0; i--) { /* a fence that was given out lately */
            if (r->said[i - 1].type == VQ_MSG_LEASE && draw(d, 3) == 0) {
                return r->said[i - 1].fence;
            }
        }
    }
    return (struct vq_fence){4 + draw(d, 3), draw(d, 40)};
}

static const char *const batches[] = {"vq-0100000000000055-1",
                                      "vq-0100000000000055-2",
                                      "vq-0100000000000055-3",
                                      "vq-0200000000000055-1",
                                      "",
                                      "b-1"};

static struct vq_msg_batch random_batch(struct dice *d, uint64_t session)
{
    static const char *const ids[] = {"", "", "batch_1", "batch_2"};
    return (struct vq_msg_batch){.session = session,
                                 .name = vq_span_str(batches[draw(d, VQ_COUNT(batches))]),
                                 .pool = vq_span_str("ada"),
                                 .id = vq_span_str(ids[draw(d, VQ_COUNT(ids))]),
                                 .state = (uint8_t)draw(d, VQ_BATCH_PROGRESS_OVER + 1),
                                 .calls = (uint32_t)near(d, VQ_WIRE_BATCH_CALLS_MAX),
                                 .ended = (uint32_t)near(d, 9)};
}

static void fill_result(struct dice *d, struct rig *r, struct vq_result *result)
{
    static const char *const texts[] = {"Model: A", "Model: equal", "nothing much", ""};
    uint64_t task = near(d, 16);
    *result = (struct vq_result){.shard = draw(d, 30) == 0 ? near(d, 4) : task / 4,
                                 .fence = fence(d, r),
                                 .task = task,
                                 .repeat = draw(d, 40) == 0 ? 1 : 0,
                                 .kind = (uint8_t)draw(d, draw(d, 60) == 0 ? 256 : 2),
                                 .end = (uint8_t)draw(d, draw(d, 60) == 0 ? 256 : VQ_END__COUNT),
                                 .outcome = (uint8_t)draw(d, 256),
                                 .final = draw(d, 2) == 0,
                                 .answer = vq_span_str(texts[draw(d, 4)])};
    result->call = rig_worker(1);
    result->call.b[8] = (uint8_t)draw(d, 250);
    if (result->end == VQ_END_BATCHED && draw(d, 20) > 0) {
        vq_result_batch_text(batches[draw(d, 3)], (uint32_t)near(d, 9), d->text);
        result->error = vq_span_str(d->text);
        result->pool = vq_span_str("ada");
        result->final = false;
    }
    rig_request_of(NULL, task, 0, &result->request);
    if (!vq_outcome_is_failed((enum vq_outcome)result->outcome)) {
        result->outcome =
            (uint8_t)vq_verdict_ranker(result->answer, result->finish_reason, result->refusal);
    }
}

static struct vq_msg random_message(struct dice *d, struct rig *r, uint64_t session)
{
    uint64_t id = draw(d, 20) == 0 ? draw(d, 40) : session;
    uint32_t n = (uint32_t)draw(d, LIST_MAX);
    struct vq_msg msg = {.type = (enum vq_msg_type)(draw(d, VQ_MSG_COLLECT + 1))};
    switch ((int)msg.type) {
    case VQ_MSG_HELLO:
        msg.u.hello = (struct vq_msg_hello){.worker = rig_worker(draw(d, 4)),
                                            .stamp_ns = (int64_t)draw(d, 3),
                                            .local = (int64_t)draw(d, 3) - 1};
        break;
    case VQ_MSG_HELD:
    case VQ_MSG_HEARTBEAT:
        for (uint32_t i = 0; i < n; i++) {
            d->leases[i] = (struct vq_held_lease){near(d, 4), fence(d, r)};
            d->calls[i] = (struct vq_held_call){{{1}}, near(d, 16)};
            d->calls[i].call.b[8] = (uint8_t)draw(d, 250);
        }
        msg.u.held = (struct vq_msg_held){
            id, (int64_t)vq_rng_u64(&d->rng) >> draw(d, 63), d->leases, n, d->calls, n};
        break;
    case VQ_MSG_CREDIT:
        for (uint32_t i = 0; i < n; i++) {
            d->credits[i] = (struct vq_credit){.judge = (uint32_t)near(d, 1),
                                               .tasks = (uint32_t)near(d, 20),
                                               .state = (uint8_t)(draw(d, 30) == 0 ? 9 : 0)};
        }
        for (uint32_t i = 0; i < n; i++) {
            d->reports[i] = (struct vq_pool_report){.pool = (uint32_t)near(d, 1),
                                                    .state = (uint8_t)(draw(d, 30) == 0 ? 9 : 0),
                                                    .in_flight = (uint32_t)near(d, 20),
                                                    .waiting = (uint32_t)near(d, 20),
                                                    .refused = near(d, 20),
                                                    .unit.tokens = (double)near(d, 20),
                                                    .day_tokens = {near(d, 9), near(d, 9), 0}};
        }
        msg.u.credit = (struct vq_msg_credit){.session = id,
                                              .granted_n = near(d, 9),
                                              .spend = {near(d, 9), near(d, 9), near(d, 9)},
                                              .credits = d->credits,
                                              .credits_count = n,
                                              .reports = d->reports,
                                              .reports_count = n};
        break;
    case VQ_MSG_RESULTS:
        for (uint32_t i = 0; i < n; i++) {
            fill_result(d, r, &d->results[i]);
        }
        msg.u.results = (struct vq_msg_results){id, d->results, n};
        break;
    case VQ_MSG_CANCEL:
        for (uint32_t i = 0; i < n; i++) {
            d->tasks[i] = near(d, 16);
        }
        msg.u.cancel =
            (struct vq_msg_cancel){id, near(d, 4), fence(d, r), (uint8_t)draw(d, 4), d->tasks, n};
        break;
    case VQ_MSG_DRAIN: msg.u.drain.session = draw(d, 10) == 0 ? id : 0; break;
    case VQ_MSG_BYE: msg.u.bye = (struct vq_msg_bye){id, VQ_BYE_LEAVING, {"x", 1}}; break;
    case VQ_MSG_BATCH: msg.u.batch = random_batch(d, id); break;
    default: break;
    }
    return msg;
}

static void one_run_of_noise(uint64_t seed)
{
    struct dice d;
    vq_rng_seed(&d.rng, seed);
    rig_init(&rig, 4, 1, 2);
    rig.params.remote = true;
    rig.params.commit_results_max = 5;
    rig_start(&rig);
    for (unsigned i = 0; i < ROUNDS / 40; i++) {
        uint64_t peer = 1 + draw(&d, 4);
        uint64_t session = 0;
        for (size_t s = rig.said_count; s > 0 && session == 0; s--) {
            session = rig.said[s - 1].peer == peer ? rig.said[s - 1].session : 0;
        }
        struct vq_msg msg = random_message(&d, &rig, session);
        rig.hold_commits = draw(&d, 2) == 0;
        rig.hold_lookups = draw(&d, 2) == 0;
        rig_tell(&rig, peer, &msg);
        if (draw(&d, 10) == 0) {
            rig_pass(&rig, (int64_t)draw(&d, 3 * RIG_TERM));
        }
        if (rig.said_count > RIG_SAID_MAX / 2) {
            rig.said_count = rig.mark = 0;
        }
        struct vq_coord_status status = rig_status(&rig);
        assert_true(status.sessions <= 4);
        assert_true(status.leased_shards + status.ready_shards <= 4);
    }
    rig_end(&rig);
}

static void noise_does_no_harm(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        one_run_of_noise(seed);
    }
}

/* A short life with everything in it; false when memory ran out on the way. */
static bool short_life(struct vq_coord **ret_coord, const struct vq_coord_params *params,
                       struct rig *r)
{
    struct vq_coord_action action;
    struct vq_known known[4] = {
        {.prior = {"odd", 3}}, {.second = true, .lazy = true}, {0}, {.second = true}};
    struct rig_said lease = {.fence = {5, 1}};
    struct vq_result results[2] = {rig_answer(r, &lease, 0, "Model: A"),
                                   rig_answer(r, &lease, 4, "Model: A")};
    struct vq_held_lease stale = {3, {4, 1}};
    struct vq_held_call call = {rig_worker(77), 9};
    struct vq_credit credit = {.tasks = 8, .text = {"why", 3}};
    const struct vq_msg messages[] = {
        {.type = VQ_MSG_HELLO, .u.hello = {.worker = rig_worker(1), .stamp_ns = 1}},
        {.type = VQ_MSG_HELD, .u.held = {1, 2, &stale, 1, &call, 1}},
        {.type = VQ_MSG_CREDIT,
         .u.credit = {.session = 1,
                      .credits = &credit,
                      .credits_count = 1,
                      .reports = r->report,
                      .reports_count = 1}},
        {.type = VQ_MSG_RESULTS, .u.results = {1, results, 2}},
        {.type = VQ_MSG_HELLO, .u.hello = {.worker = rig_worker(1), .stamp_ns = 3}},
        {.type = VQ_MSG_CANCEL, .u.cancel = {.session = 2}},
    };
    if (vq_coord_create(params, 1, ret_coord, NULL) != VQ_OK) {
        return false;
    }
    for (size_t i = 0; i < VQ_COUNT(messages); i++) {
        if (vq_coord_message(*ret_coord, 7, &messages[i], 2) != VQ_OK) {
            return false;
        }
        while (vq_coord_next(*ret_coord, 2, &action)) {
            struct vq_settled settled = {0, VQ_OUTCOME_FIRST};
            if (action.type == VQ_COORD_LOOKUP &&
                vq_coord_looked_up(*ret_coord, action.u.shard, known, 2) != VQ_OK) {
                return false;
            }
            if (action.type == VQ_COORD_COMMIT &&
                vq_coord_committed(*ret_coord, action.u.batch->no, &settled, 1, 2) != VQ_OK) {
                return false;
            }
        }
        if (vq_coord_health(*ret_coord) != VQ_OK) {
            return false;
        }
    }
    return true;
}

static void no_memory_at_any_point_is_said_and_leaks_nothing(void **state)
{
    (void)state;
    rig_init(&rig, 4, 1, 2);
    unsigned failed = 0;
    bool whole = false, reached = true; /* reached: the life made so many allocations */
    for (uint64_t at = 1; reached; at++) {
        struct vq_coord *c = NULL;
        uint64_t before = vq_alloc_count();
        vq_alloc_fail_at(at);
        whole = vq_authority_create(&rig.pools, 1, &rig.params.authority, NULL) == VQ_OK &&
                short_life(&c, &rig.params, &rig);
        reached = vq_alloc_count() - before >= at;
        vq_alloc_fail_at(0);
        vq_coord_destroy(&c);
        vq_authority_destroy(&rig.params.authority);
        assert_null(c);
        failed += whole ? 0 : 1;
    }
    assert_true(whole);
    assert_true(failed > 50);
    rig_end(&rig);
}

/* The core holds tasks back by calls of its own, which nobody makes: whoever names one breaks the
 * rules. */
static void a_hold_is_not_a_workers_call(void **state)
{
    (void)state;
    rig_init(&rig, 4, 1, 2);
    rig_tried(&rig, 12, "Model: A");
    rig_start(&rig);
    uint64_t session = rig_hello(&rig, 7, 1);
    struct vq_held_lease stale = {0, {4, 1}};
    rig_list(&rig, 7, session, VQ_MSG_HELD, &stale, 1, NULL, 0);
    assert_int_equal(rig_status(&rig).held_back, 4);
    struct rig_said lease = {.fence = {5, 1}};
    struct vq_result result = rig_answer(&rig, &lease, 2, "Model: A");
    memset(&result.call, 0xff, sizeof(result.call));
    memcpy(result.call.b + 8, &result.task, sizeof(result.task));
    rig.hold_commits = true;
    size_t taken = 0;
    assert_int_equal(vq_coord_import(rig.c, vq_span_str("dead"), &result, 1, rig.now_ns, &taken),
                     VQ_INVALID);
    rig_results(&rig, 7, session, &result, 1);
    rig_list(&rig, 7, session, VQ_MSG_HEARTBEAT, &stale, 1, NULL, 0);
    rig_pass(&rig, 2 * RIG_TERM); /* the holds end, with no trace */
    if (rig.batch != NULL) {
        rig_commit(&rig);
        rig_pull(&rig);
    }
    assert_int_equal(rig_status(&rig).broken, 1);
    assert_int_equal(rig_status(&rig).all.calls, 0);
    assert_int_equal(rig_status(&rig).held_back, 0);
    rig.hold_commits = false;
    session = rig_join(&rig, 8, 2, 100);
    struct vq_held_call call = {.call = result.call, .task = result.task};
    rig_list(&rig, 8, session, VQ_MSG_HEARTBEAT, NULL, 0, &call, 1);
    assert_int_equal(rig_last(&rig, 8, VQ_MSG_BYE)->code, VQ_BYE_PROTOCOL);
    assert_int_equal(rig_status(&rig).calls_reserved, 0);
    rig_end(&rig);
}

/* One wrong number in a result or a CREDIT: nothing of the message counts, and its worker is heard
 * no more. */
static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    for (unsigned lie = 0; lie < 6; lie++) {
        rig_init(&rig, 4, 1, 2);
        rig.pool[0] = (struct vq_authority_pool){.name = "ada",
                                                 .limit.concurrency = 1000,
                                                 .priced = true,
                                                 .input_nano = 150,
                                                 .output_nano = 600};
        rig.params.request_bytes_max = 3000;
        rig.params.answer_tokens_max = 200;
        rig.pools.budget_nano = UINT64_C(10000000000);
        rig_start(&rig);
        uint64_t session = rig_join(&rig, 7, 1, 100);
        const struct rig_said *lease = rig_lease(&rig, 0);
        struct vq_result result = rig_answer(&rig, lease, lease->tasks[0], "Model: A");
        result.pool = vq_span_str("ada");
        result.cost_nano = lie == 0 ? UINT64_C(5000000000) : 90000;
        result.tokens_in = lie == 1 ? UINT64_MAX : 500;
        rig.spend = (struct vq_amount){.used = 90000, .open = 90000, .most = VQ_AMOUNT_ANY};
        rig.spend.used = lie == 2 ? UINT64_MAX : rig.spend.used;
        rig.report[0].said.requests = lie == 3 ? 1e200 : 60;
        rig.report[0].park_unix_s = lie == 4 ? -9 : 0;
        rig.report[0].in_flight = lie == 5 ? UINT32_MAX : 2;
        if (lie < 2) {
            rig_results(&rig, 7, session, &result, 1);
        } else {
            rig_credit(&rig, 7, session, 0, 10, VQ_POOL_OPEN);
        }
        assert_int_equal(rig_last(&rig, 7, VQ_MSG_BYE)->code, VQ_BYE_PROTOCOL);
        assert_int_equal(rig_status(&rig).broken, 1);
        assert_int_equal(rig_status(&rig).all.calls, 0);
        struct vq_authority_money money;
        vq_authority_money(rig.authority, &money);
        assert_int_equal(money.spent_nano, 0);
        rig_pass(&rig, 2 * RIG_TERM); /* its session ends, and the others go on */
        assert_int_equal(rig_status(&rig).sessions, 0);
        rig.report[0].said.requests = 60;
        rig.report[0].park_unix_s = rig.report[0].in_flight = 0;
        rig.spend = (struct vq_amount){.most = VQ_AMOUNT_ANY};
        rig_mark(&rig);
        session = rig_join(&rig, 8, 2, 100);
        lease = rig_lease(&rig, 0);
        result = rig_answer(&rig, lease, lease->tasks[0], "Model: A");
        result.cost_nano = 90000;
        result.tokens_out = 100000; /* thought for long, and not counted by max_tokens */
        result.pool = vq_span_str("ada");
        rig_results(&rig, 8, session, &result, 1);
        assert_int_equal(rig_status(&rig).all.calls, 1);
        rig_end(&rig);
    }
}

/* What a call that never returns counts for is no more than a call can cost, whatever its worker
 * said to be open. */
static void a_lost_call_is_not_dearer_than_any(void **state)
{
    (void)state;
    rig_init(&rig, 4, 1, 2);
    rig.pool[0] = (struct vq_authority_pool){.name = "ada",
                                             .limit.concurrency = 1000,
                                             .priced = true,
                                             .input_nano = 150,
                                             .output_nano = 600};
    rig_start(&rig);
    uint64_t session = rig_join(&rig, 7, 1, 100);
    struct vq_held_call call = {.call = rig_worker(77), .task = 3};
    rig_list(&rig, 7, session, VQ_MSG_HEARTBEAT, NULL, 0, &call, 1);
    uint64_t usd_9m = UINT64_C(9000000000000000);
    rig.spend = (struct vq_amount){.used = usd_9m, .open = usd_9m, .most = VQ_AMOUNT_ANY};
    rig_credit(&rig, 7, session, 0, 100, VQ_POOL_OPEN);
    rig_pass(&rig, 3 * RIG_TERM);
    struct vq_authority_money money;
    vq_authority_money(rig.authority, &money);
    assert_true(money.spent_nano > 0 && money.spent_nano < UINT64_C(4000000000));
    rig_end(&rig);
}

/* Lists of calls that add up: one worker's are bounded, and the next worker's are taken. */
static void one_worker_lists_so_many_calls(void **state)
{
    (void)state;
    static struct vq_held_call calls[VQ_WIRE_HELD_CALLS_MAX];
    rig_init(&rig, 4, 1, 2);
    rig_start(&rig);
    uint64_t session = rig_join(&rig, 7, 1, 0);
    for (uint32_t i = 0; i < VQ_COUNT(calls); i++) {
        calls[i] = (struct vq_held_call){.call = {{1}}, .task = i % 16};
        memcpy(calls[i].call.b + 4, &i, sizeof(i));
    }
    struct vq_msg more = {
        .type = VQ_MSG_HELD,
        .u.held = {.session = session, .calls = calls, .calls_count = VQ_COUNT(calls)}};
    for (unsigned round = 0; round < 4; round++) {
        rig_tell(&rig, 7, &more);
        for (uint32_t i = 0; i < VQ_COUNT(calls); i++) {
            calls[i].call.b[1] = (uint8_t)(round + 1);
        }
    }
    assert_int_equal(rig_status(&rig).broken, 1);
    assert_int_equal(rig_status(&rig).calls_reserved, 0); /* no worker has so many: none is real */
    assert_int_equal(rig_last(&rig, 7, VQ_MSG_BYE)->code, VQ_BYE_PROTOCOL);
    session = rig_join(&rig, 8, 2, 0);
    calls[0].call.b[1] = 99;
    rig_list(&rig, 8, session, VQ_MSG_HEARTBEAT, NULL, 0, calls, 1);
    assert_int_equal(rig_status(&rig).calls_reserved, 1);
    assert_int_equal(rig_status(&rig).broken, 1);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_does_no_harm),
        cmocka_unit_test(a_hold_is_not_a_workers_call),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_lost_call_is_not_dearer_than_any),
        cmocka_unit_test(one_worker_lists_so_many_calls),
        cmocka_unit_test(no_memory_at_any_point_is_said_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
