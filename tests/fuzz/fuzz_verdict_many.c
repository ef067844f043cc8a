/* Verdicts by number in any bytes: each is a vote or none, and they are counted right. The
 * first byte is the number of axes. */
#include "common/base/alloc.h"
#include "common/judge/verdict_many.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > VQ_ANSWER_BYTES_MAX) {
        return 0;
    }
    uint32_t count = data[0] % (VQ_VERDICTS_MAX + 1);
    struct vq_span answer = vq_span((const char *)data + 1, size - 1);
    enum vq_outcome verdicts[VQ_VERDICTS_MAX];
    uint32_t votes;
    if (vq_verdicts_many(answer, count, verdicts, &votes) != VQ_OK) {
        return 0;
    }
    for (uint32_t k = 0; k < count; k++) {
        bool is_vote = vq_outcome_is_vote(verdicts[k]);
        VQ_ASSERT(is_vote || verdicts[k] == VQ_OUTCOME_UNPARSEABLE);
        votes -= is_vote;
    }
    VQ_ASSERT(votes == 0);
    return 0;
}
