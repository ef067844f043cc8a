/* The writer of a results/report.html: one file that opens from disk, with no network, for people.
 * Pure: the same inputs give the same bytes. Not its job: the sections, which are the methods' own.
 *
 * All text of data, models and judges is untrusted: it is escaped where C writes it, and set as
 * text, never as markup, where the page's script writes it; the page's policy (CSP) allows its own
 * style and script by hash and nothing else. */
#ifndef VQ_METHODS_REPORT_HTML_HTML_H
#define VQ_METHODS_REPORT_HTML_HTML_H

#include "methods/report/report.h"
#include "methods/stats/stats.h"

/* Embedded at build time: the style, and the script of ratings (items.js). */
extern const struct vq_span vq_html_css;
extern const struct vq_span vq_html_items_js;

/* What is shown is bounded whatever the data are; what was cut carries a mark, what was left out is
 * counted. */
#define VQ_HTML_TEXT_BYTES_MAX 6000u /* of a prompt or an output */
#define VQ_HTML_IMAGE_BYTES_MAX                                                                    \
    (192u << 10) /* of a row's image, as a data: URI; a larger one is not shown */
#define VQ_HTML_ANSWER_BYTES_MAX 2400u              /* of a judge's answer */
#define VQ_HTML_NAME_BYTES_MAX   400u               /* of a name, a pole, a note */
#define VQ_HTML_DATA_BYTES_MAX   (12u << 20)        /* of the rows and answers, escaped */
#define VQ_HTML_GROUPS_MAX       24u                /* values of report.by; the rest is one line */
#define VQ_HTML_BYTES_MAX        ((size_t)64 << 20) /* of the whole page */

struct vq_html {
    struct vq_buf *out;
};

/* ---- frame.c ---- */

/* The page up to its title's text, which is the caller's, and from there to the body; then its
 * end. */
void vq_html_head(struct vq_html *h, const struct vq_span *script); /* NULL: it has none */
void vq_html_head_end(struct vq_html *h);
void vq_html_foot(struct vq_html *h, const struct vq_span *script);

/* ---- text.c ---- */

void vq_html_puts(struct vq_html *h, const char *markup);
void vq_html_printf(struct vq_html *h, const char *fmt, ...)
    VQ_PRINTF(2, 3); /* no text of others */
/* Escaped for elements and double-quoted attributes; bad UTF-8 and control characters become
 * U+FFFD; cut, with an ellipsis, at bytes_max. */
void vq_html_span(struct vq_html *h, struct vq_span text, size_t bytes_max);
void vq_html_text(struct vq_html *h,
                  const char *text); /* at most VQ_HTML_NAME_BYTES_MAX; NULL is "" */
/* Whether the page shows a row's image itself: it is one, and not too large. */
bool vq_html_shows(struct vq_span image);
/* In its place where it does not: the URL, or a word. */
struct vq_span vq_html_image_words(struct vq_span image);
/* What a judge wrote, as a paragraph: without the marks of Markdown, escaped, cut at
 * VQ_HTML_ANSWER_BYTES_MAX. */
void vq_html_answer(struct vq_html *h, struct vq_span text);
/* With a true minus sign; "n/a" for NaN. */
void vq_html_number(struct vq_html *h, double value, int digits);
void vq_html_signed(struct vq_html *h, double value, int digits);
void vq_html_interval(struct vq_html *h, struct vq_interval ci, int digits, bool with_sign);
void vq_html_count(struct vq_html *h, uint64_t n);
void vq_html_percent(struct vq_html *h, double share);
/* A signed bar with its interval; `full`: the value that fills half of it. */
void vq_html_bar(struct vq_html *h, double value, struct vq_interval ci, double full,
                 const char *kind);
/* A cell's class by the size and sign of a value in [-1, 1]; the attribute is left open:
 * class="... */
void vq_html_heat(struct vq_html *h, double value);
/* A scale from 0 to 1 with an accuracy, its interval and its baseline. */
void vq_html_scale(struct vq_html *h, double value, struct vq_interval ci, double baseline);
/* A card with a number, up to the number, which is the caller's. */
void vq_html_card(struct vq_html *h, const char *title);
/* What only VibeCheck knows of its calls. */
struct vq_html_lost {
    uint64_t failed; /* questions without an answer because their calls failed, retries included */
    bool cuts;       /* judging.truncate */
};
/* The cards of calls and cost; `calls` NULL: nothing. `lost` NULL: another method. */
void vq_html_calls(struct vq_html *h, const struct vq_report_calls *calls,
                   const struct vq_html_lost *lost);
#endif
