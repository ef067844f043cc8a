/* The one file results/report.html: static HTML, CSS and ES modules over one JSON value. The page
 * opens from disk without a network. C writes the JSON; the modules of methods/report/pages render
 * it.
 *
 * Invariant: all text of data, models and judges is untrusted. C escapes it here; the modules set
 * it as textContent and never as markup. The page's policy (CSP) allows only its own style and
 * script, by their SHA-256. Pure: the same inputs give the same bytes. */
#pragma once

#include "common/text/json.h"
#include "methods/report/report.h"
#include "methods/stats/stats.h"

/* The embedded style, and one script for each kind of report (embed.cmake lists its modules). */
extern const struct vq_span vq_page_css;
extern const struct vq_span vq_page_vibecheck_js;
extern const struct vq_span vq_page_rubric_js;
extern const struct vq_span vq_page_persona_js;

/* Limits of the page, for any data. The page marks a text that was cut, and reports the number of
 * rows that were left out. */
#define VQ_PAGE_TEXT_BYTES_MAX 6000u /* of a prompt or an output */
#define VQ_PAGE_IMAGE_BYTES_MAX                                                                    \
    (192u << 10) /* of a row's image, as a data: URI; a larger image is not shown */
#define VQ_PAGE_ANSWER_BYTES_MAX 2400u       /* of a judge's answer */
#define VQ_PAGE_NAME_BYTES_MAX   400u        /* of a name or a note */
#define VQ_PAGE_DATA_BYTES_MAX   (12u << 20) /* of the rows and answers, escaped */
/* values of a column that get numbers of their own */
#define VQ_PAGE_GROUPS_MAX    24u
#define VQ_PAGE_ROWS_MAX      10000u             /* rows or items that the reader can open */
#define VQ_PAGE_PLAIN_COLUMNS 100u               /* of the table that needs no script */
#define VQ_PAGE_BYTES_MAX     ((size_t)64 << 20) /* of the whole page */

struct vq_page {
    const struct vq_span *script;
    struct vq_buf title;
    struct vq_buf plain; /* the table of the terminal: shown until the script has run */
    struct vq_buf json;  /* one object, which the caller opens and closes */
};

void vq_page_init(struct vq_page *page, const struct vq_span *script);
/* Appends the page and frees its parts; a failure of a part sticks in out->status. */
void vq_page_finish(struct vq_page *page, struct vq_buf *out);
/* Opens the object of the JSON, and writes "vibeq", "results" (by `write`) and "calls" (null if
 * they are not known). */
void vq_page_begin_json(struct vq_page *page, struct vq_json *j,
                        void (*write)(const void *report, struct vq_buf *out), const void *report,
                        const struct vq_report_calls *calls);

/* Settings for the table of the terminal in vq_page.plain. */
extern const struct vq_terminal vq_page_terminal;

/* Appends text for an HTML element: invalid UTF-8 and control characters become U+FFFD; characters
 * that reverse the writing direction become visible. */
void vq_page_escape(struct vq_buf *out, struct vq_span text);
/* JSON for a script element: copies `json` with <, >, &, U+2028 and U+2029 as \u escapes. */
void vq_page_json(struct vq_buf *out, struct vq_span json);
/* upper bound of a text's bytes after vq_page_json */
size_t vq_page_json_bytes(struct vq_span text);

/* ---- values of the JSON ---- */

/* Writes a text as a string. If it is longer than bytes_max, writes an array: its beginning, and
 * the number of all its bytes. */
void vq_page_put_text(struct vq_json *j, struct vq_span text, size_t bytes_max);
/* Writes a judge's answer without Markdown marks; returns its bound of vq_page_json_bytes. */
size_t vq_page_put_answer(struct vq_json *j, struct vq_span answer);
/* Writes "image": a data: URI, or the words that the page shows instead. Writes nothing if there is
 * no image. */
void vq_page_put_image(struct vq_json *j, struct vq_span image);
size_t vq_page_image_bytes(struct vq_span image); /* an upper bound */
