/* A chart of curves over rounds, as SVG in the page: no script, no network. What is missing is a
 * gap in the line. Not its job: what is drawn (persona_measure.c). */
#include "methods/persona/report/page_parts.h"

#include <math.h>

struct box {
    double left, right, top, bottom, wide, high;
    const struct vq_persona_chart *chart;
};

static double place_x(const struct box *b, uint32_t round)
{
    double share = b->chart->last == 0 ? 0 : (double)round / b->chart->last;
    return b->left + share * (b->right - b->left);
}

static double place_y(const struct box *b, double value)
{
    double share = (value - b->chart->lo) / (b->chart->hi - b->chart->lo);
    return b->bottom - fmin(1, fmax(0, share)) * (b->bottom - b->top);
}

static double value_at(const struct vq_persona_series *s, uint32_t i)
{
    return s->means != NULL ? s->means[i].mean : s->values[i];
}

static void draw_intervals(struct vq_html *h, const struct box *b,
                           const struct vq_persona_series *s)
{
    bool any = false;
    for (uint32_t i = 0; s->means != NULL && i < s->points; i++) {
        struct vq_interval ci = s->means[i].ci95;
        if (isnan(ci.lo) || isnan(ci.hi)) {
            continue;
        }
        if (!any) {
            vq_html_printf(h, "<path class=\"ci %s\" d=\"", s->style);
        }
        any = true;
        vq_html_printf(h, "M%.1f %.1fV%.1f", place_x(b, s->rounds[i]), place_y(b, ci.lo),
                       place_y(b, ci.hi));
    }
    vq_html_puts(h, any ? "\"/>" : "");
}

static void draw_line(struct vq_html *h, const struct box *b, const struct vq_persona_series *s)
{
    bool inside = false, any = false;
    for (uint32_t i = 0; i < s->points; i++) {
        double value = value_at(s, i);
        if (isnan(value)) {
            inside = false;
            continue;
        }
        if (!any) {
            vq_html_printf(h, "<path class=\"line %s\" d=\"", s->style);
        }
        vq_html_printf(h, "%c%.1f %.1f", inside ? 'L' : 'M', place_x(b, s->rounds[i]),
                       place_y(b, value));
        inside = true;
        any = true;
    }
    vq_html_puts(h, any ? "\"/>" : "");
    for (uint32_t i = 0; s->dots && i < s->points; i++) {
        double value = value_at(s, i);
        if (!isnan(value)) {
            vq_html_printf(h, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>",
                           s->style, place_x(b, s->rounds[i]), place_y(b, value),
                           b->chart->small ? "1.6" : "2.2");
        }
    }
}

static void label(struct vq_persona_page *p, const struct box *b, double value)
{
    vq_html_printf(&p->h, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", b->left - 4,
                   place_y(b, value) + 3);
    vq_persona_page_value(p, b->chart->unit, value, b->chart->contrast);
    vq_html_puts(&p->h, "</text>");
}

static const char *along(const struct vq_persona_chart *c)
{
    return c->along != NULL ? c->along : "round";
}

static void draw_axes(struct vq_persona_page *p, const struct box *b)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_chart *c = b->chart;
    double middle = (c->lo + c->hi) / 2;
    const double at[] = {c->lo, middle, c->hi};
    for (size_t i = 0; i < VQ_COUNT(at); i++) {
        vq_html_printf(h, "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
                       c->contrast && i == 1 ? "zero" : "grid", b->left, b->right,
                       place_y(b, at[i]), place_y(b, at[i]));
        label(p, b, at[i]);
    }
    vq_html_printf(h, "<text x=\"%.1f\" y=\"%.1f\">0</text>", b->left, b->bottom + 12);
    vq_html_printf(h, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s%s%u</text>", b->right,
                   b->bottom + 12, c->small ? "" : along(c), c->small ? "" : " ", c->last);
}

/* Where the first line begins and ends. */
static void read_out(struct vq_persona_page *p, const struct vq_persona_chart *c)
{
    const struct vq_persona_series *s = &c->series[0];
    uint32_t first = 0, last = s->points;
    while (first < s->points && isnan(value_at(s, first))) {
        first++;
    }
    while (last > first && isnan(value_at(s, last - 1))) {
        last--;
    }
    if (first == last) {
        vq_html_puts(&p->h, "no values");
        return;
    }
    vq_html_printf(&p->h, "%s %u ", along(c), s->rounds[first]);
    vq_persona_page_value(p, c->unit, value_at(s, first), c->contrast);
    vq_html_printf(&p->h, ", %s %u ", along(c), s->rounds[last - 1]);
    vq_persona_page_value(p, c->unit, value_at(s, last - 1), c->contrast);
}

void vq_persona_page_chart(struct vq_persona_page *p, const struct vq_persona_chart *c)
{
    struct vq_html *h = &p->h;
    VQ_ASSERT(c->count > 0);
    struct box b = {.left = 34,
                    .top = 6,
                    .wide = c->small ? 170 : 250,
                    .high = c->small ? 96 : 170,
                    .chart = c};
    b.right = b.wide - 6;
    b.bottom = b.high - 18;
    vq_html_puts(h, "<figure><figcaption>");
    vq_html_puts(h, c->title);
    if (c->name != NULL) {
        vq_html_puts(h, "<bdi>");
        vq_html_text(h, c->name);
        vq_html_puts(h, "</bdi>");
    }
    vq_html_puts(h, "<span class=\"hint\"> ");
    read_out(p, c);
    vq_html_printf(h,
                   "</span></figcaption><svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" "
                   "aria-hidden=\"true\">",
                   b.wide, b.high);
    draw_axes(p, &b);
    for (uint32_t i = c->count; i > 0; i--) { /* the first one on top */
        draw_intervals(h, &b, &c->series[i - 1]);
        draw_line(h, &b, &c->series[i - 1]);
    }
    vq_html_puts(h, "</svg></figure>\n");
}
