/* The table on the terminal, and the order of vibes in every output. It fits into 80 columns; block
 * characters and colour are used only if the terminal shows them. */
#include "common/base/alloc.h"
#include "methods/vibecheck/report/cascade.h"
#include "methods/vibecheck/report/people.h"
#include "methods/vibecheck/report/ranking.h"
#include "methods/vibecheck/report/warnings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BAR_COLUMNS 13

void vq_report_order(const struct vq_vibecheck *result, uint32_t *ret_order)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < result->vibes; v++) {
        if (!result->vibe[v].kept) {
            continue;
        }
        uint32_t at = n++;
        double size = fabs(result->vibe[v].train.sep);
        while (at > 0 && fabs(result->vibe[ret_order[at - 1]].train.sep) < size) {
            ret_order[at] = ret_order[at - 1];
            at--;
        }
        ret_order[at] = v;
    }
    for (uint32_t v = 0; v < result->vibes; v++) {
        if (!result->vibe[v].kept) {
            ret_order[n++] = v;
        }
    }
}

/* A signed number in a fixed width, or "n/a". */
static void number(struct vq_buf *out, double value, int width, int digits)
{
    char text[32] = "n/a";
    if (!isnan(value)) {
        (void)snprintf(text, sizeof(text), "%+.*f", digits, value);
    }
    vq_buf_printf(out, "%*s", width, text);
}

static const char *mark(const struct vq_vibe_metrics *m)
{
    if (m->gate_could_flip) {
        return "!";
    }
    return m->distinguishable ? " " : "~";
}

static void pole_line(const struct vq_report_input *r, uint32_t v, const struct vq_terminal *t,
                      struct vq_buf *out)
{
    uint32_t columns = t->columns < 60 ? 60 : t->columns > 160 ? 160 : t->columns;
    struct vq_buf line;
    vq_buf_init(&line, 1u << 16);
    vq_buf_printf(&line, "%s %s %s", r->in->axes[v].low, t->unicode ? "\xe2\x86\x92" : "->",
                  r->in->axes[v].high);
    vq_buf_printf(out, "%s    ", vq_color(t, VQ_COLOR_DIM));
    vq_fmt_pad(out, vq_buf_span(&line), columns - 5);
    while (out->bytes > 0 && out->at[out->bytes - 1] == ' ') {
        out->bytes--;
    }
    vq_buf_printf(out, "%s\n", vq_color(t, VQ_COLOR_RESET));
    if (line.status != VQ_OK) {
        out->status = line.status;
    }
    vq_buf_free(&line);
}

static void kept_row(const struct vq_report_input *r, uint32_t v, const struct vq_terminal *t,
                     struct vq_buf *out)
{
    const struct vq_vibe_metrics *m = &r->result->vibe[v];
    double sep = vq_vibe_lead(r->result, m)->sep;
    vq_buf_printf(out, "%s%s ", vq_color(t, VQ_COLOR_BOLD), mark(m));
    vq_fmt_pad(out, vq_span_str(r->in->axes[v].name), 24);
    vq_buf_printf(out, "%s ", vq_color(t, VQ_COLOR_RESET));
    vq_buf_puts(out, vq_color(t, sep < 0 ? VQ_COLOR_YELLOW : VQ_COLOR_GREEN));
    vq_fmt_signed_bar(out, isnan(sep) ? 0 : sep, BAR_COLUMNS, !t->unicode);
    vq_buf_puts(out, vq_color(t, VQ_COLOR_RESET));
    number(out, sep, 6, 2);
    number(out, vq_vibe_lead(r->result, m)->agreement.kappa, 8, 2);
    number(out, isnan(m->mm.firth.value) ? m->mm.coef : m->mm.firth.value, 8, 2);
    number(out, isnan(m->pp.firth.value) ? m->pp.coef : m->pp.firth.value, 8, 2);
    vq_buf_putc(out, '\n');
    pole_line(r, v, t, out);
}

