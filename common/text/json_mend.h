/* JSON as programs write it: what JSON does not have, in a form that jansson reads. */
#pragma once

#include "common/base/buf.h"

struct vq_json_mended {
    uint64_t not_numbers; /* NaN, Infinity: read as null */
    uint64_t surrogates;  /* half a pair of \u escapes: read as U+FFFD */
};

/* Outside strings: NaN, inf and Infinity (any case, with or without a sign) become null, and a
 * number that a 64-bit integer or a double cannot hold becomes its text in quotes. Inside strings:
 * a \u escape of half a surrogate pair becomes \ufffd. Everything else stays as it is, so that
 * broken JSON stays broken. `ret_text` is `text` itself where nothing changed, else the bytes of
 * `work`, which the caller has initialised and frees. `counts` are added to. VQ_NOMEM, VQ_LIMIT (of
 * `work`). */
enum vq_status vq_json_mend(struct vq_span text, struct vq_buf *work, struct vq_json_mended *counts,
                            struct vq_span *ret_text) VQ_WARN_UNUSED;
