/* Encoding and decoding of messages, results and specs, driven by the table in messages.def. It
 * uses MessagePack through msgpack-c. Before msgpack-c may allocate, all headers of a frame are
 * checked against the frame's length and the limits below. */
#pragma once

#include "proto/messages.h"

#define VQ_FRAME_BYTES_MAX (16u << 20)
#define VQ_FRAME_DEPTH_MAX 8
#define VQ_FRAME_ITEMS_MAX (1u << 20) /* array elements, in total over all levels */

enum vq_direction {
    VQ_TO_COORDINATOR = 1,
    VQ_TO_WORKER = 2
};

const char *vq_msg_name(enum vq_msg_type type); /* "HELLO"; "?" */

/* Appends one frame. VQ_LIMIT: a field exceeds its bound, or the frame exceeds the buffer's limit.
 * VQ_NOMEM. */
enum vq_status vq_msg_encode(const struct vq_msg *msg, struct vq_buf *frame) VQ_WARN_UNUSED;

/* The memory that a decoded message points into; each frame reuses it. */
struct vq_decoder;
enum vq_status vq_decoder_create(struct vq_decoder **ret_decoder) VQ_WARN_UNUSED;
void vq_decoder_destroy(struct vq_decoder **decoder);

/* Decodes one frame that travels in `direction`. *ret_msg borrows from the decoder and from
 * `frame`, until the next call. VQ_VERSION (err names both versions), VQ_INVALID (err names the
 * message and the field), VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_msg_decode(struct vq_decoder *decoder, struct vq_span frame,
                             enum vq_direction direction, struct vq_msg *ret_msg,
                             struct vq_error *err) VQ_WARN_UNUSED;

/* The same for a single result, as in the spool, and for a spec, the body of SPEC. */
enum vq_status vq_result_encode(const struct vq_result *result, struct vq_buf *out) VQ_WARN_UNUSED;
enum vq_status vq_result_decode(struct vq_decoder *decoder, struct vq_span bytes,
                                struct vq_result *ret_result, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_spec_encode(const struct vq_spec *spec, struct vq_buf *out) VQ_WARN_UNUSED;
enum vq_status vq_spec_decode(struct vq_decoder *decoder, struct vq_span bytes,
                              struct vq_spec *ret_spec, struct vq_error *err) VQ_WARN_UNUSED;
