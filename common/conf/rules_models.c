/* Rules about accounts and about models: judges and the other roles. A role has its own endpoint,
 * uses the built-in server, or is answered by any pool that has its model. In the last case all its
 * requests have one identity and one dialect, so that stored answers do not depend on the pool. Not
 * its job: whether API keys exist (only workers have them). */
#include "common/conf/batches.h"
#include "common/conf/rules_parts.h"
#include "common/text/url.h"

#include <ctype.h>
#include <stdio.h>

#define IDENTITY_BYTES_MAX 4096

/* ---- common to accounts and roles ---- */

struct endpoint {
    const char *dialect, *base_url, *api_version, *identity;
    bool allow_http;
    uint32_t connect_timeout_ms, first_byte_timeout_ms, total_timeout_ms;
};

static enum vq_status check_key(const struct vq_rules *r, const char *place, const char *name,
                                const char *key)
{
    bool env = strncmp(key, "env:", 4) == 0;
    bool file = strncmp(key, "file:", 5) == 0;
    if (file && key[5] != '\0') {
        return VQ_OK;
    }
    bool good = env && (isalpha((unsigned char)key[4]) || key[4] == '_');
    for (const char *at = key + (env ? 4 : 0); good && *at != '\0'; at++) {
        good = isalnum((unsigned char)*at) || *at == '_';
    }
    if (!good) { /* the error does not repeat the text, which may be a key */
        return vq_rules_broken_at(
            r, place, name,
            "name the key as env:NAME or file:PATH; never write the key itself "
            "into a configuration (if this was one, treat it as disclosed)");
    }
    return VQ_OK;
}

static enum vq_status check_url(const struct vq_rules *r, const struct endpoint *e,
                                const char *place)
{
    struct vq_url url;
    struct vq_error why = {.text = ""};
    if (vq_url_parse(e->base_url, &url, &why) != VQ_OK) {
        return vq_rules_broken_at(r, place, "base_url", "%s", why.text);
    }
    if (!url.https && url.global) {
        return vq_rules_broken_at(
            r, place, "base_url",
            "http:// would send prompts and key unencrypted over the internet; use https://");
    }
    if (!url.https && !url.local && !e->allow_http) {
        return vq_rules_broken_at(
            r, place, "base_url",
            "http:// would send prompts and key unencrypted; use https://, or a host of this "
            "machine (localhost, 127.0.0.1, [::1]). If the server is in a network that you trust, "
            "set allow_http: true beside base_url");
    }
    return VQ_OK;
}

static bool is_version(const char *text)
{
    size_t bytes =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._");
    return bytes > 0 && text[bytes] == '\0';
}

/* Whether the address names Azure's newer interface, which needs no `api_version`. */
static bool has_version_in_path(const char *base_url)
{
    static const char end[] = "/openai/v1";
    size_t bytes = strlen(base_url);
    while (bytes > 0 && base_url[bytes - 1] == '/') {
        bytes--;
    }
    return bytes >= sizeof(end) - 1 &&
           memcmp(base_url + bytes - (sizeof(end) - 1), end, sizeof(end) - 1) == 0;
}

static enum vq_status check_endpoint(const struct vq_rules *r, const struct endpoint *e,
                                     const char *place)
{
    bool azure = strcmp(e->dialect, "azure") == 0;
    if (e->base_url != NULL) {
        VQ_TRY(check_url(r, e, place));
    }
    if (azure && e->api_version == NULL && e->base_url != NULL &&
        !has_version_in_path(e->base_url)) {
        return vq_rules_broken_at(
            r, place, "api_version",
            "the dialect azure needs a version such as 2024-10-21, or a base_url that "
            "ends in /openai/v1");
    }
    if (e->api_version != NULL && (!azure || !is_version(e->api_version))) {
        return vq_rules_broken_at(r, place, "api_version", "%s",
                                  azure ? "a version is letters, digits, dashes and dots"
                                        : "only the dialect azure has versions");
    }
    if (e->identity != NULL && !vq_rules_is_name(e->identity)) {
        return vq_rules_broken_at(r, place, "identity", "an identity is one line, at most %d bytes",
                                  VQ_NAME_BYTES_MAX);
    }
    if (e->connect_timeout_ms > e->total_timeout_ms ||
        e->first_byte_timeout_ms > e->total_timeout_ms) {
        return vq_rules_broken_at(r, place, "total_timeout_ms",
                                  "must be at least connect_timeout_ms and first_byte_timeout_ms");
    }
    return VQ_OK;
}

