/* Files with a list of axes, parsed like a configuration. Invariant: a written list is read back
 * equal. Not its job: further rules about the vibes of a run (rules.c). */
#include "common/conf/axes_file.h"

#include "common/conf/config.h"
#include "common/conf/resolve.h"
#include "common/conf/shorthand.h"

#include <stdio.h>

#define PATH_BYTES_MAX 64

static enum vq_status wrong(const struct vq_node *node, const char *name, uint32_t i,
                            const char *why, struct vq_error *err)
{
    char path[PATH_BYTES_MAX];
    (void)snprintf(path, sizeof(path), "vibes[%u]", i);
    (void)vq_fail(err, VQ_INVALID, "%s", why);
    vq_conf_prefix_node(node, name, path, err);
    return VQ_INVALID;
}

/* Makes *root a map with the list under `vibes`, if it was a bare list. */
static enum vq_status wrap(struct vq_node **root, const char *name, struct vq_error *err)
{
    if ((*root)->kind == VQ_NODE_LIST) {
        struct vq_node *map;
        VQ_TRY(vq_node_make(VQ_NODE_MAP, NULL, &map));
        struct vq_node *list = *root;
        *root = map;
        return vq_node_add(map, "vibes", list);
    }
    const struct vq_node *list = vq_node_get(*root, "vibes");
    if ((*root)->items_count != 1 || list == NULL || list->kind != VQ_NODE_LIST) {
        (void)vq_fail(err, VQ_INVALID,
                      "expected a list of axes, maps of name, low and high, or such a list under "
                      "vibes:");
        vq_conf_prefix_node(*root, name, "", err);
        return VQ_INVALID;
    }
    return VQ_OK;
}

static enum vq_status take_text(struct vq_arena *memory, const struct vq_node *map, const char *key,
                                size_t bytes_max, const char **ret_text)
{
    const struct vq_node *item = vq_node_get(map, key);
    if (item == NULL || item->kind != VQ_NODE_SCALAR || item->text[0] == '\0' ||
        strlen(item->text) > bytes_max) {
        return VQ_INVALID;
    }
    *ret_text = vq_arena_text(memory, vq_span_str(item->text));
    return *ret_text == NULL ? VQ_NOMEM : VQ_OK;
}

static enum vq_status take_axis(const struct vq_node *node, const char *name, uint32_t i,
                                struct vq_axes_file *file, struct vq_error *err)
{
    struct vq_arena *memory = &file->memory;
    struct vq_axis *axis = &file->axes[i];
    if (node->kind != VQ_NODE_MAP) {
        return wrong(node, name, i, "an axis is a map of name, low and high", err);
    }
    for (uint32_t k = 0; k < node->items_count; k++) {
        const char *key = node->items[k]->key;
        if (strcmp(key, "name") != 0 && strcmp(key, "low") != 0 && strcmp(key, "high") != 0) {
            return wrong(node->items[k], name, i, "an axis has a name, a low and a high only", err);
        }
    }
    enum vq_status status = take_text(memory, node, "name", VQ_NAME_BYTES_MAX, &axis->name);
    if (status == VQ_INVALID || (status == VQ_OK && strchr(axis->name, '\n') != NULL)) {
        return wrong(node, name, i, "an axis needs a name of one line, at most 256 bytes", err);
    }
    VQ_TRY(status);
    status = take_text(memory, node, "low", VQ_AXIS_BYTES_MAX, &axis->low);
    if (status == VQ_OK) {
        status = take_text(memory, node, "high", VQ_AXIS_BYTES_MAX, &axis->high);
    }
    return status != VQ_INVALID
               ? status
               : wrong(node, name, i,
                       "an axis needs both low and high, texts of at most 4096 bytes", err);
}

static enum vq_status take(struct vq_node **root, const char *name, struct vq_axes_file *file,
                           struct vq_error *err)
{
    VQ_TRY(wrap(root, name, err));
    VQ_TRY(vq_conf_expand_shorthand(*root, name, err));
    const struct vq_node *list = vq_node_get(*root, "vibes");
    if (list->items_count == 0) {
        return vq_fail(err, VQ_INVALID, "%s: the list of axes is empty", name);
    }
    if (list->items_count > VQ_VIBES_MAX) {
        return vq_fail(err, VQ_LIMIT, "%s: more than %d axes", name, VQ_VIBES_MAX);
    }
    file->axes = vq_arena_alloc(&file->memory, list->items_count, sizeof(*file->axes));
    if (file->axes == NULL) {
        return VQ_NOMEM;
    }
    file->count = list->items_count;
    for (uint32_t i = 0; i < file->count; i++) {
        VQ_TRY(take_axis(list->items[i], name, i, file, err));
    }
    return VQ_OK;
}

enum vq_status vq_axes_file_parse(struct vq_span text, const char *name,
                                  struct vq_axes_file *ret_file, struct vq_error *err)
{
    struct vq_axes_file file = {.count = 0};
    struct vq_node *root;
    VQ_TRY(vq_yaml_parse(text, name, &root, err));
    enum vq_status status = take(&root, name, &file, err);
    vq_node_destroy(&root);
    if (status != VQ_OK) {
        vq_axes_file_free(&file);
        return status;
    }
    *ret_file = file;
    return VQ_OK;
}

void vq_axes_file_free(struct vq_axes_file *file)
{
    vq_arena_clear(&file->memory);
    *file = (struct vq_axes_file){.count = 0};
}

static enum vq_status add_axis(struct vq_node *list, const struct vq_axis *axis)
{
    struct vq_node *map;
    VQ_TRY(vq_node_add_new(list, NULL, VQ_NODE_MAP, &map));
    VQ_TRY(vq_node_add_text(map, "name", axis->name, false));
    VQ_TRY(vq_node_add_text(map, "low", axis->low, false));
    return vq_node_add_text(map, "high", axis->high, false);
}

enum vq_status vq_axes_file_write(const struct vq_axis *axes, uint32_t count, struct vq_buf *out)
{
    struct vq_node *root, *list;
    VQ_TRY(vq_node_make(VQ_NODE_MAP, NULL, &root));
    enum vq_status status = vq_node_add_new(root, "vibes", VQ_NODE_LIST, &list);
    for (uint32_t i = 0; i < count && status == VQ_OK; i++) {
        status = add_axis(list, &axes[i]);
    }
    if (status == VQ_OK) {
        status = vq_yaml_emit(root, out);
    }
    vq_node_destroy(&root);
    return status;
}
