/* Which dialogues begin alike. What two chains ask in common, of equal askers, is one request a
 * turn and is bought once: it is asked in the first of them, the others wait for it. That is known
 * before anything is asked, since equal beginnings have equal answers. Pure. */
#pragma once

#include "common/judge/chain.h"

struct vq_chain_asked {
    struct vq_span system, queries; /* packed; no queries: it asks nothing */
    uint32_t asker;                 /* equal numbers: the same of the same model */
};

/* A chain's first `turns` turns are asked in the chains before it; the last of these is one of
 * chain `of` that no other has before that one. So its turn k is asked in itself if k >= turns,
 * else where turn k of `of` is. turns 0: all of its turns are its own. */
struct vq_chain_alike {
    uint32_t of, turns;
};

/* ret_alike: `count` of them. *ret_any: whether some chain has turns in common with one before it.
 * VQ_NOMEM. */
enum vq_status vq_chains_alike(const struct vq_chain_asked *chains, uint32_t count,
                               struct vq_chain_alike *ret_alike, bool *ret_any) VQ_WARN_UNUSED;
