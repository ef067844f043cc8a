/* The passes over a configuration's tree, in order: apply shorthand and overrides; remove empty
 * values; add defaults that depend on other keys; then one walk along the key table, which refuses
 * unknown keys and wrong values, rewrites scalars in canonical form and adds the other defaults.
 * Invariant: after the walk, the struct can be filled without checks. Not its job: rules between
 * keys (rules.c). */
#include "common/conf/resolve.h"

#include "common/conf/config.h"
#include "common/conf/fill.h"
#include "common/conf/overrides.h"
#include "common/conf/pools.h"
#include "common/conf/schema.h"
#include "common/conf/shorthand.h"
#include "common/conf/thinks.h"
#include "common/text/intern.h"
#include "common/text/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define PATH_BYTES_MAX 256
#define SHOWN_BYTES    60 /* of a wrong value, in an error */

struct walk {
    const char *name;
    struct vq_error *err;
    char path[PATH_BYTES_MAX];
};

/* ---- Places in errors ---- */

void vq_conf_prefix_node(const struct vq_node *node, const char *name, const char *path,
                         struct vq_error *err)
{
    const char *gap = path[0] == '\0' ? "" : ", ";
    if (node != NULL && node->from_override) {
        vq_error_prefix(err, "--set%s%s", path[0] == '\0' ? "" : " ", path);
    } else if (node != NULL && node->line > 0) {
        vq_error_prefix(err, "%s, line %u, column %u%s%s", name, node->line, node->column, gap,
                        path);
    } else {
        vq_error_prefix(err, "%s%s%s", name, gap, path);
    }
}

void vq_conf_prefix_place(const struct vq_node *root, const char *name, const char *path,
                          struct vq_error *err)
{
    char part[PATH_BYTES_MAX];
    (void)snprintf(part, sizeof(part), "%s", path);
    const struct vq_node *node = vq_node_at(root, part);
    while ((node == NULL || (node->line == 0 && !node->from_override)) && part[0] != '\0') {
        size_t n = strlen(part);
        do {
            n--;
        } while (n > 0 && part[n] != '.' && part[n] != '[');
        part[n] = '\0';
        node = vq_node_at(root, part);
    }
    vq_conf_prefix_node(part[0] == '\0' ? NULL : node, name, path, err);
}

static enum vq_status wrong(struct walk *walk, const struct vq_node *node, const char *fmt, ...)
    VQ_PRINTF(3, 4);

static enum vq_status wrong(struct walk *walk, const struct vq_node *node, const char *fmt, ...)
{
    if (walk->err != NULL) {
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(walk->err->text, sizeof(walk->err->text), fmt, args);
        va_end(args);
        vq_conf_prefix_node(node, walk->name, walk->path, walk->err);
    }
    return VQ_INVALID;
}

/* ---- Empty values, and defaults that depend on other keys ---- */

/* A key without a value counts as not given. Empty items of lists stay: the check of kinds refuses
 * them. */
static void drop_nulls(struct vq_node *node)
{
    for (uint32_t i = node->items_count; i-- > 0;) {
        if (node->kind == VQ_NODE_MAP && vq_node_is_null(node->items[i])) {
            vq_node_remove(node, i);
        } else {
            drop_nulls(node->items[i]);
        }
    }
}

/* Finds or creates the section. *ret_section NULL: the file has another kind of value there. */
static enum vq_status section_of(struct vq_node *root, const char *key,
                                 struct vq_node **ret_section)
{
    *ret_section = vq_node_get(root, key);
    if (*ret_section == NULL) {
        VQ_TRY(vq_node_add_new(root, key, VQ_NODE_MAP, ret_section));
    }
    if ((*ret_section)->kind != VQ_NODE_MAP) {
        *ret_section = NULL;
    }
    return VQ_OK;
}

