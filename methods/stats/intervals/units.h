/* Units of several rows each: the prompts of a data set that repeats them. Rows with equal group
 * numbers are one unit; NULL: each row is a unit. */
#pragma once

#include "methods/stats/stats.h"

/* The mean of each unit over its present rows, in order of first appearance; NaN if all its rows
 * are missing. `ret_means` has room for n values; *ret_units of them are set. VQ_OK or VQ_NOMEM. */
enum vq_status vq_unit_means(const double *at, size_t n, size_t stride, const uint32_t *groups,
                             double *ret_means, size_t *ret_units) VQ_WARN_UNUSED;

/* 1 / (number of rows of the row's unit), so that each unit counts once. `ret_weights` has n
 * values. VQ_OK or VQ_NOMEM. */
enum vq_status vq_unit_weights(const uint32_t *groups, size_t n, double *ret_weights,
                               size_t *ret_units) VQ_WARN_UNUSED;
