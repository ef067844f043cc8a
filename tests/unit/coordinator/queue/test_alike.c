/* Repairs of equal texts: the key of a text. What is leased of them is in test_commit.c. */

#include "tests/unit/test.h"

#include "coordinator/queue/internal.h"

TEST(the_key_is_of_judge_and_text)
{
    uint64_t key = vq_coord_alike_key(1, vq_span_str("who knows"));
    assert_true(key == vq_coord_alike_key(1, vq_span_str("who knows")));
    assert_true(key != vq_coord_alike_key(2, vq_span_str("who knows")));
    assert_true(key != vq_coord_alike_key(1, vq_span_str("who knows?")));
}
