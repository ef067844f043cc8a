/* Service tiers: cheaper or faster service of the same model. Pure. */
#pragma once

#include "common/conf/config.h"

#define VQ_TIER_FLEX_PRICE      0.5     /* of the ordinary price, where no price is set */
#define VQ_TIER_FLEX_TIMEOUT_MS 900000u /* of a call of flex whose timeouts are not set */

/* Whether the tier may be refused for want of capacity while the ordinary one has some. */
bool vq_tier_is_flex(const char *tier); /* NULL: no */

/* The price of a call in the tier, as a multiple of the ordinary price; 1 without a tier. */
double vq_tier_price(const struct vq_conf_limits *limits);
