/* Embeddings without a model: hashed n-grams of letters and words, and the features that the text
 * mentions, normalised. Texts with common words have near vectors; texts about the same feature
 * have nearer ones. */
#pragma once

#include "offline/dialect.h"
#include "offline/reply.h"

#define VQ_EMBED_MODEL          "offline-embed"
#define VQ_EMBED_DIMENSIONS     256
#define VQ_EMBED_DIMENSIONS_MAX 4096
#define VQ_EMBED_INPUTS_MAX     2048

/* Unit length; zero for a text without letters or digits. */
void vq_embed_text(struct vq_span text, size_t dimensions, float *ret_vector);

/* Answers a request for embeddings on the path of `route`; an invalid request becomes an error
 * reply. VQ_EMBED_MODEL is known; `knows_model` decides about other names. Writes the requested
 * model's name into ret_model (VQ_CHAT_MODEL_BYTES). */
enum vq_status vq_embed_answer(const struct vq_route *route, struct vq_span body,
                               bool (*knows_model)(const void *, const char *), const void *context,
                               struct vq_offline_reply *reply, char *ret_model) VQ_WARN_UNUSED;
