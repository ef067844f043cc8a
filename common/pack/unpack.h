/* Unpacks compressed files, and detects binary formats. */
#pragma once

#include "common/base/buf.h"

/* Detects the format by the first bytes. Data of gzip or zstd is unpacked into `work` (whose limit
 * bounds the text); other bytes are returned unchanged. VQ_INVALID: damaged or incomplete
 * compressed data, or a format that vibeq does not read (Parquet, Arrow, zip, xz ...); the error
 * names the command that converts it. VQ_LIMIT, VQ_NOMEM. The caller initialises and frees `work`;
 * `ret_text` borrows from it or is `bytes`. `name`: of the file, for errors. */
enum vq_status vq_unpack(struct vq_span bytes, const char *name, struct vq_buf *work,
                         struct vq_span *ret_text, struct vq_error *err) VQ_WARN_UNUSED;
