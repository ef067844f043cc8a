/* The main result of a finished run in one sentence, for the list of runs. Pure. */
#pragma once

#include "common/base/buf.h"

#define VQ_UI_HEADLINE_NAMES      3   /* vibes, criteria or measures that it names */
#define VQ_UI_HEADLINE_NAME_BYTES 120 /* of each */
#define VQ_UI_RESULTS_DEPTH_MAX   64
#define VQ_UI_RESULTS_VALUES_MAX  (16u << 20)

/* `results`: results.json, any bytes. Appends the sentence, which holds names of others; nothing
 * where the file is of no known form. VQ_NOMEM. */
enum vq_status vq_ui_headline(struct vq_span results, struct vq_buf *out) VQ_WARN_UNUSED;
