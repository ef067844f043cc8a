/* Expands the short forms that a user may write. Private to common/conf. */
#pragma once

#include "common/conf/yaml_tree.h"

/* `data: file.csv`, `judges: [model, model]`, `vibes: ["Name: High: ... Low: ..."]`, `redis: URL`,
 * `prompts: DIR`. VQ_INVALID: a vibe's text lacks one of the labels. */
enum vq_status vq_conf_expand_shorthand(struct vq_node *root, const char *name,
                                        struct vq_error *err) VQ_WARN_UNUSED;
