/* Applies overrides to the tree and creates missing nodes. Invariant: a failed override may leave
 * empty maps in the tree, but never a wrong value. Not its job: whether a key exists
 * (resolve.c). */
#include "common/conf/overrides.h"

#include "common/text/utf8.h"

#include <ctype.h>
#include <stdlib.h>

#define PATH_BYTES_MAX 256

static enum vq_status malformed(struct vq_error *err, const char *path)
{
    return vq_fail(err, VQ_INVALID,
                   "--set %.60s: write key=value, section.key=value or list[0].key=value", path);
}

static void mark_override(struct vq_node *node)
{
    node->line = 0;
    node->column = 0;
    node->from_override = true;
    for (uint32_t i = 0; i < node->items_count; i++) {
        mark_override(node->items[i]);
    }
}

static enum vq_status parse_value(const char *path, const char *value, struct vq_node **ret_node,
                                  struct vq_error *err)
{
    struct vq_node *node;
    if (value[0] != '\0' && strchr("[{\"'", value[0]) != NULL) {
        enum vq_status status = vq_yaml_parse(vq_span_str(value), "--set", &node, NULL);
        if (status == VQ_INVALID || status == VQ_LIMIT) {
            return vq_fail(err, status, "--set %s: the value is not valid YAML", path);
        }
        VQ_TRY(status);
    } else {
        VQ_TRY(vq_node_make(VQ_NODE_SCALAR, value, &node));
    }
    mark_override(node);
    *ret_node = node;
    return VQ_OK;
}

/* One step of a path: ".key", "key" or "[3]". Moves *path after it. */
struct step {
    char key[64]; /* empty: an index */
    uint32_t index;
};

static bool next_step(const char **path, bool first, struct step *ret_step)
{
    const char *at = *path;
    *ret_step = (struct step){.index = 0};
    if (*at == '[') {
        char *end;
        if (!isdigit((unsigned char)at[1])) {
            return false;
        }
        unsigned long index = strtoul(at + 1, &end, 10);
        if (*end != ']' || index >= VQ_YAML_ITEMS_MAX) {
            return false;
        }
        ret_step->index = (uint32_t)index;
        *path = end + 1;
        return !first;
    }
    if (!first && *at++ != '.') {
        return false;
    }
    size_t n = 0;
    while (isalnum((unsigned char)at[n]) || at[n] == '_' || at[n] == '-') {
        n++;
    }
    if (n == 0 || n >= sizeof(ret_step->key)) {
        return false;
    }
    memcpy(ret_step->key, at, n);
    *path = at + n;
    return true;
}

/* Finds the place of a step in its parent. An empty parent becomes a map or list; a new place gets
 * an empty scalar. *ret_slot NULL: the parent has another kind, or the index leaves a gap. */
static enum vq_status slot_for(struct vq_node *parent, const struct step *step,
                               struct vq_node ***ret_slot)
{
    bool map = step->key[0] != '\0';
    *ret_slot = NULL;
    if (vq_node_is_null(parent)) {
        parent->kind = map ? VQ_NODE_MAP : VQ_NODE_LIST;
    }
    if (parent->kind != (map ? VQ_NODE_MAP : VQ_NODE_LIST)) {
        return VQ_OK;
    }
    uint32_t at = step->index;
    for (at = map ? 0 : at; map && at < parent->items_count; at++) {
        if (strcmp(parent->items[at]->key, step->key) == 0) {
            break;
        }
    }
    if (at > parent->items_count) {
        return VQ_OK;
    }
    if (at == parent->items_count) {
        VQ_TRY(vq_node_add_text(parent, map ? step->key : NULL, "", true));
        mark_override(parent->items[at]);
    }
    *ret_slot = &parent->items[at];
    return VQ_OK;
}

enum vq_status vq_conf_override(struct vq_node *root, const char *assignment, struct vq_error *err)
{
    const char *equals = strchr(assignment, '=');
    char path[PATH_BYTES_MAX];
    if (equals == NULL || equals == assignment || (size_t)(equals - assignment) >= sizeof(path)) {
        return malformed(err, equals == NULL ? "(without \"=\")" : "(the key)");
    }
    struct vq_span whole = vq_span_str(assignment);
    if (vq_utf8_valid_bytes(whole) != whole.bytes) {
        return malformed(err, "(not UTF-8)");
    }
    memcpy(path, assignment, (size_t)(equals - assignment));
    path[equals - assignment] = '\0';
    struct vq_node *node = root;
    struct vq_node **slot = NULL;
    const char *at = path;
    for (uint32_t depth = 0; *at != '\0'; depth++) {
        struct step step;
        if (depth >= VQ_YAML_DEPTH_MAX || !next_step(&at, depth == 0, &step)) {
            return malformed(err, path);
        }
        VQ_TRY(slot_for(node, &step, &slot));
        if (slot == NULL) {
            return vq_fail(err, VQ_INVALID,
                           "--set %s: the configuration has no such place (list indexes start at "
                           "0, without gaps)",
                           path);
        }
        node = *slot;
    }
    struct vq_node *value = NULL;
    VQ_TRY(parse_value(path, equals + 1, &value, err));
    vq_node_replace(slot, value);
    return VQ_OK;
}
