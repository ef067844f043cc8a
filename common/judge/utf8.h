/* The two questions about UTF-8 that prompts raise. Strict: no overlong forms, no surrogates, at most U+10FFFF. */
#ifndef VQ_JUDGE_UTF8_H
#define VQ_JUDGE_UTF8_H

#include "common/base/buf.h"

/* The offset of the first byte that does not belong to a well-formed character; text.bytes when there is none. */
size_t vq_utf8_first_bad(struct vq_span text);
/* At most `bytes_max` bytes of the text's beginning, cut where a character begins. Any bytes. */
struct vq_span vq_utf8_cut(struct vq_span text, size_t bytes_max);

#endif
