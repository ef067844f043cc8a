/* What the methods say of a run over more than two models. */
#include "methods/vibecheck/report/page_parts.h"
#include "methods/vibecheck/report/ranking.h"

void vq_vibes_page_models(const struct vq_vibes_paragraph *m)
{
    if (m->page->r->result->ranking == NULL) {
        return;
    }
    struct vq_buf design;
    vq_buf_init(&design, 1u << 12);
    vq_ranking_design(m->page->r->config, &design);
    vq_buf_printf(m->out, "%u models were compared in pairs: ", m->page->r->config->models_count);
    vq_buf_append(m->out, design.at, design.bytes);
    vq_buf_free(&design);
    vq_buf_puts(
        m->out,
        ". A row is a comparison of two of them. Strengths are those of Davidson's model with "
        "ties (Bradley-Terry where there is none), centred on 0; their intervals are of the "
        "jackknife over prompts, and ranks of a Holm test of all pairs. Separability is half the "
        "distance between the highest and the lowest mean score of a model; its p flips the signs "
        "of whole prompts. Model matching is a multinomial regression that names the model of an "
        "output from its mean scores against the other outputs of its record. Its coefficients and "
        "their "
        "jackknife intervals are in results.json; no second fit holds length fixed, and a "
        "degenerate fit has no intervals.");
}
