/* Calls by pool: ends, buckets of durations, sums. */
#include "tests/unit/test.h"

#include "coordinator/web/call_tally.h"

static struct vq_call_tally tally;

static void add(uint32_t pool, enum vq_call_end end, uint32_t latency_ms)
{
    vq_call_tally_add(&tally, &(struct vq_tally_call){.pool = pool,
                                                      .end = end,
                                                      .latency_ms = latency_ms,
                                                      .tokens_in = 10,
                                                      .tokens_cached = 4,
                                                      .tokens_out = 3,
                                                      .cost_nano = 7});
}

TEST(bounds_belong_to_their_bucket)
{
    vq_call_tally_init(&tally, 2);
    add(1, VQ_END_ANSWER, 0);
    add(1, VQ_END_ANSWER, 50);
    add(1, VQ_END_RATE, 51);
    add(1, VQ_END_LOST, 600000);
    add(1, VQ_END_LOST, 600001);
    const struct vq_tally_pool *p = &tally.pool[1];
    assert_int_equal(p->buckets[0], 2);
    assert_int_equal(p->buckets[1], 1);
    assert_int_equal(p->buckets[VQ_TALLY_BUCKETS - 1], 1);
    assert_int_equal(p->buckets[VQ_TALLY_BUCKETS], 1);
    assert_int_equal(p->timed, 5);
    assert_int_equal(p->timed_ms, 0 + 50 + 51 + 600000 + 600001);
    assert_int_equal(p->ends[VQ_END_ANSWER], 2);
    assert_int_equal(p->tokens_in, 50);
    assert_int_equal(p->tokens_cached, 20);
    assert_int_equal(p->tokens_out, 15);
    assert_int_equal(p->cost_nano, 35);
    assert_int_equal(tally.pool[0].timed, 0);
    for (size_t b = 1; b < VQ_TALLY_BUCKETS; b++) {
        assert_true(vq_tally_bounds_ms[b] > vq_tally_bounds_ms[b - 1]);
    }
}

TEST(a_call_without_an_end_of_its_own_has_no_duration)
{
    vq_call_tally_init(&tally, 1);
    add(0, VQ_END_NETWORK, 5);
    add(0, VQ_END_UNKNOWN, 5);
    assert_int_equal(tally.pool[0].timed, 0);
    assert_int_equal(tally.pool[0].ends[VQ_END_NETWORK], 1);
    assert_int_equal(tally.pool[0].ends[VQ_END_UNKNOWN], 1);
}

TEST(a_pool_that_the_configuration_no_longer_names_counts_with_the_others_of_its_kind)
{
    vq_call_tally_init(&tally, 1);
    add(1, VQ_END_ANSWER, 5);
    add(UINT32_MAX, VQ_END_ANSWER, 5);
    assert_int_equal(tally.pool[1].ends[VQ_END_ANSWER], 2);
    vq_call_tally_add(&tally, &(struct vq_tally_call){.end = VQ_END__COUNT}); /* is ignored */
    assert_int_equal(tally.pool[0].tokens_in, 0);
}