static enum vq_status check_prices(const struct vq_rules *r, const struct vq_conf_limits *l,
                                   const char *place)
{
    if ((l->price_input_usd < 0) != (l->price_output_usd < 0)) {
        return vq_rules_broken_at(r, place,
                                  l->price_input_usd < 0 ? "price_output_usd" : "price_input_usd",
                                  "set price_input_usd and price_output_usd, or neither");
    }
    if ((l->price_cached_usd >= 0 || l->price_cache_write_usd >= 0) && l->price_input_usd < 0) {
        return vq_rules_broken_at(
            r, place, l->price_cached_usd >= 0 ? "price_cached_usd" : "price_cache_write_usd",
            "set price_input_usd and price_output_usd too");
    }
    return VQ_OK;
}

/* ---- accounts ---- */

static enum vq_status check_pool_model(const struct vq_rules *r, const struct vq_conf_pool *pool,
                                       uint32_t k, const char *place)
{
    const struct vq_conf_pool_model *m = &pool->models[k];
    if (!vq_rules_is_name(m->model) || strncmp(m->model, "offline-", 8) == 0) {
        return vq_rules_broken_at(r, place, "model",
                                  "name the model; names that begin with offline- are built in");
    }
    if (m->sent != NULL && !vq_rules_is_name(m->sent)) {
        return vq_rules_broken_at(r, place, "as", "a name is one line, at most %d bytes",
                                  VQ_NAME_BYTES_MAX);
    }
    for (uint32_t i = 0; i < k; i++) {
        if (strcmp(pool->models[i].model, m->model) == 0 &&
            vq_conf_model_is_batch(&pool->models[i]) == vq_conf_model_is_batch(m)) {
            return vq_rules_broken_at(r, place, "model", "\"%.80s\" is already in this pool%s",
                                      m->model, vq_conf_model_is_batch(m) ? " as a batch" : "");
        }
    }
    VQ_TRY(vq_rules_tier(r, &m->limits, pool->dialect, place));
    VQ_TRY(vq_rules_batch(r, m, pool->dialect, place));
    return check_prices(r, &m->limits, place);
}

static enum vq_status check_pool(const struct vq_rules *r, uint32_t i)
{
    const struct vq_conf_pool *p = &r->config->pools[i];
    char place[VQ_RULES_PATH_BYTES / 2];
    (void)snprintf(place, sizeof(place), "pools[%u]", i);
    if (!vq_rules_is_name(p->name) || strchr(p->name, '/') != NULL) {
        return vq_rules_broken_at(r, place, "name",
                                  "give the pool a name of one line without a slash");
    }
    for (uint32_t k = 0; k < i; k++) {
        if (strcmp(r->config->pools[k].name, p->name) == 0) {
            return vq_rules_broken_at(r, place, "name", "\"%.80s\" is already that of pools[%u]",
                                      p->name, k);
        }
    }
    if (p->base_url == NULL) {
        return vq_rules_broken_at(r, place, "base_url",
                                  "missing; a pool needs the address of its endpoint");
    }
    struct endpoint e = {.dialect = p->dialect,
                         .base_url = p->base_url,
                         .api_version = p->api_version,
                         .identity = p->identity,
                         .allow_http = p->allow_http,
                         .connect_timeout_ms = p->connect_timeout_ms,
                         .first_byte_timeout_ms = p->first_byte_timeout_ms,
                         .total_timeout_ms = p->total_timeout_ms};
    VQ_TRY(check_endpoint(r, &e, place));
    for (uint32_t k = 0; k < p->keys_count; k++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "keys[%u]", k);
        VQ_TRY(check_key(r, place, key, p->keys[k]));
    }
    if (p->models_count == 0) {
        return vq_rules_broken_at(r, place, "models",
                                  "missing; name at least one model, for example models: [gpt-4o]");
    }
    for (uint32_t k = 0; k < p->models_count; k++) {
        char model[VQ_RULES_PATH_BYTES - 32];
        (void)snprintf(model, sizeof(model), "%s.models[%u]", place, k);
        VQ_TRY(check_pool_model(r, p, k, model));
    }
    return VQ_OK;
}

/* ---- roles ---- */

/* The pools of a role must agree on the identity and dialect of its requests, unless the role sets
 * them. */
