/* ratings.csv, items.csv and the table on the terminal. Invariant: a missing value is an empty
 * cell, never 0; its status gives the cause. */
#include "common/text/csv.h"
#include "methods/rubric/report/report.h"

#include <math.h>
#include <stdio.h>

static void value_text(const struct vq_rubric_report *r, uint32_t criterion, double value,
                       struct vq_buf *out)
{
    enum vq_rating_kind kind = vq_rubric_input(r->rubric)->criteria[criterion].kind;
    if (isnan(value)) {
        return;
    }
    switch (kind) {
    case VQ_RATING_LIKERT: vq_buf_printf(out, "%.0f", value); return;
    case VQ_RATING_BINARY: vq_buf_puts(out, value > 0 ? "yes" : "no"); return;
    case VQ_RATING_PAIRWISE:
        vq_buf_puts(out, value == 0.5 ? "tie" : r->config->models[value > 0.5 ? 0 : 1]);
        return;
    }
}

/* ---- ratings.csv ---- */

static void rating_row(struct vq_csv *csv, const struct vq_rubric_report *r,
                       const struct vq_rubric_place *p, struct vq_buf *text)
{
    const struct vq_rubric_input *in = vq_rubric_input(r->rubric);
    const struct vq_rubric_reading *reading = &r->readings[vq_rubric_slot(r->rubric, p)];
    const struct vq_criterion *c = &in->criteria[p->criterion];
    bool pairwise = c->kind == VQ_RATING_PAIRWISE;
    struct vq_span reasoning;
    if (reading->status == VQ_RUBRIC_NOT_ASKED) {
        return;
    }
    vq_csv_i64(csv, in->rows[p->row].record);
    vq_csv_str(csv, pairwise ? "" : r->config->models[p->output]);
    vq_csv_str(csv, c->name);
    vq_csv_str(csv, vq_criterion_kind_name(c->kind));
    vq_csv_str(csv, r->judges[p->judge].name);
    vq_csv_i64(csv, p->repeat + 1);
    vq_csv_str(csv, pairwise ? r->config->models[p->order] : "");
    vq_buf_clear(text);
    value_text(r, p->criterion, reading->value, text);
    vq_csv_span(csv, vq_buf_span(text));
    vq_csv_str(csv, vq_rubric_status_name(reading->status));
    if (r->reasoning != NULL && r->reasoning(r->reasoning_ctx, p, &reasoning)) {
        vq_csv_span(csv, reasoning);
    } else {
        vq_csv_empty(csv);
    }
    vq_csv_end_row(csv);
}

static void rating_rows(struct vq_csv *csv, const struct vq_rubric_report *r, uint32_t row,
                        struct vq_buf *text)
{
    const struct vq_rubric_input *in = vq_rubric_input(r->rubric);
    struct vq_rubric_place p = {.row = row};
    for (p.criterion = 0; p.criterion < in->criteria_count; p.criterion++) {
        uint32_t orders = in->criteria[p.criterion].kind == VQ_RATING_PAIRWISE ? 2 : 1;
        for (p.output = 0; p.output < vq_rubric_rated_outputs(in, p.criterion); p.output++) {
            for (p.judge = 0; p.judge < in->judges_count; p.judge++) {
                for (p.repeat = 0; p.repeat < in->rating.repeats; p.repeat++) {
                    for (p.order = 0; p.order < orders; p.order++) {
                        rating_row(csv, r, &p, text);
                    }
                }
            }
        }
    }
}

void vq_rubric_report_csv(const struct vq_rubric_report *r, uint32_t from, uint32_t until,
                          struct vq_buf *out)
{
    static const char *const names[] = {"item",   "output",   "criterion",   "kind",
                                        "judge",  "repeat",   "shown_first", "value",
                                        "status", "reasoning"};
    struct vq_csv csv;
    struct vq_buf text;
    vq_csv_init_safe(&csv, out);
    vq_buf_init(&text, VQ_NAME_BYTES_MAX * 2);
    if (from == 0) {
        for (size_t i = 0; i < VQ_COUNT(names); i++) {
            vq_csv_str(&csv, names[i]);
        }
        vq_csv_end_row(&csv);
    }
    for (uint32_t row = from; row < until; row++) {
        rating_rows(&csv, r, row, &text);
    }
    if (text.status != VQ_OK) {
        out->status = text.status;
    }
    vq_buf_free(&text);
}

