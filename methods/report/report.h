/* Parts that the reports of all methods share: judges, totals of calls, limits. Numbers have 9
 * significant digits; the same inputs give the same bytes. */
#pragma once

#include "common/text/fmt.h"

#define VQ_REPORT_FORMAT       1
#define VQ_REPORT_DIGITS       9
#define VQ_REPORT_BYTES_MAX    ((size_t)1 << 34)
#define VQ_RETURNED_MODELS_MAX 8
#define VQ_REPORT_NOTES_BYTES  4096

/* `returned`: the model names that the providers returned, distinct and sorted. */
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
    bool priced; /* false: cost_usd has no meaning */
    double cost_usd;
    char notes[VQ_REPORT_NOTES_BYTES]; /* about the cost, one per line; only those that fit */
};

/* Appends the last lines of a table on the terminal; nothing if `calls` is NULL. */
void vq_report_calls_line(const struct vq_report_calls *calls, struct vq_buf *out);
