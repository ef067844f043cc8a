/* One state per chain, the deepest one; a mutex that a thread holds only during a copy. */
#include "coordinator/store/calls/chain_memo.h"

#include "common/base/alloc.h"

#include <pthread.h>

struct mark {
    uint32_t turn; /* 0: unknown */
    struct vq_chain_state state;
};

struct vq_chain_memo {
    pthread_mutex_t mutex;
    struct mark *marks;
};

enum vq_status vq_chain_memo_create(uint64_t shards, struct vq_chain_memo **ret_memo)
{
    struct vq_chain_memo *memo;
    VQ_TRY(VQ_ALLOC(memo, 1));
    memo->marks = vq_alloc(shards, sizeof(*memo->marks));
    if (memo->marks == NULL || pthread_mutex_init(&memo->mutex, NULL) != 0) {
        vq_free(memo->marks);
        vq_free(memo);
        return VQ_NOMEM;
    }
    *ret_memo = memo;
    return VQ_OK;
}

void vq_chain_memo_destroy(struct vq_chain_memo **memo)
{
    if (*memo != NULL) {
        (void)pthread_mutex_destroy(&(*memo)->mutex);
        vq_free((*memo)->marks);
        vq_free(*memo);
        *memo = NULL;
    }
}

bool vq_chain_memo_get(struct vq_chain_memo *memo, uint64_t shard, uint32_t turn_max,
                       uint32_t *ret_turn, struct vq_chain_state *ret_state)
{
    if (memo == NULL) {
        return false;
    }
    VQ_ASSERT(pthread_mutex_lock(&memo->mutex) == 0);
    const struct mark *mark = &memo->marks[shard];
    bool has = mark->turn > 0 && mark->turn <= turn_max;
    if (has) {
        *ret_turn = mark->turn;
        *ret_state = mark->state;
    }
    VQ_ASSERT(pthread_mutex_unlock(&memo->mutex) == 0);
    return has;
}

void vq_chain_memo_put(struct vq_chain_memo *memo, uint64_t shard, uint32_t turn,
                       const struct vq_chain_state *state)
{
    if (memo == NULL || turn == 0) {
        return;
    }
    VQ_ASSERT(pthread_mutex_lock(&memo->mutex) == 0);
    if (turn > memo->marks[shard].turn) {
        memo->marks[shard] = (struct mark){turn, *state};
    }
    VQ_ASSERT(pthread_mutex_unlock(&memo->mutex) == 0);
}
