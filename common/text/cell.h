/* Cells of a data file with a special meaning: a missing value, a list of one text. */
#pragma once

#include "common/base/buf.h"

/* Whether the cell, without surrounding blanks, is a word that programs write for a missing value:
 * nan, null, None, N/A and others, in any case. False for an empty cell. */
bool vq_cell_is_missing_word(struct vq_span cell);

/* Whether the cell is a JSON or Python list of one string: ["text"] or ['text']. If `out` is not
 * NULL, the unescaped string is appended to it; the caller checks its status. An escape for NUL or
 * for half a surrogate pair gives U+FFFD. */
bool vq_cell_is_list_of_one(struct vq_span cell, struct vq_buf *out);
