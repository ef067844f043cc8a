/* Arranges the panels as shapes. Invariants: every shape is inside the drawing; all panels have one
 * row per vibe, in the same order. Not its job: the file format (svg.c, png.c), the numbers. */
#include "methods/vibecheck/plot/plot.h"

#include "common/base/alloc.h"
#include "common/text/fmt.h"
#include "common/text/utf8.h"
#include "methods/vibecheck/report/vibes_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WIDTH       1000.0
#define NAMES_WIDTH 220.0
#define PANEL_WIDTH 230.0
#define PANEL_GAP   25.0
#define TOP         92.0
#define ROW         24.0
#define BAR         13.0
#define BOTTOM      62.0
#define NAME_BYTES  34u
#define SHAPES_MAX  100000u

enum {
    INK = 0x222222,
    GREY = 0x777777,
    FAINT = 0xdddddd,
    HIGHER_A = 0x2b6cb0,
    HIGHER_B = 0xc05621,
    PLAIN = 0x4a5568
};

struct panel {
    const char *title, *test, *train, *lo, *hi; /* columns of the file; train, lo, hi may be NULL */
    bool is_signed;
    double left, least, most; /* of the scale */
};

struct drawing {
    struct vq_plot *plot;
    const struct vq_table *table;
    uint32_t *rows;
    uint32_t rows_count, left_out;
    bool none_kept;
    enum vq_status status; /* of the last add() */
};

/* ---- the file ---- */

static bool has_test(const struct drawing *d)
{
    for (uint32_t i = 0; i < d->rows_count; i++) {
        if (!isnan(vq_vibes_number(d->table, d->rows[i], "sep_test"))) {
            return true;
        }
    }
    return false;
}

static void choose_rows(struct drawing *d)
{
    for (int all = 0; all < 2 && d->rows_count == 0; all++) {
        for (uint32_t row = 0; row < d->table->rows_count; row++) {
            if (all == 0 && !(vq_vibes_number(d->table, row, "kept") > 0)) {
                continue;
            }
            if (d->rows_count == VQ_PLOT_VIBES_MAX) {
                d->left_out++;
            } else {
                d->rows[d->rows_count++] = row;
            }
        }
        d->none_kept = all == 1;
    }
}

/* ---- shapes ---- */

static void add(struct drawing *d, struct vq_plot_shape shape)
{
    void *shapes = d->plot->shapes;
    enum vq_status status =
        vq_grow(&shapes, &d->plot->cap, d->plot->count + 1, sizeof(shape), SHAPES_MAX);
    if (status != VQ_OK) {
        d->status = status;
        return;
    }
    d->plot->shapes = shapes;
    d->plot->shapes[d->plot->count++] = shape;
}

static void line(struct drawing *d, double x, double y, double w, double h, uint32_t colour,
                 double size)
{
    add(d,
        (struct vq_plot_shape){
            .kind = VQ_PLOT_LINE, .x = x, .y = y, .w = w, .h = h, .colour = colour, .size = size});
}

VQ_PRINTF(7, 8)
static void text(struct drawing *d, double x, double y, enum vq_plot_anchor anchor, double size,
                 uint32_t colour, const char *fmt, ...)
{
    struct vq_plot_shape shape = {.kind = VQ_PLOT_TEXT,
                                  .x = x,
                                  .y = y,
                                  .anchor = anchor,
                                  .size = size,
                                  .bold = size > 12, /* headings */
                                  .colour = colour};
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(shape.text, sizeof(shape.text), fmt, args);
    va_end(args);
    size_t whole = vq_utf8_valid_bytes(vq_span_str(shape.text)); /* a cut may split a character */
    shape.text[whole] = '\0';
    add(d, shape);
}

/* ---- a panel ---- */

static double x_of(const struct panel *p, double v)
{
    double clipped = fmin(fmax(v, p->least), p->most);
    return p->left + (clipped - p->least) / (p->most - p->least) * PANEL_WIDTH;
}

/* The smallest of 0.25, 0.5, 1, 2, 5, 10 ... that is not less than any value. */
static double scale_of(const struct drawing *d, const struct panel *p, bool test)
{
    double most = 0, scale = 0.25;
    static const double steps[] = {2, 2, 2, 2.5, 2};
    for (uint32_t i = 0; i < d->rows_count; i++) {
        const char *names[] = {test ? p->test : p->train, test ? p->lo : NULL, test ? p->hi : NULL};
        for (size_t k = 0; k < VQ_COUNT(names); k++) {
            double v = vq_vibes_number(d->table, d->rows[i], names[k]);
            most = isnan(v) ? most : fmax(most, fabs(v));
        }
    }
    for (size_t i = 0; scale < most && i < 40; i++) {
        scale *= steps[i % VQ_COUNT(steps)];
    }
    return scale;
}

static void axis(struct drawing *d, const struct panel *p, double bottom)
{
    double ticks[] = {p->least, (p->least + p->most) / 2, p->most};
    for (size_t i = 0; i < VQ_COUNT(ticks); i++) {
        double x = x_of(p, ticks[i]);
        line(d, x, TOP - 4, 0, bottom - TOP + 4, FAINT, 1);
        text(d, x, bottom + 16, VQ_PLOT_MIDDLE, 11, GREY, "%g", ticks[i]);
    }
    line(d, x_of(p, 0), TOP - 4, 0, bottom - TOP + 4, GREY, 1);
    text(d, p->left + PANEL_WIDTH / 2, TOP - 14, VQ_PLOT_MIDDLE, 13, INK, "%s", p->title);
}

