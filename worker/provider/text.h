/* Private to this folder: untrusted texts as short lines for people. */
#pragma once

#include "common/base/buf.h"

/* Writes one NUL-terminated line of UTF-8: control characters and breaks become single spaces,
 * bytes that are not UTF-8 become '?', and the ends are trimmed. A line that does not fit in `cap`
 * bytes is cut at the beginning of a character. */
void vq_text_line(char *ret_line, size_t cap, struct vq_span text);
