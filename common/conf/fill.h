/* Converts a resolved tree to the struct of a configuration and back, by the table of keys. Private
 * to common/conf. */
#pragma once

#include "common/conf/schema.h"
#include "common/conf/yaml_tree.h"

/* Fills `base`, which is zeroed, from a resolved map. VQ_NOMEM: `base` is partly filled; free it
 * with vq_conf_clear. */
enum vq_status vq_conf_fill(const struct vq_key *keys, const struct vq_node *map,
                            void *base) VQ_WARN_UNUSED;
/* The other way: adds every key that is set to the empty `map`, in the order of the table. */
enum vq_status vq_conf_tree(const struct vq_key *keys, const void *base,
                            struct vq_node *map) VQ_WARN_UNUSED;
/* Frees the memory that the members of `base` own, not `base` itself. */
void vq_conf_clear(const struct vq_key *keys, void *base);

/* Writes the shortest decimal that reads back equal. */
#define VQ_REAL_BYTES 40
const char *vq_conf_real_text(double value, char ret_text[VQ_REAL_BYTES]);
