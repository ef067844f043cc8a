/* Choices drawn from a fuzzer's bytes: 0 for ever when they are used up. */
#pragma once

#include "common/base/status.h"

struct bytes {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t take(struct bytes *b)
{
    if (b->left == 0) {
        return 0;
    }
    b->left--;
    return *b->at++;
}

static inline uint64_t take_u64(struct bytes *b)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        value = value << 8 | take(b);
    }
    return value;
}

/* 0 .. below - 1; below at most 65,536. */
static inline uint32_t take_below(struct bytes *b, uint32_t below)
{
    uint32_t value = take(b);
    value = below > 256 ? value << 8 | take(b) : value;
    return value % below;
}

/* Nearly always in range; else anything. */
static inline uint64_t take_near(struct bytes *b, uint32_t below)
{
    uint8_t kind = take(b);
    return kind == 255 ? take_u64(b) : kind == 254 ? below : kind % below;
}
