/* Private to this folder: reads an event stream, which a server sent without being asked to, into
 * the single body that was requested. Includes jansson: for .c files only. */
#pragma once

#include "worker/provider/body.h"

/* Whether the body is an event stream: its first line is a comment, or a field `data`, `event`,
 * `id` or `retry`. */
bool vq_stream_is(struct vq_span body);

/* The whole answer of a stream of chat completion chunks, or of a stream of Anthropic's events, as
 * an object of the shape of an unstreamed response. An event with an error gives that event.
 * VQ_INVALID: an event is not JSON, or no event has an answer; a stream without its end is an
 * answer that was cut off (finish reason "length"). VQ_LIMIT, VQ_NOMEM. The caller owns *ret_root
 * (json_decref). */
enum vq_status vq_stream_load(struct vq_span body, size_t values_max,
                              json_t **ret_root) VQ_WARN_UNUSED;
