/* The main result of a finished run in one sentence, for the list of runs. Pure. */
#pragma once

#include "common/base/buf.h"

#define VQ_UI_HEADLINE_NAMES      3   /* the most vibes, criteria or measures to name */
#define VQ_UI_HEADLINE_NAME_BYTES 120 /* of each */
#define VQ_UI_RESULTS_DEPTH_MAX   64
#define VQ_UI_RESULTS_VALUES_MAX  (16u << 20)

/* `results`: results.json, any bytes. Appends the sentence, which contains foreign names; appends
 * nothing if the form of the file is not known. VQ_NOMEM. */
enum vq_status vq_ui_headline(struct vq_span results, struct vq_buf *out) VQ_WARN_UNUSED;