/* ---- items.csv ---- */

static void item_row(struct vq_csv *csv, const struct vq_rubric_report *r, uint32_t row,
                     uint32_t criterion, uint32_t output)
{
    const struct vq_rubric_input *in = vq_rubric_input(r->rubric);
    const struct vq_criterion *c = &in->criteria[criterion];
    uint32_t outputs = vq_rubric_rated_outputs(in, criterion);
    const struct vq_rubric_item *item =
        &r->numbers->criteria[criterion].items[(size_t)row * outputs + output];
    double human = vq_rubric_human(r->data, criterion, output, row);
    bool grouped = r->data->groups_count > 0, pairwise = c->kind == VQ_RATING_PAIRWISE;
    if (!item->asked) {
        return;
    }
    vq_csv_i64(csv, in->rows[row].record);
    vq_csv_span(csv, grouped ? r->data->groups[in->rows[row].group] : vq_span("", 0));
    vq_csv_str(csv, pairwise ? "" : r->config->models[output]);
    vq_csv_str(csv, c->name);
    vq_csv_str(csv, vq_criterion_kind_name(c->kind));
    vq_csv_real(csv, item->score, VQ_REPORT_DIGITS);
    vq_csv_i64(csv, item->judges);
    /* in the units of the score */
    vq_csv_real(csv, pairwise ? (human + 1) / 2 : human, VQ_REPORT_DIGITS);
    vq_csv_end_row(csv);
}

void vq_rubric_report_items_csv(const struct vq_rubric_report *r, uint32_t from, uint32_t until,
                                struct vq_buf *out)
{
    static const char *const names[] = {"item", "group", "output", "criterion",
                                        "kind", "score", "judges", "human"};
    const struct vq_rubric_input *in = vq_rubric_input(r->rubric);
    struct vq_csv csv;
    vq_csv_init_safe(&csv, out);
    for (size_t i = 0; from == 0 && i < VQ_COUNT(names); i++) {
        vq_csv_str(&csv, names[i]);
    }
    if (from == 0) {
        vq_csv_end_row(&csv);
    }
    for (uint32_t row = from; row < until; row++) {
        for (uint32_t c = 0; c < in->criteria_count; c++) {
            for (uint32_t o = 0; o < vq_rubric_rated_outputs(in, c); o++) {
                item_row(&csv, r, row, c, o);
            }
        }
    }
}

/* ---- the table ---- */

#define NAME_COLUMNS 20u
#define GROUPS_SHOWN 12u

static void number(struct vq_buf *out, double value, int width, int digits)
{
    char text[32] = "n/a";
    if (!isnan(value)) {
        (void)snprintf(text, sizeof(text), "%.*f", digits, value);
    }
    vq_buf_printf(out, "%*s", width, text);
}

static void interval(struct vq_buf *out, struct vq_interval ci)
{
    char text[48] = "";
    if (!isnan(ci.lo) && !isnan(ci.hi)) {
        (void)snprintf(text, sizeof(text), "[%.2f, %.2f]", ci.lo, ci.hi);
    }
    vq_buf_printf(out, "  %-14s", text);
}

/* Lists the statuses other than ok. Under the paper's policy such a rating may still have a
 * value. */
static void not_ok(struct vq_buf *out, const struct vq_rubric_share *s)
{
    const char *before = "  ";
    for (unsigned k = 0; k < VQ_RUBRIC_NOT_ASKED; k++) {
        if (k != VQ_RATING_OK && s->statuses[k] > 0) {
            vq_buf_printf(out, "%s%llu %s", before, (unsigned long long)s->statuses[k],
                          vq_rubric_status_name(k));
            before = ", ";
        }
    }
    vq_buf_putc(out, '\n');
}

