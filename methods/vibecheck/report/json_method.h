/* Private to the results: how the vibes were found, as a block of results.json. */
#pragma once

#include "methods/report/keys.h"
#include "methods/vibecheck/report/report.h"

/* Writes the key "discovery" with its object; nothing for a run with given vibes. */
void vq_report_json_method(struct vq_json *j, const struct vq_report_input *r);
