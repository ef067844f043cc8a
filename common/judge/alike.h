/* Finds chains with a common beginning. If two chains of equal askers begin alike, their common
 * turns are the same requests and are bought once: the first chain asks them, and the other chains
 * wait. This is known before the first call, since equal beginnings have equal answers. Pure. */
#pragma once

#include "common/judge/chain.h"

struct vq_chain_asked {
    struct vq_span system, queries; /* packed; `queries` empty: the chain has no turn */
    uint32_t asker;                 /* chains with the same number have equal askers */
};

/* Earlier chains ask the first `turns` turns of this chain; chain `of` asks the last of these
 * turns. So if k >= turns, this chain asks its turn k itself; else turn k is asked where turn k of
 * chain `of` is asked. turns 0: this chain asks all of its turns. */
struct vq_chain_alike {
    uint32_t of, turns;
};

/* ret_alike: `count` items. *ret_any: whether a chain shares turns with an earlier one.
 * VQ_NOMEM. */
enum vq_status vq_chains_alike(const struct vq_chain_asked *chains, uint32_t count,
                               struct vq_chain_alike *ret_alike, bool *ret_any) VQ_WARN_UNUSED;
