/* The pairs of models that are compared on each record: a pure function of the models, the design
 * and the seed. */
#pragma once

#include "common/conf/config.h"

#define VQ_PAIRS_MAX (VQ_MODELS_MAX * (VQ_MODELS_MAX - 1) / 2)

struct vq_pair {
    uint8_t a, b; /* numbers of models, a < b */
};

struct vq_pairs {
    uint32_t models;
    uint32_t count; /* number of pairs that are compared on some record */
    struct vq_pair pair[VQ_PAIRS_MAX];
    /* The number of comparisons per record: `count`, except in the incomplete design. There record
     * n of N gets the comparisons n * share .. (n + 1) * share (rounded down) of the list, which
     * repeats endlessly. So each pair gets as many records as any other, or one fewer. */
    double share;
};

/* `pairs` NULL: all pairs. The list of the incomplete design consists of rounds. In a round no
 * model is in two pairs, so the models of a record differ as much as possible; their order is drawn
 * from the seed. `records` is the number of compared records; it and `calls_each`, the judge calls
 * of one comparison, matter only for pairs.calls. VQ_INVALID: the design asks for less than one
 * comparison of each pair. */
enum vq_status vq_pairs_plan(const struct vq_conf_pairs *pairs, const char *const *models,
                             uint32_t models_count, uint64_t seed, uint32_t records,
                             uint64_t calls_each, struct vq_pairs *ret_pairs,
                             struct vq_error *err) VQ_WARN_UNUSED;

/* The pairs of record `n` of a split side: places [*ret_from, *ret_until) of the list, each taken
 * modulo `count`. */
void vq_pairs_of(const struct vq_pairs *pairs, uint32_t n, uint64_t *ret_from, uint64_t *ret_until);
