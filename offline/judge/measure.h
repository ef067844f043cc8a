/* The counts of the lexical judge in a text. Pure: no clock, no randomness, no files. */
#pragma once

#include "common/base/buf.h"

enum vq_measure {
#define MEASURE(id, label, softener, per_100_words) VQ_MEASURE_##id,
#include "offline/judge/measures.def"
#undef MEASURE
    VQ_MEASURE__COUNT
};

/* One value per measure: a count, or a rate per hundred words (see measures.def). All 0 for an
 * empty text. */
struct vq_measures {
    double at[VQ_MEASURE__COUNT];
};

struct vq_lexicon; /* the word lists of words.def in a hash table */

enum vq_status vq_lexicon_create(struct vq_lexicon **ret_lexicon) VQ_WARN_UNUSED;
void vq_lexicon_destroy(struct vq_lexicon **lexicon);

/* Reads any bytes; bytes that are not UTF-8 count as letters. */
void vq_measure_text(const struct vq_lexicon *lexicon, struct vq_span text,
                     struct vq_measures *ret_measures);

const char *vq_measure_label(enum vq_measure measure);

/* (a - b) / (a + b + softener) of one measure: in (-1, 1), and exactly negated if a and b are
 * exchanged. */
double vq_measure_difference(enum vq_measure measure, const struct vq_measures *a,
                             const struct vq_measures *b);
