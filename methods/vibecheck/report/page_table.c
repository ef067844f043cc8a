/* The table people know: low to high, separability, the two coefficients and kappa of every kept
 * vibe, as numbers and bars; below it, folded, the vibes that were dropped and why. The script only
 * sorts it: it reads without one. */
#include "methods/vibecheck/report/page_parts.h"

#include <math.h>

static double largest(const struct vq_html *h, bool pp)
{
    double most = 0;
    for (uint32_t i = 0; i < h->page->r->result->kept_count; i++) {
        const struct vq_vibe_metrics *m = &h->page->r->result->vibe[h->page->order[i]];
        const struct vq_interval *ci = pp ? &m->pp_ci95 : &m->mm_ci95;
        const struct vq_firth_coef *firth = pp ? &m->pp_firth : &m->mm_firth;
        double values[] = {pp ? m->pp_coef : m->mm_coef,
                           ci->lo,
                           ci->hi,
                           firth->value,
                           firth->ci95.lo,
                           firth->ci95.hi};
        for (size_t k = 0; k < VQ_COUNT(values); k++) {
            most = isnan(values[k]) ? most : fmax(most, fabs(values[k]));
        }
    }
    return most;
}

static void cell(struct vq_html *h, const char *label, double value, struct vq_interval ci,
                 double full, const char *kind)
{
    vq_html_printf(h, "<td class=\"num\" data-label=\"%s\" data-value=\"%.9g\">", label,
                   isnan(value) ? 0 : value);
    if (isnan(value)) {
        vq_html_puts(h, "<span class=\"na\">n/a</span></td>");
        return;
    }
    vq_html_bar(h, value, ci, full, kind);
    vq_html_puts(h, "<span class=\"value\">");
    vq_html_signed(h, value, 2);
    vq_html_puts(h, "</span> <span class=\"ci95\">");
    vq_html_interval(h, ci, 2, true);
    vq_html_puts(h, "</span></td>");
}

/* A degenerate fit shows Firth's estimate: the coefficient's own size is the penalty's. */
static void coefficient(struct vq_html *h, bool mm, double value, struct vq_interval ci,
                        const struct vq_firth_coef *firth, double full)
{
    if (isnan(firth->value)) {
        cell(h, mm ? "MM" : "PP", value, ci, full, "coef");
    } else {
        cell(h, mm ? "MM (Firth)" : "PP (Firth)", firth->value, firth->ci95, full, "coef");
    }
}

static void poles(struct vq_html *h, uint32_t v)
{
    vq_html_puts(h, "<span class=\"poles\"><bdi>");
    vq_html_text(h, h->page->r->in->axes[v].low);
    vq_html_puts(h, "</bdi> <span class=\"arrow\">\xe2\x86\x92</span> <bdi>");
    vq_html_text(h, h->page->r->in->axes[v].high);
    vq_html_puts(h, "</bdi></span>");
}

static void kept_row(struct vq_html *h, uint32_t rank, double full_mm, double full_pp)
{
    uint32_t v = h->page->order[rank];
    const struct vq_vibe_metrics *m = &h->page->r->result->vibe[v];
    struct vq_interval ci;
    double sep = vq_html_separability(h, v, &ci);
    double kappa = vq_html_agreement(h, v)->kappa;
    vq_html_printf(h, "<tr><th scope=\"row\" data-value=\"%u\">", rank);
    vq_html_vibe(h, rank);
    if (!m->distinguishable) {
        vq_html_puts(
            h, " <span class=\"mark\" title=\"q above 0.05\">not distinguishable from 0</span>");
    }
    if (m->gate_could_flip) {
        vq_html_puts(h, " <span class=\"mark\">missing answers could change this</span>");
    }
    if (m->overlap_unjudged) {
        vq_html_puts(h, " <span class=\"mark\">nearly constant, overlap not judged</span>");
    }
    poles(h, v);
    vq_html_puts(h, "</th>");
    cell(h, "Separability", sep, ci, 1, "sep");
    coefficient(h, true, m->mm_coef, m->mm_ci95, &m->mm_firth, full_mm);
    coefficient(h, false, m->pp_coef, m->pp_ci95, &m->pp_firth, full_pp);
    vq_html_printf(
        h, "<td class=\"num\" data-label=\"Kappa\" data-value=\"%.9g\"><span class=\"value\">",
        isnan(kappa) ? -2 : kappa);
    vq_html_number(h, kappa, 2);
    vq_html_puts(h, "</span></td></tr>\n");
}

