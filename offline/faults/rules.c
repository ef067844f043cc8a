/* Rules of misbehaviour: parsing and matching. A rule is a flat JSON object whose fields are one
 * table (`fields`); the command line's form is turned into the same object. Invariant: chances
 * depend on seed, rule, body and try only, never on the order of arrival. Not its job: to carry a
 * fault out (answer.c, wire.c). */
#include "offline/faults/rules.h"

#include "common/base/alloc.h"
#include "common/text/file.h"
#include "common/text/json_load.h"
#include "common/text/utf8.h"
#include "offline/faults/pools.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define RULES_MAX      1024
#define LINE_BYTES_MAX 65536
#define FILE_BYTES_MAX (64u << 20)

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

enum field_type {
    FIELD_TEXT,
    FIELD_COUNT,
    FIELD_TIME,
    FIELD_CHANCE,
    FIELD_FLAG
};

static const struct {
    const char *name;
    enum field_type type;
    size_t offset;
} fields[] = {
    {"model", FIELD_TEXT, offsetof(struct vq_fault_rule, model)},
    {"pool", FIELD_TEXT, offsetof(struct vq_fault_rule, pool)},
    {"key", FIELD_TEXT, offsetof(struct vq_fault_rule, key)},
    {"contains", FIELD_TEXT, offsetof(struct vq_fault_rule, contains)},
    {"batch_call", FIELD_TEXT, offsetof(struct vq_fault_rule, batch_call)},
    {"retry_after", FIELD_TEXT, offsetof(struct vq_fault_rule, retry_after)},
    {"variant", FIELD_TEXT, offsetof(struct vq_fault_rule, variant)},
    {"nth", FIELD_COUNT, offsetof(struct vq_fault_rule, nth)},
    {"from", FIELD_COUNT, offsetof(struct vq_fault_rule, from)},
    {"to", FIELD_COUNT, offsetof(struct vq_fault_rule, to)},
    {"every", FIELD_COUNT, offsetof(struct vq_fault_rule, every)},
    {"tries", FIELD_COUNT, offsetof(struct vq_fault_rule, tries)},
    {"count", FIELD_COUNT, offsetof(struct vq_fault_rule, count)},
    {"bytes", FIELD_COUNT, offsetof(struct vq_fault_rule, bytes)},
    {"after_ms", FIELD_TIME, offsetof(struct vq_fault_rule, after_ms)},
    {"until_ms", FIELD_TIME, offsetof(struct vq_fault_rule, until_ms)},
    {"interval_ms", FIELD_TIME, offsetof(struct vq_fault_rule, interval_ms)},
    {"delay_ms", FIELD_TIME, offsetof(struct vq_fault_rule, delay_ms)},
    {"p", FIELD_CHANCE, offsetof(struct vq_fault_rule, p)},
    {"sticky", FIELD_FLAG, offsetof(struct vq_fault_rule, sticky)},
};

void vq_fault_rules_free(struct vq_fault_rules *rules)
{
    vq_free(rules->rules);
    *rules = (struct vq_fault_rules){.seed = rules->seed};
}

/* Numbers may come as text too: the command line knows no types. */
static bool number_of(const json_t *value, double *ret_number)
{
    if (json_is_number(value)) {
        *ret_number = json_number_value(value);
        return true;
    }
    if (!json_is_string(value) || json_string_length(value) == 0) {
        return false;
    }
    char *end = NULL;
    double number = strtod(json_string_value(value), &end);
    *ret_number = number;
    return *end == '\0';
}

static bool flag_of(const json_t *value, bool *ret_flag)
{
    const char *text = json_string_value(value);
    bool yes = json_is_true(value) || (text != NULL && strcmp(text, "true") == 0);
    bool no = json_is_false(value) || (text != NULL && strcmp(text, "false") == 0);
    *ret_flag = yes;
    return yes || no;
}

static enum vq_status set_text(char *to, const char *name, const json_t *value,
                               struct vq_error *err)
{
    char text[VQ_FAULT_TEXT_BYTES] = "";
    if (json_is_string(value)) {
        if (json_string_length(value) >= VQ_FAULT_TEXT_BYTES) {
            return vq_fail(err, VQ_LIMIT, "field %s is longer than %d bytes", name,
                           VQ_FAULT_TEXT_BYTES - 1);
        }
        (void)snprintf(text, sizeof(text), "%s", json_string_value(value));
    } else if (json_is_number(value)) {
        (void)snprintf(text, sizeof(text), "%.17g", json_number_value(value));
    } else {
        return vq_fail(err, VQ_INVALID, "field %s must be a text", name);
    }
    memcpy(to, text, sizeof(text));
    return VQ_OK;
}

