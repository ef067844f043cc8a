/* Cosines one at a time, without BLAS: `among` has few rows (reduced axes), and a sum whose order
 * never changes makes equal rows tie exactly. A call owns the norms. */
#include "methods/stats/cluster/cosine.h"

#include "common/base/alloc.h"

#include <math.h>

static double norm(const float *a, size_t cols)
{
    return sqrt(vq_vectors_dot(a, a, cols));
}

static double cosine_of(double dot, double norm_a, double norm_b)
{
    if (norm_a <= 0.0 || norm_b <= 0.0) {
        return 0.0;
    }
    return fmax(-1.0, fmin(1.0, dot / norm_a / norm_b));
}

double vq_cosine(const float *a, const float *b, size_t cols)
{
    return cosine_of(vq_vectors_dot(a, b, cols), norm(a, cols), norm(b, cols));
}

enum vq_status vq_cosine_nearest(struct vq_vectors of, struct vq_vectors among,
                                 uint32_t *ret_nearest, double *ret_cosine, struct vq_error *err)
{
    if (among.rows == 0 || of.cols != among.cols) {
        return vq_fail(err, VQ_INVALID,
                       "%zu vectors of %zu numbers cannot be matched to %zu of %zu", of.rows,
                       of.cols, among.rows, among.cols);
    }
    VQ_TRY(vq_vectors_check(of, err));
    VQ_TRY(vq_vectors_check(among, err));
    double *norms = vq_alloc(among.rows, sizeof(*norms));
    if (norms == NULL) {
        return vq_fail(err, VQ_NOMEM, "no memory for %zu norms", among.rows);
    }
    for (size_t j = 0; j < among.rows; j++) {
        norms[j] = norm(vq_vectors_row(among, j), among.cols);
    }
    for (size_t i = 0; i < of.rows; i++) {
        const float *row = vq_vectors_row(of, i);
        double own = norm(row, of.cols);
        size_t best_row = 0;
        double best = -INFINITY;
        for (size_t j = 0; j < among.rows; j++) {
            double dot = vq_vectors_dot(row, vq_vectors_row(among, j), of.cols);
            double cosine = cosine_of(dot, own, norms[j]);
            if (cosine > best) {
                best = cosine;
                best_row = j;
            }
        }
        ret_nearest[i] = (uint32_t)best_row;
        if (ret_cosine != NULL) {
            ret_cosine[i] = best;
        }
    }
    vq_free(norms);
    return VQ_OK;
}