static void dropped_row(const struct vq_report_input *r, uint32_t v, struct vq_buf *out)
{
    const struct vq_vibe_metrics *m = &r->result->vibe[v];
    vq_buf_puts(out, "  ");
    vq_fmt_pad(out, vq_span_str(r->in->axes[v].name), 24);
    switch (m->reason) {
    case VQ_DROP_SEPARABILITY:
        if (m->na_everywhere) {
            vq_buf_puts(out, " applies to no row");
        } else if (isnan(m->train.sep)) {
            vq_buf_puts(out, " no answers on train");
        } else {
            vq_buf_printf(out, " separability %+.3f on train", m->train.sep);
        }
        break;
    case VQ_DROP_KAPPA: vq_buf_printf(out, " kappa %.2f on train", m->train.agreement.kappa); break;
    case VQ_DROP_OVERLAP:
        vq_buf_printf(out, " has the %s %s (%.2f)",
                      m->overlap < 0 ? "opposite meaning of" : "same meaning as",
                      r->in->axes[m->overlap_with].name, m->overlap);
        break;
    case VQ_DROP_PREFERENCE: vq_buf_printf(out, " preference %+.3f on train", m->train.pref); break;
    case VQ_DROP_NUM_FINAL: vq_buf_puts(out, " beyond num_final_vibes"); break;
    case VQ_DROP_EARLY_STOP: vq_buf_puts(out, " stopped early"); break;
    case VQ_DROP_NONE: break;
    }
    vq_buf_puts(out, m->gate_could_flip ? "; missing answers could change this\n" : "\n");
}

static void accuracy(const char *what, const struct vq_fit_metrics *m, double baseline,
                     struct vq_buf *out)
{
    vq_buf_printf(out, "%s ", what);
    switch (m->status) {
    case VQ_FIT_NO_ROWS: vq_buf_puts(out, "not computed: no rows\n"); return;
    case VQ_FIT_NO_LABELS: vq_buf_puts(out, "not computed: no preferences in the data\n"); return;
    case VQ_FIT_NO_VIBES: vq_buf_printf(out, "%.2f: no vibe was kept\n", m->accuracy_train); return;
    case VQ_FIT_OK: break;
    }
    if (isnan(m->accuracy_test)) {
        vq_buf_printf(out, "%.3f in-sample (there is no test split)", m->accuracy_train);
    } else {
        vq_buf_printf(out, "%.3f on test [%.3f, %.3f], train %.3f", m->accuracy_test,
                      m->accuracy_test_ci95.lo, m->accuracy_test_ci95.hi, m->accuracy_train);
    }
    if (!isnan(baseline)) { /* without labelled rows in test it is NaN */
        vq_buf_printf(out, ", baseline %.3f", baseline);
    }
    vq_buf_putc(out, '\n');
}

static void retest(const struct vq_report_input *r, struct vq_buf *out)
{
    const struct vq_retest *t = r->method == NULL ? NULL : r->method->retest;
    for (uint32_t i = 0; t != NULL && i < r->config->judges_count; i++) {
        char cells[VQ_FMT_BYTES], flips[VQ_FMT_BYTES];
        vq_buf_printf(out, "Asked again: %s changed %s of %s answer%s", r->judges[i].name,
                      vq_fmt_count(t[i].flips, flips), vq_fmt_count(t[i].cells, cells),
                      vq_fmt_plural(t[i].cells));
        if (t[i].cells > 0) {
            vq_buf_printf(out, " (%.1f %%)", 100.0 * (double)t[i].flips / (double)t[i].cells);
        }
        vq_buf_putc(out, '\n');
    }
}

/* The number of repeats of discovery in which each final vibe was found again. */
static void stability(const struct vq_report_input *r, struct vq_buf *out)
{
    const struct vq_stability *s = r->method == NULL ? NULL : r->method->stability;
    if (s == NULL || !s->matched) {
        return;
    }
    vq_buf_printf(out, "Found again in %u repeat%s of discovery:\n", s->repeats,
                  vq_fmt_plural(s->repeats));
    for (uint32_t v = 0; v < s->vibes_count; v++) {
        vq_buf_puts(out, "  ");
        vq_fmt_pad(out, vq_span_str(r->method->axes[s->vibes[v]].name), 32);
        vq_buf_printf(out, " %u of %u\n", s->found[v], s->repeats);
    }
}

