/* Separation of a multinomial's classes, and intervals of its coefficients by groups of rows.
 *
 * Intervals are those of the one-step jackknife: without group u the minimum moves by D_u = (H - C
 * H_u)^-1 C g_u to first order, where H is the Hessian of the objective and g_u, H_u are gradient
 * and Hessian of the group's loss. The variance is (G - 1) / G times the sum of the squares of D_u.
 *
 * Separation is decided as for two classes (separation.c), on the differences between a row's own
 * class and each other class: each difference is a row of a logit whose parameters are those of all
 * classes except the last. A call owns its working memory. */
#include "methods/stats/logit/multinomial.h"

#include "common/base/alloc.h"
#include "common/base/arena.h"
#include "methods/stats/groups.h"
#include "methods/stats/linalg.h"
#include "methods/stats/logit/separation.h"
#include "methods/stats/special.h"

#include <math.h>
#include <string.h>

/* ---- intervals ---- */

struct jackknife {
    struct vq_arena arena;
    const struct vq_multinomial_data *data;
    double c;
    const double *coef;
    size_t params, units;
    uint32_t *unit;  /* unit of each row */
    uint32_t *order; /* rows by unit */
    double *hessian, *left, *step, *squares;
};

static bool jackknife_alloc(struct jackknife *j)
{
    size_t rows = j->data->x.rows, square = j->params * j->params;
    j->unit = vq_arena_alloc(&j->arena, rows, sizeof(*j->unit));
    j->order = vq_arena_alloc(&j->arena, rows, sizeof(*j->order));
    j->hessian = vq_arena_alloc(&j->arena, square, sizeof(double));
    j->left = vq_arena_alloc(&j->arena, square, sizeof(double));
    j->step = vq_arena_alloc(&j->arena, j->params, sizeof(double));
    j->squares = vq_arena_alloc(&j->arena, j->params, sizeof(double));
    return !j->arena.failed;
}

/* Counting sort: the rows of one unit become neighbours. */
static enum vq_status sort_rows(struct jackknife *j)
{
    size_t rows = j->data->x.rows;
    uint32_t *next;
    VQ_TRY(VQ_ALLOC(next, j->units + 1));
    for (size_t row = 0; row < rows; row++) {
        next[j->unit[row] + 1]++;
    }
    for (size_t u = 1; u <= j->units; u++) {
        next[u] += next[u - 1];
    }
    for (size_t row = 0; row < rows; row++) {
        j->order[next[j->unit[row]]++] = (uint32_t)row;
    }
    vq_free(next);
    return VQ_OK;
}

/* Leaves out the rows `from` to `to` of the order; false if the remaining rows have no minimum to
 * working precision. */
static bool leave_out(struct jackknife *j, size_t from, size_t to)
{
    memcpy(j->left, j->hessian, j->params * j->params * sizeof(double));
    memset(j->step, 0, j->params * sizeof(double));
    for (size_t k = from; k < to; k++) {
        vq_multinomial_add_row(j->data, -j->c, j->coef, j->order[k], j->step, j->left);
    }
    if (!vq_linalg_cholesky(j->left, j->params)) {
        return false;
    }
    vq_linalg_solve(j->left, j->params, j->step);
    for (size_t p = 0; p < j->params; p++) {
        j->squares[p] += j->step[p] * j->step[p];
    }
    return true;
}

static enum vq_status draw_ends(struct jackknife *j, struct vq_interval *ret)
{
    size_t rows = j->data->x.rows;
    VQ_TRY(sort_rows(j));
    for (size_t p = 0; p < j->params; p++) {
        j->hessian[p * j->params + p] = 1.0;
    }
    for (size_t row = 0; row < rows; row++) {
        vq_multinomial_add_row(j->data, j->c, j->coef, row, j->step, j->hessian);
    }
    bool solved = j->units >= 2;
    for (size_t from = 0, to; from < rows && solved; from = to) {
        for (to = from + 1; to < rows && j->unit[j->order[to]] == j->unit[j->order[from]];) {
            to++;
        }
        solved = leave_out(j, from, to);
    }
    double n = (double)j->units, t = solved ? vq_student_975(n - 1.0) : NAN;
    for (size_t p = 0; p < j->params; p++) {
        double half = t * sqrt((n - 1.0) / n * j->squares[p]);
        ret[p] = (struct vq_interval){j->coef[p] - half, j->coef[p] + half};
    }
    return VQ_OK;
}

enum vq_status vq_multinomial_intervals(const struct vq_multinomial_data *data, double c,
                                        const double *coef, const uint32_t *groups,
                                        struct vq_interval *ret)
{
    struct jackknife j = {
        .data = data, .c = c, .coef = coef, .params = data->classes * data->x.cols};
    enum vq_status status =
        jackknife_alloc(&j) ? vq_groups_index(groups, data->x.rows, j.unit, &j.units) : VQ_NOMEM;
    if (status == VQ_OK) {
        status = draw_ends(&j, ret);
    }
    vq_arena_clear(&j.arena);
    return status;
}

bool vq_multinomial_is_small(const struct vq_multinomial_data *data)
{
    size_t params = data->classes * data->x.cols;
    return params <= VQ_MULTINOMIAL_CI_PARAMS_MAX &&
           data->x.rows * (data->classes - 1) * params <= VQ_MULTINOMIAL_CI_CELLS_MAX;
}

/* ---- separation ---- */

/* Own class minus another one; the last class has no parameters. */
static void put_difference(const struct vq_multinomial_data *d, size_t row, uint32_t other,
                           double *to)
{
    size_t cols = d->x.cols;
    for (size_t k = 0; k < cols; k++) {
        double x = d->x.at[row * cols + k];
        double cell = isnan(x) ? 0.0 : x;
        if (d->y[row] + 1 < d->classes) {
            to[d->y[row] * cols + k] = cell;
        }
        if (other + 1 < d->classes) {
            to[other * cols + k] = -cell;
        }
    }
}

enum vq_status vq_multinomial_separated(const struct vq_multinomial_data *data, bool *ret_separated)
{
    size_t others = data->classes - 1, width = others * data->x.cols, n = data->x.rows * others;
    double *x = vq_alloc(n * width, sizeof(*x)), *y = vq_alloc(n, sizeof(*y));
    double *weights = vq_alloc(n, sizeof(*weights));
    enum vq_status status = x == NULL || y == NULL || weights == NULL ? VQ_NOMEM : VQ_OK;
    for (size_t row = 0, at = 0; row < data->x.rows && status == VQ_OK; row++) {
        for (uint32_t other = 0; other < data->classes; other++) {
            if (other != data->y[row]) {
                put_difference(data, row, other, x + at * width);
                y[at] = weights[at] = 1.0;
                at++;
            }
        }
    }
    struct vq_logit_data logit = {.x = {x, n, width}, .y = y, .weights = weights};
    struct vq_design design;
    if (status == VQ_OK) {
        status = vq_design_init(&design, &logit, weights, NULL, width);
    }
    if (status == VQ_OK) {
        size_t apart, left;
        bool decided;
        status = vq_separation_peel(&design, weights, &apart, &left, &decided);
        vq_design_free(&design);
        if (status == VQ_OK) {
            *ret_separated = !decided || apart > 0;
        }
    }
    vq_free(x);
    vq_free(y);
    vq_free(weights);
    return status;
}
