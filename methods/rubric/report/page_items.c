/* The browser of a rubric page: rows with their outputs, ratings and the judges' reasoning, folded.
 * As many as a page can hold: the rows where judges or repeats disagree most come first, since they
 * are what one looks for; ratings.csv has all.
 *
 * For the script (items.js) a rating says its criterion (data-c) and its value (data-v: A or B for
 * the output, then 4, yes, or of a pair A or B; without one there is none), an item the criteria
 * that its ratings differ on (data-differ). All of these are ours, never text. */
#include "common/base/alloc.h"
#include "methods/rubric/report/page_parts.h"

#include <math.h>
#include <stdlib.h>

#define ITEMS_MAX       2000u
#define ITEMS_BYTES_MAX ((size_t)12 << 20)

struct item {
    uint32_t row;
    double spread; /* of the ratings of one output on one criterion, at most */
};

static const struct vq_rubric_reading *reading(const struct vq_rubric_page *p,
                                               const struct vq_rubric_place *at)
{
    return &p->r->readings[vq_rubric_slot(p->r->rubric, at)];
}

static double full_range(enum vq_rating_kind kind)
{
    return kind == VQ_RATING_LIKERT ? VQ_RATING_LIKERT_MAX - VQ_RATING_LIKERT_MIN : 1;
}

/* Between the lowest and the highest rating of one output, as a share of the range. */
static double spread_of(const struct vq_rubric_page *p, struct vq_rubric_place at)
{
    double lo = INFINITY, hi = -INFINITY;
    enum vq_rating_kind kind = p->in->criteria[at.criterion].kind;
    for (at.judge = 0; at.judge < p->in->judges_count; at.judge++) {
        for (at.repeat = 0; at.repeat < p->in->rating.repeats; at.repeat++) {
            for (at.order = 0; at.order < 2; at.order++) {
                double value = reading(p, &at)->value;
                lo = value < lo ? value : lo;
                hi = value > hi ? value : hi;
            }
        }
    }
    return hi > lo ? (hi - lo) / full_range(kind) : 0;
}

static int by_spread(const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;
    int c = (x->spread < y->spread) - (x->spread > y->spread);
    return c != 0 ? c : (x->row > y->row) - (x->row < y->row);
}

/* Of its outputs, on one criterion, at most. */
static double criterion_spread(const struct vq_rubric_page *p, uint32_t row, uint32_t criterion)
{
    double spread = 0;
    struct vq_rubric_place at = {.row = row, .criterion = criterion};
    for (; at.output < vq_rubric_rated_outputs(p->in, criterion); at.output++) {
        spread = fmax(spread, spread_of(p, at));
    }
    return spread;
}

static struct item *choose(const struct vq_rubric_page *p)
{
    struct item *items = vq_alloc(p->in->rows_count, sizeof(*items));
    for (uint32_t row = 0; items != NULL && row < p->in->rows_count; row++) {
        items[row].row = row;
        for (uint32_t c = 0; c < p->in->criteria_count; c++) {
            items[row].spread = fmax(items[row].spread, criterion_spread(p, row, c));
        }
    }
    if (items != NULL) {
        qsort(items, p->in->rows_count, sizeof(*items), by_spread);
    }
    return items;
}

/* The opening of a rating's element. */
static void rating_begin(struct vq_rubric_page *p, const struct vq_rubric_place *at, double value)
{
    static const char *const sides[] = {" a", " b"};
    enum vq_rating_kind kind = p->in->criteria[at->criterion].kind;
    bool sided = kind != VQ_RATING_PAIRWISE && p->in->outputs_count > 1;
    vq_html_printf(&p->h, "<div class=\"answer%s\" data-c=\"%u\"",
                   sided ? sides[at->output == 0 ? 0 : 1] : "", at->criterion);
    if (!isnan(value)) {
        vq_html_printf(&p->h, " data-v=\"%c", at->output == 0 ? 'A' : 'B');
        switch (kind) {
        case VQ_RATING_LIKERT: vq_html_printf(&p->h, "%.0f\"", value); break;
        case VQ_RATING_BINARY: vq_html_puts(&p->h, value > 0 ? "yes\"" : "no\""); break;
        case VQ_RATING_PAIRWISE: vq_html_puts(&p->h, value > 0.5 ? "A\"" : "B\""); break;
        }
    }
    vq_html_puts(&p->h, "><h4><bdi>");
}

