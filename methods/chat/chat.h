/* Dialogues with a run's judges, as a script of one stage beside the run. Its input are chains of
 * queries, its output are the answers. Pure. */
#pragma once

#include "methods/script.h"

#define VQ_CHAT_CHAINS_MAX 100000u

struct vq_chat_input { /* borrowed while the script lives */
    /* a: system part, may be empty; prompt: packed queries (common/judge/chain.h) */
    const struct vq_sample *chains;
    uint32_t count;
    uint32_t models; /* number of the run's judges */
};

struct vq_chat;
/* VQ_INVALID: there is no chain, or a chain has no query. VQ_LIMIT: too many chains, or more than
 * VQ_CHAIN_TURNS_MAX queries in a chain. VQ_NOMEM. */
enum vq_status vq_chat_create(const struct vq_chat_input *input, struct vq_chat **ret_chat,
                              struct vq_error *err) VQ_WARN_UNUSED;
void vq_chat_destroy(struct vq_chat **chat);
struct vq_script vq_chat_script(struct vq_chat *chat);

/* Valid after the script took the stage's answers. Returns the answer; without an answer .at is
 * NULL and .bytes is the enum vq_outcome. */
struct vq_span vq_chat_answer(const struct vq_chat *chat, uint32_t chain, uint32_t model,
                              uint32_t turn);
