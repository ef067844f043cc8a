/* Private to the results: people's labels of the vibes, beside the judges' scores. */
#pragma once

#include "common/text/json.h"
#include "methods/vibecheck/report/report.h"

/* Writes the key "people" of one vibe; nothing if it has no labels. */
void vq_report_people_json(struct vq_json *j, const struct vq_people_metrics *m);

/* Writes a table of the vibes with people's labels, in `order`; nothing without labels. */
void vq_report_people_table(const struct vq_report_input *r, const uint32_t *order,
                            struct vq_buf *out);
