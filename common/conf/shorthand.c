/* Expands shorthand into the full form: a scalar in the place of a section becomes the section's
 * main key; a text in the list of vibes is split at its labels; a vibe's property becomes its high
 * end. Invariant: a section in full form is unchanged. Not its job: checks. */
#include "common/conf/shorthand.h"

#include "common/base/alloc.h"
#include "common/conf/config.h"
#include "common/conf/resolve.h"
#include "common/conf/schema.h"

/* Gives a new node the place of the node that it replaces, for errors. */
static void stand_at(struct vq_node *node, const struct vq_node *place)
{
    node->line = place->line;
    node->column = place->column;
    node->from_override = place->from_override;
    for (uint32_t i = 0; i < node->items_count; i++) {
        stand_at(node->items[i], place);
    }
}

/* Replaces *slot by a new node that was made from it, if `status` is VQ_OK; the new node gets the
 * place of the old one. */
static enum vq_status put_in_place(struct vq_node **slot, struct vq_node *take_node,
                                   enum vq_status status)
{
    if (status != VQ_OK) {
        vq_node_destroy(&take_node);
        return status;
    }
    stand_at(take_node, *slot);
    vq_node_replace(slot, take_node);
    return VQ_OK;
}

/* `data: file.csv` for `data: {path: file.csv}`, and for a list `human: COLUMN` for `human:
 * [COLUMN]`. The scalar then counts as a text, even if it looks like a number. */
static enum vq_status wrap_scalar(struct vq_node **slot, enum vq_node_kind kind, const char *key)
{
    struct vq_node *outer;
    VQ_TRY(vq_node_make(kind, NULL, &outer));
    return put_in_place(slot, outer, vq_node_add_text(outer, key, (*slot)->text, false));
}

static struct vq_span trimmed(struct vq_span text)
{
    while (text.bytes > 0 && strchr(" \t\r\n", text.at[0]) != NULL) {
        text = vq_span(text.at + 1, text.bytes - 1);
    }
    while (text.bytes > 0 && strchr(" \t\r\n.;,", text.at[text.bytes - 1]) != NULL) {
        text.bytes--;
    }
    return text;
}

/* Finds a label as a separate word with a colon, in any case: "... High: ...". */
static const char *find_label(const char *text, const char *label)
{
    for (const char *at = text; (at = strcasestr(at, label)) != NULL; at++) {
        if (at == text || strchr(" \t\n:;,.", at[-1]) != NULL) {
            return at;
        }
    }
    return NULL;
}

/* Splits "Name: High: ... Low: ..." (the labels in either order). False: a part is missing. */
static bool split_axis(const char *text, struct vq_span parts[3])
{
    const char *high = find_label(text, "high:");
    const char *low = find_label(text, "low:");
    if (high == NULL || low == NULL) {
        return false;
    }
    const char *first = high < low ? high : low;
    const char *second = high < low ? low : high;
    struct vq_span name = trimmed(vq_span(text, (size_t)(first - text)));
    while (name.bytes > 0 && strchr(": \t", name.at[name.bytes - 1]) != NULL) {
        name.bytes--;
    }
    size_t first_label = first == high ? 5 : 4;
    size_t second_label = second == high ? 5 : 4;
    struct vq_span a =
        trimmed(vq_span(first + first_label, (size_t)(second - first) - first_label));
    struct vq_span b = trimmed(vq_span_str(second + second_label));
    parts[0] = name;
    parts[1] = first == low ? a : b;
    parts[2] = first == low ? b : a;
    return name.bytes > 0 && a.bytes > 0 && b.bytes > 0;
}

static enum vq_status axis_map(struct vq_node **slot, const char *name, struct vq_error *err)
{
    static const char *const keys[] = {"name", "low", "high"};
    struct vq_span parts[3];
    struct vq_node *scalar = *slot;
    if (!split_axis(scalar->text, parts)) {
        (void)vq_fail(err, VQ_INVALID,
                      "a vibe is a map of name, low and high, or one text \"Name: High: ... Low: "
                      "...\"; one with a "
                      "single side is a map of name and property");
        vq_conf_prefix_node(scalar, name, "vibes", err);
        return VQ_INVALID;
    }
    struct vq_node *map;
    VQ_TRY(vq_node_make(VQ_NODE_MAP, NULL, &map));
    enum vq_status status = VQ_OK;
    for (int i = 0; i < 3 && status == VQ_OK; i++) {
        char *text;
        status = vq_copy_bytes(parts[i].at, parts[i].bytes, &text);
        status = status == VQ_OK ? vq_node_add_text(map, keys[i], text, false) : status;
        vq_free(text);
    }
    return put_in_place(slot, map, status);
}

