/* Private to this folder: what chat and embeddings of the OpenAI dialect share. Includes jansson: for .c files only. */
#ifndef VQ_WORKER_PROVIDER_OPENAI_H
#define VQ_WORKER_PROVIDER_OPENAI_H

#include "worker/provider/body.h"
#include "worker/provider/provider.h"

/* `base_url` without slashes at its end, `path`, and the query of `base_url`. */
enum vq_status vq_openai_url(const char *base_url, const char *path,
                             struct vq_buf *url) VQ_WARN_UNUSED;

/* Takes the answer out of a response that says it is a success: content and class. VQ_NOMEM only. */
typedef enum vq_status (*vq_openai_content_fn)(void *ctx, const json_t *root,
                                               struct vq_reply *reply);
/* Reads a response: headers, errors, usage; `content` does the rest. VQ_NOMEM only. */
enum vq_status vq_openai_read(const struct vq_response *response, size_t values_max,
                              vq_openai_content_fn content, void *ctx,
                              struct vq_reply *reply) VQ_WARN_UNUSED;
void vq_openai_bad_response(struct vq_reply *reply, const char *what);

enum vq_status vq_openai_embed_url(const char *base_url, struct vq_buf *url) VQ_WARN_UNUSED;
enum vq_status vq_openai_embed_body(const struct vq_judge *judge, struct vq_span texts,
                                    struct vq_buf *body, uint32_t *ret_count) VQ_WARN_UNUSED;
enum vq_status vq_openai_embed_read(const struct vq_response *response, uint32_t count,
                                    struct vq_reply *reply) VQ_WARN_UNUSED;

#endif
