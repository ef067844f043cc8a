/* The list of settings in force. Invariant: at most one setting about one thing: the pause, the
 * budget, and for each pool whether it is parked and each of its limits. `concurrency N` is about
 * all pools, so it replaces the settings of single pools. */
#include "coordinator/run/ctl_settings.h"

#include "common/base/alloc.h"
#include "common/text/json.h"
#include "common/text/json_load.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 5u

/* ---- the list ---- */

static void setting_free(struct vq_ctl_setting *command)
{
    for (uint32_t i = 0; i < command->words_count; i++) {
        vq_free(command->words[i]);
    }
}

void vq_ctl_settings_remove(struct vq_ctl_settings *settings, size_t index)
{
    setting_free(&settings->list[index]);
    memmove(settings->list + index, settings->list + index + 1,
            (settings->count - index - 1) * sizeof(*settings->list));
    settings->count--;
}

void vq_ctl_settings_free(struct vq_ctl_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++) {
        setting_free(&settings->list[i]);
    }
    vq_free(settings->list);
    *settings = (struct vq_ctl_settings){.count = 0};
}

/* Whether its first `n` words are these. */
static bool begins(const struct vq_ctl_setting *command, const char *const *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i >= command->words_count || strcmp(command->words[i], words[i]) != 0) {
            return false;
        }
    }
    return true;
}

static void forget(struct vq_ctl_settings *settings, const char *const *words, uint32_t n)
{
    for (size_t i = settings->count; i > 0; i--) {
        if (begins(&settings->list[i - 1], words, n)) {
            vq_ctl_settings_remove(settings, i - 1);
        }
    }
}

static enum vq_status append(struct vq_ctl_settings *settings, const char *const *words, uint32_t n,
                             int64_t unix_ms)
{
    VQ_TRY(VQ_GROW(settings->list, &settings->cap, settings->count + 1, VQ_CTL_SETTINGS_MAX));
    struct vq_ctl_setting command = {.at_unix_ms = unix_ms};
    for (uint32_t i = 0; i < n; i++) {
        command.words[i] = vq_strdup(words[i]);
        if (command.words[i] == NULL) {
            setting_free(&command);
            return VQ_NOMEM;
        }
        command.words_count++;
    }
    settings->list[settings->count++] = command;
    return VQ_OK;
}

/* Replaces the setting that begins with the same `of` words. */
static enum vq_status replace(struct vq_ctl_settings *settings, const char *const *words,
                              uint32_t of, uint32_t n, int64_t unix_ms)
{
    forget(settings, words, of);
    return append(settings, words, n, unix_ms);
}

static enum vq_status add_pool(struct vq_ctl_settings *settings, const struct vq_ctl_asked *asked,
                               int64_t unix_ms)
{
    for (size_t i = 1; i < VQ_CTL_ARGS_MAX && asked->command->args[i].name != NULL; i++) {
        if (asked->values[i] != NULL) {
            char option[32];
            (void)snprintf(option, sizeof(option), "--%s", asked->command->args[i].name);
            const char *const words[] = {"pool", asked->values[0], option, asked->values[i]};
            VQ_TRY(replace(settings, words, 3, 4, unix_ms));
        }
    }
    return VQ_OK;
}

static enum vq_status add_concurrency(struct vq_ctl_settings *settings,
                                      const struct vq_ctl_asked *asked, int64_t unix_ms)
{
    if (asked->values[1] != NULL) {
        const char *const words[] = {"pool", asked->values[1], "--concurrency", asked->values[0]};
        return replace(settings, words, 3, 4, unix_ms);
    }
    for (size_t i = settings->count; i > 0; i--) {
        const struct vq_ctl_setting *c = &settings->list[i - 1];
        if (c->words_count == 4 && strcmp(c->words[2], "--concurrency") == 0) {
            vq_ctl_settings_remove(settings, i - 1);
        }
    }
    const char *const words[] = {"concurrency", asked->values[0]};
    return replace(settings, words, 1, 2, unix_ms);
}

enum vq_status vq_ctl_settings_add(struct vq_ctl_settings *settings,
                                   const struct vq_ctl_asked *asked, int64_t unix_ms)
{
    const char *name = asked->command->name;
    const char *const words[] = {name, asked->values[0]};
    if (strcmp(name, "pause") == 0) {
        return replace(settings, words, 1, 1, unix_ms);
    }
    if (strcmp(name, "resume") == 0) {
        forget(settings, (const char *const[]){"pause"}, 1);
        return VQ_OK;
    }
    if (strcmp(name, "budget") == 0) {
        return replace(settings, words, 1, 2, unix_ms);
    }
    if (strcmp(name, "park") == 0) {
        return replace(settings, words, 2, 2, unix_ms);
    }
    if (strcmp(name, "unpark") == 0) {
        forget(settings, (const char *const[]){"park", asked->values[0]}, 2);
        return VQ_OK;
    }
    if (strcmp(name, "concurrency") == 0) {
        return add_concurrency(settings, asked, unix_ms);
    }
    return strcmp(name, "pool") == 0 ? add_pool(settings, asked, unix_ms) : VQ_OK;
}

/* ---- the file ---- */

