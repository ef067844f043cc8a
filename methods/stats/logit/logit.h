/* Logistic regression: maximum likelihood, whose status reports when no estimate exists; L2,
 * elastic net, Firth; and the accuracy of a prediction.
 *
 * Model: P(y = 1) = 1 / (1 + exp(-(b + x w))). A missing cell (NaN) contributes 0 and is counted
 * (neutral in the mirrored model). Row weights are frequencies: weight 2 means the row twice,
 * weight 0 means no row.
 *
 * The mirrored form is for model matching and preference prediction. Every row counts as itself
 * with y and as its negative with 1 - y, so the intercept is exactly 0, and the 2n rows of the
 * mirrored set at C are equivalent to the n rows at 2C. With `mirrored` no intercept is fitted and
 * C is doubled internally. Standard errors are those of the n rows, because mirrored copies are no
 * new data. For model matching all y are 1; for preference prediction y is 1 if A is preferred and
 * 0 if B is.
 *
 * Penalised objectives, intercept never penalised: C * sum_i weight_i * loss_i + l1_ratio * |w|_1 +
 * (1 - l1_ratio) / 2 * |w|^2; L2 is l1_ratio 0. */
#pragma once

#include "common/base/arena.h"
#include "methods/stats/stats.h"

struct vq_logit_data {
    struct vq_matrix x;
    const double *y;       /* rows values, exactly 0 or 1 */
    const double *weights; /* rows values >= 0; NULL = all 1 */
    bool intercept;
    bool mirrored; /* then `intercept` must be false */
};

enum vq_logit_status {
    VQ_LOGIT_OK,
    VQ_LOGIT_RANK_DEFICIENT, /* estimates for the kept columns, NaN for the aliased ones */
    VQ_LOGIT_SEPARATED,      /* no estimate exists: see `separation` */
    VQ_LOGIT_SEPARATED_AND_RANK_DEFICIENT,
    VQ_LOGIT_SINGLE_CLASS, /* only one class, and an intercept that would go to infinity */
    VQ_LOGIT_NO_ROWS,      /* no row of positive weight */
    VQ_LOGIT_NOT_CONVERGED,
};

enum vq_logit_separation {
    VQ_LOGIT_OVERLAP,
    VQ_LOGIT_QUASI_COMPLETE, /* some rows are separated without error, the others are mixed */
    VQ_LOGIT_COMPLETE,       /* all rows are separated without error */
};

const char *vq_logit_status_name(enum vq_logit_status status); /* "ok", "rank_deficient", ... */
const char *vq_logit_separation_name(enum vq_logit_separation separation);

/* Arrays have `cols` values, are owned by this struct, and contain NaN if a number does not exist.
 * Under a separated status no number exists. Penalised and Firth fits fill coef, intercept, loglik,
 * objective, (Firth: se, cov, p, ci95_lo, ci95_hi). */
struct vq_logit_fit {
    enum vq_logit_status status;
    enum vq_logit_separation separation; /* only for fits by maximum likelihood */
    size_t cols;
    /* number of fitted parameters, including the intercept; 0 for penalised fits */
    size_t rank;
    size_t cells_imputed; /* missing cells in rows with positive weight; they count as 0 */
    int iterations;

    double intercept;
    double *coef, *se;
    double *p;                /* of Firth's fit only */
    struct vq_interval *ci95; /* likewise */
    bool *aliased;            /* column is a combination of earlier ones (and the intercept) */
    double *cov; /* rank x rank over the intercept (if any) and the kept columns, in order */

    double loglik; /* unpenalised, not mirrored */
    struct vq_arena memory;
    double objective; /* the minimised value; Firth: the penalised log-likelihood */
};

/* All fits return VQ_OK and a status inside, or VQ_INVALID (shapes, y not 0/1, an invalid weight,
 * an infinite cell, C not positive, an intercept with mirrored), VQ_LIMIT, VQ_NOMEM. On VQ_OK the
 * caller frees *ret_fit with vq_logit_fit_free. */
enum vq_status vq_logit_fit_mle(const struct vq_logit_data *data, struct vq_logit_fit *ret_fit,
                                struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_logit_fit_l2(const struct vq_logit_data *data, double c,
                               struct vq_logit_fit *ret_fit, struct vq_error *err) VQ_WARN_UNUSED;
/* l1_ratio in [0, 1]: 1 is the lasso. */
enum vq_status vq_logit_fit_elasticnet(const struct vq_logit_data *data, double c, double l1_ratio,
                                       struct vq_logit_fit *ret_fit,
                                       struct vq_error *err) VQ_WARN_UNUSED;
/* Jeffreys-prior penalised likelihood (Firth 1993). It exists under separation; if the rank is
 * deficient, there is only a status. ci95_lo, ci95_hi and p are of the profile penalised likelihood
 * (Heinze and Schemper 2002), NaN if an end is not reached. */
enum vq_status vq_logit_fit_firth(const struct vq_logit_data *data, struct vq_logit_fit *ret_fit,
                                  struct vq_error *err) VQ_WARN_UNUSED;
void vq_logit_fit_free(struct vq_logit_fit *fit);

/* Sandwich standard errors by group of rows, for a fit by maximum likelihood with status ok, with
 * the usual factor G/(G-1) * (n-1)/(n-rank). `ret_se` has rank values (intercept first). VQ_INVALID
 * if the fit has another status or there are fewer than two groups. */
enum vq_status vq_logit_cluster_se(const struct vq_logit_data *data, const struct vq_logit_fit *fit,
                                   const uint32_t *groups, double *ret_se,
                                   struct vq_error *err) VQ_WARN_UNUSED;

/* Approximate tests of given coefficients (usually penalised ones, x.cols of them, none NaN), from
 * the inverse of the unregularised information at them. `ret_se` (may be NULL) and `ret_p`
 * (two-sided Student t; degrees: sum of weights minus number of parameters) have x.cols values. The
 * tests do not account for two facts: penalised estimates are pulled toward 0, and C was chosen
 * from the same rows. The rows are counted once; the published procedure also counts their mirrored
 * copies, so its errors are smaller by the root of 2. NaN if the information has no inverse or
 * there are no degrees of freedom. VQ_OK, VQ_INVALID, VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_logit_wald(const struct vq_logit_data *data, double intercept, const double *coef,
                             double *ret_se, double *ret_p, struct vq_error *err) VQ_WARN_UNUSED;

#define VQ_LOGIT_TIE 1e-9 /* a |predictor| below this is a tie */

/* Class 1 is predicted if the predictor is > 0; a tie counts one half. Means are over weighted
 * rows, NaN without rows. */
struct vq_logit_score {
    double accuracy_ties_half;
    size_t cells_imputed;
    double complete_accuracy_ties_half; /* over rows without missing cells */
};

/* Predicts with given coefficients (data->x.cols of them; a NaN coefficient counts as 0). VQ_OK,
 * VQ_INVALID, VQ_LIMIT, VQ_NOMEM. For mirrored data a row and its mirror image are right or wrong
 * together, so only one of them is counted. */
enum vq_status vq_logit_score(const struct vq_logit_data *data, double intercept,
                              const double *coef, struct vq_logit_score *ret_score,
                              struct vq_error *err) VQ_WARN_UNUSED;
/* Writes the linear predictor of each row to ret_eta (rows values). */
void vq_logit_predict(struct vq_matrix x, double intercept, const double *coef, double *ret_eta);
