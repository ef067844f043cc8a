/* What an ended call counts for: by its end and its usage, at the bounds of the numbers. */

#include "tests/unit/test.h"

#include "proto/pool.h"

static struct vq_result ended(enum vq_call_end end, uint64_t in, uint64_t out)
{
    return (struct vq_result){
        .end = (uint8_t)end, .tokens_in = in, .tokens_out = out, .tokens_reserved = 70};
}

TEST(test_what_may_be_billed)
{
    bool billed[VQ_END__COUNT] = {[VQ_END_ANSWER] = true,
                                  [VQ_END_LOST] = true,
                                  [VQ_END_BAD_RESPONSE] = true,
                                  [VQ_END_UNKNOWN] = true,
                                  [VQ_END_BATCHED] = true};
    for (int end = 0; end < VQ_END__COUNT; end++) {
        struct vq_result result = ended((enum vq_call_end)end, 0, 0);
        assert_int_equal(vq_result_may_be_billed(&result), billed[end]);
    }
}

TEST(test_requests_of_a_day)
{
    for (int end = 0; end < VQ_END__COUNT; end++) {
        struct vq_result result = ended((enum vq_call_end)end, 0, 0);
        bool never = end == VQ_END_NETWORK || end == VQ_END_CANCELLED;
        bool unsent = never || end == VQ_END_TOO_LONG || end == VQ_END_CLOSED;
        assert_int_equal(vq_result_requests(&result), unsent ? 0 : 1);
        result.http_status = 413; /* the provider said so: it was sent */
        assert_int_equal(vq_result_requests(&result), never ? 0 : 1);
    }
}

TEST(test_tokens_of_a_day)
{
    for (int end = 0; end < VQ_END__COUNT; end++) {
        struct vq_result result = ended((enum vq_call_end)end, 0, 0);
        bool silent = end == VQ_END_ANSWER || end == VQ_END_LOST || end == VQ_END_UNKNOWN ||
                      end == VQ_END_BATCHED;
        assert_int_equal(vq_result_tokens(&result), silent ? 70 : 0);
        result = ended((enum vq_call_end)end, 3, 4);
        assert_int_equal(vq_result_tokens(&result), 7);
    }
    struct vq_result most = ended(VQ_END_ANSWER, UINT64_MAX - 4, 4);
    assert_int_equal(vq_result_tokens(&most), UINT64_MAX);
    most.tokens_in++; /* not around the corner, where few would be left of many */
    assert_int_equal(vq_result_tokens(&most), UINT64_MAX);
}
