/* Distances block by block: |x - y|^2 = |x|^2 + |y|^2 - 2 xy, with the products xy by dgemm. If a
 * distance is small beside the norms, digits cancel; then it is summed again from the differences,
 * so that duplicates have distance exactly 0 and near rows keep their digits. Products in double
 * cost about twice those in float, but are accurate for any offset, length and number of columns.
 *
 * A call owns two blocks of rows and one block of products. */
#include "methods/stats/cluster/cluster_distance.h"

#include "common/base/arena.h"

#include <cblas.h>
#include <math.h>

/* If the squared distance is below this share of |x|^2 + |y|^2, the subtraction has lost too many
 * of the products' 15 digits to be accurate in a float. This includes the rounding of up to 2^14
 * terms. */
#define CANCELS 1e-5

struct work {
    struct vq_vectors x;
    size_t block;
    double *norms;   /* |x|^2 of every row */
    double *left;    /* block x cols */
    double *right;   /* block x cols */
    double *product; /* block x block */
};

size_t vq_cluster_pairs(size_t n)
{
    return n < 2 ? 0 : n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
}

static size_t load(const struct work *w, size_t first, double *out)
{
    size_t rows = w->x.rows - first < w->block ? w->x.rows - first : w->block;
    const float *from = vq_vectors_row(w->x, first);
    for (size_t cell = 0; cell < rows * w->x.cols; cell++) {
        out[cell] = (double)from[cell];
    }
    return rows;
}

static float distance(const struct work *w, size_t i, size_t j, double product)
{
    double norms = w->norms[i] + w->norms[j];
    double square = norms - 2.0 * product;
    if (!(square > CANCELS * norms)) {
        square = vq_vectors_distance_squared(vq_vectors_row(w->x, i), vq_vectors_row(w->x, j),
                                             w->x.cols);
    }
    return (float)sqrt(square);
}

static void fill(const struct work *w, size_t top, size_t rows, size_t side, size_t cols,
                 float *ret_distances)
{
    int d = (int)w->x.cols;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)cols, d, 1.0, w->left, d,
                top == side ? w->left : w->right, d, 0.0, w->product, (int)w->block);
    for (size_t r = 0; r < rows; r++) {
        size_t i = top + r;
        for (size_t c = top == side ? r + 1 : 0; c < cols; c++) {
            size_t j = side + c;
            ret_distances[vq_cluster_pair(w->x.rows, i, j)] =
                distance(w, i, j, w->product[r * w->block + c]);
        }
    }
}

enum vq_status vq_cluster_distances(struct vq_vectors x, size_t block, float *ret_distances)
{
    VQ_ASSERT(block > 0);
    block = block < x.rows ? block : x.rows;
    struct vq_arena arena = {0};
    struct work w = {.x = x, .block = block};
    w.norms = vq_arena_alloc(&arena, x.rows, sizeof(*w.norms));
    w.left = vq_arena_alloc(&arena, block * x.cols, sizeof(*w.left));
    w.right = vq_arena_alloc(&arena, block * x.cols, sizeof(*w.right));
    w.product = vq_arena_alloc(&arena, block * block, sizeof(*w.product));
    enum vq_status status = VQ_NOMEM;
    if (arena.failed) {
        goto done;
    }
    for (size_t i = 0; i < x.rows; i++) {
        w.norms[i] = vq_vectors_dot(vq_vectors_row(x, i), vq_vectors_row(x, i), x.cols);
    }
    for (size_t top = 0; top < x.rows; top += block) {
        size_t rows = load(&w, top, w.left);
        for (size_t side = top; side < x.rows; side += block) {
            size_t cols = side == top ? rows : load(&w, side, w.right);
            fill(&w, top, rows, side, cols, ret_distances);
        }
    }
    status = VQ_OK;
done:
    vq_arena_clear(&arena);
    return status;
}
