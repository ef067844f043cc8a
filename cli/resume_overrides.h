/* The keys that may change when a run is resumed, because its answers do not depend on them. */
#pragma once

#include "cli/opts.h"
#include "common/conf/config.h"

/* Checks that every override's key may change: workers, limits, keys, endpoints, prices, time
 * limits; while the run has no answer, also the form of the question to the judges. VQ_INVALID
 * names the first one that may not. The configuration's reader checks malformed ones. */
enum vq_status vq_resume_overrides_keys_check(const struct vq_opt_list *set,
                                              struct vq_error *err) VQ_WARN_UNUSED;
/* The first override that requires a run without answers; NULL: there is none. */
const char *vq_resume_overrides_before_answers(const struct vq_opt_list *set);
/* The same for a key in the form of a configuration: "judges[0].concurrency". */
bool vq_resume_overrides_may_change(const char *key);
/* Whether the override is written to run.yaml when a run without answers takes it, because request
 * hashes depend on it. */
bool vq_resume_overrides_changes_requests(const char *assignment);
/* Another endpoint is another provider with other answers, unless the judge has an `identity`. */
enum vq_status vq_resume_overrides_judges_check(const struct vq_config *was,
                                                const struct vq_config *now,
                                                struct vq_error *err) VQ_WARN_UNUSED;
