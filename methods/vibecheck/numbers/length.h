/* Private to this folder: the second fit of each regression, with the length of the outputs beside
 * the vibes. */
#pragma once

#include "methods/vibecheck/numbers/estimate.h"

/* One split: the rows of a fit, and the log ratio of lengths (A over B) of each row. */
struct vq_length_rows {
    const struct vq_logit_data *data;
    const double *length;
    const uint32_t *group;
};

struct vq_fit_length vq_length_none(void);
/* Fills m->length and the kept vibes' numbers of the fit with length. The main fit and its marks
 * must be computed before. Nothing is computed without lengths, without a variation of lengths, or
 * without intervals. VQ_OK or the statuses of the fits of logit.h. */
enum vq_status vq_length_compute(struct vq_vibecheck_work *w, bool mm,
                                 const struct vq_length_rows *train,
                                 const struct vq_length_rows *test,
                                 struct vq_fit_metrics *m) VQ_WARN_UNUSED;
