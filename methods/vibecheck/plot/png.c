/* The drawing as PNG, painted by cairo with the fonts of this machine. A call owns the surface. */
#include "methods/vibecheck/plot/plot.h"

#include <cairo.h>
#include <fontconfig/fontconfig.h>
#include <math.h>

static void colour(cairo_t *c, uint32_t rgb)
{
    cairo_set_source_rgb(c, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
                         (rgb & 255) / 255.0);
}

static void paint_text(cairo_t *c, const struct vq_plot_shape *s)
{
    cairo_text_extents_t size;
    cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           s->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c, s->size);
    cairo_text_extents(c, s->text, &size);
    double share = s->anchor == VQ_PLOT_START ? 0 : s->anchor == VQ_PLOT_MIDDLE ? 0.5 : 1;
    cairo_move_to(c, s->x - size.x_advance * share, s->y);
    cairo_show_text(c, s->text);
}

static void paint(cairo_t *c, const struct vq_plot_shape *s)
{
    colour(c, s->colour);
    switch (s->kind) {
    case VQ_PLOT_RECT:
        cairo_rectangle(c, s->x, s->y, s->w, s->h);
        cairo_fill(c);
        break;
    case VQ_PLOT_LINE:
        cairo_set_line_width(c, s->size);
        cairo_move_to(c, s->x, s->y);
        cairo_line_to(c, s->x + s->w, s->y + s->h);
        cairo_stroke(c);
        break;
    case VQ_PLOT_TEXT: paint_text(c, s); break;
    }
}

static cairo_status_t take(void *ctx, const unsigned char *bytes, unsigned n)
{
    struct vq_buf *out = ctx;
    vq_buf_append(out, bytes, n);
    return out->status == VQ_OK ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

enum vq_status vq_plot_png(const struct vq_plot *plot, struct vq_buf *out)
{
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(plot->width) * VQ_PLOT_PNG_SCALE,
                                   (int)ceil(plot->height) * VQ_PLOT_PNG_SCALE);
    cairo_t *c = cairo_create(surface);
    cairo_scale(c, VQ_PLOT_PNG_SCALE, VQ_PLOT_PNG_SCALE);
    colour(c, 0xffffff);
    cairo_paint(c);
    for (size_t i = 0; i < plot->count; i++) {
        paint(c, &plot->shapes[i]);
    }
    cairo_status_t painted = cairo_status(c);
    cairo_status_t written = cairo_surface_write_to_png_stream(surface, take, out);
    cairo_destroy(c);
    cairo_surface_destroy(surface);
    /* cairo and fontconfig keep fonts until the process ends, but the process paints only once */
    cairo_debug_reset_static_data();
    FcFini();
    return out->status != VQ_OK                                                 ? out->status
           : painted == CAIRO_STATUS_SUCCESS && written == CAIRO_STATUS_SUCCESS ? VQ_OK
                                                                                : VQ_NOMEM;
}
