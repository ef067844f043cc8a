/* The packed form of embeddings, in which a batch of vectors is stored like any other answer.
 *
 *     "vqf32\n"  count: uint32  dims: uint32  count * dims float32, row by row  (all little endian)
 */
#pragma once

#include "common/base/buf.h"

#define VQ_EMBED_BATCH_MAX      32u /* texts of one embedding call, vectors of one answer */
#define VQ_VECTORS_HEADER_BYTES 14u
#define VQ_VECTORS_DIMS_MAX     8191u /* so that a full batch fits into VQ_ANSWER_BYTES_MAX */

/* Appends `count` vectors of `dims` numbers each. VQ_INVALID: count or dims is 0, or a value is not
 * finite; VQ_LIMIT above VQ_EMBED_BATCH_MAX, VQ_VECTORS_DIMS_MAX or the buffer's own limit,
 * VQ_NOMEM. On failure nothing is appended. */
enum vq_status vq_vectors_encode(const float *values, uint32_t count, uint32_t dims,
                                 struct vq_buf *buf) VQ_WARN_UNUSED;

/* Whether vq_vectors_decode accepts the answer. */
bool vq_vectors_packed(struct vq_span answer);
/* The reverse of vq_vectors_encode. VQ_INVALID: any bytes that it does not write; VQ_NOMEM. The
 * caller frees *ret_values (count x dims, row-major) with vq_free. */
enum vq_status vq_vectors_decode(struct vq_span answer, float **ret_values, uint32_t *ret_count,
                                 uint32_t *ret_dims) VQ_WARN_UNUSED;
