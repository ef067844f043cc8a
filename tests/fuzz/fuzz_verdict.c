/* The verdict parser on any answer. The first byte chooses finish_reason and refusal. What must
 * hold: the result is one of an answer's outcomes; a refusal is refused; a cut answer has a verdict
 * only if the whole one had the same; a preference is never N/A or unsure; and a plain last line
 * decides, unless a thinking block was left open. */
#include "common/judge/verdict.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const reasons[] = {"stop", "length", "content_filter", "abort"};
    static const char plain[] = "\n\nModel: A\n";
    if (size == 0 || size > VQ_ANSWER_BYTES_MAX - sizeof(plain)) {
        return 0;
    }
    struct vq_span answer = vq_span((const char *)data + 1, size - 1);
    const char *reason = reasons[data[0] & 3];
    enum vq_outcome said = vq_verdict_ranker(answer, vq_span_str(reason), (data[0] & 4) != 0);
    VQ_ASSERT(vq_outcome_is_answered(said));
    VQ_ASSERT((data[0] & 4) == 0 || said == VQ_OUTCOME_REFUSED);

    VQ_ASSERT((data[0] & 3) != 3 || !vq_outcome_is_vote(said)); /* an unknown ending is no vote */

    enum vq_outcome whole = vq_verdict_ranker(answer, vq_span_str("stop"), false);
    enum vq_outcome cut = vq_verdict_ranker(answer, vq_span_str("length"), false);
    VQ_ASSERT(cut == VQ_OUTCOME_TRUNCATED || (vq_outcome_is_vote(cut) && cut == whole));

    enum vq_outcome preferred = vq_verdict_preference(answer, vq_span_str(reason), false);
    VQ_ASSERT(vq_outcome_is_answered(preferred));
    VQ_ASSERT(preferred != VQ_OUTCOME_NA && preferred != VQ_OUTCOME_UNSURE);

    char *longer = malloc(size - 1 + sizeof(plain));
    if (longer == NULL) {
        return 0;
    }
    if (answer.bytes > 0) {
        memcpy(longer, answer.at, answer.bytes);
    }
    memcpy(longer + answer.bytes, plain, sizeof(plain) - 1);
    enum vq_outcome last = vq_verdict_ranker(vq_span(longer, answer.bytes + sizeof(plain) - 1),
                                             vq_span_str("stop"), false);
    VQ_ASSERT(last == VQ_OUTCOME_FIRST || last == VQ_OUTCOME_UNPARSEABLE ||
              last == VQ_OUTCOME_EMPTY);
    free(longer);
    return 0;
}
