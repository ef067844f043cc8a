/* Open addressing; doubled when it is two thirds full. The key is the hash's first eight bytes. */
#include "offline/tries.h"

#include "common/base/alloc.h"

#define CAP_START 4096u

struct vq_tries_slot {
    uint64_t key; /* 0: free; a hash that begins with zeros has the key 1 */
    uint64_t count;
};

static struct vq_tries_slot *find(struct vq_tries_slot *slots, size_t cap, uint64_t key)
{
    for (size_t i = (size_t)key;; i++) {
        struct vq_tries_slot *slot = &slots[i & (cap - 1)];
        if (slot->key == key || slot->key == 0) {
            return slot;
        }
    }
}

static bool grow(struct vq_tries *tries)
{
    size_t cap = tries->cap == 0 ? CAP_START : tries->cap * 2;
    struct vq_tries_slot *slots = vq_alloc(cap, sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < tries->cap; i++) {
        if (tries->slots[i].key != 0) {
            *find(slots, cap, tries->slots[i].key) = tries->slots[i];
        }
    }
    vq_free(tries->slots);
    tries->slots = slots;
    tries->cap = cap;
    return true;
}

uint64_t vq_tries_count(struct vq_tries *tries, const struct vq_hash *hash)
{
    uint64_t key = vq_hash_u64(hash);
    key = key == 0 ? 1 : key;
    if (tries->n * 3 >= tries->cap * 2 && !grow(tries) && tries->cap == 0) {
        return 1;
    }
    struct vq_tries_slot *slot = find(tries->slots, tries->cap, key);
    if (slot->key == 0) {
        if (tries->n >= VQ_TRIES_MAX || tries->n + 1 >= tries->cap) {
            return 1;
        }
        slot->key = key;
        tries->n++;
    }
    return ++slot->count;
}

void vq_tries_free(struct vq_tries *tries)
{
    vq_free(tries->slots);
    *tries = (struct vq_tries){0};
}
