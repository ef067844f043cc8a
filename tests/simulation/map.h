/* From a 32-byte key to a number. Grows, forgets nothing. For the simulation and tests only: no
 * memory ends it. */
#pragma once

#include "proto/id.h"

struct sim_map_entry {
    struct vq_hash key;
    uint64_t value;
    bool used;
};

struct sim_map {
    struct sim_map_entry *entries;
    size_t cap, count;
};

uint64_t *sim_map_get(const struct sim_map *map, const struct vq_hash *key); /* NULL: not there */
void sim_map_put(struct sim_map *map, const struct vq_hash *key, uint64_t value);
void sim_map_free(struct sim_map *map);

static inline struct vq_hash sim_key_id(const struct vq_id *id)
{
    struct vq_hash key = {{0}};
    memcpy(key.b, id->b, sizeof(id->b));
    return key;
}