static enum vq_status add_if_missing(struct vq_node *root, const char *section, const char *key,
                                     const char *text)
{
    struct vq_node *map = root;
    if (section != NULL) {
        VQ_TRY(section_of(root, section, &map));
    }
    if (map == NULL || vq_node_get(map, key) != NULL) {
        return VQ_OK;
    }
    return vq_node_add_text(map, key, text, true);
}

static bool text_is(const struct vq_node *node, const char *text)
{
    return node != NULL && node->kind == VQ_NODE_SCALAR && strcmp(node->text, text) == 0;
}

/* Adds the values of the VibeCheck paper for its data sets (Table 5 and the published
 * configurations). */
static enum vq_status add_paper_defaults(struct vq_node *root)
{
    static const struct {
        const char *preset;
        const char *d, *batch, *iterations, *clusters;
    } papers[] = {{"paper-hc3", "40", "5", "3", "3"},
                  {"paper-arena", "20", "5", "3", "10"},
                  {"paper-cnndm", "20", "2", "3", "5"},
                  {"paper-math", "20", "5", "1", "3"},
                  {"paper-coco", "20", "5", "1", "3"}};
    const struct vq_node *preset = vq_node_at(root, "vibecheck.preset");
    for (size_t i = 0; i < VQ_COUNT(papers); i++) {
        if (!text_is(preset, papers[i].preset)) {
            continue;
        }
        VQ_TRY(add_if_missing(root, NULL, "method", "discover"));
        VQ_TRY(add_if_missing(root, "vibecheck", "d", papers[i].d));
        VQ_TRY(add_if_missing(root, "vibecheck", "batch", papers[i].batch));
        VQ_TRY(add_if_missing(root, "vibecheck", "iterations", papers[i].iterations));
        VQ_TRY(add_if_missing(root, "vibecheck", "clusters", papers[i].clusters));
        VQ_TRY(add_if_missing(root, "data", "ties", "drop_all"));
        VQ_TRY(add_if_missing(root, "gates", "overlap", "pearson"));
        return add_if_missing(root, "regression", "cv", "paper");
    }
    return VQ_OK;
}

/* Default max_tokens of roles that answer with a list of axes. */
#define ROLE_TOKENS_TEXT "2000"
/* Default max_tokens of models that think: thinking counts as output. */
#define THINKING_TOKENS_TEXT "8000"

/* Default max_tokens of a rating, which has a paragraph of reasoning. */
#define RATING_TOKENS_TEXT "1024"

/* Default max_tokens of a subject, whose answers are long. */
#define SUBJECT_TOKENS_TEXT "2048"

/* Default max_tokens of an answer on several vibes: a base, and more for each vibe. */
#define JOINT_TOKENS_BASE 300u
#define JOINT_TOKENS_VIBE 150u

/* judging.vibes_per_call; 1 if it is not set, or is a number that the later walk refuses. */
static uint32_t joint_vibes(const struct vq_node *root)
{
    const struct vq_node *n = vq_node_at(root, "judging.vibes_per_call");
    unsigned long value = n != NULL && n->kind == VQ_NODE_SCALAR ? strtoul(n->text, NULL, 10) : 1;
    return value >= 1 && value <= VQ_VIBES_PER_CALL_MAX ? (uint32_t)value : 1;
}

/* Whether the pool, as the user wrote it, has the model. */
static bool pool_has(const struct vq_node *pool, const char *model)
{
    const struct vq_node *models = vq_node_get(pool, "models");
    for (uint32_t k = 0; models != NULL && k < models->items_count; k++) {
        if (text_is(vq_node_get(models->items[k], "model"), model)) {
            return true;
        }
    }
    return false;
}

static const char *text_of(const struct vq_node *map, const char *key)
{
    const struct vq_node *node = vq_node_get(map, key);
    return node != NULL && node->kind == VQ_NODE_SCALAR ? node->text : NULL;
}

static void dialect_of(const struct vq_node *pool, struct vq_buf *out)
{
    const char *dialect = text_of(pool, "dialect");
    vq_buf_puts(out, dialect == NULL ? "openai" : dialect);
}

