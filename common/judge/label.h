/* Private to this folder: reads the label that a short text states, for example the text after
 * "Model:" on its line. */
#pragma once

#include "common/judge/verdict.h"

/* Bytes of the character at the front of `text` if it separates words, else 0. Separators are all
 * ASCII characters except letters and digits, and non-ASCII spaces, quotes, dashes and brackets. */
size_t vq_label_punct_bytes(struct vq_span text);
struct vq_span vq_label_skip_punct(struct vq_span text);
/* The word at the front of `text`; empty: the text is empty or begins with a separator. */
struct vq_span vq_label_word(struct vq_span text);
/* Returns the next word and moves *text after it; empty at the end. */
struct vq_span vq_label_next_word(struct vq_span *text);
/* Moves *text after ":" or "=" and the quotes and markdown around it, as in `**Model:** A`. False:
 * no separator. */
bool vq_label_skip_separator(struct vq_span *text);
/* ASCII case does not matter; `lower` is in lower case. */
bool vq_label_word_is(struct vq_span word, const char *lower);
bool vq_label_word_is_any(struct vq_span word, const char *const *lower, size_t count);
/* FIRST..UNSURE: the label that the text states. UNPARSEABLE: it mentions labels, but does not
 * state a single one. NONE: it contains no label. Linear in the text. */
enum vq_outcome vq_label_read(struct vq_span text);
/* The same for a text that consists of the label alone; any other text gives NONE. */
enum vq_outcome vq_label_alone(struct vq_span text);
