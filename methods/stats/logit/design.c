/* Walks through the rows of a regression in blocks of 256, so that the copy with the intercept, the
 * zeros for missing cells and the scaled rows stay in the cache, and BLAS computes the sums.
 * Invariant: blocks are in row order, so the sums are the same every time.
 *
 * Owns its two work blocks. Not its job: the use of loss, gradient and Hessian. */
#include "methods/stats/logit/design.h"

#include "common/base/alloc.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

static blasint as_int(size_t n)
{
    VQ_ASSERT(n <= 1 << 20);
    return (blasint)n;
}

enum vq_status vq_design_init(struct vq_design *design, const struct vq_logit_data *data,
                              const double *weights, const size_t *columns, size_t columns_count)
{
    *design = (struct vq_design){
        .x = data->x,
        .y = data->y,
        .weights = weights,
        .columns = columns,
        .columns_count = columns_count,
        .intercept = data->intercept,
        .params = columns_count + (data->intercept ? 1 : 0),
    };
    design->z = vq_alloc(VQ_DESIGN_BLOCK * design->params, sizeof(double));
    design->scaled = vq_alloc(VQ_DESIGN_BLOCK * design->params, sizeof(double));
    if (design->z == NULL || design->scaled == NULL) {
        vq_design_free(design);
        return VQ_NOMEM;
    }
    return VQ_OK;
}

void vq_design_free(struct vq_design *design)
{
    vq_free(design->z);
    vq_free(design->scaled);
    design->z = NULL;
    design->scaled = NULL;
}

double vq_design_weight(const struct vq_design *design, size_t row)
{
    return design->weights == NULL ? 1.0 : design->weights[row];
}

static void fill_row(const struct vq_design *design, size_t row, double *out)
{
    const double *cells = design->x.at + row * design->x.cols;
    if (design->intercept) {
        *out++ = 1.0;
    }
    for (size_t j = 0; j < design->columns_count; j++) {
        double cell = cells[design->columns == NULL ? j : design->columns[j]];
        out[j] = isnan(cell) ? 0.0 : cell;
    }
}

bool vq_design_next(struct vq_design *design, size_t *cursor)
{
    design->in_block = 0;
    while (*cursor < design->x.rows && design->in_block < VQ_DESIGN_BLOCK) {
        size_t row = (*cursor)++;
        if (vq_design_weight(design, row) > 0.0) {
            fill_row(design, row, design->z + design->in_block * design->params);
            design->row_of[design->in_block++] = row;
        }
    }
    return design->in_block > 0;
}

/* out = Z beta for the block */
static void block_apply(const struct vq_design *design, const double *beta, double *out)
{
    if (design->params == 0) {
        memset(out, 0, design->in_block * sizeof(*out));
        return;
    }
    cblas_dgemv(CblasRowMajor, CblasNoTrans, as_int(design->in_block), as_int(design->params), 1.0,
                design->z, as_int(design->params), beta, 1, 0.0, out, 1);
}

/* gram += scaled' scaled for the block */
static void block_gram(const struct vq_design *design, const double *rows, double *gram)
{
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, as_int(design->params),
                as_int(design->in_block), 1.0, rows, as_int(design->params), 1.0, gram,
                as_int(design->params));
}

static void block_scale(struct vq_design *design, const double *factors)
{
    for (size_t i = 0; i < design->in_block; i++) {
        const double *from = design->z + i * design->params;
        double *to = design->scaled + i * design->params;
        for (size_t j = 0; j < design->params; j++) {
            to[j] = factors[i] * from[j];
        }
    }
}

double vq_design_loss(struct vq_design *design, const double *beta, double *ret_gradient,
                      double *ret_hessian)
{
    size_t params = design->params;
    double eta[VQ_DESIGN_BLOCK];
    double slope[VQ_DESIGN_BLOCK];
    double root[VQ_DESIGN_BLOCK];
    if (ret_gradient != NULL) {
        memset(ret_gradient, 0, params * sizeof(*ret_gradient));
    }
    if (ret_hessian != NULL) {
        memset(ret_hessian, 0, params * params * sizeof(*ret_hessian));
    }
    double loss = 0.0;
    for (size_t cursor = 0; vq_design_next(design, &cursor);) {
        block_apply(design, beta, eta);
        for (size_t i = 0; i < design->in_block; i++) {
            size_t row = design->row_of[i];
            double sign = design->y[row] > 0.5 ? 1.0 : -1.0;
            double weight = vq_design_weight(design, row);
            double margin = sign * eta[i];
            double e = exp(-fabs(margin));
            double wrong = margin > 0.0 ? e / (1.0 + e) : 1.0 / (1.0 + e);
            loss += weight * (log1p(e) + (margin < 0.0 ? -margin : 0.0));
            slope[i] = -sign * weight * wrong;
            root[i] = sqrt(weight * e) / (1.0 + e);
        }
        if (params == 0) {
            continue;
        }
        if (ret_gradient != NULL) {
            cblas_dgemv(CblasRowMajor, CblasTrans, as_int(design->in_block), as_int(params), 1.0,
                        design->z, as_int(params), slope, 1, 1.0, ret_gradient, 1);
        }
        if (ret_hessian != NULL) {
            block_scale(design, root);
            block_gram(design, design->scaled, ret_hessian);
        }
    }
    return loss;
}

void vq_design_gram(struct vq_design *design, double *ret_gram)
{
    memset(ret_gram, 0, design->params * design->params * sizeof(*ret_gram));
    for (size_t cursor = 0; design->params > 0 && vq_design_next(design, &cursor);) {
        block_gram(design, design->z, ret_gram);
    }
}

void vq_design_apply(struct vq_design *design, const double *beta, double *row_out)
{
    double eta[VQ_DESIGN_BLOCK];
    for (size_t cursor = 0; vq_design_next(design, &cursor);) {
        block_apply(design, beta, eta);
        for (size_t i = 0; i < design->in_block; i++) {
            row_out[design->row_of[i]] = eta[i];
        }
    }
}
