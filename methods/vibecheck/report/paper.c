/* Finds columns by their names, so that further columns in the file have no influence. Pure; owns
 * nothing. Not its job: the numbers. */
#include "methods/vibecheck/report/paper.h"

#include "common/text/csv.h"
#include "common/text/utf8.h"
#include "methods/vibecheck/report/vibes_file.h"

#include <math.h>
#include <stdio.h>

#define NUMBER_BYTES 64

/* ---- texts ---- */

static void latex_point(uint32_t point, struct vq_buf *out)
{
    static const char specials[] = "{}$&#_%";
    char bytes[VQ_UTF8_BYTES_MAX];
    switch (point) {
    case '\\': vq_buf_puts(out, "\\textbackslash{}"); return;
    case '^': vq_buf_puts(out, "\\textasciicircum{}"); return;
    case '~': vq_buf_puts(out, "\\textasciitilde{}"); return;
    case '<': vq_buf_puts(out, "\\textless{}"); return;
    case '>': vq_buf_puts(out, "\\textgreater{}"); return;
    case '|': vq_buf_puts(out, "\\textbar{}"); return;
    case '"': vq_buf_puts(out, "\\textquotedbl{}"); return;
    default: break;
    }
    if (point < 128 && strchr(specials, (int)point) != NULL) {
        vq_buf_putc(out, '\\');
    }
    vq_buf_append(out, bytes, vq_utf8_put(point, bytes));
}

static void markdown_point(uint32_t point, struct vq_buf *out)
{
    static const char specials[] = "\\`*_{}[]#|~$";
    char bytes[VQ_UTF8_BYTES_MAX];
    if (point == '<' || point == '>' || point == '&') {
        vq_buf_puts(out, point == '<' ? "&lt;" : point == '>' ? "&gt;" : "&amp;");
        return;
    }
    if (point < 128 && strchr(specials, (int)point) != NULL) {
        vq_buf_putc(out, '\\');
    }
    vq_buf_append(out, bytes, vq_utf8_put(point, bytes));
}

