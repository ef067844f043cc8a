/* Texts as sentences and words, in lower case and without punctuation, for the offline judge and
 * the subject. Pure. */
#pragma once

#include "common/base/buf.h"

#define VQ_SENTENCE_BYTES_MAX   1024u /* of its words; a longer one is read as several */
#define VQ_WORD_SET_MAX         512u
#define VQ_CONTENT_WORD_LETTERS 4u /* shorter words have little meaning */

struct vq_sentence {
    struct vq_span raw; /* as in the text */
    size_t words_n;
    size_t bytes;
    char words[VQ_SENTENCE_BYTES_MAX +
               2]; /* " one two three ", NUL-terminated: a space on both sides */
};

/* Reads the next sentence with a word, at *at (0 at first), and moves *at to its end; false: the
 * end. Sentences end at . ! ? before a blank, and at line ends. */
bool vq_sentence_next(struct vq_span text, size_t *at, struct vq_sentence *ret_sentence);

/* The next word, without the spaces around it; *at is 0 at first. */
bool vq_word_next(const struct vq_sentence *sentence, size_t *at, struct vq_span *ret_word);
bool vq_word_is_content(struct vq_span word); /* long enough, and not a stop word */

/* Whether these words are in the sentence, one after the other. */
bool vq_sentence_has(const struct vq_sentence *sentence, const char *words);

/* Words of a text, by hash; if it is full, further ones are left out. All zeros is an empty set. */
struct vq_word_set {
    uint64_t slots[2 * VQ_WORD_SET_MAX];
    size_t n;
};
bool vq_word_set_add(struct vq_word_set *set,
                     struct vq_span word); /* false: the word was in it, or it is full */
bool vq_word_set_has(const struct vq_word_set *set, struct vq_span word);
void vq_word_set_add_content(struct vq_word_set *set, struct vq_span text);
/* The number of different content words of `text` that are in the set. */
size_t vq_word_set_shared(const struct vq_word_set *set, struct vq_span text);