static uint32_t column_of(const char *at)
{
    return ((unsigned char)*at & 0xc0u) == 0x80u ? 0 : 1; /* not a byte inside a character */
}

/* `text` after `first`, broken at blanks so that lines have at most 78 columns. */
static void wrapped(const char *first, const char *text, struct vq_buf *out)
{
    vq_buf_puts(out, first);
    uint32_t column = (uint32_t)strlen(first);
    for (const char *word = text; *word != '\0';) {
        size_t bytes = strcspn(word, " ");
        uint32_t columns = 0;
        for (size_t i = 0; i < bytes; i++) {
            columns += column_of(word + i);
        }
        if (word != text && column + 1 + columns > 78) {
            vq_buf_puts(out, "\n  ");
            column = 2;
        } else if (word != text) {
            vq_buf_putc(out, ' ');
            column++;
        }
        vq_buf_append(out, word, bytes);
        column += columns;
        word += bytes + strspn(word + bytes, " ");
    }
    vq_buf_putc(out, '\n');
}

static void warnings(const struct vq_report_input *r, struct vq_buf *out)
{
    struct vq_warnings *list = NULL;
    if (vq_warnings_create(r, &list) != VQ_OK) {
        out->status = VQ_NOMEM;
        return;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        wrapped("warning: ", list->at[i].text, out);
    }
    vq_warnings_destroy(&list);
}

static void legend(const struct vq_vibecheck *v, struct vq_buf *out)
{
    bool indistinct = false, flips = false;
    for (uint32_t i = 0; i < v->vibes; i++) {
        indistinct |= v->vibe[i].kept && !v->vibe[i].distinguishable;
        flips |= v->vibe[i].gate_could_flip && v->vibe[i].kept;
    }
    vq_buf_puts(out, indistinct ? "~ not distinguishable from 0\n" : "");
    vq_buf_puts(out, flips ? "! missing answers could move this vibe over its gate\n" : "");
}

static void table_head(const struct vq_report_input *r, struct vq_buf *out)
{
    vq_buf_printf(out, "\nA = %s   B = %s   %u train rows, %u test rows\n", r->config->models[0],
                  r->config->models[1], r->dataset->train_count, r->dataset->test_count);
    vq_buf_printf(out, "Bars to the right: A is higher.%s\n\n",
                  r->result->in_sample ? " In-sample numbers." : " Numbers are of the test split.");
    vq_buf_printf(out, "  %-24s %*s%8s%8s%8s\n", "vibe", BAR_COLUMNS + 6, "separability", "kappa",
                  "MM", "PP");
}

void vq_report_table(const struct vq_report_input *r, const struct vq_terminal *t,
                     struct vq_buf *out)
{
    uint32_t *order = vq_alloc(r->result->vibes, sizeof(*order));
    if (order == NULL) {
        out->status = VQ_NOMEM;
        return;
    }
    vq_report_order(r->result, order);
    const struct vq_vibecheck *v = r->result;
    if (v->ranking != NULL) {
        vq_ranking_table_head(r, out);
    } else {
        table_head(r, out);
    }
    for (uint32_t i = 0; i < v->kept_count; i++) {
        if (v->ranking != NULL) {
            vq_ranking_table_row(r, order[i], t, out);
        } else {
            kept_row(r, order[i], t, out);
        }
    }
    if (v->kept_count < v->vibes) {
        vq_buf_puts(out, "\nDropped:\n");
    }
    for (uint32_t i = v->kept_count; i < v->vibes; i++) {
        dropped_row(r, order[i], out);
    }
    vq_report_people_table(r, order, out);
    vq_report_cascade_table(r, order, out);
    vq_buf_putc(out, '\n');
    accuracy("Model matching MM  ", &v->mm, v->ranking != NULL ? v->ranking->mm_chance : 0.5, out);
    accuracy("Preferences PP     ", &v->pp, v->pp.majority_baseline, out);
    stability(r, out);
    retest(r, out);
    legend(v, out);
    warnings(r, out);
    vq_free(order);
}
