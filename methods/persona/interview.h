/* A list of interview questions as a model wrote it (prompts/queries.txt). Pure. */
#pragma once

#include "common/conf/queries_file.h"

/* One question a line; what models put in front of a line (numbers, bullets, quotes) is taken off,
 * thinking and headings are passed over, and a question that stands there twice is taken once. The
 * first line that speaks to {role} before any question is the opening, the last one behind them the
 * closing. At most `count` questions (1 to VQ_QUERIES_MAX). VQ_NOT_FOUND: there is none; VQ_NOMEM.
 * The caller frees *ret_file. */
enum vq_status vq_interview_parse(struct vq_span answer, uint32_t count,
                                  struct vq_queries_file *ret_file) VQ_WARN_UNUSED;
/* As a file that is read back the same: YAML. Appends; failures stick in out->status. */
void vq_interview_write(const struct vq_queries_file *file, struct vq_buf *out);
