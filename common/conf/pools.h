/* The pools of a configuration, and the pools that serve each judge. A provider's limits belong to
 * a pool. An entry of `pools` is an account; each of its models is one pool. A judge (or another
 * role) with its own endpoint is a pool, too. Roles with the same endpoint, sent model and key
 * share one pool, which has the lower limits. The order of the list depends on the configuration
 * alone, so it is the same in all stages. Pure; reads no key. */
#pragma once

#include "common/base/buf.h"
#include "common/conf/config.h"

#define VQ_POOLS_MAX 256u

struct vq_conf_use { /* a pool; all members but `name` are borrowed from the configuration */
    /* Owned. The account's name, with "/model" if the account has several models, and "/batch" for
     * a batch pool; or a judge's name */
    char *name;
    const struct vq_conf_pool *account; /* NULL: a judge's own endpoint */
    const char *model;                  /* as judges name it */
    const char *sent;                   /* the name that this provider uses */
    const char *dialect;
    const char *base_url;    /* NULL: the built-in server */
    const char *api_version; /* NULL: none */
    const char *identity;    /* as given; NULL: host and path of base_url */
    const char *const *keys; /* references */
    uint32_t keys_count;
    struct vq_conf_limits limits; /* without `share` applied */
    const char *max_tokens_field; /* NULL: the judge's */
    bool allow_http;
    bool refuses_temperature, refuses_seed, refuses_schema;
    const struct vq_conf_batch *batch; /* NULL: an interactive pool */
    uint32_t connect_timeout_ms, first_byte_timeout_ms, total_timeout_ms;
};

struct vq_conf_uses {
    struct vq_conf_use *uses;
    uint32_t count;
};

/* VQ_NOMEM, VQ_LIMIT (err). A loaded configuration is consistent: every model is served. */
enum vq_status vq_conf_uses_of(const struct vq_config *config, struct vq_conf_uses *ret_uses,
                               struct vq_error *err) VQ_WARN_UNUSED;
void vq_conf_uses_free(struct vq_conf_uses *uses);
/* The index of the pool with this name; UINT32_MAX: none. */
uint32_t vq_conf_uses_find(const struct vq_conf_uses *uses, struct vq_span name);

/* Whether one of the pools of `judge` is interactive. Dialogues and embeddings need an interactive
 * pool, because they cannot go into batches. */
bool vq_conf_uses_interactive(const struct vq_conf_uses *uses, const struct vq_conf_judge *judge);

/* The embedder that is used if none is named; its embeddings cost nothing. */
const struct vq_conf_judge *vq_conf_built_in_embedder(void);

/* Appends the identity of a pool: as given, or host and path of base_url; nothing for the built-in
 * server. */
void vq_conf_identity(const char *identity, const char *base_url, const char *api_version,
                      struct vq_buf *out);

/* Writes the pools that may answer for `judge` (of any role), ascending, to ret_pools (room for
 * VQ_POOLS_MAX). Returns their number. */
uint32_t vq_conf_uses_serve(const struct vq_conf_uses *uses, const struct vq_conf_judge *judge,
                            uint32_t *ret_pools);
