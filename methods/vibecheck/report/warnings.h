/* Warnings that a reader should know before quoting a result, as one list: results.json, the page
 * and the terminal show the same sentences. Invariant: they depend only on data, configuration,
 * seed and answers. */
#pragma once

#include "methods/vibecheck/report/report.h"

#define VQ_WARNINGS_MAX      64u
#define VQ_WARNING_BYTES_MAX 1200u
#define VQ_WARNING_NAMES_MAX 12u /* vibes named in a text; the other vibes are counted */

struct vq_warning {
    const char *code; /* static, never changes: "one_judge" */
    /* sentences; they contain names of vibes and models from the data, so a page must escape
     * them */
    char text[VQ_WARNING_BYTES_MAX];
    uint32_t vibes_count;
    /* the vibes that the warning is about, in the order of every output; NULL: none */
    uint32_t *vibes;
};

struct vq_warnings {
    uint32_t count;
    struct vq_warning at[VQ_WARNINGS_MAX];
};

/* VQ_OK or VQ_NOMEM; the caller destroys *ret_warnings. */
enum vq_status vq_warnings_create(const struct vq_report_input *r,
                                  struct vq_warnings **ret_warnings) VQ_WARN_UNUSED;
void vq_warnings_destroy(struct vq_warnings **warnings);