static void share_cells(const struct vq_rubric_report *r, uint32_t c, uint32_t o,
                        const struct vq_rubric_share *s, struct vq_buf *out)
{
    static const char *const what[] = {"mean", "yes", "wins"};
    vq_buf_putc(out, ' ');
    vq_fmt_pad(out, vq_span_str(r->config->models[o]), NAME_COLUMNS);
    vq_buf_printf(out, " %-4s", what[vq_rubric_input(r->rubric)->criteria[c].kind]);
    number(out, s->mean, 6, 2);
    interval(out, s->ci95);
    vq_buf_printf(out, "%7llu", (unsigned long long)s->rated);
    not_ok(out, s);
}

static void output_row(const struct vq_rubric_report *r, uint32_t c, uint32_t o,
                       const struct vq_terminal *t, struct vq_buf *out)
{
    const char *name = vq_rubric_input(r->rubric)->criteria[c].name;
    vq_buf_puts(out, o == 0 ? vq_color(t, VQ_COLOR_BOLD) : "");
    vq_fmt_pad(out, vq_span_str(o == 0 ? name : ""), NAME_COLUMNS);
    vq_buf_puts(out, o == 0 ? vq_color(t, VQ_COLOR_RESET) : "");
    share_cells(r, c, o, vq_rubric_share_of(r->numbers, c, o, r->numbers->judges), out);
}

static void difference_row(const struct vq_rubric_difference *d, struct vq_buf *out)
{
    vq_fmt_pad(out, vq_span_str(""), NAME_COLUMNS);
    vq_buf_putc(out, ' ');
    vq_fmt_pad(out, vq_span_str("difference"), NAME_COLUMNS);
    vq_buf_printf(out, " %-4s", "");
    char text[32] = "n/a";
    if (!isnan(d->mean)) {
        (void)snprintf(text, sizeof(text), "%+.2f", d->mean);
    }
    vq_buf_printf(out, "%6s", text);
    interval(out, d->ci95);
    vq_buf_printf(out, "%7llu\n", (unsigned long long)d->rows);
}

/* A line after the win rate: the win rate at equal lengths, or why there is none. */
static void length_row(const struct vq_length_controlled *lc, struct vq_buf *out)
{
    vq_fmt_pad(out, vq_span_str(""), NAME_COLUMNS);
    vq_buf_putc(out, ' ');
    vq_fmt_pad(out, vq_span_str("  at equal length"), NAME_COLUMNS);
    vq_buf_puts(out, " wins");
    number(out, lc->win_rate, 6, 2);
    interval(out, lc->ci95);
    vq_buf_printf(out, "%7zu", lc->rows);
    if (lc->status != VQ_LENGTH_CONTROLLED_OK) {
        vq_buf_printf(out, "  %s", vq_length_controlled_name(lc->status));
    }
    vq_buf_putc(out, '\n');
}

/* The criterion's numbers over the rows of each value of data.group. */
static void group_rows(const struct vq_rubric_report *r, uint32_t c, struct vq_buf *out)
{
    const struct vq_rubric_criterion *n = &r->numbers->criteria[c];
    uint32_t outputs = vq_rubric_rated_outputs(vq_rubric_input(r->rubric), c);
    uint32_t all = r->data->groups_count;
    uint32_t shown = all < GROUPS_SHOWN ? all : GROUPS_SHOWN;
    vq_buf_puts(out, c == 0 ? "" : "\n");
    vq_fmt_pad(out, vq_span_str(vq_rubric_input(r->rubric)->criteria[c].name), NAME_COLUMNS);
    vq_buf_printf(out, " by %s\n", r->config->data.group);
    for (uint32_t g = 0; g < shown; g++) {
        struct vq_span name = r->data->groups[g];
        name = name.bytes == 0 ? vq_span_str("(empty)") : name;
        for (uint32_t o = 0; o < outputs; o++) {
            vq_buf_puts(out, "  ");
            vq_fmt_pad(out, o == 0 ? name : vq_span("", 0), NAME_COLUMNS - 2);
            share_cells(r, c, o, &n->group_shares[(size_t)g * outputs + o], out);
        }
        if (outputs == 2) {
            difference_row(&n->group_differences[g], out);
        }
    }
    if (shown < all) {
        vq_buf_printf(out, "  and %u more, all in results.json\n", all - shown);
    }
}

