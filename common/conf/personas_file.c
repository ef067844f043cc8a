/* Reads personas and their labels from files that are parsed like configurations. Invariant: names
 * are distinct, one line and not empty. Not its job: the text that gives a persona to a model. */
#include "common/conf/personas_file.h"

#include "common/base/alloc.h"
#include "common/conf/config.h"
#include "common/conf/json_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define PATH_BYTES 320
#define RATING_MIN 1.0
#define RATING_MAX 5.0

static const char *const traits[VQ_BIG_FIVE] = {"openness", "conscientiousness", "extraversion",
                                                "agreeableness", "neuroticism"};

bool vq_big_five_find(struct vq_span name, uint32_t *ret_trait)
{
    for (uint32_t t = 0; t < VQ_BIG_FIVE; t++) {
        if (strlen(traits[t]) == name.bytes && strncasecmp(traits[t], name.at, name.bytes) == 0) {
            *ret_trait = t;
            return true;
        }
    }
    return false;
}

struct reader {
    const char *name; /* of the file */
    struct vq_error *err;
    struct vq_personas_file file;
};

/* ---- labels ---- */

static bool is_rating(const struct vq_node *node, double *ret_value)
{
    if (node->kind != VQ_NODE_SCALAR) {
        return false;
    }
    char *end;
    double value = strtod(node->text, &end);
    *ret_value = value;
    return end != node->text && *end == '\0' && value >= RATING_MIN && value <= RATING_MAX;
}

static enum vq_status take_labels(const struct vq_node *map, const char *name, const char *path,
                                  double ret_big_five[VQ_BIG_FIVE], struct vq_error *err)
{
    bool seen[VQ_BIG_FIVE] = {false};
    if (map->kind != VQ_NODE_MAP) {
        return vq_tree_wrong(map, name, path, err, "expected a map of the five traits, 1 to 5");
    }
    for (uint32_t i = 0; i < map->items_count; i++) {
        const struct vq_node *item = map->items[i];
        uint32_t trait;
        if (!vq_big_five_find(vq_span_str(item->key), &trait)) {
            return vq_tree_wrong(item, name, path, err,
                                 "\"%.40s\" is not one of the five traits (openness, "
                                 "conscientiousness, extraversion, agreeableness, neuroticism)",
                                 item->key);
        }
        if (!is_rating(item, &ret_big_five[trait])) {
            return vq_tree_wrong(item, name, path, err, "%s is a number from 1 to 5",
                                 traits[trait]);
        }
        seen[trait] = true;
    }
    for (uint32_t t = 0; t < VQ_BIG_FIVE; t++) {
        if (!seen[t]) {
            return vq_tree_wrong(map, name, path, err,
                                 "%s is missing; give all five traits or none", traits[t]);
        }
    }
    return VQ_OK;
}

/* ---- personas ---- */

