/* Logistic regression: maximum likelihood with honest statuses, L2, elastic net, Firth; and the
 * accuracy of a prediction.
 *
 * Model: P(y = 1) = 1 / (1 + exp(-(b + x w))). A missing cell (NaN) contributes 0 and is counted
 * (neutral in the mirrored model). Row weights are frequencies: weight 2 is the row twice, weight 0
 * as if it were not there.
 *
 * The mirrored form serves model matching and preference prediction: every row counts as itself
 * with y and as its negative with 1 - y, so the intercept is exactly 0 and the 2n rows of the
 * mirrored set at C are the n rows at 2C. `mirrored` says that: no intercept is fitted and C is
 * doubled inside. Standard errors are those of the n rows: the mirrored copies are no new data. For
 * model matching all y are 1; for preference prediction y is 1 where A is preferred and 0 where B
 * is.
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
    VQ_LOGIT_SINGLE_CLASS, /* one class only, and an intercept that would run away with it */
    VQ_LOGIT_NO_ROWS,      /* no row of positive weight */
    VQ_LOGIT_NOT_CONVERGED,
};

enum vq_logit_separation {
    VQ_LOGIT_OVERLAP,
    VQ_LOGIT_QUASI_COMPLETE, /* some rows are separated without error, the others stay mixed */
    VQ_LOGIT_COMPLETE,       /* all rows are */
};

const char *vq_logit_status_name(enum vq_logit_status status); /* "ok", "rank_deficient", ... */
const char *vq_logit_separation_name(enum vq_logit_separation separation);

/* Arrays hold `cols` values, owned by this struct, NaN where a number does not exist. Under a
 * separated status nothing does. Penalised and Firth fits fill coef, intercept, loglik, objective,
 * (Firth: se, cov, p, ci95). */
struct vq_logit_fit {
    enum vq_logit_status status;
    enum vq_logit_separation separation; /* fits by maximum likelihood only */
    size_t cols;
    size_t rank;          /* fitted parameters, the intercept included; 0 for penalised fits */
    size_t cells_imputed; /* missing cells of rows with positive weight, counted as 0 */
    int iterations;

    double intercept;
    double *coef, *se;
    double *p;                /* of Firth's fit only */
    struct vq_interval *ci95; /* likewise */
    bool *aliased;            /* column is a combination of earlier ones (and the intercept) */
    double *cov; /* rank x rank over the intercept (if any) and the kept columns, in order */

    double loglik; /* plain, not mirrored */
    struct vq_arena memory;
    double objective; /* the minimised value; Firth: the penalised log-likelihood */
};

/* All fits return VQ_OK and a status inside, or VQ_INVALID (shapes, y not 0/1, bad weight, infinite
 * cell, C not positive, intercept with mirrored), VQ_LIMIT, VQ_NOMEM. On VQ_OK the caller frees
 * *ret_fit with vq_logit_fit_free. */
enum vq_status vq_logit_fit_mle(const struct vq_logit_data *data, struct vq_logit_fit *ret_fit,
                                struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_logit_fit_l2(const struct vq_logit_data *data, double c,
                               struct vq_logit_fit *ret_fit, struct vq_error *err) VQ_WARN_UNUSED;
/* l1_ratio in [0, 1]: 1 is the lasso. */
enum vq_status vq_logit_fit_elasticnet(const struct vq_logit_data *data, double c, double l1_ratio,
                                       struct vq_logit_fit *ret_fit,
                                       struct vq_error *err) VQ_WARN_UNUSED;
/* Jeffreys-prior penalised likelihood (Firth 1993); exists under separation, refuses (status) a
 * deficient rank. ci95 and p are of the profile penalised likelihood (Heinze and
 * Schemper 2002), NaN where an end is not reached. */
enum vq_status vq_logit_fit_firth(const struct vq_logit_data *data, struct vq_logit_fit *ret_fit,
                                  struct vq_error *err) VQ_WARN_UNUSED;
void vq_logit_fit_free(struct vq_logit_fit *fit);

/* Sandwich standard errors by group of rows for a fit by maximum likelihood with status ok, with
 * the usual factor G/(G-1) * (n-1)/(n-rank). `ret_se` holds rank values (intercept first).
 * VQ_INVALID when the fit has another status or there are fewer than two groups. */
enum vq_status vq_logit_cluster_se(const struct vq_logit_data *data, const struct vq_logit_fit *fit,
                                   const uint32_t *groups, double *ret_se,
                                   struct vq_error *err) VQ_WARN_UNUSED;

/* Approximate tests of given coefficients (usually penalised ones, x.cols of them, none NaN): the
 * unregularised information at them, inverted; `ret_se` (NULL = not wanted) and `ret_p` (two-sided
 * Student t, as many degrees as the sum of weights less the parameters) hold x.cols values.
 * Penalised estimates are pulled toward 0 and C was chosen from the same rows, which this does not
 * know of. The rows are counted once: the published procedure counts their mirrored copies too, and
 * its errors are smaller by the root of 2. NaN where the information has no inverse or no degree is
 * left. VQ_OK, VQ_INVALID, VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_logit_wald(const struct vq_logit_data *data, double intercept, const double *coef,
                             double *ret_se, double *ret_p, struct vq_error *err) VQ_WARN_UNUSED;

#define VQ_LOGIT_TIE 1e-9 /* |predictor| below it is a tie */

/* Class 1 is predicted where the predictor is > 0; a tie counts one half. Means are over weighted
 * rows, NaN without rows. */
struct vq_logit_score {
    double accuracy_ties_half;
    size_t cells_imputed;
    double complete_accuracy_ties_half; /* over rows without a missing cell */
};

/* Predicts with given coefficients (data->x.cols of them; a NaN coefficient counts as 0). VQ_OK,
 * VQ_INVALID, VQ_LIMIT, VQ_NOMEM. For mirrored data a row and its mirror are equally right, so one
 * of them is counted. */
enum vq_status vq_logit_score(const struct vq_logit_data *data, double intercept,
                              const double *coef, struct vq_logit_score *ret_score,
                              struct vq_error *err) VQ_WARN_UNUSED;
/* The linear predictor of each row into ret_eta (rows values). */
void vq_logit_predict(struct vq_matrix x, double intercept, const double *coef, double *ret_eta);
