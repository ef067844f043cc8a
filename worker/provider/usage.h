/* The usage that a response reports: tokens, and dollars if a gateway names them. Private to this
 * folder; includes jansson: for .c files only. */
#pragma once

#include "worker/provider/body.h"
#include "worker/provider/provider.h"

/* Fills the reply's token counts and `cost_usd` from a response in any dialect, by
 * usage_fields.def. Missing values, and values that are not counts, stay as vq_reply_init set them.
 * If a response can be read in two ways, the larger bill counts. */
void vq_usage_take(const json_t *root, struct vq_reply *reply);
