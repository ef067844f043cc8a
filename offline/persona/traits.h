/* The five personality traits, by the words that show them (traits.def). Pure. */
#pragma once

#include "offline/persona/sentence.h"

enum vq_trait {
#define TRAIT(id, name) VQ_TRAIT_##id,
#define WORD(trait, sign, text)
#define LINE(trait, sign, text)
#include "offline/persona/traits.def"
#undef TRAIT
#undef WORD
#undef LINE
    VQ_TRAIT__COUNT
};

const char *vq_trait_name(enum vq_trait trait); /* "openness" */
/* VQ_NOT_FOUND: another name; case does not matter. */
enum vq_status vq_trait_find(struct vq_span name, enum vq_trait *ret_trait) VQ_WARN_UNUSED;

/* For each trait, words of the high pole minus words of the low one; a negation up to two words
 * earlier inverts a word. Adds to `net`. Adds to `seen`, unless it is NULL, the number of words
 * about the trait. */
void vq_traits_of_sentence(const struct vq_sentence *sentence, int net[VQ_TRAIT__COUNT],
                           unsigned seen[VQ_TRAIT__COUNT]);
/* Whether the word shows a trait. */
bool vq_trait_has_word(struct vq_span word);

/* A sentence that shows a pole (`sign` 1 or -1), by a drawn number. */
const char *vq_trait_line(enum vq_trait trait, int sign, uint64_t draw);
/* All lines, for tests; NULL: after the last. */
const char *vq_trait_line_at(size_t index, enum vq_trait *ret_trait, int *ret_sign);
