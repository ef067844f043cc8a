/* Price and properties of a service tier. Not its job: the tiers of a dialect (rules_tiers.c),
 * refusals for lack of capacity (worker/core/call.c). */
#include "common/conf/tiers.h"

#include <string.h>

bool vq_tier_is_flex(const char *tier)
{
    return tier != NULL && strcmp(tier, "flex") == 0;
}

double vq_tier_price(const struct vq_conf_limits *limits)
{
    if (limits->service_tier == NULL) {
        return 1;
    }
    if (limits->service_tier_price >= 0) {
        return limits->service_tier_price;
    }
    return vq_tier_is_flex(limits->service_tier) ? VQ_TIER_FLEX_PRICE : 1;
}
