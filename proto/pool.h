/* The limits of a pool, as the coordinator and the workers count them. A provider's limit belongs
 * to a pool: an account (or deployment) and a model. */
#pragma once

#include "proto/messages.h"

/* ---- the amounts of an ended call, as workers, the authority and the ledger count them ---- */

/* The provider may have carried the call out and may bill it, even if no usage came. Providers do
 * not bill refusals and the errors that they report. */
static inline bool vq_result_may_be_billed(const struct vq_result *result)
{
    return result->end == VQ_END_ANSWER || result->end == VQ_END_LOST ||
           result->end == VQ_END_BAD_RESPONSE || result->end == VQ_END_UNKNOWN ||
           result->end == VQ_END_BATCHED;
}

/* Requests that count against a daily quota: 1 if the call was sent. */
static inline uint64_t vq_result_requests(const struct vq_result *result)
{
    bool unsent = result->end == VQ_END_NETWORK || result->end == VQ_END_CANCELLED ||
                  ((result->end == VQ_END_TOO_LONG || result->end == VQ_END_CLOSED) &&
                   result->http_status == 0);
    return unsent ? 0 : 1;
}

/* Tokens that count against a daily quota: the reported usage; if it is unknown, the reserved
 * tokens. */
static inline uint64_t vq_result_tokens(const struct vq_result *result)
{
    bool silent = result->end == VQ_END_ANSWER || result->end == VQ_END_LOST ||
                  result->end == VQ_END_UNKNOWN || result->end == VQ_END_BATCHED;
    uint64_t used = result->tokens_in > UINT64_MAX - result->tokens_out
                        ? UINT64_MAX
                        : result->tokens_in + result->tokens_out;
    return used == 0 && silent ? result->tokens_reserved : used;
}

#define VQ_AMOUNT_ANY   UINT64_MAX /* vq_amount.most: no limit */
#define VQ_NANO_PER_USD 1000000000.0
