/* How many workers a run can use: more work or room never asks for fewer, a full pool for no
 * more. */
#include "tests/unit/test.h"

#include "coordinator/web/wanted.h"

#include <math.h>

TEST(room_is_the_tightest_limit)
{
    assert_true(isinf(vq_wanted_room(&(struct vq_wanted_pool){.call_s = 2})));
    struct vq_wanted_pool p = {
        .limit.concurrency = 80, .call_s = 2, .tokens_in = 100, .tokens_out = 20};
    assert_true(vq_wanted_room(&p) == 80);
    p.limit.rates.requests = 600; /* 10 a second, of 2 seconds each */
    assert_true(fabs(vq_wanted_room(&p) - 20) < 1e-9);
    p.limit.rates.tokens = 36000; /* 5 calls of 120 tokens a second */
    assert_true(fabs(vq_wanted_room(&p) - 10) < 1e-9);
    p.call_s = 0; /* no call has ended yet: rates say nothing of calls in flight */
    assert_true(vq_wanted_room(&p) == 80);
    assert_true(
        vq_wanted_room(&(struct vq_wanted_pool){.call_s = 0.1, .limit.rates.requests = 1}) == 1);
}

TEST(a_judge_takes_the_room_of_its_own_pools)
{
    static const uint32_t both[2] = {0, 1}, second[1] = {1};
    double room[2] = {5, 8};
    assert_true(vq_wanted_take(7, both, 2, room) == 7);
    assert_true(room[0] == 0 && room[1] == 6);
    assert_true(vq_wanted_take(100, second, 1, room) == 6); /* the first judge has the rest */
    assert_true(vq_wanted_take(3, both, 2, room) == 0);
    double endless[2] = {0, (double)INFINITY};
    assert_true(vq_wanted_take(100, both, 2, endless) == 100);
    assert_true(isinf(endless[1]));
    assert_true(vq_wanted_take(0, both, 2, endless) == 0);
}

TEST(workers_follow_calls)
{
    assert_int_equal(vq_workers_wanted(0, 8), 0);
    assert_int_equal(vq_workers_wanted(100, 0), 1);
    assert_int_equal(vq_workers_wanted(100, 8), 13);
    assert_int_equal(vq_workers_wanted(3, 8), 1);
    assert_int_equal(vq_workers_wanted(1e18, 1), VQ_WANTED_MAX);
}

static uint32_t wanted(uint64_t open, const struct vq_wanted_pool *pool, uint32_t carried)
{
    static const uint32_t first[1] = {0};
    double room[1] = {vq_wanted_room(pool)};
    return vq_workers_wanted(vq_wanted_take(open, first, 1, room), carried);
}

TEST(one_worker_that_fills_the_pool_is_enough)
{
    struct vq_wanted_pool p = {.limit.concurrency = 8, .call_s = 1};
    assert_int_equal(wanted(10000, &p, 8), 1);
    assert_int_equal(wanted(10000, &p, 4), 2);
}

TEST(more_work_or_room_never_wants_fewer)
{
    for (uint32_t carried = 0; carried < 6; carried++) {
        for (uint64_t open = 0; open < 40; open++) {
            for (uint32_t limit = 1; limit < 40; limit++) {
                struct vq_wanted_pool p = {.limit.concurrency = limit},
                                      more = {.limit.concurrency = limit + 1};
                uint32_t now = wanted(open, &p, carried);
                assert_true(wanted(open + 1, &p, carried) >= now);
                assert_true(wanted(open, &more, carried) >= now);
            }
        }
    }
}
