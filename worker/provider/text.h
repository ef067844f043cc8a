/* Private to this folder: texts of strangers as short lines for people. */
#pragma once

#include "common/base/buf.h"

/* One NUL-terminated line of UTF-8: control characters and breaks become single spaces, bytes that
 * are not UTF-8 become '?', the ends are trimmed, and what does not fit in `cap` bytes is cut where
 * a character begins. */
void vq_text_line(char *ret_line, size_t cap, struct vq_span text);
