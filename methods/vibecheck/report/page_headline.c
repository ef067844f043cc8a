/* What a reader sees first: who is compared, in one sentence how they differ, how well the vibes
 * tell them apart and predict what people prefer, and what that took. */
#include "methods/vibecheck/report/page_parts.h"

#include "common/text/fmt.h"
#include "methods/stats/intervals/proportions.h"
#include "methods/vibecheck/numbers/ranking.h"

#include <math.h>

#define SAID_MAX 3 /* vibes named in the first sentence, on each side */

double vq_html_separability(const struct vq_html *h, uint32_t vibe, struct vq_interval *ret_ci)
{
    const struct vq_vibe_metrics *m = &h->page->r->result->vibe[vibe];
    if (ret_ci != NULL) {
        *ret_ci = h->page->test ? m->sep_ci95_test : m->sep_ci95_train;
    }
    return h->page->test ? m->sep_test : m->sep_train;
}

const struct vq_agreement_pair *vq_html_agreement(const struct vq_html *h, uint32_t vibe)
{
    const struct vq_vibe_metrics *m = &h->page->r->result->vibe[vibe];
    return h->page->test ? &m->test : &m->train;
}

/* "A is higher on x, y" over the kept vibes of one sign that are distinguishable. Returns how
 * many. */
static uint32_t higher_on(struct vq_html *h, bool a, bool write)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->page->r->result->kept_count && n < SAID_MAX; i++) {
        uint32_t v = h->page->order[i];
        double sep = vq_html_separability(h, v, NULL);
        if (isnan(sep) || sep == 0 || (sep > 0) != a ||
            !h->page->r->result->vibe[v].distinguishable) {
            continue;
        }
        if (write) {
            vq_html_puts(h, n > 0 ? ", " : "");
            vq_html_vibe(h, i);
        }
        n++;
    }
    return n;
}

static void sentence(struct vq_html *h)
{
    bool a = higher_on(h, true, false) > 0, b = higher_on(h, false, false) > 0;
    vq_html_puts(h, "<p class=\"lede\">");
    if (!a && !b) {
        vq_html_puts(h,
                     h->page->r->result->kept_count == 0
                         ? "No vibe passed the gates: nothing was found that tells the two apart."
                         : "No kept vibe is distinguishable from zero.");
    }
    if (a) {
        vq_html_model(h, 0);
        vq_html_puts(h, " is higher on ");
        (void)higher_on(h, true, true);
        vq_html_puts(h, b ? "; " : ".");
    }
    if (b) {
        vq_html_model(h, 1);
        vq_html_puts(h, a ? " on " : " is higher on ");
        (void)higher_on(h, false, true);
        vq_html_puts(h, ".");
    }
    vq_html_puts(h, "</p>\n");
}

static void accuracy(struct vq_html *h, const char *title, const char *meaning,
                     const struct vq_fit_metrics *m, double baseline)
{
    vq_html_printf(h, "<div class=\"card wide\"><h3>%s</h3>", title);
    double value = h->page->test ? m->accuracy_test : m->accuracy_train;
    if (m->status == VQ_FIT_NO_ROWS || m->status == VQ_FIT_NO_LABELS || isnan(value)) {
        vq_html_printf(h, "<p class=\"big na\">n/a</p><p>%s</p></div>\n",
                       m->status == VQ_FIT_NO_LABELS ? "The rows carry no preference."
                                                     : "There are no rows to judge it on.");
        return;
    }
    struct vq_interval none = {NAN, NAN};
    struct vq_interval ci = h->page->test && m->status == VQ_FIT_OK ? m->accuracy_test_ci95 : none;
    vq_html_puts(h, "<p class=\"big\">");
    vq_html_percent(h, value);
    vq_html_puts(h, "</p>");
    vq_html_scale(h, value, ci, baseline);
    vq_html_puts(h, "<p>");
    if (m->status == VQ_FIT_NO_VIBES) {
        vq_html_puts(h, "No vibe was kept: this is guessing.");
    } else if (h->page->test) {
        vq_html_puts(h, "95\xe2\x80\xaf% interval ");
        vq_html_percent(h, ci.lo);
        vq_html_puts(h, " to ");
        vq_html_percent(h, ci.hi);
        vq_html_puts(h, "; on train ");
        vq_html_percent(h, m->accuracy_train);
    } else {
        vq_html_puts(h, "in-sample: there is no test split");
    }
    vq_html_puts(h, "; baseline ");
    vq_html_percent(h, baseline);
    vq_html_printf(h, ".</p><p class=\"hint\">%s</p></div>\n", meaning);
}