static void identity_of(const struct vq_node *pool, struct vq_buf *out)
{
    vq_conf_identity(text_of(pool, "identity"), text_of(pool, "base_url"),
                     text_of(pool, "api_version"), out);
}

/* Adds `key` to a role that any pool with the model answers, if all these pools have the same
 * value. The stored configuration then holds the value, so that pools that are added later do
 * not change the request hash. If the values differ, the key stays unset, and the rules report
 * it. */
static enum vq_status add_agreed(const struct vq_node *root, struct vq_node *role,
                                 const char *model, const char *key,
                                 void (*says)(const struct vq_node *pool, struct vq_buf *out))
{
    const struct vq_node *pools = vq_node_get(root, "pools");
    struct vq_buf first, other;
    vq_buf_init(&first, VQ_CONFIG_BYTES_MAX);
    vq_buf_init(&other, VQ_CONFIG_BYTES_MAX);
    bool agreed = true;
    for (uint32_t i = 0; pools != NULL && i < pools->items_count; i++) {
        if (pool_has(pools->items[i], model)) {
            vq_buf_clear(&other);
            says(pools->items[i], first.bytes == 0 ? &first : &other);
            agreed = agreed &&
                     (other.bytes == 0 || vq_span_eq(vq_buf_span(&first), vq_buf_span(&other)));
        }
    }
    enum vq_status status = first.status == VQ_OK ? other.status : first.status;
    if (status == VQ_OK && agreed && first.bytes > 0 && vq_node_get(role, key) == NULL) {
        status = vq_node_add_text(role, key, first.at, false);
    }
    vq_buf_free(&first);
    vq_buf_free(&other);
    return status;
}

static enum vq_status add_provider(const struct vq_node *root, struct vq_node *role)
{
    const char *model = text_of(role, "model");
    bool pooled = vq_node_get(role, "base_url") == NULL && model != NULL &&
                  strncmp(model, "offline-", 8) != 0 && vq_node_get(root, "pools") != NULL;
    if (pooled) {
        VQ_TRY(add_agreed(root, role, model, "dialect", dialect_of));
        return add_agreed(root, role, model, "identity", identity_of);
    }
    return vq_node_get(role, "dialect") != NULL
               ? VQ_OK
               : vq_node_add_text(role, "dialect", "openai", false);
}

/* `tokens`: the default of max_tokens; NULL: the key table's. */
static enum vq_status add_judge_defaults(const struct vq_node *root, struct vq_node *judge,
                                         const char *tokens)
{
    if (judge == NULL || judge->kind != VQ_NODE_MAP) {
        return VQ_OK;
    }
    const struct vq_node *model = vq_node_get(judge, "model");
    if (model != NULL && model->kind == VQ_NODE_SCALAR && vq_node_get(judge, "name") == NULL) {
        VQ_TRY(vq_node_add_text(judge, "name", model->text, false));
    }
    if (model != NULL && model->kind == VQ_NODE_SCALAR && vq_model_thinks(model->text)) {
        tokens = THINKING_TOKENS_TEXT;
    }
    if (tokens != NULL && vq_node_get(judge, "max_tokens") == NULL) {
        VQ_TRY(vq_node_add_text(judge, "max_tokens", tokens, true));
    }
    return add_provider(root, judge);
}

/* "data/xs-test.csv" gives "xs-test". */
static enum vq_status name_probe(struct vq_node *probe)
{
    const char *file = probe->kind == VQ_NODE_MAP ? text_of(probe, "file") : NULL;
    if (file == NULL || vq_node_get(probe, "name") != NULL) {
        return VQ_OK;
    }
    const char *slash = strrchr(file, '/');
    const char *from = slash == NULL ? file : slash + 1;
    const char *dot = strrchr(from, '.');
    char name[VQ_NAME_BYTES_MAX + 1];
    (void)snprintf(name, sizeof(name), "%.*s",
                   (int)(dot == NULL || dot == from ? strlen(from) : (size_t)(dot - from)), from);
    return vq_node_add_text(probe, "name", name, false);
}

