/* Walks all chains turn by turn. The beginnings form a tree: chains that are equal so far share a
 * node, which belongs to its first chain. Sorting brings equal chains together. A chain leaves the
 * walk when it has ended or is alone in its node.
 *
 * Invariant: the chains of a node come from the same parent node; if the parent's owner is among
 * them, it is the first. A turn costs one sort of the chains that still share a node. */
#include "common/judge/alike.h"

#include "common/base/alloc.h"

#include <stdlib.h>

#define NO_OWNER UINT32_MAX

struct walker {
    struct vq_chain_state state;
    struct vq_span queries; /* the following ones */
    uint32_t chain;
    uint32_t owner; /* of the parent node; NO_OWNER at the start */
    uint32_t asker;
};

static int by_node(const void *a, const void *b)
{
    const struct walker *left = a, *right = b;
    if (left->owner != right->owner) {
        return left->owner < right->owner ? -1 : 1;
    }
    if (left->asker != right->asker) {
        return left->asker < right->asker ? -1 : 1;
    }
    int order = memcmp(left->state.at.b, right->state.at.b, VQ_HASH_BYTES);
    return order != 0 ? order : left->chain < right->chain ? -1 : left->chain > right->chain;
}

static bool same_node(const struct walker *a, const struct walker *b)
{
    return a->owner == b->owner && a->asker == b->asker && vq_hash_eq(&a->state.at, &b->state.at);
}

/* Handles the chains of one node at depth `turn`; the first one is its owner. Chains that still
 * share a node are written to `to`; returns their number. */
static uint32_t node_pass(const struct walker *at, uint32_t count, uint32_t turn, struct walker *to,
                          struct vq_chain_alike *alike)
{
    uint32_t owner = at->chain, kept = 0;
    for (uint32_t i = 0; count > 1 && i < count; i++) {
        struct walker walker = at[i]; /* a copy, because `to` may overlap `at` */
        struct vq_span query;
        if (walker.chain != owner) {
            alike[walker.chain] = (struct vq_chain_alike){owner, turn + 1};
        }
        if (vq_chain_unpack(&walker.queries, &query)) {
            vq_chain_go_on(&walker.state, vq_span("", 0), query); /* for any answer */
            walker.owner = owner;
            to[kept++] = walker;
        }
    }
    return kept;
}

enum vq_status vq_chains_alike(const struct vq_chain_asked *chains, uint32_t count,
                               struct vq_chain_alike *ret_alike, bool *ret_any)
{
    struct walker *walkers = vq_alloc(count, sizeof(*walkers));
    uint32_t walking = 0;
    if (walkers == NULL) {
        return VQ_NOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct walker walker = {
            .queries = chains[i].queries, .chain = i, .owner = NO_OWNER, .asker = chains[i].asker};
        struct vq_span query;
        ret_alike[i] = (struct vq_chain_alike){0};
        if (vq_chain_unpack(&walker.queries, &query)) {
            vq_chain_begin(chains[i].system, query, &walker.state);
            walkers[walking++] = walker;
        }
    }
    for (uint32_t turn = 0; walking > 0; turn++) {
        uint32_t kept = 0;
        qsort(walkers, walking, sizeof(*walkers), by_node);
        for (uint32_t first = 0, end; first < walking; first = end) {
            for (end = first + 1; end < walking && same_node(&walkers[first], &walkers[end]);) {
                end++;
            }
            kept += node_pass(walkers + first, end - first, turn, walkers + kept, ret_alike);
        }
        walking = kept;
    }
    *ret_any = false;
    for (uint32_t i = 0; i < count; i++) {
        *ret_any |= ret_alike[i].turns > 0;
    }
    vq_free(walkers);
    return VQ_OK;
}
