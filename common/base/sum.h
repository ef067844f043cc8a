/* Saturating sums, for numbers from peers: at the largest number they stop and do not wrap to 0. */
#pragma once

#include <stdint.h>

static inline uint64_t vq_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline void vq_sum_to(uint64_t *sum, uint64_t more)
{
    *sum = vq_sum(*sum, more);
}