static enum vq_status add_text(struct vq_node *map, const char *key, const char *text,
                               const struct vq_node *place)
{
    VQ_TRY(vq_node_add_text(map, key, text, false));
    stand_at(map->items[map->items_count - 1], place);
    return VQ_OK;
}

/* Converts a vibe's `property` to `high` and the fixed `low`. If the vibe also has low or high, it
 * is unchanged, and the rules refuse it. */
static enum vq_status expand_property(struct vq_node *vibe)
{
    const struct vq_node *property = vq_node_get(vibe, "property");
    if (property == NULL || property->kind != VQ_NODE_SCALAR || vq_node_is_null(property) ||
        vq_node_get(vibe, "low") != NULL || vq_node_get(vibe, "high") != NULL) {
        return VQ_OK;
    }
    VQ_TRY(add_text(vibe, "low", VQ_PROPERTY_LOW, property));
    VQ_TRY(add_text(vibe, "high", property->text, property));
    uint32_t i = 0;
    while (vibe->items[i] != property) {
        i++;
    }
    vq_node_remove(vibe, i);
    return VQ_OK;
}

static enum vq_status expand_list(struct vq_node *list, const struct vq_key *key, const char *name,
                                  struct vq_error *err);

/* `human: COLUMN` for `human: [COLUMN]`: a list of texts may be given as one text. */
static enum vq_status wrap_text(struct vq_node *map, const char *key)
{
    for (uint32_t i = 0; i < map->items_count; i++) {
        const struct vq_node *scalar = map->items[i];
        if (strcmp(scalar->key, key) == 0 && scalar->kind == VQ_NODE_SCALAR &&
            !vq_node_is_null(scalar)) {
            VQ_TRY(wrap_scalar(&map->items[i], VQ_NODE_LIST, NULL));
        }
    }
    return VQ_OK;
}

/* `batch: true` for `batch: {enabled: true}`: a section may be given as its main key. */
static enum vq_status wrap_section(struct vq_node *map, const struct vq_key *key)
{
    for (uint32_t i = 0; i < map->items_count; i++) {
        const struct vq_node *item = map->items[i];
        if (strcmp(item->key, key->key) == 0 && item->kind == VQ_NODE_SCALAR &&
            !vq_node_is_null(item)) {
            bool plain = item->plain;
            VQ_TRY(wrap_scalar(&map->items[i], VQ_NODE_MAP, key->scalar_key));
            map->items[i]->items[0]->plain = plain;
        }
    }
    return VQ_OK;
}

/* Expands sections and lists inside an item of a list. */
static enum vq_status expand_item(struct vq_node *map, const struct vq_key *keys, const char *name,
                                  struct vq_error *err)
{
    for (const struct vq_key *key = keys; key->key != NULL; key++) {
        if (strcmp(key->key, "human") == 0 || strcmp(key->key, "references") == 0) {
            VQ_TRY(wrap_text(map, key->key));
        }
        if (key->kind == VQ_KEY_KIND_SECTION && key->scalar_key != NULL) {
            VQ_TRY(wrap_section(map, key));
        }
        struct vq_node *list =
            key->kind == VQ_KEY_KIND_SECTIONS ? vq_node_get(map, key->key) : NULL;
        if (list != NULL && list->kind == VQ_NODE_LIST) {
            VQ_TRY(expand_list(list, key, name, err));
        }
    }
    return VQ_OK;
}

static enum vq_status expand_list(struct vq_node *list, const struct vq_key *key, const char *name,
                                  struct vq_error *err)
{
    bool vibes = strcmp(key->key, "vibes") == 0;
    for (uint32_t i = 0; i < list->items_count; i++) {
        struct vq_node **item = &list->items[i];
        if ((*item)->kind == VQ_NODE_MAP) {
            VQ_TRY(vibes ? expand_property(*item) : expand_item(*item, key->keys, name, err));
        } else if ((*item)->kind == VQ_NODE_SCALAR && !vq_node_is_null(*item)) {
            VQ_TRY(key->scalar_key != NULL ? wrap_scalar(item, VQ_NODE_MAP, key->scalar_key)
                   : vibes                 ? axis_map(item, name, err)
                                           : VQ_OK);
        }
    }
    return VQ_OK;
}