static enum vq_status add_persona_defaults(struct vq_node *root)
{
    const struct vq_node *subjects = vq_node_get(root, "subjects");
    for (uint32_t i = 0; subjects != NULL && i < subjects->items_count; i++) {
        VQ_TRY(add_judge_defaults(root, subjects->items[i], SUBJECT_TOKENS_TEXT));
    }
    const struct vq_node *probes = vq_node_get(root, "probes");
    for (uint32_t i = 0; probes != NULL && i < probes->items_count; i++) {
        VQ_TRY(name_probe(probes->items[i]));
    }
    if (text_is(vq_node_at(root, "dialogues.preset"), "paper")) {
        VQ_TRY(add_if_missing(root, "dialogues", "rounds", "102"));
        VQ_TRY(add_if_missing(root, "rating", "positions", "alternate"));
        VQ_TRY(add_if_missing(root, "rating", "policy", "paper"));
    }
    return VQ_OK;
}

/* early_stop_alpha without early_stop turns early stopping on. */
static enum vq_status add_early_stop(struct vq_node *root, bool exact)
{
    const struct vq_node *models = vq_node_get(root, "models");
    bool ranks = models != NULL && models->kind == VQ_NODE_LIST && models->items_count > 2;
    bool drops = text_is(vq_node_at(root, "judging.invalid"), "drop_row");
    const struct vq_node *alpha = vq_node_at(root, "judging.early_stop_alpha");
    bool asked = alpha != NULL && alpha->kind == VQ_NODE_SCALAR && strtod(alpha->text, NULL) > 0;
    bool cascade = vq_node_get(root, "cascade") != NULL;
    bool on = asked || (exact && !ranks && !drops && !cascade);
    return add_if_missing(root, "judging", "early_stop", on ? "exact" : "off");
}

static enum vq_status add_dependent_defaults(struct vq_node *root)
{
    VQ_TRY(add_paper_defaults(root));
    VQ_TRY(add_persona_defaults(root));
    const struct vq_node *vibes = vq_node_get(root, "vibes");
    bool has_vibes = vibes != NULL && vibes->kind == VQ_NODE_LIST && vibes->items_count > 0;
    const struct vq_node *criteria = vq_node_get(root, "criteria");
    bool has_criteria = criteria != NULL && criteria->kind == VQ_NODE_LIST;
    VQ_TRY(add_if_missing(root, NULL, "method",
                          vq_node_get(root, "subjects") != NULL ? "persona"
                          : has_criteria                        ? "judge"
                          : has_vibes                           ? "vibes"
                                                                : "preset"));
    const struct vq_node *method = vq_node_get(root, "method");
    bool rates = text_is(method, "judge") || text_is(method, "persona");
    const struct vq_node *rule = vq_node_at(root, "judging.pair_rule");
    bool strict = rule == NULL || text_is(rule, "strict");
    uint32_t joint = joint_vibes(root);
    VQ_TRY(add_if_missing(root, "judging", "lazy_swap", strict && joint == 1 ? "true" : "false"));
    bool preset = text_is(vq_node_get(root, "method"), "preset");
    bool discover = text_is(vq_node_get(root, "method"), "discover");
    VQ_TRY(add_early_stop(root, discover && joint == 1));
    VQ_TRY(add_if_missing(root, "gates", "overlap", preset ? "off" : "pearson"));
    VQ_TRY(add_if_missing(root, "vibecheck", "num_final_vibes", discover ? "10" : "0"));
    char joint_tokens[16];
    (void)snprintf(joint_tokens, sizeof(joint_tokens), "%u",
                   JOINT_TOKENS_BASE + JOINT_TOKENS_VIBE * joint);
    static const char *const lists[] = {"judges", "preference_judges"};
    for (size_t k = 0; k < VQ_COUNT(lists); k++) {
        const struct vq_node *judges = vq_node_get(root, lists[k]);
        for (uint32_t i = 0; judges != NULL && i < judges->items_count; i++) {
            VQ_TRY(add_judge_defaults(root, judges->items[i],
                                      rates                 ? RATING_TOKENS_TEXT
                                      : k == 0 && joint > 1 ? joint_tokens
                                                            : NULL));
        }
    }
    const struct vq_node *again = vq_node_get(root, "repeat_proposers");
    for (uint32_t i = 0; again != NULL && i < again->items_count; i++) {
        VQ_TRY(add_judge_defaults(root, again->items[i], ROLE_TOKENS_TEXT));
    }
    static const char *const roles[] = {"proposer", "reducer", "embedder"};
    for (size_t k = 0; k < VQ_COUNT(roles); k++) {
        VQ_TRY(add_judge_defaults(root, vq_node_get(root, roles[k]), ROLE_TOKENS_TEXT));
    }
    return VQ_OK;
}

