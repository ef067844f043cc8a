/* What may be otherwise when a run goes on: what its answers do not depend on. */
#ifndef VQ_CLI_RESUMED_H
#define VQ_CLI_RESUMED_H

#include "cli/opts.h"
#include "common/conf/config.h"

/* Every override's key is one that may change: workers, limits, keys, endpoints, prices, time limits. VQ_INVALID names the first that
 * is not; a malformed one is left to the configuration's reader. */
enum vq_status vq_resumed_keys_check(const struct vq_opt_list *set,
                                     struct vq_error *err) VQ_WARN_UNUSED;
/* Another endpoint is another provider, whose answers are other ones, unless the judge has an `identity`. */
enum vq_status vq_resumed_judges_check(const struct vq_config *was, const struct vq_config *now,
                                       struct vq_error *err) VQ_WARN_UNUSED;

#endif
