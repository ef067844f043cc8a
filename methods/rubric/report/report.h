/* The results of a rubric run for people and programs: results.json (kind "judge"), ratings.csv,
 * items.csv and the table on the terminal. Pure text into buffers: the same inputs give the same
 * bytes. Numbers have 9 significant digits. */
#pragma once

#include "methods/report/report.h"
#include "methods/rubric/numbers.h"

/* Everything borrowed. */
struct vq_rubric_report {
    const struct vq_config *config;
    const struct vq_rubric *rubric;
    const struct vq_rubric_data *data;
    const struct vq_rubric_numbers *numbers;
    const struct vq_rubric_reading *readings; /* by slot */
    const struct vq_report_judge *judges;     /* one per judge */
    const char *judge_kind;                   /* as in struct vq_report_input */
    /* by enum vq_rating_kind; NULL: the run has no such stage */
    const struct vq_hash *templates[3];
    const char *data_hash; /* hex of the file's SHA-256 */
    /* The reasoning in the answer that is in force; false: there is none. The text is valid until
     * the next call. */
    bool (*reasoning)(void *ctx, const struct vq_rubric_place *place, struct vq_span *ret_text);
    void *reasoning_ctx;
    /* NULL: not known. Only page and table show them: results.json does not depend on the calls */
    const struct vq_report_calls *calls;
};

/* These append to `out`; failures stick in out->status. */
void vq_rubric_report_json(const struct vq_rubric_report *r, struct vq_buf *out);
/* The ratings of the rows [from, until), after the header if `from` is 0: one line per question
 * that was asked. */
void vq_rubric_report_csv(const struct vq_rubric_report *r, uint32_t from, uint32_t until,
                          struct vq_buf *out);
/* The items of the rows [from, until), after the header if `from` is 0: one line per criterion and
 * output that was to be rated, with its score over all judges. */
void vq_rubric_report_items_csv(const struct vq_rubric_report *r, uint32_t from, uint32_t until,
                                struct vq_buf *out);
void vq_rubric_report_table(const struct vq_rubric_report *r, const struct vq_terminal *terminal,
                            struct vq_buf *out);

/* report.html. A script filters the items; without a script the page shows all of them. */
void vq_rubric_report_html(const struct vq_rubric_report *r, struct vq_buf *out);
