/* Reads an answer to judge-many.txt: a verdict on each of several numbered axes. */
#pragma once

#include "common/judge/ending.h"
#include "common/judge/verdict.h"

#define VQ_VERDICTS_MAX 20u /* axes in one call */

/* The verdicts on axes 1 to `count` (at most VQ_VERDICTS_MAX), by the rules of
 * docs/method/verdicts.md: ret_verdicts[k - 1] is FIRST to UNSURE, or UNPARSEABLE if the answer has
 * no single verdict for axis k. With the ending CUT, verdicts that the cut may have changed are
 * TRUNCATED; with UNKNOWN all are TRUNCATED, with REFUSED all are REFUSED. Reads any bytes.
 * *ret_votes: the number of votes. VQ_NOMEM. */
enum vq_status vq_verdicts_many(struct vq_span answer, enum vq_ending ending, uint32_t count,
                                enum vq_outcome ret_verdicts[VQ_VERDICTS_MAX],
                                uint32_t *ret_votes) VQ_WARN_UNUSED;
