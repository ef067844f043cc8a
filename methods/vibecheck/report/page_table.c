/* The part of the page that needs no script: its title, and the table of the terminal. */
#include "common/text/fmt.h"
#include "methods/vibecheck/report/page_parts.h"

#include <math.h>
#include <stdio.h>

static void put_title(const struct vq_config *c, bool ranks, struct vq_buf *out)
{
    for (uint32_t k = 0; k < VQ_MODELS_MAX && c->models[k] != NULL; k++) {
        vq_buf_puts(out, k == 0 ? "" : ranks ? ", " : " and ");
        vq_buf_puts(out, c->models[k]);
    }
    vq_buf_puts(out, ": vibes");
}

/* ---- intervals, for which the terminal has no columns ---- */

#define NAME_COLUMNS     24
#define INTERVAL_COLUMNS 24

static void put_interval(double value, struct vq_interval ci, struct vq_buf *out)
{
    char text[64] = "n/a";
    if (!isnan(value) && !isnan(ci.lo)) {
        (void)snprintf(text, sizeof(text), "%+.2f [%+.2f, %+.2f]", value, ci.lo, ci.hi);
    } else if (!isnan(value)) {
        (void)snprintf(text, sizeof(text), "%+.2f", value);
    }
    vq_buf_printf(out, "%*s", INTERVAL_COLUMNS, text);
}

static void put_coefficient(const struct vq_vibe_coef *c, struct vq_buf *out)
{
    bool degenerate = !isnan(c->firth.value);
    put_interval(degenerate ? c->firth.value : c->coef, degenerate ? c->firth.ci95 : c->ci95, out);
}

static void put_intervals(const struct vq_vibes_page *p, struct vq_buf *out)
{
    const struct vq_vibecheck *result = p->r->result;
    bool any = false;
    for (uint32_t i = 0; i < result->vibes; i++) {
        uint32_t v = p->order[i];
        const struct vq_vibe_metrics *m = &result->vibe[v];
        if (!m->kept) {
            continue;
        }
        if (!any) {
            vq_buf_printf(out, "\n%-*s%*s%*s%*s\n", NAME_COLUMNS, "95 % intervals",
                          INTERVAL_COLUMNS, "separability", INTERVAL_COLUMNS, "MM",
                          INTERVAL_COLUMNS, "PP");
            any = true;
        }
        vq_fmt_pad(out, vq_span_str(p->r->in->axes[v].name), NAME_COLUMNS);
        put_interval(vq_vibe_lead(result, m)->sep, vq_vibe_lead(result, m)->sep_ci95, out);
        put_coefficient(&m->mm, out);
        put_coefficient(&m->pp, out);
        vq_buf_putc(out, '\n');
    }
}

void vq_vibes_page_table(const struct vq_vibes_page *p, struct vq_page *page)
{
    put_title(p->r->config, p->r->result->ranking != NULL, &page->title);
    vq_report_table(p->r, &vq_page_terminal, &page->plain);
    if (p->r->result->ranking == NULL) {
        put_intervals(p, &page->plain);
    }
}
