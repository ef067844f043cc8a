/* Writes CSV (RFC 4180, LF line ends) into a buffer. */
#pragma once

#include "common/base/buf.h"

/* Writes one row at a time: its fields in order, then its end. If `out` is full, its `status` is
 * set. */
struct vq_csv {
    struct vq_buf *out; /* borrowed */
    uint32_t fields;    /* in the current row */
    bool only_empty;    /* the current row is one empty field so far */
    bool safe;          /* as vq_csv_init_safe */
};

void vq_csv_init(struct vq_csv *csv, struct vq_buf *out);
/* For spreadsheets: a text that a spreadsheet would run as a formula (it begins with = + - @, a tab
 * or CR, and is not a number) gets an apostrophe in front. Control characters except tab, CR and LF
 * become spaces. */
void vq_csv_init_safe(struct vq_csv *csv, struct vq_buf *out);
/* The text without the apostrophe of vq_csv_init_safe. */
struct vq_span vq_csv_unsafe(struct vq_span field);
/* Quotes a field only if it contains a comma, quote, CR or LF, begins or ends with a space, or
 * begins with a byte order mark. */
void vq_csv_span(struct vq_csv *csv, struct vq_span field);
void vq_csv_str(struct vq_csv *csv, const char *field); /* NULL is an empty field */
void vq_csv_i64(struct vq_csv *csv, int64_t value);
void vq_csv_real(struct vq_csv *csv, double value, int digits); /* an empty field if not finite */
void vq_csv_empty(struct vq_csv *csv);
void vq_csv_end_row(struct vq_csv *csv);
