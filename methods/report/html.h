/* results/report.html: one file that opens from disk, with no network, for people. What the numbers
 * are is in report.h's input; the story around them (how vibes were found, what it cost, what the
 * judges wrote) is optional, part by part. Pure: the same inputs give the same bytes.
 *
 * All text of data, models and judges is untrusted: it is escaped where C writes it, and set as
 * text, never as markup, where the page's script writes it; the page's policy (CSP) allows its own
 * style and script by hash and nothing else. */
#ifndef VQ_METHODS_REPORT_HTML_H
#define VQ_METHODS_REPORT_HTML_H

#include "methods/report/report.h"
#include "methods/vibecheck/method.h"

/* What is shown is bounded whatever the data are; what was cut carries a mark, what was left out is
 * counted. */
#define VQ_HTML_TEXT_BYTES_MAX 6000u /* of a prompt or an output */
#define VQ_HTML_IMAGE_BYTES_MAX                                                                    \
    (192u << 10) /* of a row's image, as a data: URI; a larger one is not shown */
#define VQ_HTML_ANSWER_BYTES_MAX 2400u       /* of a judge's answer */
#define VQ_HTML_NAME_BYTES_MAX   400u        /* of a name, a pole, a note */
#define VQ_HTML_DATA_BYTES_MAX   (12u << 20) /* of the rows and answers, escaped */
#define VQ_HTML_ROWS_MAX         4000u       /* rows that can be looked at */
#define VQ_HTML_WRONG_MAX        200u        /* of them, misclassified ones beside the examples */
#define VQ_HTML_PLAIN_MAX        100u        /* and rows of no special kind */
#define VQ_HTML_VIBES_MAX        200u        /* vibes with examples and details */
#define VQ_HTML_OVERLAP_MAX      40u         /* vibes in the overlap map */
#define VQ_HTML_GROUPS_MAX       24u         /* values of report.by; the rest is one line */
#define VQ_HTML_BYTES_MAX        ((size_t)64 << 20) /* of the whole page */

struct
    vq_report_retest { /* of one judge: cells asked a second time, and those answered otherwise */
    uint64_t cells, flips;
};

/* All borrowed; zero-initialised is a story with nothing in it. */
struct vq_report_story {
    const struct vq_method_result *method; /* NULL: nothing is known of it */
    const struct vq_vibecheck *presets;    /* of method->preset_axes; NULL: not compared */
    const struct vq_report_calls *calls;
    const struct vq_report_retest *retest; /* one a judge */
    /* The raw answer that stands for (sample, vibe, judge, order); false: there is none. The text
     * is valid until the next call. NULL: answers are not shown. */
    bool (*answer)(void *ctx, uint32_t sample, uint32_t vibe, uint32_t judge, uint32_t order,
                   struct vq_span *ret_text);
    void *answer_ctx;
};

/* Appends the page; failures stick in out->status. `story` may be NULL. */
void vq_report_html(const struct vq_report_input *r, const struct vq_report_story *story,
                    struct vq_buf *out);

/* The page of a rubric run (method: judge). A script finds items in it; without one all of them are
 * there. */
struct vq_rubric_report;
void vq_rubric_report_html(const struct vq_rubric_report *r, struct vq_buf *out);

/* The page of a persona evaluation is vq_report_persona_html of json_persona.h; what it holds at
 * most: */
#define VQ_HTML_CHARTS_BYTES_MAX ((size_t)20 << 20) /* of the sections of measures */
#define VQ_HTML_PERSONAS_MAX     24u                /* with a chart of their own in each */
#define VQ_HTML_MODELS_MAX       8u                 /* with a thin line of their own in these */
#define VQ_HTML_TALKS_MAX        200u               /* dialogues that can be read */
#define VQ_HTML_TALK_BYTES_MAX   ((size_t)3 << 20)  /* of one */
#define VQ_HTML_RATINGS_MAX      400u               /* of a turn */
#define VQ_HTML_REASONS_MAX      18u                /* of them, with their reasoning */
#define VQ_HTML_PROBES_MAX       12u                /* of a data set, behind one beginning */

#endif