static void rating(struct vq_rubric_page *p, const struct vq_rubric_place *at)
{
    struct vq_html *h = &p->h;
    const struct vq_rubric_reading *r = reading(p, at);
    bool pairwise = p->in->criteria[at->criterion].kind == VQ_RATING_PAIRWISE;
    struct vq_span text;
    struct vq_buf value;
    if (r->status == VQ_RUBRIC_NOT_ASKED) {
        return;
    }
    rating_begin(p, at, r->value);
    vq_html_text(h, p->in->criteria[at->criterion].name);
    vq_html_puts(h, "</bdi>, <bdi>");
    vq_html_text(h, p->r->judges[at->judge].name);
    vq_html_puts(h, "</bdi>");
    if (p->in->rating.repeats > 1) {
        vq_html_printf(h, ", time %u", at->repeat + 1);
    }
    if (pairwise) {
        vq_html_puts(h, ", shown first: ");
        vq_rubric_page_output(p, at->order);
    } else if (p->in->outputs_count > 1) {
        vq_html_puts(h, " on ");
        vq_rubric_page_output(p, at->output);
    }
    vq_buf_init(&value, VQ_NAME_BYTES_MAX * 2);
    vq_rubric_value_text(p->r, at->criterion, r->value, &value);
    vq_html_puts(h, ": ");
    if (value.bytes > 0) {
        vq_html_puts(h, "<span class=\"value\">");
        vq_html_span(h, vq_buf_span(&value), VQ_HTML_NAME_BYTES_MAX);
        vq_html_puts(h, "</span>");
    }
    vq_buf_free(&value);
    if (r->status != VQ_RATING_OK) {
        vq_html_printf(h, " <b class=\"wrong\">%s</b>", vq_rubric_status_name(r->status));
    }
    vq_html_puts(h, "</h4>");
    if (p->r->reasoning != NULL && p->r->reasoning(p->r->reasoning_ctx, at, &text)) {
        vq_html_answer(h, text);
    }
    vq_html_puts(h, "</div>\n");
}

static void ratings(struct vq_rubric_page *p, uint32_t row)
{
    struct vq_rubric_place at = {.row = row};
    vq_html_puts(&p->h, "<div class=\"answers\">\n");
    for (at.criterion = 0; at.criterion < p->in->criteria_count; at.criterion++) {
        uint32_t outputs = vq_rubric_rated_outputs(p->in, at.criterion);
        for (at.output = 0; at.output < outputs; at.output++) {
            for (at.judge = 0; at.judge < p->in->judges_count; at.judge++) {
                for (at.repeat = 0; at.repeat < p->in->rating.repeats; at.repeat++) {
                    for (at.order = 0; at.order < 2; at.order++) {
                        rating(p, &at);
                    }
                }
            }
        }
    }
    vq_html_puts(&p->h, "</div>\n");
}

static void differing(struct vq_rubric_page *p, const struct item *item)
{
    const char *before = " data-differ=\"";
    for (uint32_t c = 0; item->spread > 0 && c < p->in->criteria_count; c++) {
        if (criterion_spread(p, item->row, c) > 0) {
            vq_html_printf(&p->h, "%s%u", before, c);
            before = " ";
        }
    }
    vq_html_puts(&p->h, item->spread > 0 ? "\"" : "");
}

static void image(struct vq_html *h, struct vq_span image)
{
    if (image.bytes == 0) {
        return;
    }
    bool shown = vq_html_shows(image);
    vq_html_puts(h, shown ? "<img class=\"thumb\" alt=\"The image of this item\" src=\""
                          : "<p class=\"sub\">");
    vq_html_span(h, shown ? image : vq_html_image_words(image), VQ_HTML_IMAGE_BYTES_MAX);
    vq_html_puts(h, shown ? "\">" : "</p>");
}

