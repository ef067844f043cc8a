/* The pools of a configuration: what each provider's limits belong to, and which of them serve
 * which model that is asked. A `pools` entry is an account: each of its models is one pool. A judge
 * (or any other role) that names an endpoint of its own is one too; two roles with the same
 * endpoint, model as sent and key are one pool, whose limits are the lower ones. The list's order
 * depends on the configuration alone, so that it is the same in all stages. Pure; reads no key. */
#pragma once

#include "common/base/buf.h"
#include "common/conf/config.h"

#define VQ_POOLS_MAX 256u

struct vq_conf_use { /* a pool as it is used; all but `name` is borrowed from the configuration */
    /* owned: the account's, with "/model" where it has several models, and then "/batch" if this is
     * a batch pool; or a judge's */
    char *name;
    const struct vq_conf_pool *account; /* NULL: a judge's own endpoint */
    const char *model;                  /* as judges name it */
    const char *sent;                   /* as this provider calls it */
    const char *dialect;
    const char *base_url;    /* NULL: the built-in server */
    const char *api_version; /* NULL: none */
    const char *identity;    /* as given; NULL: host and path of base_url */
    const char *const *keys; /* references; keys_count of them */
    uint32_t keys_count;
    struct vq_conf_limits limits; /* the share is not taken off */
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
/* Its place in the list; UINT32_MAX for none. */
uint32_t vq_conf_uses_find(const struct vq_conf_uses *uses, struct vq_span name);

/* Whether one of the pools that may answer for `judge` sends each call by itself. Dialogues and
 * embeddings need one: they cannot go into batches. */
bool vq_conf_uses_interactive(const struct vq_conf_uses *uses, const struct vq_conf_judge *judge);

/* The embedder that stands in where none is named; its embeddings cost nothing. */
const struct vq_conf_judge *vq_conf_built_in_embedder(void);

/* The identity of a use: as given, or host and path of base_url. Of the built-in server nothing is
 * written. */
void vq_conf_identity(const char *identity, const char *base_url, const char *api_version,
                      struct vq_buf *out);

/* The pools that may answer for `judge` (of any role), ascending, into ret_pools (room for
 * VQ_POOLS_MAX); how many. */
uint32_t vq_conf_uses_serve(const struct vq_conf_uses *uses, const struct vq_conf_judge *judge,
                            uint32_t *ret_pools);
