/* Reads, writes and compares configurations. Reading: parse YAML into a tree, resolve the tree
 * (resolve.c), fill the struct (fill.c), check the rules between keys (rules.c), make paths
 * absolute. Writing: the struct to a tree, the tree to YAML. Two structs are compared as trees.
 * Ownership: the caller owns the struct and all its strings until vq_config_destroy. */
#include "common/conf/config.h"

#include "common/base/alloc.h"
#include "common/conf/fill.h"
#include "common/conf/resolve.h"
#include "common/conf/rules.h"
#include "common/conf/schema.h"
#include "common/text/file.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>

void vq_config_destroy(struct vq_config **config)
{
    struct vq_config *c = *config;
    if (c == NULL) {
        return;
    }
    vq_free(c->file);
    vq_free(c->data.path_abs);
    vq_free(c->data.test_path_abs);
    vq_conf_clear(vq_conf_keys(), c);
    vq_free(c);
    *config = NULL;
}

/* Makes *path, if set, absolute in place. */
static enum vq_status absolute(const char *base_dir, char **path)
{
    if (*path == NULL) {
        return VQ_OK;
    }
    char *joined;
    VQ_TRY(vq_path_join(base_dir, *path, &joined));
    vq_free(*path);
    *path = joined;
    return VQ_OK;
}

static enum vq_status absolute_key(const char *base_dir, char **key)
{
    if (*key == NULL || strncmp(*key, "file:", 5) != 0) {
        return VQ_OK;
    }
    char *joined;
    VQ_TRY(vq_path_join(base_dir, *key + 5, &joined));
    struct vq_buf text;
    vq_buf_init(&text, strlen(joined) + 8);
    vq_buf_printf(&text, "file:%s", joined);
    vq_free(joined);
    enum vq_status status = text.status;
    if (status != VQ_OK) {
        vq_buf_free(&text);
        return status;
    }
    vq_free(*key);
    *key = text.at;
    return VQ_OK;
}

static enum vq_status resolve_persona(struct vq_config *c, const char *base_dir)
{
    for (uint32_t i = 0; i < c->subjects_count; i++) {
        VQ_TRY(absolute_key(base_dir, &c->subjects[i].judge.key));
    }
    for (uint32_t i = 0; i < c->probes_count; i++) {
        VQ_TRY(absolute(base_dir, &c->probes[i].file));
    }
    struct vq_conf_dialogues *d = c->dialogues;
    if (d == NULL) {
        return VQ_OK;
    }
    char **const files[] = {&d->personas, &d->labels,   &d->directed,
                            &d->goal,     &d->measured, &d->human};
    for (size_t i = 0; i < VQ_COUNT(files); i++) {
        VQ_TRY(absolute(base_dir, files[i]));
    }
    return VQ_OK;
}

static enum vq_status resolve_paths_in(struct vq_config *c, const char *name, const char *base_dir)
{
    VQ_TRY(vq_copy(name, &c->file));
    if (c->data.path != NULL) { /* "-" is standard input, in any folder */
        bool is_stdin = strcmp(c->data.path, "-") == 0;
        VQ_TRY(vq_path_join(is_stdin ? NULL : base_dir, c->data.path, &c->data.path_abs));
    }
    if (c->data.test_path != NULL) {
        VQ_TRY(vq_path_join(base_dir, c->data.test_path, &c->data.test_path_abs));
    }
    VQ_TRY(absolute(base_dir, &c->prompts_dir));
    VQ_TRY(absolute(base_dir, &c->redis_ca));
    VQ_TRY(absolute(base_dir, &c->human));
    for (uint32_t i = 0; i < c->criteria_count; i++) {
        VQ_TRY(absolute(base_dir, &c->criteria[i].file));
    }
    VQ_TRY(absolute(base_dir, &c->offline.oracle));
    VQ_TRY(absolute(base_dir, &c->offline.faults));
    for (uint32_t i = 0; i < c->pools_count; i++) {
        for (uint32_t k = 0; k < c->pools[i].keys_count; k++) {
            VQ_TRY(absolute_key(base_dir, &c->pools[i].keys[k]));
        }
    }
    for (uint32_t i = 0; i < c->judges_count; i++) {
        VQ_TRY(absolute_key(base_dir, &c->judges[i].key));
    }
    for (uint32_t i = 0; i < c->preference_judges_count; i++) {
        VQ_TRY(absolute_key(base_dir, &c->preference_judges[i].key));
    }
    for (uint32_t i = 0; i < c->repeat_proposers_count; i++) {
        VQ_TRY(absolute_key(base_dir, &c->repeat_proposers[i].key));
    }
    VQ_TRY(resolve_persona(c, base_dir));
    struct vq_conf_judge *const roles[] = {c->proposer, c->reducer, c->embedder};
    for (size_t i = 0; i < VQ_COUNT(roles); i++) {
        if (roles[i] != NULL) {
            VQ_TRY(absolute_key(base_dir, &roles[i]->key));
        }
    }
    return VQ_OK;
}

