/* Dialogues with a run's judges as a script of one stage beside the run: chains of queries in, what
 * was answered out. Pure. */
#pragma once

#include "methods/script.h"

#define VQ_CHAT_CHAINS_MAX 100000u

struct vq_chat_input { /* borrowed while the script lives */
    /* a: system part, may be empty; prompt: packed queries (common/judge/chain.h) */
    const struct vq_sample *chains;
    uint32_t count;
    uint32_t models; /* the run's judges */
};

struct vq_chat;
/* VQ_INVALID: no chain, or one without a query; VQ_LIMIT: too many, or one with more than
 * VQ_CHAIN_TURNS_MAX; VQ_NOMEM. */
enum vq_status vq_chat_create(const struct vq_chat_input *input, struct vq_chat **ret_chat,
                              struct vq_error *err) VQ_WARN_UNUSED;
void vq_chat_destroy(struct vq_chat **chat);
struct vq_script vq_chat_script(struct vq_chat *chat);

/* Valid once the stage was taken: the answer, or .at NULL and .bytes the enum vq_outcome. */
struct vq_span vq_chat_answer(const struct vq_chat *chat, uint32_t chain, uint32_t model,
                              uint32_t turn);
