/* The similarity of two texts: 2 x LCS / (|a| + |b|) over code points, as a rounded percentage. */
#pragma once

#include "common/base/buf.h"

#define VQ_SIMILARITY_POINTS_MAX                                                                   \
    200000u /* of one text; the time grows with the product of the two lengths */

/* Working memory, reused for each pair. All-zero is ready for use. */
struct vq_similarity {
    uint32_t *points[2]; /* the two texts, decoded */
    size_t points_cap[2];
    uint8_t *carries; /* by point of the longer text */
    size_t carries_cap;
    uint64_t *masks; /* of one block; row 0 is all zero */
    size_t masks_cap;
    struct vq_similarity_slot *slots; /* code point -> row of masks, open addressing */
};

void vq_similarity_free(struct vq_similarity *work);

/* *ret_percent = round(100 * 2 * LCS(a, b) / (|a| + |b|)), halves up. LCS is the longest common
 * subsequence; lengths are in code points (each invalid byte counts as U+FFFD). Two empty texts
 * give 100. Bit-parallel (Hyyro 2004): |a| * |b| / 64 steps. VQ_LIMIT if either text is longer than
 * VQ_SIMILARITY_POINTS_MAX, VQ_NOMEM. */
enum vq_status vq_similarity_percent(struct vq_similarity *work, struct vq_span a, struct vq_span b,
                                     uint32_t *ret_percent) VQ_WARN_UNUSED;

/* Whether the similarity is at least `percent`. Gives the same answer as vq_similarity_percent, but
 * faster if the lengths alone decide. */
enum vq_status vq_similarity_at_least(struct vq_similarity *work, struct vq_span a,
                                      struct vq_span b, uint32_t percent,
                                      bool *ret_yes) VQ_WARN_UNUSED;
