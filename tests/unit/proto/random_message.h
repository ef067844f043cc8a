/* Random messages within their bounds, filled by walking the table, and their comparison. */
#pragma once

#include "common/base/rng.h"
#include "proto/table.h"

#include <stdlib.h>

struct random_memory { /* what the message points to */
    void *blocks[20000];
    size_t count;
};

static inline void *random_take(struct random_memory *memory, size_t bytes)
{
    if (memory->count == VQ_COUNT(memory->blocks)) {
        abort();
    }
    void *block = calloc(1, bytes + 1);
    memory->blocks[memory->count++] = block;
    return block;
}

static inline void random_free(struct random_memory *memory)
{
    while (memory->count > 0) {
        free(memory->blocks[--memory->count]);
    }
}

/* Often at an edge. */
static inline uint64_t random_up_to(struct vq_rng *rng, uint64_t max)
{
    switch (vq_rng_below(rng, 6)) {
    case 0: return 0;
    case 1: return max;
    case 2: return max - (max > 0);
    case 3: return max > 300 ? vq_rng_below(rng, 300) : vq_rng_below(rng, max + (max < UINT64_MAX));
    default: {
        uint64_t bits = vq_rng_below(rng, 64);
        uint64_t value = vq_rng_u64(rng) >> bits;
        return value > max ? (max == UINT64_MAX ? value : value % (max + 1)) : value;
    }
    }
}

static inline void random_record(struct vq_rng *rng, const struct vq_wire_record *record, char *at,
                                 struct random_memory *memory);

static inline void random_field(struct vq_rng *rng, const struct vq_wire_field *f, char *record,
                                struct random_memory *memory)
{
    char *at = record + f->offset;
    uint64_t u;
    int64_t s;
    double d;
    switch (f->type) {
    case VQ_WIRE_ID:
    case VQ_WIRE_HASH:
        for (int i = 0; i < (f->type == VQ_WIRE_ID ? VQ_ID_BYTES : VQ_HASH_BYTES); i++) {
            at[i] = (char)vq_rng_u64(rng);
        }
        break;
    case VQ_WIRE_U64:
        u = random_up_to(rng, f->bound != 0 ? f->bound : UINT64_MAX);
        memcpy(at, &u, sizeof(u));
        break;
    case VQ_WIRE_I64:
        s = (int64_t)random_up_to(rng, UINT64_MAX);
        memcpy(at, &s, sizeof(s));
        break;
    case VQ_WIRE_INDEX:
        s = (int64_t)random_up_to(rng, f->bound + 1) - 1;
        memcpy(at, &s, sizeof(s));
        break;
    case VQ_WIRE_U32: {
        uint32_t v = (uint32_t)random_up_to(rng, f->bound != 0 ? f->bound : UINT32_MAX);
        memcpy(at, &v, sizeof(v));
        break;
    }
    case VQ_WIRE_ENUM: *(uint8_t *)at = (uint8_t)random_up_to(rng, f->bound); break;
    case VQ_WIRE_BOOL: *(bool *)(void *)at = vq_rng_below(rng, 2) == 1; break;
    case VQ_WIRE_REAL:
        d = vq_rng_below(rng, 4) == 0 ? 0 : vq_rng_unit(rng) * 1e9;
        memcpy(at, &d, sizeof(d));
        break;
    case VQ_WIRE_TEXT:
    case VQ_WIRE_BYTES: {
        size_t n = (size_t)random_up_to(rng, f->bound < 600 ? f->bound : 600);
        char *bytes = random_take(memory, n);
        for (size_t i = 0; i < n; i++) {
            bytes[i] = (char)vq_rng_u64(rng);
        }
        struct vq_span span = vq_span(n == 0 && vq_rng_below(rng, 2) == 0 ? NULL : bytes, n);
        memcpy(at, &span, sizeof(span));
        break;
    }
    case VQ_WIRE_INSIDE: random_record(rng, f->record, at, memory); break;
    case VQ_WIRE_LIST: {
        uint32_t n = (uint32_t)vq_rng_below(rng, vq_rng_below(rng, 8) == 0 ? 300 : 6);
        n = n > f->bound ? (uint32_t)f->bound : n;
        char *items = n == 0 ? NULL : random_take(memory, (size_t)n * f->record->bytes);
        for (uint32_t i = 0; i < n; i++) {
            random_record(rng, f->record, items + (size_t)i * f->record->bytes, memory);
        }
        memcpy(at, &items, sizeof(items));
        memcpy(record + f->count_offset, &n, sizeof(n));
        break;
    }
    }
}

static inline void random_record(struct vq_rng *rng, const struct vq_wire_record *record, char *at,
                                 struct random_memory *memory)
{
    for (uint32_t i = 0; i < record->fields_count; i++) {
        random_field(rng, &record->fields[i], at, memory);
    }
}

static inline bool same_record(const struct vq_wire_record *record, const char *a, const char *b);

static inline bool same_field(const struct vq_wire_field *f, const char *a, const char *b)
{
    const char *x = a + f->offset, *y = b + f->offset;
    struct vq_span s, t;
    const char *items_a, *items_b;
    uint32_t n, m;
    switch (f->type) {
    case VQ_WIRE_ID: return memcmp(x, y, VQ_ID_BYTES) == 0;
    case VQ_WIRE_HASH: return memcmp(x, y, VQ_HASH_BYTES) == 0;
    case VQ_WIRE_U64:
    case VQ_WIRE_I64:
    case VQ_WIRE_INDEX:
    case VQ_WIRE_REAL: return memcmp(x, y, 8) == 0;
    case VQ_WIRE_U32: return memcmp(x, y, 4) == 0;
    case VQ_WIRE_ENUM:
    case VQ_WIRE_BOOL: return memcmp(x, y, 1) == 0;
    case VQ_WIRE_TEXT:
    case VQ_WIRE_BYTES:
        memcpy(&s, x, sizeof(s));
        memcpy(&t, y, sizeof(t));
        return vq_span_eq(s, t);
    case VQ_WIRE_INSIDE: return same_record(f->record, x, y);
    case VQ_WIRE_LIST:
        memcpy(&items_a, x, sizeof(items_a));
        memcpy(&items_b, y, sizeof(items_b));
        memcpy(&n, a + f->count_offset, sizeof(n));
        memcpy(&m, b + f->count_offset, sizeof(m));
        if (n != m) {
            return false;
        }
        for (uint32_t i = 0; i < n; i++) {
            size_t offset = (size_t)i * f->record->bytes;
            if (!same_record(f->record, items_a + offset, items_b + offset)) {
                return false;
            }
        }
        return true;
    }
    return false;
}

static inline bool same_record(const struct vq_wire_record *record, const char *a, const char *b)
{
    for (uint32_t i = 0; i < record->fields_count; i++) {
        if (!same_field(&record->fields[i], a, b)) {
            return false;
        }
    }
    return true;
}
