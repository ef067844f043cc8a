/* The character of a role, read from a name and a description, and the signs of it in a text.
 * Subject and rubric judge read it in the same way, so the judge finds the signs that the subject
 * writes. Pure; everything borrows. */
#pragma once

#include "offline/persona/traits.h"

struct vq_character {
    bool exists; /* false: there is no role */
    struct vq_span name;
    struct vq_span description;
    /* -2 to 2: by trait words of the description; without such words, one trait by hash */
    int profile[VQ_TRAIT__COUNT];
    struct vq_word_set words; /* its content words that show no trait */
};

/* `exists` is false: both are blank. */
void vq_character_read(struct vq_span name, struct vq_span description,
                       struct vq_character *ret_character);
/* Reads a system message: "... the role of NAME. DESCRIPTION" up to the next empty line; `exists`
 * is false without these words. */
void vq_character_of_system(struct vq_span system, struct vq_character *ret_character);

/* Counts of the sentences of a text; a sentence counts for the first of these counters that
 * fits. */
struct vq_showing {
    unsigned sentences;
    unsigned outside;  /* steps out of the role */
    unsigned refusals; /* the speaker will not or cannot */
    /* two content words of the description that are not in the query, or the name */
    unsigned facts;
    unsigned manner; /* trait words in the direction of the description's */
    /* sentences for the high pole minus sentences for the low one, including refusals and facts */
    int traits[VQ_TRAIT__COUNT];
};
void vq_character_showing(const struct vq_character *character, struct vq_span query,
                          struct vq_span text, struct vq_showing *ret_showing);

/* The same for one sentence: whether it states a fact of the character. The words of `query` do not
 * count. */
bool vq_character_states_fact(const struct vq_character *character, const struct vq_word_set *query,
                              const struct vq_sentence *sentence);
