/* Private to this folder: whether a maximum of the likelihood exists. */
#pragma once

#include "methods/stats/logit/design.h"

/* Finds every row that some direction separates. `design->weights` must be `weights` (rows values,
 * the caller's own copy): the weights of such rows are set to 0, so that the remaining rows overlap
 * and have a likelihood with a maximum. `ret_separated` is the number of rows taken out, `ret_left`
 * the number of remaining rows. `ret_decided` is false if rounding prevented an answer; then the
 * other results prove nothing. VQ_OK or VQ_NOMEM. */
enum vq_status vq_separation_peel(struct vq_design *design, double *weights, size_t *ret_separated,
                                  size_t *ret_left, bool *ret_decided) VQ_WARN_UNUSED;
