/* Private to this folder: the rows of a logistic regression as blocks of a dense matrix, and the
 * sums over them. */
#pragma once

#include "methods/stats/logit/logit.h"

#define VQ_DESIGN_BLOCK 256

/* Parameter 0 is the intercept if there is one; then the columns of x in `columns` follow. Missing
 * cells are 0. Rows of weight 0 are skipped. Everything except the working memory is borrowed. */
struct vq_design {
    struct vq_matrix x;
    const double *y;
    const double *weights; /* NULL = all 1 */
    const size_t *columns; /* NULL = all, in order */
    size_t columns_count;
    bool intercept;
    size_t params;

    double *z;      /* block x params: the rows of the block */
    double *scaled; /* the same rows, scaled */
    size_t row_of[VQ_DESIGN_BLOCK];
    size_t in_block;
};

enum vq_status vq_design_init(struct vq_design *design, const struct vq_logit_data *data,
                              const double *weights, const size_t *columns,
                              size_t columns_count) VQ_WARN_UNUSED;
void vq_design_free(struct vq_design *design);

/* Fills the block with the next rows, from *cursor on (0 at the start); false at the end. */
bool vq_design_next(struct vq_design *design, size_t *cursor);

double vq_design_weight(const struct vq_design *design, size_t row);

/* Returns the sum of weight * log(1 + exp(-margin)), and writes its gradient and (lower triangle,
 * row-major) Hessian if these are not NULL. */
double vq_design_loss(struct vq_design *design, const double *beta, double *ret_gradient,
                      double *ret_hessian);

/* Z' Z over the rows of positive weight, without their weights; lower triangle. */
void vq_design_gram(struct vq_design *design, double *ret_gram);

/* row_out[i] = z_i . beta for every row i of positive weight; other rows do not change. `row_out`
 * has one value per row. */
void vq_design_apply(struct vq_design *design, const double *beta, double *row_out);
