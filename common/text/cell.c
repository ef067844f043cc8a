/* Recognises cells that programs write: pandas writes a word for a missing value, str() of a Python
 * list writes its literal. Pure; owns nothing. Not its job: the use of such cells. */
#include "common/text/cell.h"

#include "common/text/utf8.h"

#include <strings.h>

bool vq_cell_is_missing_word(struct vq_span cell)
{
    static const char *const words[] = {"nan",  "null", "none", "nil",  "na",        "n/a",
                                        "<na>", "#n/a", "nat",  "-nan", "undefined", "<null>"};
    cell = vq_span_trim(cell);
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        if (cell.bytes == strlen(words[i]) && strncasecmp(cell.at, words[i], cell.bytes) == 0) {
            return true;
        }
    }
    return false;
}

struct reader {
    struct vq_span text;
    size_t at;
    struct vq_buf *out; /* NULL: only checks */
};

static void put_point(struct reader *r, uint32_t point)
{
    char bytes[VQ_UTF8_BYTES_MAX];
    if (r->out != NULL) {
        vq_buf_append(r->out, bytes, vq_utf8_put(point == 0 ? VQ_UTF8_REPLACEMENT : point, bytes));
    }
}

/* `digits` hexadecimal digits at r->at; moves past them. */
static bool hex(struct reader *r, size_t digits, uint32_t *ret_value)
{
    uint32_t value = 0;
    if (r->text.bytes - r->at < digits) {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        static const char all[] = "0123456789abcdef";
        char c = r->text.at[r->at + i];
        const char *digit = c == '\0' ? NULL : strchr(all, c >= 'A' && c <= 'F' ? c + 32 : c);
        if (digit == NULL) {
            return false;
        }
        value = value << 4 | (uint32_t)(digit - all);
    }
    r->at += digits;
    *ret_value = value;
    return true;
}

/* Reads \uXXXX, and the other half of a surrogate pair, if any. */
static bool unicode(struct reader *r)
{
    uint32_t high, low;
    if (!hex(r, 4, &high)) {
        return false;
    }
    struct reader next = *r;
    bool pair = high >= 0xD800 && high <= 0xDBFF && next.text.bytes - next.at >= 6 &&
                memcmp(next.text.at + next.at, "\\u", 2) == 0;
    next.at += 2;
    if (pair && hex(&next, 4, &low) && low >= 0xDC00 && low <= 0xDFFF) {
        r->at = next.at;
        high = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    }
    put_point(r, high);
    return true;
}

/* Reads an escape, from the byte after the backslash. */
static bool escape(struct reader *r)
{
    static const char names[] = "ntrbfav0\\\"'/";
    static const char means[] = "\n\t\r\b\f\a\v\0\\\"'/";
    uint32_t point;
    if (r->at >= r->text.bytes) {
        return false;
    }
    char c = r->text.at[r->at++];
    const char *known = c == '\0' ? NULL : strchr(names, c);
    if (known != NULL) {
        put_point(r, (unsigned char)means[known - names]);
        return true;
    }
    switch (c) {
    case 'u': return unicode(r);
    case 'x':
    case 'U':
        if (!hex(r, c == 'x' ? 2 : 8, &point)) {
            return false;
        }
        put_point(r, point);
        return true;
    default: return false;
    }
}

/* Reads a string, from the opening quote to the byte after the closing one. */
static bool quoted(struct reader *r)
{
    char quote = r->text.at[r->at++];
    if (quote != '"' && quote != '\'') {
        return false;
    }
    while (r->at < r->text.bytes) {
        char c = r->text.at[r->at++];
        if (c == quote) {
            return true;
        }
        if (c == '\\') {
            if (!escape(r)) {
                return false;
            }
        } else if (r->out != NULL) {
            vq_buf_putc(r->out, c);
        }
    }
    return false;
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->text.bytes && strchr(" \t\r\n", r->text.at[r->at]) != NULL &&
           r->text.at[r->at] != '\0') {
        r->at++;
    }
}

bool vq_cell_is_list_of_one(struct vq_span cell, struct vq_buf *out)
{
    cell = vq_span_trim(cell);
    if (cell.bytes < 4 || cell.at[0] != '[' || cell.at[cell.bytes - 1] != ']') {
        return false;
    }
    struct reader look = {.text = vq_span(cell.at + 1, cell.bytes - 2), .out = NULL};
    skip_blanks(&look);
    struct reader write = look;
    if (look.at >= look.text.bytes || !quoted(&look)) {
        return false;
    }
    skip_blanks(&look);
    if (look.at < look.text.bytes) {
        return false; /* more than one item, or something else */
    }
    write.out = out;
    return out == NULL || quoted(&write);
}
