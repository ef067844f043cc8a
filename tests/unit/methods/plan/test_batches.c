/* A forecast by batch pools: price, time, both orders in one batch, and which lines stay
 * interactive. */
#include "tests/unit/test.h"

#include "methods/plan/batches.h"

#include <math.h>

static const uint32_t numbers[] = {0, 1, 2, 3};

static void near(double is, double should)
{
    if (fabs(is - should) > 1e-9 * (1 + fabs(should))) {
        fail_msg("%.12g is not %.12g", is, should);
    }
}

/* 1,000 cells in both orders, of which 40 are settled by what is stored; lazy swap saves 160. */
static struct vq_forecast_line ranking(uint32_t pools_count)
{
    return (struct vq_forecast_line){.stage = "rank",
                                     .kind = VQ_STAGE_RANK,
                                     .pools = numbers,
                                     .pools_count = pools_count,
                                     .planned = {2000, 2000, 2000},
                                     .calls = {960, 1760, 1920},
                                     .saved = {40, 200, 1000},
                                     .from_store = 40,
                                     .in_each = {1000, 1000, 1000},
                                     .out_each = {100, 100, 100},
                                     .latency_s = {1, 1, 1}};
}

static struct vq_forecast_limits pool(bool batch)
{
    return (struct vq_forecast_limits){.name = batch ? "p/batch" : "p",
                                       .rates.requests = batch ? 0 : 960,
                                       .price_input_usd = 1,
                                       .price_cached_usd = -1,
                                       .price_output_usd = 10,
                                       .batch = batch,
                                       .batch_price = batch ? 0.25 : 1,
                                       .can_batch = true};
}

TEST(both_ways_of_a_run_with_both_pools)
{
    struct vq_forecast_line lines[] = {ranking(2)};
    struct vq_forecast_limits limits[] = {pool(false), pool(true)};
    struct vq_forecast_pool pools[2];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 1, .limits = limits, .pools = pools, .limits_count = 2};
    struct vq_forecast_batches b;
    vq_forecast_figure(&f);
    assert_int_equal(vq_forecast_as_batches(&f, &b), VQ_OK);
    /* $2 for each 1,000 calls, 16 calls a second */
    near(f.all.usd.expected, 1.76 * 2);
    near(f.seconds.expected, 110);
    assert_int_equal(f.batches, 0);
    assert_int_equal(pools[1].calls.most, 0);
    assert_true(b.possible && b.configured && !b.price_assumed && b.all.priced);
    assert_int_equal(b.in_sequence, 1);
    near(b.all.calls.least, 1920); /* second orders too, but not what is settled */
    near(b.all.calls.expected, 1920);
    near(b.all.usd.expected, 1.92 * 2 * 0.25);
    near(b.seconds.expected, VQ_ASSUMED_BATCH_S);
    near(b.seconds.most, VQ_ASSUMED_BATCH_MOST_S);
    near(lines[0].calls.expected, 1760); /* the forecast stays as it is */
    assert_int_equal(lines[0].bound, VQ_BOUND_REQUESTS);
    assert_false((f.assumed & VQ_ASSUMED_BATCH) != 0);
}

/* The second pool's model has recorded batches, the third one's has none. */
TEST(recorded_batches_give_the_time_where_there_are_any)
{
    struct vq_forecast_line lines[] = {ranking(2)};
    struct vq_forecast_limits limits[] = {pool(false), pool(true), pool(true)};
    limits[1].batch_times = 14;
    limits[1].batch_s = (struct vq_range){90, 400, VQ_ASSUMED_BATCH_MOST_S};
    struct vq_forecast_pool pools[3];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 1, .limits = limits, .pools = pools, .limits_count = 3};
    struct vq_forecast_batches b;
    vq_forecast_figure(&f);
    assert_int_equal(vq_forecast_as_batches(&f, &b), VQ_OK);
    assert_false(b.time_assumed);
    near(b.seconds.least, 90);
    near(b.seconds.expected, 400);
    near(b.seconds.most, VQ_ASSUMED_BATCH_MOST_S);
    struct vq_forecast_line both[] = {ranking(2), ranking(2)};
    static const uint32_t others[] = {0, 2};
    both[1].pools = others;
    f.lines = both;
    f.lines_count = 2;
    vq_forecast_figure(&f);
    assert_int_equal(vq_forecast_as_batches(&f, &b), VQ_OK);
    assert_true(b.time_assumed);
    near(b.seconds.expected, VQ_ASSUMED_BATCH_S); /* side by side: the longer one */
    limits[2].batch_times = 1;
    limits[2].batch_s = (struct vq_range){5, 5, VQ_ASSUMED_BATCH_MOST_S};
    f.assumed = VQ_ASSUMED_BATCH; /* of an earlier figuring */
    vq_forecast_figure(&f);
    assert_false((f.assumed & VQ_ASSUMED_BATCH) != 0);
}

