/* How the vibes came about: the iterations with what each proposed, added and lost, the notes of
 * the method, the proposals; and the preset vibes beside the others. Of given vibes there are notes
 * only. */
#include "methods/vibecheck/recall.h"
#include "methods/vibecheck/report/page_parts.h"

#include <math.h>

#define NOTES_MAX     400u
#define PROPOSALS_MAX 200u

static void count_cell(struct vq_html *h, uint64_t n)
{
    vq_html_puts(h, "<td>");
    vq_html_count(h, n);
    vq_html_puts(h, "</td>");
}

static void accuracy_cell(struct vq_html *h, double accuracy)
{
    vq_html_puts(h, "<td>");
    if (!isnan(accuracy)) {
        vq_html_scale(h, accuracy, (struct vq_interval){NAN, NAN}, 0.5);
    }
    vq_html_percent(h, accuracy);
    vq_html_puts(h, "</td>");
}

static void vibes_of(struct vq_html *h, uint32_t iteration, bool kept)
{
    const struct vq_method_result *m = h->page->story->method;
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->page->r->result->vibes; i++) {
        uint32_t v = h->page->order[i];
        if (m->provenance[v].iteration != iteration || h->page->r->result->vibe[v].kept != kept) {
            continue;
        }
        vq_html_printf(
            h, i < VQ_HTML_VIBES_MAX ? "%s<a href=\"#v%u\"><bdi>" : "%s<a data-v=\"%u\"><bdi>",
            n++ > 0 ? ", " : "", v + 1);
        vq_html_text(h, h->page->r->in->axes[v].name);
        vq_html_puts(h, "</bdi></a>");
    }
    if (n == 0) {
        vq_html_puts(h, "none");
    }
}

static void iterations(struct vq_html *h)
{
    const struct vq_method_result *m = h->page->story->method;
    static const char *const heads[] = {"rows shown",          "proposed",  "after reduction",
                                        "after dedup",         "judged",    "survived",
                                        "still misclassified", "MM, train", "PP, train"};
    vq_html_puts(
        h,
        "<div class=\"scroll\"><table class=\"plain\"><thead><tr><th scope=\"col\">iteration</th>");
    for (size_t i = 0; i < VQ_COUNT(heads); i++) {
        vq_html_printf(h, "<th scope=\"col\">%s</th>", heads[i]);
    }
    vq_html_puts(h, "</tr></thead>\n<tbody>");
    for (uint32_t i = 0; i < m->iterations_count; i++) {
        const struct vq_iteration *it = &m->iterations[i];
        uint32_t counts[] = {it->rows_shown, it->proposed, it->reduced,      it->deduplicated,
                             it->evaluated,  it->added,    it->misclassified};
        vq_html_printf(h, "<tr><th scope=\"row\">%u</th>", i + 1);
        for (size_t k = 0; k < VQ_COUNT(counts); k++) {
            count_cell(h, counts[k]);
        }
        accuracy_cell(h, it->mm_accuracy);
        accuracy_cell(h, it->pp_accuracy);
        vq_html_puts(h, "</tr>\n");
    }
    vq_html_puts(h, "</tbody></table></div>\n<ul class=\"calm\">\n");
    for (uint32_t i = 0; i < m->iterations_count; i++) {
        vq_html_printf(h, "<li>Iteration %u added ", i + 1);
        vibes_of(h, i, true);
        vq_html_puts(h, "; judged and in the end dropped: ");
        vibes_of(h, i, false);
        vq_html_puts(h, ".</li>\n");
    }
    vq_html_printf(h, "</ul>\n<p>It stopped: %s.</p>\n", vq_stop_text(m->stop));
}

static void notes(struct vq_html *h)
{
    const struct vq_method_result *m = h->page->story->method;
    if (m->notes_count == 0) {
        return;
    }
    vq_html_puts(h,
                 "<details class=\"fold\"><summary>What happened, step by step</summary>\n<ol>\n");
    for (uint32_t i = 0; i < m->notes_count && i < NOTES_MAX; i++) {
        vq_html_puts(h, "<li><bdi>");
        vq_html_text(h, m->notes[i]);
        vq_html_puts(h, "</bdi></li>\n");
    }
    vq_html_puts(h, "</ol>");
    if (m->notes_count > NOTES_MAX) {
        vq_html_printf(h, "<p>and %u more line%s in the log.</p>", m->notes_count - NOTES_MAX,
                       vq_fmt_plural(m->notes_count - NOTES_MAX));
    }
    vq_html_puts(h, "</details>\n");
}

