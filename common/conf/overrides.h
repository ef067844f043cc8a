/* Applies overrides such as "a.b=value" and "judges[0].model=x" to a tree. Private to
 * common/conf. */
#pragma once

#include "common/conf/yaml_tree.h"

/* Sets the value at one path and creates missing maps and lists. A list's index may be its length,
 * which appends. The value is YAML if it begins with [, {, " or ', else a literal text. VQ_INVALID:
 * a malformed path. Errors never repeat the value, since it may be a key that was pasted by
 * mistake. */
enum vq_status vq_conf_override(struct vq_node *root, const char *assignment,
                                struct vq_error *err) VQ_WARN_UNUSED;
