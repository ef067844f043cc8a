/* Choosing C by cross-validation (decisions 10).
 *
 * Default: the groups (questions) are shuffled by the seed and distributed over the folds; each C
 * is rated by the mean log-loss of the held-out rows. `paper`: the published rule: accuracy over
 * stratified folds, contiguous within a class in the order [originals; mirrored], of the explicitly
 * mirrored set with a free intercept; the smallest C among the best. `sklearn_folds`: these folds
 * and this intercept, rated by log-loss. */
#pragma once

#include "methods/stats/logit/logit.h"

#define VQ_CROSSVAL_FOLDS 5
#define VQ_CROSSVAL_GRID  10 /* values from C_MIN to C_MAX, evenly spaced in the logarithm */
#define VQ_CROSSVAL_C_MIN 1e-4
#define VQ_CROSSVAL_C_MAX 1e4

/* The grid ends where the best C may lie beyond it. */
static inline bool vq_crossval_c_at_edge(double c)
{
    return c < VQ_CROSSVAL_C_MIN * 1.001 || c > VQ_CROSSVAL_C_MAX * 0.999;
}

enum vq_crossval_mode {
    VQ_CROSSVAL_LOG_LOSS,
    VQ_CROSSVAL_PAPER,
    VQ_CROSSVAL_SKLEARN_FOLDS,
};

enum vq_crossval_status {
    VQ_CROSSVAL_OK,
    VQ_CROSSVAL_TOO_FEW_GROUPS, /* fewer than two groups, so no fold can be held out: C is 1 */
    VQ_CROSSVAL_SINGLE_CLASS,   /* a fold left only one class for a fit with an intercept: C is 1 */
};

struct vq_crossval {
    enum vq_crossval_status status;
    double c;
    size_t folds;                      /* at most VQ_CROSSVAL_FOLDS; fewer with fewer groups */
    double grid[VQ_CROSSVAL_GRID];     /* the values of C */
    double log_loss[VQ_CROSSVAL_GRID]; /* mean over held-out rows; NaN in paper mode */
    /* paper mode: mean over folds; else over rows; a tie counts one half */
    double accuracy[VQ_CROSSVAL_GRID];
};

/* The penalty of the fit: L2 (l1_ratio 0), elastic net or lasso. */
struct vq_crossval_options {
    enum vq_crossval_mode mode;
    double l1_ratio;
    uint64_t seed;
};

/* `groups`: one value per row, equal for rows that must be in one fold; NULL: each row is its own
 * group. The modes with the published folds need mirrored data and ignore groups and seed. Returns
 * the statuses of the fits of logit.h. */
enum vq_status vq_crossval_choose_c(const struct vq_logit_data *data, const uint32_t *groups,
                                    const struct vq_crossval_options *options,
                                    struct vq_crossval *ret_cv,
                                    struct vq_error *err) VQ_WARN_UNUSED;

/* The fold (0 .. *ret_folds - 1) of each row in the default mode. */
enum vq_status vq_crossval_assign(const uint32_t *groups, size_t rows, uint64_t seed,
                                  uint32_t *ret_fold_of_row, size_t *ret_folds) VQ_WARN_UNUSED;