/* ---- The walk along the key table ---- */

static bool is_secret(const char *key)
{
    return strcmp(key, "key") == 0 || strcmp(key, "url") == 0 || strcmp(key, "base_url") == 0;
}

/* A wrong value for an error, cut; never a value that may be a secret. */
static struct vq_span shown(const struct vq_key *key, const struct vq_node *node)
{
    if (is_secret(key->key)) {
        return vq_span_str("(not shown)");
    }
    return vq_utf8_cut(vq_span_str(node->text), SHOWN_BYTES);
}

static enum vq_status check_uint(struct walk *walk, const struct vq_key *key, struct vq_node *node)
{
    const char *text = node->text;
    errno = 0;
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    bool digits = text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
    if (!digits || value < key->uint_min || value > key->int_max) {
        struct vq_span s = shown(key, node);
        return wrong(walk, node, "must be a whole number from %llu to %llu, not \"%.*s\"",
                     (unsigned long long)key->uint_min, (unsigned long long)key->int_max,
                     (int)s.bytes, s.at);
    }
    char canonical[32];
    (void)snprintf(canonical, sizeof(canonical), "%llu", value);
    return vq_node_set_text(node, canonical, true);
}

static enum vq_status check_int(struct walk *walk, const struct vq_key *key, struct vq_node *node)
{
    const char *text = node->text;
    errno = 0;
    char *end;
    long long value = strtoll(text, &end, 10);
    const char *digit = text + (text[0] == '-');
    bool digits = *digit >= '0' && *digit <= '9' && *end == '\0' && errno == 0;
    if (!digits || value < key->int_min || (uint64_t)(value < 0 ? 0 : value) > key->int_max) {
        struct vq_span s = shown(key, node);
        return wrong(walk, node, "must be a whole number from %lld, not \"%.*s\"",
                     (long long)key->int_min, (int)s.bytes, s.at);
    }
    char canonical[32];
    (void)snprintf(canonical, sizeof(canonical), "%lld", value);
    return vq_node_set_text(node, canonical, true);
}

static enum vq_status check_real(struct walk *walk, const struct vq_key *key, struct vq_node *node)
{
    const char *text = node->text;
    char *end;
    double value = strtod(text, &end);
    bool number =
        text[0] != '\0' && strspn(text, "0123456789+-.eE") == strlen(text) && *end == '\0';
    if (!number || !isfinite(value) || value < key->real_min || value > key->real_max) {
        struct vq_span s = shown(key, node);
        return wrong(walk, node, "must be a number from %g to %g, not \"%.*s\"", key->real_min,
                     key->real_max, (int)s.bytes, s.at);
    }
    char canonical[VQ_REAL_BYTES];
    return vq_node_set_text(node, vq_conf_real_text(value, canonical), true);
}

static enum vq_status check_bool(struct walk *walk, const struct vq_key *key, struct vq_node *node)
{
    static const char *const words[] = {"true", "yes", "on", "false", "no", "off"};
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        if (strcasecmp(node->text, words[i]) == 0) {
            return vq_node_set_text(node, i < 3 ? "true" : "false", true);
        }
    }
    struct vq_span s = shown(key, node);
    return wrong(walk, node, "must be on or off (or true, false, yes, no), not \"%.*s\"",
                 (int)s.bytes, s.at);
}

