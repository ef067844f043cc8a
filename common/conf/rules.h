/* Rules between the keys of a configuration. Private to common/conf. */
#pragma once

#include "common/conf/config.h"
#include "common/conf/yaml_tree.h"

/* VQ_INVALID: the error names the place, the broken rule and what to do. `root` is the resolved
 * tree of the configuration. Errors never repeat a value that may be a secret. */
enum vq_status vq_conf_check_rules(const struct vq_config *config, const struct vq_node *root,
                                   const char *name, struct vq_error *err) VQ_WARN_UNUSED;
