/* One fold a vibe: all its numbers, its labels by judge, where it came from, and the buttons that
 * show its examples. */
#include "methods/vibecheck/report/page_parts.h"

#include <math.h>

static void fact(struct vq_html *h, const char *what)
{
    vq_html_printf(h, "<dt>%s</dt><dd>", what);
}

static void both_splits(struct vq_html *h, const char *what, double train, double test,
                        bool with_sign)
{
    fact(h, what);
    if (with_sign) {
        vq_html_signed(h, train, 3);
    } else {
        vq_html_number(h, train, 3);
    }
    vq_html_puts(h, " train");
    if (h->page->test) {
        vq_html_puts(h, ", ");
        if (with_sign) {
            vq_html_signed(h, test, 3);
        } else {
            vq_html_number(h, test, 3);
        }
        vq_html_puts(h, " test");
    }
    vq_html_puts(h, "</dd>");
}

static void coefficient(struct vq_html *h, const char *what, double value, struct vq_interval ci,
                        const struct vq_firth_coef *firth, const struct vq_length_coef *held,
                        double mle, double se)
{
    if (isnan(value)) {
        return;
    }
    fact(h, what);
    vq_html_signed(h, value, 3);
    vq_html_puts(h, " ");
    vq_html_interval(h, ci, 3, true);
    if (!isnan(firth->value)) {
        vq_html_puts(h, "; Firth's estimate ");
        vq_html_signed(h, firth->value, 3);
        vq_html_puts(h, " ");
        vq_html_interval(h, firth->ci95, 3, true);
        vq_html_printf(h, ", p %.3g", firth->p);
    }
    if (!isnan(held->value)) {
        vq_html_puts(h, "; with length held fixed ");
        vq_html_signed(h, held->value, 3);
        vq_html_puts(h, " ");
        vq_html_interval(h, held->ci95, 3, true);
    }
    if (!isnan(mle)) {
        vq_html_puts(h, "; unregularised ");
        vq_html_signed(h, mle, 3);
        vq_html_puts(h, " (se ");
        vq_html_number(h, se, 3);
        vq_html_puts(h, ")");
    }
    vq_html_puts(h, "</dd>");
}

static void sign_flips(struct vq_html *h, const char *what, double p, double q)
{
    fact(h, what);
    if (isnan(p) || isnan(q)) {
        vq_html_puts(h, "<span class=\"na\">n/a</span></dd>");
    } else {
        vq_html_printf(h, "p %.3g, q %.3g%s</dd>", p, q,
                       q <= 0.05 ? "" : ": not distinguishable from 0");
    }
}

static void people(struct vq_html *h, const struct vq_people_metrics *m)
{
    if (m->separability.labelled == 0) {
        return;
    }
    fact(h, "Judges agree with people");
    vq_html_percent(h, m->agreement);
    vq_html_puts(h, " ");
    vq_html_interval(h, m->agreement_ci95, 2, false);
    vq_html_printf(h, " of %zu labelled rows</dd>", m->separability.labelled);
    fact(h, "Separability of people's labels");
    vq_html_signed(h, m->separability.mean, 3);
    vq_html_puts(h, " ");
    vq_html_interval(h, m->separability.ci95, 3, true);
    vq_html_puts(h, "</dd>");
}

static void facts(struct vq_html *h, uint32_t v)
{
    const struct vq_vibe_metrics *m = &h->page->r->result->vibe[v];
    vq_html_puts(h, "<dl class=\"facts\">");
    both_splits(h, "Separability", m->sep_train, m->sep_test, true);
    sign_flips(h, "Sign flips by prompt, train", m->p, m->q);
    if (!h->page->r->result->in_sample && m->kept) {
        sign_flips(h, "Sign flips by prompt, test", m->p_test, m->q_test);
    }
    double random = h->page->test ? m->sep_test_at_random : m->sep_train_at_random;
    if (!isnan(random)) {
        fact(h, "Separability if calls failed at random");
        vq_html_signed(h, random, 3);
        vq_html_puts(h, "</dd>");
    }
    if (m->missing_train + m->missing_test > 0 || m->bounds.lo < m->bounds.hi) {
        fact(h, "If all missing were A, or B");
        vq_html_interval(h, m->bounds, 3, true);
        vq_html_puts(h, "</dd>");
    }
    if (!isnan(m->pref_train)) {
        both_splits(h, "Alignment with preference", m->pref_train, m->pref_test, true);
    }
    if (h->page->r->config->judges_count > 1) {
        both_splits(h, "Kappa", m->train.kappa, m->test.kappa, false);
        both_splits(h, "Kappa, mirrored", m->train.kappa_mirrored, m->test.kappa_mirrored, false);
        both_splits(h, "Krippendorff alpha", m->train.alpha, m->test.alpha, false);
    }
    coefficient(h, "MM coefficient", m->mm_coef, m->mm_ci95, &m->mm_firth, &m->mm_length, m->mm_mle,
                m->mm_mle_se);
    coefficient(h, "PP coefficient", m->pp_coef, m->pp_ci95, &m->pp_firth, &m->pp_length, m->pp_mle,
                m->pp_mle_se);
    people(h, &m->people);
    vq_html_puts(h, "</dl>\n");
}

