/* Repairs of equal texts by one judge. Their prompts are equal, so one repair is asked, and the
 * other tasks find its answer in the store.
 *
 * Invariants: for each text at most one repair is leased, or reserved by a call (which may be in a
 * batch). A shard that waits for it is PARKED, and is looked up again when that slot is free. A
 * look-up older than the end of any repair is repeated before the lease, because that repair may
 * have had the same text. If there is no memory, a repair is leased as if its text were unique. Not
 * its job: the store's answer to a text (coordinator/store/calls/repairs.c). */
#include "common/base/alloc.h"
#include "coordinator/queue/internal.h"

struct vq_coord_alike {
    struct vq_index_node by_text;
    struct vq_link waiting; /* shards */
};

uint64_t vq_coord_alike_key(uint32_t judge, struct vq_span prior)
{
    struct vq_hash hash;
    struct vq_hasher h;
    vq_hasher_init(&h, "vq.alike");
    vq_hasher_u64(&h, judge);
    vq_hasher_field(&h, prior);
    vq_hasher_final(&h, &hash);
    return vq_hash_u64(&hash);
}

static struct vq_coord_alike *find(const struct vq_coord_repairs *repairs,
                                   const struct vq_coord_slot *slot)
{
    struct vq_index_node *node =
        slot->prior_bytes == 0 ? NULL : vq_index_find(&repairs->by_text, slot->prior_key);
    return node == NULL ? NULL : VQ_CONTAINER_OF(node, struct vq_coord_alike, by_text);
}

bool vq_coord_alike_out(const struct vq_coord *c, const struct vq_coord_slot *slot)
{
    return !c->params.chains && find(&c->repairs, slot) != NULL;
}

void vq_coord_alike_begin(struct vq_coord *c, struct vq_coord_slot *slot)
{
    if (c->params.chains || slot->prior_bytes == 0) {
        return;
    }
    struct vq_coord_alike *alike = vq_alloc(1, sizeof(*alike));
    if (alike == NULL ||
        vq_index_add(&c->repairs.by_text, &alike->by_text, slot->prior_key) != VQ_OK) {
        vq_free(alike);
        return;
    }
    vq_list_init(&alike->waiting);
    slot->alike = alike;
}

void vq_coord_alike_end(struct vq_coord *c, const struct vq_coord_shard *own,
                        struct vq_coord_slot *slot)
{
    struct vq_coord_alike *alike = slot->alike;
    struct vq_link *link;
    if (alike == NULL) {
        return;
    }
    slot->alike = NULL;
    c->repairs.ended++;
    vq_index_remove(&c->repairs.by_text, &alike->by_text);
    while ((link = vq_list_first(&alike->waiting)) != NULL) {
        struct vq_coord_shard *shard = VQ_CONTAINER_OF(link, struct vq_coord_shard, queue);
        vq_unlink(link);
        if (shard != own) {
            vq_coord_shard_stir(c, shard);
        }
    }
    vq_free(alike);
}

void vq_coord_alike_wait(struct vq_coord *c, struct vq_coord_shard *shard)
{
    for (uint32_t i = 0; !c->params.chains && i < c->shard_tasks; i++) {
        struct vq_coord_alike *alike = find(&c->repairs, &shard->slots[i]);
        if (alike != NULL && vq_coord_slot_free(c, shard, i)) {
            vq_list_push(&alike->waiting, &shard->queue);
            return;
        }
    }
}

void vq_coord_alike_free(struct vq_index_node *node)
{
    vq_free(VQ_CONTAINER_OF(node, struct vq_coord_alike, by_text));
}
