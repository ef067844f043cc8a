/* Newton with halved steps on all classes at once. The penalty makes the objective strictly convex,
 * so there is exactly one minimum. The Hessian is dense, (classes x cols) squared. A call owns its
 * working memory. */
#include "methods/stats/logit/multinomial.h"

#include "common/base/alloc.h"
#include "methods/stats/linalg.h"
#include "methods/stats/logit/crossval.h"

#include <math.h>
#include <string.h>

#define STEPS_MAX    100
#define HALVINGS_MAX 40
#define STEP_TINY    1e-9 /* relative; the error after such a step is its square */
#define LOSS_TIE     1e-12

static bool counts(const struct vq_multinomial_data *d, size_t row)
{
    return d->left_out == NULL || !d->left_out[row];
}

static void predictors(const struct vq_multinomial_data *d, const double *coef, size_t row,
                       double *ret_eta)
{
    size_t cols = d->x.cols;
    for (uint32_t c = 0; c < d->classes; c++) {
        double sum = 0.0;
        for (size_t k = 0; k < cols; k++) {
            double x = d->x.at[row * cols + k];
            sum += isnan(x) ? 0.0 : x * coef[c * cols + k];
        }
        ret_eta[c] = sum;
    }
}

/* Turns the predictors of the classes into probabilities, in place; returns the log of the sum of
 * their exponentials. */
static double normalise(double *eta, uint32_t classes)
{
    double most = eta[0], sum = 0.0;
    for (uint32_t c = 1; c < classes; c++) {
        most = fmax(most, eta[c]);
    }
    for (uint32_t c = 0; c < classes; c++) {
        eta[c] = exp(eta[c] - most);
        sum += eta[c];
    }
    for (uint32_t c = 0; c < classes; c++) {
        eta[c] /= sum;
    }
    return most + log(sum);
}

double vq_multinomial_loss(const struct vq_multinomial_data *data, const double *coef, size_t row)
{
    double eta[VQ_MULTINOMIAL_CLASSES_MAX];
    predictors(data, coef, row, eta);
    double own = eta[data->y[row]];
    return normalise(eta, data->classes) - own;
}

double vq_multinomial_right(const struct vq_multinomial_data *data, const double *coef, size_t row)
{
    double eta[VQ_MULTINOMIAL_CLASSES_MAX];
    predictors(data, coef, row, eta);
    double own = eta[data->y[row]];
    uint32_t equal = 0;
    for (uint32_t c = 0; c < data->classes; c++) {
        if (eta[c] > own + VQ_LOGIT_TIE) {
            return 0.0;
        }
        equal += eta[c] > own - VQ_LOGIT_TIE;
    }
    return 1.0 / equal;
}

static double objective(const struct vq_multinomial_data *d, double c, const double *coef)
{
    double loss = 0.0, squares = 0.0;
    for (size_t row = 0; row < d->x.rows; row++) {
        loss += counts(d, row) ? vq_multinomial_loss(d, coef, row) : 0.0;
    }
    for (size_t k = 0; k < d->classes * d->x.cols; k++) {
        squares += coef[k] * coef[k];
    }
    return c * loss + squares / 2.0;
}

/* Adds one row's part: (p_a [a = b] - p_a p_b) x x' to block (a, b) of the lower triangle. */
static void add_hessian(const struct vq_multinomial_data *d, double c, const double *p, size_t row,
                        double *hessian)
{
    size_t cols = d->x.cols, params = d->classes * cols;
    const double *x = d->x.at + row * cols;
    for (uint32_t a = 0; a < d->classes; a++) {
        for (uint32_t b = 0; b <= a; b++) {
            double weight = c * (a == b ? p[a] * (1.0 - p[a]) : -p[a] * p[b]);
            for (size_t k = 0; k < cols; k++) {
                double left = isnan(x[k]) ? 0.0 : weight * x[k];
                double *to = hessian + (a * cols + k) * params + b * cols;
                for (size_t l = 0; left != 0.0 && l < cols; l++) {
                    to[l] += isnan(x[l]) ? 0.0 : left * x[l];
                }
            }
        }
    }
}

void vq_multinomial_add_row(const struct vq_multinomial_data *d, double weight, const double *coef,
                            size_t row, double *gradient, double *hessian)
{
    size_t cols = d->x.cols;
    double p[VQ_MULTINOMIAL_CLASSES_MAX];
    predictors(d, coef, row, p);
    (void)normalise(p, d->classes);
    for (uint32_t a = 0; a < d->classes; a++) {
        double miss = p[a] - (a == d->y[row] ? 1.0 : 0.0);
        for (size_t k = 0; k < cols; k++) {
            double x = d->x.at[row * cols + k];
            gradient[a * cols + k] += isnan(x) ? 0.0 : weight * miss * x;
        }
    }
    add_hessian(d, weight, p, row, hessian);
}

static void expand(const struct vq_multinomial_data *d, double c, const double *coef,
                   double *gradient, double *hessian)
{
    size_t params = d->classes * d->x.cols;
    memset(hessian, 0, params * params * sizeof(*hessian));
    for (size_t k = 0; k < params; k++) {
        gradient[k] = coef[k];
        hessian[k * params + k] = 1.0;
    }
    for (size_t row = 0; row < d->x.rows; row++) {
        if (counts(d, row)) {
            vq_multinomial_add_row(d, c, coef, row, gradient, hessian);
        }
    }
}

