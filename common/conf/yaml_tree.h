/* A YAML document as a tree. Each node has its line and column, for errors. Overrides and shorthand
 * change the tree before it is checked. Private to common/conf. */
#pragma once

#include "common/base/buf.h"

#define VQ_YAML_DEPTH_MAX  16
#define VQ_YAML_NODES_MAX  100000u
#define VQ_YAML_ITEMS_MAX  10000u /* of one list or map */
#define VQ_YAML_OUTPUT_MAX (16u << 20)

enum vq_node_kind {
    VQ_NODE_SCALAR,
    VQ_NODE_LIST,
    VQ_NODE_MAP,
};

struct vq_node {
    enum vq_node_kind kind;
    uint32_t line; /* from 1; 0: not from the file (an override or a default) */
    uint32_t column;
    char *key;  /* of a map's item: its key */
    char *text; /* of a scalar, NUL-terminated, without NUL bytes inside */
    bool plain; /* a scalar without quotes: may be null, a number, a boolean */
    bool from_override;
    struct vq_node **items;
    uint32_t items_count;
    size_t items_cap;
};

/* Parses one document; an empty one is an empty map. Anchors, aliases, tags, a second document,
 * keys that are not plain texts and duplicate keys are refused. Errors begin with NAME, line and
 * column. */
enum vq_status vq_yaml_parse(struct vq_span yaml, const char *name, struct vq_node **ret_root,
                             struct vq_error *err) VQ_WARN_UNUSED;
/* Block style, UTF-8, lines not folded. Quoted scalars stay quoted. */
enum vq_status vq_yaml_emit(const struct vq_node *root, struct vq_buf *out) VQ_WARN_UNUSED;
void vq_node_destroy(struct vq_node **node);

/* The item of a map by its key, or NULL. */
struct vq_node *vq_node_get(const struct vq_node *map, const char *key);
/* A plain scalar that means "nothing": empty, ~ or null. */
bool vq_node_is_null(const struct vq_node *node);

enum vq_status vq_node_make(enum vq_node_kind kind, const char *text,
                            struct vq_node **ret_node) VQ_WARN_UNUSED;
/* Takes ownership of `take_item` (and destroys it on failure). `key` is copied; NULL in a list. */
enum vq_status vq_node_add(struct vq_node *parent, const char *key,
                           struct vq_node *take_item) VQ_WARN_UNUSED;
/* The same with a new item, which `parent` owns. */
enum vq_status vq_node_add_new(struct vq_node *parent, const char *key, enum vq_node_kind kind,
                               struct vq_node **ret_item) VQ_WARN_UNUSED;
enum vq_status vq_node_add_text(struct vq_node *parent, const char *key, const char *text,
                                bool plain) VQ_WARN_UNUSED;
void vq_node_remove(struct vq_node *parent, uint32_t index);
/* Replaces the text of a scalar. */
enum vq_status vq_node_set_text(struct vq_node *scalar, const char *text,
                                bool plain) VQ_WARN_UNUSED;
/* Replaces *slot by `take_item`, which gets the old key; the old node is destroyed. */
void vq_node_replace(struct vq_node **slot, struct vq_node *take_item);

/* The node at a path such as "vibes[2].name" from the root, or NULL. */
const struct vq_node *vq_node_at(const struct vq_node *root, const char *path);
