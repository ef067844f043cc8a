/* Open addressing over a span table. Invariants: at most half of the slots are in use; ids are
 * dense and never change, so no result depends on the hash. Not its job: owning the bytes. */
#include "common/text/intern.h"

#include "common/base/alloc.h"

#define KEYS_MAX       (UINT32_C(1) << 31)
#define NEAR_BYTES_MAX 64

void vq_intern_init(struct vq_intern *intern)
{
    *intern = (struct vq_intern){0};
}

void vq_intern_free(struct vq_intern *intern)
{
    vq_free(intern->keys);
    vq_free(intern->slots);
    *intern = (struct vq_intern){0};
}

/* Hashes eight bytes at a time: multiply and fold (the mixing step of wyhash). */
static uint64_t hash_of(struct vq_span key)
{
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ key.bytes;
    for (size_t at = 0; at < key.bytes; at += 8) {
        uint64_t piece = 0;
        memcpy(&piece, key.at + at, key.bytes - at < 8 ? key.bytes - at : 8);
        unsigned __int128 product = (unsigned __int128)(piece ^ h) * UINT64_C(0xa0761d6478bd642f);
        h = (uint64_t)product ^ (uint64_t)(product >> 64) ^ UINT64_C(0xe7037ed1a0b428db);
    }
    return h ^ h >> 29;
}

/* The slot of `key`, or the free slot for it. */
static size_t slot_of(const struct vq_intern *intern, struct vq_span key)
{
    size_t mask = intern->slots_count - 1;
    size_t slot = (size_t)hash_of(key) & mask;
    while (intern->slots[slot] != 0 && !vq_span_eq(intern->keys[intern->slots[slot] - 1], key)) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static enum vq_status widen(struct vq_intern *intern)
{
    struct vq_intern wider = *intern;
    wider.slots_count = intern->slots_count == 0 ? 64 : intern->slots_count * 2;
    VQ_TRY(VQ_ALLOC(wider.slots, wider.slots_count));
    for (uint32_t id = 0; id < intern->count; id++) {
        wider.slots[slot_of(&wider, intern->keys[id])] = id + 1;
    }
    vq_free(intern->slots);
    *intern = wider;
    return VQ_OK;
}

enum vq_status vq_intern_add(struct vq_intern *intern, struct vq_span key, uint32_t *ret_id)
{
    if ((size_t)intern->count * 2 >= intern->slots_count) {
        VQ_TRY(widen(intern));
    }
    size_t slot = slot_of(intern, key);
    if (intern->slots[slot] == 0) {
        VQ_TRY(VQ_GROW(intern->keys, &intern->keys_cap, (size_t)intern->count + 1, KEYS_MAX));
        intern->keys[intern->count] = key;
        intern->slots[slot] = ++intern->count;
    }
    *ret_id = intern->slots[slot] - 1;
    return VQ_OK;
}

uint32_t vq_intern_find(const struct vq_intern *intern, struct vq_span key)
{
    if (intern->slots_count == 0) {
        return VQ_INTERN_NONE;
    }
    return intern->slots[slot_of(intern, key)] -
           1; /* a free slot holds 0 and gives VQ_INTERN_NONE */
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The edit distance over bytes, with a swap of two neighbours as one edit (optimal string
 * alignment). Both spans have at most NEAR_BYTES_MAX bytes. `rows`: the current row and the two
 * before it. */
static uint32_t edits_between(struct vq_span a, struct vq_span b)
{
    uint32_t rows[3][NEAR_BYTES_MAX + 1];
    for (size_t j = 0; j <= b.bytes; j++) {
        rows[0][j] = (uint32_t)j;
    }
    for (size_t i = 1; i <= a.bytes; i++) {
        uint32_t *row = rows[i % 3];
        const uint32_t *last = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= b.bytes; j++) {
            char x = vq_lower(a.at[i - 1]), y = vq_lower(b.at[j - 1]);
            uint32_t edits = least(last[j - 1] + (x != y), least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == vq_lower(b.at[j - 2]) && y == vq_lower(a.at[i - 2])) {
                edits = least(edits, older[j - 2] + 1);
            }
            row[j] = edits;
        }
    }
    return rows[a.bytes % 3][b.bytes];
}

static bool begins_with(struct vq_span text, struct vq_span prefix)
{
    if (prefix.bytes < 3 || prefix.bytes > text.bytes) {
        return false;
    }
    for (size_t i = 0; i < prefix.bytes; i++) {
        if (vq_lower(text.at[i]) != vq_lower(prefix.at[i])) {
            return false;
        }
    }
    return true;
}

uint32_t vq_nearest_name(struct vq_span name, const struct vq_span *names, uint32_t names_count)
{
    uint32_t best = VQ_INTERN_NONE;
    uint32_t best_edits = UINT32_MAX;
    for (uint32_t i = 0; i < names_count && name.bytes <= NEAR_BYTES_MAX; i++) {
        if (names[i].bytes > NEAR_BYTES_MAX) {
            continue;
        }
        size_t longer = name.bytes > names[i].bytes ? name.bytes : names[i].bytes;
        uint32_t edits = edits_between(name, names[i]);
        bool prefix = begins_with(name, names[i]) || begins_with(names[i], name);
        if ((edits * 3 <= longer || prefix || (edits == 1 && longer > 1)) && edits < best_edits) {
            best = i;
            best_edits = edits;
        }
    }
    return best;
}
