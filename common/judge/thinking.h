/* For those who read answers: their thinking (<think>..</think> and what thinking_marks.def lists),
 * which is no part of what they say. A mark opens a block only at the front of the answer or of a
 * line, outside code; one inside a line is a mention, unless it is closed on the same line. A
 * closing mark that closes nothing ends a block that began in the prompt, unless a sentence
 * mentions it. */
#pragma once

#include "common/base/buf.h"

/* An answer being read without its thinking. Borrows the text. */
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

/* What of the text may hold an answer: what follows the last closing mark that closes nothing, and
 * the blocks in front; else all of it. Empty when a block is left open. Later blocks are still in
 * it. Linear. */
struct vq_span vq_thinking_rest(struct vq_span text);

/* Begins with what vq_thinking_rest gives. */
void vq_thinking_begin(struct vq_span answer, struct vq_thinking *ret_lines);
/* Takes the next line outside of blocks; a line ends at LF, CR and where a block stands. False at
 * the end. */
bool vq_thinking_next_line(struct vq_thinking *lines, struct vq_span *ret_line);

/* Whether nothing but blanks is left without the thinking. */
bool vq_thinking_is_all(struct vq_span answer);

/* Appends the text without its blocks; a line ends where a block stood. Out of room sticks in
 * buf->status. */
void vq_thinking_strip(struct vq_span text, struct vq_buf *buf);
