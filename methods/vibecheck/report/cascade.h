/* Private to the results: the cells that each judge of a cascade answered, and the savings. */
#pragma once

#include "common/text/json.h"
#include "methods/vibecheck/report/report.h"

/* Writes the key "cascade" of the results; nothing without a cascade. */
void vq_report_cascade_json(struct vq_json *j, const struct vq_report_input *r);
/* Writes the key "cascade" of one vibe; nothing without a cascade. */
void vq_report_cascade_vibe_json(struct vq_json *j, const struct vq_report_input *r,
                                 const struct vq_vibe_metrics *m);
/* Writes the lines for the terminal, with vibes in `order`; nothing without a cascade. */
void vq_report_cascade_table(const struct vq_report_input *r, const uint32_t *order,
                             struct vq_buf *out);
