/* Parses YAML or JSON into a tree. JSON is read as YAML, except for pairs of surrogate escapes,
 * which YAML does not have: they are first converted to the form of YAML. Line numbers stay the
 * same. Private to common/conf. */
#pragma once

#include "common/conf/yaml_tree.h"

/* As vq_yaml_parse. */
enum vq_status vq_tree_parse(struct vq_span text, const char *name, struct vq_node **ret_root,
                             struct vq_error *err) VQ_WARN_UNUSED;

/* Returns VQ_INVALID; the error has the message, the line and column of `node`, and its name
 * `path`. */
enum vq_status vq_tree_wrong(const struct vq_node *node, const char *name, const char *path,
                             struct vq_error *err, const char *fmt, ...) VQ_PRINTF(5, 6);
