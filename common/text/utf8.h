/* UTF-8: validation with the place of the first invalid byte, and steps over code points. */
#pragma once

#include "common/base/buf.h"

#define VQ_UTF8_REPLACEMENT UINT32_C(0xFFFD)
#define VQ_UTF8_BYTES_MAX   4 /* of one code point */

/* The number of well-formed bytes at the start (Unicode 15, table 3-7: no surrogates, no overlong
 * forms, nothing above U+10FFFF): text.bytes if all are, else the index of the first invalid
 * sequence. */
size_t vq_utf8_valid_bytes(struct vq_span text);

/* Decodes the code point at *pos (< text.bytes) and moves *pos after it. An invalid sequence gives
 * U+FFFD; *pos moves by its longest prefix that can begin a valid sequence, at least one byte. */
uint32_t vq_utf8_next(struct vq_span text, size_t *pos);

/* Writes 1 to 4 bytes to `ret_bytes` and returns their number. A surrogate or a too large value
 * becomes U+FFFD. */
size_t vq_utf8_put(uint32_t point, char ret_bytes[VQ_UTF8_BYTES_MAX]);

/* The number of code points; each invalid sequence counts as one. */
size_t vq_utf8_count(struct vq_span text);

/* The longest prefix of at most bytes_max bytes that does not cut a code point of well-formed
 * text. */
struct vq_span vq_utf8_cut(struct vq_span text, size_t bytes_max);

/* Copies the text and a NUL to `to`, which has `bytes` bytes; the text is cut as above. */
void vq_utf8_copy(char *to, size_t bytes, struct vq_span text);

/* Whether it is a bidi control. It changes the direction of the text around it, so the displayed
 * text differs from the stored text. */
static inline bool vq_utf8_is_bidi(uint32_t point)
{
    return (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069) ||
           point == 0x200E || point == 0x200F || point == 0x061C;
}
