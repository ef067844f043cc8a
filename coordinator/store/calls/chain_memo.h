/* The progress of each chain of a stage, and the state there. A walk begins there and not at the
 * first turn, so that a dialogue of n turns costs n steps and not n squared. Only speed depends on
 * it. A good answer of a turn never changes, so the memo stays right; put only durable answers in.
 * The loop and the thread pool use it at once. */
#pragma once

#include "common/judge/chain.h"

struct vq_chain_memo;

/* VQ_NOMEM. */
enum vq_status vq_chain_memo_create(uint64_t shards,
                                    struct vq_chain_memo **ret_memo) VQ_WARN_UNUSED;
void vq_chain_memo_destroy(struct vq_chain_memo **memo);

/* The deepest known turn up to `turn_max`: its number, from 1, and its state. `memo` may be
 * NULL. */
bool vq_chain_memo_get(struct vq_chain_memo *memo, uint64_t shard, uint32_t turn_max,
                       uint32_t *ret_turn, struct vq_chain_state *ret_state);
/* All turns before this one have a durable good answer; `state` is the state after them. */
void vq_chain_memo_put(struct vq_chain_memo *memo, uint64_t shard, uint32_t turn,
                       const struct vq_chain_state *state);
