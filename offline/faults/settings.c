/* One reader of values for all tables. A number is read as a double: every limit is below 2^53. */
#include "offline/faults/settings.h"

#include "offline/faults/latency.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum vq_status read_flag(bool *to, const char *name, const char *value, struct vq_error *err)
{
    static const char *const words[][2] = {{"on", "off"}, {"true", "false"}, {"1", "0"}};
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        *to = strcmp(value, words[i][0]) == 0;
        if (*to || strcmp(value, words[i][1]) == 0) {
            return VQ_OK;
        }
    }
    return vq_fail(err, VQ_INVALID, "field %s: want on or off, not \"%.40s\"", name, value);
}

static enum vq_status read_number(const struct vq_setting *s, void *to, const char *value,
                                  struct vq_error *err)
{
    static const double scales[] = {[VQ_SETTING_COUNT] = 1,
                                    [VQ_SETTING_NS] = 1e6,
                                    [VQ_SETTING_USD] = 1e9,
                                    [VQ_SETTING_PRICE] = 1e3};
    bool is_whole = s->kind == VQ_SETTING_COUNT || s->kind == VQ_SETTING_NS;
    double least = s->kind == VQ_SETTING_NS ? 1 : 0;
    char *end = NULL;
    double number = strtod(value, &end);
    if (end == value || *end != '\0' || !(number >= least && number <= s->most) ||
        (is_whole && floor(number) != number)) {
        return vq_fail(err, VQ_INVALID,
                       "field %s: want a %snumber from %.0f to %.0f, not \"%.40s\"", s->name,
                       is_whole ? "whole " : "", least, s->most, value);
    }
    if (s->kind == VQ_SETTING_REAL) {
        memcpy(to, &number, sizeof(number));
    } else {
        int64_t scaled = llround(number * scales[s->kind]);
        memcpy(to, &scaled, sizeof(scaled)); /* counts and times both have 64 bits */
    }
    return VQ_OK;
}

enum vq_status vq_setting_read(const struct vq_setting *table, void *to, const char *name,
                               const char *value, struct vq_error *err)
{
    const struct vq_setting *s = table;
    while (s->name != NULL && strcmp(s->name, name) != 0) {
        s++;
    }
    if (s->name == NULL) {
        return vq_fail(err, VQ_INVALID,
                       "unknown field \"%s\"; docs/use/offline.md lists the fields", name);
    }
    void *at = (char *)to + s->offset;
    if (s->kind == VQ_SETTING_FLAG) {
        return read_flag(at, name, value, err);
    }
    if (s->kind == VQ_SETTING_LATENCY) {
        return vq_latency_parse(value, at, err);
    }
    if (s->kind != VQ_SETTING_TEXT) {
        return read_number(s, at, value, err);
    }
    if (strlen(value) >= (size_t)s->most) {
        return vq_fail(err, VQ_LIMIT, "field %s has %.0f bytes or more", name, s->most);
    }
    (void)snprintf(at, (size_t)s->most, "%s", value);
    return VQ_OK;
}

enum vq_status vq_settings_read(const struct vq_setting *table, void *to, char *pairs,
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
        VQ_TRY(vq_setting_read(table, to, pair, equals + 1, err));
    }
    return VQ_OK;
}
