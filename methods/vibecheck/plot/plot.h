/* The three bar panels of a run: separability, PP coefficient and kappa of each vibe. One drawing,
 * which is written as SVG or painted as PNG. */
#pragma once

#include "common/text/table.h"

#define VQ_PLOT_VIBES_MAX 200u /* rows of the picture; a note has the number of the other vibes */
#define VQ_PLOT_BYTES_MAX (64u << 20)
#define VQ_PLOT_PNG_SCALE 2 /* pixels of the PNG per unit of the drawing, in both directions */

struct vq_plot_words {
    const char *a, *b; /* the models */
    bool offline;      /* the judge needs no model; the picture mentions this */
};

enum vq_plot_anchor {
    VQ_PLOT_START,
    VQ_PLOT_MIDDLE,
    VQ_PLOT_END,
};

/* A piece of the drawing, in units of a pixel; y increases downwards. */
struct vq_plot_shape {
    enum {
        VQ_PLOT_RECT,
        VQ_PLOT_LINE, /* from (x, y) to (x + w, y + h) */
        VQ_PLOT_TEXT, /* (x, y): the base line */
    } kind;
    double x, y, w, h;
    uint32_t colour; /* 0xRRGGBB */
    double size;     /* of a text; for a line its width */
    bool bold;
    enum vq_plot_anchor anchor;
    char text[160];
};

struct vq_plot {
    double width, height;
    struct vq_plot_shape *shapes;
    size_t count, cap;
    char title[400]; /* for readers who cannot see the picture */
};

/* Draws vibes.csv: the kept vibes in the file's order, or all vibes if none was kept. A missing
 * value is "n/a", never a bar of 0. VQ_NOMEM. The caller frees *ret_plot with vq_plot_free, also
 * after a failure. */
enum vq_status vq_plot_draw(const struct vq_table *vibes, const struct vq_plot_words *words,
                            struct vq_plot *ret_plot) VQ_WARN_UNUSED;
void vq_plot_free(struct vq_plot *plot);

/* Both append the file to `out`. vq_plot_svg: failures stick in out->status. vq_plot_png (with
 * cairo): VQ_NOMEM, VQ_LIMIT of `out`. */
void vq_plot_svg(const struct vq_plot *plot, struct vq_buf *out);
enum vq_status vq_plot_png(const struct vq_plot *plot, struct vq_buf *out) VQ_WARN_UNUSED;
