/* Private to this room: the rows of a logistic regression as blocks of a dense matrix, and the sums
 * over them. */
#pragma once

#include "methods/stats/logit/logit.h"

#define VQ_DESIGN_BLOCK 256

/* Parameter 0 is the intercept where there is one; then the columns of x in `columns`. Missing
 * cells are 0. Rows of weight 0 do not exist. Everything but the work space is borrowed. */
struct vq_design {
    struct vq_matrix x;
    const double *y;
    const double *weights; /* NULL = all 1 */
    const size_t *columns; /* NULL = all, in order */
    size_t columns_count;
    bool intercept;
    size_t params;

    double *z;      /* block x params: the rows of the block */
    double *scaled; /* the same, scaled */
    size_t row_of[VQ_DESIGN_BLOCK];
    size_t in_block;
};

enum vq_status vq_design_init(struct vq_design *design, const struct vq_logit_data *data,
                              const double *weights, const size_t *columns,
                              size_t columns_count) VQ_WARN_UNUSED;
void vq_design_free(struct vq_design *design);

/* Fills the block with the next rows from *cursor on (start it at 0); false at the end. */
bool vq_design_next(struct vq_design *design, size_t *cursor);

double vq_design_weight(const struct vq_design *design, size_t row);

/* Sum of weight * log(1 + exp(-margin)); its gradient and (lower triangle, row-major) Hessian where
 * not NULL. */
double vq_design_loss(struct vq_design *design, const double *beta, double *ret_gradient,
                      double *ret_hessian);

/* Z' Z over existing rows, weights not applied; lower triangle. */
void vq_design_gram(struct vq_design *design, double *ret_gram);

/* row_out[i] = z_i . beta for every existing row i (others untouched); rows values. */
void vq_design_apply(struct vq_design *design, const double *beta, double *row_out);
