/* UTF-8 checks by the table of well-formed byte sequences (Unicode 15, table 3-7). */
#include "common/judge/utf8.h"

/* Bytes of the well-formed character at `at`, or 0. */
static size_t char_bytes(const unsigned char *at, size_t left)
{
    unsigned char lead = at[0];
    if (lead < 0x80) {
        return 1;
    }
    size_t n = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || left < n) {
        return 0;
    }
    unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (at[1] < low || at[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < n; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return n;
}

size_t vq_utf8_first_bad(struct vq_span text)
{
    size_t i = 0;
    while (i < text.bytes) {
        size_t n = char_bytes((const unsigned char *)text.at + i, text.bytes - i);
        if (n == 0) {
            return i;
        }
        i += n;
    }
    return text.bytes;
}

struct vq_span vq_utf8_cut(struct vq_span text, size_t bytes_max)
{
    if (text.bytes <= bytes_max) {
        return text;
    }
    size_t end = bytes_max;
    while (end > 0 && bytes_max - end < 3 && ((unsigned char)text.at[end] & 0xC0) == 0x80) {
        end--;
    }
    return vq_span(text.at, end);
}
