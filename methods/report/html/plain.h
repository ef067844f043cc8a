/* What a model wrote in Markdown, as plain text: a page shows words, not marks, and never makes
 * markup out of them. */
#pragma once

#include "common/base/buf.h"

/* Appends `text` without the marks of emphasis (**, __, a * around words), headings and code. What
 * is no mark stays: 2 * 3, a_b, lists. Never longer than `text`. Its bytes are not escaped: that is
 * the writer's to do. */
void vq_plain_of_markdown(struct vq_span text, struct vq_buf *out);
