/* What must hold between the keys of a configuration. Private to common/conf. */
#pragma once

#include "common/conf/config.h"
#include "common/conf/yaml_tree.h"

/* VQ_INVALID with a sentence that says where, what and what to do. `root` is the resolved tree that
 * the configuration was read from. No key that may hold a secret is repeated. */
enum vq_status vq_conf_check_rules(const struct vq_config *config, const struct vq_node *root,
                                   const char *name, struct vq_error *err) VQ_WARN_UNUSED;
