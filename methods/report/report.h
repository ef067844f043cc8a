/* What a finished run leaves for people and programs: results.json (format 1), vibes.csv,
 * scores.csv, rows.csv and the table on the terminal. Pure text into buffers: the same inputs give
 * the same bytes. Numbers have 9 significant digits. */
#ifndef VQ_METHODS_REPORT_REPORT_H
#define VQ_METHODS_REPORT_REPORT_H

#include "common/text/fmt.h"
#include "methods/data/dataset.h"
#include "methods/vibecheck/method.h"

#define VQ_REPORT_FORMAT       1
#define VQ_REPORT_DIGITS       9
#define VQ_REPORT_BYTES_MAX    ((size_t)1 << 34)
#define VQ_RETURNED_MODELS_MAX 8
#define VQ_REPORT_NOTES_BYTES  4096

/* What the providers called themselves, distinct and sorted. */
struct vq_report_judge {
    const char *name;
    const char *model;
    const char *identity;
    const char *returned[VQ_RETURNED_MODELS_MAX];
    uint32_t returned_count;
};

struct vq_report_calls { /* from accounting.json */
    uint64_t planned, sent, from_store, saved_by_lazy_swap, failed, too_long;
    uint64_t tokens_in, tokens_cached, tokens_out;
    bool priced; /* else cost_usd means nothing */
    double cost_usd;
    char notes[VQ_REPORT_NOTES_BYTES]; /* about the bill, a line each; as many as fit */
};

/* As the last lines of a table on the terminal; NULL: nothing. */
void vq_report_calls_line(const struct vq_report_calls *calls, struct vq_buf *out);

/* Everything borrowed. */
struct vq_report_input {
    const struct vq_config *config;
    const struct vq_dataset *dataset;
    const struct vq_vibecheck_input *in;
    const struct vq_vibecheck *result;
    const struct vq_method_result *method; /* NULL: nothing is known of how the vibes were found */
    const struct vq_report_judge *judges;  /* one a judge */
    const char *judge_kind; /* "model", "offline-lexical", "offline-oracle", "mixed" */
    const struct vq_hash *judge_template;
    const struct vq_hash *repair_template; /* NULL: repair off */
    char data_hash[2][65];  /* hex of each data file's SHA-256; "" without a test file */
    const char *human_hash; /* of the file of people's labels; NULL: the configuration names none */
    uint32_t labels_of_others; /* of them, those of vibes that the run does not have */
};

/* Appends; failures stick in out->status. */
void vq_report_json(const struct vq_report_input *r, struct vq_buf *out);
void vq_report_vibes_csv(const struct vq_report_input *r, struct vq_buf *out);
/* The rows of the samples [from, until), behind the header when `from` is 0: a file of 10^7 scores
 * is made in pieces. */
void vq_report_scores_csv(const struct vq_report_input *r, uint32_t from, uint32_t until,
                          struct vq_buf *out);
void vq_report_rows_csv(const struct vq_report_input *r, uint32_t from, uint32_t until,
                        struct vq_buf *out);

/* The table people know: low -> high, a signed separability bar, kappa, coefficients, marks; then
 * the dropped vibes with their reasons, warnings, and the two accuracies. */
void vq_report_table(const struct vq_report_input *r, const struct vq_terminal *terminal,
                     struct vq_buf *out);

/* The vibes in the order of every output: kept ones by |separability| on train, then the dropped
 * ones in the order given. `ret_order` holds one number a vibe. */
void vq_report_order(const struct vq_vibecheck *result, uint32_t *ret_order);

#endif
