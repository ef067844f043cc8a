/* The overlap of each pair of vibes over the train rows, by the rule of the overlap gate. */
#include "common/base/alloc.h"
#include "methods/stats/intervals/separability.h"
#include "methods/vibecheck/report/page_parts.h"

#include <math.h>

#define OVERLAP_DIGITS 4

/* A matrix of train rows x shown vibes. */
static enum vq_status columns(const struct vq_vibes_page *p, uint32_t vibes,
                              struct vq_matrix *ret_x, double **ret_cells)
{
    const struct vq_vibecheck *r = p->r->result;
    size_t rows = 0;
    for (uint32_t i = 0; i < r->samples; i++) {
        rows += vq_vibecheck_uses(p->r->in, r, i, false);
    }
    double *cells;
    VQ_TRY(VQ_ALLOC(cells, rows * vibes));
    size_t row = 0;
    for (uint32_t i = 0; i < r->samples; i++) {
        if (!vq_vibecheck_uses(p->r->in, r, i, false)) {
            continue;
        }
        for (uint32_t k = 0; k < vibes; k++) {
            cells[row * vibes + k] = r->scores->x[(size_t)i * r->vibes + p->order[k]];
        }
        row++;
    }
    *ret_cells = cells;
    *ret_x = (struct vq_matrix){cells, rows, vibes};
    return VQ_OK;
}

void vq_vibes_page_overlap(const struct vq_vibes_page *p, struct vq_json *j)
{
    uint32_t vibes = p->r->result->vibes;
    uint32_t shown = vibes < VQ_VIBES_OVERLAP_MAX ? vibes : VQ_VIBES_OVERLAP_MAX;
    if (shown < 2) {
        return;
    }
    struct vq_matrix x;
    double *cells;
    enum vq_status status = columns(p, shown, &x, &cells);
    if (status != VQ_OK) {
        vq_vibes_page_failed(j, status);
        return;
    }
    bool pearson = p->r->config->gates.overlap == VQ_CONF_OVERLAP_PEARSON;
    vq_json_put_array(j, "overlap");
    for (size_t i = 0; i < x.cols; i++) {
        vq_json_array(j);
        for (size_t k = 0; k < x.cols; k++) {
            double r = i == k ? NAN
                              : vq_separability_overlap(
                                    x, i, k, pearson ? VQ_OVERLAP_PEARSON : VQ_OVERLAP_COSINE);
            vq_json_real(j, r, OVERLAP_DIGITS);
        }
        vq_json_array_end(j);
    }
    vq_json_array_end(j);
    vq_free(cells);
}