static enum vq_status check_pooled(const struct vq_rules *r, const struct vq_conf_judge *j,
                                   const char *place)
{
    const struct vq_conf_pool *first = NULL;
    struct vq_buf is[2];
    vq_buf_init(&is[0], IDENTITY_BYTES_MAX);
    vq_buf_init(&is[1], IDENTITY_BYTES_MAX);
    enum vq_status status = VQ_OK;
    bool able = false;
    for (uint32_t i = 0; status == VQ_OK && i < r->config->pools_count; i++) {
        const struct vq_conf_pool *p = &r->config->pools[i];
        bool has = false;
        for (uint32_t k = 0; k < p->models_count; k++) {
            if (strcmp(p->models[k].model, j->model) == 0) {
                has = true;
                able = able || !((j->structured && p->models[k].refuses_schema) ||
                                 (j->logprobs && strcmp(p->dialect, "anthropic") == 0));
            }
        }
        if (!has) {
            continue;
        }
        struct vq_buf *to = &is[first == NULL ? 0 : 1];
        vq_buf_clear(to);
        vq_conf_identity(p->identity, p->base_url, p->api_version, to);
        if (to->status == VQ_NOMEM) {
            status = to->status;
        } else if (first != NULL && j->identity == NULL &&
                   !vq_span_eq(vq_buf_span(&is[0]), vq_buf_span(&is[1]))) {
            status = vq_rules_broken_at(
                r, place, "identity",
                "the pools %.40s and %.40s are two providers (%.80s, %.80s); name with `identity` "
                "the one that their answers count for, for example identity: %.80s",
                first->name, p->name, is[0].at, is[1].at, is[0].at);
        }
        first = first == NULL ? p : first;
    }
    vq_buf_free(&is[0]);
    vq_buf_free(&is[1]);
    if (status == VQ_OK && first == NULL) {
        status = vq_rules_broken_at(
            r, place, "base_url",
            "\"%.80s\" needs base_url, the address of its endpoint, or a pool under pools: that "
            "has the model; only the built-in offline-a and offline-b need neither",
            j->model);
    }
    if (status == VQ_OK && !able) {
        status = vq_rules_broken_at(
            r, place, "model", "no pool can be asked for \"%.80s\" with judging.%s; %s", j->model,
            j->structured ? "structured" : "logprobs",
            j->structured && j->logprobs
                ? "nor with judging.logprobs: leave them out, or add a pool"
            : j->structured
                ? "all of them have refuses_schema. Leave it out, or add a pool"
                : "the dialect anthropic has no log-probabilities. Leave it out, or add a pool");
    }
    if (status == VQ_OK && j->dialect == NULL) {
        status =
            vq_rules_broken_at(r, place, "dialect",
                               "its pools have several dialects; name the one that their answers "
                               "count for, for example dialect: %s",
                               first->dialect);
    }
    if (status == VQ_OK && j->key != NULL) {
        status = vq_rules_broken_at(r, place, "key",
                                    "its pools have the keys; leave this out, or give a base_url");
    }
    return status;
}

/* Checks settings that only some dialects have. */
static enum vq_status check_dialect(const struct vq_rules *r, const struct vq_conf_judge *j,
                                    const char *place)
{
    bool own_fields = strcmp(j->dialect, "anthropic") == 0 || strcmp(j->dialect, "gemini") == 0;
    if (strcmp(j->dialect, "anthropic") == 0 && j->seed >= 0) {
        return vq_rules_broken_at(r, place, "seed", "the dialect anthropic has no seed");
    }
    if (strcmp(j->dialect, "anthropic") == 0 && j->logprobs) {
        return vq_rules_broken_at(
            r, place, "dialect", "the dialect anthropic has no log-probabilities; leave %s out",
            r->config->judging.logprobs ? "judging.logprobs" : "cascade.escalate.margin");
    }
    if (own_fields && strcmp(j->max_tokens_field, "max_tokens") != 0) {
        return vq_rules_broken_at(
            r, place, "max_tokens_field",
            "the dialect %s has a fixed name for this parameter; leave this out", j->dialect);
    }
    if (j->answer_field != NULL &&
        (own_fields || strlen(j->answer_field) > VQ_ANSWER_FIELD_BYTES_MAX)) {
        return vq_rules_broken_at(
            r, place, "answer_field",
            own_fields ? "the dialect %s has a fixed field for answers; leave this out"
                       : "this is too long for the name of a field",
            j->dialect);
    }
    if (strcmp(j->dialect, "anthropic") == 0 && strcmp(place, "embedder") == 0) {
        return vq_rules_broken_at(r, place, "dialect", "the dialect anthropic has no embeddings");
    }
    return VQ_OK;
}

