/* Rules between keys, on the filled struct; the tree only gives the places of keys. There is one
 * function per section, in the order of the file, so that the first mistake in the file is
 * reported. rules_models.c has the rules of models. Not its job: kinds and ranges (resolve.c),
 * whether files or columns exist. */
#include "common/conf/rules.h"

#include "common/conf/resolve.h"
#include "common/conf/rules_parts.h"
#include "common/text/utf8.h"
#include "common/text/when.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#define RUN_NAME_BYTES_MAX 128

static enum vq_status broken(const struct vq_rules *r, const char *path, const char *fmt,
                             va_list args) VQ_PRINTF(3, 0);
static enum vq_status broken(const struct vq_rules *r, const char *path, const char *fmt,
                             va_list args)
{
    if (r->err != NULL) {
        (void)vsnprintf(r->err->text, sizeof(r->err->text), fmt, args);
        vq_conf_prefix_place(r->root, r->name, path, r->err);
    }
    return VQ_INVALID;
}

enum vq_status vq_rules_broken(const struct vq_rules *r, const char *path, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    enum vq_status status = broken(r, path, fmt, args);
    va_end(args);
    return status;
}

enum vq_status vq_rules_broken_at(const struct vq_rules *r, const char *place, const char *key,
                                  const char *fmt, ...)
{
    char path[VQ_RULES_PATH_BYTES];
    va_list args;
    (void)snprintf(path, sizeof(path), "%s.%s", place, key);
    va_start(args, fmt);
    enum vq_status status = broken(r, path, fmt, args);
    va_end(args);
    return status;
}

const struct vq_refused_key *vq_rules_first_set(const struct vq_refused_key *keys, size_t count)
{
    size_t i = 0;
    while (i < count && !keys[i].set) {
        i++;
    }
    return i < count ? &keys[i] : NULL;
}

enum vq_status vq_rules_silent(const struct vq_rules *r, const char *method,
                               const struct vq_refused_key *keys, size_t count)
{
    const struct vq_refused_key *key = vq_rules_first_set(keys, count);
    return key == NULL
               ? VQ_OK
               : vq_rules_broken(r, key->path, "method: %s %s; leave it out", method, key->why);
}

bool vq_rules_is_blank(const char *text)
{
    return text == NULL || text[strspn(text, " \t\r\n")] == '\0';
}

bool vq_rules_is_name(const char *text)
{
    if (vq_rules_is_blank(text) || strlen(text) > VQ_NAME_BYTES_MAX) {
        return false;
    }
    struct vq_span span = vq_span_str(text);
    for (size_t pos = 0; pos < span.bytes;) {
        uint32_t point = vq_utf8_next(span, &pos);
        if (point < 0x20 || (point >= 0x7F && point < 0xA0)) {
            return false;
        }
    }
    return true;
}

static enum vq_status check_run(const struct vq_rules *r)
{
    const char *name = r->config->name;
    if (name == NULL) {
        return VQ_OK;
    }
    bool good = isalnum((unsigned char)name[0]) && strlen(name) <= RUN_NAME_BYTES_MAX;
    for (const char *at = name; *at != '\0'; at++) {
        good = good && (isalnum((unsigned char)*at) || strchr("._-", *at) != NULL);
    }
    if (!good) {
        return vq_rules_broken(
            r, "name",
            "a run's name is a folder's name: it begins with a letter or digit and holds only "
            "letters, digits, dots, dashes and underscores, at most %d",
            RUN_NAME_BYTES_MAX);
    }
    return VQ_OK;
}

static enum vq_status check_deadline(const struct vq_rules *r)
{
    struct vq_error why = {.text = ""};
    time_t time;
    return r->config->deadline == NULL ||
                   vq_when_parse(r->config->deadline, 0, &time, &why) == VQ_OK
               ? VQ_OK
               : vq_rules_broken(r, "deadline", "%s", why.text);
}

static enum vq_status check_human(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    if (c->human == NULL) {
        return VQ_OK;
    }
    if (vq_rules_is_blank(c->human)) {
        return vq_rules_broken(r, "human", "empty; name a file, or leave the key out");
    }
    const char *why =
        c->method == VQ_METHOD_PERSONA ? "method: persona has no vibes; name it as dialogues.human"
        : c->method == VQ_METHOD_JUDGE
            ? "method: judge has no vibes; name a column as the criterion's human"
        : vq_config_ranks(c) ? "its labels are about two models; leave it out, or name two models"
                             : NULL;
    return why == NULL ? VQ_OK : vq_rules_broken(r, "human", "%s", why);
}

