/* Checks and sums of float vectors. Invariant: a sum is computed in four interleaved parts, so that
 * the compiler may use wide registers without changing a bit. Owns nothing. Not its job: large
 * products (cluster_distance.c uses BLAS). */
#include "methods/stats/cluster/vectors.h"

#include <math.h>

#define LANES 4

enum vq_status vq_vectors_check(struct vq_vectors x, struct vq_error *err)
{
    if (x.rows > VQ_VECTORS_ROWS_MAX || x.cols > VQ_VECTORS_COLS_MAX) {
        return vq_fail(err, VQ_LIMIT, "%zu vectors of %zu numbers are over %zu or %zu", x.rows,
                       x.cols, VQ_VECTORS_ROWS_MAX, VQ_VECTORS_COLS_MAX);
    }
    if (x.cols == 0) {
        return vq_fail(err, VQ_INVALID, "vectors without numbers have no distances");
    }
    for (size_t cell = 0; cell < x.rows * x.cols; cell++) {
        if (!(fabsf(x.at[cell]) <= VQ_VECTORS_VALUE_MAX)) {
            return vq_fail(err, VQ_INVALID,
                           "number %zu of vector %zu is not finite or over %g in size",
                           cell % x.cols, cell / x.cols, (double)VQ_VECTORS_VALUE_MAX);
        }
    }
    return VQ_OK;
}

const float *vq_vectors_row(struct vq_vectors x, size_t row)
{
    return x.at + row * x.cols;
}

double vq_vectors_dot(const float *a, const float *b, size_t cols)
{
    double part[LANES] = {0};
    size_t whole = cols - cols % LANES;
    for (size_t col = 0; col < whole; col += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            part[lane] += (double)a[col + lane] * (double)b[col + lane];
        }
    }
    for (size_t col = whole; col < cols; col++) {
        part[col - whole] += (double)a[col] * (double)b[col];
    }
    return (part[0] + part[1]) + (part[2] + part[3]);
}

double vq_vectors_distance_squared(const float *a, const float *b, size_t cols)
{
    double part[LANES] = {0};
    size_t whole = cols - cols % LANES;
    for (size_t col = 0; col < whole; col += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            double gap = (double)a[col + lane] - (double)b[col + lane];
            part[lane] += gap * gap;
        }
    }
    for (size_t col = whole; col < cols; col++) {
        double gap = (double)a[col] - (double)b[col];
        part[col - whole] += gap * gap;
    }
    return (part[0] + part[1]) + (part[2] + part[3]);
}
