/* Multinomial logistic regression without intercepts: P(class c | x) is proportional to exp(x .
 * w_c). Minimises
 *
 *     C * sum over rows of -log P(y | x) + 1/2 sum over classes of |w_c|^2
 *
 * so the w_c sum to 0 over the classes. With two classes, and rows together with their negatives,
 * this is the mirrored logit of logit.h: its coefficients at C are w_0 - w_1 here at C / 2. A
 * missing cell (NaN) contributes 0. */
#pragma once

#include "methods/stats/stats.h"

#define VQ_MULTINOMIAL_CLASSES_MAX 64u
#define VQ_MULTINOMIAL_PARAMS_MAX  ((size_t)4096) /* classes times columns */

struct vq_multinomial_data {
    struct vq_matrix x;
    const uint32_t *y;    /* rows values less than `classes` */
    const bool *left_out; /* rows that are ignored; NULL: none */
    uint32_t classes;
};

/* `coef`: classes x cols values of the caller, first the start and then the minimum. VQ_OK,
 * VQ_INVALID (shapes, C not positive, an infinite cell), VQ_LIMIT (more parameters than
 * VQ_MULTINOMIAL_PARAMS_MAX), VQ_NOMEM. */
enum vq_status vq_multinomial_fit(const struct vq_multinomial_data *data, double c, double *coef,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* Chooses C by cross-validation over whole groups, as in the default mode of crossval.h: its folds,
 * its values of C, mean log-loss of held-out rows. *ret_c is 1 for fewer than two groups. Returns
 * the statuses of the fit. */
enum vq_status vq_multinomial_choose_c(const struct vq_multinomial_data *data,
                                       const uint32_t *groups, uint64_t seed, double *ret_c,
                                       struct vq_error *err) VQ_WARN_UNUSED;

/* -log P(y | x) of a row. */
double vq_multinomial_loss(const struct vq_multinomial_data *data, const double *coef, size_t row);
/* 1 if the row's class is the most probable one, 1/n if n classes are equally probable and it is
 * one of them, else 0. */
double vq_multinomial_right(const struct vq_multinomial_data *data, const double *coef, size_t row);

/* Adds weight * loss of a row: its gradient to `gradient` and its Hessian to the lower triangle of
 * `hessian`, both over classes x cols. */
void vq_multinomial_add_row(const struct vq_multinomial_data *data, double weight,
                            const double *coef, size_t row, double *gradient, double *hessian);

/* ---- multinomial_errors.c: over all rows; `left_out` is ignored ---- */

/* Whether the next two functions are fast enough: at most VQ_MULTINOMIAL_CI_PARAMS_MAX
 * coefficients, and not too many rows for that number. */
#define VQ_MULTINOMIAL_CI_PARAMS_MAX ((size_t)256)
#define VQ_MULTINOMIAL_CI_CELLS_MAX  ((size_t)1 << 24)
bool vq_multinomial_is_small(const struct vq_multinomial_data *data);

/* 95 % intervals of the coefficients at their minimum, with fixed C, by the one-step jackknife over
 * groups, with Student's quantile for groups - 1 degrees. The ends are NaN for fewer than two
 * groups. `ret` has classes x cols entries. VQ_OK, VQ_NOMEM. */
enum vq_status vq_multinomial_intervals(const struct vq_multinomial_data *data, double c,
                                        const double *coef, const uint32_t *groups,
                                        struct vq_interval *ret) VQ_WARN_UNUSED;
/* Whether there is no maximum-likelihood estimate (or rounding made the question undecidable).
 * VQ_OK, VQ_NOMEM. */
enum vq_status vq_multinomial_separated(const struct vq_multinomial_data *data,
                                        bool *ret_separated) VQ_WARN_UNUSED;
