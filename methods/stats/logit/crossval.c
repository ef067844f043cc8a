/* Cross-validation of C. The default mode holds out whole groups and compares log-losses; `paper`
 * reproduces the published choice, which mirrors the rows explicitly and makes folds without
 * shuffling.
 *
 * A fit on the rows of other folds is the fit of all rows with the weights of this fold set to 0.
 * The values of C ascend, and each fit starts from the end point of the last one. A call owns its
 * working memory. */
#include "methods/stats/logit/crossval.h"

#include "common/base/alloc.h"
#include "common/base/arena.h"
#include "common/base/rng.h"
#include "methods/stats/groups.h"
#include "methods/stats/logit/logit_parts.h"
#include "methods/stats/logit/newton.h"
#include "methods/stats/special.h"

#include <math.h>
#include <string.h>

#define LOSS_TIE 1e-12 /* relative; at a tie the smaller C wins */

enum vq_status vq_crossval_assign(const uint32_t *groups, size_t rows, uint64_t seed,
                                  uint32_t *ret_fold_of_row, size_t *ret_folds)
{
    size_t count;
    VQ_TRY(vq_groups_index(groups, rows, ret_fold_of_row, &count));
    uint32_t *order = vq_alloc(count, sizeof(*order));
    uint32_t *fold_of_group = vq_alloc(count, sizeof(*fold_of_group));
    if (order == NULL || fold_of_group == NULL) {
        vq_free(order);
        vq_free(fold_of_group);
        return VQ_NOMEM;
    }
    size_t folds = count < VQ_CROSSVAL_FOLDS ? count : VQ_CROSSVAL_FOLDS;
    for (size_t g = 0; g < count; g++) {
        order[g] = (uint32_t)g;
    }
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    vq_rng_shuffle_u32(&rng, order, count);
    for (size_t place = 0; place < count; place++) {
        fold_of_group[order[place]] = (uint32_t)(place % folds);
    }
    for (size_t row = 0; row < rows; row++) {
        ret_fold_of_row[row] = fold_of_group[ret_fold_of_row[row]];
    }
    vq_free(order);
    vq_free(fold_of_group);
    *ret_folds = folds;
    return VQ_OK;
}

static void leave_out(const struct vq_logit_data *data, const uint32_t *fold_of_row, uint32_t fold,
                      double *ret_weights)
{
    for (size_t row = 0; row < data->x.rows; row++) {
        double weight = data->weights == NULL ? 1.0 : data->weights[row];
        ret_weights[row] = fold_of_row[row] == fold ? 0.0 : weight;
    }
}

struct walk {
    const struct vq_logit_data *data;
    const uint32_t *fold_of_row;
    double l1_ratio;
    double *weights;
    double *beta;
    double *eta;
    double held_loss[VQ_CROSSVAL_GRID];  /* sums over held-out rows */
    double held_right[VQ_CROSSVAL_GRID]; /* a tie counts one half */
    double fold_right[VQ_CROSSVAL_GRID]; /* sums over folds of the fold's accuracy */
    double held_weight;
};

static void add_held(struct walk *walk, uint32_t fold, size_t at, bool first)
{
    const struct vq_logit_data *data = walk->data;
    double intercept = data->intercept ? walk->beta[0] : 0.0;
    const double *coef = walk->beta + (data->intercept ? 1 : 0);
    vq_logit_predict(data->x, intercept, coef, walk->eta);
    double whole = 0.0;
    double right = 0.0;
    for (size_t row = 0; row < data->x.rows; row++) {
        double weight = data->weights == NULL ? 1.0 : data->weights[row];
        if (walk->fold_of_row[row] != fold || weight <= 0.0) {
            continue;
        }
        double margin = data->y[row] > 0.5 ? walk->eta[row] : -walk->eta[row];
        bool tie = fabs(margin) < VQ_LOGIT_TIE;
        right += weight * (tie ? 0.5 : (margin > 0.0 ? 1.0 : 0.0));
        walk->held_loss[at] += weight * vq_log1pexp(-margin);
        whole += weight;
    }
    walk->held_right[at] += right;
    walk->fold_right[at] += whole > 0.0 ? right / whole : 0.5;
    walk->held_weight += first ? whole : 0.0;
}

static bool one_class_left(const struct walk *walk)
{
    bool seen[2] = {false, false};
    for (size_t row = 0; row < walk->data->x.rows; row++) {
        if (walk->weights[row] > 0.0) {
            seen[walk->data->y[row] > 0.5 ? 1 : 0] = true;
        }
    }
    return !(seen[0] && seen[1]);
}

