/* Fronts of prompts that an account has in the provider's cache. Not its job: which fronts of a
 * prompt may be cached (chat.c, dialect.c). */
#pragma once

#include "offline/chat.h"

#define VQ_FRONTS_KEPT 65536u

/* All zeros is empty. A table by hash; a later front replaces an earlier one. */
struct vq_fronts {
    struct vq_kept_front {
        uint64_t hash; /* 0: none */
        int64_t ready_ns;
    } kept[VQ_FRONTS_KEPT];
};

/* The number of tokens of the prompt that are in the cache now. */
uint64_t vq_fronts_find(const struct vq_fronts *fronts, const struct vq_chat_request *request,
                        uint64_t account, int64_t now_ns);
/* Puts the request's fronts into the cache, from ready_ns on. */
void vq_fronts_keep(struct vq_fronts *fronts, const struct vq_chat_request *request,
                    uint64_t account, int64_t ready_ns);
