/* Coordinate descent first: it finds which parameters are 0 and the signs of the others, but it is
 * slow where the Hessian is nearly flat. Then an exact finish: with known zeros and signs the model
 * is a plain quadratic. Walk to its minimum, and stop where a parameter reaches 0 (it becomes a
 * zero), until the minimum is reached. Each round lowers the model and can only add a zero; if a
 * zero is wrong, the next Newton iteration frees it.
 *
 * Pure; the caller owns the working memory. */
#include "methods/stats/logit/lasso_step.h"

#include "methods/stats/linalg.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define SWEEPS_MAX 200
#define SWEEP_TINY 1e-14
#define RIDGE      1e-13 /* of the diagonal, if zeros and signs do not determine the minimum */

static double curve_of(const struct vq_lasso_model *model, size_t i, size_t j)
{
    return i >= j ? model->hessian[i * model->params + j] : model->hessian[j * model->params + i];
}

static double soft(double value, double threshold)
{
    if (value > threshold) {
        return value - threshold;
    }
    return value < -threshold ? value + threshold : 0.0;
}

/* Invariant: `product` equals hessian * step. */
static void descend(const struct vq_lasso_model *model, double *product, double *step)
{
    memset(step, 0, model->params * sizeof(double));
    memset(product, 0, model->params * sizeof(double));
    for (int sweep = 0; sweep < SWEEPS_MAX; sweep++) {
        double moved = 0.0;
        for (size_t j = 0; j < model->params; j++) {
            double curve = curve_of(model, j, j);
            double at = model->at[j] + step[j];
            double slope = model->gradient[j] + product[j];
            double to = j < model->first ? at : 0.0;
            if (curve > 0.0) {
                to = soft(curve * at - slope, j < model->first ? 0.0 : model->l1) / curve;
            }
            double change = to - at;
            if (change == 0.0) {
                continue;
            }
            step[j] = to == 0.0 ? -model->at[j] : step[j] + change;
            for (size_t l = 0; l < model->params; l++) {
                product[l] += change * curve_of(model, l, j);
            }
            moved = fmax(moved, fabs(change) / (1.0 + fabs(to)));
        }
        if (moved <= SWEEP_TINY) {
            break;
        }
    }
}

static bool is_zero(const struct vq_lasso_model *model, const double *step, size_t j)
{
    return j >= model->first && model->at[j] + step[j] == 0.0;
}

/* Minimum of the quadratic with the current zeros and signs: writes the steps of the `count`
 * parameters in `index` to `target`. */
static bool solve_active(const struct vq_lasso_model *model, const size_t *index, size_t count,
                         const double *step, double *matrix, double *target)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        for (size_t a = 0; a < count; a++) {
            size_t j = index[a];
            double pull = j < model->first ? 0.0 : copysign(model->l1, model->at[j] + step[j]);
            target[a] = -model->gradient[j] - pull;
            for (size_t l = 0; l < model->params; l++) {
                target[a] -= is_zero(model, step, l) ? curve_of(model, j, l) * step[l] : 0.0;
            }
            for (size_t b = 0; b <= a; b++) {
                matrix[a * count + b] = curve_of(model, j, index[b]);
            }
            matrix[a * count + a] *= attempt == 0 ? 1.0 : 1.0 + RIDGE;
        }
        if (vq_linalg_cholesky(matrix, count)) {
            vq_linalg_solve(matrix, count, target);
            return true;
        }
    }
    return false;
}

/* Walks towards the target until the first parameter reaches 0; true if the target is reached. */
static bool walk(const struct vq_lasso_model *model, const size_t *index, size_t count,
                 const double *target, double *step)
{
    double length = 1.0;
    size_t stops = count;
    for (size_t a = 0; a < count; a++) {
        size_t j = index[a];
        double from = model->at[j] + step[j];
        double to = model->at[j] + target[a];
        if (j >= model->first && (from > 0.0) != (to > 0.0)) {
            double reach = from / (from - to);
            if (reach < length || stops == count) {
                length = fmin(reach, 1.0);
                stops = a;
            }
        }
    }
    for (size_t a = 0; a < count; a++) {
        size_t j = index[a];
        step[j] += length * (target[a] - step[j]);
    }
    if (stops < count) {
        step[index[stops]] = -model->at[index[stops]];
    }
    return stops == count;
}

void vq_lasso_step(const struct vq_lasso_model *model, double *work_matrix, double *work_vector,
                   size_t *work_index, double *ret_step)
{
    size_t params = model->params;
    double *step = ret_step;
    descend(model, work_vector, step);
    for (size_t round = 0; round <= params; round++) {
        size_t count = 0;
        for (size_t j = 0; j < params; j++) {
            if (!is_zero(model, step, j)) {
                work_index[count++] = j;
            }
        }
        if (!solve_active(model, work_index, count, step, work_matrix, work_vector)) {
            return;
        }
        for (size_t a = 0; a < count; a++) {
            if (!isfinite(work_vector[a])) {
                return;
            }
        }
        if (walk(model, work_index, count, work_vector, step)) {
            return;
        }
    }
}
