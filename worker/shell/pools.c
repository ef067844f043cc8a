/* The pools of the SPEC in force, and those of earlier SPECs, since calls in flight may refer to
 * them. A pool's keys take turns; after a refusal a key is left out. Invariant: keys leave the
 * keyring only to the HTTP client. Not its job: requests. */
#include "worker/shell/pools.h"

#include "common/base/alloc.h"
#include "common/net/http.h"
#include "common/text/log.h"
#include "common/text/url.h"
#include "worker/core/limits.h"
#include "worker/shell/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

struct vq_shell_pools {
    struct vq_shell_pools_options options;
    struct set {
        struct vq_shell_pool *list;
        uint32_t count;
        struct set *next;
    } * set; /* of the last SPEC, then of earlier ones */
    struct vq_deferred deferred;
};

static void keys_say(void *ctx);

enum vq_status vq_shell_pools_create(const struct vq_shell_pools_options *options,
                                     struct vq_shell_pools **ret_pools)
{
    struct vq_shell_pools *pools;
    VQ_TRY(VQ_ALLOC(pools, 1));
    pools->options = *options;
    pools->deferred = (struct vq_deferred){.fn = keys_say, .ctx = pools};
    *ret_pools = pools;
    return VQ_OK;
}

void vq_shell_pools_destroy(struct vq_shell_pools **pools)
{
    struct vq_shell_pools *p = *pools;
    if (p == NULL) {
        return;
    }
    vq_deferred_cancel(&p->deferred);
    for (struct set *set = p->set; set != NULL;) {
        struct set *next = set->next;
        for (uint32_t i = 0; i < set->count; i++) {
            vq_buf_free(&set->list[i].url);
            vq_free(set->list[i].keys);
        }
        vq_free(set->list);
        vq_free(set);
        set = next;
    }
    vq_free(p);
    *pools = NULL;
}

struct vq_shell_pool *vq_shell_pools_at(const struct vq_shell_pools *pools, uint32_t p)
{
    return pools->set != NULL && p < pools->set->count ? &pools->set->list[p] : NULL;
}

struct vq_shell_pool *vq_shell_pools_named(const struct vq_shell_pools *pools, struct vq_span name)
{
    for (uint32_t p = 0; pools->set != NULL && p < pools->set->count; p++) {
        if (vq_span_eq(vq_span_str(pools->set->list[p].name), name)) {
            return &pools->set->list[p];
        }
    }
    return NULL;
}

static bool url_is_safe(const struct vq_work_endpoint *at)
{
    const char *url = at->base_url;
    return strncasecmp(url, "https://", 8) == 0 ||
           (strncasecmp(url, "http://", 7) == 0 && (at->allow_http || vq_http_url_is_local(url)));
}

/* Finds the dialect and the URL; NO_MODEL with a sentence: there is none. */
static enum vq_pool_state pool_address(struct vq_shell_pool *pool, struct vq_error *err)
{
    static const struct vq_judge any = {.max_tokens_field = ""};
    struct vq_judge judge = vq_render_judge(&any, pool->at, 0);
    const struct vq_provider *provider = vq_provider_find(pool->at->dialect);
    if (provider == NULL) {
        (void)vq_fail(err, VQ_NOT_FOUND, "this worker does not speak the dialect \"%s\"",
                      pool->at->dialect);
        return VQ_POOL_NO_MODEL;
    }
    enum vq_status (*url)(const struct vq_judge *, const char *, struct vq_buf *) =
        pool->embeds ? provider->embed_url : provider->url;
    if (url == NULL) {
        (void)vq_fail(err, VQ_NOT_FOUND,
                      "the dialect \"%s\" has no embeddings; name another embedder",
                      pool->at->dialect);
        return VQ_POOL_NO_MODEL;
    }
    if (pool->at->base_url[0] == '\0') { /* the built-in server, which no judge of this run needs */
        return VQ_POOL_NO_KEY;
    }
    if (!url_is_safe(pool->at) || url(&judge, pool->at->base_url, &pool->url) != VQ_OK) {
        (void)vq_fail(
            err, VQ_INVALID,
            "%s is not https and not on this machine: no key and no text is sent there. If it "
            "is in a network that you trust, set allow_http: true for this pool",
            pool->at->base_url);
        return VQ_POOL_NO_MODEL;
    }
    pool->provider = provider;
    return VQ_POOL_OPEN;
}

