/* Any bytes as a rubric judge's answer, of every kind, under both policies. */
#include "common/judge/rating.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct vq_span answer = vq_span((const char *)data, bytes);
    for (unsigned i = 0; i < 6; i++) {
        struct vq_rating_reader reader = {.kind = (enum vq_rating_kind)(i % 3),
                                          .policy = (enum vq_rating_policy)(i / 3),
                                          .score_of = true,
                                          .seed = bytes};
        struct vq_rating rating;
        vq_rating_read(&reader, answer, vq_span_str("stop"), false, &rating);
        struct vq_rating cut;
        vq_rating_read(&reader, answer, vq_span_str("length"), false, &cut);
        if (reader.policy == VQ_RATING_STRICT && cut.has_value &&
            (!rating.has_value || cut.value != rating.value)) {
            abort(); /* a cut answer says what the whole one says, or nothing */
        }
        bool strict = reader.policy == VQ_RATING_STRICT;
        if (strict && rating.has_value && (rating.value < 0 || rating.value > 5)) {
            abort();
        }
        if (rating.reasoning.bytes > bytes) {
            abort();
        }
    }
    return 0;
}
