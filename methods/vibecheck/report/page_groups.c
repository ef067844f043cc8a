/* The same result in parts: each judge alone, and each value of a column of the data. A vibe whose
 * sign turns in a part is flagged. */
#include "common/base/alloc.h"
#include "common/text/intern.h"
#include "methods/vibecheck/numbers/slices.h"
#include "methods/vibecheck/report/page_parts.h"

#include <math.h>

/* ---- one table for both ---- */

static void head(struct vq_html *h, const char *first)
{
    vq_html_printf(
        h,
        "<div class=\"scroll\"><table class=\"plain parts\"><thead><tr><th scope=\"col\">%s</th>"
        "<th scope=\"col\">rows</th><th scope=\"col\">MM</th>",
        first);
    for (uint32_t i = 0; i < h->page->r->result->kept_count; i++) {
        vq_html_puts(h, "<th scope=\"col\"><bdi>");
        vq_html_text(h, h->page->r->in->axes[h->page->order[i]].name);
        vq_html_puts(h, "</bdi></th>");
    }
    vq_html_puts(h, "</tr></thead>\n<tbody>");
}

static void part(struct vq_html *h, struct vq_span name, const struct vq_result_slice *s)
{
    vq_html_puts(h, "<tr><th scope=\"row\"><bdi>");
    vq_html_span(h, name.bytes == 0 ? vq_span_str("(empty)") : name, VQ_HTML_NAME_BYTES_MAX);
    vq_html_puts(h, "</bdi></th><td>");
    vq_html_count(h, s->rows);
    vq_html_puts(h, "</td><td>");
    vq_html_percent(h, s->mm_accuracy);
    if (!isnan(s->mm_ci95.lo)) {
        vq_html_puts(h, " <span class=\"ci95\">");
        vq_html_interval(h, s->mm_ci95, 2, false);
        vq_html_puts(h, "</span>");
    }
    vq_html_puts(h, "</td>");
    for (uint32_t i = 0; i < h->page->r->result->kept_count; i++) {
        uint32_t v = h->page->order[i];
        vq_html_puts(h, "<td ");
        vq_html_heat(h, s->separability[v]);
        vq_html_puts(h, s->opposite[v] ? " turned\"><span>" : "\"><span>");
        vq_html_signed(h, s->separability[v], 2);
        vq_html_puts(h, s->opposite[v] ? " <b title=\"opposite sign\">turns</b></span></td>"
                                       : "</span></td>");
    }
    vq_html_puts(h, "</tr>\n");
}

static void foot(struct vq_html *h, const struct vq_slices *s)
{
    bool turned = false;
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t v = 0; v < s->vibes; v++) {
            turned |= s->slice[i].opposite[v] && h->page->r->result->vibe[v].kept;
        }
    }
    vq_html_puts(h, "</tbody></table></div>\n");
    if (turned) {
        vq_html_puts(
            h,
            "<p class=\"sub\"><b class=\"wrong\">turns</b>: here the sign is the opposite of that "
            "over all rows, and both are farther from 0 than the gate.</p>\n");
    }
}

static void failed(struct vq_html *h, enum vq_status status)
{
    if (h->out->status == VQ_OK) {
        h->out->status = status;
    }
}

/* ---- judges ---- */

static void judge_facts(struct vq_html *h, uint32_t j)
{
    const struct vq_report_judge *judge = &h->page->r->judges[j];
    const struct vq_conf_judge *c = &h->page->r->config->judges[j];
    const struct vq_audit_judge *audit = &h->page->r->result->audit.judges[j];
    vq_html_puts(h, "<li><b><bdi>");
    vq_html_text(h, judge->name);
    vq_html_puts(h, "</bdi></b>: model <bdi>");
    vq_html_text(h, judge->model);
    vq_html_puts(h, "</bdi> at <bdi>");
    vq_html_text(h, judge->identity);
    vq_html_puts(h, "</bdi>");
    for (uint32_t k = 0; k < judge->returned_count; k++) {
        vq_html_puts(h, k == 0 ? ", which called itself <bdi>" : ", <bdi>");
        vq_html_text(h, judge->returned[k]);
        vq_html_puts(h, "</bdi>");
    }
    if (c->send_temperature) {
        vq_html_printf(h, "; temperature %.3g", c->temperature);
    }
    vq_html_printf(h, "; at most %u tokens an answer", c->max_tokens);
    if (!isnan(audit->order_effect)) {
        vq_html_puts(h, "; pull toward the output shown first ");
        vq_html_signed(h, audit->order_effect, 3);
    }
    const struct vq_report_retest *retest = h->page->story->retest;
    if (retest != NULL && retest[j].cells > 0) {
        vq_html_puts(h, "; asked a second time, it changed ");
        vq_html_percent(h, (double)retest[j].flips / (double)retest[j].cells);
        vq_html_puts(h, " of ");
        vq_html_count(h, retest[j].cells);
        vq_html_printf(h, " answer%s", vq_fmt_plural(retest[j].cells));
    }
    vq_html_puts(h, ".</li>\n");
}

void vq_html_judges(struct vq_html *h)
{
    struct vq_slices *s;
    enum vq_status status =
        vq_slices_by_judge(h->page->r->in, h->page->r->result, h->page->test, &s);
    if (status != VQ_OK) {
        failed(h, status);
        return;
    }
    vq_html_puts(h, "<section id=\"judges\"><h2>Judges</h2>\n<p class=\"sub\">Separability by each "
                    "judge alone, "
                    "and how often the fitted weights, given its scores only, tell the models "
                    "apart.</p>\n");
    head(h, "judge");
    for (uint32_t j = 0; j < s->count; j++) {
        part(h, vq_span_str(h->page->r->judges[j].name), &s->slice[j]);
    }
    foot(h, s);
    vq_html_puts(h, "<ul class=\"calm\">\n");
    for (uint32_t j = 0; j < s->count; j++) {
        judge_facts(h, j);
    }
    vq_html_puts(h, "</ul></section>\n");
    vq_slices_destroy(&s);
}

