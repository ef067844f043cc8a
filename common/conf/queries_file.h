/* Files with the queries of a dialogue, one per turn. */
#pragma once

#include "common/base/buf.h"

#define VQ_QUERIES_MAX     1000u
#define VQ_QUERY_BYTES_MAX (256u << 10)
#define VQ_ROLE_MARK       "{role}" /* in a remark: replaced by the role of the model */

/* Owned, NUL-terminated, none of them blank. */
struct vq_queries_file {
    char **questions;
    uint32_t count;
    char *opening, *closing; /* NULL: none */
};

/* By the name's ending: .csv, .jsonl and .ndjson: tables with a column `question`, `query`,
 * `prompt` or `text`, or with one column; .json, .yaml and .yml: a list of texts, or a map of such
 * a list under `questions` (or `queries`) with, if wanted, `opening` (or introductory_remark) and
 * `closing` (or concluding_remark); any other: one question per line; blank lines are ignored.
 * VQ_INVALID with NAME and line; VQ_LIMIT; VQ_NOMEM. The caller frees *ret_file. */
enum vq_status vq_queries_file_parse(struct vq_span text, const char *name,
                                     struct vq_queries_file *ret_file,
                                     struct vq_error *err) VQ_WARN_UNUSED;
void vq_queries_file_free(struct vq_queries_file *file);

/* Appends a remark, with each mark replaced by `role`. A failure sets out->status. */
void vq_remark_render(const char *remark, struct vq_span role, struct vq_buf *out);
