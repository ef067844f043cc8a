/* Private to this folder: splits an answer into lines with list marks, and removes decoration
 * around texts. */
#pragma once

#include "common/base/buf.h"

enum vq_line_mark {
    VQ_LINE_PLAIN,
    VQ_LINE_BULLET, /* "- ", "* ", "1. ", "2) " */
    VQ_LINE_HEADING /* "### ..", or all of it **bold** */
};

struct vq_answer_line {
    struct vq_span text; /* trimmed, without its mark; empty for blank lines, fences and rules */
    size_t indent;       /* columns; a tab is four */
    enum vq_line_mark mark;
};

/* Removes the next line from the front of *text. False: the text is empty. */
bool vq_answer_next_line(struct vq_span *text, struct vq_answer_line *ret_line);

/* The text without a bullet or number in front. */
struct vq_span vq_answer_skip_mark(struct vq_span text);
/* The text without spaces, quotes, markdown, unpaired brackets and separators around it; an
 * apostrophe at the end stays. */
struct vq_span vq_answer_bare(struct vq_span text);
/* Bytes of the space, quote or emphasis mark at the front of `text`, else 0. */
size_t vq_answer_decoration_bytes(struct vq_span text);
/* Bytes of ":" or the wide colon at the front of `text`, else 0. */
size_t vq_answer_colon_bytes(struct vq_span text);

/* Appends the bare text as one line of well-formed UTF-8 without emphasis marks and control
 * characters, runs of spaces as one space, cut between characters at bytes_max. A failure sets
 * out->status. */
void vq_answer_clean(struct vq_span text, size_t bytes_max, struct vq_buf *out);