static uint32_t index_of(const struct vq_node *map, const char *key)
{
    uint32_t at = 0;
    while (at < map->items_count && strcmp(map->items[at]->key, key) != 0) {
        at++;
    }
    return at;
}

static bool is_scalar_or_none(const struct vq_node *node)
{
    return node == NULL || node->kind == VQ_NODE_SCALAR;
}

/* The word of early_stop for a map of `alpha` and `final`, or for `false` (from older versions);
 * NULL: any other value. */
static const char *early_stop_word(const struct vq_node *given)
{
    if (given->kind != VQ_NODE_MAP) {
        return given->kind == VQ_NODE_SCALAR && strcmp(given->text, "false") == 0 ? "off" : NULL;
    }
    const struct vq_node *alpha = vq_node_get(given, "alpha"), *final = vq_node_get(given, "final");
    uint32_t known = (alpha != NULL ? 1u : 0u) + (final != NULL ? 1u : 0u);
    if (known == 0 || known != given->items_count || !is_scalar_or_none(alpha) ||
        !is_scalar_or_none(final)) {
        return NULL;
    }
    const char *value = final == NULL ? "off" : final->text;
    return strcmp(value, "false") == 0 || strcmp(value, "off") == 0 ? "exact"
           : strcmp(value, "true") == 0 || strcmp(value, "on") == 0 ? "final"
                                                                    : NULL;
}

/* Splits `early_stop: {alpha: 0.01, final: true}` of judging into two keys. */
static enum vq_status expand_early_stop(struct vq_node *judging, const char *name,
                                        struct vq_error *err)
{
    const struct vq_node *given = vq_node_get(judging, "early_stop");
    const char *word = given == NULL ? NULL : early_stop_word(given);
    if (word == NULL && given != NULL && given->kind == VQ_NODE_MAP) {
        (void)vq_fail(
            err, VQ_INVALID,
            "must be off, exact, final or a map of alpha (a number) and final (on or off)");
        vq_conf_prefix_node(given, name, "judging.early_stop", err);
        return VQ_INVALID;
    }
    if (word == NULL) {
        return VQ_OK;
    }
    const struct vq_node *alpha = given->kind == VQ_NODE_MAP ? vq_node_get(given, "alpha") : NULL;
    if (alpha != NULL) {
        uint32_t old = index_of(judging, "early_stop_alpha");
        if (old < judging->items_count) {
            vq_node_remove(judging, old);
        }
        VQ_TRY(add_text(judging, "early_stop_alpha", alpha->text, alpha));
    }
    struct vq_node *item;
    VQ_TRY(vq_node_make(VQ_NODE_SCALAR, word, &item));
    return put_in_place(&judging->items[index_of(judging, "early_stop")], item, VQ_OK);
}

enum vq_status vq_conf_expand_shorthand(struct vq_node *root, const char *name,
                                        struct vq_error *err)
{
    if (root->kind == VQ_NODE_MAP) {
        VQ_TRY(wrap_text(root, "models"));
    }
    for (uint32_t i = 0; root->kind == VQ_NODE_MAP && i < root->items_count; i++) {
        const struct vq_key *key = vq_conf_find_key(vq_conf_keys(), root->items[i]->key);
        if (key == NULL) {
            continue;
        }
        if (key->kind == VQ_KEY_KIND_SECTIONS && key->scalar_key != NULL) {
            VQ_TRY(wrap_text(root, key->key)); /* such as one judge or one criterion */
        }
        struct vq_node *item = root->items[i];
        if (strcmp(item->key, "judging") == 0 && item->kind == VQ_NODE_MAP) {
            VQ_TRY(expand_early_stop(item, name, err));
        }
        if (key->kind == VQ_KEY_KIND_SECTION && key->scalar_key != NULL &&
            item->kind == VQ_NODE_SCALAR && !vq_node_is_null(item)) {
            VQ_TRY(wrap_scalar(&root->items[i], VQ_NODE_MAP, key->scalar_key));
        } else if (key->kind == VQ_KEY_KIND_SECTIONS && item->kind == VQ_NODE_LIST) {
            VQ_TRY(expand_list(item, key, name, err));
        }
    }
    return VQ_OK;
}
