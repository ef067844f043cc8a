/* For those who read answers: their thinking blocks (<think>..</think>, <thinking>, [THINK]), which are no part of what it
 * says. */
#ifndef VQ_JUDGE_THINKING_H
#define VQ_JUDGE_THINKING_H

#include "common/base/buf.h"

/* Bytes of the closed block that begins at the front of `text`, with both tags; 0 when there is none. */
size_t vq_thinking_block_bytes(struct vq_span text);

/* What of the text may hold an answer: what follows the last closing tag that closes nothing (its block began in
 * the prompt), else all of it. Empty when a block is left open. The closed blocks are still in it. Linear. */
struct vq_span vq_thinking_rest(struct vq_span text);

/* Takes the next line off *text, which vq_thinking_rest gave; a line ends at LF, CR and where a block stands. False at the
 * end, once *text.at is NULL. */
bool vq_thinking_next_line(struct vq_span *text, struct vq_span *ret_line);

/* Appends the text without its blocks; a line ends where a block stood. Out of room sticks in buf->status. */
void vq_thinking_strip(struct vq_span text, struct vq_buf *buf);

#endif
