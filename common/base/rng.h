/* Seeded random numbers (xoshiro256**, seeded through splitmix64; Blackman and Vigna 2018). The
 * same seed gives the same sequence on every machine. Not for secrets: see vq_random_bytes in
 * secret.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct vq_rng {
    uint64_t s[4];
};

void vq_rng_seed(struct vq_rng *rng, uint64_t seed);
uint64_t vq_rng_u64(struct vq_rng *rng);
uint64_t vq_rng_below(struct vq_rng *rng, uint64_t bound); /* uniform in [0, bound), bound > 0 */
double vq_rng_unit(struct vq_rng *rng);                    /* uniform in [0, 1), 53 bits */
void vq_rng_shuffle_u32(struct vq_rng *rng, uint32_t *items, size_t n); /* Fisher-Yates */