/* The names of the judges that pool p serves; returns their number. */
static uint32_t judges_of(const struct vq_work_spec *spec, uint32_t p,
                          const char *ret_names[VQ_WORK_JUDGES_MAX])
{
    uint32_t count = 0;
    for (uint32_t j = 0; j < spec->judges_count; j++) {
        const struct vq_work_judge *judge = &spec->judges[j];
        for (uint32_t i = 0; i < judge->pools_count; i++) {
            if (judge->pools[i] == p) {
                ret_names[count++] = judge->judge.name;
                break;
            }
        }
    }
    return count;
}

static bool was_refused(const struct set *before, const char *pool, const struct vq_secret *secret)
{
    for (uint32_t i = 0; before != NULL && i < before->count; i++) {
        const struct vq_shell_pool *was = &before->list[i];
        for (uint32_t k = 0; strcmp(was->name, pool) == 0 && k < was->keys_count; k++) {
            if (was->keys[k].secret == secret) {
                return was->keys[k].refused;
            }
        }
    }
    return false;
}

/* A worker on another machine logs which key goes to which host, before the first call. */
static void key_announce(struct vq_shell_pools *pools, const struct vq_shell_pool *pool,
                         const struct vq_secret *secret)
{
    struct vq_url url;
    if (!pools->options.announce_keys || vq_url_parse(pool->at->base_url, &url, NULL) != VQ_OK) {
        return;
    }
    const char *reference = vq_keyring_first_use(pools->options.keys, secret, url.host);
    if (reference != NULL) {
        vq_log(VQ_LOG_INFO, "key.used", "key=%s host=%.*s pool=%s", reference, (int)url.host.bytes,
               url.host.at, pool->name);
    }
}

/* VQ_NOMEM; other failures are in *ret_state and `err`. */
static enum vq_status pool_keys(struct vq_shell_pools *pools, const struct vq_work_spec *spec,
                                uint32_t p, const struct set *before, struct vq_shell_pool *pool,
                                enum vq_pool_state *ret_state, struct vq_error *err)
{
    const char *judges[VQ_WORK_JUDGES_MAX];
    const struct vq_secret *secrets[VQ_WIRE_KEYS_MAX];
    struct vq_keyring_pool asked = {.name = pool->at->name,
                                    .judges = judges,
                                    .judges_count = judges_of(spec, p, judges),
                                    .hints = pool->at->keys,
                                    .hints_count = pool->at->keys_count};
    uint32_t count = 0;
    if (vq_keyring_find(pools->options.keys, &asked, secrets, &count, err) != VQ_OK) {
        *ret_state = VQ_POOL_NO_KEY;
        pool->provider = NULL;
        return VQ_OK;
    }
    VQ_TRY(VQ_ALLOC(pool->keys, count));
    pool->keys_count = count;
    for (uint32_t k = 0; k < count; k++) {
        pool->keys[k] =
            (struct vq_shell_key){secrets[k], was_refused(before, pool->at->name, secrets[k])};
        key_announce(pools, pool, secrets[k]);
    }
    return VQ_OK;
}

/* Reports the pool's good keys to the core. */
static void key_say(struct vq_shell_pools *pools, uint32_t p, enum vq_pool_state state)
{
    struct vq_shell_pool *pool = &pools->set->list[p];
    uint64_t good[VQ_WIRE_KEYS_MAX];
    struct vq_work_key say = {
        .pool = p, .state = state, .keys = good, .text = vq_span_str(pool->why)};
    for (uint32_t k = 0; k < pool->keys_count; k++) {
        uint8_t fingerprint[VQ_FINGERPRINT_BYTES];
        if (!pool->keys[k].refused) {
            vq_secret_fingerprint(pool->keys[k].secret, fingerprint);
            memcpy(&good[say.keys_count++], fingerprint, sizeof(good[0]));
        }
    }
    if (state == VQ_POOL_OPEN && pool->keys_count > 0 && say.keys_count == 0) {
        say.state = VQ_POOL_BAD_KEY;
    }
    pools->options.key(pools->options.ctx, &say);
}

