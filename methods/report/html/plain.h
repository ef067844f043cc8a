/* Turns Markdown that a model wrote into plain text: a page shows words, not marks, and never makes
 * markup of them. */
#pragma once

#include "common/base/buf.h"

/* Appends `text` without the marks of emphasis (**, __, a * around words), headings and code. Other
 * characters do not change: 2 * 3, a_b, lists. The result is never longer than `text`. The caller
 * must escape it. */
void vq_plain_of_markdown(struct vq_span text, struct vq_buf *out);