static void one(struct vq_rubric_page *p, const struct item *item)
{
    struct vq_html *h = &p->h;
    const struct vq_rubric_row *row = &p->in->rows[item->row];
    vq_html_puts(h, "<details class=\"row\"");
    differing(p, item);
    vq_html_printf(h, "><summary>Item %u: <bdi>", row->record);
    vq_html_span(h, row->prompt, 160);
    vq_html_puts(h, "</bdi>");
    if (item->spread > 0) {
        vq_html_puts(h, " <span class=\"mark\">ratings differ</span>");
    }
    vq_html_puts(h, "</summary>\n<h3>Prompt</h3>");
    image(h, row->image);
    vq_html_puts(h, "<p class=\"text\">");
    vq_html_span(h, row->prompt, VQ_HTML_TEXT_BYTES_MAX);
    vq_html_puts(h, p->in->outputs_count > 1 ? "</p>\n<div class=\"pair\">" : "</p>\n<div>");
    for (uint32_t o = 0; o < p->in->outputs_count; o++) {
        vq_html_printf(h, "<div class=\"side%s\"><h3>",
                       p->in->outputs_count == 1 ? ""
                       : o == 0                  ? " a"
                                                 : " b");
        vq_rubric_page_output(p, o);
        vq_html_puts(h, "</h3><p class=\"text\">");
        vq_html_span(h, row->outputs[o], VQ_HTML_TEXT_BYTES_MAX);
        vq_html_puts(h, "</p></div>");
    }
    vq_html_puts(h, "</div>\n");
    ratings(p, item->row);
    vq_html_puts(h, "</details>\n");
}

static void controls(struct vq_rubric_page *p)
{
    struct vq_html *h = &p->h;
    vq_html_puts(h, "<div class=\"controls\" id=\"controls\" hidden>\n<label>Search <input "
                    "id=\"search\" type=\"search\" placeholder=\"words in prompts, outputs, "
                    "reasoning\" autocomplete=\"off\"></label>\n<label>Criterion <select "
                    "id=\"criterion\"><option value=\"-1\">any</option>");
    for (uint32_t c = 0; c < p->in->criteria_count; c++) {
        vq_html_printf(h, "<option value=\"%u\" data-kind=\"%s\">", c,
                       vq_criterion_kind_name(p->in->criteria[c].kind));
        vq_html_text(h, p->in->criteria[c].name);
        vq_html_puts(h, "</option>");
    }
    vq_html_puts(h, "</select></label>\n<label>Rating <select id=\"rating\"></select></label>\n"
                    "<label>Show <select id=\"show\"><option value=\"all\">all items</option>"
                    "<option value=\"differ\">ratings differ</option>"
                    "<option value=\"missing\">a rating is missing</option></select></label>\n"
                    "</div>\n<p id=\"found\" class=\"sub\" aria-live=\"polite\"></p>\n");
    vq_html_printf(h, "<div id=\"list\" data-rows=\"%u\" data-outputs=\"%u\">\n", p->in->rows_count,
                   p->in->outputs_count);
}

void vq_rubric_page_items(struct vq_rubric_page *p)
{
    struct vq_html *h = &p->h;
    struct item *items = choose(p);
    if (items == NULL) {
        h->out->status = VQ_NOMEM;
        return;
    }
    size_t begin = h->out->bytes;
    uint32_t shown = 0;
    vq_html_puts(h,
                 "<section id=\"rows\"><h2>Items</h2>\n<p class=\"sub\">Each with its ratings and "
                 "what the judges wrote; those whose ratings differ most come first.</p>\n");
    controls(p);
    while (shown < p->in->rows_count && shown < ITEMS_MAX &&
           h->out->bytes - begin < ITEMS_BYTES_MAX) {
        one(p, &items[shown++]);
    }
    vq_html_puts(h,
                 "</div>\n<p><button id=\"more\" type=\"button\" hidden>Show more</button></p>\n");
    if (shown < p->in->rows_count) {
        vq_html_puts(h, "<p class=\"hint\">And ");
        vq_html_count(h, p->in->rows_count - shown);
        vq_html_puts(h, " more, all in <code>ratings.csv</code>.</p>\n");
    }
    vq_html_puts(h, "</section>\n");
    vq_free(items);
}
