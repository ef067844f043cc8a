/* Makes the list of pools. First come the accounts in their order, with a pool for each model. Then
 * come the roles with their own endpoints, in the order of the roles, with one pool for each
 * endpoint, model and key. The built-in embedder is last, if none is named. A key of an account
 * that is also the key of a judge's own endpoint gives two pools: the coordinator sees the equal
 * fingerprints and warns. */
#include "common/conf/pools.h"

#include "common/base/alloc.h"
#include "common/conf/batches.h"
#include "common/conf/tiers.h"

#include <string.h>

#define NAME_BYTES_MAX 600

static bool same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool is_offline(const struct vq_conf_judge *judge)
{
    return judge->base_url == NULL && strncmp(judge->model, "offline-", 8) == 0;
}

/* ---- the list ---- */

/* Replaces default timeouts by those of the flex tier, which answers after minutes. */
static void lengthen(struct vq_conf_use *use)
{
    const struct vq_conf_judge *usual = vq_conf_built_in_embedder();
    if (use->first_byte_timeout_ms == usual->first_byte_timeout_ms &&
        use->total_timeout_ms == usual->total_timeout_ms) {
        use->first_byte_timeout_ms = VQ_TIER_FLEX_TIMEOUT_MS;
        use->total_timeout_ms = VQ_TIER_FLEX_TIMEOUT_MS;
    }
}

static enum vq_status add(struct vq_conf_uses *uses, const struct vq_conf_use *use,
                          const char *account, const char *model, struct vq_error *err)
{
    const char *kind = model != NULL && use->batch != NULL ? "/batch" : "";
    if (uses->count == VQ_POOLS_MAX) {
        return vq_fail(err, VQ_LIMIT, "more than %u pools", VQ_POOLS_MAX);
    }
    struct vq_buf name;
    vq_buf_init(&name, NAME_BYTES_MAX);
    vq_buf_printf(&name, "%s%s%s%s", account, model == NULL ? "" : "/", model == NULL ? "" : model,
                  kind);
    if (name.status != VQ_OK) {
        vq_buf_free(&name);
        return VQ_NOMEM;
    }
    struct vq_conf_use *to = &uses->uses[uses->count++];
    *to = *use;
    to->name = name.at;
    if (vq_tier_is_flex(use->limits.service_tier)) {
        lengthen(to);
    }
    return VQ_OK;
}

static enum vq_status add_account(struct vq_conf_uses *uses, const struct vq_conf_pool *pool,
                                  struct vq_error *err)
{
    for (uint32_t i = 0; i < pool->models_count; i++) {
        const struct vq_conf_pool_model *m = &pool->models[i];
        struct vq_conf_use use = {.account = pool,
                                  .model = m->model,
                                  .sent = m->sent == NULL ? m->model : m->sent,
                                  .dialect = pool->dialect,
                                  .base_url = pool->base_url,
                                  .api_version = pool->api_version,
                                  .identity = pool->identity,
                                  .keys = (const char *const *)pool->keys,
                                  .keys_count = pool->keys_count,
                                  .allow_http = pool->allow_http,
                                  .limits = m->limits,
                                  .max_tokens_field = m->max_tokens_field,
                                  .refuses_temperature = m->refuses_temperature,
                                  .refuses_seed = m->refuses_seed,
                                  .refuses_schema = m->refuses_schema,
                                  .batch = vq_conf_model_is_batch(m) ? m->batch : NULL,
                                  .connect_timeout_ms = pool->connect_timeout_ms,
                                  .first_byte_timeout_ms = pool->first_byte_timeout_ms,
                                  .total_timeout_ms = pool->total_timeout_ms};
        VQ_TRY(add(uses, &use, pool->name, pool->models_count > 1 ? m->model : NULL, err));
    }
    return VQ_OK;
}

