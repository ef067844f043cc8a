/* Private to this folder: the common part of chat and embeddings in the OpenAI dialect and in
 * similar ones. Includes jansson: for .c files only. */
#pragma once

#include "worker/provider/read.h"

#define VQ_JSON_HEADERS 2
extern const struct vq_provider_header vq_json_headers[VQ_JSON_HEADERS]; /* of a JSON body */

enum vq_status vq_openai_body(const struct vq_judge *judge, const struct vq_prompt *prompt,
                              struct vq_buf *body) VQ_WARN_UNUSED;
/* Reads a chat completion; errors by the rows of `dialect`. */
enum vq_status vq_openai_read_chat(const char *dialect, const struct vq_response *response,
                                   struct vq_reply *reply) VQ_WARN_UNUSED;

/* Takes the answer out of a response that reports success: content and class. VQ_NOMEM only. */
typedef enum vq_status (*vq_openai_content_fn)(const struct vq_reading *reading, void *ctx,
                                               const json_t *root, struct vq_reply *reply);
/* Reads a response: headers, errors, usage; `content` does the rest. VQ_NOMEM only. */
enum vq_status vq_openai_read(const char *dialect, const struct vq_response *response,
                              size_t values_max, vq_openai_content_fn content, void *ctx,
                              struct vq_reply *reply) VQ_WARN_UNUSED;

enum vq_status vq_openai_embed_body(const struct vq_judge *judge, struct vq_span texts,
                                    struct vq_buf *body, uint32_t *ret_count) VQ_WARN_UNUSED;
enum vq_status vq_openai_embed_read(const char *dialect, const struct vq_response *response,
                                    uint32_t count, struct vq_reply *reply) VQ_WARN_UNUSED;
