/* Service tiers: cheaper or faster service of the same model. Pure. */
#pragma once

#include "common/conf/config.h"

#define VQ_TIER_FLEX_PRICE      0.5     /* of the ordinary price, if no price is set */
#define VQ_TIER_FLEX_TIMEOUT_MS 900000u /* timeouts of a flex call, if they are not set */

/* Whether the provider may refuse the tier for lack of capacity while the ordinary tier has
 * some. */
bool vq_tier_is_flex(const char *tier); /* NULL: no */

/* The price of a call in the tier, as a multiple of the ordinary price; 1 without a tier. */
double vq_tier_price(const struct vq_conf_limits *limits);
