/* Prompt caches, as providers keep them: a front of a prompt that was read once is cheap from when
 * its first answer began. This one forgets only what is pushed out, like a provider's cache without
 * other users. Accounts do not share. */
#ifndef VQ_OFFLINE_FRONTS_H
#define VQ_OFFLINE_FRONTS_H

#include "offline/chat.h"

#define VQ_FRONTS_KEPT 65536u

struct vq_fronts {
    struct vq_open_run_front {
        uint64_t hash; /* 0: none */
        int64_t ready_ns;
    } kept[VQ_FRONTS_KEPT];
};

/* How many tokens of the prompt are in the cache now. */
uint64_t vq_fronts_find(const struct vq_fronts *fronts, const struct vq_chat_request *request,
                        uint64_t account, int64_t now_ns);
/* Its fronts will be, from ready_ns on. */
void vq_fronts_keep(struct vq_fronts *fronts, const struct vq_chat_request *request,
                    uint64_t account, int64_t ready_ns);

#endif
