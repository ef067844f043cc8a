/* The drawing as SVG. A text remains a text, so that it can be searched and edited. Pure. */
#include "methods/vibecheck/plot/plot.h"

#include "common/text/utf8.h"

static void escaped(struct vq_buf *out, const char *text)
{
    struct vq_span all = vq_span_str(text);
    for (size_t at = 0; at < all.bytes;) {
        char bytes[VQ_UTF8_BYTES_MAX];
        uint32_t point = vq_utf8_next(all, &at);
        switch (point) {
        case '<': vq_buf_puts(out, "&lt;"); break;
        case '>': vq_buf_puts(out, "&gt;"); break;
        case '&': vq_buf_puts(out, "&amp;"); break;
        case '"': vq_buf_puts(out, "&quot;"); break;
        default:
            point = point < 32 || point == 0xfffe || point == 0xffff ? ' ' : point;
            vq_buf_append(out, bytes, vq_utf8_put(point, bytes));
        }
    }
}

static void shape(struct vq_buf *out, const struct vq_plot_shape *s)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    switch (s->kind) {
    case VQ_PLOT_RECT:
        vq_buf_printf(
            out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#%06x\"/>\n",
            s->x, s->y, s->w, s->h, s->colour);
        break;
    case VQ_PLOT_LINE:
        vq_buf_printf(out,
                      "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"#%06x\" "
                      "stroke-width=\"%.1f\"/>\n",
                      s->x, s->y, s->x + s->w, s->y + s->h, s->colour, s->size);
        break;
    case VQ_PLOT_TEXT:
        vq_buf_printf(out,
                      "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\" font-size=\"%.0f\"%s "
                      "fill=\"#%06x\">",
                      s->x, s->y, anchors[s->anchor], s->size,
                      s->bold ? " font-weight=\"bold\"" : "", s->colour);
        escaped(out, s->text);
        vq_buf_puts(out, "</text>\n");
        break;
    }
}

void vq_plot_svg(const struct vq_plot *plot, struct vq_buf *out)
{
    vq_buf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" role=\"img\">\n<title>",
                  plot->width, plot->height, plot->width, plot->height);
    escaped(out, plot->title);
    vq_buf_puts(out, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    for (size_t i = 0; i < plot->count; i++) {
        shape(out, &plot->shapes[i]);
    }
    vq_buf_puts(out, "</svg>\n");
}
