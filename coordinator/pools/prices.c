/* Prices are compared only if all of them are known: a pool without a price is not free. Owns
 * nothing. Not its job: the cost of a finished call (the workers). */
#include "coordinator/pools/prices.h"

#include "common/conf/batches.h"
#include "common/conf/tiers.h"

#include <math.h>

static bool all_priced(const struct vq_conf_use *const *pools, uint32_t count)
{
    bool set = true, any = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct vq_conf_limits *l = &pools[i]->limits;
        set = set && l->price_input_usd >= 0 && l->price_output_usd >= 0;
        any = any || l->price_input_usd > 0 || l->price_output_usd > 0;
    }
    return set && any;
}

void vq_pool_prices_of(const struct vq_conf_use *const *pools, uint32_t count, double tokens_in,
                       double tokens_out, struct vq_pool_prices *ret_prices)
{
    struct vq_pool_prices prices = {INFINITY, INFINITY};
    bool priced = all_priced(pools, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct vq_conf_limits *l = &pools[i]->limits;
        double *cheapest = pools[i]->batch != NULL ? &prices.batch : &prices.interactive;
        double price =
            priced ? l->price_input_usd * tokens_in + l->price_output_usd * tokens_out : 1;
        *cheapest =
            fmin(*cheapest, price * vq_tier_price(l) * vq_conf_batch_price(pools[i]->batch));
    }
    *ret_prices = prices;
}
