/* Private to this folder: service tiers in requests and responses. */
#pragma once

#include "common/text/json.h"
#include "worker/provider/provider.h"

#define VQ_TIER_BYTES_MAX 24u /* of a reported tier; a longer text is not a tier */

/* Writes the tier that a prompt names, if it names one. */
void vq_tier_put(struct vq_json *json, const char *key, const struct vq_prompt *prompt);
/* Reads a reported tier: letters and underscores, in small letters, without a leading
 * SERVICE_TIER_. Otherwise *ret_tier does not change. */
void vq_tier_take(struct vq_span said, char ret_tier[VQ_REPLY_NAME_BYTES_MAX]);
