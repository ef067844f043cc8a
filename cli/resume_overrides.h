/* The keys that may change when a run is resumed: its answers do not depend on them. */
#pragma once

#include "cli/opts.h"
#include "common/conf/config.h"

/* Every override's key is one that may change: workers, limits, keys, endpoints, prices, time
 * limits; or as long as the run has no answer, what the judges are asked. VQ_INVALID names the
 * first that is not; a malformed one is left to the configuration's reader. */
enum vq_status vq_resume_overrides_keys_check(const struct vq_opt_list *set,
                                              struct vq_error *err) VQ_WARN_UNUSED;
/* The first override that needs a run without answers; NULL: there is none. */
const char *vq_resume_overrides_before_answers(const struct vq_opt_list *set);
/* The same for a key as a configuration has it: "judges[0].concurrency". */
bool vq_resume_overrides_may_change(const char *key);
/* The override is kept in run.yaml when a run without answers takes it: request hashes depend on
 * it. */
bool vq_resume_overrides_changes_requests(const char *assignment);
/* Another endpoint is another provider, whose answers are other ones, unless the judge has an
 * `identity`. */
enum vq_status vq_resume_overrides_judges_check(const struct vq_config *was,
                                                const struct vq_config *now,
                                                struct vq_error *err) VQ_WARN_UNUSED;
