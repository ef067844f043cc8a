/* Rules of batches: one table of fields is the parser. Not its job: what a rule does (course.c,
 * result.c). */
#include "offline/batch/rules.h"

#include "common/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPIRES_MS  (INT64_C(24) * 3600 * 1000)
#define TIME_MS_MAX (INT64_C(7) * 24 * 3600 * 1000)

enum field_type {
    FIELD_DURATION,
    FIELD_TIME,
    FIELD_COUNT,
    FIELD_CHANCE,
    FIELD_FLAG
};

static const struct {
    const char *name;
    enum field_type type;
    size_t offset;
} fields[] = {
    {"duration", FIELD_DURATION, offsetof(struct vq_offline_batch_rules, duration)},
    {"validate_ms", FIELD_TIME, offsetof(struct vq_offline_batch_rules, validate_ms)},
    {"finalize_ms", FIELD_TIME, offsetof(struct vq_offline_batch_rules, finalize_ms)},
    {"cancel_ms", FIELD_TIME, offsetof(struct vq_offline_batch_rules, cancel_ms)},
    {"expires_ms", FIELD_TIME, offsetof(struct vq_offline_batch_rules, expires_ms)},
    {"hide_ms", FIELD_TIME, offsetof(struct vq_offline_batch_rules, hide_ms)},
    {"expire_after", FIELD_COUNT, offsetof(struct vq_offline_batch_rules, expire_after)},
    {"tokens", FIELD_COUNT, offsetof(struct vq_offline_batch_rules, tokens)},
    {"max_requests", FIELD_COUNT, offsetof(struct vq_offline_batch_rules, requests_max)},
    {"max_bytes", FIELD_COUNT, offsetof(struct vq_offline_batch_rules, bytes_max)},
    {"never", FIELD_CHANCE, offsetof(struct vq_offline_batch_rules, never)},
    {"errored", FIELD_CHANCE, offsetof(struct vq_offline_batch_rules, errored)},
    {"expired", FIELD_CHANCE, offsetof(struct vq_offline_batch_rules, expired)},
    {"damaged", FIELD_CHANCE, offsetof(struct vq_offline_batch_rules, damaged)},
    {"duplicate", FIELD_CHANCE, offsetof(struct vq_offline_batch_rules, duplicate)},
    {"foreign", FIELD_CHANCE, offsetof(struct vq_offline_batch_rules, foreign)},
    {"missing", FIELD_CHANCE, offsetof(struct vq_offline_batch_rules, missing)},
    {"torn", FIELD_CHANCE, offsetof(struct vq_offline_batch_rules, torn)},
    {"reorder", FIELD_FLAG, offsetof(struct vq_offline_batch_rules, reorder)},
};

static const struct vq_offline_batch_rules plain = {.expires_ms = EXPIRES_MS};

static enum vq_status set_number(struct vq_offline_batch_rules *rules, size_t i, const char *value,
                                 struct vq_error *err)
{
    char *end = NULL;
    bool is_chance = fields[i].type == FIELD_CHANCE;
    double max = is_chance ? 1 : fields[i].type == FIELD_TIME ? (double)TIME_MS_MAX : 1e15;
    double number = strtod(value, &end);
    if (end == value || *end != '\0' || !(number >= 0 && number <= max)) {
        return vq_fail(err, VQ_INVALID, "%s=%s: want a number from 0 to %.0f", fields[i].name,
                       value, max);
    }
    void *at = (char *)rules + fields[i].offset;
    if (is_chance) {
        *(double *)at = number;
    } else if (fields[i].type == FIELD_TIME) {
        *(int64_t *)at = (int64_t)number;
    } else {
        *(uint64_t *)at = (uint64_t)number;
    }
    return VQ_OK;
}

static enum vq_status set_field(struct vq_offline_batch_rules *rules, const char *name,
                                const char *value, struct vq_error *err)
{
    for (size_t i = 0; i < VQ_COUNT(fields); i++) {
        if (strcmp(fields[i].name, name) != 0) {
            continue;
        }
        if (fields[i].type == FIELD_DURATION) {
            return vq_latency_parse(value, &rules->duration, err);
        }
        if (fields[i].type == FIELD_FLAG) {
            bool on = strcmp(value, "on") == 0 || strcmp(value, "1") == 0;
            *(bool *)((char *)rules + fields[i].offset) = on;
            return on || strcmp(value, "off") == 0 || strcmp(value, "0") == 0
                       ? VQ_OK
                       : vq_fail(err, VQ_INVALID, "%s=%s: want on or off", name, value);
        }
        return set_number(rules, i, value, err);
    }
    return vq_fail(err, VQ_INVALID, "\"%s\" is no field of batches; docs/use/offline.md lists them",
                   name);
}

static enum vq_status set_pairs(struct vq_offline_batch_rules *rules, char *pairs,
                                struct vq_error *err)
{
    char *rest = NULL;
    for (char *pair = strtok_r(pairs, ",", &rest); pair != NULL;
         pair = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(pair, '=');
        if (equals == NULL) {
            return vq_fail(err, VQ_INVALID, "\"%s\" is not FIELD=VALUE", pair);
        }
        *equals = '\0';
        VQ_TRY(set_field(rules, pair, equals + 1, err));
    }
    return VQ_OK;
}

/* The row of a model, new if there is none; NULL without room. */
static struct vq_offline_batch_rules *row_of(struct vq_offline_batch_rules_set *set,
                                             const char *model)
{
    for (size_t i = 0; i < set->n; i++) {
        if (strcmp(set->rows[i].model, model) == 0) {
            return &set->rows[i];
        }
    }
    if (set->n == VQ_BATCH_RULES_MAX) {
        return NULL;
    }
    struct vq_offline_batch_rules *row = &set->rows[set->n++];
    *row = plain;
    (void)snprintf(row->model, sizeof(row->model), "%s", model);
    return row;
}

enum vq_status vq_offline_batch_rules_add(struct vq_offline_batch_rules_set *set, const char *text,
                                          struct vq_error *err)
{
    char *copy = vq_strdup(text);
    if (copy == NULL) {
        return VQ_NOMEM;
    }
    enum vq_status status = VQ_OK;
    char *pairs = copy;
    const char *model = "";
    char *colon = strchr(copy, ':');
    if (colon != NULL && memchr(copy, '=', (size_t)(colon - copy)) == NULL) {
        *colon = '\0';
        model = copy;
        pairs = colon + 1;
    }
    struct vq_offline_batch_rules *row =
        strlen(model) < VQ_BATCH_MODEL_BYTES ? row_of(set, model) : NULL;
    if (row == NULL) {
        status = vq_fail(err, VQ_LIMIT, "at most %d models, with names of under %d bytes",
                         VQ_BATCH_RULES_MAX, VQ_BATCH_MODEL_BYTES);
    } else {
        status = set_pairs(row, pairs, err);
    }
    if (status != VQ_OK) {
        vq_error_prefix(err, "--batch %s", text);
    }
    vq_free(copy);
    return status;
}

const struct vq_offline_batch_rules *
vq_offline_batch_rules_find(const struct vq_offline_batch_rules_set *set, const char *model)
{
    const struct vq_offline_batch_rules *found = &plain;
    for (size_t i = 0; i < set->n; i++) {
        if (strcmp(set->rows[i].model, model) == 0) {
            return &set->rows[i];
        }
        if (set->rows[i].model[0] == '\0') {
            found = &set->rows[i];
        }
    }
    return found;
}
