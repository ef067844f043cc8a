/* One line of a run's log, as a sentence for people. */
#pragma once

#include "common/text/fmt.h"
#include "common/text/log.h"

#define VQ_LOG_LINE_SHOWN_BYTES_MAX 32768u /* of one line; the log itself writes shorter ones */

/* VQ_INVALID: the level does not exist. */
enum vq_status vq_log_level_of(const char *name, enum vq_log_level *ret_level) VQ_WARN_UNUSED;

/* Appends time (local), level, event and fields of `line`, which is without its line end, and a
 * newline. Control characters become spaces. A line that is not a record of the log is appended as
 * it is, at every level. Appends nothing for a record that is less severe than `level`, and for an
 * empty line. */
void vq_log_line_put(struct vq_span line, enum vq_log_level level,
                     const struct vq_terminal *terminal, struct vq_buf *out);