static void proposals(struct vq_html *h)
{
    const struct vq_method_result *m = h->page->story->method;
    if (m->proposals_count == 0) {
        return;
    }
    vq_html_printf(h, "<details class=\"fold\"><summary>%s%u proposal%s</summary>\n<ul>\n",
                   m->proposals_count == 1 ? "" : "All ", m->proposals_count,
                   vq_fmt_plural(m->proposals_count));
    for (uint32_t i = 0; i < m->proposals_count && i < PROPOSALS_MAX; i++) {
        const struct vq_proposal *p = &m->proposals[i];
        vq_html_printf(h, "<li>Iteration %u, batch %u (%u row%s): <b><bdi>", p->iteration + 1,
                       p->batch + 1, p->rows_count, vq_fmt_plural(p->rows_count));
        vq_html_text(h, p->axis.name);
        vq_html_puts(h, "</bdi></b> <span class=\"poles\"><bdi>");
        vq_html_text(h, p->axis.low);
        vq_html_puts(h, "</bdi> \xe2\x86\x92 <bdi>");
        vq_html_text(h, p->axis.high);
        vq_html_puts(h, "</bdi></span></li>\n");
    }
    vq_html_puts(h, "</ul>");
    if (m->proposals_count > PROPOSALS_MAX) {
        vq_html_printf(h, "<p>and %u more.</p>", m->proposals_count - PROPOSALS_MAX);
    }
    vq_html_puts(h, "</details>\n");
}

/* Of the repeats, where they are not the run's. */
static void proposers(struct vq_html *h)
{
    const struct vq_config *c = h->page->r->config;
    for (uint32_t i = 0; i < c->repeat_proposers_count; i++) {
        vq_html_puts(h, i == 0 ? " Proposers of the repeats, in turn: <bdi>" : ", <bdi>");
        vq_html_text(h, c->repeat_proposers[i].model);
        vq_html_puts(h, "</bdi>");
    }
    vq_html_puts(h, c->repeat_proposers_count > 0 ? "." : "");
}

static void stability(struct vq_html *h)
{
    const struct vq_method_result *m = h->page->story->method;
    const struct vq_stability *s = m->stability;
    if (s == NULL || !s->matched) {
        return;
    }
    vq_html_printf(
        h,
        "<h3 id=\"stability\">Found again</h3>\n<p class=\"sub\">Discovery was done "
        "again from %u other seed%s. A vibe counts as found again if an axis of a repeat "
        "says the same or the opposite (similarity of their ends at least %.1f).",
        s->repeats, vq_fmt_plural(s->repeats), VQ_RECALL_THRESHOLD);
    proposers(h);
    vq_html_puts(h, "</p>\n<div class=\"scroll\"><table class=\"plain\"><thead><tr><th "
                    "scope=\"col\">vibe</th><th scope=\"col\">found again</th><th "
                    "scope=\"col\">nearest axis, by repeat</th></tr></thead>\n<tbody>");
    for (uint32_t v = 0; v < s->vibes_count; v++) {
        vq_html_puts(h, "<tr><th scope=\"row\"><bdi>");
        vq_html_text(h, m->axes[s->vibes[v]].name);
        vq_html_printf(h, "</bdi></th><td>%u of %u</td><td>", s->found[v], s->repeats);
        for (uint32_t k = 0; k < s->repeats; k++) {
            vq_html_puts(h, k > 0 ? ", " : "");
            vq_html_number(h, s->nearest[v * s->repeats + k], 2);
        }
        vq_html_puts(h, "</td></tr>\n");
    }
    vq_html_puts(h, "</tbody></table></div>\n");
}