/* Fits all values of C on one fold. A fit that does not converge is scored where it stopped. */
static enum vq_status walk_fold(struct walk *walk, uint32_t fold, const double *grid)
{
    const struct vq_logit_data *data = walk->data;
    struct vq_design design;
    VQ_TRY(vq_design_init(&design, data, walk->weights, NULL, data->x.cols));
    memset(walk->beta, 0, design.params * sizeof(double));
    enum vq_status status = VQ_OK;
    for (size_t at = 0; at < VQ_CROSSVAL_GRID && status == VQ_OK; at++) {
        struct vq_newton_goal goal = {
            .c = data->mirrored ? 2.0 * grid[at] : grid[at],
            .l1 = walk->l1_ratio,
            .l2 = 1.0 - walk->l1_ratio,
            .steps_max = VQ_NEWTON_STEPS_MAX,
        };
        struct vq_newton_result result;
        status = vq_newton_minimise(&design, &goal, walk->beta, &result);
        if (status == VQ_OK) {
            add_held(walk, fold, at, at == 0);
        }
    }
    vq_design_free(&design);
    return status;
}

static void choose(const struct walk *walk, enum vq_crossval_mode mode, struct vq_crossval *cv)
{
    size_t best = 0;
    for (size_t at = 0; at < VQ_CROSSVAL_GRID; at++) {
        cv->log_loss[at] = walk->held_loss[at] / walk->held_weight;
        cv->accuracy[at] = walk->held_right[at] / walk->held_weight;
        if (mode == VQ_CROSSVAL_PAPER) {
            cv->log_loss[at] = NAN;
            cv->accuracy[at] = walk->fold_right[at] / (double)cv->folds;
        }
        bool better = mode == VQ_CROSSVAL_PAPER
                          ? cv->accuracy[at] > cv->accuracy[best] + LOSS_TIE
                          : cv->log_loss[at] < cv->log_loss[best] * (1.0 - LOSS_TIE);
        best = better ? at : best;
    }
    cv->c = cv->grid[best];
}

static enum vq_status run(const struct vq_logit_data *data, const uint32_t *fold_of_row,
                          const struct vq_crossval_options *options, struct vq_crossval *cv)
{
    struct walk walk = {.data = data, .fold_of_row = fold_of_row, .l1_ratio = options->l1_ratio};
    struct vq_arena arena = {0};
    walk.weights = vq_arena_alloc(&arena, data->x.rows, sizeof(double));
    walk.eta = vq_arena_alloc(&arena, data->x.rows, sizeof(double));
    walk.beta = vq_arena_alloc(&arena, data->x.cols + 1, sizeof(double));
    enum vq_status status = vq_arena_status(&arena);
    for (size_t fold = 0; fold < cv->folds && status == VQ_OK; fold++) {
        leave_out(data, fold_of_row, (uint32_t)fold, walk.weights);
        if (data->intercept && one_class_left(&walk)) {
            cv->status = VQ_CROSSVAL_SINGLE_CLASS;
            break;
        }
        status = walk_fold(&walk, (uint32_t)fold, cv->grid);
    }
    if (status == VQ_OK && cv->status == VQ_CROSSVAL_OK) {
        choose(&walk, options->mode, cv);
    }
    vq_arena_clear(&arena);
    return status;
}

/* Writes the rows of positive weight, then their negatives with the other class, in the folds of
 * the published code: without shuffling, contiguous within each class. The class of the first row
 * is the first class. With the rows sorted by class, fold f takes from a class as many rows as that
 * class has at places p with p mod folds = f. */
static void mirror(const struct vq_logit_data *data, double *x, double *y, double *weights,
                   uint32_t *fold_of_row, size_t n)
{
    size_t cols = data->x.cols;
    size_t to = 0;
    for (size_t row = 0; row < data->x.rows; row++) {
        double weight = data->weights == NULL ? 1.0 : data->weights[row];
        if (weight <= 0.0) {
            continue;
        }
        for (size_t col = 0; col < cols; col++) {
            double cell = data->x.at[row * cols + col];
            x[to * cols + col] = cell;
            x[(n + to) * cols + col] = -cell;
        }
        y[to] = data->y[row];
        y[n + to] = 1.0 - data->y[row];
        weights[to] = weight;
        weights[n + to] = weight;
        to++;
    }
    for (int class = 0; class < 2; class ++) {
        double label = class == 0 ? y[0] : 1.0 - y[0];
        size_t place = class == 0 ? 0 : n; /* each class has n of the 2n rows */
        size_t taken[VQ_CROSSVAL_FOLDS] = {0};
        for (size_t p = place; p < place + n; p++) {
            taken[p % VQ_CROSSVAL_FOLDS]++;
        }
        size_t fold = 0;
        for (size_t row = 0; row < 2 * n; row++) {
            if (y[row] != label) {
                continue;
            }
            while (fold + 1 < VQ_CROSSVAL_FOLDS && taken[fold] == 0) {
                fold++;
            }
            fold_of_row[row] = (uint32_t)fold;
            taken[fold]--;
        }
    }
}

