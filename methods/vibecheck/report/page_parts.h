/* Private to VibeCheck's page: its sections, one file each. */
#ifndef VQ_METHODS_VIBECHECK_REPORT_PAGE_PARTS_H
#define VQ_METHODS_VIBECHECK_REPORT_PAGE_PARTS_H

#include "methods/report/html/html.h"
#include "methods/vibecheck/report/report.h"

struct vq_vibes_page {
    const struct vq_report_input *r;
    const struct vq_report_story *story;
    const uint32_t *order; /* vibes as shown: kept ones first */
    bool test;             /* the split that leads: test, or train without one */
};

/* "A" or "B" with its colour and the model's name. */
void vq_html_model(struct vq_html *h, int model);
/* The name of the vibe that is shown as number `rank`, linked to its details where it has some. */
void vq_html_vibe(struct vq_html *h, uint32_t rank);

void vq_html_headline(struct vq_html *h); /* page_headline.c */
void vq_html_table(struct vq_html *h);    /* page_table.c: kept vibes, then the dropped ones */
void vq_html_vibes(struct vq_html *h);    /* page_vibes.c: the details of each vibe */
void vq_html_overlap(struct vq_html *h);  /* page_overlap.c: which vibes say the same */
void vq_html_judges(struct vq_html *h);   /* page_groups.c: each judge alone */
void vq_html_values(struct vq_html *h);   /* and each value of report.by, or of data.group */
void vq_html_story(struct vq_html *h);    /* page_story.c: how the vibes were found */
void vq_html_presets(struct vq_html *h);  /* and the preset ones beside them */
void vq_html_methods(struct vq_html *h);  /* page_methods.c: every setting that matters, in prose */

double vq_html_separability(const struct vq_html *h, uint32_t vibe, struct vq_interval *ret_ci);
const struct vq_agreement_pair *vq_html_agreement(const struct vq_html *h, uint32_t vibe);
/* A fold of the dropped vibes, each as `item` writes it; nothing if none was dropped. `rank`: its
 * place in h->page->order. */
void vq_html_dropped(struct vq_html *h, void (*item)(struct vq_html *h, uint32_t rank));
void vq_html_drop_reason(struct vq_html *h, uint32_t vibe);

/* page_ranking.c: more than two models. The names of all, the first sentence, and the matrix with
 * the table of vibes. */
void vq_html_ranking_title(struct vq_html *h);
void vq_html_ranking_sentence(struct vq_html *h);
void vq_html_ranking(struct vq_html *h);

/* page_data.c: the rows, examples and answers as JSON, escaped. */
void vq_html_data(struct vq_html *h);

#endif