/* A relative folder is resolved against the working folder now, so that a configuration that is
 * written later does not depend on the working folder. */
static enum vq_status resolve_paths(struct vq_config *c, const char *name, const char *base_dir)
{
    char *real = base_dir[0] == '/' ? NULL : realpath(base_dir, NULL);
    if (real == NULL && base_dir[0] != '/' && errno == ENOMEM) {
        return VQ_NOMEM;
    }
    enum vq_status status = resolve_paths_in(c, name, real == NULL ? base_dir : real);
    free(real); /* from realpath */
    return status;
}

/* Refuses a number of models that the method does not allow. */
static enum vq_status check_models_given(const struct vq_node *root, const char *name,
                                         struct vq_error *err)
{
    const struct vq_node *models = vq_node_get(root, "models");
    const struct vq_node *method = vq_node_get(root, "method");
    bool rates =
        method != NULL && method->kind == VQ_NODE_SCALAR && strcmp(method->text, "judge") == 0;
    uint32_t given = models == NULL ? 0 : models->items_count;
    bool persona =
        method != NULL && method->kind == VQ_NODE_SCALAR && strcmp(method->text, "persona") == 0;
    if ((given >= 2 && !rates) || given == 2 || (given == 1 && rates) ||
        persona) { /* rules_persona.c checks persona */
        return VQ_OK;
    }
    (void)vq_fail(
        err, VQ_INVALID,
        rates ? "%s; name the column that holds the outputs, for example models: [answer], or two "
                "columns to compare"
              : "%s; name the two columns that hold the outputs, for example models: [model_a, "
                "model_b]",
        given == 0 ? "missing"
        : rates    ? "there must be one or two"
                   : "there must be two");
    vq_conf_prefix_place(root, name, "models", err);
    return VQ_INVALID;
}

/* Whether the judge is the first of a cascade that escalates by the margin between labels: it must
 * return log-probabilities. */
static bool needs_margin(const struct vq_config *c, const struct vq_conf_judge *judge)
{
    return c->cascade != NULL && c->cascade->escalate.margin > 0 && c->cascade->first != NULL &&
           judge->name != NULL && strcmp(judge->name, c->cascade->first) == 0;
}

/* Copies the settings of `judging` to each judge. */
static void share_out(struct vq_config *c)
{
    for (uint32_t i = 0; i < c->judges_count; i++) {
        c->judges[i].structured = c->judging.structured;
        c->judges[i].logprobs = c->judging.logprobs || needs_margin(c, &c->judges[i]);
    }
    for (uint32_t i = 0; i < c->preference_judges_count; i++) {
        c->preference_judges[i].structured = c->judging.structured;
        c->preference_judges[i].logprobs = c->judging.logprobs;
    }
}

enum vq_status vq_config_parse(const char *yaml, size_t bytes, const char *name_for_errors,
                               const char *base_dir, const char *const *overrides,
                               size_t overrides_count, struct vq_config **ret_config,
                               struct vq_error *err)
{
    if (bytes > VQ_CONFIG_BYTES_MAX) {
        return vq_fail(err, VQ_LIMIT, "%s: a configuration has at most %u bytes", name_for_errors,
                       VQ_CONFIG_BYTES_MAX);
    }
    struct vq_node *root = NULL;
    struct vq_config *config = NULL;
    if (err != NULL) {
        err->text[0] = '\0';
    }
    enum vq_status status = vq_yaml_parse(vq_span(yaml, bytes), name_for_errors, &root, err);
    if (status == VQ_OK) {
        status = vq_conf_resolve(root, name_for_errors, overrides, overrides_count, err);
    }
    if (status == VQ_OK) {
        status = check_models_given(root, name_for_errors, err);
    }
    if (status == VQ_OK) {
        config = vq_alloc(1, sizeof(*config));
        status = config == NULL ? VQ_NOMEM : vq_conf_fill(vq_conf_keys(), root, config);
    }
    if (status == VQ_OK) {
        share_out(config);
        status = vq_conf_check_rules(config, root, name_for_errors, err);
    }
    if (status == VQ_OK) {
        status = resolve_paths(config, name_for_errors, base_dir);
    }
    vq_node_destroy(&root);
    if (status != VQ_OK) {
        vq_config_destroy(&config);
        if (err != NULL && err->text[0] == '\0') {
            (void)vq_fail(err, status, "%s: %s", name_for_errors, vq_status_text(status));
        }
        return status;
    }
    *ret_config = config;
    return VQ_OK;
}