static void win_rate(struct vq_html *h)
{
    const uint32_t(*p)[4] = h->page->r->dataset->preferred;
    uint64_t b = (uint64_t)p[0][0] + p[1][0];
    uint64_t ties = (uint64_t)p[0][1] + p[1][1] + h->page->r->dataset->excluded[VQ_EXCLUDED_TIE];
    uint64_t a = (uint64_t)p[0][2] + p[1][2];
    const struct vq_method_result *method = h->page->story->method;
    bool judged = method != NULL && strcmp(method->preference_source, "judge") == 0;
    if (judged) {
        a = b = ties = 0;
        for (uint32_t i = 0; i < h->page->r->result->samples; i++) {
            int8_t preference = method->rows[i].preference;
            *(preference > 0 ? &a : preference < 0 ? &b : &ties) += 1;
        }
    }
    if (a + b == 0) {
        return;
    }
    double n = (double)(a + b);
    struct vq_interval ci = vq_proportion_interval(VQ_PROPORTION_WILSON, (double)a, n, 0.95);
    vq_html_card(h, "A preferred");
    vq_html_percent(h, (double)a / n);
    vq_html_puts(h, "</p><p>95\xe2\x80\xaf% interval ");
    vq_html_percent(h, ci.lo);
    vq_html_puts(h, " to ");
    vq_html_percent(h, ci.hi);
    vq_html_puts(h, ", ");
    vq_html_count(h, a);
    vq_html_puts(h, " to ");
    vq_html_count(h, b);
    vq_html_puts(h, "; ");
    vq_html_count(h, ties);
    vq_html_printf(h, " %s left out%s.</p></div>\n", judged ? "without a clear preference" : "ties",
                   judged ? "; preferences are the judges'" : "");
}

static void judges_card(struct vq_html *h)
{
    vq_html_card(h, "Judges");
    vq_html_count(h, h->page->r->config->judges_count);
    vq_html_puts(h, "</p><p>");
    for (uint32_t i = 0; i < h->page->r->config->judges_count; i++) {
        vq_html_puts(h, i > 0 ? ", <bdi>" : "<bdi>");
        vq_html_text(h, h->page->r->judges[i].name);
        vq_html_puts(h, "</bdi>");
    }
    vq_html_puts(h, "</p></div>\n");
}

/* Questions that have no answer because their calls failed, retries included. */
static uint64_t failed_for_good(const struct vq_report_input *r)
{
    uint64_t n = 0;
    for (uint32_t v = 0; v < r->result->vibes; v++) {
        for (uint32_t j = 0; j < r->result->judges; j++) {
            n += r->result->vibe[v].judges[j].labels.failed;
        }
    }
    return n;
}

static void banner(struct vq_html *h)
{
    if (strcmp(h->page->r->judge_kind, "model") != 0) {
        vq_html_puts(
            h, "<p class=\"banner\" role=\"note\"><b>Made with the offline judge.</b> It needs "
               "no model and knows none: this page shows that the plumbing works, not how "
               "the models differ.</p>\n");
    }
}

static void top(struct vq_html *h)
{
    vq_html_puts(h, "<main>\n<header class=\"top\"><p class=\"brand\">vibeq report</p>"
                    "<button id=\"theme\" type=\"button\" hidden>Dark</button></header>\n<h1>");
    bool ranks = h->page->r->result->ranking != NULL;
    if (ranks) {
        vq_html_ranking_title(h);
    } else {
        vq_html_model(h, 0);
        vq_html_puts(h, " <span class=\"vs\">and</span> ");
        vq_html_model(h, 1);
    }
    vq_html_puts(h, "</h1>\n");
    banner(h);
    if (ranks) {
        vq_html_ranking_sentence(h);
    } else {
        sentence(h);
    }
    vq_html_puts(h, "<nav id=\"contents\" aria-label=\"Contents\" hidden></nav>\n");
}

void vq_html_headline(struct vq_html *h)
{
    const struct vq_ranking *ranking = h->page->r->result->ranking;
    top(h);
    vq_html_puts(h, "<section id=\"headline\" class=\"cards\" aria-label=\"In numbers\">\n");
    accuracy(h, "Model matching (MM)",
             "How often the vibes tell which model wrote which output. The line marks guessing.",
             &h->page->r->result->mm, ranking == NULL ? 0.5 : ranking->mm_chance);
    accuracy(h, "Preference prediction (PP)",
             ranking == NULL
                 ? "How often they tell which output is preferred. The line marks always naming "
                   "the model that is preferred more often in train."
                 : "How often they tell which of two outputs is preferred. The line marks always "
                   "naming the one of the two whose model is preferred more often in train.",
             &h->page->r->result->pp, h->page->r->result->pp.majority_baseline);
    vq_html_card(h, "Rows");
    vq_html_count(h, vq_dataset_count(h->page->r->dataset));
    vq_html_puts(h, "</p><p>");
    vq_html_count(h, h->page->r->dataset->train_count);
    vq_html_puts(h, " train, ");
    vq_html_count(h, h->page->r->dataset->test_count);
    vq_html_puts(h, " test</p></div>\n");
    if (ranking == NULL) {
        win_rate(h);
    }
    judges_card(h);
    const struct vq_html_lost lost = {failed_for_good(h->page->r),
                                      h->page->r->config->judging.truncate};
    vq_html_calls(h, h->page->story->calls, &lost);
    vq_html_puts(h, "</section>\n");
}