static bool serves_own(const struct vq_conf_use *use, const struct vq_conf_judge *judge)
{
    return use->account == NULL && same(use->base_url, judge->base_url) &&
           same(use->sent, judge->model) && same(use->dialect, judge->dialect) &&
           same(use->api_version, judge->api_version) &&
           same(use->limits.service_tier, judge->limits.service_tier) &&
           same(use->keys_count == 0 ? NULL : use->keys[0], judge->key);
}

static double lower(double a, double b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static uint64_t lower_count(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* Two roles share a pool: the lower of their limits is in force. */
static void merge(struct vq_conf_limits *to, const struct vq_conf_limits *also)
{
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        to->limit.rates.of[r] = lower(to->limit.rates.of[r], also->limit.rates.of[r]);
    }
    to->requests_per_day = lower_count(to->requests_per_day, also->requests_per_day);
    to->tokens_per_day = lower_count(to->tokens_per_day, also->tokens_per_day);
    to->limit.concurrency = (uint32_t)lower_count(to->limit.concurrency, also->limit.concurrency);
    to->window_s = also->window_s < to->window_s ? also->window_s : to->window_s;
    to->share = also->share < to->share ? also->share : to->share;
    if (to->price_input_usd < 0) {
        to->price_input_usd = also->price_input_usd;
        to->price_cached_usd = also->price_cached_usd;
        to->price_cache_write_usd = also->price_cache_write_usd;
        to->price_output_usd = also->price_output_usd;
    }
}

/* Adds the pool of a role with its own endpoint, or with the built-in server. */
static enum vq_status add_own(struct vq_conf_uses *uses, const struct vq_conf_judge *judge,
                              struct vq_error *err)
{
    if (judge->base_url == NULL && !is_offline(judge)) {
        return VQ_OK;
    }
    for (uint32_t i = 0; i < uses->count; i++) {
        if (serves_own(&uses->uses[i], judge)) {
            merge(&uses->uses[i].limits, &judge->limits);
            return VQ_OK;
        }
    }
    struct vq_conf_use use = {.model = judge->model,
                              .sent = judge->model,
                              .dialect = judge->dialect,
                              .base_url = judge->base_url,
                              .api_version = judge->api_version,
                              .identity = judge->identity,
                              .keys = (const char *const *)&judge->key,
                              .keys_count = judge->key == NULL ? 0 : 1,
                              .allow_http = judge->allow_http,
                              .limits = judge->limits,
                              .connect_timeout_ms = judge->connect_timeout_ms,
                              .first_byte_timeout_ms = judge->first_byte_timeout_ms,
                              .total_timeout_ms = judge->total_timeout_ms};
    const char *name = judge->name;
    /* two roles may give different models the same name */
    bool taken = vq_conf_uses_find(uses, vq_span_str(name)) != UINT32_MAX;
    const char *where = judge->base_url == NULL ? "built-in" : judge->base_url;
    return add(uses, &use, name, taken ? where : NULL, err);
}

static enum vq_status add_all(const struct vq_config *config, struct vq_conf_uses *uses,
                              struct vq_error *err)
{
    for (uint32_t i = 0; i < config->pools_count; i++) {
        VQ_TRY(add_account(uses, &config->pools[i], err));
    }
    for (uint32_t i = 0; i < config->judges_count; i++) {
        VQ_TRY(add_own(uses, &config->judges[i], err));
    }
    for (uint32_t i = 0; i < config->subjects_count; i++) {
        VQ_TRY(add_own(uses, &config->subjects[i].judge, err));
    }
    for (uint32_t i = 0; i < config->preference_judges_count; i++) {
        VQ_TRY(add_own(uses, &config->preference_judges[i], err));
    }
    for (uint32_t i = 0; i < config->repeat_proposers_count; i++) {
        VQ_TRY(add_own(uses, &config->repeat_proposers[i], err));
    }
    const struct vq_conf_judge *const roles[] = {config->proposer, config->reducer};
    for (size_t i = 0; i < VQ_COUNT(roles); i++) {
        if (roles[i] != NULL) {
            VQ_TRY(add_own(uses, roles[i], err));
        }
    }
    if (config->embedder == NULL) {
        return add_own(uses, vq_conf_built_in_embedder(), err);
    }
    return strcmp(config->embedder->model, VQ_EMBEDDER_NONE) == 0
               ? VQ_OK
               : add_own(uses, config->embedder, err);
}

enum vq_status vq_conf_uses_of(const struct vq_config *config, struct vq_conf_uses *ret_uses,
                               struct vq_error *err)
{
    struct vq_conf_uses uses = {.uses = vq_alloc(VQ_POOLS_MAX, sizeof(*uses.uses))};
    if (uses.uses == NULL) {
        return VQ_NOMEM;
    }
    enum vq_status status = add_all(config, &uses, err);
    if (status != VQ_OK) {
        vq_conf_uses_free(&uses);
        return status;
    }
    *ret_uses = uses;
    return VQ_OK;
}

void vq_conf_uses_free(struct vq_conf_uses *uses)
{
    for (uint32_t i = 0; uses->uses != NULL && i < uses->count; i++) {
        vq_free(uses->uses[i].name);
    }
    vq_free(uses->uses);
    *uses = (struct vq_conf_uses){.count = 0};
}

/* ---- the pools of a judge ---- */

uint32_t vq_conf_uses_find(const struct vq_conf_uses *uses, struct vq_span name)
{
    for (uint32_t i = 0; i < uses->count; i++) {
        if (vq_span_eq(name, vq_span_str(uses->uses[i].name))) {
            return i;
        }
    }
    return UINT32_MAX;
}

uint32_t vq_conf_uses_serve(const struct vq_conf_uses *uses, const struct vq_conf_judge *judge,
                            uint32_t *ret_pools)
{
    bool own = judge->base_url != NULL || is_offline(judge);
    uint32_t count = 0;
    for (uint32_t i = 0; i < uses->count; i++) {
        const struct vq_conf_use *use = &uses->uses[i];
        bool serves = own ? serves_own(use, judge)
                          : use->account != NULL && strcmp(use->model, judge->model) == 0;
        bool able = !(judge->structured && use->refuses_schema) &&
                    !(judge->logprobs && strcmp(use->dialect, "anthropic") == 0);
        if (serves && able) {
            ret_pools[count++] = i;
        }
    }
    return count;
}

bool vq_conf_uses_interactive(const struct vq_conf_uses *uses, const struct vq_conf_judge *judge)
{
    uint32_t pools[VQ_POOLS_MAX];
    uint32_t count = vq_conf_uses_serve(uses, judge, pools);
    bool interactive = false;
    for (uint32_t i = 0; i < count; i++) {
        interactive = interactive || uses->uses[pools[i]].batch == NULL;
    }
    return interactive;
}

void vq_conf_identity(const char *identity, const char *base_url, const char *api_version,
                      struct vq_buf *out)
{
    if (identity != NULL) {
        vq_buf_puts(out, identity);
        return;
    }
    if (base_url == NULL) {
        return;
    }
    const char *host = strstr(base_url, "://");
    struct vq_span text = vq_span_str(host == NULL ? base_url : host + 3);
    while (text.bytes > 0 && text.at[text.bytes - 1] == '/') {
        text.bytes--;
    }
    vq_buf_append(out, text.at, text.bytes);
    if (api_version != NULL) {
        vq_buf_printf(out, "?api-version=%s", api_version);
    }
}

const struct vq_conf_judge *vq_conf_built_in_embedder(void)
{
    static char name[] = VQ_EMBEDDER_BUILT_IN;
    static char dialect[] = "openai";
    static char field[] = "max_tokens";
    static const struct vq_conf_judge judge = {.name = name,
                                               .model = name,
                                               .dialect = dialect,
                                               .max_tokens_field = field,
                                               .max_tokens = 1,
                                               .seed = -1,
                                               .limits = {.window_s = 60, .share = 1},
                                               .connect_timeout_ms = 10000,
                                               .first_byte_timeout_ms = 120000,
                                               .total_timeout_ms = 300000};
    return &judge;
}
