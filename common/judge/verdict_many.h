/* What an answer to judge-many.txt says: a verdict on each of several numbered axes. */
#pragma once

#include "common/judge/ending.h"
#include "common/judge/verdict.h"

#define VQ_VERDICTS_MAX 20u /* axes in one call */

/* The verdicts on axes 1 to `count` (at most VQ_VERDICTS_MAX), by the rules of
 * docs/method/verdicts.md: ret_verdicts[k - 1] is FIRST to UNSURE, or UNPARSEABLE where the answer
 * gives axis k none or more than one at once. By how the answer ended: CUT, what the cut may have
 * changed is TRUNCATED; UNKNOWN, all are; REFUSED, all are that. Reads any bytes. *ret_votes: how
 * many are votes. VQ_NOMEM. */
enum vq_status vq_verdicts_many(struct vq_span answer, enum vq_ending ending, uint32_t count,
                                enum vq_outcome ret_verdicts[VQ_VERDICTS_MAX],
                                uint32_t *ret_votes) VQ_WARN_UNUSED;
