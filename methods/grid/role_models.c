/* Finds the models of each role. Invariant: a role's judges, conf entries and identities have the
 * same order, that of the configuration. Not its job: templates, keys (only workers have them). */
#include "methods/grid/role_models.h"

#include "common/base/alloc.h"
#include "common/net/http.h"
#include "common/text/file.h"

#include <string.h>

#define VQ_OFFLINE_FILE_BYTES_MAX ((size_t)8 << 30)

/* An answer that lists axes is longer than a verdict. */
#define LIST_TOKENS 2000u

bool vq_role_models_is_offline(const struct vq_conf_judge *conf)
{
    return conf->base_url == NULL && strncmp(conf->model, "offline-", 8) == 0;
}

/* The provider's identity in the request hash: host and path, without scheme; for the built-in
 * server its seed and its settings, never its port. */
static enum vq_status identity_of(const struct vq_config *config, const struct vq_conf_judge *judge,
                                  struct vq_arena *memory, const char **ret_identity,
                                  struct vq_error *err)
{
    struct vq_buf text;
    vq_buf_init(&text, VQ_HTTP_URL_BYTES_MAX);
    if (!vq_role_models_is_offline(judge) || judge->identity != NULL) {
        vq_conf_identity(judge->identity, judge->base_url, judge->api_version, &text);
    } else {
        vq_buf_printf(&text, "offline/%llu", (unsigned long long)config->offline.seed);
        const char *const files[] = {config->offline.oracle, config->offline.faults};
        for (size_t i = 0; i < VQ_COUNT(files); i++) {
            if (files[i] == NULL) {
                continue;
            }
            struct vq_buf bytes;
            enum vq_status status = vq_file_read(files[i], VQ_OFFLINE_FILE_BYTES_MAX, &bytes, err);
            if (status != VQ_OK) {
                vq_buf_free(&text);
                return status;
            }
            struct vq_hash hash;
            vq_hash_of("vq-offline-file", vq_buf_span(&bytes), &hash);
            char hex[VQ_HEX_BYTES(8)];
            vq_hex(hash.b, 8, hex);
            vq_buf_printf(&text, "/%s", hex);
            vq_buf_free(&bytes);
        }
        if (config->offline.subject != NULL) {
            vq_buf_printf(&text, "/%s", config->offline.subject);
        }
    }
    struct vq_span identity;
    VQ_TRY(vq_arena_take(memory, &text, &identity));
    *ret_identity = identity.at;
    return VQ_OK;
}

static enum vq_status pools_of(const struct vq_conf_uses *uses, const struct vq_conf_judge *judge,
                               struct vq_arena *memory, uint32_t **ret_pools, uint32_t *ret_count,
                               struct vq_error *err)
{
    uint32_t found[VQ_POOLS_MAX];
    *ret_count = vq_conf_uses_serve(uses, judge, found);
    *ret_pools = vq_arena_copy(memory, found, *ret_count, sizeof(*found));
    return *ret_count > 0
               ? vq_arena_status(memory)
               : vq_fail(err, VQ_NOT_FOUND, "no pool has the model \"%.80s\"", judge->model);
}

/* `cuts`: outputs that are too long for the model may be cut. */
static enum vq_status cast_role(const struct vq_config *config, const struct vq_conf_uses *uses,
                                const struct vq_conf_judge *conf, uint32_t count, bool cuts,
                                struct vq_role_models *cast, struct vq_error *err)
{
    VQ_TRY(VQ_ARENA_ALLOC(&cast->memory, cast->conf, count));
    VQ_TRY(VQ_ARENA_ALLOC(&cast->memory, cast->judges, count));
    VQ_TRY(VQ_ARENA_ALLOC(&cast->memory, cast->identities, count));
    VQ_TRY(VQ_ARENA_ALLOC(&cast->memory, cast->pools, count));
    VQ_TRY(VQ_ARENA_ALLOC(&cast->memory, cast->pools_count, count));
    cast->count = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct vq_conf_judge *c = &conf[i];
        VQ_TRY(identity_of(config, c, &cast->memory, &cast->identities[i], err));
        VQ_TRY(pools_of(uses, c, &cast->memory, &cast->pools[i], &cast->pools_count[i], err));
        cast->conf[i] = *c;
        cast->judges[i] = (struct vq_judge){.name = c->name,
                                            .model = c->model,
                                            .dialect = c->dialect,
                                            .identity = cast->identities[i],
                                            .temperature = c->temperature,
                                            .send_temperature = c->send_temperature,
                                            .max_tokens = c->max_tokens,
                                            .max_tokens_field = c->max_tokens_field,
                                            .seed = c->seed,
                                            .truncate = cuts,
                                            .system_role = c->system_role,
                                            .structured = c->structured,
                                            .logprobs = c->logprobs,
                                            .answer_field = c->answer_field};
    }
    return VQ_OK;
}

