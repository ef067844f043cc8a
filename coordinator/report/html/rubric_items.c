/* The browser of a rubric page: rows with their outputs, ratings and the judges' reasoning, folded. As many as a page can hold: the rows
 * where judges or repeats disagree most come first, since they are what one looks for; ratings.csv has all. */
#include "common/base/alloc.h"
#include "coordinator/report/html/rubric_parts.h"

#include <math.h>
#include <stdlib.h>

#define ITEMS_MAX       300u
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

static struct item *choose(const struct vq_rubric_page *p)
{
    struct item *items = vq_alloc(p->in->rows_count, sizeof(*items));
    for (uint32_t row = 0; items != NULL && row < p->in->rows_count; row++) {
        items[row].row = row;
        struct vq_rubric_place at = {.row = row};
        for (at.criterion = 0; at.criterion < p->in->criteria_count; at.criterion++) {
            for (at.output = 0; at.output < vq_rubric_rated_outputs(p->in, at.criterion);
                 at.output++) {
                items[row].spread = fmax(items[row].spread, spread_of(p, at));
            }
        }
    }
    if (items != NULL) {
        qsort(items, p->in->rows_count, sizeof(*items), by_spread);
    }
    return items;
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
    vq_html_printf(h, "<div class=\"answer%s\"><h4><bdi>",
                   pairwise || p->in->outputs_count == 1 ? ""
                   : at->output == 0                     ? " a"
                                                         : " b");
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
        vq_html_puts(h, "<p class=\"text\">");
        vq_html_span(h, text, VQ_HTML_ANSWER_BYTES_MAX);
        vq_html_puts(h, "</p>");
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

static void one(struct vq_rubric_page *p, const struct item *item)
{
    struct vq_html *h = &p->h;
    const struct vq_rubric_row *row = &p->in->rows[item->row];
    vq_html_printf(h, "<details class=\"row\"><summary>Item %u: <bdi>", row->record);
    vq_html_span(h, row->prompt, 160);
    vq_html_puts(h, "</bdi>");
    if (item->spread > 0) {
        vq_html_puts(h, " <span class=\"mark\">ratings differ</span>");
    }
    vq_html_puts(h, "</summary>\n<h3>Prompt</h3><p class=\"text\">");
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
    while (shown < p->in->rows_count && shown < ITEMS_MAX &&
           h->out->bytes - begin < ITEMS_BYTES_MAX) {
        one(p, &items[shown++]);
    }
    if (shown < p->in->rows_count) {
        vq_html_puts(h, "<p class=\"hint\">And ");
        vq_html_count(h, p->in->rows_count - shown);
        vq_html_puts(h, " more, all in <code>ratings.csv</code>.</p>\n");
    }
    vq_html_puts(h, "</section>\n");
    vq_free(items);
}
