/* The page of VibeCheck: its sections in order, and those that are short: warnings, and the frame
 * of the row browser, whose rows the script renders out of the data block. Not its job: the writer
 * (methods/report/html). */
#include "common/base/alloc.h"
#include "methods/vibecheck/report/page_parts.h"
#include "methods/vibecheck/report/warnings.h"

void vq_html_model(struct vq_html *h, int model)
{
    vq_html_printf(h, "<span class=\"model %c\"><b>%c</b> <bdi>", model == 0 ? 'a' : 'b',
                   model == 0 ? 'A' : 'B');
    vq_html_text(h, h->page->r->config->models[model]);
    vq_html_puts(h, "</bdi></span>");
}

void vq_html_vibe(struct vq_html *h, uint32_t rank)
{
    uint32_t v = h->page->order[rank];
    bool linked = rank < VQ_HTML_VIBES_MAX;
    if (linked) {
        vq_html_printf(h, "<a href=\"#v%u\">", v + 1);
    }
    vq_html_puts(h, "<bdi>");
    vq_html_text(h, h->page->r->in->axes[v].name);
    vq_html_puts(h, linked ? "</bdi></a>" : "</bdi>");
}

static void warnings(struct vq_html *h)
{
    struct vq_warnings *list = NULL;
    if (vq_warnings_create(h->page->r, &list) != VQ_OK) {
        h->out->status = VQ_NOMEM;
        return;
    }
    if (list->count > 0) {
        vq_html_puts(h, "<section id=\"warnings\"><h2>Before you quote this</h2>\n"
                        "<ul class=\"warnings\">\n");
        for (uint32_t i = 0; i < list->count; i++) {
            vq_html_puts(h, "<li>");
            vq_html_span(h, vq_span_str(list->at[i].text), VQ_WARNING_BYTES_MAX);
            vq_html_puts(h, "</li>\n");
        }
        vq_html_puts(h, "</ul></section>\n");
    }
    vq_warnings_destroy(&list);
}

static void rows(struct vq_html *h)
{
    vq_html_puts(
        h, "<section id=\"rows\"><h2>Rows</h2>\n"
           "<p class=\"sub\">Prompts with both outputs, the vibes that fire on them, and what the "
           "judges "
           "wrote in both orders.</p>\n<noscript><p>Looking at rows needs scripts; the tables do "
           "not.</p></noscript>\n"
           "<div class=\"controls\" id=\"controls\" hidden>\n"
           "<label>Search <input id=\"search\" type=\"search\" placeholder=\"words in prompts, "
           "outputs, "
           "analyses\" autocomplete=\"off\"></label>\n"
           "<label>Vibe <select id=\"vibe\"></select></label>\n"
           "<label>Show <select id=\"kind\"></select></label>\n</div>\n"
           "<p id=\"found\" class=\"sub\" aria-live=\"polite\"></p>\n<div id=\"list\"></div>\n"
           "<p><button id=\"more\" type=\"button\" hidden>Show more</button></p>\n</section>\n");
    vq_html_data(h);
}

void vq_report_html(const struct vq_report_input *r, const struct vq_report_story *story,
                    struct vq_buf *out)
{
    static const struct vq_report_story nothing;
    uint32_t *order = vq_alloc(r->result->vibes, sizeof(*order));
    if (order == NULL) {
        out->status = VQ_NOMEM;
        return;
    }
    vq_report_order(r->result, order);
    const struct vq_vibes_page page = {.r = r,
                                       .story = story == NULL ? &nothing : story,
                                       .order = order,
                                       .test = !r->result->in_sample};
    struct vq_html h = {.out = out, .page = &page};
    bool ranks = r->result->ranking != NULL;
    const struct vq_span *script = ranks ? &vq_html_frame_js : &vq_html_js;
    vq_html_head(&h, script);
    for (uint32_t k = 0; k < VQ_MODELS_MAX && r->config->models[k] != NULL; k++) {
        vq_html_puts(&h, k == 0 ? "" : ranks ? ", " : " and ");
        vq_html_text(&h, r->config->models[k]);
    }
    vq_html_puts(&h, ": vibes");
    vq_html_head_end(&h);
    static void (*const sections[])(struct vq_html *) = {
        vq_html_headline, warnings,       vq_html_table,   vq_html_vibes,   rows,
        vq_html_judges,   vq_html_values, vq_html_overlap, vq_html_presets, vq_html_story,
        vq_html_methods};
    static void (*const of_rankings[])(struct vq_html *) = {
        vq_html_headline, warnings, vq_html_ranking, vq_html_story, vq_html_methods};
    for (size_t i = 0; !ranks && i < VQ_COUNT(sections); i++) {
        sections[i](&h);
    }
    for (size_t i = 0; ranks && i < VQ_COUNT(of_rankings); i++) {
        of_rankings[i](&h);
    }
    vq_html_foot(&h, script);
    vq_free(order);
}
