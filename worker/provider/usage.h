/* What a response says that the call took: tokens, and dollars where a gateway names them. Private
 * to this folder; includes jansson: for .c files only. */
#pragma once

#include "worker/provider/body.h"
#include "worker/provider/provider.h"

/* Fills the reply's token counts and `cost_usd` from a response in any dialect, by
 * usage_fields.def. What is not said, or is no count, stays as vq_reply_init left it. Where a
 * response can be read in two ways, the larger bill counts. */
void vq_usage_take(const json_t *root, struct vq_reply *reply);