/* The first judge, with enough output tokens for a list. */
static struct vq_conf_judge stand_in(const struct vq_config *config)
{
    struct vq_conf_judge judge = config->judges[0];
    judge.max_tokens = judge.max_tokens > LIST_TOKENS ? judge.max_tokens : LIST_TOKENS;
    judge.structured = false; /* it writes texts */
    judge.logprobs = false;
    return judge;
}

static enum vq_status cast_discovery(const struct vq_config *config,
                                     const struct vq_conf_uses *uses,
                                     struct vq_role_models cast[VQ_ROLE__COUNT],
                                     struct vq_error *err)
{
    struct vq_conf_judge proposer = config->proposer != NULL ? *config->proposer : stand_in(config);
    struct vq_conf_judge proposers[VQ_JUDGES_MAX] = {proposer};
    uint32_t again = config->repeat_proposers_count;
    for (uint32_t i = 0; i < again; i++) {
        proposers[i + 1] = config->repeat_proposers[i];
    }
    VQ_TRY(cast_role(config, uses, proposers, again + 1, false, &cast[VQ_ROLE_PROPOSER], err));
    VQ_TRY(cast_role(config, uses, config->reducer != NULL ? config->reducer : &proposer, 1, false,
                     &cast[VQ_ROLE_REDUCER], err));
    if (config->embedder != NULL && strcmp(config->embedder->model, VQ_EMBEDDER_NONE) == 0) {
        return VQ_OK;
    }
    struct vq_conf_judge embedder =
        config->embedder != NULL ? *config->embedder : *vq_conf_built_in_embedder();
    return cast_role(config, uses, &embedder, 1, false, &cast[VQ_ROLE_EMBEDDER], err);
}

static enum vq_status cast_subjects(const struct vq_config *config, const struct vq_conf_uses *uses,
                                    struct vq_role_models *cast, struct vq_error *err)
{
    struct vq_conf_judge conf[VQ_SUBJECTS_MAX];
    for (uint32_t i = 0; i < config->subjects_count; i++) {
        conf[i] = config->subjects[i].judge;
    }
    VQ_TRY(cast_role(config, uses, conf, config->subjects_count, false, cast, err));
    for (uint32_t i = 0; i < config->subjects_count; i++) {
        const char *role = config->subjects[i].role;
        cast->judges[i].system_role = strcmp(role, "developer") == 0 ? VQ_SYSTEM_ROLE_DEVELOPER
                                      : strcmp(role, "none") == 0    ? VQ_SYSTEM_ROLE_NONE
                                                                     : VQ_SYSTEM_ROLE_SYSTEM;
    }
    return VQ_OK;
}

enum vq_status vq_role_models_all(const struct vq_config *config, const struct vq_conf_uses *uses,
                                  struct vq_role_models ret_cast[VQ_ROLE__COUNT],
                                  struct vq_error *err)
{
    memset(ret_cast, 0, VQ_ROLE__COUNT * sizeof(*ret_cast));
    bool cuts = config->judging.truncate;
    enum vq_status status = cast_role(config, uses, config->judges, config->judges_count, cuts,
                                      &ret_cast[VQ_ROLE_JUDGE], err);
    if (status == VQ_OK && config->subjects_count > 0) {
        status = cast_subjects(config, uses, &ret_cast[VQ_ROLE_SUBJECT], err);
    }
    if (status == VQ_OK && config->preference == VQ_PREFERENCE_JUDGE) {
        bool own = config->preference_judges_count > 0;
        status = cast_role(config, uses, own ? config->preference_judges : config->judges,
                           own ? config->preference_judges_count : config->judges_count, cuts,
                           &ret_cast[VQ_ROLE_PREFERENCE_JUDGE], err);
    }
    if (status != VQ_OK) {
        vq_role_models_free(ret_cast);
    }
    return status;
}

enum vq_status vq_role_models_discovery(const struct vq_config *config,
                                        const struct vq_conf_uses *uses,
                                        struct vq_role_models cast[VQ_ROLE__COUNT],
                                        struct vq_error *err)
{
    return cast[VQ_ROLE_PROPOSER].count > 0 ? VQ_OK : cast_discovery(config, uses, cast, err);
}

void vq_role_models_free(struct vq_role_models cast[VQ_ROLE__COUNT])
{
    for (int role = 0; role < VQ_ROLE__COUNT; role++) {
        vq_arena_clear(&cast[role].memory);
        cast[role] = (struct vq_role_models){.count = 0};
    }
}
