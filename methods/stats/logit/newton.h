/* Private to this folder: minimises c * loss + l1 * |w|_1 + l2 / 2 * |w|^2 (the intercept is not
 * penalised). */
#pragma once

#include "methods/stats/logit/design.h"

struct vq_newton_goal {
    double c;
    double l1;
    double l2;
    int steps_max;
};

struct vq_newton_result {
    bool converged;
    int steps;
    double loss;      /* weighted loss at the end, without penalty */
    double objective; /* the minimised value */
};

#define VQ_NEWTON_STEPS_MAX 200

/* `beta` has design->params values, first the start and then the end. A goal without a minimum
 * (separated rows, no penalty) ends with converged false. VQ_OK or VQ_NOMEM. */
enum vq_status vq_newton_minimise(struct vq_design *design, const struct vq_newton_goal *goal,
                                  double *beta, struct vq_newton_result *ret) VQ_WARN_UNUSED;
