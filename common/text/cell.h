/* Texts in the cells of a data file with a special meaning: a missing value, a list of one text. */
#pragma once

#include "common/base/buf.h"

/* Whether the cell (blanks around it do not count) is a word that programs write for a missing
 * value: nan, null, None, N/A ... in any case. An empty cell is none. */
bool vq_cell_is_missing_word(struct vq_span cell);

/* Whether the cell is a JSON or Python list of one string: ["text"] or ['text']. Where `out` is not
 * NULL, the string, without its escapes, is appended to it; its status is the caller's to check. An
 * escape for NUL or for half a surrogate pair gives U+FFFD. */
bool vq_cell_is_list_of_one(struct vq_span cell, struct vq_buf *out);
