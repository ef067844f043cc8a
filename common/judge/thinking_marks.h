/* Private to this folder: finds a mark of thinking (thinking_marks.def) at one place of a text. */
#pragma once

#include "common/base/buf.h"

#define VQ_THINKING_KINDS_MAX 64u

enum vq_thinking_opens {
    VQ_THINKING_ALONE, /* opens a block even if it is not closed */
    VQ_THINKING_PAIR,  /* opens a block only if it is closed */
    /* only at the front of the answer and directly before a capital letter; need not be closed */
    VQ_THINKING_WHOLE
};

struct vq_thinking_mark {
    size_t bytes;
    uint32_t kind; /* a block ends at the first closing mark of its kind */
    bool closes;
    enum vq_thinking_opens opens;
};

/* Whether a mark may begin here, judged by the first byte (of a word, the first two). The text is
 * not empty. */
static inline bool vq_thinking_may_begin(struct vq_span text)
{
    char second = text.bytes > 1 ? (char)(text.at[1] | 0x20) : '\0';
    switch (text.at[0]) {
    case '<':
    case '[':
    case '{':
    case '&':
    case '#':
    case '\xE2': return true;
    case 'H':
    case 'h': return second == 'e';
    case 'A':
    case 'a': return second == 'n' || second == 's';
    default: return false;
    }
}
/* The mark at the front of `text`; false: none. Reads a bounded number of bytes. */
bool vq_thinking_mark_at(struct vq_span text, struct vq_thinking_mark *ret_mark);
