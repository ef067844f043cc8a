/* Private to this folder: verdicts on numbered axes in JSON. */
#pragma once

#include "common/judge/verdict_many.h"

/* Looks for an object or array at the front of a line: {"1": "A"}, {"Property 1": {"label": "A"}},
 * ["A", "B"] (one a number), [{"property": 1, "model": "A"}], each also inside another object.
 * True: one was found that names an axis; *ret_verdicts then holds what its labels say, NONE where
 * it says nothing, UNPARSEABLE where what it says is no single label. False: untouched.
 * VQ_NOMEM. */
enum vq_status vq_verdicts_json(struct vq_span answer, uint32_t count,
                                enum vq_outcome ret_verdicts[VQ_VERDICTS_MAX],
                                bool *ret_found) VQ_WARN_UNUSED;

/* The verdict of an answer that is one JSON object and nothing else (a fence and thinking blocks
 * apart), with its label alone in the member `model`, or `preference`; NONE: it is not, and the
 * text is to be read as any. VQ_NOMEM. */
enum vq_status vq_verdict_json(struct vq_span answer, bool preference,
                               enum vq_outcome *ret_outcome) VQ_WARN_UNUSED;

/* Whether the text ends as JSON does: with a bracket, blanks and a fence apart. */
bool vq_verdict_ends_in_json(struct vq_span answer);
