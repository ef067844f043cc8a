/* Separation in logistic regression (Albert and Anderson 1984), decided exactly except for
 * rounding, without a general linear programme.
 *
 * Let a_i be row i with the sign of its class. Separation means that there is a direction b with
 * a_i.b >= 0 for all rows and > 0 for some row. It exists unless there are positive multipliers of
 * the rows that sum to zero: sum_i l_i a_i = 0, all l_i > 0 (Stiemke). With l_i = 1 + m_i, m_i >=
 * 0, this is a non-negative least squares problem: minimise r = sum_i (1 + m_i) a_i. If r = 0, the
 * multipliers prove overlap. If not, the optimality conditions a_i.r >= 0 and m_i (a_i.r) = 0 give
 * sum_i a_i.r = r.r > 0: r itself is the direction. The active-set method (Lawson and Hanson 1974)
 * has at most as many active rows as there are parameters, and its objective decreases at every
 * step, so it cannot cycle.
 *
 * Rows with a_i.r > 0 become certain. They are taken out, and the search repeats with the other
 * rows until these overlap (Geyer 2009).
 *
 * A call owns its working memory. Not its job: estimates from the remaining rows. */
#include "methods/stats/logit/separation.h"

#include "common/base/arena.h"
#include "methods/stats/linalg.h"

#include <math.h>
#include <string.h>

#define RESIDUAL_TINY 1e-10 /* relative to the sum of the rows: r counts as 0 */
#define ANGLE_TINY    1e-9  /* relative to |a_i| |r|: a smaller a_i.r counts as 0 */

struct peel {
    struct vq_design *design;
    struct vq_arena arena;
    size_t params;
    double *scale;   /* largest |z_j|: the problem is solved in scaled columns */
    double *norm;    /* per row: |a_i| in scaled columns */
    double *product; /* per row: a_i.r */
    /* rows that are active, or that were refused because of rounding since the last progress */
    uint8_t *barred;
    size_t active;    /* number of active rows */
    size_t *row;      /* [active]: row number */
    double *vector;   /* [active]: a_i, params values each */
    double *multiple; /* [active]: m_i */
    double *solution;
    double *equations;
    double *base;      /* sum of a_i */
    double *residual;  /* r */
    double *direction; /* r in unscaled columns */
};

static double sign_of(const struct peel *peel, size_t row)
{
    return peel->design->y[row] > 0.5 ? 1.0 : -1.0;
}

static enum vq_status peel_init(struct peel *peel, struct vq_design *design)
{
    size_t params = design->params;
    *peel = (struct peel){.design = design, .params = params};
    peel->scale = vq_arena_alloc(&peel->arena, 6 * params + 6, sizeof(double));
    peel->norm = vq_arena_alloc(&peel->arena, design->x.rows, sizeof(double));
    peel->product = vq_arena_alloc(&peel->arena, design->x.rows, sizeof(double));
    peel->barred = vq_arena_alloc(&peel->arena, design->x.rows, sizeof(uint8_t));
    peel->row = vq_arena_alloc(&peel->arena, params + 1, sizeof(size_t));
    peel->vector = vq_arena_alloc(&peel->arena, (params + 1) * params, sizeof(double));
    peel->equations = vq_arena_alloc(&peel->arena, (params + 1) * params, sizeof(double));
    if (peel->arena.failed) {
        vq_arena_clear(&peel->arena);
        return VQ_NOMEM;
    }
    peel->multiple = peel->scale + params;
    peel->solution = peel->multiple + params + 1;
    peel->base = peel->solution + params + 1;
    peel->residual = peel->base + params;
    peel->direction = peel->residual + params;
    return VQ_OK;
}

static double norm_of(const double *v, size_t n)
{
    double sum = 0.0;
    for (size_t j = 0; j < n; j++) {
        sum += v[j] * v[j];
    }
    return sqrt(sum);
}

