/* Private to this room: does a maximum of the likelihood exist? */
#pragma once

#include "methods/stats/logit/design.h"

/* Finds every row that some direction separates. `design->weights` must be `weights`
 * (rows values, the caller's own copy): the weights of such rows are set to 0, so that the rows
 * left overlap and have a likelihood with a maximum. `ret_separated` counts the rows taken out,
 * `ret_left` those that stay. `ret_decided` is false when rounding kept the search from an answer
 * (then nothing is claimed). VQ_OK or VQ_NOMEM. */
enum vq_status vq_separation_peel(struct vq_design *design, double *weights, size_t *ret_separated,
                                  size_t *ret_left, bool *ret_decided) VQ_WARN_UNUSED;
