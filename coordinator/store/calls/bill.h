/* What the answers of one pool say about its bill: whether usage is reported, what the provider
 * itself charges, whether it reads the whole prompt, and which models answer. A pure fold over
 * calls in any order, and sentences about it. */
#pragma once

#include "common/base/buf.h"

#define VQ_BILL_MODELS_MAX 8u  /* counted apart; answers of more are counted together */
#define VQ_BILL_NAME_BYTES 129 /* of a model, as returned */
#define VQ_BILL_TIERS_MAX  8u  /* likewise */
#define VQ_BILL_TIER_BYTES 32  /* of a service tier */

struct vq_bill_call {
    bool answered;   /* an answer came, also one that was not taken because the prompt was cut */
    bool unreported; /* as in vq_result */
    uint64_t tokens_in, prompt_chars, cost_nano, provider_nano;
    struct vq_span model;
    struct vq_span tier; /* as in vq_result */
    bool no_capacity;    /* its tier refused it */
};

struct vq_bill_model {
    char name[VQ_BILL_NAME_BYTES];
    uint64_t answers;
};

struct vq_bill_tier {
    char name[VQ_BILL_TIER_BYTES]; /* as reported */
    uint64_t answers;
};

struct vq_bill { /* zeroed: no call */
    uint64_t answers;
    uint64_t unreported;
    /* calls of which the provider says what they cost; and what it and vibeq make it */
    uint64_t charged;
    double provider_usd, own_usd;
    uint64_t cut, cut_tokens, cut_chars; /* vq_context_is_cut */
    /* of the answers with the most prompt tokens: how many, and the shortest and longest prompt */
    uint64_t most_tokens, most_answers, most_chars_least, most_chars_most;
    struct vq_bill_model models[VQ_BILL_MODELS_MAX];
    uint32_t models_count;
    uint64_t models_other;
    struct vq_bill_tier tiers[VQ_BILL_TIERS_MAX];
    uint32_t tiers_count;
    uint64_t no_capacity; /* calls that a service tier refused */
};

enum vq_bill_note {
    VQ_BILL_USAGE,  /* the provider reports no usage */
    VQ_BILL_CUT,    /* the server does not read whole prompts */
    VQ_BILL_COST,   /* the provider's dollars are not vibeq's */
    VQ_BILL_MODELS, /* several models answer */
    VQ_BILL_NOTES
};

void vq_bill_add(struct vq_bill *bill, const struct vq_bill_call *call);
/* Appends the sentences about one matter of the pool `name`; nothing where there is none. Whether
 * there is. `strict`: answers to cut prompts count as missing. */
bool vq_bill_note(const struct vq_bill *bill, enum vq_bill_note note, const char *name, bool strict,
                  struct vq_buf *out);