void vq_html_drop_reason(struct vq_html *h, uint32_t v)
{
    const struct vq_vibe_metrics *m = &h->page->r->result->vibe[v];
    switch (m->reason) {
    case VQ_DROP_SEPARABILITY:
        if (m->na_everywhere) {
            vq_html_puts(h, "applies to no row");
        } else if (isnan(m->sep_train)) {
            vq_html_puts(h, "no answers on train");
        } else {
            vq_html_puts(h, "separability ");
            vq_html_signed(h, m->sep_train, 3);
            vq_html_puts(h, " on train");
        }
        break;
    case VQ_DROP_KAPPA:
        vq_html_puts(h, "judges disagree: kappa ");
        vq_html_number(h, m->train.kappa, 2);
        vq_html_puts(h, " on train");
        break;
    case VQ_DROP_OVERLAP:
        vq_html_printf(h, "says the %s <bdi>", m->overlap < 0 ? "opposite of" : "same as");
        vq_html_text(h, h->page->r->in->axes[m->overlap_with].name);
        vq_html_puts(h, "</bdi> (");
        vq_html_number(h, m->overlap, 2);
        vq_html_puts(h, ")");
        break;
    case VQ_DROP_PREFERENCE:
        vq_html_puts(h, "preference ");
        vq_html_signed(h, m->pref_train, 3);
        vq_html_puts(h, " on train");
        break;
    case VQ_DROP_NUM_FINAL: vq_html_puts(h, "beyond the number of final vibes"); break;
    case VQ_DROP_EARLY_STOP:
        vq_html_puts(h, "failed on the first rows and was not asked further");
        break;
    case VQ_DROP_NONE: vq_html_puts(h, "not dropped"); break;
    }
    if (m->gate_could_flip) {
        vq_html_puts(h, "; missing answers could change this");
    }
}

void vq_html_dropped(struct vq_html *h, void (*item)(struct vq_html *h, uint32_t rank))
{
    const struct vq_vibecheck *r = h->page->r->result;
    if (r->kept_count == r->vibes) {
        return;
    }
    vq_html_printf(h,
                   "<details class=\"fold\" id=\"dropped\"><summary>%u dropped</summary>\n<ul>\n",
                   r->vibes - r->kept_count);
    for (uint32_t i = r->kept_count; i < r->vibes; i++) {
        item(h, i);
    }
    vq_html_puts(h, "</ul></details>\n");
}

static void dropped_item(struct vq_html *h, uint32_t rank)
{
    vq_html_puts(h, "<li>");
    vq_html_vibe(h, rank);
    vq_html_puts(h, ": ");
    vq_html_drop_reason(h, h->page->order[rank]);
    poles(h, h->page->order[rank]);
    vq_html_puts(h, "</li>\n");
}

void vq_html_table(struct vq_html *h)
{
    static const char *const columns[] = {"Vibe", "Separability", "MM", "PP", "Kappa"};
    static const char *const notes[] = {"low \xe2\x86\x92 high", "right: A is higher",
                                        "right: higher points to A", "right: higher is preferred",
                                        "agreement of judges"};
    double full_mm = largest(h, false), full_pp = largest(h, true);
    vq_html_printf(
        h,
        "<section id=\"vibes\"><h2>Vibes</h2>\n<p class=\"sub\">%u of %u passed the gates. "
        "Numbers are of the %s rows; whiskers are 95\xe2\x80\xaf%% intervals.</p>\n",
        h->page->r->result->kept_count, h->page->r->result->vibes,
        h->page->test ? "test" : "train");
    if (h->page->r->result->kept_count > 0) {
        vq_html_puts(h, "<table id=\"table\" class=\"vibes\">\n<thead><tr>");
        for (size_t i = 0; i < VQ_COUNT(columns); i++) {
            vq_html_printf(
                h, "<th scope=\"col\"><button type=\"button\">%s</button><small>%s</small></th>",
                columns[i], notes[i]);
        }
        vq_html_puts(h, "</tr></thead>\n<tbody>\n");
        for (uint32_t i = 0; i < h->page->r->result->kept_count; i++) {
            kept_row(h, i, full_mm, full_pp);
        }
        vq_html_puts(h, "</tbody></table>\n");
    }
    vq_html_dropped(h, dropped_item);
    vq_html_puts(h, "</section>\n");
}
