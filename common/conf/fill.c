/* Moves values between a resolved tree and struct vq_config, by the offsets in the table of keys.
 *
 * Invariants: the tree was resolved, so every value has its kind and is in range; each text, list
 * and optional section of the struct is a separate allocation. Not its job: checks. */
#include "common/conf/fill.h"

#include "common/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void *pointer_at(const void *at)
{
    void *pointer;
    memcpy(&pointer, at, sizeof(pointer));
    return pointer;
}

static uint32_t count_at(const struct vq_key *key, const void *base)
{
    uint32_t count;
    memcpy(&count, (const char *)base + key->count_offset, sizeof(count));
    return count;
}

/* The items of a list. */
static char *items_of(const struct vq_key *key, const void *base)
{
    char *at = (char *)(uintptr_t)base + key->offset;
    return key->in_place ? at : pointer_at(at);
}

/* The struct of a section; NULL: an absent optional section. */
static void *section_of(const struct vq_key *key, const void *base)
{
    char *at = (char *)(uintptr_t)base + key->offset;
    return key->optional ? pointer_at(at) : at;
}

static enum vq_status copy_text(void *at, const char *text)
{
    char *copy = vq_strdup(text);
    memcpy(at, &copy, sizeof(copy));
    return copy == NULL ? VQ_NOMEM : VQ_OK;
}

/* ---- from the tree to the struct ---- */

static uint32_t place_of(const char *choices, const char *word)
{
    uint32_t place = 0;
    for (size_t n = strcspn(choices, "|"); strlen(word) != n || memcmp(choices, word, n) != 0;
         n = strcspn(choices, "|")) {
        VQ_ASSERT(choices[n] == '|');
        choices += n + 1;
        place++;
    }
    return place;
}

static enum vq_status fill_scalar(const struct vq_key *key, const char *text, void *at)
{
    uint64_t number = 0;
    double real;
    bool on;
    switch (key->kind) {
    case VQ_KEY_KIND_TEXT: return copy_text(at, text);
    case VQ_KEY_KIND_REAL:
        real = strtod(text, NULL);
        memcpy(at, &real, sizeof(real));
        return VQ_OK;
    case VQ_KEY_KIND_BOOL:
        on = strcmp(text, "true") == 0;
        memcpy(at, &on, sizeof(on));
        return VQ_OK;
    case VQ_KEY_KIND_UINT: number = strtoull(text, NULL, 10); break;
    case VQ_KEY_KIND_INT: number = (uint64_t)strtoll(text, NULL, 10); break;
    case VQ_KEY_KIND_ENUM: number = place_of(key->choices, text); break;
    case VQ_KEY_KIND_SECTION:
    case VQ_KEY_KIND_SECTIONS:
    case VQ_KEY_KIND_TEXTS: break;
    }
    uint32_t small = (uint32_t)number;
    memcpy(at, key->bytes == sizeof(small) ? (const void *)&small : &number, key->bytes);
    return VQ_OK;
}

static enum vq_status fill_list(const struct vq_key *key, const struct vq_node *list, char *base)
{
    if (list->items_count == 0) {
        return VQ_OK;
    }
    if (!key->in_place) {
        VQ_TRY(vq_alloc_at(base + key->offset, list->items_count, key->item_bytes));
    }
    memcpy(base + key->count_offset, &list->items_count, sizeof(list->items_count));
    char *item = items_of(key, base);
    for (uint32_t i = 0; i < list->items_count; i++, item += key->item_bytes) {
        VQ_TRY(key->kind == VQ_KEY_KIND_TEXTS ? copy_text(item, list->items[i]->text)
                                              : vq_conf_fill(key->keys, list->items[i], item));
    }
    return VQ_OK;
}

enum vq_status vq_conf_fill(const struct vq_key *keys, const struct vq_node *map, void *base)
{
    for (const struct vq_key *key = keys; key->key != NULL; key++) {
        const struct vq_node *node = vq_node_get(map, key->key);
        char *at = (char *)base + key->offset;
        if (node == NULL) {
            continue;
        }
        if (key->kind == VQ_KEY_KIND_SECTION) {
            if (key->optional) {
                VQ_TRY(vq_alloc_at(at, 1, key->item_bytes));
            }
            VQ_TRY(vq_conf_fill(key->keys, node, section_of(key, base)));
        } else if (key->kind == VQ_KEY_KIND_SECTIONS || key->kind == VQ_KEY_KIND_TEXTS) {
            VQ_TRY(fill_list(key, node, base));
        } else {
            VQ_TRY(fill_scalar(key, node->text, at));
        }
    }
    return VQ_OK;
}

