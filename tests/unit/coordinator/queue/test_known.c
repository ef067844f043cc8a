/* A judge that was answered in an earlier stage has no brake in a later one, if it has the same
 * name, role and pool. */
#include "tests/unit/coordinator/queue/rig.h"

#include "coordinator/queue/internal.h"

#include <stdio.h>

/* The next stage, of the judge `name` in `role` on `pool`. */
static void next(struct rig *r, const char *name, uint32_t role, const uint32_t *pool)
{
    struct vq_coord *before = r->c;
    struct vq_error err = {""};
    r->judges[0].name = name;
    r->judges[0].pools = pool;
    r->judges[0].pools_count = 1;
    r->params.role = role;
    r->params.stage++;
    assert_int_equal(vq_coord_create(&r->params, r->now_ns, &r->c, &err), VQ_OK);
    assert_int_equal(vq_coord_hand_over(before, r->c, r->now_ns), VQ_OK);
    vq_coord_destroy(&before);
}

static bool is_known(const struct rig *r)
{
    const struct vq_coord_lane *lane = &r->c->lanes[0];
    assert_int_equal(lane->brakes[0].answered, lane->answered_before);
    return lane->answered_before;
}

static void failed(struct rig *r, uint32_t row, bool *ret_pulled)
{
    struct vq_coord_shard shard = {.judge = 0, .sample = row};
    struct vq_result result = {.end = VQ_END_BAD_REQUEST,
                               .outcome = VQ_OUTCOME_ERROR,
                               .http_status = 400,
                               .final = true,
                               .pool = vq_span_str("pool")};
    assert_int_equal(vq_coord_brake_see(r->c, &shard, &result), VQ_OK);
    *ret_pulled = r->c->lanes[0].braked;
}

static void an_answer_counts_in_all_later_stages(void **state)
{
    static const uint32_t pools[] = {0, 1};
    struct rig *r = *state;
    r->pool[0].name = "pool";
    r->pool[1] = (struct vq_authority_pool){.name = "other", .limit.concurrency = 1000};
    r->pools.pools_count = 2;
    r->params.more = true;
    r->params.brake_calls = 4;
    rig_start(r);
    struct vq_coord_lane *lane = &r->c->lanes[0];
    char name[64];
    (void)snprintf(name, sizeof(name), "%s", lane->name);
    lane->brakes[0].answered = true;
    bool pulled = false;
    next(r, "proposer", 7, &pools[0]);
    assert_false(is_known(r));
    next(r, name, 7, &pools[0]); /* in another role */
    assert_false(is_known(r));
    next(r, name, 0, &pools[1]); /* by another pool */
    assert_false(is_known(r));
    next(r, name, 0, &pools[0]);
    assert_true(is_known(r));
    for (uint32_t row = 0; row < 20; row++) {
        failed(r, row, &pulled);
        assert_false(pulled);
    }
    assert_false(vq_coord_lane_suspect(r->c, &r->c->lanes[0]));
    next(r, "new", 0, &pools[0]);
    assert_false(is_known(r));
    for (uint32_t row = 0; row < 4; row++) {
        failed(r, row, &pulled);
    }
    assert_true(pulled);
    next(r, name, 0, &pools[0]); /* still known, and once */
    assert_true(is_known(r));
    assert_int_equal(r->c->known.count, 1);
}

/* A resume: the ledger has what an earlier process was answered. */
static void a_brake_counts_on_from_the_ledger(void **state)
{
    struct rig *r = *state;
    r->pool[0].name = "pool";
    r->params.brake_calls = 4;
    r->params.repairs = true;
    rig_start(r);
    struct vq_result call = {.end = VQ_END_BAD_REQUEST,
                             .outcome = VQ_OUTCOME_ERROR,
                             .http_status = 400,
                             .final = true,
                             .pool = vq_span_str("pool")};
    struct vq_brake *brake = &r->c->lanes[0].brakes[0];
    call.task = UINT64_MAX; /* of no task of this stage */
    assert_true(vq_coord_recall(r->c, &call));
    call.task = 0;
    call.pool = vq_span_str("another");
    assert_true(vq_coord_recall(r->c, &call));
    assert_int_equal(brake->failures, 0);
    call.pool = vq_span_str("pool");
    for (uint64_t row = 0; row < 6; row++) {
        call.task = row * vq_grid_shard_tasks(&r->params.grid) * r->params.grid.judges;
        assert_true(vq_coord_recall(r->c, &call));
    }
    assert_int_equal(brake->failures, 3);
    assert_false(r->c->lanes[0].braked || r->c->lanes[0].answered_before);
    bool pulled;
    failed(r, 7, &pulled);
    assert_true(pulled);
    *brake = (struct vq_brake){0};
    call.task = 0;
    call.end = VQ_END_ANSWER;
    call.outcome = VQ_OUTCOME_UNPARSEABLE; /* its repair tells */
    assert_true(vq_coord_recall(r->c, &call));
    assert_int_equal(brake->failures, 0);
    call.kind = VQ_CALL_REPAIR;
    assert_true(vq_coord_recall(r->c, &call));
    assert_int_equal(brake->failures, 1);
    call.outcome = VQ_OUTCOME_FIRST;
    (void)vq_coord_recall(r->c, &call);
    assert_true(brake->answered && r->c->lanes[0].answered_before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_answer_counts_in_all_later_stages, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_brake_counts_on_from_the_ledger, rig_setup, rig_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
