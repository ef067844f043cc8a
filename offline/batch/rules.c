/* Rules of batches: one table of fields is the parser. Not its job: the effect of a rule (course.c,
 * results.c). */
#include "offline/batch/rules.h"

#include "common/base/alloc.h"
#include "offline/faults/settings.h"

#include <stdio.h>
#include <string.h>

#define EXPIRES_MS  (INT64_C(24) * 3600 * 1000)
#define TIME_MS_MAX (7.0 * 24 * 3600 * 1000)
#define COUNT_MAX   1e15

#define AT(member) offsetof(struct vq_offline_batch_rules, member)
static const struct vq_setting settings[] = {
    {"duration", VQ_SETTING_LATENCY, AT(duration), 0},
    {"validate_ms", VQ_SETTING_COUNT, AT(validate_ms), TIME_MS_MAX},
    {"finalize_ms", VQ_SETTING_COUNT, AT(finalize_ms), TIME_MS_MAX},
    {"cancel_ms", VQ_SETTING_COUNT, AT(cancel_ms), TIME_MS_MAX},
    {"expires_ms", VQ_SETTING_COUNT, AT(expires_ms), TIME_MS_MAX},
    {"hide_ms", VQ_SETTING_COUNT, AT(hide_ms), TIME_MS_MAX},
    {"expire_after", VQ_SETTING_COUNT, AT(expire_after), COUNT_MAX},
    {"tokens", VQ_SETTING_COUNT, AT(tokens), COUNT_MAX},
    {"max_requests", VQ_SETTING_COUNT, AT(requests_max), COUNT_MAX},
    {"max_bytes", VQ_SETTING_COUNT, AT(bytes_max), COUNT_MAX},
    {"never", VQ_SETTING_REAL, AT(never), 1},
    {"errored", VQ_SETTING_REAL, AT(errored), 1},
    {"expired", VQ_SETTING_REAL, AT(expired), 1},
    {"damaged", VQ_SETTING_REAL, AT(damaged), 1},
    {"duplicate", VQ_SETTING_REAL, AT(duplicate), 1},
    {"foreign", VQ_SETTING_REAL, AT(foreign), 1},
    {"missing", VQ_SETTING_REAL, AT(missing), 1},
    {"torn", VQ_SETTING_REAL, AT(torn), 1},
    {"reorder", VQ_SETTING_FLAG, AT(reorder), 0},
    {0},
};
#undef AT

static const struct vq_offline_batch_rules plain = {.expires_ms = EXPIRES_MS};

/* The row of a model, a new one if there is none; NULL: no room. */
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
        status = vq_settings_read(settings, row, pairs, err);
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
