/* Private to the pipeline: the regressions fitted a second time with the length of the outputs
 * beside the vibes. */
#pragma once

#include "methods/vibecheck/numbers/estimate.h"

/* One split: the rows of a fit, and each row's log ratio of lengths (A over B). */
struct vq_length_rows {
    const struct vq_logit_data *data;
    const double *length;
    const uint32_t *group;
};

struct vq_fit_length vq_length_none(void);
/* Fills m->length and the kept vibes' numbers with length held fixed. `main` and its marks are
 * there. Without an input of lengths, a length that varies or intervals nothing is computed. VQ_OK
 * or as the fits of logit.h. */
enum vq_status vq_length_compute(struct vq_vibecheck_work *w, bool mm,
                                 const struct vq_length_rows *train,
                                 const struct vq_length_rows *test,
                                 struct vq_fit_metrics *m) VQ_WARN_UNUSED;
