/* The lasso path on the Gram matrix of the scaled columns, so a path needs only one pass over the
 * rows. A column that is a combination of active ones never becomes active; a coefficient that
 * would cross 0 leaves (the lasso modification). The path goes from knot to knot, and the knot with
 * the least AIC is the result.
 *
 * A call owns its working memory. Not its job: which of the ordered vibes are kept. */
#include "methods/stats/logit/lars.h"

#include "common/base/arena.h"
#include "methods/stats/linalg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RSS_TINY 1e-12 /* of RSS / n: the fit is perfect, so the path ends */
/* of a unit diagonal: a column with a smaller remainder is a combination of others */
#define PIVOT_TINY    1e-10
#define KNOTS_PER_COL 8
#define EQUAL_TINY    1e-12 /* coefficients closer than this are tied */

struct lars {
    struct vq_arena arena;
    size_t cols;
    double n;
    double target_square; /* t.t / n */
    double *gram;         /* Z'Z / n: unit diagonal, 0 for an all-zero column */
    double *start;        /* Z't / n */
    double *coef;
    double *correlation;
    double *step; /* direction of the coefficients, 0 off the active set */
    double *factor;
    double *best;
    double best_aic;
    size_t *active;
    size_t active_count;
    bool *in;
    bool *barred; /* all-zero columns and combinations */
};

static enum vq_status lars_init(struct lars *lars, size_t rows, size_t cols)
{
    *lars = (struct lars){.cols = cols, .n = (double)rows, .best_aic = INFINITY};
    lars->gram = vq_arena_alloc(&lars->arena, cols * cols, sizeof(double));
    lars->factor = vq_arena_alloc(&lars->arena, cols * cols, sizeof(double));
    lars->start = vq_arena_alloc(&lars->arena, 5 * cols, sizeof(double));
    lars->active = vq_arena_alloc(&lars->arena, cols, sizeof(size_t));
    lars->in = vq_arena_alloc(&lars->arena, 2 * cols, sizeof(bool));
    if (lars->arena.failed) {
        vq_arena_clear(&lars->arena);
        return VQ_NOMEM;
    }
    lars->coef = lars->start + cols;
    lars->correlation = lars->start + 2 * cols;
    lars->step = lars->start + 3 * cols;
    lars->best = lars->start + 4 * cols;
    lars->barred = lars->in + cols;
    return VQ_OK;
}

/* Fills the Gram matrix and the correlations with the target; columns are scaled to a root mean
 * square of 1. Sums are divided once, at the end, because sums of scores are whole numbers and
 * therefore exact. */
static void lars_load(struct lars *lars, struct vq_matrix x, const double *target)
{
    size_t cols = x.cols;
    double *cells = lars->correlation; /* not used yet */
    for (size_t row = 0; row < x.rows; row++) {
        for (size_t i = 0; i < cols; i++) {
            double cell = x.at[row * cols + i];
            cells[i] = isnan(cell) ? 0.0 : cell;
        }
        lars->target_square += target[row] * target[row];
        for (size_t i = 0; i < cols; i++) {
            lars->start[i] += cells[i] * target[row];
            for (size_t j = 0; j <= i && cells[i] != 0.0; j++) {
                lars->gram[i * cols + j] += cells[i] * cells[j];
            }
        }
    }
    lars->target_square /= lars->n;
    for (size_t i = 0; i < cols; i++) {
        lars->start[i] /= lars->n;
        for (size_t j = 0; j <= i; j++) {
            lars->gram[i * cols + j] /= lars->n;
        }
    }
    for (size_t i = 0; i < cols; i++) {
        lars->step[i] = sqrt(lars->gram[i * cols + i]);
        lars->barred[i] = !(lars->step[i] > 0.0);
    }
    for (size_t i = 0; i < cols; i++) {
        lars->start[i] = lars->barred[i] ? 0.0 : lars->start[i] / lars->step[i];
        for (size_t j = 0; j <= i; j++) {
            bool zero = lars->barred[i] || lars->barred[j];
            double value = zero ? 0.0 : lars->gram[i * cols + j] / (lars->step[i] * lars->step[j]);
            lars->gram[i * cols + j] = value;
            lars->gram[j * cols + i] = value;
        }
    }
}

