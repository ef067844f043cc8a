/* The page's writer: escaping, cutting, numbers, bars, and JSON that may stand inside a script
 * element. Every byte of a prompt, an output, a name or an answer goes through vq_html_span or
 * vq_html_json. */
#include "methods/report/html/html.h"

#include "common/judge/image.h"
#include "common/text/fmt.h"
#include "common/text/utf8.h"
#include "methods/report/pages/plain.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define BAR_HALF   60.0
#define BAR_HEIGHT 18
#define LINE_MAX   1024

void vq_html_puts(struct vq_html *h, const char *markup)
{
    vq_buf_puts(h->out, markup);
}

void vq_html_printf(struct vq_html *h, const char *fmt, ...)
{
    char line[LINE_MAX];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    VQ_ASSERT(n >= 0 && n < LINE_MAX);
    vq_buf_puts(h->out, line);
}

static void put_point(struct vq_buf *out, uint32_t point)
{
    switch (point) {
    case '&': vq_buf_puts(out, "&amp;"); return;
    case '<': vq_buf_puts(out, "&lt;"); return;
    case '>': vq_buf_puts(out, "&gt;"); return;
    case '"': vq_buf_puts(out, "&quot;"); return;
    case '\'': vq_buf_puts(out, "&#39;"); return;
    default: break;
    }
    if (vq_utf8_is_bidi(point)) {
        vq_buf_printf(out, "&lt;U+%04X&gt;", point);
        return;
    }
    bool control =
        (point < 0x20 && point != '\n' && point != '\t') || (point >= 0x7f && point < 0xa0);
    char bytes[VQ_UTF8_BYTES_MAX];
    vq_buf_append(out, bytes, vq_utf8_put(control ? VQ_UTF8_REPLACEMENT : point, bytes));
}

void vq_html_span(struct vq_html *h, struct vq_span text, size_t bytes_max)
{
    struct vq_span shown = vq_utf8_cut(text, bytes_max);
    for (size_t at = 0; at < shown.bytes;) {
        put_point(h->out, vq_utf8_next(shown, &at));
    }
    if (shown.bytes < text.bytes) {
        vq_buf_puts(h->out, "\xe2\x80\xa6");
    }
}

void vq_html_answer(struct vq_html *h, struct vq_span text)
{
    struct vq_buf plain;
    vq_buf_init(&plain, text.bytes);
    vq_plain_of_markdown(text, &plain);
    vq_html_puts(h, "<p class=\"text\">");
    vq_html_span(h, plain.status == VQ_OK ? vq_buf_span(&plain) : text, VQ_HTML_ANSWER_BYTES_MAX);
    vq_html_puts(h, "</p>");
    vq_buf_free(&plain);
}

void vq_html_text(struct vq_html *h, const char *text)
{
    vq_html_span(h, vq_span_str(text), VQ_HTML_NAME_BYTES_MAX);
}

static void number(struct vq_html *h, double value, int digits, bool with_sign)
{
    if (isnan(value)) {
        vq_html_puts(h, "<span class=\"na\">n/a</span>");
        return;
    }
    char text[64];
    (void)snprintf(text, sizeof(text), "%.*f", digits, fabs(value));
    bool zero = strspn(text, "0.") == strlen(text);
    vq_html_puts(h, zero ? "" : value < 0 ? "\xe2\x88\x92" : with_sign ? "+" : "");
    vq_html_puts(h, text);
}

bool vq_html_shows(struct vq_span image)
{
    return image.bytes > 0 && image.bytes <= VQ_HTML_IMAGE_BYTES_MAX && !vq_image_is_url(image);
}

struct vq_span vq_html_image_words(struct vq_span image)
{
    return vq_image_is_url(image) ? image : vq_span_str("The image is too large for this page.");
}

void vq_html_number(struct vq_html *h, double value, int digits)
{
    number(h, value, digits, false);
}

void vq_html_signed(struct vq_html *h, double value, int digits)
{
    number(h, value, digits, true);
}

void vq_html_interval(struct vq_html *h, struct vq_interval ci, int digits, bool with_sign)
{
    if (isnan(ci.lo) || isnan(ci.hi)) {
        vq_html_puts(h, "<span class=\"na\">no interval</span>");
        return;
    }
    vq_html_puts(h, "[");
    number(h, ci.lo, digits, with_sign);
    vq_html_puts(h, ", ");
    number(h, ci.hi, digits, with_sign);
    vq_html_puts(h, "]");
}

void vq_html_count(struct vq_html *h, uint64_t n)
{
    char text[VQ_FMT_BYTES];
    vq_html_puts(h, vq_fmt_count(n, text));
}

void vq_html_percent(struct vq_html *h, double share)
{
    if (isnan(share)) {
        vq_html_puts(h, "<span class=\"na\">n/a</span>");
        return;
    }
    vq_html_printf(h, "%.1f\xe2\x80\xaf%%", share * 100);
}

static double clamp(double value, double full)
{
    double share = full > 0 ? value / full : 0;
    return share < -1 ? -1 : share > 1 ? 1 : share;
}

