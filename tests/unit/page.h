/* Lines of documentation pages that tests make from a table, as the pages have them: list items of
 * at most 120 columns. */
#pragma once

#include "common/base/buf.h"

#include <string.h>

#define PAGE_COLUMNS 120

/* Appends the list item "- TEXT". Lines break at spaces outside of `code`; further lines are
 * indented by two columns. */
static inline void page_item(struct vq_buf *out, const char *text)
{
    size_t column = 1;
    vq_buf_putc(out, '-');
    for (const char *at = text; *at != '\0';) {
        size_t n = 0, wide = 0;
        bool code = false;
        for (; at[n] != '\0' && (at[n] != ' ' || code); n++) {
            code ^= at[n] == '`';
            wide += ((unsigned char)at[n] & 0xc0u) != 0x80;
        }
        if (column + 1 + wide > PAGE_COLUMNS) {
            vq_buf_puts(out, "\n ");
            column = 1;
        }
        vq_buf_printf(out, " %.*s", (int)n, at);
        column += 1 + wide;
        at += n;
        at += strspn(at, " ");
    }
    vq_buf_putc(out, '\n');
}
