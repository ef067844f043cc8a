/* The pools of a run as its parts need them: for the SPEC, for the authority, for locks. The order
 * is that of the configuration (common/conf/pools.h) and the same in all stages; a pool's index
 * means the same everywhere in a run. */
#pragma once

#include "common/conf/pools.h"
#include "coordinator/pools/authority.h"

struct vq_run_pools {
    struct vq_conf_uses uses;
    char **urls;       /* what workers get: base_url and version; NULL: the built-in server */
    char **identities; /* NULL: the built-in server */
};

/* Borrows from `config`. VQ_NOMEM, VQ_LIMIT. */
enum vq_status vq_run_pools_create(const struct vq_config *config, struct vq_run_pools *ret_pools,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_run_pools_free(struct vq_run_pools *pools);

/* The SPEC's list, borrowed from `pools` but for *ret_keys: free both arrays with vq_free.
 * `offline_url` is that of the built-in server, and empty where none runs: no call goes
 * there. VQ_NOMEM. */
enum vq_status vq_run_pools_spec(const struct vq_run_pools *pools, const char *offline_url,
                                 struct vq_spec_pool **ret_list,
                                 struct vq_span **ret_keys) VQ_WARN_UNUSED;

/* A pool's limits for the authority, the share taken off; what was spent today and the locks are
 * left to the caller. */
void vq_run_pools_limits(const struct vq_conf_use *use, struct vq_authority_pool *ret_pool);

/* Dollars per million tokens of input that is written to a cache, 0 without prices. Providers but
 * Anthropic take no more than for other input. */
double vq_run_pool_written_usd(const struct vq_conf_use *use);