/* Whether `word` is one of "a|b|c". Also splits the list into spans, to find the nearest word. */
static bool one_of(const char *choices, const char *word, struct vq_span spans[8],
                   uint32_t *ret_count)
{
    bool found = false;
    *ret_count = 0;
    for (const char *at = choices; *ret_count < 8;) {
        size_t n = strcspn(at, "|");
        spans[(*ret_count)++] = vq_span(at, n);
        found = found || (strlen(word) == n && memcmp(word, at, n) == 0);
        if (at[n] == '\0') {
            break;
        }
        at += n + 1;
    }
    return found;
}

static enum vq_status check_choice(struct walk *walk, const struct vq_key *key,
                                   struct vq_node *node)
{
    struct vq_span spans[8];
    uint32_t count;
    if (one_of(key->choices, node->text, spans, &count)) {
        node->plain = key->kind == VQ_KEY_KIND_ENUM;
        return VQ_OK;
    }
    struct vq_span s = shown(key, node);
    uint32_t near = vq_nearest_name(vq_span_str(node->text), spans, count);
    return wrong(walk, node, "must be one of %s, not \"%.*s\"%s%.*s%s", key->choices, (int)s.bytes,
                 s.at, near == VQ_INTERN_NONE ? "" : "; did you mean ",
                 near == VQ_INTERN_NONE ? 0 : (int)spans[near].bytes,
                 near == VQ_INTERN_NONE ? "" : spans[near].at, near == VQ_INTERN_NONE ? "" : "?");
}

static enum vq_status check_scalar(struct walk *walk, const struct vq_key *key,
                                   struct vq_node *node)
{
    if (node->kind != VQ_NODE_SCALAR) {
        return wrong(walk, node, "must be a single value, not a %s",
                     node->kind == VQ_NODE_LIST ? "list" : "map");
    }
    if (key->choices != NULL) {
        return check_choice(walk, key, node);
    }
    switch (key->kind) {
    case VQ_KEY_KIND_UINT: return check_uint(walk, key, node);
    case VQ_KEY_KIND_INT: return check_int(walk, key, node);
    case VQ_KEY_KIND_REAL: return check_real(walk, key, node);
    case VQ_KEY_KIND_BOOL: return check_bool(walk, key, node);
    case VQ_KEY_KIND_TEXT:
    case VQ_KEY_KIND_TEXTS:
    case VQ_KEY_KIND_ENUM:
    case VQ_KEY_KIND_SECTION:
    case VQ_KEY_KIND_SECTIONS: break;
    }
    node->plain = false;
    return VQ_OK;
}

static enum vq_status unknown_key(struct walk *walk, const struct vq_key *keys,
                                  const struct vq_node *node)
{
    struct vq_span names[64];
    uint32_t count = 0;
    struct vq_buf list;
    vq_buf_init(&list, VQ_ERROR_BYTES_MAX);
    for (const struct vq_key *key = keys; key->key != NULL && count < VQ_COUNT(names); key++) {
        names[count] = vq_span_str(key->key);
        vq_buf_printf(&list, "%s%s", count == 0 ? "" : ", ", key->key);
        count++;
    }
    struct vq_span s = vq_utf8_cut(vq_span_str(node->key), SHOWN_BYTES);
    uint32_t near = vq_nearest_name(vq_span_str(node->key), names, count);
    enum vq_status status = near == VQ_INTERN_NONE
                                ? wrong(walk, node, "unknown key \"%.*s\"; known here: %s",
                                        (int)s.bytes, s.at, list.at == NULL ? "" : list.at)
                                : wrong(walk, node, "unknown key \"%.*s\"; did you mean \"%.*s\"?",
                                        (int)s.bytes, s.at, (int)names[near].bytes, names[near].at);
    vq_buf_free(&list);
    return status;
}

static enum vq_status check_map(struct walk *walk, const struct vq_key *keys, struct vq_node *map);

