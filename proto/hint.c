/* Looks up advice in hints.def. Not its job: classification of failures (worker/provider), and
 * output of the advice. */
#include "proto/hint.h"

#include <string.h>

enum {
    HINT_ANY = -1
};

static const struct vq_hint hints[] = {
#define VQ_HINT_END_ANY          HINT_ANY
#define VQ_HINT_END_ANSWER       VQ_END_ANSWER
#define VQ_HINT_END_PROVIDER     VQ_END_PROVIDER
#define VQ_HINT_END_NETWORK      VQ_END_NETWORK
#define VQ_HINT_END_LOST         VQ_END_LOST
#define VQ_HINT_END_BAD_RESPONSE VQ_END_BAD_RESPONSE
#define VQ_HINT_END_BAD_REQUEST  VQ_END_BAD_REQUEST
#define VQ_HINT_END_TOO_LONG     VQ_END_TOO_LONG
#define VQ_HINT(end, status_min, status_max, text, advice)                                         \
    {VQ_HINT_END_##end, status_min, status_max, text, advice},
#include "proto/hints.def"
#undef VQ_HINT
};

const struct vq_hint *vq_hints(size_t *ret_count)
{
    *ret_count = VQ_COUNT(hints);
    return hints;
}

static bool contains(struct vq_span text, const char *part)
{
    size_t n = strlen(part);
    for (size_t at = 0; at + n <= text.bytes; at++) {
        size_t same = 0;
        while (same < n && vq_lower(text.at[at + same]) == vq_lower(part[same])) {
            same++;
        }
        if (same == n) {
            return true;
        }
    }
    return false;
}

const char *vq_hint_of(enum vq_call_end end, uint32_t http_status, struct vq_span error)
{
    for (size_t i = 0; i < VQ_COUNT(hints); i++) {
        const struct vq_hint *hint = &hints[i];
        if ((hint->end == HINT_ANY || hint->end == (int)end) && http_status >= hint->status_min &&
            http_status <= hint->status_max && contains(error, hint->text)) {
            return hint->advice;
        }
    }
    return NULL;
}