static void bar(struct drawing *d, const struct panel *p, uint32_t i, bool test)
{
    double y = TOP + ROW * i, middle = y + ROW / 2;
    double v = vq_vibes_number(d->table, d->rows[i], test ? p->test : p->train);
    if (isnan(v)) {
        text(d, x_of(p, 0) + 4, middle + 4, VQ_PLOT_START, 11, GREY, "n/a");
        return;
    }
    double from = fmin(x_of(p, 0), x_of(p, v)), to = fmax(x_of(p, 0), x_of(p, v));
    uint32_t colour = !p->is_signed ? PLAIN : v >= 0 ? HIGHER_A : HIGHER_B;
    add(d, (struct vq_plot_shape){.kind = VQ_PLOT_RECT,
                                  .x = from,
                                  .y = middle - BAR / 2,
                                  .w = to - from,
                                  .h = BAR,
                                  .colour = colour});
    double lo = test || p->train == p->test ? vq_vibes_number(d->table, d->rows[i], p->lo) : NAN;
    double hi = test || p->train == p->test ? vq_vibes_number(d->table, d->rows[i], p->hi) : NAN;
    if (!isnan(lo) && !isnan(hi)) {
        line(d, x_of(p, lo), middle, x_of(p, hi) - x_of(p, lo), 0, INK, 1.2);
        line(d, x_of(p, lo), middle - 4, 0, 8, INK, 1.2);
        line(d, x_of(p, hi), middle - 4, 0, 8, INK, 1.2);
    }
}

/* ---- all of it ---- */

static void names(struct drawing *d)
{
    for (uint32_t i = 0; i < d->rows_count; i++) {
        struct vq_span name = vq_vibes_text(d->table, d->rows[i], "name");
        struct vq_buf plain;
        vq_buf_init(&plain, sizeof(d->plot->title));
        vq_fmt_plain(&plain, vq_utf8_cut(name, NAME_BYTES));
        text(d, NAMES_WIDTH - 12, TOP + ROW * i + ROW / 2 + 4, VQ_PLOT_END, 12, INK, "%s%s",
             plain.at == NULL ? "" : plain.at, name.bytes > NAME_BYTES ? "\xe2\x80\xa6" : "");
        vq_buf_free(&plain);
    }
}

static void headings(struct drawing *d, const struct vq_plot_words *w, bool test, double bottom)
{
    text(d, 20, 28, VQ_PLOT_START, 16, INK, "%.60s (A) and %.60s (B)", w->a, w->b);
    text(d, 20, 48, VQ_PLOT_START, 12, GREY, "%s%s%s",
         test ? "Test rows. Lines: 95 % intervals." : "In-sample numbers: there are no test rows.",
         d->none_kept ? " No vibe was kept; all are shown." : "",
         d->left_out > 0 ? " Further vibes are left out." : "");
    text(d, 20, bottom + 40, VQ_PLOT_START, 11, HIGHER_A,
         "to the right: A is higher, or preferred where A is higher");
    text(d, 420, bottom + 40, VQ_PLOT_START, 11, HIGHER_B, "to the left: B");
    if (w->offline) {
        text(d, WIDTH - 20, bottom + 40, VQ_PLOT_END, 11, HIGHER_B,
             "Made with the offline judge: the numbers mean nothing.");
    }
}

static enum vq_status draw(struct drawing *d, const struct vq_plot_words *w)
{
    struct panel panels[] = {
        {"Separability", "sep_test", "sep_train", "sep_test_lo", "sep_test_hi", true, 0, 0, 0},
        {"PP coefficient", "pp_coefficient", "pp_coefficient", "pp_lo", "pp_hi", true, 0, 0, 0},
        {"Kappa", "kappa_test", "kappa_train", NULL, NULL, false, 0, 0, 0},
    };
    choose_rows(d);
    bool test = has_test(d);
    double bottom = TOP + ROW * d->rows_count;
    d->plot->width = WIDTH;
    d->plot->height = bottom + BOTTOM;
    headings(d, w, test, bottom);
    names(d);
    for (size_t k = 0; k < VQ_COUNT(panels); k++) {
        struct panel *p = &panels[k];
        p->left = NAMES_WIDTH + (double)k * (PANEL_WIDTH + PANEL_GAP);
        p->most = p->is_signed ? scale_of(d, p, test) : 1;
        p->least = p->is_signed ? -p->most : 0;
        axis(d, p, bottom);
        for (uint32_t i = 0; i < d->rows_count; i++) {
            bar(d, p, i, test);
        }
    }
    (void)snprintf(d->plot->title, sizeof(d->plot->title),
                   "Separability, PP coefficient and kappa of %u vibes: %.100s and %.100s",
                   d->rows_count, w->a, w->b);
    d->plot->title[vq_utf8_valid_bytes(vq_span_str(d->plot->title))] = '\0';
    return d->status;
}

enum vq_status vq_plot_draw(const struct vq_table *vibes, const struct vq_plot_words *words,
                            struct vq_plot *ret_plot)
{
    *ret_plot = (struct vq_plot){.count = 0};
    struct drawing d = {.plot = ret_plot, .table = vibes};
    VQ_TRY(VQ_ALLOC(d.rows, VQ_PLOT_VIBES_MAX));
    enum vq_status status = draw(&d, words);
    vq_free(d.rows);
    return status;
}

void vq_plot_free(struct vq_plot *plot)
{
    vq_free(plot->shapes);
    *plot = (struct vq_plot){.count = 0};
}