static void labels(struct vq_html *h, uint32_t v)
{
    static const char *const heads[] = {"A higher", "B higher",  "equal",      "N/A",   "unsure",
                                        "refused",  "truncated", "unreadable", "failed"};
    vq_html_puts(
        h, "<div class=\"scroll\"><table class=\"plain\"><thead><tr><th scope=\"col\">Judge</th>");
    for (size_t i = 0; i < VQ_COUNT(heads); i++) {
        vq_html_printf(h, "<th scope=\"col\">%s</th>", heads[i]);
    }
    vq_html_puts(h, "<th scope=\"col\">position bias</th></tr></thead><tbody>");
    for (uint32_t j = 0; j < h->page->r->config->judges_count; j++) {
        const struct vq_judge_metrics *m = &h->page->r->result->vibe[v].judges[j];
        const struct vq_label_counts *c = &m->labels;
        uint64_t counts[] = {c->a,       c->b,         c->equal,       c->na,    c->unsure,
                             c->refused, c->truncated, c->unparseable, c->failed};
        vq_html_puts(h, "<tr><th scope=\"row\"><bdi>");
        vq_html_text(h, h->page->r->judges[j].name);
        vq_html_puts(h, "</bdi></th>");
        for (size_t i = 0; i < VQ_COUNT(counts); i++) {
            vq_html_puts(h, counts[i] == 0 ? "<td class=\"nil\">" : "<td>");
            vq_html_count(h, counts[i]);
            vq_html_puts(h, "</td>");
        }
        vq_html_puts(h, "<td>");
        vq_html_percent(h, m->position_bias_rate);
        vq_html_puts(h, "</td></tr>");
    }
    vq_html_puts(h, "</tbody></table></div>\n");
}

static void provenance(struct vq_html *h, uint32_t v)
{
    const struct vq_method_result *m = h->page->story->method;
    if (m == NULL) {
        return;
    }
    const struct vq_provenance *p = &m->provenance[v];
    if (p->proposals_count > 0) {
        vq_html_printf(h, "<p>Found in iteration %u; %u proposal%s behind it, from batches",
                       p->iteration + 1, p->proposals_count,
                       vq_fmt_form(p->proposals_count, " stands", "s stand"));
        for (uint32_t i = 0; i < p->proposals_count && i < 12; i++) {
            const struct vq_proposal *from = &m->proposals[p->proposals[i]];
            vq_html_printf(h, "%s %u.%u", i > 0 ? "," : "", from->iteration + 1, from->batch + 1);
        }
        vq_html_puts(h, p->proposals_count > 12 ? " and others.</p>\n" : ".</p>\n");
    }
    if (m->question_types != NULL && m->question_types[v] != NULL) {
        vq_html_puts(h, "<p>Shows on: <bdi>");
        vq_html_text(h, m->question_types[v]);
        vq_html_puts(h, "</bdi></p>\n");
    }
}

static void one(struct vq_html *h, uint32_t rank)
{
    uint32_t v = h->page->order[rank];
    const struct vq_axis *axis = &h->page->r->in->axes[v];
    vq_html_printf(h, "<details class=\"vibe\" id=\"v%u\"><summary><bdi>", v + 1);
    vq_html_text(h, axis->name);
    vq_html_puts(h, "</bdi>");
    if (!h->page->r->result->vibe[v].kept) {
        vq_html_puts(h, " <span class=\"mark\">dropped: ");
        vq_html_drop_reason(h, v);
        vq_html_puts(h, "</span>");
    }
    vq_html_puts(h, "</summary>\n<dl class=\"facts poles2\"><dt>Low</dt><dd><bdi>");
    vq_html_text(h, axis->low);
    vq_html_puts(h, "</bdi></dd><dt>High</dt><dd><bdi>");
    vq_html_text(h, axis->high);
    vq_html_puts(h, "</bdi></dd></dl>\n");
    provenance(h, v);
    vq_html_printf(h, "<p class=\"look\" data-vibe=\"%u\" hidden></p>\n", rank);
    facts(h, v);
    labels(h, v);
    vq_html_puts(h, "</details>\n");
}

void vq_html_vibes(struct vq_html *h)
{
    uint32_t n = h->page->r->result->vibes;
    vq_html_puts(
        h, "<section id=\"details\"><h2>Each vibe</h2>\n<p class=\"sub\">Labels are those of the "
           "order asked first. Position bias: the share of cells where both orders name the "
           "same position.</p>\n");
    for (uint32_t i = 0; i < n && i < VQ_HTML_VIBES_MAX; i++) {
        one(h, i);
    }
    if (n > VQ_HTML_VIBES_MAX) {
        vq_html_printf(h, "<p>%u further vibes are in results.json.</p>\n", n - VQ_HTML_VIBES_MAX);
    }
    vq_html_puts(h, "</section>\n");
}
