/* Facts about the bill of one pool from its answers: whether usage is reported, the provider's own
 * charges, whether it reads the whole prompt, and which models answer. A pure fold over calls in
 * any order, and sentences about it. */
#pragma once

#include "common/base/buf.h"

/* counted separately; answers of further models are counted together */
#define VQ_BILL_MODELS_MAX 8u
#define VQ_BILL_NAME_BYTES 129 /* of a model, as returned */
#define VQ_BILL_TIERS_MAX  8u  /* likewise */
#define VQ_BILL_TIER_BYTES 32  /* of a service tier */

struct vq_bill_call {
    bool answered;   /* an answer came; also one that was rejected because the prompt was cut */
    bool unreported; /* as in vq_result */
    uint64_t tokens_in, prompt_chars, cost_nano, provider_nano;
    struct vq_span model;
    struct vq_span tier; /* as in vq_result */
    bool no_capacity;    /* a service tier refused it */
};

struct vq_bill_model {
    char name[VQ_BILL_NAME_BYTES];
    uint64_t answers;
};

struct vq_bill_tier {
    char name[VQ_BILL_TIER_BYTES]; /* as reported */
    uint64_t answers;
};

struct vq_bill { /* all zero: no call */
    uint64_t answers;
    uint64_t unreported;
    /* calls with a provider's own cost; the sums of the provider's and of vibeq's costs */
    uint64_t charged;
    double provider_usd, own_usd;
    uint64_t cut, cut_tokens, cut_chars; /* vq_context_is_cut */
    /* answers with the most prompt tokens: their number, their shortest and longest prompt */
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
    VQ_BILL_COST,   /* the provider's dollars differ from vibeq's */
    VQ_BILL_MODELS, /* several models answer */
    VQ_BILL_NOTES
};

void vq_bill_add(struct vq_bill *bill, const struct vq_bill_call *call);
/* Appends the sentences about one matter of the pool `name`, if there are any. Returns whether
 * there are. `strict`: answers to cut prompts count as missing. */
bool vq_bill_note(const struct vq_bill *bill, enum vq_bill_note note, const char *name, bool strict,
                  struct vq_buf *out);
