/* Repairs the text in one pass. Invariant: all other bytes are copied unchanged, in order. Not its
 * job: whether the text is JSON (jansson), depth and size (vq_json_exceeds). */
#include "common/text/json_mend.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

#define INTEGER_DIGITS_MAX 18u  /* any integer with this number of digits fits 64 bits */
#define NUMBER_BYTES_MAX   400u /* a longer number becomes text without a check of its value */
#define ESCAPE_BYTES       6u   /* \uXXXX */

struct mend {
    struct vq_span text;
    size_t copied; /* bytes of `text` that are handled already */
    struct vq_buf *out;
    struct vq_json_mended *counts;
};

static void replace(struct mend *m, size_t from, size_t to, const char *by)
{
    vq_buf_append(m->out, m->text.at + m->copied, from - m->copied);
    vq_buf_puts(m->out, by);
    m->copied = to;
}

int32_t vq_json_code_unit(struct vq_span text, size_t at)
{
    if (at > text.bytes || text.bytes - at < ESCAPE_BYTES || text.at[at] != '\\' ||
        text.at[at + 1] != 'u') {
        return -1;
    }
    int32_t unit = 0;
    for (size_t i = at + 2; i < at + ESCAPE_BYTES; i++) {
        char lower = (char)(text.at[i] | 0x20);
        bool letter = lower >= 'a' && lower <= 'f';
        if (!letter && !vq_is_digit(text.at[i])) {
            return -1;
        }
        unit = unit * 16 + (letter ? lower - 'a' + 10 : text.at[i] - '0');
    }
    return unit;
}

static bool is_high(int32_t unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low(int32_t unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* Repairs a string from its opening quote. Returns the index after the closing quote, or the
 * end. */
static size_t string(struct mend *m, size_t at)
{
    struct vq_span text = m->text;
    for (at++; at < text.bytes && text.at[at] != '"';) {
        if (text.at[at] != '\\') {
            at++;
            continue;
        }
        int32_t unit = vq_json_code_unit(text, at);
        if (is_high(unit) && is_low(vq_json_code_unit(text, at + ESCAPE_BYTES))) {
            at += 2 * (size_t)ESCAPE_BYTES;
        } else if (is_high(unit) || is_low(unit)) {
            replace(m, at, at + ESCAPE_BYTES, "\\ufffd");
            m->counts->surrogates++;
            at += ESCAPE_BYTES;
        } else {
            at += 2;
        }
    }
    return at < text.bytes ? at + 1 : text.bytes;
}

static bool is_of_token(char c)
{
    return vq_is_alnum(c) || c == '+' || c == '-' || c == '.';
}

static bool is_not_number(struct vq_span token)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    if (token.at[0] == '-' || token.at[0] == '+') {
        token = vq_span(token.at + 1, token.bytes - 1);
    }
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        if (token.bytes == strlen(words[i]) && strncasecmp(token.at, words[i], token.bytes) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether it is a number by JSON's grammar that is too large for jansson. */
static bool is_too_large(struct vq_span token)
{
    size_t at = token.at[0] == '-', digits = 0;
    bool real = false, leading_zero = at < token.bytes && token.at[at] == '0';
    for (; at < token.bytes && token.at[at] >= '0' && token.at[at] <= '9'; at++) {
        digits++;
    }
    if (digits == 0 || (leading_zero && digits > 1)) {
        return false;
    }
    for (; at < token.bytes; at++) {
        real = true;
        if (strchr("0123456789.eE+-", token.at[at]) == NULL) {
            return false;
        }
    }
    if (!real) {
        return digits > INTEGER_DIGITS_MAX;
    }
    char copy[NUMBER_BYTES_MAX + 1];
    if (token.bytes > NUMBER_BYTES_MAX) {
        return true;
    }
    memcpy(copy, token.at, token.bytes);
    copy[token.bytes] = '\0';
    char *end;
    double value = strtod(copy, &end);
    return *end == '\0' && !isfinite(value);
}

/* Repairs a word or number. Returns the index after it. */
static size_t token(struct mend *m, size_t at)
{
    size_t end = at;
    while (end < m->text.bytes && is_of_token(m->text.at[end])) {
        end++;
    }
    struct vq_span word = vq_span(m->text.at + at, end - at);
    if (is_not_number(word)) {
        replace(m, at, end, "null");
        m->counts->not_numbers++;
    } else if (is_too_large(word)) {
        replace(m, at, at, "\"");
        replace(m, end, end, "\"");
    }
    return end;
}

enum vq_status vq_json_mend(struct vq_span text, struct vq_buf *work, struct vq_json_mended *counts,
                            struct vq_span *ret_text)
{
    struct mend m = {.text = text, .out = work, .counts = counts};
    for (size_t at = 0; at < text.bytes;) {
        at = text.at[at] == '"'         ? string(&m, at)
             : is_of_token(text.at[at]) ? token(&m, at)
                                        : at + 1;
    }
    if (m.copied == 0 && work->bytes == 0) {
        *ret_text = text;
        return work->status;
    }
    vq_buf_append(work, text.at + m.copied, text.bytes - m.copied);
    if (work->status == VQ_OK) {
        *ret_text = vq_buf_span(work);
    }
    return work->status;
}
