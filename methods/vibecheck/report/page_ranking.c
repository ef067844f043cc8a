/* The sections of a run over more than two models: the first sentence, the matrix of models and
 * vibes, and each vibe with what it is. A column of the matrix is a vibe, a row a model; a click on
 * a head sorts by it. The script only sorts: the page reads without one. */
#include "methods/vibecheck/report/page_parts.h"
#include "methods/vibecheck/report/ranking.h"

#include <math.h>

#define SAID_MAX   3u  /* vibes named in the first sentence */
#define FULL_COLOR 2.0 /* log strength of the strongest colour */

static void model_name(struct vq_html *h, uint32_t model)
{
    vq_html_puts(h, "<bdi>");
    vq_html_text(h, h->page->r->config->models[model]);
    vq_html_puts(h, "</bdi>");
}

static void vibe_name(struct vq_html *h, uint32_t vibe)
{
    vq_html_puts(h, "<bdi>");
    vq_html_text(h, h->page->r->in->axes[vibe].name);
    vq_html_puts(h, "</bdi>");
}

void vq_html_ranking_title(struct vq_html *h)
{
    for (uint32_t k = 0; k < h->page->r->config->models_count; k++) {
        vq_html_puts(h, k > 0 ? ", " : "");
        model_name(h, k);
    }
}

void vq_html_ranking_sentence(struct vq_html *h)
{
    const struct vq_ranking *ranking = h->page->r->result->ranking;
    uint32_t said = 0, order[VQ_MODELS_MAX];
    vq_html_puts(h, "<p class=\"lede\">");
    for (uint32_t i = 0; i < h->page->r->result->kept_count && said < SAID_MAX; i++) {
        uint32_t v = h->page->order[i];
        vq_ranking_order(ranking, v, order);
        if (!vq_ranking_apart(ranking, v, order[0], order[ranking->models - 1])) {
            continue;
        }
        vq_html_puts(h, said++ > 0 ? "; on <b>" : "On <b>");
        vibe_name(h, v);
        vq_html_puts(h, "</b> ");
        model_name(h, order[0]);
        vq_html_puts(h, " is highest and ");
        model_name(h, order[ranking->models - 1]);
        vq_html_puts(h, " lowest");
    }
    vq_html_puts(h, said > 0 ? ".</p>\n"
                    : h->page->r->result->kept_count == 0
                        ? "No vibe passed the gates: nothing was found that tells the models "
                          "apart.</p>\n"
                        : "On no kept vibe are two models apart beyond chance.</p>\n");
}

static void head_cell(struct vq_html *h)
{
    vq_html_puts(h, "<th scope=\"col\"><button type=\"button\">");
}

static void matrix_cell(struct vq_html *h, uint32_t v, uint32_t k)
{
    const struct vq_ranking_model *m = &h->page->r->result->ranking->vibe[v].model[k];
    vq_html_puts(h, "<td ");
    vq_html_heat(h, isnan(m->strength) ? 0 : m->strength / FULL_COLOR);
    vq_html_printf(h, " num\" data-value=\"%.9g\"><span>", isnan(m->strength) ? -1e9 : m->strength);
    if (isnan(m->strength)) {
        vq_html_puts(h, "<span class=\"na\">n/a</span></span></td>");
        return;
    }
    vq_html_printf(h, "<b>%u</b> <span class=\"value\">", m->place.rank);
    vq_html_signed(h, m->strength, 2);
    vq_html_puts(h, "</span> <span class=\"ci95\">");
    vq_html_interval(h, m->place.ci95, 2, true);
    if (m->place.rank_from < m->place.rank_to) {
        vq_html_printf(h, " rank %u to %u", m->place.rank_from, m->place.rank_to);
    }
    vq_html_puts(h, "</span></span></td>");
}

static void matrix(struct vq_html *h)
{
    const struct vq_vibecheck *r = h->page->r->result;
    vq_html_puts(h, "<div class=\"scroll\"><table id=\"matrix\" class=\"plain parts sortable\">\n"
                    "<thead><tr>");
    head_cell(h);
    vq_html_puts(h, "model</button></th>");
    for (uint32_t i = 0; i < r->kept_count && i < VQ_HTML_VIBES_MAX; i++) {
        head_cell(h);
        vibe_name(h, h->page->order[i]);
        vq_html_puts(h, "</button></th>");
    }
    vq_html_puts(h, "</tr></thead>\n<tbody>\n");
    for (uint32_t k = 0; k < r->ranking->models; k++) {
        vq_html_printf(h, "<tr><th scope=\"row\" data-value=\"%u\">", k);
        model_name(h, k);
        vq_html_puts(h, "</th>");
        for (uint32_t i = 0; i < r->kept_count && i < VQ_HTML_VIBES_MAX; i++) {
            matrix_cell(h, h->page->order[i], k);
        }
        vq_html_puts(h, "</tr>\n");
    }
    vq_html_puts(h, "</tbody></table></div>\n");
}

