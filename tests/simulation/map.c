/* Open addressing with linear probing; keys are hashes already, ids are mixed by a
 * multiplication. */
#include "tests/simulation/map.h"

#include "common/base/alloc.h"

static size_t place(const struct sim_map *map, const struct vq_hash *key)
{
    uint64_t halves[2];
    memcpy(halves, key->b, sizeof(halves));
    uint64_t mixed = (halves[0] ^ (halves[1] << 1)) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(mixed >> 20) & (map->cap - 1);
    while (map->entries[at].used && !vq_hash_eq(&map->entries[at].key, key)) {
        at = (at + 1) & (map->cap - 1);
    }
    return at;
}

uint64_t *sim_map_get(const struct sim_map *map, const struct vq_hash *key)
{
    if (map->cap == 0) {
        return NULL;
    }
    struct sim_map_entry *entry = &map->entries[place(map, key)];
    return entry->used ? &entry->value : NULL;
}

void sim_map_put(struct sim_map *map, const struct vq_hash *key, uint64_t value)
{
    if (map->count * 2 >= map->cap) {
        struct sim_map old = *map;
        map->cap = old.cap == 0 ? 64 : old.cap * 2;
        map->count = 0;
        map->entries = vq_alloc(map->cap, sizeof(*map->entries));
        VQ_ASSERT(map->entries != NULL);
        for (size_t i = 0; i < old.cap; i++) {
            if (old.entries[i].used) {
                sim_map_put(map, &old.entries[i].key, old.entries[i].value);
            }
        }
        vq_free(old.entries);
    }
    struct sim_map_entry *entry = &map->entries[place(map, key)];
    map->count += !entry->used;
    *entry = (struct sim_map_entry){*key, value, true};
}

void sim_map_free(struct sim_map *map)
{
    vq_free(map->entries);
    *map = (struct sim_map){0};
}