enum vq_status vq_config_load(const char *path, const char *const *overrides,
                              size_t overrides_count, struct vq_config **ret_config,
                              struct vq_error *err)
{
    struct vq_buf yaml;
    VQ_TRY(vq_file_read(path, VQ_CONFIG_BYTES_MAX, &yaml, err));
    char *real = realpath(path, NULL); /* also for a path without a folder */
    char *base_dir = real == NULL ? NULL : dirname(real);
    enum vq_status status = vq_config_parse(yaml.at == NULL ? "" : yaml.at, yaml.bytes, path,
                                            base_dir == NULL ? "." : base_dir, overrides,
                                            overrides_count, ret_config, err);
    free(real); /* from realpath */
    vq_buf_free(&yaml);
    return status;
}

/* A copy of the struct with absolute paths; it borrows all strings. */
static struct vq_config with_absolute_paths(const struct vq_config *config)
{
    struct vq_config copy = *config;
    copy.data.path = config->data.path_abs;
    copy.data.test_path = config->data.test_path_abs;
    return copy;
}

static enum vq_status tree_of(const struct vq_config *config, struct vq_node **ret_root)
{
    struct vq_config copy = with_absolute_paths(config);
    struct vq_node *root;
    VQ_TRY(vq_node_make(VQ_NODE_MAP, NULL, &root));
    enum vq_status status = vq_conf_tree(vq_conf_keys(), &copy, root);
    if (status != VQ_OK) {
        vq_node_destroy(&root);
        return status;
    }
    *ret_root = root;
    return VQ_OK;
}

enum vq_status vq_config_write(const struct vq_config *config, char **ret_yaml, size_t *ret_bytes)
{
    struct vq_node *root;
    struct vq_buf out;
    VQ_TRY(tree_of(config, &root));
    vq_buf_init(&out, VQ_YAML_OUTPUT_MAX);
    enum vq_status status = vq_yaml_emit(root, &out);
    vq_node_destroy(&root);
    if (status != VQ_OK) {
        vq_buf_free(&out);
        return status;
    }
    *ret_yaml = out.at;
    *ret_bytes = out.bytes;
    return VQ_OK;
}

/* ---- differences ---- */

struct walk {
    char key[VQ_CONFIG_KEY_BYTES]; /* of the compared nodes */
    vq_config_key_fn fn;
    void *ctx;
};

static enum vq_status compare(struct walk *w, const struct vq_node *was, const struct vq_node *now);

static enum vq_status compare_item(struct walk *w, const struct vq_node *was,
                                   const struct vq_node *now)
{
    const char *key = was != NULL ? was->key : now->key;
    size_t end = strlen(w->key);
    (void)snprintf(w->key + end, sizeof(w->key) - end, "%s%s", end == 0 ? "" : ".", key);
    enum vq_status status = compare(w, was, now);
    w->key[end] = '\0';
    return status;
}

static enum vq_status compare_lists(struct walk *w, const struct vq_node *was,
                                    const struct vq_node *now)
{
    uint32_t count = was->items_count > now->items_count ? was->items_count : now->items_count;
    size_t end = strlen(w->key);
    enum vq_status status = VQ_OK;
    for (uint32_t i = 0; i < count && status == VQ_OK; i++) {
        (void)snprintf(w->key + end, sizeof(w->key) - end, "[%u]", i);
        status = compare(w, i < was->items_count ? was->items[i] : NULL,
                         i < now->items_count ? now->items[i] : NULL);
        w->key[end] = '\0';
    }
    return status;
}

static enum vq_status compare(struct walk *w, const struct vq_node *was, const struct vq_node *now)
{
    if (was == NULL || now == NULL || was->kind != now->kind) {
        return w->fn(w->ctx, w->key);
    }
    if (was->kind == VQ_NODE_SCALAR) {
        return strcmp(was->text, now->text) == 0 ? VQ_OK : w->fn(w->ctx, w->key);
    }
    if (was->kind == VQ_NODE_LIST) {
        return compare_lists(w, was, now);
    }
    for (uint32_t i = 0; i < was->items_count; i++) {
        VQ_TRY(compare_item(w, was->items[i], vq_node_get(now, was->items[i]->key)));
    }
    for (uint32_t i = 0; i < now->items_count; i++) {
        if (vq_node_get(was, now->items[i]->key) == NULL) {
            VQ_TRY(compare_item(w, NULL, now->items[i]));
        }
    }
    return VQ_OK;
}

enum vq_status vq_config_differences(const struct vq_config *was, const struct vq_config *now,
                                     vq_config_key_fn fn, void *ctx)
{
    struct walk w = {.key = "", .fn = fn, .ctx = ctx};
    struct vq_node *from = NULL, *to = NULL;
    enum vq_status status = tree_of(was, &from);
    if (status == VQ_OK) {
        status = tree_of(now, &to);
    }
    if (status == VQ_OK) {
        status = compare(&w, from, to);
    }
    vq_node_destroy(&from);
    vq_node_destroy(&to);
    return status;
}