static enum vq_status check_data(const struct vq_rules *r)
{
    const struct vq_conf_data *d = &r->config->data;
    if (r->config->method == VQ_METHOD_PERSONA) { /* rules_persona.c */
        return check_human(r);
    }
    if (vq_rules_is_blank(d->path)) {
        return vq_rules_broken(r, "data.path",
                               "missing; name the data file, for example data: {path: data.csv}");
    }
    if (d->test_path != NULL && vq_rules_is_blank(d->test_path)) {
        return vq_rules_broken(r, "data.test_path", "empty; name a file, or leave the key out");
    }
    if (d->test_path != NULL && strcmp(d->test_path, "-") == 0) {
        return vq_rules_broken(r, "data.test_path",
                               "only data.path can be standard input; save the test rows in a file "
                               "and name it");
    }
    VQ_TRY(check_human(r));
    const struct {
        const char *path;
        const char *column;
    } columns[] = {
        {"data.prompt", d->prompt}, {"data.preference", d->preference}, {"data.group", d->group}};
    for (size_t i = 0; i < VQ_COUNT(columns); i++) {
        for (size_t j = i + 1; columns[i].column != NULL && j < VQ_COUNT(columns); j++) {
            if (columns[j].column != NULL && strcmp(columns[i].column, columns[j].column) == 0) {
                return vq_rules_broken(r, columns[j].path, "the column \"%.80s\" is already %s",
                                       columns[j].column, columns[i].path);
            }
        }
        for (uint32_t m = 0; columns[i].column != NULL && m < r->config->models_count; m++) {
            if (r->config->models[m] != NULL &&
                strcmp(columns[i].column, r->config->models[m]) == 0) {
                return vq_rules_broken(r, columns[i].path, "the column \"%.80s\" is also a model",
                                       columns[i].column);
            }
        }
    }
    return VQ_OK;
}

static enum vq_status check_models(const struct vq_rules *r)
{
    const char *const *models = (const char *const *)r->config->models;
    for (uint32_t i = 0; i < r->config->models_count; i++) {
        char path[16];
        (void)snprintf(path, sizeof(path), "models[%u]", i);
        if (!vq_rules_is_name(models[i])) {
            return vq_rules_broken(
                r, path,
                "a model is the name of a column: not empty, no control characters, at most %d "
                "bytes",
                VQ_NAME_BYTES_MAX);
        }
    }
    if (r->config->models_count == 2 && strcmp(models[0], models[1]) == 0) {
        return vq_rules_broken(r, "models[1]",
                               "both models are \"%.80s\"; name two different columns", models[0]);
    }
    return vq_rules_pairs(r);
}

static enum vq_status check_vibe(const struct vq_rules *r, uint32_t i)
{
    const struct vq_conf_axis *v = &r->config->vibes[i];
    char path[VQ_RULES_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "vibes[%u]", i);
    if (!vq_rules_is_name(v->name)) {
        return vq_rules_broken(r, path, "a vibe needs a name of one line, at most %d bytes",
                               VQ_NAME_BYTES_MAX);
    }
    if (v->property != NULL) {
        return vq_rules_broken(
            r, path, "\"%.80s\" has a property, which replaces low and high; leave out one of them",
            v->name);
    }
    if (vq_rules_is_blank(v->low) || vq_rules_is_blank(v->high)) {
        return vq_rules_broken(
            r, path,
            "\"%.80s\" needs both low and high, what a text low and high on it is like, or "
            "a property alone",
            v->name);
    }
    if (strlen(v->low) > VQ_AXIS_BYTES_MAX || strlen(v->high) > VQ_AXIS_BYTES_MAX) {
        return vq_rules_broken(r, path, "\"%.80s\" has a text longer than %d bytes", v->name,
                               VQ_AXIS_BYTES_MAX);
    }
    for (uint32_t j = 0; j < i; j++) {
        if (strcasecmp(r->config->vibes[j].name, v->name) == 0) {
            return vq_rules_broken(r, path, "the name \"%.80s\" is already that of vibes[%u]",
                                   v->name, j);
        }
    }
    return VQ_OK;
}

static enum vq_status check_vibes(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    if (c->method == VQ_METHOD_VIBES && c->vibes_count == 0) {
        return vq_rules_broken(r, "method",
                               "`vibes` needs a list under vibes:; `preset` uses the built-in ten");
    }
    if (c->method == VQ_METHOD_PRESET && c->vibes_count > 0) {
        return vq_rules_broken(r, "method",
                               "`preset` uses the built-in vibes; leave out the list under vibes:, "
                               "or set method: vibes");
    }
    if (c->method == VQ_METHOD_DISCOVER && c->vibes_count > 0) {
        return vq_rules_broken(r, "method",
                               "`discover` finds the vibes itself; leave out the list under "
                               "vibes:, or set method: vibes");
    }
    for (uint32_t i = 0; i < c->vibes_count; i++) {
        VQ_TRY(check_vibe(r, i));
    }
    return VQ_OK;
}