static void chain(struct vq_html *h, uint32_t v)
{
    const struct vq_ranking *ranking = h->page->r->result->ranking;
    uint32_t order[VQ_MODELS_MAX];
    vq_ranking_order(ranking, v, order);
    for (uint32_t k = 0; k < ranking->models; k++) {
        if (k > 0) {
            vq_html_puts(h,
                         vq_ranking_apart(ranking, v, order[k - 1], order[k]) ? " &gt; " : " ~ ");
        }
        model_name(h, order[k]);
    }
}

static void number_cell(struct vq_html *h, double value, int digits)
{
    vq_html_printf(h, "<td class=\"num\" data-value=\"%.9g\">", isnan(value) ? -1e9 : value);
    vq_html_number(h, value, digits);
    vq_html_puts(h, "</td>");
}

static void vibe_row(struct vq_html *h, uint32_t rank)
{
    uint32_t v = h->page->order[rank];
    const struct vq_vibe_metrics *m = &h->page->r->result->vibe[v];
    const struct vq_ranking_vibe *vibe = &h->page->r->result->ranking->vibe[v];
    vq_html_printf(h, "<tr id=\"v%u\"><th scope=\"row\" data-value=\"%u\">", v + 1, rank);
    vibe_name(h, v);
    if (!m->distinguishable) {
        vq_html_puts(h, " <span class=\"mark\" title=\"q above 0.05\">no difference shown</span>");
    }
    if (vibe->status != VQ_DAVIDSON_OK) {
        vq_html_printf(h, " <span class=\"mark\">%s</span>", vq_davidson_status_name(vibe->status));
    }
    vq_html_puts(h, "<span class=\"poles\"><bdi>");
    vq_html_text(h, h->page->r->in->axes[v].low);
    vq_html_puts(h, "</bdi> <span class=\"arrow\">\xe2\x86\x92</span> <bdi>");
    vq_html_text(h, h->page->r->in->axes[v].high);
    vq_html_puts(h, "</bdi></span><span class=\"poles\">");
    chain(h, v);
    vq_html_puts(h, "</span></th>");
    number_cell(h, h->page->test ? m->sep_test : m->sep_train, 2);
    number_cell(h, h->page->test ? m->q_test : m->q, 3);
    number_cell(h, vibe->tie_share, 2);
    number_cell(h, vq_html_agreement(h, v)->kappa, 2);
    number_cell(h, isnan(m->pp_firth.value) ? m->pp_coef : m->pp_firth.value, 2);
    vq_html_puts(h, "</tr>\n");
}

static void dropped_item(struct vq_html *h, uint32_t rank)
{
    vq_html_printf(h, "<li id=\"v%u\">", h->page->order[rank] + 1);
    vibe_name(h, h->page->order[rank]);
    vq_html_puts(h, ": ");
    vq_html_drop_reason(h, h->page->order[rank]);
    vq_html_puts(h, "</li>\n");
}

void vq_html_ranking(struct vq_html *h)
{
    static const char *const columns[] = {"Vibe", "Spread", "q", "Ties", "Kappa", "PP"};
    const struct vq_vibecheck *r = h->page->r->result;
    vq_html_printf(
        h,
        "<section id=\"models\"><h2>Models and vibes</h2>\n<p class=\"sub\">Rank and log "
        "strength of each model on each kept vibe, on the %s rows, with 95\xe2\x80\xaf%% "
        "intervals over prompts. A difference of strengths is the log odds that one "
        "model's output is the higher one. Click a vibe to sort by it.</p>\n",
        h->page->test ? "test" : "train");
    if (r->kept_count > 0) {
        matrix(h);
    }
    vq_html_printf(
        h,
        "</section>\n<section id=\"vibes\"><h2>Vibes</h2>\n<p class=\"sub\">%u of %u "
        "passed the gates. Spread: half the distance between the highest and the lowest "
        "mean score of a model. q: that no model differs. &gt; stands between models that "
        "are apart beyond chance.</p>\n",
        r->kept_count, r->vibes);
    if (r->kept_count > 0) {
        vq_html_puts(h, "<table id=\"table\" class=\"plain sortable\">\n<thead><tr>");
        for (size_t i = 0; i < VQ_COUNT(columns); i++) {
            head_cell(h);
            vq_html_printf(h, "%s</button></th>", columns[i]);
        }
        vq_html_puts(h, "</tr></thead>\n<tbody>\n");
        for (uint32_t i = 0; i < r->kept_count; i++) {
            vibe_row(h, i);
        }
        vq_html_puts(h, "</tbody></table>\n");
    }
    vq_html_dropped(h, dropped_item);
    vq_html_puts(h, "</section>\n");
}
