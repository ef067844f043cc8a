/* What a rubric run leaves for people and programs: results.json (kind "judge"), ratings.csv,
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
    const struct vq_report_judge *judges;     /* one a judge */
    const char *judge_kind;                   /* as of struct vq_report_input */
    const struct vq_hash *templates[3];       /* by enum vq_rating_kind; NULL: not asked */
    const char *data_hash;                    /* hex of the file's SHA-256 */
    /* The reasoning of a question's standing answer; false: there is none. The text is valid until
     * the next call. */
    bool (*reasoning)(void *ctx, const struct vq_rubric_place *place, struct vq_span *ret_text);
    void *reasoning_ctx;
    /* NULL: not known. Of page and table alone: results.json is the same whatever was sent */
    const struct vq_report_calls *calls;
};

/* Appends; failures stick in out->status. */
void vq_rubric_report_json(const struct vq_rubric_report *r, struct vq_buf *out);
/* The ratings of the rows [from, until), behind the header when `from` is 0: one line a question
 * that was put. */
void vq_rubric_report_csv(const struct vq_rubric_report *r, uint32_t from, uint32_t until,
                          struct vq_buf *out);
/* The items of the rows [from, until), likewise: one line an output that was to be rated and
 * criterion, with its score by all judges. */
void vq_rubric_report_items_csv(const struct vq_rubric_report *r, uint32_t from, uint32_t until,
                                struct vq_buf *out);
void vq_rubric_report_table(const struct vq_rubric_report *r, const struct vq_terminal *terminal,
                            struct vq_buf *out);

/* report.html. A script finds items in it; without one all of them are there. */
void vq_rubric_report_html(const struct vq_rubric_report *r, struct vq_buf *out);
