/* Private to this folder: service tiers in requests and responses. */
#pragma once

#include "common/text/json.h"
#include "worker/provider/provider.h"

#define VQ_TIER_BYTES_MAX 24u /* of a reported tier; a longer text is none */

/* Writes the tier that a prompt asks for, where it names one. */
void vq_tier_put(struct vq_json *json, const char *key, const struct vq_prompt *prompt);
/* A reported tier: letters and underscores, in small letters, without a front SERVICE_TIER_.
 * Anything else is none, and *ret_tier stays. */
void vq_tier_take(struct vq_span said, char ret_tier[VQ_REPLY_NAME_BYTES_MAX]);
