/* A result file as a table for a paper or a page: LaTeX (booktabs) and Markdown. Pure text. */
#pragma once

#include "common/text/table.h"

enum vq_paper_format {
    VQ_PAPER_LATEX,
    VQ_PAPER_MARKDOWN,
};

/* vibes.csv: kept vibes with their ends, separability with its interval, kappa and both
 * coefficients; dropped vibes with the reason. A missing value is a dash, never 0. `a`, `b`: the
 * models. Failures stick in out->status. */
void vq_paper_vibes(const struct vq_table *vibes, const char *a, const char *b,
                    enum vq_paper_format format, struct vq_buf *out);

/* Any other file: all columns, all rows. */
void vq_paper_table(const struct vq_table *table, enum vq_paper_format format, struct vq_buf *out);

/* Appends a text with every special character of the format escaped; line ends and control
 * characters become blanks. */
void vq_paper_text(struct vq_span text, enum vq_paper_format format, struct vq_buf *out);
