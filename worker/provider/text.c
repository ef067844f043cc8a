/* Untrusted texts as short lines: nothing in them can move a terminal's cursor or break a log
 * line. */
#include "worker/provider/text.h"

#include "common/text/utf8.h"

void vq_text_line(char *ret_line, size_t cap, struct vq_span text)
{
    VQ_ASSERT(cap > 0);
    size_t n = 0;
    bool space = false; /* a space is due before the next character */
    size_t good = vq_utf8_valid_bytes(text);
    for (size_t i = 0; i < text.bytes && n + 1 < cap; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (i == good) {
            good += 1 + vq_utf8_valid_bytes(vq_span(text.at + i + 1, text.bytes - i - 1));
            c = '?';
        }
        bool c1 = c == 0xC2 && i + 1 < text.bytes && (unsigned char)text.at[i + 1] < 0xA0;
        if (c <= ' ' || c == 0x7F || c1) {
            i += c1 ? 1 : 0;
            space = n > 0;
            continue;
        }
        if (space) {
            ret_line[n++] = ' ';
            space = false;
            if (n + 1 >= cap) {
                break;
            }
        }
        ret_line[n++] = (char)c;
    }
    /* only a character that was cut can be dropped */
    n = vq_utf8_valid_bytes(vq_span(ret_line, n));
    while (n > 0 && ret_line[n - 1] == ' ') {
        n--;
    }
    ret_line[n] = '\0';
}