/* Checks one role; `place` is "judges[2]" or "proposer". */
static enum vq_status check_role(const struct vq_rules *r, const struct vq_conf_judge *j,
                                 const char *place)
{
    if (!vq_rules_is_name(j->model)) {
        return vq_rules_broken_at(r, place, "model", "missing; name the model");
    }
    if (!vq_rules_is_name(j->name)) {
        return vq_rules_broken_at(r, place, "name", "a name is one line, at most %d bytes",
                                  VQ_NAME_BYTES_MAX);
    }
    bool built_in = j->base_url == NULL && strncmp(j->model, "offline-", 8) == 0;
    if (built_in && strcmp(j->dialect, "openai") != 0) {
        return vq_rules_broken_at(r, place, "base_url",
                                  "the dialect %s needs the address of its endpoint", j->dialect);
    }
    if (j->base_url == NULL && !built_in) {
        if (j->limits.service_tier != NULL) {
            return vq_rules_broken_at(r, place, "service_tier",
                                      "pools answer for this model; set the tier under pools");
        }
        VQ_TRY(check_pooled(r, j, place));
    }
    struct endpoint e = {.dialect = j->dialect,
                         .base_url = j->base_url,
                         .api_version = j->api_version,
                         .identity = j->identity,
                         .allow_http = j->allow_http,
                         .connect_timeout_ms = j->connect_timeout_ms,
                         .first_byte_timeout_ms = j->first_byte_timeout_ms,
                         .total_timeout_ms = j->total_timeout_ms};
    VQ_TRY(check_endpoint(r, &e, place));
    VQ_TRY(check_dialect(r, j, place));
    if (j->key != NULL) {
        VQ_TRY(check_key(r, place, "key", j->key));
    }
    VQ_TRY(vq_rules_tier(r, &j->limits, j->dialect, place));
    return check_prices(r, &j->limits, place);
}

static const struct vq_conf_judge *role_at(const void *roles, size_t step, uint32_t i)
{
    return (const struct vq_conf_judge *)(const void *)((const char *)roles + i * step);
}

/* Checks a list of roles that are `step` bytes apart. */
static enum vq_status check_list(const struct vq_rules *r, const void *roles, size_t step,
                                 uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++) {
        char place[VQ_RULES_PATH_BYTES / 2];
        const struct vq_conf_judge *role = role_at(roles, step, i);
        (void)snprintf(place, sizeof(place), "%s[%u]", key, i);
        VQ_TRY(check_role(r, role, place));
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(role_at(roles, step, k)->name, role->name) == 0) {
                return vq_rules_broken(
                    r, place,
                    "the name \"%.80s\" is already that of %s[%u]; give each its own name",
                    role->name, key, k);
            }
        }
    }
    return VQ_OK;
}

_Static_assert(offsetof(struct vq_conf_subject, judge) == 0, "a subject begins with its model");

static enum vq_status check_roles(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    if (c->judges_count == 0) {
        return vq_rules_broken(
            r, "judges",
            "missing; name at least one model, for example judges: [offline-a, offline-b]");
    }
    size_t step = sizeof(*c->judges);
    VQ_TRY(check_list(r, c->judges, step, c->judges_count, "judges"));
    VQ_TRY(
        check_list(r, c->preference_judges, step, c->preference_judges_count, "preference_judges"));
    VQ_TRY(check_list(r, c->subjects, sizeof(*c->subjects), c->subjects_count, "subjects"));
    if (c->proposer != NULL) {
        VQ_TRY(check_role(r, c->proposer, "proposer"));
    }
    VQ_TRY(check_list(r, c->repeat_proposers, step, c->repeat_proposers_count, "repeat_proposers"));
    bool repeats = c->method == VQ_METHOD_DISCOVER && c->vibecheck.repeats > 0;
    if (c->repeat_proposers_count > 0 && !repeats) {
        return vq_rules_broken(r, "repeat_proposers",
                               "only for repeats of discovery; set vibecheck.repeats with method: "
                               "discover, or leave the list out");
    }
    if (c->reducer != NULL) {
        VQ_TRY(check_role(r, c->reducer, "reducer"));
    }
    if (c->embedder != NULL && strcmp(c->embedder->model, VQ_EMBEDDER_NONE) != 0) {
        VQ_TRY(check_role(r, c->embedder, "embedder"));
    }
    return VQ_OK;
}

/* A budget in dollars needs the prices of all pools. */
static enum vq_status check_budget(const struct vq_rules *r)
{
    if (r->config->budget_usd <= 0) {
        return VQ_OK;
    }
    struct vq_conf_uses uses;
    VQ_TRY(vq_conf_uses_of(r->config, &uses, r->err));
    enum vq_status status = VQ_OK;
    for (uint32_t i = 0; status == VQ_OK && i < uses.count; i++) {
        const struct vq_conf_use *use = &uses.uses[i];
        if (use->base_url != NULL && use->limits.price_input_usd < 0) {
            status = vq_rules_broken(r, "budget.usd",
                                     "a budget needs prices; set price_input_usd and "
                                     "price_output_usd of %.80s (0 if it costs nothing)",
                                     use->name);
        }
    }
    vq_conf_uses_free(&uses);
    return status;
}

enum vq_status vq_rules_models(const struct vq_rules *r)
{
    for (uint32_t i = 0; i < r->config->pools_count; i++) {
        VQ_TRY(check_pool(r, i));
    }
    VQ_TRY(check_roles(r));
    VQ_TRY(vq_rules_interactive(r));
    return check_budget(r);
}
