/* Who plays which role in a run: for each role the models, as the configuration gives them and as requests are hashed. A role that
 * the configuration leaves out is played by another model. */
#ifndef VQ_SHELL_CAST_H
#define VQ_SHELL_CAST_H

#include "common/conf/pools.h"
#include "common/judge/request.h"
#include "coordinator/pipeline/method/method.h"

struct vq_cast {
    struct vq_conf_judge *conf; /* borrowed texts */
    struct vq_judge *judges;
    char **identities; /* owned */
    uint32_t **pools;  /* owned; of each model: which pools may answer, by index */
    uint32_t *pools_count;
    uint32_t count;
};

/* The models of every role in which `config` may ask; `uses`: its pools. Roles that it never asks are empty. Identities of the built-in server read
 * its oracle and fault files: VQ_NOT_FOUND, VQ_IO with a sentence. VQ_NOMEM. */
enum vq_status vq_cast_all(const struct vq_config *config, const struct vq_conf_uses *uses,
                           struct vq_cast ret_cast[VQ_ROLE__COUNT],
                           struct vq_error *err) VQ_WARN_UNUSED;
/* The roles of discovery, where the run's own method has no use for them: for scripts beside it. */
enum vq_status vq_cast_rest(const struct vq_config *config, const struct vq_conf_uses *uses,
                            struct vq_cast cast[VQ_ROLE__COUNT],
                            struct vq_error *err) VQ_WARN_UNUSED;
void vq_cast_free(struct vq_cast cast[VQ_ROLE__COUNT]);

/* Served by the built-in server. */
bool vq_cast_is_offline(const struct vq_conf_judge *conf);

#endif
