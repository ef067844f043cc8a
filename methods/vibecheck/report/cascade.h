/* Private to the results: which cells each judge of a cascade answered, and what this saved. */
#pragma once

#include "common/text/json.h"
#include "methods/vibecheck/report/report.h"

/* Writes the key "cascade" of the results; nothing without a cascade. */
void vq_report_cascade_json(struct vq_json *j, const struct vq_report_input *r);
/* Writes the key "cascade" of one vibe; nothing without a cascade. */
void vq_report_cascade_vibe_json(struct vq_json *j, const struct vq_report_input *r,
                                 const struct vq_vibe_metrics *m);
/* Writes the lines of the terminal, vibes in `order`; nothing without a cascade. */
void vq_report_cascade_table(const struct vq_report_input *r, const uint32_t *order,
                             struct vq_buf *out);
