/* Wald tests at given coefficients: one pass for the information matrix, one inverse. A call owns
 * its working memory. Not its job: errors that account for the penalty or for repeated questions
 * (bootstrap.h). */
#include "methods/stats/linalg.h"
#include "methods/stats/logit/logit_parts.h"
#include "methods/stats/special.h"

#include "common/base/alloc.h"

#include <math.h>
#include <string.h>

#define PIVOT_TINY 1e-10 /* a column with a smaller remainder is a combination of others */

static double weight_of(const struct vq_logit_data *data)
{
    double sum = 0.0;
    for (size_t row = 0; row < data->x.rows; row++) {
        sum += data->weights == NULL ? 1.0 : data->weights[row];
    }
    return sum;
}

static bool invert(double *information, size_t n, double *work_nn, bool *aliased)
{
    vq_linalg_alias(information, n, PIVOT_TINY, work_nn, aliased);
    for (size_t i = 0; i < n; i++) {
        if (aliased[i]) {
            return false;
        }
    }
    return vq_linalg_cholesky(information, n) && vq_linalg_inverse(information, n);
}

enum vq_status vq_logit_wald(const struct vq_logit_data *data, double intercept, const double *coef,
                             double *ret_se, double *ret_p, struct vq_error *err)
{
    VQ_TRY(vq_logit_check(data, err));
    struct vq_design design;
    VQ_TRY(vq_design_init(&design, data, data->weights, NULL, data->x.cols));
    size_t n = design.params;
    size_t first = data->intercept ? 1 : 0;
    double *beta = vq_alloc(n, sizeof(*beta));
    double *information = vq_alloc(n * n, sizeof(*information));
    double *work = vq_alloc(n * n, sizeof(*work));
    bool *aliased = vq_alloc(n, sizeof(*aliased));
    enum vq_status status = VQ_NOMEM;
    if (beta == NULL || information == NULL || work == NULL || aliased == NULL) {
        goto done;
    }
    if (data->intercept) {
        beta[0] = intercept;
    }
    memcpy(beta + first, coef, data->x.cols * sizeof(*beta));
    (void)vq_design_loss(&design, beta, NULL, information);
    double degrees = weight_of(data) - (double)n;
    bool exists = invert(information, n, work, aliased) && degrees > 0.0;
    for (size_t col = 0; col < data->x.cols; col++) {
        size_t at = first + col;
        double se = exists ? sqrt(information[at * n + at]) : NAN;
        if (ret_se != NULL) {
            ret_se[col] = se;
        }
        ret_p[col] = exists ? vq_student_two_sided(coef[col] / se, degrees) : NAN;
    }
    status = VQ_OK;
done:
    vq_free(beta);
    vq_free(information);
    vq_free(work);
    vq_free(aliased);
    vq_design_free(&design);
    return status;
}
