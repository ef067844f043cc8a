/* Repairs JSON of other programs: replaces forms that JSON does not have by forms that jansson
 * reads. */
#pragma once

#include "common/base/buf.h"

struct vq_json_mended {
    uint64_t not_numbers; /* NaN, Infinity: replaced by null */
    uint64_t surrogates;  /* half a pair of \u escapes: replaced by U+FFFD */
};

/* Outside strings: NaN, inf and Infinity (any case, with or without a sign) become null, and a
 * number that a 64-bit integer or a double cannot hold becomes its text in quotes. Inside strings:
 * a \u escape of half a surrogate pair becomes \ufffd. Everything else is unchanged, so invalid
 * JSON stays invalid. If nothing changes, `ret_text` is `text`; else it points into `work`, which
 * the caller initialises and frees. Adds to `counts`. VQ_NOMEM, VQ_LIMIT (of `work`). */
enum vq_status vq_json_mend(struct vq_span text, struct vq_buf *work, struct vq_json_mended *counts,
                            struct vq_span *ret_text) VQ_WARN_UNUSED;
/* The value of a \uXXXX escape at `at`; -1: there is none. */
int32_t vq_json_code_unit(struct vq_span text, size_t at);