/* Whether it is a control character (C0, C1) or reverses the writing direction. */
static bool is_control(uint32_t point)
{
    return point < 32 || (point >= 0x7f && point < 0xa0) || (point >= 0x200e && point <= 0x200f) ||
           (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

void vq_paper_text(struct vq_span text, enum vq_paper_format format, struct vq_buf *out)
{
    for (size_t at = 0; at < text.bytes;) {
        uint32_t point = vq_utf8_next(text, &at);
        if (is_control(point)) {
            vq_buf_putc(out, ' ');
        } else if (format == VQ_PAPER_LATEX) {
            latex_point(point, out);
        } else {
            markdown_point(point, out);
        }
    }
}

/* ---- rows ---- */

struct paper {
    enum vq_paper_format format;
    struct vq_buf *out;
    uint32_t cells; /* number of cells in the current row */
};

static void cell(struct paper *p)
{
    bool latex = p->format == VQ_PAPER_LATEX;
    vq_buf_puts(p->out, p->cells++ > 0 ? (latex ? " & " : " | ") : latex ? "" : "| ");
}

static void end_row(struct paper *p)
{
    vq_buf_puts(p->out, p->format == VQ_PAPER_LATEX ? " \\\\\n" : " |\n");
    p->cells = 0;
}

static void text_cell(struct paper *p, struct vq_span text)
{
    cell(p);
    vq_paper_text(text, p->format, p->out);
}

/* `aligned`: l or r for each column; `names` end the header. */
static void begin(struct paper *p, const char *aligned, uint32_t columns)
{
    if (p->format == VQ_PAPER_LATEX) {
        vq_buf_puts(p->out, "% needs \\usepackage{booktabs}\n\\begin{tabular}{");
        for (uint32_t i = 0; i < columns; i++) {
            vq_buf_putc(p->out, aligned == NULL ? 'l' : aligned[i]);
        }
        vq_buf_puts(p->out, "}\n\\toprule\n");
    }
}

static void end_header(struct paper *p, const char *aligned, uint32_t columns)
{
    end_row(p);
    if (p->format == VQ_PAPER_LATEX) {
        vq_buf_puts(p->out, "\\midrule\n");
        return;
    }
    for (uint32_t i = 0; i < columns; i++) {
        vq_buf_puts(p->out, aligned != NULL && aligned[i] == 'r' ? "| ---: " : "| --- ");
    }
    vq_buf_puts(p->out, "|\n");
}

static void end(struct paper *p)
{
    if (p->format == VQ_PAPER_LATEX) {
        vq_buf_puts(p->out, "\\bottomrule\n\\end{tabular}\n");
    }
}

/* ---- vibes ---- */

/* Writes "+0.49", in LaTeX with a real minus sign. */
static void put_number(struct paper *p, double value, bool sign)
{
    bool latex = p->format == VQ_PAPER_LATEX;
    if (isnan(value)) {
        vq_buf_puts(p->out, latex ? "--" : "\xe2\x80\x93");
        return;
    }
    char text[NUMBER_BYTES];
    value = fabs(value) < 0.005 ? 0 : value; /* avoids "-0.00" */
    (void)snprintf(text, sizeof(text), sign ? "%+.2f" : "%.2f", value);
    vq_buf_printf(p->out, latex ? "$%s$" : "%s", text);
}

static void interval_cell(struct paper *p, double value, double lo, double hi)
{
    cell(p);
    put_number(p, value, true);
    if (!isnan(value) && !isnan(lo) && !isnan(hi)) {
        vq_buf_puts(p->out, " [");
        put_number(p, lo, true);
        vq_buf_puts(p->out, ", ");
        put_number(p, hi, true);
        vq_buf_puts(p->out, "]");
    }
}

static void number_cell(struct paper *p, double value, bool sign)
{
    cell(p);
    put_number(p, value, sign);
}

static bool is_kept(const struct vq_table *t, uint32_t row)
{
    return vq_span_eq(vq_vibes_text(t, row, "kept"), vq_span_str("1"));
}

/* The split of the numbers: test, or in-sample if there are no test rows. */
static const char *split_of(const struct vq_table *t)
{
    for (uint32_t row = 0; row < t->rows_count; row++) {
        if (vq_vibes_text(t, row, "sep_test").bytes > 0) {
            return "test";
        }
    }
    return "train";
}

static void vibe_row(struct paper *p, const struct vq_table *t, uint32_t row, bool test)
{
    const char *dash = p->format == VQ_PAPER_LATEX ? " $\\rightarrow$ " : " \xe2\x86\x92 ";
    text_cell(p, vq_vibes_text(t, row, "name"));
    text_cell(p, vq_vibes_text(t, row, "low"));
    vq_buf_puts(p->out, dash);
    vq_paper_text(vq_vibes_text(t, row, "high"), p->format, p->out);
    interval_cell(p, vq_vibes_number(t, row, test ? "sep_test" : "sep_train"),
                  test ? vq_vibes_number(t, row, "sep_test_lo") : NAN,
                  test ? vq_vibes_number(t, row, "sep_test_hi") : NAN);
    number_cell(p, vq_vibes_number(t, row, test ? "kappa_test" : "kappa_train"), false);
    number_cell(p, vq_vibes_number(t, row, "mm_coefficient"), true);
    number_cell(p, vq_vibes_number(t, row, "pp_coefficient"), true);
    end_row(p);
}

static void dropped(struct paper *p, const struct vq_table *t)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < t->rows_count; row++) {
        if (is_kept(t, row)) {
            continue;
        }
        vq_buf_puts(p->out, count++ == 0
                                ? (p->format == VQ_PAPER_LATEX ? "% dropped: " : "\nDropped: ")
                                : ", ");
        vq_paper_text(vq_vibes_text(t, row, "name"), p->format, p->out);
        vq_buf_puts(p->out, " (");
        vq_paper_text(vq_vibes_text(t, row, "reason"), p->format, p->out);
        vq_buf_putc(p->out, ')');
    }
    vq_buf_puts(p->out, count > 0 ? "\n" : "");
}

void vq_paper_vibes(const struct vq_table *t, const char *a, const char *b,
                    enum vq_paper_format format, struct vq_buf *out)
{
    static const char *const names[] = {"Vibe", "Low to high", "Separability", "Kappa", "MM", "PP"};
    static const char aligned[] = "llrrrr";
    struct paper p = {.format = format, .out = out};
    bool test = strcmp(split_of(t), "test") == 0;
    vq_buf_puts(out, format == VQ_PAPER_LATEX ? "% A = " : "A = ");
    vq_paper_text(vq_span_str(a), format, out);
    vq_buf_puts(out, ", B = ");
    vq_paper_text(vq_span_str(b), format, out);
    vq_buf_printf(out, ". Positive: A is higher. %s%s\n",
                  test ? "Test rows, 95 % intervals." : "In-sample numbers.",
                  format == VQ_PAPER_LATEX ? "" : "\n");
    begin(&p, aligned, VQ_COUNT(names));
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        text_cell(&p, vq_span_str(names[i]));
    }
    end_header(&p, aligned, VQ_COUNT(names));
    for (uint32_t row = 0; row < t->rows_count; row++) {
        if (is_kept(t, row)) {
            vibe_row(&p, t, row, test);
        }
    }
    end(&p);
    dropped(&p, t);
}

void vq_paper_table(const struct vq_table *t, enum vq_paper_format format, struct vq_buf *out)
{
    struct paper p = {.format = format, .out = out};
    begin(&p, NULL, t->columns_count);
    for (uint32_t c = 0; c < t->columns_count; c++) {
        text_cell(&p, t->columns[c]);
    }
    end_header(&p, NULL, t->columns_count);
    for (uint32_t row = 0; row < t->rows_count; row++) {
        for (uint32_t c = 0; c < t->columns_count; c++) {
            text_cell(&p, vq_csv_unsafe(vq_table_cell(t, row, c)));
        }
        end_row(&p);
    }
    end(&p);
}
