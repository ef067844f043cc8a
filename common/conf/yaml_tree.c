/* Converts libyaml's events to nodes, and nodes to events. Invariants: the depth and the number of
 * nodes are bounded; a node is owned by its parent, the root by the caller; a failed parse frees
 * all nodes. Not its job: the meaning of keys. */
#include "common/conf/yaml_tree.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <yaml.h>

void vq_node_destroy(struct vq_node **node)
{
    struct vq_node *n = *node;
    if (n == NULL) {
        return;
    }
    for (uint32_t i = 0; i < n->items_count; i++) {
        vq_node_destroy(&n->items[i]); /* no deeper than VQ_YAML_DEPTH_MAX */
    }
    vq_free(n->items);
    vq_free(n->key);
    vq_free(n->text);
    vq_free(n);
    *node = NULL;
}

enum vq_status vq_node_make(enum vq_node_kind kind, const char *text, struct vq_node **ret_node)
{
    struct vq_node *node;
    VQ_TRY(VQ_ALLOC(node, 1));
    node->kind = kind;
    node->plain = true;
    if (text != NULL) {
        node->text = vq_strdup(text);
        if (node->text == NULL) {
            vq_node_destroy(&node);
            return VQ_NOMEM;
        }
    }
    *ret_node = node;
    return VQ_OK;
}

enum vq_status vq_node_add(struct vq_node *parent, const char *key, struct vq_node *take_item)
{
    char *copy = NULL;
    enum vq_status status = VQ_GROW(parent->items, &parent->items_cap,
                                    (size_t)parent->items_count + 1, VQ_YAML_ITEMS_MAX);
    if (status == VQ_OK && key != NULL) {
        copy = vq_strdup(key);
        status = copy == NULL ? VQ_NOMEM : VQ_OK;
    }
    if (status != VQ_OK) {
        vq_node_destroy(&take_item);
        return status;
    }
    vq_free(take_item->key);
    take_item->key = copy;
    parent->items[parent->items_count++] = take_item;
    return VQ_OK;
}

enum vq_status vq_node_add_new(struct vq_node *parent, const char *key, enum vq_node_kind kind,
                               struct vq_node **ret_item)
{
    struct vq_node *item;
    VQ_TRY(vq_node_make(kind, NULL, &item));
    VQ_TRY(vq_node_add(parent, key, item));
    *ret_item = item;
    return VQ_OK;
}

enum vq_status vq_node_add_text(struct vq_node *parent, const char *key, const char *text,
                                bool plain)
{
    struct vq_node *item;
    VQ_TRY(vq_node_make(VQ_NODE_SCALAR, text, &item));
    item->plain = plain;
    return vq_node_add(parent, key, item);
}

void vq_node_remove(struct vq_node *parent, uint32_t index)
{
    vq_node_destroy(&parent->items[index]);
    parent->items_count--;
    memmove(&parent->items[index], &parent->items[index + 1],
            (parent->items_count - index) * sizeof(struct vq_node *));
}

enum vq_status vq_node_set_text(struct vq_node *scalar, const char *text, bool plain)
{
    char *copy;
    VQ_TRY(vq_copy(text, &copy));
    vq_free(scalar->text);
    scalar->text = copy;
    scalar->plain = plain;
    return VQ_OK;
}

void vq_node_replace(struct vq_node **slot, struct vq_node *take_item)
{
    char *key = (*slot)->key;
    (*slot)->key = NULL;
    vq_node_destroy(slot);
    vq_free(take_item->key);
    take_item->key = key;
    *slot = take_item;
}

struct vq_node *vq_node_get(const struct vq_node *map, const char *key)
{
    for (uint32_t i = 0; map != NULL && map->kind == VQ_NODE_MAP && i < map->items_count; i++) {
        if (strcmp(map->items[i]->key, key) == 0) {
            return map->items[i];
        }
    }
    return NULL;
}

bool vq_node_is_null(const struct vq_node *node)
{
    return node->kind == VQ_NODE_SCALAR && node->plain &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
            strcmp(node->text, "null") == 0 || strcmp(node->text, "Null") == 0 ||
            strcmp(node->text, "NULL") == 0);
}

const struct vq_node *vq_node_at(const struct vq_node *root, const char *path)
{
    const struct vq_node *node = root;
    while (node != NULL && *path != '\0') {
        if (*path == '[') {
            char *end;
            unsigned long index = strtoul(path + 1, &end, 10);
            node =
                node->kind == VQ_NODE_LIST && index < node->items_count ? node->items[index] : NULL;
            path = *end == ']' ? end + 1 : end;
        } else {
            path += *path == '.';
            char key[64];
            size_t n = strcspn(path, ".[");
            if (n == 0 || n >= sizeof(key)) {
                return NULL;
            }
            memcpy(key, path, n);
            key[n] = '\0';
            node = vq_node_get(node, key);
            path += n;
        }
    }
    return node;
}

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current event, until the next one is read */
    bool holds_event;
    const char *name;
    struct vq_error *err;
    uint32_t nodes;
};

