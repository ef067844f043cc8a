/* Reads a data file: CSV or JSON lines, plain or compressed, from a file or standard input. */
#pragma once

#include "common/text/table.h"

#define VQ_DATA_STDIN              "-" /* as a path: standard input */
#define VQ_DATA_UNPACKED_BYTES_MAX ((size_t)VQ_TABLE_BYTES_MAX)

/* Reads the bytes without unpacking; "-" reads standard input to its end. Errors as
 * vq_file_read. */
enum vq_status vq_data_read(const char *path, size_t bytes_max, struct vq_buf *ret_bytes,
                            struct vq_error *err) VQ_WARN_UNUSED;

/* Unpacks and parses `bytes`. `format`: "auto" (by the path's ending, without .gz or .zst, or the
 * first byte), "csv" or "jsonl". The caller owns *ret_table. Errors as vq_unpack,
 * vq_table_format_of and vq_table_parse. */
enum vq_status vq_data_table(struct vq_span bytes, const char *path, const char *format,
                             const struct vq_table_options *options, struct vq_table **ret_table,
                             struct vq_error *err) VQ_WARN_UNUSED;