/* One step; false at the minimum. */
static bool improve(const struct vq_multinomial_data *d, double c, double *coef, double *work)
{
    size_t params = d->classes * d->x.cols;
    double *gradient = work, *trial = work + params, *hessian = work + 2 * params;
    double here = objective(d, c, coef), size = 0.0, length = 1.0;
    expand(d, c, coef, gradient, hessian);
    if (!vq_linalg_cholesky(hessian, params)) {
        return false;
    }
    vq_linalg_solve(hessian, params, gradient);
    for (size_t k = 0; k < params; k++) {
        size = fmax(size, fabs(gradient[k]) / (1.0 + fabs(coef[k])));
    }
    for (int halving = 0; halving < HALVINGS_MAX; halving++, length *= 0.5) {
        for (size_t k = 0; k < params; k++) {
            trial[k] = coef[k] - length * gradient[k];
        }
        if (objective(d, c, trial) <= here + 1e-13 * (1.0 + fabs(here))) {
            memcpy(coef, trial, params * sizeof(*coef));
            return size > STEP_TINY;
        }
    }
    return false;
}

static enum vq_status check(const struct vq_multinomial_data *d, double c, struct vq_error *err)
{
    VQ_TRY(vq_stats_check(d->x, true, err));
    if (d->classes < 2 || d->classes > VQ_MULTINOMIAL_CLASSES_MAX || !(c > 0.0)) {
        return vq_fail(err, VQ_INVALID, "a multinomial fit needs 2 to %u classes and C above 0",
                       VQ_MULTINOMIAL_CLASSES_MAX);
    }
    if (d->classes * d->x.cols > VQ_MULTINOMIAL_PARAMS_MAX) {
        return vq_fail(err, VQ_LIMIT,
                       "%u models and %zu vibes are too many for one multinomial fit: at most %zu "
                       "coefficients; keep fewer vibes (vibecheck.num_final_vibes)",
                       d->classes, d->x.cols, VQ_MULTINOMIAL_PARAMS_MAX);
    }
    for (size_t row = 0; row < d->x.rows; row++) {
        if (d->y[row] >= d->classes) {
            return vq_fail(err, VQ_INVALID, "row %zu has class %u of %u", row, d->y[row],
                           d->classes);
        }
    }
    return VQ_OK;
}

enum vq_status vq_multinomial_fit(const struct vq_multinomial_data *data, double c, double *coef,
                                  struct vq_error *err)
{
    VQ_TRY(check(data, c, err));
    size_t params = data->classes * data->x.cols;
    double *work;
    VQ_TRY(VQ_ALLOC(work, params * params + 2 * params));
    for (int step = 0; step < STEPS_MAX && improve(data, c, coef, work); step++) {
    }
    vq_free(work);
    return VQ_OK;
}

/* Adds the loss of each C over the rows of `fold`, fitted on the other rows. The values of C
 * ascend, and each fit starts from the last minimum. */
static enum vq_status walk_fold(const struct vq_multinomial_data *data, const uint32_t *fold_of_row,
                                uint32_t fold, const double *grid, bool *left_out, double *coef,
                                double *loss, struct vq_error *err)
{
    struct vq_multinomial_data part = *data;
    part.left_out = left_out;
    for (size_t row = 0; row < data->x.rows; row++) {
        left_out[row] = fold_of_row[row] == fold || !counts(data, row);
    }
    memset(coef, 0, data->classes * data->x.cols * sizeof(*coef));
    for (size_t at = 0; at < VQ_CROSSVAL_GRID; at++) {
        VQ_TRY(vq_multinomial_fit(&part, grid[at], coef, err));
        for (size_t row = 0; row < data->x.rows; row++) {
            bool held = fold_of_row[row] == fold && counts(data, row);
            loss[at] += held ? vq_multinomial_loss(data, coef, row) : 0.0;
        }
    }
    return VQ_OK;
}

enum vq_status vq_multinomial_choose_c(const struct vq_multinomial_data *data,
                                       const uint32_t *groups, uint64_t seed, double *ret_c,
                                       struct vq_error *err)
{
    VQ_TRY(check(data, 1.0, err));
    double grid[VQ_CROSSVAL_GRID], loss[VQ_CROSSVAL_GRID] = {0};
    for (size_t at = 0; at < VQ_CROSSVAL_GRID; at++) {
        grid[at] = pow(10.0, -4.0 + 8.0 * (double)at / (VQ_CROSSVAL_GRID - 1));
    }
    size_t folds = 0, best = 0;
    uint32_t *fold_of_row = vq_alloc(data->x.rows, sizeof(*fold_of_row));
    bool *left_out = vq_alloc(data->x.rows, sizeof(*left_out));
    double *coef = vq_alloc(data->classes * data->x.cols, sizeof(*coef));
    enum vq_status status =
        fold_of_row == NULL || left_out == NULL || coef == NULL
            ? VQ_NOMEM
            : vq_crossval_assign(groups, data->x.rows, seed, fold_of_row, &folds);
    for (uint32_t fold = 0; fold < folds && folds > 1 && status == VQ_OK; fold++) {
        status = walk_fold(data, fold_of_row, fold, grid, left_out, coef, loss, err);
    }
    for (size_t at = 1; at < VQ_CROSSVAL_GRID; at++) {
        best = loss[at] < loss[best] * (1.0 - LOSS_TIE) ? at : best;
    }
    vq_free(fold_of_row);
    vq_free(left_out);
    vq_free(coef);
    if (status == VQ_OK) {
        *ret_c = folds > 1 ? grid[best] : 1.0;
    }
    return status;
}