static enum vq_status choose_paper(const struct vq_logit_data *data, size_t n,
                                   const struct vq_crossval_options *options,
                                   struct vq_crossval *cv)
{
    struct vq_arena arena = {0};
    double *x = vq_arena_alloc(&arena, 2 * n * data->x.cols, sizeof(*x));
    double *y = vq_arena_alloc(&arena, 2 * n, sizeof(*y));
    double *weights = vq_arena_alloc(&arena, 2 * n, sizeof(*weights));
    uint32_t *fold_of_row = vq_arena_alloc(&arena, 2 * n, sizeof(*fold_of_row));
    enum vq_status status = VQ_NOMEM;
    if (!arena.failed) {
        mirror(data, x, y, weights, fold_of_row, n);
        struct vq_logit_data mirrored = {
            .x = {.at = x, .rows = 2 * n, .cols = data->x.cols},
            .y = y,
            .weights = weights,
            .intercept = true,
        };
        cv->folds = VQ_CROSSVAL_FOLDS;
        status = run(&mirrored, fold_of_row, options, cv);
    }
    vq_arena_clear(&arena);
    return status;
}

/* Groups are formed among rows of positive weight only. The folds of the other rows have no
 * effect. */
static enum vq_status choose_grouped(const struct vq_logit_data *data, const uint32_t *groups,
                                     const struct vq_crossval_options *options,
                                     struct vq_crossval *cv)
{
    size_t rows = data->x.rows;
    struct vq_arena arena = {0};
    uint32_t *there = vq_arena_alloc(&arena, rows, sizeof(*there));
    uint32_t *fold_there = vq_arena_alloc(&arena, rows, sizeof(*fold_there));
    uint32_t *fold_of_row = vq_arena_alloc(&arena, rows, sizeof(*fold_of_row));
    enum vq_status status = VQ_NOMEM;
    if (!arena.failed) {
        size_t count = 0;
        for (size_t row = 0; row < rows; row++) {
            if (data->weights == NULL || data->weights[row] > 0.0) {
                there[count++] = groups == NULL ? (uint32_t)row : groups[row];
            }
        }
        status = vq_crossval_assign(there, count, options->seed, fold_there, &cv->folds);
        for (size_t row = 0, at = 0; status == VQ_OK && row < rows; row++) {
            bool is = data->weights == NULL || data->weights[row] > 0.0;
            fold_of_row[row] = is ? fold_there[at++] : 0;
        }
        if (status == VQ_OK && cv->folds < 2) {
            cv->status = VQ_CROSSVAL_TOO_FEW_GROUPS;
        } else if (status == VQ_OK) {
            status = run(data, fold_of_row, options, cv);
        }
    }
    vq_arena_clear(&arena);
    return status;
}

enum vq_status vq_crossval_choose_c(const struct vq_logit_data *data, const uint32_t *groups,
                                    const struct vq_crossval_options *options,
                                    struct vq_crossval *ret_cv, struct vq_error *err)
{
    VQ_TRY(vq_logit_check(data, err));
    if (!(options->l1_ratio >= 0.0 && options->l1_ratio <= 1.0)) {
        return vq_fail(err, VQ_INVALID, "the l1 ratio must be in [0, 1]");
    }
    struct vq_crossval cv = {.status = VQ_CROSSVAL_OK, .c = 1.0};
    for (size_t at = 0; at < VQ_CROSSVAL_GRID; at++) {
        cv.grid[at] = pow(10.0, -4.0 + 8.0 * (double)at / (VQ_CROSSVAL_GRID - 1));
        cv.log_loss[at] = NAN;
        cv.accuracy[at] = NAN;
    }
    if (options->mode != VQ_CROSSVAL_LOG_LOSS) {
        if (!data->mirrored) {
            return vq_fail(err, VQ_INVALID, "the published folds are those of mirrored rows");
        }
        size_t n = 0;
        for (size_t row = 0; row < data->x.rows; row++) {
            n += data->weights == NULL || data->weights[row] > 0.0 ? 1 : 0;
        }
        if (n < VQ_CROSSVAL_FOLDS) {
            cv.status = VQ_CROSSVAL_TOO_FEW_GROUPS;
        } else {
            VQ_TRY(choose_paper(data, n, options, &cv));
        }
    } else {
        VQ_TRY(choose_grouped(data, groups, options, &cv));
    }
    *ret_cv = cv;
    return VQ_OK;
}