void vq_conf_clear(const struct vq_key *keys, void *base)
{
    for (const struct vq_key *key = keys; key->key != NULL; key++) {
        if (key->kind == VQ_KEY_KIND_TEXT) {
            vq_free(pointer_at((char *)base + key->offset));
        } else if (key->kind == VQ_KEY_KIND_SECTION && section_of(key, base) != NULL) {
            vq_conf_clear(key->keys, section_of(key, base));
            if (key->optional) {
                vq_free(section_of(key, base));
            }
        } else if (key->kind == VQ_KEY_KIND_SECTIONS || key->kind == VQ_KEY_KIND_TEXTS) {
            char *items = items_of(key, base);
            for (uint32_t i = 0; i < count_at(key, base); i++) {
                char *item = items + i * key->item_bytes;
                if (key->kind == VQ_KEY_KIND_SECTIONS) {
                    vq_conf_clear(key->keys, item);
                } else {
                    vq_free(pointer_at(item));
                }
            }
            if (!key->in_place) {
                vq_free(items);
            }
        }
    }
}

/* ---- from the struct to the tree ---- */

const char *vq_conf_real_text(double value, char ret_text[VQ_REAL_BYTES])
{
    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(ret_text, VQ_REAL_BYTES, "%.*g", digits, value);
        if (strtod(ret_text, NULL) == value) {
            break;
        }
    }
    return ret_text;
}

static enum vq_status add_number(const struct vq_key *key, const void *at, struct vq_node *map)
{
    char text[VQ_REAL_BYTES];
    uint64_t number = 0;
    uint32_t small = 0;
    double real;
    memcpy(key->bytes == sizeof(small) ? (void *)&small : &number, at, key->bytes);
    number = key->bytes == sizeof(small) ? small : number;
    if (key->kind == VQ_KEY_KIND_REAL) {
        memcpy(&real, at, sizeof(real));
        (void)vq_conf_real_text(real, text);
    } else if (key->kind == VQ_KEY_KIND_INT) {
        (void)snprintf(text, sizeof(text), "%" PRId64, (int64_t)number);
    } else if (key->kind == VQ_KEY_KIND_UINT) {
        (void)snprintf(text, sizeof(text), "%" PRIu64, number);
    } else {
        const char *word = key->choices;
        for (; number > 0; number--) {
            word += strcspn(word, "|") + 1;
        }
        (void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(word, "|"), word);
    }
    return vq_node_add_text(map, key->key, text, true);
}

static enum vq_status add_section(struct vq_node *parent, const char *name,
                                  const struct vq_key *keys, const void *base)
{
    struct vq_node *map;
    VQ_TRY(vq_node_add_new(parent, name, VQ_NODE_MAP, &map));
    return vq_conf_tree(keys, base, map);
}

static enum vq_status add_list(const struct vq_key *key, const void *base, struct vq_node *map)
{
    const char *item = items_of(key, base);
    struct vq_node *list;
    VQ_TRY(vq_node_add_new(map, key->key, VQ_NODE_LIST, &list));
    for (uint32_t i = 0; i < count_at(key, base); i++, item += key->item_bytes) {
        VQ_TRY(key->kind == VQ_KEY_KIND_TEXTS
                   ? vq_node_add_text(list, NULL, pointer_at(item), false)
                   : add_section(list, NULL, key->keys, item));
    }
    return VQ_OK;
}

enum vq_status vq_conf_tree(const struct vq_key *keys, const void *base, struct vq_node *map)
{
    for (const struct vq_key *key = keys; key->key != NULL; key++) {
        const char *at = (const char *)base + key->offset;
        if (key->kind == VQ_KEY_KIND_TEXT) {
            const char *text = pointer_at(at);
            VQ_TRY(text == NULL ? VQ_OK : vq_node_add_text(map, key->key, text, false));
        } else if (key->kind == VQ_KEY_KIND_BOOL) {
            bool on;
            memcpy(&on, at, sizeof(on));
            VQ_TRY(vq_node_add_text(map, key->key, on ? "true" : "false", true));
        } else if (key->kind == VQ_KEY_KIND_SECTION) {
            const void *section = section_of(key, base);
            VQ_TRY(section == NULL ? VQ_OK : add_section(map, key->key, key->keys, section));
        } else if (key->kind == VQ_KEY_KIND_SECTIONS || key->kind == VQ_KEY_KIND_TEXTS) {
            VQ_TRY(items_of(key, base) == NULL ? VQ_OK : add_list(key, base, map));
        } else {
            VQ_TRY(add_number(key, at, map));
        }
    }
    return VQ_OK;
}
