/* What follows from a service tier. Not its job: which dialect has which tier (rules_tiers.c), what
 * follows from a refusal (worker/core/call.c). */
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
