/* From the tree that a person wrote to the tree that fills the struct: overrides, shorthand,
 * unknown keys, kinds, ranges, defaults. Private to common/conf. */
#pragma once

#include "common/conf/yaml_tree.h"

/* Works in place. Afterwards every key is known, every scalar in its canonical form, every default
 * filled in. */
enum vq_status vq_conf_resolve(struct vq_node *root, const char *name, const char *const *overrides,
                               size_t overrides_count, struct vq_error *err) VQ_WARN_UNUSED;

/* Puts "NAME, line 3, column 5, PATH: " (or "--set PATH: ") before the sentence in `err`: where
 * `path` stands, or the nearest part of it that was written down. */
void vq_conf_prefix_place(const struct vq_node *root, const char *name, const char *path,
                          struct vq_error *err);

/* The same for a node at hand. */
void vq_conf_prefix_node(const struct vq_node *node, const char *name, const char *path,
                         struct vq_error *err);
