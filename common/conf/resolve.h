/* Converts the tree that a user wrote to the tree that fills the struct: applies overrides,
 * shorthand and defaults, and checks names, kinds and ranges of keys. Private to common/conf. */
#pragma once

#include "common/conf/yaml_tree.h"

/* Works in place. Afterwards all keys are known, all scalars have their canonical form, and all
 * defaults are filled in. */
enum vq_status vq_conf_resolve(struct vq_node *root, const char *name, const char *const *overrides,
                               size_t overrides_count, struct vq_error *err) VQ_WARN_UNUSED;

/* Puts "NAME, line 3, column 5, PATH: " (or "--set PATH: ") before the message in `err`: the place
 * of `path`, or of its nearest parent in the file. */
void vq_conf_prefix_place(const struct vq_node *root, const char *name, const char *path,
                          struct vq_error *err);

/* The same for a given node. */
void vq_conf_prefix_node(const struct vq_node *node, const char *name, const char *path,
                         struct vq_error *err);