/* Refuses settings that joint calls on several vibes do not support. */
static enum vq_status check_joint(const struct vq_rules *r)
{
    const struct vq_conf_judging *j = &r->config->judging;
    if (j->vibes_per_call == 1) {
        return VQ_OK;
    }
    const struct vq_refused_key rules[] = {
        {j->lazy_swap, "judging.lazy_swap",
         "a joint call is needed in both orders as soon as one of its vibes is. Switch it off, or "
         "leave it out"},
        {j->truncate, "judging.truncate",
         "joint calls do not truncate: a row that is too long is asked one vibe per call. Leave it "
         "out"},
        {j->structured, "judging.structured", "it is for single verdicts. Leave it out"},
        {j->logprobs, "judging.logprobs", "it is for single verdicts. Leave it out"},
        {j->retest > 0, "judging.retest", "it asks single calls again. Leave it out"},
    };
    const struct vq_refused_key *rule = vq_rules_first_set(rules, VQ_COUNT(rules));
    return rule == NULL ? VQ_OK
                        : vq_rules_broken(r, rule->path, "not with vibes_per_call: %u; %s",
                                          j->vibes_per_call, rule->why);
}

/* Refuses settings under which a stopped vibe would change the results of other vibes. */
static enum vq_status check_early_stop(const struct vq_rules *r)
{
    const struct vq_conf_judging *j = &r->config->judging;
    if (j->early_stop == VQ_EARLY_STOP_OFF) {
        return j->early_stop_alpha > 0
                   ? vq_rules_broken(r, "judging.early_stop_alpha",
                                     "without early_stop it decides nothing; set early_stop: exact "
                                     "or final, or leave it out")
                   : VQ_OK;
    }
    if (j->invalid == VQ_INVALID_DROP_ROW) {
        return vq_rules_broken(
            r, "judging.early_stop",
            "not with invalid: drop_row, because a missing answer on one vibe removes the row for "
            "all vibes. Set early_stop: off, or leave it out");
    }
    if (j->vibes_per_call > 1 && j->early_stop_alpha <= 0) {
        return vq_rules_broken(r, "judging.early_stop",
                               "needs early_stop_alpha with vibes_per_call: %u, because answers "
                               "depend on the vibes in the same call. Set "
                               "early_stop_alpha, or leave early_stop out",
                               j->vibes_per_call);
    }
    return VQ_OK;
}

static enum vq_status check_judging(const struct vq_rules *r)
{
    const struct vq_conf_judging *j = &r->config->judging;
    VQ_TRY(check_early_stop(r));
    if (j->lazy_swap && j->pair_rule != VQ_PAIR_STRICT) {
        return vq_rules_broken(
            r, "judging.lazy_swap",
            "only exact under pair_rule: strict; under `%s` %s. Switch it off, or leave it out",
            j->pair_rule == VQ_PAIR_LENIENT ? "lenient" : "forward",
            j->pair_rule == VQ_PAIR_LENIENT ? "the second order can still decide a score"
                                            : "one order is asked anyway");
    }
    return check_joint(r);
}

static enum vq_status check_regression(const struct vq_rules *r)
{
    const struct vq_conf_regression *c = &r->config->regression;
    if (c->estimator == VQ_ESTIMATOR_LEGACY_BOOTSTRAP && c->bootstrap_draws == 0) {
        return vq_rules_broken(
            r, "regression.bootstrap_draws",
            "must not be 0 with `estimator: legacy_bootstrap`, which is made of draws");
    }
    return VQ_OK;
}

static enum vq_status check_redis(const struct vq_rules *r)
{
    const char *url = r->config->redis_url;
    if (url == NULL) {
        return r->config->redis_ca == NULL ? VQ_OK
                                           : vq_rules_broken(r, "redis.ca_file", "needs redis.url");
    }
    bool unix_path = strncmp(url, "unix:///", 8) == 0 && url[8] != '\0';
    bool tls = strncmp(url, "rediss://", 9) == 0;
    const char *rest = url + (tls ? 9 : 8);
    bool tcp = (tls || strncmp(url, "redis://", 8) == 0) && *rest != '\0' &&
               strpbrk(rest, " \t\r\n") == NULL;
    if (!unix_path && !tcp) { /* the error does not repeat the URL, which may contain a password */
        return vq_rules_broken(
            r, "redis.url", "must be redis[s]://[[user]:password@]host:port[/db] or unix:///PATH");
    }
    if (r->config->redis_ca != NULL && !tls) {
        return vq_rules_broken(r, "redis.ca_file", "is only for a redis.url with rediss://");
    }
    return VQ_OK;
}

enum vq_status vq_conf_check_rules(const struct vq_config *config, const struct vq_node *root,
                                   const char *name, struct vq_error *err)
{
    struct vq_rules r = {.config = config, .root = root, .name = name, .err = err};
    VQ_TRY(check_run(&r));
    VQ_TRY(check_deadline(&r));
    VQ_TRY(check_data(&r));
    VQ_TRY(check_models(&r));
    VQ_TRY(check_vibes(&r));
    VQ_TRY(vq_rules_rating(&r));
    VQ_TRY(vq_rules_persona(&r));
    VQ_TRY(vq_rules_models(&r));
    VQ_TRY(check_judging(&r));
    VQ_TRY(vq_rules_cascade(&r));
    VQ_TRY(check_regression(&r));
    return check_redis(&r);
}