static enum vq_status fail_here(struct reader *r, enum vq_status status, const char *what)
{
    return vq_fail(r->err, status, "%s, line %zu, column %zu: %s", r->name,
                   r->event.start_mark.line + 1, r->event.start_mark.column + 1, what);
}

static enum vq_status fail_syntax(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR) {
        return VQ_NOMEM;
    }
    const char *problem = p->problem == NULL ? "not YAML" : p->problem;
    if (p->error == YAML_READER_ERROR) {
        return vq_fail(r->err, VQ_INVALID, "%s, byte %zu: %s; save the file as UTF-8", r->name,
                       p->problem_offset, problem);
    }
    const char *hint = "";
    if (strstr(problem, "mapping values are not allowed") != NULL) {
        hint = "; put a text that holds \": \" in quotes";
    } else if (strstr(problem, "cannot start any token") != NULL) {
        hint =
            "; indent with spaces, not tabs, and put a text that begins with a special character "
            "in quotes";
    }
    return vq_fail(r->err, VQ_INVALID, "%s, line %zu, column %zu: %s%s", r->name,
                   p->problem_mark.line + 1, p->problem_mark.column + 1, problem, hint);
}

static enum vq_status next_event(struct reader *r)
{
    if (r->holds_event) {
        yaml_event_delete(&r->event);
        r->holds_event = false;
    }
    if (yaml_parser_parse(&r->parser, &r->event) == 0) {
        return fail_syntax(r);
    }
    r->holds_event = true;
    return VQ_OK;
}

static enum vq_status read_node(struct reader *r, uint32_t depth, struct vq_node **ret_node);

static enum vq_status read_scalar(struct reader *r, struct vq_node *node)
{
    const char *text = (const char *)r->event.data.scalar.value;
    size_t bytes = r->event.data.scalar.length;
    if (memchr(text, '\0', bytes) != NULL) {
        return fail_here(r, VQ_INVALID, "a text with a NUL character");
    }
    if (r->event.data.scalar.tag != NULL || r->event.data.scalar.anchor != NULL) {
        return fail_here(r, VQ_INVALID, "tags and anchors are not supported; write the value out");
    }
    node->plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return vq_copy_bytes(text, bytes, &node->text);
}

static enum vq_status read_key(struct reader *r, const struct vq_node *map, char **ret_key)
{
    if (r->event.type != YAML_SCALAR_EVENT) {
        return fail_here(r, VQ_INVALID, "a key must be a plain text");
    }
    const char *text = (const char *)r->event.data.scalar.value;
    size_t bytes = r->event.data.scalar.length;
    if (bytes == 0 || memchr(text, '\0', bytes) != NULL) {
        return fail_here(r, VQ_INVALID, "an empty key");
    }
    if (vq_node_get(map, text) != NULL) {
        return vq_fail(r->err, VQ_INVALID,
                       "%s, line %zu, column %zu: the key \"%.64s\" is given twice", r->name,
                       r->event.start_mark.line + 1, r->event.start_mark.column + 1, text);
    }
    return vq_copy_bytes(text, bytes, &*ret_key);
}

static enum vq_status read_items(struct reader *r, struct vq_node *node, uint32_t depth)
{
    bool map = node->kind == VQ_NODE_MAP;
    yaml_event_type_t end = map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    VQ_TRY(next_event(r));
    while (r->event.type != end) {
        char *key = NULL;
        if (map) {
            VQ_TRY(read_key(r, node, &key));
        }
        uint32_t line = (uint32_t)r->event.start_mark.line + 1;
        uint32_t column = (uint32_t)r->event.start_mark.column + 1;
        struct vq_node *item = NULL;
        enum vq_status status = map ? next_event(r) : VQ_OK;
        if (status == VQ_OK) {
            status = read_node(r, depth + 1, &item);
        }
        if (status == VQ_OK) {
            /* the line of the key, if there is one, since users look for the key */
            item->line = line;
            item->column = column;
            status = vq_node_add(node, key, item);
            if (status == VQ_LIMIT) {
                (void)fail_here(r, status, "too many items");
            }
        }
        vq_free(key);
        VQ_TRY(status);
        VQ_TRY(next_event(r));
    }
    return VQ_OK;
}

/* Reads a node. Before the call its first event is current; afterwards, its last event. */
static enum vq_status read_node(struct reader *r, uint32_t depth, struct vq_node **ret_node)
{
    if (depth > VQ_YAML_DEPTH_MAX || ++r->nodes > VQ_YAML_NODES_MAX) {
        return fail_here(r, VQ_LIMIT, "nested too deeply, or too long");
    }
    enum vq_node_kind kind = VQ_NODE_SCALAR;
    if (r->event.type == YAML_SEQUENCE_START_EVENT) {
        kind = VQ_NODE_LIST;
    } else if (r->event.type == YAML_MAPPING_START_EVENT) {
        kind = VQ_NODE_MAP;
    } else if (r->event.type != YAML_SCALAR_EVENT) {
        return fail_here(r, VQ_INVALID, "aliases are not supported; write the value out");
    }
    struct vq_node *node;
    VQ_TRY(vq_node_make(kind, NULL, &node));
    node->line = (uint32_t)r->event.start_mark.line + 1;
    node->column = (uint32_t)r->event.start_mark.column + 1;
    enum vq_status status =
        kind == VQ_NODE_SCALAR ? read_scalar(r, node) : read_items(r, node, depth);
    if (status != VQ_OK) {
        vq_node_destroy(&node);
        return status;
    }
    *ret_node = node;
    return VQ_OK;
}

