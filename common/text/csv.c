/* Writes CSV. Invariant: the reader of table.h reads the same texts back. Not its job: files. */
#include "common/text/csv.h"

#include "common/text/json.h"

#include <math.h>

void vq_csv_init(struct vq_csv *csv, struct vq_buf *out)
{
    *csv = (struct vq_csv){.out = out};
}

void vq_csv_init_safe(struct vq_csv *csv, struct vq_buf *out)
{
    *csv = (struct vq_csv){.out = out, .safe = true};
}

/* ---- texts that a spreadsheet would run ---- */

static bool is_number(struct vq_span field)
{
    size_t at = field.at[0] == '-' || field.at[0] == '+' ? 1 : 0;
    size_t digits = 0;
    bool point = false, exponent = false;
    for (; at < field.bytes; at++) {
        char c = field.at[at];
        if (c >= '0' && c <= '9') {
            digits++;
        } else if (c == '.' && !point && !exponent) {
            point = true;
        } else if ((c == 'e' || c == 'E') && !exponent && digits > 0) {
            exponent = true;
            digits = 0;
            bool sign = at + 1 < field.bytes && memchr("+-", field.at[at + 1], 2) != NULL;
            at += sign ? 1 : 0;
        } else {
            return false;
        }
    }
    return digits > 0;
}

static bool begins_formula(struct vq_span field)
{
    return field.bytes > 0 && memchr("=+-@\t\r", field.at[0], 6) != NULL;
}

/* A text that begins with apostrophes and then such a character gets one more, so that removing one
 * apostrophe restores it. */
static bool needs_apostrophe(struct vq_span field)
{
    size_t at = 0;
    while (at < field.bytes && field.at[at] == '\'') {
        at++;
    }
    struct vq_span rest = vq_span(field.at + at, field.bytes - at);
    return begins_formula(rest) && (at > 0 || !is_number(field));
}

struct vq_span vq_csv_unsafe(struct vq_span field)
{
    bool escaped = field.bytes > 0 && field.at[0] == '\'' && needs_apostrophe(field);
    return escaped ? vq_span(field.at + 1, field.bytes - 1) : field;
}

static void put_bytes(struct vq_csv *csv, const char *at, size_t bytes)
{
    for (size_t i = 0; csv->safe && i < bytes; i++) {
        unsigned char c = (unsigned char)at[i];
        if ((c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f) {
            vq_buf_append(csv->out, at, i);
            vq_buf_putc(csv->out, ' ');
            at += i + 1;
            bytes -= i + 1;
            i = (size_t)-1;
        }
    }
    vq_buf_append(csv->out, at, bytes);
}

static bool needs_quotes(struct vq_span field)
{
    if (field.bytes == 0) {
        return false;
    }
    if (field.at[0] == ' ' || field.at[field.bytes - 1] == ' ') {
        return true; /* some readers trim unquoted fields */
    }
    if (field.bytes >= 3 && memcmp(field.at, "\xef\xbb\xbf", 3) == 0) {
        return true; /* a reader would drop it at the start of a file */
    }
    for (size_t i = 0; i < field.bytes; i++) {
        if (memchr(",\"\r\n", field.at[i], 4) != NULL) {
            return true;
        }
    }
    return false;
}

static void begin_field(struct vq_csv *csv, bool is_empty)
{
    if (csv->fields > 0) {
        vq_buf_putc(csv->out, ',');
    }
    csv->only_empty = csv->fields == 0 && is_empty;
    csv->fields++;
}

void vq_csv_span(struct vq_csv *csv, struct vq_span field)
{
    begin_field(csv, field.bytes == 0);
    bool apostrophe = csv->safe && needs_apostrophe(field);
    if (!needs_quotes(field)) {
        vq_buf_puts(csv->out, apostrophe ? "'" : "");
        put_bytes(csv, field.at, field.bytes);
        return;
    }
    vq_buf_puts(csv->out, apostrophe ? "\"'" : "\"");
    while (field.bytes > 0) {
        const char *quote = memchr(field.at, '"', field.bytes);
        size_t n = quote == NULL ? field.bytes : (size_t)(quote - field.at) + 1;
        put_bytes(csv, field.at, n);
        if (quote != NULL) {
            vq_buf_putc(csv->out, '"');
        }
        field = vq_span(field.at + n, field.bytes - n);
    }
    vq_buf_putc(csv->out, '"');
}

void vq_csv_str(struct vq_csv *csv, const char *field)
{
    vq_csv_span(csv, vq_span_str(field == NULL ? "" : field));
}

void vq_csv_empty(struct vq_csv *csv)
{
    vq_csv_str(csv, "");
}

void vq_csv_i64(struct vq_csv *csv, int64_t value)
{
    begin_field(csv, false);
    vq_buf_printf(csv->out, "%lld", (long long)value);
}

void vq_csv_real(struct vq_csv *csv, double value, int digits)
{
    char text[VQ_REAL_BYTES] = "";
    if (isfinite(value)) {
        vq_real_text(value, digits, text);
    }
    vq_csv_str(csv, text);
}

void vq_csv_end_row(struct vq_csv *csv)
{
    if (csv->only_empty) {
        vq_buf_puts(csv->out, "\"\""); /* readers do not count an empty line as a row */
    }
    vq_buf_putc(csv->out, '\n');
    csv->fields = 0;
    csv->only_empty = false;
}
