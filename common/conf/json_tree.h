/* YAML or JSON as a tree. JSON is read as the YAML that it is, but for pairs of surrogate escapes,
 * which YAML has not: they are put into its own form first, so that lines stay what they were.
 * Private to common/conf. */
#pragma once

#include "common/conf/yaml_tree.h"

/* As vq_yaml_parse. */
enum vq_status vq_tree_parse(struct vq_span text, const char *name, struct vq_node **ret_root,
                             struct vq_error *err) VQ_WARN_UNUSED;

/* VQ_INVALID, with the sentence and where `node` stands; `path` is what it is called. */
enum vq_status vq_tree_wrong(const struct vq_node *node, const char *name, const char *path,
                             struct vq_error *err, const char *fmt, ...) VQ_PRINTF(5, 6);