/* Correlations of the columns with the residual of the target; returns RSS / n. */
static double lars_residual(struct lars *lars)
{
    double square = lars->target_square;
    for (size_t i = 0; i < lars->cols; i++) {
        double fitted = 0.0;
        for (size_t j = 0; j < lars->cols; j++) {
            fitted += lars->gram[i * lars->cols + j] * lars->coef[j];
        }
        lars->correlation[i] = lars->start[i] - fitted;
        square -= lars->coef[i] * (lars->start[i] + lars->correlation[i]);
    }
    return fmax(square, 0.0);
}

/* Stores the knot if its AIC is the least so far; at a tie the earlier, smaller knot stays. */
static void lars_judge(struct lars *lars, double rss)
{
    double df = 0.0;
    for (size_t i = 0; i < lars->cols; i++) {
        df += lars->coef[i] != 0.0 ? 1.0 : 0.0;
    }
    double aic = lars->n * log(fmax(rss, RSS_TINY)) + 2.0 * df;
    if (aic < lars->best_aic - 1e-9 * (1.0 + fabs(lars->best_aic)) || isinf(lars->best_aic)) {
        lars->best_aic = aic;
        memcpy(lars->best, lars->coef, lars->cols * sizeof(double));
    }
}

/* Solves for the direction in which all active correlations decrease equally. False if the newest
 * column is a combination of the others. */
static bool lars_direction(struct lars *lars)
{
    size_t m = lars->active_count;
    double rhs[VQ_STATS_COLS_MAX];
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j <= i; j++) {
            lars->factor[i * m + j] = lars->gram[lars->active[i] * lars->cols + lars->active[j]];
        }
        rhs[i] = lars->correlation[lars->active[i]] < 0.0 ? -1.0 : 1.0;
    }
    if (!vq_linalg_cholesky(lars->factor, m)) {
        return false;
    }
    double pivot = lars->factor[m * m - 1];
    if (pivot * pivot < PIVOT_TINY) {
        return false;
    }
    vq_linalg_solve(lars->factor, m, rhs);
    memset(lars->step, 0, lars->cols * sizeof(double));
    for (size_t i = 0; i < m; i++) {
        lars->step[lars->active[i]] = rhs[i];
    }
    return true;
}

/* Activates the inactive column with the largest |correlation|; among equal ones the largest
 * |tie_break|. */
static bool lars_enter(struct lars *lars, const double *tie_break, double level)
{
    size_t next = lars->cols;
    for (size_t i = 0; i < lars->cols; i++) {
        if (lars->in[i] || lars->barred[i]) {
            continue;
        }
        double size = fabs(lars->correlation[i]);
        if (size < level - 1e-11) {
            continue;
        }
        bool better = next == lars->cols || size > fabs(lars->correlation[next]) + 1e-11;
        if (!better && size > fabs(lars->correlation[next]) - 1e-11 && tie_break != NULL) {
            better = fabs(tie_break[i]) > fabs(tie_break[next]);
        }
        next = better ? i : next;
    }
    if (next == lars->cols) {
        return false;
    }
    lars->active[lars->active_count++] = next;
    lars->in[next] = true;
    return true;
}

static void lars_leave(struct lars *lars, size_t place)
{
    size_t col = lars->active[place];
    lars->in[col] = false;
    lars->coef[col] = 0.0;
    memmove(lars->active + place, lars->active + place + 1,
            (lars->active_count - place - 1) * sizeof(size_t));
    lars->active_count--;
}

/* The length of the step along the direction: until the correlation of an inactive column reaches
 * the level, or a coefficient reaches 0 (`ret_leaving`, else active_count), and at most until all
 * correlations are 0. */
