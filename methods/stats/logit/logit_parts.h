/* Private to this folder: functions that the fits of logit.h share. */
#pragma once

#include "methods/stats/logit/design.h"

/* Checks shapes and values. VQ_OK, VQ_INVALID, VQ_LIMIT. */
enum vq_status vq_logit_check(const struct vq_logit_data *data,
                              struct vq_error *err) VQ_WARN_UNUSED;

/* Checks the data, allocates the arrays of `fit` (all NaN or false), counts classes and missing
 * cells, and sets the statuses that need no fit: no_rows, single_class; else ok. On failure it
 * frees `fit`. */
enum vq_status vq_logit_fit_begin(const struct vq_logit_data *data, struct vq_logit_fit *fit,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* Finds the columns to fit: fills `aliased` (cols values) and `columns` (the kept ones), for the
 * rows of positive weight. VQ_OK or VQ_NOMEM. */
enum vq_status vq_logit_alias(const struct vq_logit_data *data, bool *aliased, size_t *columns,
                              size_t *ret_count) VQ_WARN_UNUSED;