void vq_html_bar(struct vq_html *h, double value, struct vq_interval ci, double full,
                 const char *kind)
{
    vq_html_printf(h, "<svg class=\"bar %s\" viewBox=\"-62 0 124 %d\" aria-hidden=\"true\">", kind,
                   BAR_HEIGHT);
    vq_html_printf(h,
                   "<rect class=\"track\" x=\"-60\" y=\"4\" width=\"120\" height=\"%d\" rx=\"2\"/>",
                   BAR_HEIGHT - 8);
    if (!isnan(value)) {
        double end = clamp(value, full) * BAR_HALF;
        vq_html_printf(h, "<rect class=\"%s\" x=\"%.2f\" y=\"4\" width=\"%.2f\" height=\"%d\"/>",
                       value < 0 ? "neg" : "pos", end < 0 ? end : 0, fabs(end), BAR_HEIGHT - 8);
    }
    vq_html_printf(h, "<line class=\"zero\" x1=\"0\" x2=\"0\" y1=\"1\" y2=\"%d\"/>",
                   BAR_HEIGHT - 1);
    if (!isnan(ci.lo) && !isnan(ci.hi)) {
        double lo = clamp(ci.lo, full) * BAR_HALF;
        double hi = clamp(ci.hi, full) * BAR_HALF;
        vq_html_printf(h, "<path class=\"ci\" d=\"M%.2f 9H%.2fM%.2f 6V12M%.2f 6V12\"/>", lo, hi, lo,
                       hi);
    }
    vq_html_puts(h, "</svg>");
}

void vq_html_heat(struct vq_html *h, double value)
{
    int step = isnan(value) ? 0 : (int)(fmin(fabs(value), 1) * 10 + 0.5);
    vq_html_printf(h, "class=\"heat %s h%d", value < 0 ? "neg" : "pos", step);
}

void vq_html_scale(struct vq_html *h, double value, struct vq_interval ci, double baseline)
{
    vq_html_puts(h, "<svg class=\"scale\" viewBox=\"-2 0 204 18\" aria-hidden=\"true\">"
                    "<rect class=\"track\" x=\"0\" y=\"7\" width=\"200\" height=\"4\" rx=\"2\"/>");
    if (!isnan(ci.lo) && !isnan(ci.hi)) {
        vq_html_printf(
            h, "<rect class=\"range\" x=\"%.2f\" y=\"5\" width=\"%.2f\" height=\"8\" rx=\"4\"/>",
            ci.lo * 200, (ci.hi - ci.lo) * 200);
    }
    if (!isnan(baseline)) {
        vq_html_printf(h, "<line class=\"base\" x1=\"%.2f\" x2=\"%.2f\" y1=\"1\" y2=\"17\"/>",
                       baseline * 200, baseline * 200);
    }
    vq_html_printf(h, "<circle class=\"dot\" cx=\"%.2f\" cy=\"9\" r=\"4\"/></svg>", value * 200);
}

void vq_html_card(struct vq_html *h, const char *title)
{
    vq_html_printf(h, "<div class=\"card\"><h3>%s</h3><p class=\"big\">", title);
}

/* A failed call that was retried loses no answer: only questions without an answer are marked. */
static void failed_calls(struct vq_html *h, const struct vq_report_calls *c,
                         const struct vq_html_lost *lost)
{
    uint64_t questions = lost != NULL ? lost->failed : 0;
    if (c->failed > 0) {
        vq_html_puts(h, ", ");
        vq_html_count(h, c->failed);
        vq_html_puts(h, lost != NULL && questions == 0 ? " failed and were made again" : " failed");
    }
    if (questions > 0) {
        vq_html_puts(h, ", <b class=\"wrong\">");
        vq_html_count(h, questions);
        vq_html_printf(h, " question%s failed for good</b>", vq_fmt_plural(questions));
    }
}

void vq_html_calls(struct vq_html *h, const struct vq_report_calls *c,
                   const struct vq_html_lost *lost)
{
    if (c == NULL) {
        return;
    }
    vq_html_card(h, "Calls");
    vq_html_count(h, c->sent);
    vq_html_puts(h, "</p><p>of ");
    vq_html_count(h, c->planned);
    vq_html_puts(h, " planned; ");
    vq_html_count(h, c->from_store);
    vq_html_puts(h, " answered from the store");
    if (lost != NULL) { /* other methods ask all */
        vq_html_puts(h, ", ");
        vq_html_count(h, c->saved_by_lazy_swap);
        vq_html_puts(h, " not needed");
    }
    if (lost != NULL && lost->cuts && c->too_long > 0) {
        vq_html_puts(h, ", ");
        vq_html_count(h, c->too_long);
        vq_html_puts(h, " too long and asked again with both outputs cut evenly");
    }
    failed_calls(h, c, lost);
    vq_html_puts(h, "</p></div>\n");
    vq_html_card(h, "Cost");
    char text[VQ_FMT_BYTES];
    vq_html_puts(h, c->priced ? vq_fmt_dollars(c->cost_usd, text)
                              : "<span class=\"na\">no prices set</span>");
    vq_html_puts(h, "</p><p>");
    vq_html_count(h, c->tokens_in);
    vq_html_printf(h, " token%s in", vq_fmt_plural(c->tokens_in));
    if (c->tokens_cached > 0) {
        vq_html_puts(h, " (");
        vq_html_count(h, c->tokens_cached);
        vq_html_puts(h, " from a cache)");
    }
    vq_html_puts(h, ", ");
    vq_html_count(h, c->tokens_out);
    vq_html_puts(h, " out</p></div>\n");
}
