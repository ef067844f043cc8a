/* Separability of vibes: means of scores with their bounds, and the overlap of two columns.
 * bootstrap.h has intervals by resampling. */
#pragma once

#include "methods/stats/stats.h"

/* NaN if a number does not exist. */
struct vq_separability {
    size_t missing;            /* number of rows without a score */
    double mean;               /* the separability, signed; positive toward A */
    struct vq_interval bounds; /* the mean with all missing cells at -1, then at +1 */
    double pref_mean;          /* mean of score * preference over the rows that have both */
};

/* One column: values at[0], at[stride], ...; `preference` (may be NULL) has n values -1 or +1, NaN
 * = unlabelled, without a stride. */
void vq_separability_column(const double *at, size_t n, size_t stride, const double *preference,
                            struct vq_separability *ret_sep);

/* Whether some values of the missing cells would move |mean| across the threshold (strict), in
 * either direction. */
bool vq_separability_gate_could_flip(const struct vq_separability *sep, double threshold);

/* 95 % interval of the mean of scores in [-1, 1] by prompt. If at least VQ_VARIED_UNITS units
 * differ from the most common value, it is `percentile` (of the bootstrap). Fewer units are too few
 * to draw from: for an almost constant column the percentiles cover the truth in less than half of
 * the cases at 12 units. Then it is Wilson's interval of (mean + 1) / 2 over the units, which
 * covers at least 95 % for scores of -1 and +1, and more if there are scores in between. `groups`
 * NULL: each row is a unit. The ends are NaN without units. VQ_OK or VQ_NOMEM. */
#define VQ_VARIED_UNITS 10u
enum vq_status vq_separability_interval(const double *at, size_t n, size_t stride,
                                        const uint32_t *groups, struct vq_interval percentile,
                                        struct vq_interval *ret) VQ_WARN_UNUSED;

/* Whether fewer than VQ_VARIED_CELLS present cells differ from the most common value. */
#define VQ_VARIED_CELLS 5u
bool vq_separability_nearly_constant(const double *at, size_t n, size_t stride);

enum vq_overlap_kind {
    /* uncentred correlation: two columns that are mostly +1 overlap even if they are independent */
    VQ_OVERLAP_COSINE,
    /* undefined for a constant column, and meaningless for two nearly constant columns */
    VQ_OVERLAP_PEARSON,
};

/* Over the rows where both columns are present. NaN if it is undefined (no such row, an all-zero
 * column or, for Pearson, a constant column): an undefined overlap drops no vibe. */
double vq_separability_overlap(struct vq_matrix x, size_t col_a, size_t col_b,
                               enum vq_overlap_kind kind);
