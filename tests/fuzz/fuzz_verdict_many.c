/* Verdicts by number in any bytes: each is a vote or none, and they are counted right. The
 * first byte is the number of axes, and how the answer ended. */
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
    static const enum vq_ending endings[] = {VQ_ENDING_ORDINARY, VQ_ENDING_CUT, VQ_ENDING_REFUSED,
                                             VQ_ENDING_UNKNOWN};
    enum vq_ending ending = endings[data[0] / 32 % VQ_COUNT(endings)];
    if (vq_verdicts_many(answer, ending, count, verdicts, &votes) != VQ_OK) {
        return 0;
    }
    for (uint32_t k = 0; k < count; k++) {
        bool is_vote = vq_outcome_is_vote(verdicts[k]);
        VQ_ASSERT(is_vote || verdicts[k] == VQ_OUTCOME_UNPARSEABLE ||
                  (ending != VQ_ENDING_ORDINARY &&
                   (verdicts[k] == VQ_OUTCOME_TRUNCATED || verdicts[k] == VQ_OUTCOME_REFUSED)));
        votes -= is_vote;
    }
    VQ_ASSERT(votes == 0);
    return 0;
}
