/* What a deadline needs of the core: tasks that are kept from batches, and counts of those that
 * batches have given back. */
#include "tests/unit/coordinator/queue/rig.h"

#define BATCH "vq-0100000000000055-1" /* of worker 1 */

static struct vq_coord_judge_status judge(const struct rig *r)
{
    struct vq_coord_judge_status status;
    vq_coord_judge_fill(r->c, 0, r->now_ns, &status);
    return status;
}

static void steer(struct rig *r, bool direct, uint64_t keep)
{
    assert_int_equal(vq_coord_steer(r->c, 0, direct, keep, r->now_ns), VQ_OK);
}

static struct vq_result batched(struct rig *r, const struct rig_said *lease, uint32_t n)
{
    struct vq_result result =
        rig_failure(r, lease, lease->tasks[n], VQ_END_BATCHED, false, VQ_OUTCOME_NONE);
    result.error = vq_span_str(BATCH " 0");
    result.pool = vq_span_str("ada");
    result.started_unix_ms = 1000 + n;
    struct vq_id worker = rig_worker(1);
    memcpy(result.call.b, worker.b, sizeof(uint64_t));
    return result;
}

TEST_WITH(tasks_that_are_kept_are_leased_when_calls_are_asked_interactively, rig_setup_tried,
          rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t open = judge(r).open;
    steer(r, false, 5);
    uint64_t session = rig_join(r, 7, 1, 100);
    assert_int_equal(judge(r).live, open - 5);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_result result = batched(r, &lease, 0);
    rig_results(r, 7, session, &result, 1);
    rig_pull(r);
    assert_int_equal(judge(r).batched, 1);
    assert_int_equal(judge(r).live, open - 6); /* and none of those that are kept */
    steer(r, true, 0);
    rig_pass(r, RIG_HEARTBEAT);
    assert_true(judge(r).live > open - 6); /* but for those whose shard is leased */
}

TEST_WITH(what_a_batch_gives_back_is_counted_until_it_is_asked_interactively, rig_setup_tried,
          rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 2);
    struct rig_said lease = *rig_lease(r, 0);
    assert_true(lease.count >= 2);
    struct vq_result results[] = {batched(r, &lease, 0), batched(r, &lease, 1)};
    steer(r, false, 100); /* nothing more is leased */
    rig_results(r, 7, session, results, 2);
    rig_pull(r);
    assert_int_equal(judge(r).batched, 2);
    struct vq_coord_batch_status batch;
    assert_true(vq_coord_api_batch_fill(r->c, 0, &batch));
    assert_int_equal(batch.since_unix_ms, 1001);
    assert_false(batch.cancelling);

    struct vq_result none =
        rig_failure(r, &lease, lease.tasks[0], VQ_END_PROVIDER, false, VQ_OUTCOME_NONE);
    none.call = results[0].call;
    struct vq_result answer = rig_answer(r, &lease, lease.tasks[1], "Model: A");
    answer.call = results[1].call;
    rig_results(r, 7, session, &none, 1);
    rig_results(r, 7, session, &answer, 1);
    rig_pull(r);
    assert_int_equal(judge(r).batched, 0);
    assert_int_equal(judge(r).returned, 1); /* the other one is answered */
    assert_int_equal(judge(r).live, 0);
    steer(r, true, 0);
    rig_pass(r, RIG_HEARTBEAT);
    assert_int_equal(judge(r).returned, 0);
    assert_true(judge(r).live > 0);
}

TEST_WITH(a_batch_that_is_cancelled_says_so, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    uint32_t count;
    struct vq_coord_batch_status batch;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 2);
    struct vq_result result = batched(r, rig_lease(r, 0), 0);
    rig_results(r, 7, session, &result, 1);
    rig_pull(r);
    assert_int_equal(vq_coord_api_batch_cancel(r->c, BATCH, r->now_ns, &count), VQ_OK);
    assert_true(vq_coord_api_batch_fill(r->c, 0, &batch));
    assert_true(batch.cancelling);
}
