/* Private to this folder: the common parts of the batch dialects. Includes jansson: for .c files
 * only. */
#pragma once

#include "worker/provider/batch.h"
#include "worker/provider/read.h"

extern const struct vq_batch_dialect vq_batch_openai;
extern const struct vq_batch_dialect vq_batch_azure;
extern const struct vq_batch_dialect vq_batch_anthropic;
extern const struct vq_batch_dialect vq_batch_gemini;

#define VQ_BATCH_HEADERS 1
extern const struct vq_provider_header vq_batch_headers[VQ_BATCH_HEADERS]; /* Accept */

/* A dialect's word for a state. */
struct vq_batch_word {
    const char *said;
    enum vq_batch_state state;
};
/* Sets `said` and `state` of the view from the member `key`. */
void vq_batch_take_state(const json_t *object, const char *key, const struct vq_batch_word *words,
                         size_t count, struct vq_batch_view *view);

/* Copies a string member without control characters, if it fits; otherwise `ret_id` is empty. An id
 * that was cut would name something else. */
void vq_batch_take_id(const json_t *object, const char *key, char *ret_id, size_t cap);
/* Copies a string if it is a name of ours; otherwise the name is empty. */
void vq_batch_take_name(const json_t *object, const char *key, struct vq_batch_view *view);
/* A count as a number, or as digits in a string (int64 of Google's JSON); otherwise -1. */
int64_t vq_batch_take_count(const json_t *object, const char *key);
int64_t vq_batch_take_date(const json_t *object, const char *key); /* RFC 3339; -1 */

/* Starts a request: URL (method GET, no body). `path` begins with "/". A query in `path` begins
 * with "?", and is joined with the query of the base URL. */
enum vq_status vq_batch_request_to(const char *base_url, const char *path,
                                   struct vq_batch_request *request) VQ_WARN_UNUSED;
/* As above; the path is `front`, the escaped `id`, `back`. */
enum vq_status vq_batch_request_id(const char *base_url, const char *front, const char *id,
                                   const char *back,
                                   struct vq_batch_request *request) VQ_WARN_UNUSED;
/* The status of all buffers of a request. */
enum vq_status vq_batch_request_status(const struct vq_batch_request *request) VQ_WARN_UNUSED;

/* Adds a header; its name is static text. */
void vq_batch_request_header(struct vq_batch_request *request, const char *name, const char *value);

/* Marks a result as not usable. */
void vq_batch_damaged(struct vq_batch_line *line, const char *why);
/* The line's reply is `value`, an object, with this status; damaged if `value` is not an object. */
enum vq_status vq_batch_take_reply(const json_t *value, int status, struct vq_batch_line *line,
                                   struct vq_buf *reply) VQ_WARN_UNUSED;
/* Like vq_batch_take_reply, with {"error": value}. */
enum vq_status vq_batch_take_error(const json_t *value, int status, struct vq_batch_line *line,
                                   struct vq_buf *reply) VQ_WARN_UNUSED;

/* Copies a document without the elements of arrays named "inlinedResponses" (batch_lines.c): of a
 * batch with inline results, only its description remains. */
enum vq_status vq_batch_without_results(struct vq_span document,
                                        struct vq_buf *rest) VQ_WARN_UNUSED;
