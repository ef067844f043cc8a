/* Private to the page: its writer and its sections, one file each. */
#ifndef VQ_METHODS_REPORT_HTML_PARTS_H
#define VQ_METHODS_REPORT_HTML_PARTS_H

#include "methods/report/html.h"

/* Embedded at build time: the style, and the scripts of vibes (frame.js, page.js), of ratings
 * (items.js) and of more than two models (frame.js). */
extern const struct vq_span vq_html_css;
extern const struct vq_span vq_html_js;
extern const struct vq_span vq_html_items_js;
extern const struct vq_span vq_html_frame_js;

struct vq_html {
    const struct vq_report_input *r;
    const struct vq_report_story *story;
    struct vq_buf *out;
    const uint32_t *order; /* vibes as shown: kept ones first */
    bool test;             /* the split that leads: test, or train without one */
};

/* ---- html.c ---- */

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
/* "A" or "B" with its colour and the model's name. */
void vq_html_model(struct vq_html *h, int model);
/* The name of the vibe that is shown as number `rank`, linked to its details where it has some. */
void vq_html_vibe(struct vq_html *h, uint32_t rank);
/* A signed bar with its interval; `full`: the value that fills half of it. */
void vq_html_bar(struct vq_html *h, double value, struct vq_interval ci, double full,
                 const char *kind);
/* A cell's class by the size and sign of a value in [-1, 1]; the attribute is left open:
 * class="... */
void vq_html_heat(struct vq_html *h, double value);
/* JSON for inside a script element: copies `json` with <, >, &, U+2028 and U+2029 as \u escapes. */
void vq_html_json(struct vq_buf *out, struct vq_span json);
size_t vq_html_json_bytes(struct vq_span text); /* an upper bound of a text's size there */

/* ---- sections ---- */

void vq_html_headline(struct vq_html *h); /* headline.c */
/* A card with a number up to the number, which is the caller's; and the cards of story->calls, if
 * there are any. */
void vq_html_card(struct vq_html *h, const char *title);
void vq_html_calls(struct vq_html *h);
void vq_html_warnings(struct vq_html *h); /* warnings.c */
void vq_html_table(struct vq_html *h);    /* table.c: kept vibes, then the dropped ones */
void vq_html_vibes(struct vq_html *h);    /* vibes.c: the details of each vibe */
void vq_html_rows(struct vq_html *h); /* rows.c: the frame of the row browser, and the data block */

void vq_html_overlap(struct vq_html *h); /* overlap.c: which vibes say the same */
void vq_html_judges(struct vq_html *h);  /* groups.c: each judge alone */
void vq_html_values(struct vq_html *h);  /* and each value of report.by, or of data.group */
void vq_html_story(struct vq_html *h);   /* story.c: how the vibes were found */
void vq_html_presets(struct vq_html *h); /* and the preset ones beside them */
void vq_html_methods(struct vq_html *h); /* methods.c: every setting that matters, in prose */

double vq_html_separability(const struct vq_html *h, uint32_t vibe, struct vq_interval *ret_ci);
const struct vq_agreement_pair *vq_html_agreement(const struct vq_html *h, uint32_t vibe);
/* A scale from 0 to 1 with an accuracy, its interval and its baseline. */
void vq_html_scale(struct vq_html *h, double value, struct vq_interval ci, double baseline);
/* A fold of the dropped vibes, each as `item` writes it; nothing if none was dropped. `rank`: its
 * place in h->order. */
void vq_html_dropped(struct vq_html *h, void (*item)(struct vq_html *h, uint32_t rank));
void vq_html_drop_reason(struct vq_html *h, uint32_t vibe);

/* ranking.c: more than two models. The names of all, the first sentence, and the matrix with the
 * table of vibes. */
void vq_html_ranking_title(struct vq_html *h);
void vq_html_ranking_sentence(struct vq_html *h);
void vq_html_ranking(struct vq_html *h);

/* data.c: the rows, examples and answers as JSON, escaped. */
void vq_html_data(struct vq_html *h);

#endif
