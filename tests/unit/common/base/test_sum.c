/* A sum of what others said does not wrap. */

#include "tests/unit/test.h"

#include "common/base/sum.h"

TEST(sums_stop_at_the_greatest_number)
{
    assert_int_equal(vq_sum(2, 3), 5);
    assert_true(vq_sum(UINT64_MAX, 1) == UINT64_MAX);
    assert_true(vq_sum(UINT64_MAX - 1, 1) == UINT64_MAX);
    uint64_t sum = UINT64_MAX / 2;
    vq_sum_to(&sum, UINT64_MAX / 2);
    assert_true(sum == UINT64_MAX - 1);
    vq_sum_to(&sum, UINT64_MAX);
    assert_true(sum == UINT64_MAX);
}
