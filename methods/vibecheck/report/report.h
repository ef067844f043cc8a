/* The results of a finished VibeCheck run for people and programs: results.json (format 1),
 * vibes.csv, scores.csv, rows.csv, the table on the terminal, and report.html. Pure text into
 * buffers: the same inputs give the same bytes. Numbers have 9 significant digits. */
#pragma once

#include "common/text/fmt.h"
#include "methods/data/dataset.h"
#include "methods/report/report.h"
#include "methods/vibecheck/method.h"

/* The cost of a cascade's rankings, and the cost if the second judge answered everything. */
struct vq_report_saved {
    bool known; /* both judges have a price, and the second judge was asked in this run */
    double spent_usd, everywhere_usd;
};
/* Appends "The cascade cost $1, ..." and a new line; nothing if the costs are not known. */
void vq_report_saved_line(const struct vq_report_saved *saved, struct vq_buf *out);

/* Everything borrowed. */
struct vq_report_input {
    const struct vq_config *config;
    const struct vq_dataset *dataset;
    const struct vq_vibecheck_input *in;
    const struct vq_vibecheck *result;
    /* NULL: it is not known how the vibes were found */
    const struct vq_vibecheck_method_result *method;
    const struct vq_report_judge *judges; /* one per judge */
    const char *judge_kind; /* "model", "offline-lexical", "offline-oracle", "mixed" */
    const struct vq_hash *judge_template;
    const struct vq_hash *repair_template; /* NULL: repair off */
    char data_hash[2][65];  /* hex of each data file's SHA-256; "" without a test file */
    const char *human_hash; /* of the file of people's labels; NULL: the configuration names none */
    uint32_t labels_of_others; /* number of these labels for vibes that the run does not have */
};

/* These append to `out`; failures stick in out->status. */
void vq_report_json(const struct vq_report_input *r, struct vq_buf *out);
void vq_report_vibes_csv(const struct vq_report_input *r, struct vq_buf *out);
/* The rows of the samples [from, until), after the header if `from` is 0, so that a file of 10^7
 * scores is made in pieces. */
void vq_report_scores_csv(const struct vq_report_input *r, uint32_t from, uint32_t until,
                          struct vq_buf *out);
void vq_report_rows_csv(const struct vq_report_input *r, uint32_t from, uint32_t until,
                        struct vq_buf *out);

/* The main table: low -> high, a signed separability bar, kappa, coefficients, marks; then the
 * dropped vibes with their reasons, warnings, and the two accuracies. */
void vq_report_table(const struct vq_report_input *r, const struct vq_terminal *terminal,
                     struct vq_buf *out);

/* The vibes in the order of every output: kept vibes by |separability| on train, then the dropped
 * vibes in the given order. `ret_order` has one number per vibe. */
void vq_report_order(const struct vq_vibecheck *result, uint32_t *ret_order);

/* ---- report.html (its limits and its policy are in methods/report/html/html.h) ---- */

#define VQ_VIBES_PAGE_MAX    200u /* vibes with examples and details */
#define VQ_VIBES_OVERLAP_MAX 40u  /* vibes in the overlap map */

/* All borrowed; an all-zero struct is a story without contents. */
struct vq_report_story {
    /* NULL: it is not known how the vibes were found */
    const struct vq_vibecheck_method_result *method;
    /* of method->preset_axes; NULL: presets were not compared */
    const struct vq_vibecheck *presets;
    const struct vq_report_calls *calls;
    struct vq_report_saved saved; /* the cost of a cascade */
    /* The raw answer for (sample, vibe, judge, order); false: there is none. The text is valid
     * until the next call. NULL: answers are not shown. */
    bool (*answer)(void *ctx, uint32_t sample, uint32_t vibe, uint32_t judge, uint32_t order,
                   struct vq_span *ret_text);
    void *answer_ctx;
};

/* Appends the page; failures stick in out->status. `story` may be NULL. */
void vq_report_html(const struct vq_report_input *r, const struct vq_report_story *story,
                    struct vq_buf *out);
