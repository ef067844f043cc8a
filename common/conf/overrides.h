/* "a.b=value" and "judges[0].model=x" applied to a tree. Private to common/conf. */
#pragma once

#include "common/conf/yaml_tree.h"

/* Sets one path, making the maps and lists on the way. A list's index may be its length, which
 * appends. The value is a text as it stands, or YAML when it begins with [, {, " or '. VQ_INVALID
 * for a malformed path; the value, which may be a key pasted by mistake, is never repeated. */
enum vq_status vq_conf_override(struct vq_node *root, const char *assignment,
                                struct vq_error *err) VQ_WARN_UNUSED;