static enum vq_status set_field(struct vq_fault_rule *rule, size_t i, const json_t *value,
                                struct vq_error *err)
{
    char *to = (char *)rule + fields[i].offset;
    double number = 0;
    switch (fields[i].type) {
    case FIELD_TEXT: return set_text(to, fields[i].name, value, err);
    case FIELD_FLAG: {
        bool flag = false;
        if (!flag_of(value, &flag)) {
            return vq_fail(err, VQ_INVALID, "field %s must be true or false", fields[i].name);
        }
        memcpy(to, &flag, sizeof(flag));
        return VQ_OK;
    }
    case FIELD_CHANCE:
        if (!number_of(value, &number) || !(number >= 0 && number <= 1)) {
            return vq_fail(err, VQ_INVALID, "field %s must be a chance from 0 to 1",
                           fields[i].name);
        }
        memcpy(to, &number, sizeof(number));
        return VQ_OK;
    case FIELD_COUNT:
    case FIELD_TIME: break;
    }
    if (!number_of(value, &number) || !(number >= 0 && number <= 1e15)) {
        return vq_fail(err, VQ_INVALID, "field %s must be a number from 0 to 1e15", fields[i].name);
    }
    int64_t whole = (int64_t)number;
    memcpy(to, &whole, sizeof(whole)); /* counts and times are 64 bits alike */
    return VQ_OK;
}

static enum vq_status read_rule(const json_t *object, struct vq_fault_rule *ret_rule,
                                struct vq_error *err)
{
    struct vq_fault_rule rule = {.p = 1};
    const char *key = NULL;
    json_t *value = NULL;
    const char *name = json_string_value(json_object_get(object, "fault"));
    if (name == NULL || vq_fault_find(name, &rule.fault) != VQ_OK) {
        return vq_fail(err, VQ_INVALID, "\"%s\" is not a fault; `vibeq-offline --help` lists them",
                       name == NULL ? "" : name);
    }
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        size_t i = 0;
        while (i < VQ_COUNT(fields) && strcmp(fields[i].name, key) != 0) {
            i++;
        }
        if (i < VQ_COUNT(fields)) {
            VQ_TRY(set_field(&rule, i, value, err));
        } else if (strcmp(key, "fault") != 0) {
            return vq_fail(err, VQ_INVALID,
                           "unknown field \"%s\"; docs/use/offline.md lists the fields", key);
        }
    }
    if (strchr(rule.key, ':') != NULL) {
        char print[VQ_FINGERPRINT_HEX];
        VQ_TRY(vq_pool_key_of(rule.key, print, err));
        memcpy(rule.key, print, sizeof(print));
    }
    *ret_rule = rule;
    return VQ_OK;
}

static enum vq_status add_object(struct vq_fault_rules *rules, const json_t *object,
                                 struct vq_error *err)
{
    struct vq_fault_rule rule;
    VQ_TRY(read_rule(object, &rule, err));
    void *array = rules->rules;
    enum vq_status status =
        vq_grow(&array, &rules->cap, rules->n + 1, sizeof(*rules->rules), RULES_MAX);
    if (status != VQ_OK) {
        return vq_fail(err, status, "no room for more rules (at most %d)", RULES_MAX);
    }
    rules->rules = array;
    rules->rules[rules->n++] = rule;
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
    status = add_object(rules, object, err);
    json_decref(object);
    return status;
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

static enum vq_status add_pairs(json_t *object, char *pairs, struct vq_error *err)
{
    char *rest = NULL;
    for (char *pair = strtok_r(pairs, ",", &rest); pair != NULL;
         pair = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(pair, '=');
        if (equals == NULL) {
            return vq_fail(err, VQ_INVALID, "\"%s\" is not field=value", pair);
        }
        *equals = '\0';
        if (json_object_set_new(object, pair, json_string(equals + 1)) != 0) {
            return VQ_NOMEM;
        }
    }
    return VQ_OK;
}

enum vq_status vq_fault_rules_add(struct vq_fault_rules *rules, const char *option,
                                  struct vq_error *err)
{
    char *copy = vq_strdup(option);
    json_t *object = json_object();
    enum vq_status status = VQ_OK;
    if (copy == NULL || object == NULL) {
        status = VQ_NOMEM;
        goto out;
    }
    struct vq_span whole = vq_span_str(option);
    if (vq_utf8_valid_bytes(whole) != whole.bytes) {
        status = vq_fail(err, VQ_INVALID, "not text in UTF-8");
        goto out;
    }
    char *equals = strchr(copy, '=');
    if (equals == NULL) {
        status =
            vq_fail(err, VQ_INVALID, "write --fault NAME=CHANCE, for example --fault reset=0.1");
        goto out;
    }
    *equals = '\0';
    char *comma = strchr(equals + 1, ',');
    if (comma != NULL) {
        *comma = '\0';
    }
    if (json_object_set_new(object, "fault", json_string(copy)) != 0 ||
        json_object_set_new(object, "p", json_string(equals + 1)) != 0) {
        status = VQ_NOMEM;
        goto out;
    }
    if (comma != NULL) {
        status = add_pairs(object, comma + 1, err);
    }
    if (status == VQ_OK) {
        status = add_object(rules, object, err);
    }
out:
    if (status != VQ_OK) {
        vq_error_prefix(err, "--fault %s", option);
    }
    json_decref(object);
    vq_free(copy);
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