static enum vq_status take_name(struct reader *r, const struct vq_node *at, const char *path,
                                const char *text, struct vq_conf_persona *p)
{
    size_t bytes = strlen(text);
    if (bytes == 0 || bytes > VQ_NAME_BYTES_MAX || strpbrk(text, "\r\n\t") != NULL) {
        return vq_tree_wrong(at, r->name, path, r->err,
                             "a persona needs a name of one line, at most %d bytes",
                             VQ_NAME_BYTES_MAX);
    }
    for (uint32_t i = 0; i < r->file.count; i++) {
        if (strcmp(r->file.personas[i].name, text) == 0) {
            return vq_tree_wrong(at, r->name, path, r->err, "a second persona named \"%.64s\"",
                                 text);
        }
    }
    return vq_copy(text, &p->name);
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* Reads a description. A scalar without text is the baseline: *ret_baseline. */
static enum vq_status take_description(struct reader *r, const struct vq_node *node,
                                       const char *path, struct vq_conf_persona *p,
                                       bool *ret_baseline)
{
    if (node == NULL || node->kind != VQ_NODE_SCALAR) {
        return vq_tree_wrong(node, r->name, path, r->err,
                             "a persona needs a description, a text (\"\" for no persona)");
    }
    if (strlen(node->text) > VQ_PERSONA_DESCRIPTION_BYTES_MAX) {
        return vq_tree_wrong(node, r->name, path, r->err, "a description has at most %u bytes",
                             VQ_PERSONA_DESCRIPTION_BYTES_MAX);
    }
    *ret_baseline = is_blank(node->text) || vq_node_is_null(node);
    return vq_copy(node->text, &p->description);
}

static void free_persona(struct vq_conf_persona *p)
{
    vq_free(p->name);
    vq_free(p->description);
}

static enum vq_status take_map(struct reader *r, const struct vq_node *map, const char *path,
                               bool named, struct vq_conf_persona *p, bool *ret_baseline)
{
    for (uint32_t i = 0; i < map->items_count; i++) {
        const char *key = map->items[i]->key;
        if (strcmp(key, "description") != 0 && strcmp(key, "big_five") != 0 &&
            (named || strcmp(key, "name") != 0)) {
            return vq_tree_wrong(map->items[i], r->name, path, r->err,
                                 "a persona has a name, a description and big_five only, not "
                                 "\"%.40s\"",
                                 key);
        }
    }
    if (!named) {
        const struct vq_node *name = vq_node_get(map, "name");
        bool text = name != NULL && name->kind == VQ_NODE_SCALAR;
        VQ_TRY(take_name(r, text ? name : map, path, text ? name->text : "", p));
    }
    const struct vq_node *description = vq_node_get(map, "description");
    if (description == NULL) {
        return vq_tree_wrong(map, r->name, path, r->err,
                             "a persona needs a description (\"\" for no persona)");
    }
    VQ_TRY(take_description(r, description, path, p, ret_baseline));
    const struct vq_node *labels = vq_node_get(map, "big_five");
    p->labelled = labels != NULL && !vq_node_is_null(labels);
    return p->labelled ? take_labels(labels, r->name, path, p->big_five, r->err) : VQ_OK;
}

/* Reads a persona: a map with its name inside, or, if `named`, a map or a description with the name
 * as its key. */
static enum vq_status take_persona(struct reader *r, const struct vq_node *node, uint32_t i,
                                   bool named)
{
    char path[PATH_BYTES];
    struct vq_conf_persona p = {.name = NULL};
    bool baseline = false;
    (void)snprintf(path, sizeof(path), "personas[%u]", i);
    enum vq_status status = VQ_OK;
    if (named) {
        status = take_name(r, node, path, node->key, &p);
    } else if (node->kind != VQ_NODE_MAP) {
        status = vq_tree_wrong(node, r->name, path, r->err,
                               "a persona is a map of name and description");
    }
    if (status == VQ_OK) {
        status = node->kind == VQ_NODE_MAP ? take_map(r, node, path, named, &p, &baseline)
                                           : take_description(r, node, path, &p, &baseline);
    }
    if (status == VQ_OK && baseline && r->file.baseline) {
        status =
            vq_tree_wrong(node, r->name, path, r->err, "a second persona without a description");
    }
    if (status != VQ_OK || baseline) {
        r->file.baseline |= status == VQ_OK;
        free_persona(&p);
        return status;
    }
    r->file.personas[r->file.count++] = p;
    return VQ_OK;
}

static enum vq_status take(struct reader *r, const struct vq_node *root)
{
    const struct vq_node *inner = vq_node_get(root, "personas");
    if (inner != NULL && root->items_count == 1 && inner->kind != VQ_NODE_SCALAR) {
        root = inner;
    }
    if (root->kind == VQ_NODE_SCALAR || root->items_count == 0) {
        return vq_tree_wrong(root, r->name, "", r->err,
                             "expected a list of personas, maps of name and description");
    }
    if (root->items_count > VQ_PERSONAS_MAX) {
        return vq_fail(r->err, VQ_LIMIT, "%s: more than %u personas", r->name, VQ_PERSONAS_MAX);
    }
    VQ_TRY(VQ_ALLOC(r->file.personas, root->items_count));
    bool one = vq_node_get(root, "name") != NULL && vq_node_get(root, "description") != NULL;
    for (uint32_t i = 0; i < (one ? 1 : root->items_count); i++) {
        const struct vq_node *node = one ? root : root->items[i];
        VQ_TRY(take_persona(r, node, i, !one && node->key != NULL));
    }
    return r->file.count > 0
               ? VQ_OK
               : vq_fail(r->err, VQ_INVALID, "%s: no persona has a description", r->name);
}

enum vq_status vq_personas_file_parse(struct vq_span text, const char *name,
                                      struct vq_personas_file *ret_file, struct vq_error *err)
{
    struct reader r = {.name = name, .err = err};
    struct vq_node *root;
    VQ_TRY(vq_tree_parse(text, name, &root, err));
    enum vq_status status = take(&r, root);
    vq_node_destroy(&root);
    if (status != VQ_OK) {
        vq_personas_file_free(&r.file);
        return status;
    }
    *ret_file = r.file;
    return VQ_OK;
}

void vq_personas_file_free(struct vq_personas_file *file)
{
    for (uint32_t i = 0; i < file->count; i++) {
        free_persona(&file->personas[i]);
    }
    vq_free(file->personas);
    *file = (struct vq_personas_file){.count = 0};
}

/* ---- files of labels ---- */

/* Selects one of a persona's sets of labels. */
static enum vq_status choose(const struct vq_node *of, const char *name, const char *set,
                             const struct vq_node **ret_labels, struct vq_error *err)
{
    bool sets = of->kind == VQ_NODE_MAP && of->items_count > 0 && of->items[0]->kind == VQ_NODE_MAP;
    if (!sets || (set == NULL && of->items_count == 1)) {
        *ret_labels = sets ? of->items[0] : of;
        return VQ_OK;
    }
    const struct vq_node *found = set == NULL ? NULL : vq_node_get(of, set);
    if (found == NULL) {
        return vq_tree_wrong(
            of, name, of->key, err,
            "there are several sets of labels (\"%.40s\" ...); name one with dialogues.label_set",
            of->items[0]->key);
    }
    *ret_labels = found;
    return VQ_OK;
}

static enum vq_status label_all(const struct vq_node *root, const char *name, const char *set,
                                const struct vq_personas_file *file, struct vq_conf_persona *made,
                                struct vq_error *err)
{
    uint32_t used = 0;
    if (root->kind != VQ_NODE_MAP) {
        return vq_tree_wrong(root, name, "", err, "expected a map of persona to the five traits");
    }
    for (uint32_t i = 0; i < file->count; i++) {
        const struct vq_node *of = vq_node_get(root, file->personas[i].name);
        if (of != NULL) {
            const struct vq_node *labels = NULL;
            VQ_TRY(choose(of, name, set, &labels, err));
            VQ_TRY(take_labels(labels, name, of->key, made[i].big_five, err));
            made[i].labelled = true;
            used++;
        }
    }
    return used > 0
               ? VQ_OK
               : vq_fail(err, VQ_NOT_FOUND, "%s has no labels for the personas (\"%.64s\" ...)",
                         name, file->personas[0].name);
}

enum vq_status vq_personas_file_label(struct vq_span text, const char *name, const char *set,
                                      struct vq_personas_file *file, struct vq_error *err)
{
    struct vq_node *root;
    VQ_TRY(vq_tree_parse(text, name, &root, err));
    struct vq_conf_persona *made = vq_alloc(file->count, sizeof(*made));
    enum vq_status status = made == NULL ? VQ_NOMEM : label_all(root, name, set, file, made, err);
    for (uint32_t i = 0; status == VQ_OK && i < file->count; i++) {
        if (made[i].labelled) {
            file->personas[i].labelled = true;
            memcpy(file->personas[i].big_five, made[i].big_five, sizeof(made[i].big_five));
        }
    }
    vq_free(made);
    vq_node_destroy(&root);
    return status;
}