/* Appends ".key" or "[index]" to the path and returns the length to cut back to. */
static size_t enter(struct walk *walk, const char *key, uint32_t index)
{
    size_t before = strlen(walk->path);
    char *to = walk->path + before;
    size_t room = sizeof(walk->path) - before;
    if (key != NULL) {
        (void)snprintf(to, room, "%s%s", before == 0 ? "" : ".", key);
    } else {
        (void)snprintf(to, room, "[%u]", index);
    }
    return before;
}

static enum vq_status check_list(struct walk *walk, const struct vq_key *key, struct vq_node *list)
{
    if (list->kind != VQ_NODE_LIST) {
        return wrong(walk, list, "must be a list");
    }
    if (list->items_count > key->items_max) {
        return wrong(walk, list, "has %u items; at most %u are allowed", list->items_count,
                     key->items_max);
    }
    for (uint32_t i = 0; i < list->items_count; i++) {
        size_t before = enter(walk, NULL, i);
        VQ_TRY(key->kind == VQ_KEY_KIND_TEXTS ? check_scalar(walk, key, list->items[i])
                                              : check_map(walk, key->keys, list->items[i]));
        walk->path[before] = '\0';
    }
    return VQ_OK;
}

static enum vq_status check_value(struct walk *walk, const struct vq_key *key, struct vq_node *node)
{
    switch (key->kind) {
    case VQ_KEY_KIND_SECTION: return check_map(walk, key->keys, node);
    case VQ_KEY_KIND_SECTIONS:
    case VQ_KEY_KIND_TEXTS: return check_list(walk, key, node);
    case VQ_KEY_KIND_TEXT:
    case VQ_KEY_KIND_UINT:
    case VQ_KEY_KIND_INT:
    case VQ_KEY_KIND_REAL:
    case VQ_KEY_KIND_BOOL:
    case VQ_KEY_KIND_ENUM: break;
    }
    return check_scalar(walk, key, node);
}

static enum vq_status check_map(struct walk *walk, const struct vq_key *keys, struct vq_node *map)
{
    if (map->kind != VQ_NODE_MAP) {
        return wrong(walk, map, "must be a map of keys, not a %s",
                     map->kind == VQ_NODE_LIST ? "list" : "single value");
    }
    for (uint32_t i = 0; i < map->items_count; i++) {
        const struct vq_key *key = vq_conf_find_key(keys, map->items[i]->key);
        if (key == NULL) {
            return unknown_key(walk, keys, map->items[i]);
        }
        size_t before = enter(walk, key->key, 0);
        VQ_TRY(check_value(walk, key, map->items[i]));
        walk->path[before] = '\0';
    }
    for (const struct vq_key *key = keys; key->key != NULL; key++) {
        if (vq_node_get(map, key->key) != NULL) {
            continue;
        }
        if (key->by_default != NULL) {
            VQ_TRY(vq_node_add_text(map, key->key, key->by_default, key->kind != VQ_KEY_KIND_TEXT));
        } else if (key->kind == VQ_KEY_KIND_SECTION && !key->optional) {
            struct vq_node *section;
            VQ_TRY(section_of(map, key->key, &section));
            VQ_TRY(check_map(walk, key->keys, section));
        }
    }
    return VQ_OK;
}

enum vq_status vq_conf_resolve(struct vq_node *root, const char *name, const char *const *overrides,
                               size_t overrides_count, struct vq_error *err)
{
    struct walk walk = {.name = name, .err = err};
    VQ_TRY(vq_conf_expand_shorthand(root, name, err));
    for (size_t i = 0; i < overrides_count; i++) {
        VQ_TRY(vq_conf_override(root, overrides[i], err));
        VQ_TRY(vq_conf_expand_shorthand(root, name, err));
    }
    drop_nulls(root);
    if (root->kind == VQ_NODE_MAP) {
        VQ_TRY(add_dependent_defaults(root));
    }
    return check_map(&walk, vq_conf_keys(), root);
}
