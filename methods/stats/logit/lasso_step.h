/* Private to this folder: the step of a proximal Newton iteration. */
#pragma once

#include <stddef.h>

/* Minimises over d: gradient . d + d' hessian d / 2 + l1 * sum over j >= first of |at_j + d_j|. The
 * Hessian is row-major, lower triangle, positive semidefinite. */
struct vq_lasso_model {
    size_t params;
    size_t first; /* earlier parameters are not penalised */
    double l1;
    const double *at;
    const double *gradient;
    const double *hessian;
};

/* Writes the minimiser to ret_step (params values); a parameter that ends at 0 has a step of
 * exactly -at. The caller gives working memory for params^2, params and params values. */
void vq_lasso_step(const struct vq_lasso_model *model, double *work_matrix, double *work_vector,
                   size_t *work_index, double *ret_step);
