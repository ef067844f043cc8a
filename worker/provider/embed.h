/* Private to this folder: the part of embeddings that all dialects share. Includes jansson: for .c
 * files only. */
#pragma once

#include "worker/provider/read.h"

/* The texts of a batch: a list of 1 to VQ_EMBED_BATCH_MAX strings, else VQ_INVALID; VQ_NOMEM. The
 * caller owns *ret_texts. */
enum vq_status vq_embed_texts(struct vq_span texts, json_t **ret_texts) VQ_WARN_UNUSED;

/* Content and class from a list of objects whose member `key` is a vector. The member `index` is
 * the number of the text; without it, the position counts. VQ_NOMEM only. */
enum vq_status vq_embed_take(const json_t *list, const char *key, uint32_t count,
                             struct vq_reply *reply) VQ_WARN_UNUSED;