/* ---- values of a column ---- */

struct values {
    struct vq_intern texts;
    uint32_t *of_sample; /* number of its text, then its part */
    uint32_t *rows;      /* by number: rows of the leading split */
    uint32_t *order;     /* numbers, most rows first */
    uint32_t shown;
};

static const char *column_name(const struct vq_html *h)
{
    const struct vq_config *c = h->page->r->config;
    return c->report.by != NULL ? c->report.by : c->data.group;
}

static bool columns_of(const struct vq_html *h, uint32_t ret_column[2])
{
    const struct vq_dataset *d = h->page->r->dataset;
    for (int file = 0; file < 2; file++) {
        ret_column[file] = d->tables[file] == NULL
                               ? 0
                               : vq_table_column(d->tables[file], vq_span_str(column_name(h)));
        if (ret_column[file] == UINT32_MAX) {
            return false;
        }
    }
    return true;
}

/* Most rows first; values equal in rows by their text. */
static void sort_values(struct values *v)
{
    for (uint32_t i = 0; i < v->texts.count; i++) {
        struct vq_span text = v->texts.keys[i];
        uint32_t at = v->shown < VQ_HTML_GROUPS_MAX ? v->shown : VQ_HTML_GROUPS_MAX;
        while (at > 0) {
            uint32_t other = v->order[at - 1];
            struct vq_span b = v->texts.keys[other];
            size_t n = text.bytes < b.bytes ? text.bytes : b.bytes;
            int cmp = n == 0 ? 0 : memcmp(text.at, b.at, n);
            bool sooner = cmp < 0 || (cmp == 0 && text.bytes < b.bytes);
            if (v->rows[i] < v->rows[other] || (v->rows[i] == v->rows[other] && !sooner)) {
                break;
            }
            if (at < VQ_HTML_GROUPS_MAX) {
                v->order[at] = other;
            }
            at--;
        }
        if (at < VQ_HTML_GROUPS_MAX) {
            v->order[at] = i;
            v->shown += v->shown < VQ_HTML_GROUPS_MAX;
        }
    }
}

static enum vq_status values_fill(const struct vq_html *h, const uint32_t column[2],
                                  struct values *v)
{
    const struct vq_dataset *d = h->page->r->dataset;
    uint32_t n = h->page->r->result->samples;
    v->of_sample = vq_alloc(n, sizeof(*v->of_sample));
    v->rows = vq_alloc(n, sizeof(*v->rows));
    v->order = vq_alloc(VQ_HTML_GROUPS_MAX, sizeof(*v->order));
    if (v->of_sample == NULL || v->rows == NULL || v->order == NULL) {
        return VQ_NOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct vq_data_row *row = &d->samples[i];
        struct vq_span text =
            vq_table_cell(d->tables[row->file], vq_sample_row(row), column[row->file]);
        VQ_TRY(vq_intern_add(&v->texts, text, &v->of_sample[i]));
        v->rows[v->of_sample[i]] += (row->split == VQ_SPLIT_TEST) == h->page->test;
    }
    sort_values(v);
    uint32_t *part_of = vq_alloc(v->texts.count, sizeof(*part_of));
    if (part_of == NULL) {
        return VQ_NOMEM;
    }
    for (uint32_t k = 0; k < v->shown; k++) {
        part_of[v->order[k]] = k + 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t part_1 = part_of[v->of_sample[i]];
        v->of_sample[i] = part_1 == 0 ? VQ_SLICE_NONE : part_1 - 1;
    }
    vq_free(part_of);
    return VQ_OK;
}

static void write_values(struct vq_html *h, const struct values *v)
{
    struct vq_slices *s;
    enum vq_status status = vq_slices_by_value(h->page->r->in, h->page->r->result, v->of_sample,
                                               v->shown, h->page->test, &s);
    if (status != VQ_OK) {
        failed(h, status);
        return;
    }
    head(h, "value");
    for (uint32_t k = 0; k < s->count; k++) {
        part(h, v->texts.keys[v->order[k]], &s->slice[k]);
    }
    foot(h, s);
    vq_slices_destroy(&s);
    if (v->texts.count > v->shown) {
        vq_html_printf(h, "<p class=\"sub\">The %u values with the most rows of %u.</p>\n",
                       v->shown, v->texts.count);
    }
}

void vq_html_values(struct vq_html *h)
{
    uint32_t column[2];
    if (column_name(h) == NULL) {
        return;
    }
    vq_html_puts(h, "<section id=\"groups\"><h2>By <bdi>");
    vq_html_text(h, column_name(h));
    vq_html_puts(h, "</bdi></h2>\n");
    if (!columns_of(h, column)) {
        vq_html_puts(h, "<p>The data have no such column.</p></section>\n");
        return;
    }
    vq_html_printf(
        h,
        "<p class=\"sub\">Separability of each kept vibe and model matching, %s rows with "
        "each value; the weights are those of all rows.</p>\n",
        h->page->test ? "test" : "train");
    struct values v = {0};
    enum vq_status status = values_fill(h, column, &v);
    if (status == VQ_OK) {
        write_values(h, &v);
    } else {
        failed(h, status);
    }
    vq_html_puts(h, "</section>\n");
    vq_intern_free(&v.texts);
    vq_free(v.of_sample);
    vq_free(v.rows);
    vq_free(v.order);
}