static double lars_length(const struct lars *lars, double level, size_t newest, size_t *ret_leaving)
{
    double length = level;
    *ret_leaving = lars->active_count;
    for (size_t i = 0; i < lars->cols; i++) {
        if (lars->in[i] || lars->barred[i]) {
            continue;
        }
        double fall = 0.0;
        for (size_t j = 0; j < lars->active_count; j++) {
            size_t col = lars->active[j];
            fall += lars->gram[i * lars->cols + col] * lars->step[col];
        }
        double up = (level - lars->correlation[i]) / (1.0 - fall);
        double down = (level + lars->correlation[i]) / (1.0 + fall);
        if (fall < 1.0 - 1e-12) {
            length = fmin(length, fmax(up, 0.0));
        }
        if (fall > -1.0 + 1e-12) {
            length = fmin(length, fmax(down, 0.0));
        }
    }
    for (size_t place = 0; place < lars->active_count; place++) {
        size_t col = lars->active[place];
        double reach = -lars->coef[col] / lars->step[col];
        if (place != newest && reach > 0.0 && reach < length) {
            length = reach;
            *ret_leaving = place;
        }
    }
    return length;
}

static void lars_walk(struct lars *lars, const double *tie_break)
{
    double rss = lars_residual(lars);
    lars_judge(lars, rss);
    size_t knots_max = KNOTS_PER_COL * lars->cols + 16;
    bool left = false;
    for (size_t knot = 0; knot < knots_max && rss >= RSS_TINY; knot++) {
        double level = 0.0;
        for (size_t i = 0; i < lars->cols; i++) {
            level = lars->barred[i] ? level : fmax(level, fabs(lars->correlation[i]));
        }
        if (level < 1e-13) {
            return;
        }
        size_t newest = lars->cols;
        if (!left) {
            if (lars_enter(lars, tie_break, level)) {
                newest = lars->active_count - 1;
            } else if (lars->active_count == 0) {
                return;
            }
        }
        if (!lars_direction(lars)) {
            size_t col = lars->active[lars->active_count - 1];
            lars_leave(lars, lars->active_count - 1);
            lars->barred[col] = true;
            left = false;
            continue;
        }
        size_t leaving;
        double length = lars_length(lars, level, newest, &leaving);
        for (size_t i = 0; i < lars->active_count; i++) {
            lars->coef[lars->active[i]] += length * lars->step[lars->active[i]];
        }
        left = leaving < lars->active_count;
        if (left) {
            lars_leave(lars, leaving);
        }
        rss = lars_residual(lars);
        lars_judge(lars, rss);
    }
}

/* Whether column a comes before b. */
static bool goes_before(const double *coef, const double *tie_break, size_t a, size_t b)
{
    double gap = fabs(coef[a]) - fabs(coef[b]);
    if (fabs(gap) > EQUAL_TINY) {
        return gap > 0.0;
    }
    double size_a = tie_break == NULL ? 0.0 : fabs(tie_break[a]);
    double size_b = tie_break == NULL ? 0.0 : fabs(tie_break[b]);
    if (size_a > size_b || size_a < size_b) {
        return size_a > size_b;
    }
    return a < b;
}

static void sort_columns(const double *coef, const double *tie_break, size_t cols, size_t *order)
{
    for (size_t i = 0; i < cols; i++) {
        size_t at = i;
        for (; at > 0 && goes_before(coef, tie_break, i, order[at - 1]); at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

enum vq_status vq_lars_order(struct vq_matrix x, const double *target, const double *tie_break,
                             size_t *ret_order, double *ret_coef, struct vq_error *err)
{
    VQ_TRY(vq_stats_check(x, true, err));
    for (size_t row = 0; row < x.rows; row++) {
        if (!isfinite(target[row])) {
            return vq_fail(err, VQ_INVALID, "the target of row %zu is not a finite number", row);
        }
    }
    struct lars lars;
    VQ_TRY(lars_init(&lars, x.rows, x.cols));
    if (x.rows > 0) {
        lars_load(&lars, x, target);
        lars_walk(&lars, tie_break);
    }
    sort_columns(lars.best, tie_break, x.cols, ret_order);
    if (ret_coef != NULL) {
        memcpy(ret_coef, lars.best, x.cols * sizeof(double));
    }
    vq_arena_clear(&lars.arena);
    return VQ_OK;
}