static void keys_say(void *ctx)
{
    struct vq_shell_pools *pools = ctx;
    for (uint32_t p = 0; p < pools->set->count; p++) {
        if (pools->set->list[p].fewer_keys) {
            pools->set->list[p].fewer_keys = false;
            key_say(pools, p, VQ_POOL_OPEN);
        }
    }
}

static enum vq_status set_add(struct vq_shell_pools *pools, uint32_t count)
{
    struct set *set = vq_alloc(1, sizeof(*set));
    struct vq_shell_pool *list = vq_alloc(count, sizeof(*list));
    if (set == NULL || list == NULL) {
        vq_free(set);
        vq_free(list);
        return VQ_NOMEM;
    }
    *set = (struct set){list, count, pools->set};
    pools->set = set;
    return VQ_OK;
}

enum vq_status vq_shell_pools_take(struct vq_shell_pools *pools, const struct vq_work_spec *spec)
{
    VQ_TRY(set_add(pools, spec->pools_count));
    for (uint32_t p = 0; p < spec->pools_count; p++) {
        struct vq_shell_pool *pool = &pools->set->list[p];
        struct vq_error err = {""};
        pool->at = &spec->pools[p];
        (void)snprintf(pool->name, sizeof(pool->name), "%s", pool->at->name);
        (void)snprintf(pool->model, sizeof(pool->model), "%s", pool->at->model);
        pool->embeds = spec->kind == VQ_STAGE_EMBED;
        pool->shares = (vq_stage_has_axes(spec->kind) || vq_stage_chains(spec->kind)) &&
                       spec->axes_count > 1 && spec->prefix_cache != VQ_PREFIX_OFF;
        vq_buf_init(&pool->url, VQ_HTTP_URL_BYTES_MAX);
        enum vq_pool_state state = pool_address(pool, &err);
        if (state == VQ_POOL_OPEN) {
            VQ_TRY(pool_keys(pools, spec, p, pools->set->next, pool, &state, &err));
        }
        (void)snprintf(pool->why, sizeof(pool->why), "%s", err.text);
        key_say(pools, p, state);
    }
    return VQ_OK;
}

/* The next good key from number `from` on, in a ring. */
static bool key_from(const struct vq_shell_pool *pool, uint32_t from, uint32_t *ret_key)
{
    for (uint32_t n = 0; n < pool->keys_count; n++) {
        *ret_key = (from + n) % pool->keys_count;
        if (!pool->keys[*ret_key].refused) {
            return true;
        }
    }
    return false;
}

bool vq_shell_pool_key(struct vq_shell_pool *pool, bool in_turn,
                       const struct vq_secret **ret_secret)
{
    uint32_t key = 0;
    *ret_secret = NULL;
    if (!key_from(pool, in_turn ? pool->turn : 0, &key)) {
        return pool->keys_count == 0;
    }
    pool->turn = in_turn ? key + 1 : pool->turn;
    *ret_secret = pool->keys[key].secret;
    return true;
}

bool vq_shell_pools_refused(struct vq_shell_pools *pools, struct vq_shell_pool *pool,
                            const struct vq_secret *secret, const char *why)
{
    uint32_t number = 0, good = 0;
    for (uint32_t k = 0; k < pool->keys_count; k++) {
        if (pool->keys[k].secret == secret) {
            pool->fewer_keys = pool->fewer_keys || !pool->keys[k].refused;
            pool->keys[k].refused = true;
            number = k + 1;
        }
        good += pool->keys[k].refused ? 0 : 1;
    }
    if (good == 0) {
        return false;
    }
    (void)snprintf(pool->why, sizeof(pool->why), "key %u of %u was refused: %.*s", number,
                   pool->keys_count, VQ_ERROR_BYTES_MAX / 2, why);
    vq_loop_defer(pools->options.loop, &pools->deferred);
    return true;
}

void vq_shell_pools_report(struct vq_shell_pools *pools, struct vq_shell_pool *pool)
{
    pool->fewer_keys = true;
    vq_loop_defer(pools->options.loop, &pools->deferred);
}

const char *vq_shell_ca_file(const char *given)
{
    const char *named = getenv("SSL_CERT_FILE");
    return given != NULL || named == NULL || named[0] == '\0' ? given : named;
}