/* Computes column scales, row norms and the sum of the remaining rows; no row is active. */
static void peel_start(struct peel *peel)
{
    struct vq_design *design = peel->design;
    size_t params = peel->params;
    memset(peel->scale, 0, params * sizeof(double));
    memset(peel->base, 0, params * sizeof(double));
    memset(peel->barred, 0, design->x.rows);
    peel->active = 0;
    for (size_t cursor = 0; vq_design_next(design, &cursor);) {
        for (size_t i = 0; i < design->in_block; i++) {
            for (size_t j = 0; j < params; j++) {
                peel->scale[j] = fmax(peel->scale[j], fabs(design->z[i * params + j]));
            }
        }
    }
    for (size_t j = 0; j < params; j++) {
        peel->scale[j] = peel->scale[j] > 0.0 ? peel->scale[j] : 1.0;
    }
    for (size_t cursor = 0; vq_design_next(design, &cursor);) {
        for (size_t i = 0; i < design->in_block; i++) {
            double *z = design->z + i * params;
            size_t row = design->row_of[i];
            for (size_t j = 0; j < params; j++) {
                z[j] *= sign_of(peel, row) / peel->scale[j];
                peel->base[j] += z[j];
            }
            peel->norm[row] = norm_of(z, params);
        }
    }
}

/* Computes r from the active rows, and a_i.r of every row. */
static void peel_measure(struct peel *peel)
{
    size_t params = peel->params;
    memcpy(peel->residual, peel->base, params * sizeof(double));
    for (size_t p = 0; p < peel->active; p++) {
        for (size_t j = 0; j < params; j++) {
            peel->residual[j] += peel->multiple[p] * peel->vector[p * params + j];
        }
    }
    for (size_t j = 0; j < params; j++) {
        peel->direction[j] = peel->residual[j] / peel->scale[j];
    }
    vq_design_apply(peel->design, peel->direction, peel->product);
    for (size_t row = 0; row < peel->design->x.rows; row++) {
        if (vq_design_weight(peel->design, row) > 0.0) {
            peel->product[row] *= sign_of(peel, row);
        }
    }
}

/* The row with the most negative a_i.r, relative to its norm; false if no row has a negative
 * one. */
static bool most_offended(const struct peel *peel, size_t *ret_row)
{
    double worst = -ANGLE_TINY * norm_of(peel->residual, peel->params);
    bool found = false;
    for (size_t row = 0; row < peel->design->x.rows; row++) {
        if (vq_design_weight(peel->design, row) <= 0.0 || peel->barred[row] != 0 ||
            peel->norm[row] <= 0.0) {
            continue;
        }
        double cosine = peel->product[row] / peel->norm[row];
        if (cosine < worst) {
            worst = cosine;
            *ret_row = row;
            found = true;
        }
    }
    return found;
}

static void drop_active(struct peel *peel, size_t p)
{
    size_t last = --peel->active;
    peel->barred[peel->row[p]] = 0;
    if (p != last) {
        peel->row[p] = peel->row[last];
        peel->multiple[p] = peel->multiple[last];
        memcpy(peel->vector + p * peel->params, peel->vector + last * peel->params,
               peel->params * sizeof(double));
    }
}

static void push_active(struct peel *peel, size_t row)
{
    size_t params = peel->params;
    double *vector = peel->vector + peel->active * params;
    const struct vq_design *design = peel->design;
    const double *cells = design->x.at + row * design->x.cols;
    size_t j = 0;
    if (design->intercept) {
        vector[j++] = 1.0;
    }
    for (size_t l = 0; l < design->columns_count; l++) {
        double cell = cells[design->columns == NULL ? l : design->columns[l]];
        vector[j++] = isnan(cell) ? 0.0 : cell;
    }
    for (j = 0; j < params; j++) {
        vector[j] *= sign_of(peel, row) / peel->scale[j];
    }
    peel->row[peel->active] = row;
    peel->multiple[peel->active] = 0.0;
    peel->barred[row] = 1;
    peel->active++;
}

