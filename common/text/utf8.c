/* UTF-8 by the table of well-formed byte sequences. Invariant: no function reads past its span. Not
 * its job: normalisation, case, width. */
#include "common/text/utf8.h"

/* The length of a sequence and the range of its second byte, by its first byte; 0: the byte begins
 * no sequence. */
static size_t lead(unsigned char c, unsigned char *ret_low, unsigned char *ret_high)
{
    *ret_low = 0x80;
    *ret_high = 0xBF;
    if (c < 0x80) {
        return 1;
    }
    if (c < 0xC2 || c > 0xF4) {
        return 0;
    }
    if (c < 0xE0) {
        return 2;
    }
    if (c < 0xF0) {
        *ret_low = c == 0xE0 ? 0xA0 : 0x80;  /* no overlong form */
        *ret_high = c == 0xED ? 0x9F : 0xBF; /* no surrogate */
        return 3;
    }
    *ret_low = c == 0xF0 ? 0x90 : 0x80;
    *ret_high = c == 0xF4 ? 0x8F : 0xBF; /* not above U+10FFFF */
    return 4;
}

/* The number of valid bytes of the sequence at `at`; *ret_need: the length of a complete one (0:
 * not a lead byte). */
static size_t measure(const unsigned char *at, size_t left, size_t *ret_need)
{
    unsigned char low, high;
    *ret_need = lead(at[0], &low, &high);
    if (*ret_need < 2) {
        return *ret_need;
    }
    size_t n = 1;
    while (n < *ret_need && n < left && at[n] >= low && at[n] <= high) {
        low = 0x80;
        high = 0xBF;
        n++;
    }
    return n;
}

static bool eight_are_ascii(const unsigned char *at, size_t left)
{
    uint64_t eight = UINT64_MAX;
    if (left >= sizeof(eight)) {
        memcpy(&eight, at, sizeof(eight));
    }
    return (eight & UINT64_C(0x8080808080808080)) == 0;
}

size_t vq_utf8_valid_bytes(struct vq_span text)
{
    const unsigned char *at = (const unsigned char *)text.at;
    size_t pos = 0;
    while (pos < text.bytes) {
        if (eight_are_ascii(at + pos, text.bytes - pos)) {
            pos += 8;
            continue;
        }
        size_t need;
        size_t n = measure(at + pos, text.bytes - pos, &need);
        if (need == 0 || n < need) {
            return pos;
        }
        pos += n;
    }
    return pos;
}

uint32_t vq_utf8_next(struct vq_span text, size_t *pos)
{
    const unsigned char *at = (const unsigned char *)text.at + *pos;
    if (at[0] < 0x80) {
        *pos += 1;
        return at[0];
    }
    size_t need;
    size_t n = measure(at, text.bytes - *pos, &need);
    if (need == 0 || n < need) {
        *pos += n == 0 ? 1 : n;
        return VQ_UTF8_REPLACEMENT;
    }
    uint32_t point = at[0] & (0x7Fu >> need);
    for (size_t i = 1; i < need; i++) {
        point = point << 6 | (at[i] & 0x3Fu);
    }
    *pos += need;
    return point;
}

size_t vq_utf8_put(uint32_t point, char ret_bytes[VQ_UTF8_BYTES_MAX])
{
    if (point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
        point = VQ_UTF8_REPLACEMENT;
    }
    if (point < 0x80) {
        ret_bytes[0] = (char)point;
        return 1;
    }
    size_t n = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 1; point >>= 6) {
        ret_bytes[i] = (char)(0x80 | (point & 0x3F));
    }
    ret_bytes[0] = (char)(leads[n] | point);
    return n;
}

size_t vq_utf8_count(struct vq_span text)
{
    size_t count = 0;
    for (size_t pos = 0; pos < text.bytes;) {
        if (eight_are_ascii((const unsigned char *)text.at + pos, text.bytes - pos)) {
            pos += 8;
            count += 8;
        } else {
            (void)vq_utf8_next(text, &pos);
            count++;
        }
    }
    return count;
}

struct vq_span vq_utf8_cut(struct vq_span text, size_t bytes_max)
{
    if (text.bytes <= bytes_max) {
        return text;
    }
    size_t n = bytes_max;
    while (n > 0 && bytes_max - n < VQ_UTF8_BYTES_MAX && (text.at[n] & 0xC0) == 0x80) {
        n--;
    }
    return vq_span(text.at, n);
}

void vq_utf8_copy(char *to, size_t bytes, struct vq_span text)
{
    struct vq_span cut = vq_utf8_cut(text, bytes - 1);
    if (cut.bytes > 0) {
        memcpy(to, cut.at, cut.bytes);
    }
    to[cut.bytes] = '\0';
}