void vq_html_story(struct vq_html *h)
{
    const struct vq_method_result *m = h->page->story->method;
    if (m == NULL || (m->iterations_count == 0 && m->notes_count == 0)) {
        return;
    }
    vq_html_printf(h, "<section id=\"story\"><h2>%s</h2>\n",
                   m->iterations_count > 0 ? "How the vibes were found" : "How it went");
    if (m->iterations_count > 0) {
        iterations(h);
    }
    stability(h);
    notes(h);
    proposals(h);
    vq_html_puts(h, "</section>\n");
}

/* ---- preset vibes ---- */

static void fit_cell(struct vq_html *h, const struct vq_vibecheck *r,
                     const struct vq_fit_metrics *m)
{
    vq_html_puts(h, "<td>");
    vq_html_percent(h, r->in_sample ? m->accuracy_train : m->accuracy_test);
    if (!r->in_sample && !isnan(m->accuracy_test_ci95.lo)) {
        vq_html_puts(h, " <span class=\"ci95\">");
        vq_html_interval(h, m->accuracy_test_ci95, 2, false);
        vq_html_puts(h, "</span>");
    }
    vq_html_puts(h, "</td>");
}

static void side(struct vq_html *h, const char *name, const struct vq_vibecheck *r)
{
    vq_html_printf(h, "<tr><th scope=\"row\">%s</th><td>%u of %u</td>", name, r->kept_count,
                   r->vibes);
    fit_cell(h, r, &r->mm);
    fit_cell(h, r, &r->pp);
    vq_html_puts(h, "</tr>\n");
}

static void preset_row(struct vq_html *h, uint32_t v)
{
    const struct vq_vibecheck *r = h->page->story->presets;
    const struct vq_vibe_metrics *m = &r->vibe[v];
    double sep = r->in_sample ? m->sep_train : m->sep_test;
    vq_html_puts(h, "<tr><th scope=\"row\"><bdi>");
    vq_html_text(h, h->page->story->method->preset_axes[v].name);
    vq_html_puts(h, "</bdi></th><td ");
    vq_html_heat(h, sep);
    vq_html_puts(h, "\"><span>");
    vq_html_signed(h, sep, 2);
    vq_html_puts(h, "</span></td><td>");
    vq_html_number(h, r->in_sample ? m->train.kappa : m->test.kappa, 2);
    vq_html_puts(h, "</td><td>");
    vq_html_signed(h, m->mm_coef, 2);
    vq_html_puts(h, "</td><td>");
    vq_html_signed(h, m->pp_coef, 2);
    vq_html_printf(h, "</td><td>%s</td></tr>\n", m->kept ? "kept" : vq_drop_reason_name(m->reason));
}

void vq_html_presets(struct vq_html *h)
{
    const struct vq_vibecheck *r = h->page->story->presets;
    if (r == NULL || h->page->story->method == NULL) {
        return;
    }
    vq_html_puts(
        h,
        "<section id=\"presets\"><h2>Beside the preset vibes</h2>\n<p class=\"sub\">The same rows "
        "and judges on a fixed list of vibes, for comparison.</p>\n<div class=\"scroll\">"
        "<table class=\"plain\"><thead><tr><th scope=\"col\">vibes</th><th scope=\"col\">kept</th>"
        "<th scope=\"col\">MM</th><th scope=\"col\">PP</th></tr></thead>\n<tbody>");
    side(h, h->page->r->config->method == VQ_METHOD_DISCOVER ? "discovered" : "given",
         h->page->r->result);
    side(h, "preset", r);
    vq_html_puts(
        h,
        "</tbody></table></div>\n<details class=\"fold\"><summary>The preset vibes</summary>\n"
        "<div class=\"scroll\"><table class=\"plain\"><thead><tr><th scope=\"col\">vibe</th>"
        "<th scope=\"col\">separability</th><th scope=\"col\">kappa</th><th scope=\"col\">MM</th>"
        "<th scope=\"col\">PP</th><th scope=\"col\"></th></tr></thead>\n<tbody>");
    for (uint32_t v = 0; v < r->vibes && v < VQ_HTML_VIBES_MAX; v++) {
        preset_row(h, v);
    }
    vq_html_puts(h, "</tbody></table></div></details></section>\n");
}
