/* Which overrides a run that is over can be read again with: its files and criteria are copies,
 * made at its start. */
#pragma once

#include "common/conf/config.h"

/* `was`: the run's own configuration; `now`: the same with overrides. VQ_INVALID names the first
 * file or criterion that `now` would have otherwise, since its copy is not there, or is that of
 * another. Criteria at the end may be left out (method: judge), and a rubric in the configuration
 * may be another one. */
enum vq_status vq_copied_inputs_check(const struct vq_config *was, const struct vq_config *now,
                                      struct vq_error *err) VQ_WARN_UNUSED;
