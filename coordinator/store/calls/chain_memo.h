/* How far each chain of a stage has come, and the state there: a walk begins there instead of at
 * the first turn, so that a dialogue of n turns costs n steps and not n squared. Nothing but speed
 * depends on it. A turn that has a good answer keeps it, so what is remembered stays right; only
 * what is durable may be put in. Used by the loop and by the thread pool at once. */
#pragma once

#include "common/judge/chain.h"

struct vq_chain_memo;

/* VQ_NOMEM. */
enum vq_status vq_chain_memo_create(uint64_t shards,
                                    struct vq_chain_memo **ret_memo) VQ_WARN_UNUSED;
void vq_chain_memo_destroy(struct vq_chain_memo **memo);

/* The deepest turn that is known to be reached, if it is not behind `turn_max`: its number, from 1
 * on, and its state. `memo` may be NULL. */
bool vq_chain_memo_get(struct vq_chain_memo *memo, uint64_t shard, uint32_t turn_max,
                       uint32_t *ret_turn, struct vq_chain_state *ret_state);
/* All turns before this one have a durable good answer, and this is the state that follows. */
void vq_chain_memo_put(struct vq_chain_memo *memo, uint64_t shard, uint32_t turn,
                       const struct vq_chain_state *state);
