/* Reads a list of interview questions that a model wrote (prompts/queries.txt). Pure. */
#pragma once

#include "common/conf/queries_file.h"

/* One question per line. Numbers, bullets and quotes around a question are removed; thinking,
 * headings and repeated questions are left out. The first line that mentions {role} before any
 * question is the opening; the last such line after the questions is the closing. At most `count`
 * questions (1 to VQ_QUERIES_MAX). VQ_NOT_FOUND: there is no question; VQ_NOMEM. The caller frees
 * *ret_file. */
enum vq_status vq_interview_parse(struct vq_span answer, uint32_t count,
                                  struct vq_queries_file *ret_file) VQ_WARN_UNUSED;
/* Appends the list as a YAML file that reads back the same. Failures stick in out->status. */
void vq_interview_write(const struct vq_queries_file *file, struct vq_buf *out);
