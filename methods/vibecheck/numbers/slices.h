/* Parts of a finished result: the same vibes with the same fitted weights, over some of the rows
 * (the values of a column) or for one judge. Invariant: nothing is fitted or gated again, so a part
 * never has vibes or weights of its own. Pure. */
#pragma once

#include "methods/vibecheck/numbers/vibecheck.h"

#define VQ_SLICE_NONE     UINT32_MAX /* of a sample that belongs to no part */
#define VQ_SLICE_ROWS_MIN 10u        /* with fewer scored rows nothing is flagged */

struct vq_result_slice {
    uint64_t rows;
    /* share of the rows whose MM margin points to A, a tie counts one half; NaN without rows or a
     * fit */
    double mm_accuracy;
    struct vq_interval mm_ci95; /* Wilson; by prompt if prompts repeat */
    double *separability;       /* one per vibe: mean score over its scored rows; NaN: none */
    uint64_t *scored;           /* one per vibe: number of rows with a score */
    /* one per vibe: its sign is not that of all rows, and both are farther from 0 than the gate */
    bool *opposite;
};

struct vq_slices {
    uint32_t count, vibes;
    struct vq_result_slice *slice;
    struct vq_arena memory;
};

/* `value`: the part of each sample, 0 to count - 1 or VQ_SLICE_NONE. NULL: one part a judge, with
 * its own scores alone, in the margin too; a missing score adds 0 to the margin. `test`: over the
 * test rows, else over train. Excluded rows are in no part. VQ_NOMEM. The caller destroys
 * *ret_slices. */
enum vq_status vq_slices_create(const struct vq_vibecheck_input *in,
                                const struct vq_vibecheck *result, const uint32_t *value,
                                uint32_t count, bool test,
                                struct vq_slices **ret_slices) VQ_WARN_UNUSED;
void vq_slices_destroy(struct vq_slices **slices);