void vq_ctl_settings_write(const struct vq_ctl_settings *settings, struct vq_buf *out)
{
    struct vq_json j;
    vq_json_open(&j, out, 2);
    vq_json_put_u64(&j, "format", 1);
    vq_json_put_array(&j, VQ_CTL_SETTINGS_KEY);
    for (size_t i = 0; i < settings->count; i++) {
        const struct vq_ctl_setting *c = &settings->list[i];
        vq_json_object(&j);
        vq_json_put_i64(&j, "at_unix_ms", c->at_unix_ms);
        vq_json_put_array(&j, "words");
        for (uint32_t k = 0; k < c->words_count; k++) {
            vq_json_str(&j, c->words[k]);
        }
        vq_json_array_end(&j);
        vq_json_object_end(&j);
    }
    vq_json_array_end(&j);
    vq_json_close(&j);
}

static enum vq_status read_command(const json_t *entry, struct vq_ctl_settings *settings,
                                   struct vq_error *err)
{
    const json_t *list = json_object_get(entry, "words");
    const json_t *at = json_object_get(entry, "at_unix_ms");
    size_t n = json_array_size(list);
    const char *words[VQ_CTL_SETTINGS_WORDS_MAX];
    struct vq_ctl_asked asked;
    if (n == 0 || n > VQ_CTL_SETTINGS_WORDS_MAX || !json_is_integer(at)) {
        return vq_fail(err, VQ_CORRUPT, "entry %zu is not a time and words", settings->count + 1);
    }
    for (size_t i = 0; i < n; i++) {
        words[i] = json_string_value(json_array_get(list, i));
        if (words[i] == NULL) {
            return vq_fail(err, VQ_CORRUPT, "a word of entry %zu is no text", settings->count + 1);
        }
    }
    if (vq_ctl_parse(words, n, &asked, err) != VQ_OK) {
        return VQ_CORRUPT;
    }
    return append(settings, words, (uint32_t)n, json_integer_value(at));
}

enum vq_status vq_ctl_settings_read(struct vq_span text, struct vq_ctl_settings *ret_settings,
                                    struct vq_error *err)
{
    json_t *root = NULL;
    json_error_t where;
    struct vq_ctl_settings settings = {.count = 0};
    *ret_settings = settings;
    if (vq_json_exceeds(text, DEPTH_MAX, 0)) {
        return vq_fail(err, VQ_CORRUPT, "it nests too deep");
    }
    enum vq_status status = vq_json_load(text, JSON_REJECT_DUPLICATES, &root, &where);
    if (status == VQ_INVALID) {
        return vq_fail(err, VQ_CORRUPT, "%s", where.text);
    }
    const json_t *list = json_object_get(root, VQ_CTL_SETTINGS_KEY);
    if (status == VQ_OK && !json_is_array(list)) {
        status = vq_fail(err, VQ_CORRUPT, "`%s` is not a list", VQ_CTL_SETTINGS_KEY);
    }
    for (size_t i = 0; status == VQ_OK && i < json_array_size(list); i++) {
        status = read_command(json_array_get(list, i), &settings, err);
    }
    json_decref(root);
    if (status != VQ_OK) {
        vq_ctl_settings_free(&settings);
        return status == VQ_NOMEM ? status : VQ_CORRUPT;
    }
    *ret_settings = settings;
    return VQ_OK;
}

/* ---- settings that --set overrides ---- */

static const char *config_key(const char *option)
{
    static const char *const keys[][2] = {{"--rpm", "requests_per_minute"},
                                          {"--itpm", "input_tokens_per_minute"},
                                          {"--otpm", "output_tokens_per_minute"},
                                          {"--tpm", "tokens_per_minute"},
                                          {"--concurrency", "concurrency"}};
    for (size_t i = 0; i < VQ_COUNT(keys); i++) {
        if (strcmp(keys[i][0], option) == 0) {
            return keys[i][1];
        }
    }
    return "";
}

bool vq_ctl_settings_is_overridden(const struct vq_ctl_setting *command, const char *assignment,
                                   bool is_own, uint32_t account)
{
    size_t key = strcspn(assignment, "=");
    const char *name = command->words[0];
    if (strcmp(name, "budget") == 0) {
        return strncmp(assignment, "budget", strlen("budget")) == 0;
    }
    bool all = strcmp(name, "concurrency") == 0;
    if (!all && strcmp(name, "pool") != 0) {
        return false;
    }
    struct vq_span of = vq_span(assignment, key);
    bool of_account = strncmp(assignment, "pools", strlen("pools")) == 0;
    if (!all && (of_account ? is_own : !is_own)) {
        return false;
    }
    if (of_account && assignment[5] == '[' && !all &&
        strtoul(assignment + 6, NULL, 10) != account) {
        return false;
    }
    const char *field = config_key(all ? "--concurrency" : command->words[2]);
    size_t dot = key;
    while (dot > 0 && assignment[dot - 1] != '.') {
        dot--;
    }
    bool whole = of_account && (vq_span_eq(of, vq_span_str("pools")) || of.at[key - 1] == ']');
    return whole || vq_span_eq(vq_span(assignment + dot, key - dot), vq_span_str(field));
}
