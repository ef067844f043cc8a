/* The pools of a run for the SPEC, the authority and the locks. They have the order of the
 * configuration (common/conf/pools.h), which is the same in all stages; so a pool's index means the
 * same everywhere in a run. */
#pragma once

#include "common/conf/pools.h"
#include "coordinator/pools/authority.h"

struct vq_run_pools {
    struct vq_conf_uses uses;
    char **urls;       /* sent to workers: base_url and version; NULL: the built-in server */
    char **identities; /* NULL: the built-in server */
};

/* Borrows from `config`. VQ_NOMEM, VQ_LIMIT. */
enum vq_status vq_run_pools_create(const struct vq_config *config, struct vq_run_pools *ret_pools,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_run_pools_free(struct vq_run_pools *pools);

/* The SPEC's list, borrowed from `pools` except *ret_keys: free both arrays with vq_free.
 * `offline_url` is the URL of the built-in server; empty if none runs: no call goes there.
 * VQ_NOMEM. */
enum vq_status vq_run_pools_spec(const struct vq_run_pools *pools, const char *offline_url,
                                 struct vq_spec_pool **ret_list,
                                 struct vq_span **ret_keys) VQ_WARN_UNUSED;

/* A pool's limits for the authority, times the share; the caller adds today's spending and the
 * locks. */
void vq_run_pools_limits(const struct vq_conf_use *use, struct vq_authority_pool *ret_pool);

/* Dollars per million tokens of input that is written to a cache; 0 without prices. Of the
 * providers, only Anthropic charges more for it than for other input. */
double vq_run_pool_written_usd(const struct vq_conf_use *use);
