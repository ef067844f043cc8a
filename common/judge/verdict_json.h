/* Private to this folder: verdicts on numbered axes in JSON. */
#pragma once

#include "common/judge/verdict_many.h"

/* Looks for an object or array at the front of a line: {"1": "A"}, {"Property 1": {"label": "A"}},
 * ["A", "B"] (one a number), [{"property": 1, "model": "A"}], each also inside another object.
 * *ret_found true: it names an axis. ret_verdicts then has its labels, NONE for an axis that it
 * does not name, and UNPARSEABLE if the text is not a single label. False: ret_verdicts is
 * untouched. VQ_NOMEM. */
enum vq_status vq_verdicts_json(struct vq_span answer, uint32_t count,
                                enum vq_outcome ret_verdicts[VQ_VERDICTS_MAX],
                                bool *ret_found) VQ_WARN_UNUSED;

/* Reads an answer that is only one JSON object (after removal of a fence and thinking blocks) with
 * the label in the member `model`, or `preference`. NONE: it has another form; read it as text.
 * VQ_NOMEM. */
enum vq_status vq_verdict_json(struct vq_span answer, bool preference,
                               enum vq_outcome *ret_outcome) VQ_WARN_UNUSED;

/* Whether the text ends like JSON: with a bracket, before blanks and a fence. */
bool vq_verdict_ends_in_json(struct vq_span answer);
