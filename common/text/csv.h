/* Writes CSV (RFC 4180, LF line ends) into a buffer. */
#pragma once

#include "common/base/buf.h"

/* One row at a time: fields in order, then the end of the row. Out of room sticks in
 * out->status. */
struct vq_csv {
    struct vq_buf *out; /* borrowed */
    uint32_t fields;    /* of the row at hand */
    bool only_empty;    /* it is one empty field so far */
    bool safe;          /* as vq_csv_init_safe */
};

void vq_csv_init(struct vq_csv *csv, struct vq_buf *out);
/* For spreadsheets: a text that would be a formula there (it begins with = + - @, a tab or CR, and
 * is no number) gets an apostrophe in front; control characters but tab, CR and LF become
 * spaces. */
void vq_csv_init_safe(struct vq_csv *csv, struct vq_buf *out);
/* The text without that apostrophe. */
struct vq_span vq_csv_unsafe(struct vq_span field);
/* Quoted only where the content needs it: comma, quote, CR, LF, a space at either end, a byte order
 * mark in front. */
void vq_csv_span(struct vq_csv *csv, struct vq_span field);
void vq_csv_str(struct vq_csv *csv, const char *field); /* NULL is an empty field */
void vq_csv_i64(struct vq_csv *csv, int64_t value);
void vq_csv_real(struct vq_csv *csv, double value, int digits); /* not finite: empty */
void vq_csv_empty(struct vq_csv *csv);
void vq_csv_end_row(struct vq_csv *csv);
