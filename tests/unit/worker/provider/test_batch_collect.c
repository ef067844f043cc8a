/* Results in any order: the first one of a call counts; duplicates, foreign and damaged ones are
 * counted and named; missing calls are found. */
#include "tests/unit/test.h"

#include "worker/provider/batch_collect.h"

#include <stdio.h>
#include <string.h>

#define NAME "run-1.abc"

static struct vq_batch_collect c;
static uint64_t number;

static enum vq_batch_match take(const char *name, uint32_t call, uint32_t *ret_call)
{
    struct vq_batch_line line = {.number = ++number, .status = 200};
    vq_batch_call_id(name, call, line.custom_id);
    return vq_batch_collect_take(&c, &line, ret_call);
}

TEST(test_any_order)
{
    uint32_t call = 0;
    number = 0;
    assert_int_equal(vq_batch_collect_init(&c, NAME, 5), VQ_OK);
    static const uint32_t order[] = {4, 0, 2};
    for (size_t i = 0; i < VQ_COUNT(order); i++) {
        assert_int_equal(take(NAME, order[i], &call), VQ_BATCH_FIRST);
        assert_int_equal(call, order[i]);
    }
    assert_int_equal(take(NAME, 2, &call), VQ_BATCH_DUPLICATE);
    assert_int_equal(call, 2);
    assert_int_equal(take(NAME, 5, &call), VQ_BATCH_FOREIGN);
    assert_int_equal(take("another", 1, &call), VQ_BATCH_FOREIGN);
    struct vq_batch_line damaged = {.number = ++number, .damaged = true, .why = "it is not JSON"};
    assert_int_equal(vq_batch_collect_take(&c, &damaged, &call), VQ_BATCH_DAMAGED);
    assert_int_equal(c.counted, 3);
    assert_int_equal(vq_batch_collect_missing(&c, 0), 1);
    assert_int_equal(vq_batch_collect_missing(&c, 2), 3);
    assert_int_equal(vq_batch_collect_missing(&c, 4), 5);
    assert_int_equal(c.odd_count, 4);
    assert_int_equal(c.odd[0].line, 4);

    struct vq_buf report;
    char expected[1024], ids[3][VQ_BATCH_CALL_ID_BYTES];
    vq_buf_init(&report, 4096);
    vq_batch_collect_report(&c, &report);
    vq_batch_call_id(NAME, 2, ids[0]);
    vq_batch_call_id(NAME, 5, ids[1]);
    vq_batch_call_id("another", 1, ids[2]);
    (void)snprintf(expected, sizeof(expected),
                   "3 of 5 calls have a result; 1 duplicate; 2 foreign; 1 damaged; line 4: "
                   "duplicate %s; line 5: foreign %s; line 6: foreign %s; line 7: damaged "
                   "(it is not JSON)",
                   ids[0], ids[1], ids[2]);
    assert_string_equal(report.at, expected);
    vq_buf_free(&report);
    vq_batch_collect_free(&c);
}

TEST(test_a_second_reading)
{
    uint32_t call = 0;
    assert_int_equal(vq_batch_collect_init(&c, NAME, 2), VQ_OK);
    assert_int_equal(take(NAME, 0, &call), VQ_BATCH_FIRST);
    assert_int_equal(take(NAME, 0, &call), VQ_BATCH_DUPLICATE);
    vq_batch_collect_again(&c);
    assert_int_equal(take(NAME, 0, &call), VQ_BATCH_AGAIN);
    assert_int_equal(take(NAME, 0, &call), VQ_BATCH_DUPLICATE);
    assert_int_equal(take(NAME, 1, &call), VQ_BATCH_FIRST);
    assert_int_equal(c.counted, 2);
    assert_int_equal(vq_batch_collect_missing(&c, 0), 2);
    vq_batch_collect_again(&c);
    struct vq_buf report;
    vq_buf_init(&report, 4096);
    vq_batch_collect_report(&c, &report);
    assert_int_equal(report.bytes, 0);
    vq_buf_free(&report);
    vq_batch_collect_free(&c);
}

TEST(test_the_list_of_odd_results_is_bounded)
{
    uint32_t call = 0;
    assert_int_equal(vq_batch_collect_init(&c, NAME, 1), VQ_OK);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(take("another", i, &call), VQ_BATCH_FOREIGN);
    }
    assert_int_equal(c.odd_count, VQ_BATCH_ODD_MAX);
    assert_int_equal(c.seen[VQ_BATCH_FOREIGN], 100);
    vq_batch_collect_free(&c);
}

TEST(test_bad_sizes)
{
    assert_int_equal(vq_batch_collect_init(&c, NAME, 0), VQ_INVALID);
    assert_int_equal(vq_batch_collect_init(&c, NAME, VQ_BATCH_CALLS_MAX + 1), VQ_INVALID);
    assert_int_equal(vq_batch_collect_init(&c, "a/b", 1), VQ_INVALID);
    vq_batch_collect_free(&c);
}
