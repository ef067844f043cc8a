/* Prices of a judge's pools: service tiers and batches count, and a pool without a price does not
 * make the others look dear. */
#include "tests/unit/test.h"

#include "coordinator/pools/prices.h"

#include <math.h>

static char flex[] = "flex";

static struct vq_conf_use pool(double input_usd, double output_usd, char *tier)
{
    return (struct vq_conf_use){.limits = {.price_input_usd = input_usd,
                                           .price_output_usd = output_usd,
                                           .service_tier = tier,
                                           .service_tier_price = -1}};
}

static struct vq_pool_prices of(const struct vq_conf_use *one, const struct vq_conf_use *two)
{
    const struct vq_conf_use *pools[] = {one, two};
    struct vq_pool_prices prices;
    vq_pool_prices_of(pools, two == NULL ? 1 : 2, 1000, 100, &prices);
    return prices;
}

TEST(a_tier_and_a_batch_are_cheaper)
{
    struct vq_conf_batch half = {.enabled = true, .price = -1};
    struct vq_conf_use slow = pool(2, 10, flex), batch = pool(2, 10, NULL);
    batch.batch = &half;
    struct vq_pool_prices p = of(&slow, &batch);
    assert_true(p.interactive == 1500 && p.batch == 1500); /* neither is cheaper */
    struct vq_conf_use plain = pool(2, 10, NULL);
    p = of(&plain, &batch);
    assert_true(p.interactive == 3000 && p.batch == 1500);
    p = of(&slow, &plain); /* the cheapest one counts */
    assert_true(p.interactive == 1500 && isinf(p.batch));
}

TEST(a_pool_without_a_price_is_not_free)
{
    struct vq_conf_batch cheap = {.enabled = true, .price = 0.25};
    struct vq_conf_use unknown = pool(-1, -1, NULL), batch = pool(2, 10, NULL);
    batch.batch = &cheap;
    struct vq_pool_prices p = of(&unknown, &batch);
    assert_true(p.interactive == 1 && p.batch == 0.25);
    struct vq_conf_use slow = pool(-1, -1, flex);
    p = of(&slow, &batch);
    assert_true(p.interactive == 0.5 && p.batch == 0.25);
    struct vq_conf_use zero = pool(0, 0, NULL), zero_batch = pool(0, 0, NULL);
    zero_batch.batch = &cheap;
    p = of(&zero, &zero_batch); /* no price at all: batches come first, as without a deadline */
    assert_true(p.interactive == 1 && p.batch == 0.25);
}
