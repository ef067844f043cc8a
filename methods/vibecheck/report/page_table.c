/* The part of the page that needs no script: its title, and the table of the terminal. */
#include "methods/vibecheck/report/page_parts.h"

static void put_title(const struct vq_config *c, bool ranks, struct vq_buf *out)
{
    for (uint32_t k = 0; k < VQ_MODELS_MAX && c->models[k] != NULL; k++) {
        vq_buf_puts(out, k == 0 ? "" : ranks ? ", " : " and ");
        vq_buf_puts(out, c->models[k]);
    }
    vq_buf_puts(out, ": vibes");
}

void vq_vibes_page_table(const struct vq_vibes_page *p, struct vq_page *page)
{
    put_title(p->r->config, p->r->result->ranking != NULL, &page->title);
    vq_report_table(p->r, &vq_page_terminal, &page->plain);
}