TEST(repairs_wait_for_the_first_batch_and_stages_for_each_other)
{
    struct vq_forecast_line lines[] = {ranking(2), ranking(2)};
    lines[0].repairs = (struct vq_range){0, 0.2, 9};
    lines[1].stage_no = 1;
    lines[1].calls = (struct vq_range){1920, 1920, 1920}; /* nothing that lazy swap could save */
    lines[1].saved = (struct vq_range){40, 40, 40};
    struct vq_forecast_limits limits[] = {pool(false), pool(true)};
    struct vq_forecast_pool pools[2];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 2, .limits = limits, .pools = pools, .limits_count = 2};
    struct vq_forecast_batches b;
    vq_forecast_figure(&f);
    assert_int_equal(vq_forecast_as_batches(&f, &b), VQ_OK);
    assert_int_equal(b.in_sequence, 3);
    near(b.seconds.least, 2 * VQ_ASSUMED_BATCH_LEAST_S);
    near(b.seconds.expected, 2 * VQ_ASSUMED_BATCH_S);
    near(b.seconds.most, 3 * VQ_ASSUMED_BATCH_MOST_S);
}

/* The first stage measures how often a first order settles. */
TEST(second_orders_of_a_later_stage_have_a_batch_of_their_own_if_this_saves_enough)
{
    struct vq_forecast_line lines[] = {ranking(2), ranking(2)};
    lines[1].stage_no = 1;
    struct vq_forecast_limits limits[] = {pool(false), pool(true)};
    struct vq_forecast_pool pools[2];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 2, .limits = limits, .pools = pools, .limits_count = 2};
    struct vq_forecast_batches b;
    vq_forecast_figure(&f);
    assert_int_equal(vq_forecast_as_batches(&f, &b), VQ_OK);
    near(b.all.calls.expected, 1920 + 1760);
    near(b.all.usd.expected, (1.92 + 1.76) * 2 * 0.25);
    assert_int_equal(b.in_sequence, 3);
    near(b.seconds.expected, 3 * VQ_ASSUMED_BATCH_S);
    lines[0].settles_known = true; /* by the store: already in the first stage */
    vq_forecast_figure(&f);
    assert_int_equal(vq_forecast_as_batches(&f, &b), VQ_OK);
    near(b.all.calls.expected, 2 * 1760);
    assert_int_equal(b.in_sequence, 4);
    lines[0].settles_known = false;
    lines[1].calls.expected = 1890; /* 30 saved of 1,920 */
    lines[1].saved.expected = 70;
    vq_forecast_figure(&f);
    assert_int_equal(vq_forecast_as_batches(&f, &b), VQ_OK);
    near(b.all.calls.expected, 2 * 1920);
    assert_int_equal(b.in_sequence, 2);
}

TEST(a_run_without_batch_pools_is_figured_at_half_the_price)
{
    struct vq_forecast_line lines[] = {ranking(1)};
    struct vq_forecast_limits limits[] = {pool(false)};
    struct vq_forecast_pool pools[1];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 1, .limits = limits, .pools = pools, .limits_count = 1};
    struct vq_forecast_batches b;
    vq_forecast_figure(&f);
    assert_int_equal(vq_forecast_as_batches(&f, &b), VQ_OK);
    assert_true(b.possible && !b.configured && b.price_assumed);
    near(b.all.usd.expected, 1.92 * 2 * 0.5);
    limits[0].can_batch = false; /* a server of one's own */
    assert_int_equal(vq_forecast_as_batches(&f, &b), VQ_OK);
    assert_false(b.possible);
}

TEST(a_run_of_batch_pools_alone_has_one_way)
{
    struct vq_forecast_line lines[] = {ranking(1)};
    struct vq_forecast_limits limits[] = {pool(true)};
    struct vq_forecast_pool pools[1];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 1, .limits = limits, .pools = pools, .limits_count = 1};
    struct vq_forecast_batches b;
    for (int i = 0; i < 2; i++) { /* the second time as the first */
        vq_forecast_figure(&f);
        near(f.all.calls.expected, 1920);
        near(f.all.saved.expected, 40);
        near(f.all.usd.expected, 1.92 * 2 * 0.25);
        near(f.seconds.most, VQ_ASSUMED_BATCH_MOST_S);
        assert_int_equal(pools[0].bound, VQ_BOUND_BATCH);
        near(pools[0].seconds.expected, VQ_ASSUMED_BATCH_S);
        assert_int_equal(f.batches, 1);
    }
    assert_int_equal(vq_forecast_as_batches(&f, &b), VQ_OK);
    assert_false(b.possible);
}

TEST(dialogues_and_embeddings_stay_interactive)
{
    struct vq_forecast_line lines[] = {ranking(2), ranking(2)};
    lines[0].kind = VQ_STAGE_CHAT;
    lines[1].kind = VQ_STAGE_EMBED;
    lines[1].stage_no = 1;
    struct vq_forecast_limits limits[] = {pool(false), pool(true)};
    struct vq_forecast_pool pools[2];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 2, .limits = limits, .pools = pools, .limits_count = 2};
    struct vq_forecast_batches b;
    vq_forecast_figure(&f);
    assert_int_equal(vq_forecast_as_batches(&f, &b), VQ_OK);
    assert_false(b.possible);
    lines[1].kind = VQ_STAGE_LIKERT;
    assert_int_equal(vq_forecast_as_batches(&f, &b), VQ_OK);
    assert_int_equal(b.in_sequence, 1);
    near(b.all.usd.expected, 1.76 * 2 + 1.92 * 2 * 0.25);
}
