/* Small shared parts of the statistics: checks of shapes and cells, quantiles, column scales, and
 * the setting of OpenBLAS. Owns nothing. Not its job: any statistic that has a name. */
#include "methods/stats/stats.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

void vq_stats_init(void)
{
    openblas_set_num_threads(1);
}

enum vq_status vq_stats_check(struct vq_matrix x, bool allow_missing, struct vq_error *err)
{
    if (x.rows > VQ_STATS_ROWS_MAX || x.cols > VQ_STATS_COLS_MAX) {
        return vq_fail(err, VQ_LIMIT, "a table of %zu rows and %zu columns is over %zu or %zu",
                       x.rows, x.cols, VQ_STATS_ROWS_MAX, VQ_STATS_COLS_MAX);
    }
    for (size_t cell = 0; cell < x.rows * x.cols; cell++) {
        if (isinf(x.at[cell]) || (!allow_missing && isnan(x.at[cell]))) {
            return vq_fail(err, VQ_INVALID, "cell (row %zu, column %zu) is not a finite number",
                           cell / x.cols, cell % x.cols);
        }
    }
    return VQ_OK;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

void vq_stats_sort(double *values, size_t n)
{
    if (n > 1) {
        qsort(values, n, sizeof(*values), compare_doubles);
    }
}

double vq_stats_quantile(const double *sorted, size_t n, double q)
{
    VQ_ASSERT(n > 0 && q >= 0.0 && q <= 1.0);
    double place = (double)(n - 1) * q;
    size_t below = (size_t)place;
    if (below + 1 >= n) {
        return sorted[n - 1];
    }
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

void vq_stats_root_mean_square(struct vq_matrix x, double *ret_scale)
{
    for (size_t col = 0; col < x.cols; col++) {
        double squares = 0.0;
        size_t present = 0;
        for (size_t row = 0; row < x.rows; row++) {
            double value = x.at[row * x.cols + col];
            if (!isnan(value)) {
                squares += value * value;
                present++;
            }
        }
        ret_scale[col] = squares > 0.0 ? sqrt(squares / (double)present) : 1.0;
    }
}
