/* UTF-8: validation with the place of the first bad byte, and stepping over code points. */
#pragma once

#include "common/base/buf.h"

#define VQ_UTF8_REPLACEMENT UINT32_C(0xFFFD)
#define VQ_UTF8_BYTES_MAX   4 /* of one code point */

/* How many bytes from the start are well-formed (Unicode 15, table 3-7: no surrogates, no overlong
 * forms, nothing above U+10FFFF). Equal to text.bytes when all of it is; else the index of the
 * first byte of a bad sequence. */
size_t vq_utf8_valid_bytes(struct vq_span text);

/* Decodes the code point at *pos (< text.bytes) and moves *pos behind it. A bad sequence gives
 * U+FFFD and moves by its longest prefix that could have begun a good one, at least one byte. */
uint32_t vq_utf8_next(struct vq_span text, size_t *pos);

/* Writes 1 to 4 bytes to `ret_bytes` and returns how many; a surrogate or too large value is
 * written as U+FFFD. */
size_t vq_utf8_put(uint32_t point, char ret_bytes[VQ_UTF8_BYTES_MAX]);

/* Code points in the text, each bad sequence counted as one. */
size_t vq_utf8_count(struct vq_span text);

/* The longest prefix of at most bytes_max bytes that does not cut a code point of well-formed
 * text. */
struct vq_span vq_utf8_cut(struct vq_span text, size_t bytes_max);

/* Copies as much of a text as fits into `bytes` bytes with a NUL, cut as above. */
void vq_utf8_copy(char *to, size_t bytes, struct vq_span text);

/* A control that changes the direction of the text around it: what is shown is not what is
 * stored. */
static inline bool vq_utf8_is_bidi(uint32_t point)
{
    return (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069) ||
           point == 0x200E || point == 0x200F || point == 0x061C;
}
