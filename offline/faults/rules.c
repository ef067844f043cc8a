/* Rules of faults: parsing and matching. A rule is a flat JSON object, or a list on the command
 * line; its fields are one table. Invariant: draws depend only on seed, rule, body and try, never
 * on the order of arrival. Not its job: carrying out a fault (answer.c, wire.c). */
#include "offline/faults/rules.h"

#include "common/base/alloc.h"
#include "common/text/file.h"
#include "common/text/json_load.h"
#include "offline/faults/pools.h"
#include "offline/faults/settings.h"

#include <jansson.h>
#include <stdio.h>

#define RULES_MAX      1024
#define LINE_BYTES_MAX 65536
#define FILE_BYTES_MAX (64u << 20)
#define COUNT_MAX      1e15

static const struct vq_fault_info infos[VQ_FAULT__COUNT] = {
    [VQ_FAULT_NONE] = {"none", VQ_FAULT_STAGE_NONE, 200, true, "", "", ""},
#define FAULT(id, name, stage, status, paid, type, code, text)                                     \
    [VQ_FAULT_##id] = {name, VQ_FAULT_STAGE_##stage, status, paid, type, code, text},
#include "offline/faults/fault.def"
#undef FAULT
};

const struct vq_fault_info *vq_fault_info(enum vq_fault fault)
{
    return &infos[fault];
}

enum vq_status vq_fault_find(const char *name, enum vq_fault *ret_fault)
{
    for (size_t i = 1; i < VQ_FAULT__COUNT; i++) {
        if (strcmp(infos[i].name, name) == 0) {
            *ret_fault = (enum vq_fault)i;
            return VQ_OK;
        }
    }
    return VQ_NOT_FOUND;
}

#define AT(member) offsetof(struct vq_fault_rule, member)
static const struct vq_setting settings[] = {
    {"model", VQ_SETTING_TEXT, AT(model), VQ_FAULT_TEXT_BYTES},
    {"pool", VQ_SETTING_TEXT, AT(pool), VQ_FAULT_TEXT_BYTES},
    {"key", VQ_SETTING_TEXT, AT(key), VQ_FAULT_TEXT_BYTES},
    {"contains", VQ_SETTING_TEXT, AT(contains), VQ_FAULT_TEXT_BYTES},
    {"batch_call", VQ_SETTING_TEXT, AT(batch_call), VQ_FAULT_TEXT_BYTES},
    {"retry_after", VQ_SETTING_TEXT, AT(retry_after), VQ_FAULT_TEXT_BYTES},
    {"variant", VQ_SETTING_TEXT, AT(variant), VQ_FAULT_TEXT_BYTES},
    {"nth", VQ_SETTING_COUNT, AT(nth), COUNT_MAX},
    {"from", VQ_SETTING_COUNT, AT(from), COUNT_MAX},
    {"to", VQ_SETTING_COUNT, AT(to), COUNT_MAX},
    {"every", VQ_SETTING_COUNT, AT(every), COUNT_MAX},
    {"tries", VQ_SETTING_COUNT, AT(tries), COUNT_MAX},
    {"count", VQ_SETTING_COUNT, AT(count), COUNT_MAX},
    {"bytes", VQ_SETTING_COUNT, AT(bytes), COUNT_MAX},
    {"after_ms", VQ_SETTING_COUNT, AT(after_ms), COUNT_MAX},
    {"until_ms", VQ_SETTING_COUNT, AT(until_ms), COUNT_MAX},
    {"interval_ms", VQ_SETTING_COUNT, AT(interval_ms), COUNT_MAX},
    {"delay_ms", VQ_SETTING_COUNT, AT(delay_ms), COUNT_MAX},
    {"p", VQ_SETTING_REAL, AT(p), 1},
    {"sticky", VQ_SETTING_FLAG, AT(sticky), 0},
    {0},
};
#undef AT

void vq_fault_rules_free(struct vq_fault_rules *rules)
{
    vq_free(rules->rules);
    *rules = (struct vq_fault_rules){.seed = rules->seed};
}

static enum vq_status begin_rule(const char *name, struct vq_fault_rule *ret_rule,
                                 struct vq_error *err)
{
    *ret_rule = (struct vq_fault_rule){.p = 1};
    return vq_fault_find(name, &ret_rule->fault) == VQ_OK
               ? VQ_OK
               : vq_fail(err, VQ_INVALID,
                         "\"%s\" is not a fault; `vibeq-offline --help` lists them", name);
}

static enum vq_status read_rule(json_t *object, struct vq_fault_rule *ret_rule,
                                struct vq_error *err)
{
    const char *key = NULL;
    json_t *value = NULL;
    const char *name = json_string_value(json_object_get(object, "fault"));
    VQ_TRY(begin_rule(name == NULL ? "" : name, ret_rule, err));
    json_object_foreach(object, key, value)
    {
        char number[32];
        const char *text = json_string_value(value);
        if (json_is_number(value)) {
            (void)snprintf(number, sizeof(number), "%.17g", json_number_value(value));
            text = number;
        } else if (json_is_boolean(value)) {
            text = json_is_true(value) ? "true" : "false";
        }
        if (text == NULL) {
            return vq_fail(err, VQ_INVALID, "field %s must be a text, a number, true or false",
                           key);
        }
        if (strcmp(key, "fault") != 0) {
            VQ_TRY(vq_setting_read(settings, ret_rule, key, text, err));
        }
    }
    return VQ_OK;
}

static enum vq_status add_rule(struct vq_fault_rules *rules, struct vq_fault_rule *rule,
                               struct vq_error *err)
{
    if (strchr(rule->key, ':') != NULL) {
        char print[VQ_FINGERPRINT_HEX];
        VQ_TRY(vq_pool_key_of(rule->key, print, err));
        memcpy(rule->key, print, sizeof(print));
    }
    enum vq_status status = VQ_GROW(rules->rules, &rules->cap, rules->n + 1, RULES_MAX);
    if (status != VQ_OK) {
        return vq_fail(err, status, "no room for more rules (at most %d)", RULES_MAX);
    }
    rules->rules[rules->n++] = *rule;
    return VQ_OK;
}

enum vq_status vq_fault_rules_add_line(struct vq_fault_rules *rules, struct vq_span line,
                                       struct vq_error *err)
{
    json_error_t why;
    json_t *object = NULL;
    enum vq_status status = vq_json_load(line, JSON_REJECT_DUPLICATES, &object, &why);
    if (status == VQ_NOMEM) {
        return status;
    }
    if (object == NULL || !json_is_object(object)) {
        json_decref(object);
        return vq_fail(err, VQ_INVALID, "not a JSON object: %s",
                       object == NULL ? why.text : "another kind of value");
    }
    struct vq_fault_rule rule;
    status = read_rule(object, &rule, err);
    json_decref(object);
    return status == VQ_OK ? add_rule(rules, &rule, err) : status;
}

static enum vq_status take_line(void *ctx, struct vq_span line, struct vq_error *err)
{
    return line.bytes > LINE_BYTES_MAX
               ? vq_fail(err, VQ_LIMIT, "longer than %d bytes", LINE_BYTES_MAX)
               : vq_fault_rules_add_line(ctx, line, err);
}

enum vq_status vq_fault_rules_load(struct vq_fault_rules *rules, const char *path,
                                   struct vq_error *err)
{
    return vq_file_lines(path, FILE_BYTES_MAX, take_line, rules, err);
}

/* Reads "NAME=CHANCE[,FIELD=VALUE..]"; the text is changed (cut into pieces). */
static enum vq_status read_option(char *text, struct vq_fault_rule *ret_rule, struct vq_error *err)
{
    char *chance = strchr(text, '=');
    if (chance == NULL) {
        return vq_fail(err, VQ_INVALID, "write --fault NAME=CHANCE, for example --fault reset=0.1");
    }
    *chance++ = '\0';
    char *pairs = strchr(chance, ',');
    if (pairs != NULL) {
        *pairs++ = '\0';
    }
    VQ_TRY(begin_rule(text, ret_rule, err));
    VQ_TRY(vq_setting_read(settings, ret_rule, "p", chance, err));
    return pairs == NULL ? VQ_OK : vq_settings_read(settings, ret_rule, pairs, err);
}

enum vq_status vq_fault_rules_add(struct vq_fault_rules *rules, const char *option,
                                  struct vq_error *err)
{
    char *copy;
    VQ_TRY(vq_copy(option, &copy));
    struct vq_fault_rule rule;
    enum vq_status status = read_option(copy, &rule, err);
    vq_free(copy);
    if (status == VQ_OK) {
        status = add_rule(rules, &rule, err);
    }
    if (status != VQ_OK) {
        vq_error_prefix(err, "--fault %s", option);
    }
    return status;
}

double vq_fault_draw(uint64_t seed, const char *purpose, uint64_t a, const struct vq_hash *hash,
                     uint64_t b)
{
    struct vq_hasher h;
    struct vq_hash drawn;
    vq_hasher_init(&h, purpose);
    vq_hasher_u64(&h, seed);
    vq_hasher_u64(&h, a);
    vq_hasher_bytes(&h, hash->b, sizeof(hash->b));
    vq_hasher_u64(&h, b);
    vq_hasher_final(&h, &drawn);
    return (double)(vq_hash_u64(&drawn) >> 11) / 9007199254740992.0;
}

static bool looks_at(const struct vq_fault_rule *rule, const struct vq_fault_query *query)
{
    bool is_of_batches = rule->batch_call[0] != '\0';
    if (is_of_batches != (query->batch_call != NULL) ||
        (is_of_batches && strstr(query->batch_call, rule->batch_call) == NULL)) {
        return false;
    }
    if (rule->model[0] != '\0' && strcmp(rule->model, query->model) != 0) {
        return false;
    }
    if (rule->pool[0] != '\0' && strcmp(rule->pool, query->pool) != 0) {
        return false;
    }
    if (rule->key[0] != '\0' && strcmp(rule->key, query->key_hex) != 0) {
        return false;
    }
    if (query->since_start_ms < rule->after_ms ||
        (rule->until_ms > 0 && query->since_start_ms >= rule->until_ms)) {
        return false;
    }
    if ((rule->fault == VQ_FAULT_NO_FLEX || rule->fault == VQ_FAULT_CAPACITY) && !query->flex) {
        return false;
    }
    size_t bytes = strlen(rule->contains);
    return bytes == 0 || memmem(query->body.at, query->body.bytes, rule->contains, bytes) != NULL;
}

static bool fires(const struct vq_fault_rules *rules, size_t i, const struct vq_fault_query *query)
{
    const struct vq_fault_rule *rule = &rules->rules[i];
    bool counts = (rule->nth == 0 || rule->seen == rule->nth) && rule->seen >= rule->from &&
                  (rule->to == 0 || rule->seen <= rule->to) &&
                  (rule->every == 0 || rule->seen % rule->every == 0) &&
                  (rule->count == 0 || rule->fired < rule->count) &&
                  (rule->tries == 0 || query->nth_try <= rule->tries);
    if (!counts || rule->p >= 1) {
        return counts;
    }
    uint64_t nth_try = rule->sticky ? 0 : query->nth_try;
    return vq_fault_draw(rules->seed, "offline-fault", i, query->hash, nth_try) < rule->p;
}

const struct vq_fault_rule *vq_fault_rules_match(struct vq_fault_rules *rules,
                                                 const struct vq_fault_query *query)
{
    for (size_t i = 0; i < rules->n; i++) {
        struct vq_fault_rule *rule = &rules->rules[i];
        if (!looks_at(rule, query)) {
            continue;
        }
        rule->seen++;
        if (fires(rules, i, query)) {
            rule->fired++;
            return rule;
        }
    }
    return NULL;
}
