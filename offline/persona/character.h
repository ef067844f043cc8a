/* Who is played, read from a name and a description, and what of it a text shows. Subject and
 * rubric judge read alike, so that what the one plants the other finds. Pure; everything
 * borrows. */
#pragma once

#include "offline/persona/traits.h"

struct vq_character {
    bool exists; /* false: there is no role */
    struct vq_span name;
    struct vq_span description;
    /* -2 to 2: by trait words of the description; one trait by hash where it has none */
    int profile[VQ_TRAIT__COUNT];
    struct vq_word_set words; /* its content words that show no trait */
};

/* `exists` is false if both are blank. */
void vq_character_read(struct vq_span name, struct vq_span description,
                       struct vq_character *ret_character);
/* Of a system message: "... the role of NAME. DESCRIPTION" up to the next empty line; `exists` is
 * false without these words. */
void vq_character_of_system(struct vq_span system, struct vq_character *ret_character);

/* What sentences of a text show; a sentence counts for the first of these that it is. */
struct vq_showing {
    unsigned sentences;
    unsigned outside;  /* steps out of the role */
    unsigned refusals; /* says that the speaker will not or cannot */
    unsigned facts;  /* two content words of the description that the query has not, or the name */
    unsigned manner; /* trait words that point where the description's do */
    /* sentences towards the high pole minus those towards the low one, refusals and facts too */
    int traits[VQ_TRAIT__COUNT];
};
void vq_character_showing(const struct vq_character *character, struct vq_span query,
                          struct vq_span text, struct vq_showing *ret_showing);

/* The same of one sentence: whether it states a fact of the character. `query` are the words that
 * do not count. */
bool vq_character_states_fact(const struct vq_character *character, const struct vq_word_set *query,
                              const struct vq_sentence *sentence);
