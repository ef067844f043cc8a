/* The limits of a pool, as the coordinator and the workers count them. A provider's limit belongs
 * to a pool: an account (or deployment) and a model. */
#ifndef VQ_PROTO_POOL_H
#define VQ_PROTO_POOL_H

#include "proto/messages.h"

/* The dimensions of struct vq_rates, in its order. */
enum vq_rate {
    VQ_RATE_REQUESTS,
    VQ_RATE_INPUT,
    VQ_RATE_OUTPUT,
    VQ_RATE_TOKENS, /* input and output together */
    VQ_RATE__COUNT
};

static inline double vq_rates_get(const struct vq_rates *rates, enum vq_rate rate)
{
    switch (rate) {
    case VQ_RATE_REQUESTS: return rates->requests;
    case VQ_RATE_INPUT: return rates->input_tokens;
    case VQ_RATE_OUTPUT: return rates->output_tokens;
    case VQ_RATE_TOKENS:
    case VQ_RATE__COUNT: break; /* none */
    }
    return rates->tokens;
}

static inline void vq_rates_set(struct vq_rates *rates, enum vq_rate rate, double per_minute)
{
    switch (rate) {
    case VQ_RATE_REQUESTS: rates->requests = per_minute; break;
    case VQ_RATE_INPUT: rates->input_tokens = per_minute; break;
    case VQ_RATE_OUTPUT: rates->output_tokens = per_minute; break;
    case VQ_RATE_TOKENS:
    case VQ_RATE__COUNT: rates->tokens = per_minute; break;
    }
}

/* The larger value in each dimension. */
static inline struct vq_rates vq_rates_larger(const struct vq_rates *a, const struct vq_rates *b)
{
    struct vq_rates rates = *a;
    for (int i = 0; i < VQ_RATE__COUNT; i++) {
        enum vq_rate r = (enum vq_rate)i;
        if (vq_rates_get(b, r) > vq_rates_get(a, r)) {
            vq_rates_set(&rates, r, vq_rates_get(b, r));
        }
    }
    return rates;
}

/* ---- the amounts of an ended call, as workers, the authority and the ledger count them ---- */

/* The provider may have carried the call out and may bill it, even if no usage came. Providers do
 * not bill refusals and the errors that they report. */
static inline bool vq_result_may_be_billed(const struct vq_result *result)
{
    return result->end == VQ_END_ANSWER || result->end == VQ_END_LOST ||
           result->end == VQ_END_BAD_RESPONSE || result->end == VQ_END_UNKNOWN;
}

/* Requests that count against a daily quota: 1 if the call was sent. */
static inline uint64_t vq_result_requests(const struct vq_result *result)
{
    bool unsent = result->end == VQ_END_NETWORK ||
                  ((result->end == VQ_END_TOO_LONG || result->end == VQ_END_CLOSED) &&
                   result->http_status == 0);
    return unsent ? 0 : 1;
}

/* Tokens that count against a daily quota: the reported usage; if it is unknown, the reserved
 * tokens. */
static inline uint64_t vq_result_tokens(const struct vq_result *result)
{
    bool silent =
        result->end == VQ_END_ANSWER || result->end == VQ_END_LOST || result->end == VQ_END_UNKNOWN;
    uint64_t used = result->tokens_in > UINT64_MAX - result->tokens_out
                        ? UINT64_MAX
                        : result->tokens_in + result->tokens_out;
    return used == 0 && silent ? result->tokens_reserved : used;
}

#define VQ_AMOUNT_ANY   UINT64_MAX /* vq_amount.most: no limit */
#define VQ_NANO_PER_USD 1000000000.0

#endif
