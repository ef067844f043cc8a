/* Who plays which role in a run: for each role the models, as the configuration gives them and as
 * requests are hashed. A role that the configuration leaves out is played by another model. */
#pragma once

#include "common/base/arena.h"
#include "common/conf/pools.h"
#include "common/judge/request.h"
#include "methods/stage.h"

struct vq_role_models {
    struct vq_conf_judge *conf; /* borrowed texts */
    struct vq_judge *judges;
    const char **identities;
    uint32_t **pools; /* of each model: which pools may answer, by index */
    uint32_t *pools_count;
    uint32_t count;
    struct vq_arena memory; /* of all of them */
};

/* The models of every role but those of discovery; `uses`: the pools of `config`. Roles that it
 * never asks are empty. Identities of the built-in server read its oracle and fault files:
 * VQ_NOT_FOUND, VQ_IO with a sentence. VQ_NOMEM. */
enum vq_status vq_role_models_all(const struct vq_config *config, const struct vq_conf_uses *uses,
                                  struct vq_role_models ret_cast[VQ_ROLE__COUNT],
                                  struct vq_error *err) VQ_WARN_UNUSED;
/* The roles of discovery, if they are not there yet: for methods that discover, and for scripts
 * beside a run. */
enum vq_status vq_role_models_discovery(const struct vq_config *config,
                                        const struct vq_conf_uses *uses,
                                        struct vq_role_models cast[VQ_ROLE__COUNT],
                                        struct vq_error *err) VQ_WARN_UNUSED;
void vq_role_models_free(struct vq_role_models cast[VQ_ROLE__COUNT]);

/* Served by the built-in server. */
bool vq_role_models_is_offline(const struct vq_conf_judge *conf);
