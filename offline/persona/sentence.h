/* Texts as sentences and words: lower case, without punctuation, as the offline judge and subject
 * read them. Pure. */
#pragma once

#include "common/base/buf.h"

#define VQ_SENTENCE_BYTES_MAX   1024u /* of its words; what is longer is read as several */
#define VQ_WORD_SET_MAX         512u
#define VQ_CONTENT_WORD_LETTERS 4u /* shorter words say little about a text */

struct vq_sentence {
    struct vq_span raw; /* as it stands in the text */
    size_t words_n;
    size_t bytes;
    char words[VQ_SENTENCE_BYTES_MAX +
               2]; /* " one two three ", NUL-terminated: a space on both sides */
};

/* The next sentence that has a word, at *at (0 at first), which moves behind it; false at the end.
 * Sentences end at . ! ? before a blank, and at line ends. */
bool vq_sentence_next(struct vq_span text, size_t *at, struct vq_sentence *ret_sentence);

/* The next word, without the spaces around it; *at is 0 at first. */
bool vq_word_next(const struct vq_sentence *sentence, size_t *at, struct vq_span *ret_word);
bool vq_word_is_content(struct vq_span word); /* long enough, and no stop word */

/* Whether these words stand in it one behind the other. */
bool vq_sentence_has(const struct vq_sentence *sentence, const char *words);

/* Words of a text, by hash; further ones are left out when it is full. All zeros is an empty
 * one. */
struct vq_word_set {
    uint64_t slots[2 * VQ_WORD_SET_MAX];
    size_t n;
};
bool vq_word_set_add(struct vq_word_set *set,
                     struct vq_span word); /* false: it was there, or full */
bool vq_word_set_has(const struct vq_word_set *set, struct vq_span word);
void vq_word_set_add_content(struct vq_word_set *set, struct vq_span text);
/* How many different content words of `text` are in the set. */
size_t vq_word_set_shared(const struct vq_word_set *set, struct vq_span text);
