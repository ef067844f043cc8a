/* The limit of a pool, in one form for the configuration, the authority's slices and a worker's
 * pacing. A provider's limit belongs to a pool: an account (or deployment) and a model.
 *
 * The meaning of 0 depends on the owner of the limit. In the configuration 0 is "unknown". In a
 * worker's slice a rate of 0 is "not limited", and a concurrency of 0 means that the worker must
 * not start a call. The authority alone computes with INFINITY for "not limited", and never sends
 * it. A daily quota is not part of a limit, because it does not refill after it is spent (struct
 * vq_amount). */
#pragma once

#include <stdint.h>

/* The dimensions of struct vq_rates, in its order. */
enum vq_rate {
    VQ_RATE_REQUESTS,
    VQ_RATE_INPUT,
    VQ_RATE_OUTPUT,
    VQ_RATE_TOKENS, /* input and output together */
    VQ_RATE__COUNT
};

/* The rates of a pool, per minute. Input tokens are those that the provider counts for the
 * prompt. */
struct vq_rates {
    union {
        struct {
            double requests, input_tokens, output_tokens, tokens;
        };
        double of[VQ_RATE__COUNT]; /* by enum vq_rate */
    };
};

struct vq_limit {
    struct vq_rates rates;
    uint32_t concurrency; /* calls in flight */
};

/* The larger value in each dimension. */
static inline struct vq_rates vq_rates_larger(const struct vq_rates *a, const struct vq_rates *b)
{
    struct vq_rates rates = *a;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        if (b->of[r] > rates.of[r]) {
            rates.of[r] = b->of[r];
        }
    }
    return rates;
}

/* Each rate times `share`. */
static inline struct vq_rates vq_rates_part(const struct vq_rates *rates, double share)
{
    struct vq_rates part;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        part.of[r] = rates->of[r] * share;
    }
    return part;
}
