/* The overlap map: how far each pair of vibes says the same, over the train rows, by the rule of
 * the overlap gate. */
#include "common/base/alloc.h"
#include "methods/stats/intervals/separability.h"
#include "methods/vibecheck/report/page_parts.h"

#include <math.h>

/* Train rows x shown vibes. */
static enum vq_status columns(const struct vq_html *h, uint32_t vibes, struct vq_matrix *ret_x,
                              double **ret_cells)
{
    const struct vq_vibecheck *r = h->page->r->result;
    size_t rows = 0;
    for (uint32_t i = 0; i < r->samples; i++) {
        rows += vq_vibecheck_uses(h->page->r->in, r, i, false);
    }
    double *cells = vq_alloc(rows * vibes, sizeof(*cells));
    if (cells == NULL) {
        return VQ_NOMEM;
    }
    size_t row = 0;
    for (uint32_t i = 0; i < r->samples; i++) {
        if (!vq_vibecheck_uses(h->page->r->in, r, i, false)) {
            continue;
        }
        for (uint32_t k = 0; k < vibes; k++) {
            cells[row * vibes + k] = r->scores->x[(size_t)i * r->vibes + h->page->order[k]];
        }
        row++;
    }
    *ret_cells = cells;
    *ret_x = (struct vq_matrix){cells, rows, vibes};
    return VQ_OK;
}

static void map(struct vq_html *h, struct vq_matrix x, enum vq_overlap_kind kind)
{
    vq_html_puts(
        h,
        "<div class=\"scroll\"><table class=\"plain map\"><thead><tr><th scope=\"col\">vibe</th>");
    for (size_t k = 0; k < x.cols; k++) {
        vq_html_printf(h, "<th scope=\"col\">%zu</th>", k + 1);
    }
    vq_html_puts(h, "</tr></thead>\n<tbody>");
    for (size_t i = 0; i < x.cols; i++) {
        bool kept = i < h->page->r->result->kept_count;
        vq_html_printf(h, "<tr><th scope=\"row\"%s>%zu <bdi>", kept ? "" : " class=\"nil\"", i + 1);
        vq_html_text(h, h->page->r->in->axes[h->page->order[i]].name);
        vq_html_puts(h, "</bdi></th>");
        for (size_t k = 0; k < x.cols; k++) {
            double r = i == k ? NAN : vq_separability_overlap(x, i, k, kind);
            vq_html_puts(h, "<td ");
            vq_html_heat(h, r);
            vq_html_puts(h, "\"><span>");
            if (i != k) {
                vq_html_signed(h, r, 2);
            }
            vq_html_puts(h, "</span></td>");
        }
        vq_html_puts(h, "</tr>\n");
    }
    vq_html_puts(h, "</tbody></table></div>\n");
}

void vq_html_overlap(struct vq_html *h)
{
    uint32_t vibes = h->page->r->result->vibes;
    uint32_t shown = vibes < VQ_HTML_OVERLAP_MAX ? vibes : VQ_HTML_OVERLAP_MAX;
    if (shown < 2) {
        return;
    }
    bool pearson = h->page->r->config->gates.overlap == VQ_CONF_OVERLAP_PEARSON;
    struct vq_matrix x;
    double *cells;
    enum vq_status status = columns(h, shown, &x, &cells);
    if (status != VQ_OK) {
        h->out->status = h->out->status == VQ_OK ? status : h->out->status;
        return;
    }
    vq_html_printf(
        h,
        "<section id=\"overlap\"><h2>Overlap</h2>\n<p class=\"sub\">%s of the row scores of two "
        "vibes on train: near 1 they say the same, near \xe2\x88\x92"
        "1 the opposite; the gate drops both. n/a: a column is constant. Dropped vibes are grey.",
        pearson ? "Pearson correlation" : "Cosine (uncentred correlation)");
    vq_html_puts(h, h->page->r->config->gates.overlap == VQ_CONF_OVERLAP_OFF
                        ? " The overlap gate is off."
                        : "");
    if (shown < vibes) {
        vq_html_printf(h, " The first %u of %u vibes.", shown, vibes);
    }
    vq_html_puts(h, "</p>\n");
    map(h, x, pearson ? VQ_OVERLAP_PEARSON : VQ_OVERLAP_COSINE);
    vq_html_puts(h, "</section>\n");
    vq_free(cells);
}