static void agreement_rows(const struct vq_rubric_report *r, struct vq_buf *out)
{
    bool head = false;
    for (uint32_t c = 0; c < r->numbers->criteria_count; c++) {
        const struct vq_rubric_criterion *n = &r->numbers->criteria[c];
        for (uint32_t k = 0; k < n->pairs_count; k++) {
            const struct vq_rubric_pair *p = &n->pairs[k];
            if (!head) {
                vq_buf_printf(out, "\n%-20s %-20s %-20s %6s%7s%7s%7s\n", "agreement", "judge",
                              "with", "exact", "kappa", "k quad", "n");
                head = true;
            }
            vq_fmt_pad(out, vq_span_str(vq_rubric_input(r->rubric)->criteria[c].name),
                       NAME_COLUMNS);
            vq_buf_putc(out, ' ');
            vq_fmt_pad(out, vq_span_str(r->judges[p->a].name), NAME_COLUMNS);
            vq_buf_putc(out, ' ');
            vq_fmt_pad(out,
                       vq_span_str(p->b == VQ_RUBRIC_HUMAN ? "(human labels)"
                                   : p->b == p->a          ? "(itself, again)"
                                                           : r->judges[p->b].name),
                       NAME_COLUMNS);
            vq_buf_putc(out, ' ');
            number(out, p->agreement.exact, 6, 2);
            number(out, p->agreement.kappa.kappa, 7, 2);
            number(out, p->agreement.kappa.kappa_quadratic, 7, 2);
            vq_buf_printf(out, "%7zu\n", p->agreement.rows);
        }
    }
}

/* The statuses of all answers, and the totals of the calls. */
static void totals(const struct vq_rubric_report *r, struct vq_buf *out)
{
    const char *before = "\nAnswers  ";
    for (unsigned k = 0; k < VQ_RUBRIC_NOT_ASKED; k++) {
        if (r->numbers->statuses[k] > 0) {
            char n[VQ_FMT_BYTES];
            vq_buf_printf(out, "%s%s %s", before, vq_fmt_count(r->numbers->statuses[k], n),
                          vq_rubric_status_name(k));
            before = ", ";
        }
    }
    vq_buf_putc(out, '\n');
    vq_report_calls_line(r->calls, out);
}

void vq_rubric_report_table(const struct vq_rubric_report *r, const struct vq_terminal *t,
                            struct vq_buf *out)
{
    const struct vq_rubric_input *in = vq_rubric_input(r->rubric);
    vq_buf_printf(out, "%s%-20s %-20s %-4s%6s  %-14s%7s  %s%s\n", vq_color(t, VQ_COLOR_BOLD),
                  "criterion", "output", "", "", "95 % interval", "items", "answers not ok",
                  vq_color(t, VQ_COLOR_RESET));
    for (uint32_t c = 0; c < in->criteria_count; c++) {
        for (uint32_t o = 0; o < vq_rubric_rated_outputs(in, c); o++) {
            output_row(r, c, o, t, out);
        }
        const struct vq_length_controlled *lc = r->numbers->criteria[c].length_controlled;
        if (lc != NULL) {
            length_row(&lc[r->numbers->judges], out);
        }
        if (vq_rubric_rated_outputs(in, c) == 2) {
            difference_row(&r->numbers->criteria[c].difference, out);
        }
    }
    for (uint32_t c = 0; r->data->groups_count > 0 && c < in->criteria_count; c++) {
        vq_buf_puts(out, c == 0 ? "\n" : "");
        group_rows(r, c, out);
    }
    agreement_rows(r, out);
    totals(r, out);
    if (r->numbers->too_few) {
        vq_buf_printf(out, "\nNo intervals: %u different prompts, and they need %u.\n",
                      r->numbers->units, VQ_RUBRIC_UNITS_MIN);
    }
    if (strcmp(r->judge_kind, "model") != 0) {
        vq_buf_printf(out,
                      "\n%sMade with the offline judge: this shows that the plumbing works, not "
                      "what the outputs are worth.%s\n",
                      vq_color(t, VQ_COLOR_YELLOW), vq_color(t, VQ_COLOR_RESET));
    }
}
