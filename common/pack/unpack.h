/* Compressed files, and files that are no text at all. */
#pragma once

#include "common/base/buf.h"

/* By the first bytes: what gzip or zstd packed is unpacked into `work` (its limit bounds the text),
 * anything else is handed back as it is. VQ_INVALID: a format that vibeq does not read (Parquet,
 * Arrow, zip, xz ...), with the command that converts it; or packed data that is damaged or cut
 * off. VQ_LIMIT, VQ_NOMEM. `work` is initialised and freed by the caller; `ret_text` borrows from
 * it or is `bytes`. `name` is the file's, for sentences. */
enum vq_status vq_unpack(struct vq_span bytes, const char *name, struct vq_buf *work,
                         struct vq_span *ret_text, struct vq_error *err) VQ_WARN_UNUSED;