/* Multipliers of the active rows that minimise r; they may have either sign. */
static bool solve_active(struct peel *peel)
{
    size_t params = peel->params;
    for (size_t p = 0; p < peel->active; p++) {
        for (size_t j = 0; j < params; j++) {
            peel->equations[j * peel->active + p] = peel->vector[p * params + j];
        }
    }
    for (size_t j = 0; j < params; j++) {
        peel->solution[j] = -peel->base[j];
    }
    return vq_linalg_least_squares(peel->equations, params, peel->active, peel->solution);
}

/* Lawson and Hanson's inner loop: walks to the unconstrained solution, and drops rows whose
 * multiplier would cross 0. */
static bool settle(struct peel *peel)
{
    while (peel->active > 0) {
        if (!solve_active(peel)) {
            return false;
        }
        double length = 1.0;
        for (size_t p = 0; p < peel->active; p++) {
            if (peel->solution[p] <= 0.0) {
                length = fmin(length, peel->multiple[p] / (peel->multiple[p] - peel->solution[p]));
            }
        }
        bool dropped = false;
        for (size_t p = peel->active; p-- > 0;) {
            double to = peel->multiple[p] + length * (peel->solution[p] - peel->multiple[p]);
            peel->multiple[p] = to;
            if (peel->solution[p] <= 0.0 && to <= 1e-14 * (1.0 + fabs(peel->solution[p]))) {
                /* Index p of `solution` is not read again in this pass: the loop runs downwards. */
                drop_active(peel, p);
                dropped = true;
            }
        }
        if (!dropped) {
            return true;
        }
    }
    return true;
}

/* Finds one direction for the remaining rows; `ret_found` false means that they overlap. Returns
 * false if rounding prevents a decision. */
static bool find_direction(struct peel *peel, bool *ret_found)
{
    size_t steps_max = 1000 + 60 * peel->params;
    double nothing = RESIDUAL_TINY * (1.0 + norm_of(peel->base, peel->params));
    double best = INFINITY;
    for (size_t step = 0; step < steps_max; step++) {
        peel_measure(peel);
        double length = norm_of(peel->residual, peel->params);
        *ret_found = length > nothing;
        if (!*ret_found) {
            return true;
        }
        if (length < best) {
            best = length;
            memset(peel->barred, 0, peel->design->x.rows);
            for (size_t p = 0; p < peel->active; p++) {
                peel->barred[peel->row[p]] = 1;
            }
        }
        size_t row;
        if (!most_offended(peel, &row)) {
            return true;
        }
        if (peel->active == peel->params) {
            return false;
        }
        push_active(peel, row);
        if (!settle(peel)) {
            return false;
        }
        peel->barred[row] =
            1; /* barred even if it was dropped at once: it may return only after progress */
    }
    return false;
}

/* Takes out the rows that the direction separates. */
static size_t take_out(struct peel *peel, double *weights)
{
    double length = norm_of(peel->residual, peel->params);
    size_t taken = 0;
    for (size_t row = 0; row < peel->design->x.rows; row++) {
        if (weights[row] > 0.0 && peel->product[row] > ANGLE_TINY * length * peel->norm[row]) {
            weights[row] = 0.0;
            taken++;
        }
    }
    return taken;
}

enum vq_status vq_separation_peel(struct vq_design *design, double *weights, size_t *ret_separated,
                                  size_t *ret_left, bool *ret_decided)
{
    VQ_ASSERT(design->weights == weights);
    struct peel peel;
    VQ_TRY(peel_init(&peel, design));
    size_t separated = 0;
    bool decided = true;
    for (;;) {
        peel_start(&peel);
        bool found = false;
        decided = find_direction(&peel, &found);
        if (!decided || !found) {
            break;
        }
        size_t taken = take_out(&peel, weights);
        separated += taken;
        if (taken == 0) {
            break;
        }
    }
    size_t left = 0;
    for (size_t row = 0; row < design->x.rows; row++) {
        left += weights[row] > 0.0 ? 1 : 0;
    }
    vq_arena_clear(&peel.arena);
    *ret_separated = separated;
    *ret_left = left;
    *ret_decided = decided;
    return VQ_OK;
}