static enum vq_status read_document(struct reader *r, struct vq_node **ret_root)
{
    VQ_TRY(next_event(r)); /* the stream's start */
    VQ_TRY(next_event(r));
    if (r->event.type == YAML_STREAM_END_EVENT) {
        return vq_node_make(VQ_NODE_MAP, NULL, ret_root);
    }
    VQ_TRY(next_event(r)); /* the event after the document's start */
    struct vq_node *root;
    VQ_TRY(read_node(r, 0, &root));
    enum vq_status status = next_event(r); /* the document's end */
    if (status == VQ_OK) {
        status = next_event(r);
    }
    if (status == VQ_OK && r->event.type != YAML_STREAM_END_EVENT) {
        status = fail_here(r, VQ_INVALID, "a second document; a configuration is one");
    }
    if (status == VQ_OK && vq_node_is_null(root)) {
        vq_node_destroy(&root);
        status = vq_node_make(VQ_NODE_MAP, NULL, &root);
    }
    if (status != VQ_OK) {
        vq_node_destroy(&root);
        return status;
    }
    *ret_root = root;
    return VQ_OK;
}

enum vq_status vq_yaml_parse(struct vq_span yaml, const char *name, struct vq_node **ret_root,
                             struct vq_error *err)
{
    struct reader reader = {.name = name, .err = err};
    if (yaml_parser_initialize(&reader.parser) == 0) {
        return VQ_NOMEM;
    }
    yaml_parser_set_input_string(
        &reader.parser, (const unsigned char *)(yaml.at == NULL ? "" : yaml.at), yaml.bytes);
    enum vq_status status = read_document(&reader, ret_root);
    if (reader.holds_event) {
        yaml_event_delete(&reader.event);
    }
    yaml_parser_delete(&reader.parser);
    return status;
}

static int write_bytes(void *ctx, unsigned char *bytes, size_t n)
{
    struct vq_buf *out = ctx;
    vq_buf_append(out, bytes, n);
    return out->status == VQ_OK;
}

static bool emit_scalar(yaml_emitter_t *emitter, const char *text, bool plain)
{
    yaml_event_t event;
    yaml_scalar_style_t style = plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
                                        (int)strlen(text), 1, 1, style) != 0 &&
           yaml_emitter_emit(emitter, &event) != 0;
}

static bool emit_node(yaml_emitter_t *emitter, const struct vq_node *node)
{
    if (node->kind == VQ_NODE_SCALAR) {
        return emit_scalar(emitter, node->text, node->plain);
    }
    yaml_event_t event;
    bool map = node->kind == VQ_NODE_MAP;
    int made =
        map ? yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE)
            : yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                                   YAML_BLOCK_SEQUENCE_STYLE);
    if (made == 0 || yaml_emitter_emit(emitter, &event) == 0) {
        return false;
    }
    for (uint32_t i = 0; i < node->items_count; i++) {
        if ((map && !emit_scalar(emitter, node->items[i]->key, true)) ||
            !emit_node(emitter, node->items[i])) {
            return false;
        }
    }
    made = map ? yaml_mapping_end_event_initialize(&event)
               : yaml_sequence_end_event_initialize(&event);
    return made != 0 && yaml_emitter_emit(emitter, &event) != 0;
}

static bool emit_document(yaml_emitter_t *emitter, const struct vq_node *root)
{
    yaml_event_t event;
    if (yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) == 0 ||
        yaml_emitter_emit(emitter, &event) == 0 ||
        yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) == 0 ||
        yaml_emitter_emit(emitter, &event) == 0 || !emit_node(emitter, root)) {
        return false;
    }
    return yaml_document_end_event_initialize(&event, 1) != 0 &&
           yaml_emitter_emit(emitter, &event) != 0 &&
           yaml_stream_end_event_initialize(&event) != 0 && yaml_emitter_emit(emitter, &event) != 0;
}

enum vq_status vq_yaml_emit(const struct vq_node *root, struct vq_buf *out)
{
    yaml_emitter_t emitter;
    if (yaml_emitter_initialize(&emitter) == 0) {
        return VQ_NOMEM;
    }
    yaml_emitter_set_output(&emitter, write_bytes, out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, -1);
    bool done = emit_document(&emitter, root) && yaml_emitter_flush(&emitter) != 0;
    /* If the emitter reports no error, an event got no memory; a tree has only valid UTF-8. */
    bool no_memory = emitter.error == YAML_MEMORY_ERROR || emitter.error == YAML_NO_ERROR;
    enum vq_status status = done                   ? VQ_OK
                            : out->status != VQ_OK ? out->status
                            : no_memory            ? VQ_NOMEM
                                                   : VQ_BUG;
    yaml_emitter_delete(&emitter);
    return status;
}
