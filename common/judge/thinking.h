/* Removes the thinking from answers: <think>..</think> and the other marks of thinking_marks.def. A
 * mark opens a block only at the front of the answer or of a line, outside code. Inside a line it
 * opens one only if it is closed on the same line; else it is a mention. A closing mark without an
 * opening one ends a block that began in the prompt, unless a sentence mentions it. */
#pragma once

#include "common/base/buf.h"

/* A reader of an answer without its thinking. Borrows the text. */
struct vq_thinking {
    struct vq_span text;
    size_t at;
    bool ended;             /* its last line was taken */
    bool has_block;         /* block_at and block_end hold the next block */
    bool stays_open;        /* the next block is not closed */
    bool closes;            /* it is a closing mark without an opening one */
    size_t block_at;        /* the end of the text: no block follows */
    size_t block_end;       /* after its closing mark */
    uint64_t unclosed;      /* kinds that are not closed in the rest of the text */
    uint64_t line_unclosed; /* the same for the line that ends at line_searched */
    size_t line_searched;
    /* the least length of a fence of ` and ~ that is not closed; 0: none */
    size_t fences_unclosed[2];
};

/* The part of the text that may contain the answer: all of it after the blocks in front and after
 * the last closing mark without an opening one. Empty: a block is not closed. Later blocks are
 * still in it. Linear. */
struct vq_span vq_thinking_rest(struct vq_span text);

/* Starts at the front of vq_thinking_rest. */
void vq_thinking_begin(struct vq_span answer, struct vq_thinking *ret_lines);
/* Takes the next line outside of blocks; a line ends at LF, at CR and before a block. False at the
 * end. */
bool vq_thinking_next_line(struct vq_thinking *lines, struct vq_span *ret_line);

/* Whether the answer is only thinking and blanks. */
bool vq_thinking_is_all(struct vq_span answer);

/* Appends the text with a line end in the place of each block. A failure sets buf->status. */
void vq_thinking_strip(struct vq_span text, struct vq_buf *buf);
