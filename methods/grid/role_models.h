/* The models of each role in a run, as the configuration gives them and as requests are hashed. If
 * the configuration leaves a role out, the models of another role play it. */
#pragma once

#include "common/base/arena.h"
#include "common/conf/pools.h"
#include "common/judge/request.h"
#include "methods/stage.h"

struct vq_role_models {
    struct vq_conf_judge *conf; /* borrowed texts */
    struct vq_judge *judges;
    const char **identities;
    uint32_t **pools; /* owned; [model]: the indices of the pools that may answer */
    uint32_t *pools_count;
    uint32_t count;
    struct vq_arena memory; /* of all of them */
};

/* The models of every role except those of discovery; `uses`: the pools of `config`. Roles that
 * this configuration never asks are empty. Identities of the built-in server read its oracle and
 * fault files: VQ_NOT_FOUND, VQ_IO with a sentence. VQ_NOMEM. */
enum vq_status vq_role_models_all(const struct vq_config *config, const struct vq_conf_uses *uses,
                                  struct vq_role_models ret_cast[VQ_ROLE__COUNT],
                                  struct vq_error *err) VQ_WARN_UNUSED;
/* Adds the roles of discovery if they are not filled yet: for methods that discover, and for
 * scripts beside a run. */
enum vq_status vq_role_models_discovery(const struct vq_config *config,
                                        const struct vq_conf_uses *uses,
                                        struct vq_role_models cast[VQ_ROLE__COUNT],
                                        struct vq_error *err) VQ_WARN_UNUSED;
void vq_role_models_free(struct vq_role_models cast[VQ_ROLE__COUNT]);

/* Whether the built-in server serves the model. */
bool vq_role_models_is_offline(const struct vq_conf_judge *conf);
