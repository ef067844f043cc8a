/* The overrides with which a finished run can be read again: its files and criteria are copies from
 * its start. */
#pragma once

#include "common/conf/config.h"

/* `was`: the run's own configuration; `now`: the same with overrides. VQ_INVALID names the first
 * file or criterion of `now` that differs: it has no copy, or the copy of another one. Criteria at
 * the end may be left out (method: judge), and a rubric in the configuration may change. */
enum vq_status vq_copied_inputs_check(const struct vq_config *was, const struct vq_config *now,
                                      struct vq_error *err) VQ_WARN_UNUSED;
