/* Rules between keys, on the filled struct; the tree is only asked where a key stood. One function a section, in the order of
 * the file, so that the first mistake a reader meets is the one that is named. Not its job: kinds and ranges (resolve.c), whether
 * files or columns exist. */
#include "common/conf/rules.h"

#include "common/conf/resolve.h"
#include "common/text/url.h"
#include "common/text/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#define RUN_NAME_BYTES_MAX 128
#define PATH_BYTES_MAX     128

struct rules {
    const struct vq_config *config;
    const struct vq_node *root;
    const char *name;
    struct vq_error *err;
};

static enum vq_status broken(const struct rules *r, const char *path, const char *fmt, ...)
    VQ_PRINTF(3, 4);

static enum vq_status broken(const struct rules *r, const char *path, const char *fmt, ...)
{
    if (r->err != NULL) {
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(r->err->text, sizeof(r->err->text), fmt, args);
        va_end(args);
        vq_conf_prefix_place(r->root, r->name, path, r->err);
    }
    return VQ_INVALID;
}

static bool is_blank(const char *text)
{
    return text == NULL || text[strspn(text, " \t\r\n")] == '\0';
}

/* Neither control characters nor longer than a name may be. */
static bool is_name(const char *text)
{
    if (is_blank(text) || strlen(text) > VQ_NAME_BYTES_MAX) {
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

static enum vq_status check_run(const struct rules *r)
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
        return broken(
            r, "name",
            "a run's name is a folder's name: it begins with a letter or digit and holds only "
            "letters, digits, dots, dashes and underscores, at most %d",
            RUN_NAME_BYTES_MAX);
    }
    return VQ_OK;
}

static enum vq_status check_data(const struct rules *r)
{
    const struct vq_conf_data *d = &r->config->data;
    if (is_blank(d->path)) {
        return broken(r, "data.path",
                      "missing; name the data file, for example data: {path: data.csv}");
    }
    if (d->test_path != NULL && is_blank(d->test_path)) {
        return broken(r, "data.test_path", "empty; name a file, or leave the key out");
    }
    const struct {
        const char *path;
        const char *column;
    } columns[] = {
        {"data.prompt", d->prompt}, {"data.preference", d->preference}, {"data.group", d->group}};
    for (size_t i = 0; i < VQ_COUNT(columns); i++) {
        for (size_t j = i + 1; columns[i].column != NULL && j < VQ_COUNT(columns); j++) {
            if (columns[j].column != NULL && strcmp(columns[i].column, columns[j].column) == 0) {
                return broken(r, columns[j].path, "the column \"%.80s\" is already %s",
                              columns[j].column, columns[i].path);
            }
        }
        for (int m = 0; columns[i].column != NULL && m < 2; m++) {
            if (r->config->models[m] != NULL &&
                strcmp(columns[i].column, r->config->models[m]) == 0) {
                return broken(r, columns[i].path, "the column \"%.80s\" is also a model",
                              columns[i].column);
            }
        }
    }
    return VQ_OK;
}

static enum vq_status check_models(const struct rules *r)
{
    const char *const *models = (const char *const *)r->config->models;
    for (int i = 0; i < 2; i++) {
        char path[16];
        (void)snprintf(path, sizeof(path), "models[%d]", i);
        if (!is_name(models[i])) {
            return broken(
                r, path,
                "a model is the name of a column: not empty, no control characters, at most %d "
                "bytes",
                VQ_NAME_BYTES_MAX);
        }
    }
    if (strcmp(models[0], models[1]) == 0) {
        return broken(r, "models[1]", "both models are \"%.80s\"; name two different columns",
                      models[0]);
    }
    return VQ_OK;
}

static enum vq_status check_vibe(const struct rules *r, uint32_t i)
{
    const struct vq_conf_axis *v = &r->config->vibes[i];
    char path[PATH_BYTES_MAX];
    (void)snprintf(path, sizeof(path), "vibes[%u]", i);
    if (!is_name(v->name)) {
        return broken(r, path, "a vibe needs a name of one line, at most %d bytes",
                      VQ_NAME_BYTES_MAX);
    }
    if (v->property != NULL) {
        return broken(r, path,
                      "\"%.80s\" has a property, which stands for low and high; leave out either",
                      v->name);
    }
    if (is_blank(v->low) || is_blank(v->high)) {
        return broken(
            r, path,
            "\"%.80s\" needs both low and high, what a text low and high on it is like, or "
            "a property alone",
            v->name);
    }
    if (strlen(v->low) > VQ_AXIS_BYTES_MAX || strlen(v->high) > VQ_AXIS_BYTES_MAX) {
        return broken(r, path, "\"%.80s\" has a text longer than %d bytes", v->name,
                      VQ_AXIS_BYTES_MAX);
    }
    for (uint32_t j = 0; j < i; j++) {
        if (strcasecmp(r->config->vibes[j].name, v->name) == 0) {
            return broken(r, path, "the name \"%.80s\" is already that of vibes[%u]", v->name, j);
        }
    }
    return VQ_OK;
}

static enum vq_status check_vibes(const struct rules *r)
{
    const struct vq_config *c = r->config;
    if (c->method == VQ_METHOD_VIBES && c->vibes_count == 0) {
        return broken(r, "method",
                      "`vibes` needs a list under vibes:; `preset` uses the built-in ten");
    }
    if (c->method == VQ_METHOD_PRESET && c->vibes_count > 0) {
        return broken(r, "method",
                      "`preset` uses the built-in vibes; leave out the list under vibes:, or say "
                      "method: vibes");
    }
    if (c->method == VQ_METHOD_DISCOVER && c->vibes_count > 0) {
        return broken(r, "method",
                      "`discover` finds the vibes itself; leave out the list under vibes:, or say "
                      "method: vibes");
    }
    for (uint32_t i = 0; i < c->vibes_count; i++) {
        VQ_TRY(check_vibe(r, i));
    }
    return VQ_OK;
}

static enum vq_status check_key(const struct rules *r, const char *path, const char *key)
{
    bool env = strncmp(key, "env:", 4) == 0;
    bool file = strncmp(key, "file:", 5) == 0;
    if (file && key[5] != '\0') {
        return VQ_OK;
    }
    bool good = env && (isalpha((unsigned char)key[4]) || key[4] == '_');
    for (const char *at = key + (env ? 4 : 0); good && *at != '\0'; at++) {
        good = isalnum((unsigned char)*at) || *at == '_';
    }
    if (!good) { /* it may be a key: it is not repeated */
        return broken(
            r, path,
            "name the key as env:NAME or file:PATH; a key itself never stands in a configuration "
            "(if this was one, treat it as disclosed)");
    }
    return VQ_OK;
}

static enum vq_status check_endpoint(const struct rules *r, const struct vq_conf_judge *j,
                                     const char *path)
{
    if (j->base_url == NULL) {
        if (strncmp(j->model, "offline-", 8) == 0) {
            return VQ_OK;
        }
        return broken(r, path,
                      "\"%.80s\" needs base_url, the address of its endpoint; only the built-in "
                      "offline-a and "
                      "offline-b go without",
                      j->model);
    }
    struct vq_url url;
    struct vq_error why = {.text = ""};
    if (vq_url_parse(j->base_url, &url, &why) != VQ_OK) {
        return broken(r, path, "%s", why.text);
    }
    if (!url.https && !url.local) {
        return broken(
            r, path,
            "http:// would send prompts and key in the clear; use https://, or a host of this "
            "machine (localhost, 127.0.0.1, [::1])");
    }
    return VQ_OK;
}

static bool is_version(const char *text)
{
    size_t bytes =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._");
    return bytes > 0 && text[bytes] == '\0';
}

/* Whether an address needs no version of its own: it names the newer interface. */
static bool has_version_in_path(const char *base_url)
{
    static const char end[] = "/openai/v1";
    size_t bytes = strlen(base_url);
    while (bytes > 0 && base_url[bytes - 1] == '/') {
        bytes--;
    }
    return bytes >= sizeof(end) - 1 &&
           memcmp(base_url + bytes - (sizeof(end) - 1), end, sizeof(end) - 1) == 0;
}

/* "judges[2].key" in a static-free way: the caller's array. */
static const char *path_of(const char *place, const char *key, char ret_path[PATH_BYTES_MAX])
{
    (void)snprintf(ret_path, PATH_BYTES_MAX, "%s%s%s", place, key == NULL ? "" : ".",
                   key == NULL ? "" : key);
    return ret_path;
}

/* What only some dialects have. */
static enum vq_status check_dialect(const struct rules *r, const struct vq_conf_judge *j,
                                    const char *place)
{
    char path[PATH_BYTES_MAX];
    bool azure = strcmp(j->dialect, "azure") == 0;
    bool own_fields = strcmp(j->dialect, "anthropic") == 0 || strcmp(j->dialect, "gemini") == 0;
    if (strcmp(j->dialect, "openai") != 0 && j->base_url == NULL) {
        return broken(r, path_of(place, "base_url", path),
                      "the dialect %s needs the address of its endpoint", j->dialect);
    }
    if (azure && j->api_version == NULL && !has_version_in_path(j->base_url)) {
        return broken(r, path_of(place, "api_version", path),
                      "the dialect azure needs a version such as 2024-10-21, or a base_url that "
                      "ends in /openai/v1");
    }
    if (j->api_version != NULL && (!azure || !is_version(j->api_version))) {
        return broken(r, path_of(place, "api_version", path), "%s",
                      azure ? "a version is letters, digits, dashes and dots"
                            : "only the dialect azure has versions");
    }
    if (strcmp(j->dialect, "anthropic") == 0 && j->seed >= 0) {
        return broken(r, path_of(place, "seed", path), "the dialect anthropic has no seed");
    }
    if (own_fields && strcmp(j->max_tokens_field, "max_tokens") != 0) {
        return broken(r, path_of(place, "max_tokens_field", path),
                      "the dialect %s has one name for it; leave this out", j->dialect);
    }
    if (own_fields && strcmp(place, "embedder") == 0) {
        return broken(r, path_of(place, "dialect", path),
                      "embeddings are asked for in the dialects openai and azure");
    }
    return VQ_OK;
}

/* One model, wherever it stands: `place` is "judges[2]" or "proposer". */
static enum vq_status check_judge(const struct rules *r, const struct vq_conf_judge *j,
                                  const char *place)
{
    char path[PATH_BYTES_MAX];
    if (!is_name(j->model)) {
        return broken(r, path_of(place, "model", path), "missing; name the model");
    }
    if (!is_name(j->name)) {
        return broken(r, path_of(place, "name", path), "a name is one line, at most %d bytes",
                      VQ_NAME_BYTES_MAX);
    }
    VQ_TRY(check_endpoint(r, j, path_of(place, "base_url", path)));
    VQ_TRY(check_dialect(r, j, place));
    if (j->key != NULL) {
        VQ_TRY(check_key(r, path_of(place, "key", path), j->key));
    }
    if (j->identity != NULL && !is_name(j->identity)) {
        return broken(r, path_of(place, "identity", path),
                      "an identity is one line, at most %d bytes", VQ_NAME_BYTES_MAX);
    }
    if ((j->price_input_usd < 0) != (j->price_output_usd < 0)) {
        return broken(
            r,
            path_of(place, j->price_input_usd < 0 ? "price_output_usd" : "price_input_usd", path),
            "set price_input_usd and price_output_usd, or neither");
    }
    if (j->connect_timeout_ms > j->total_timeout_ms ||
        j->first_byte_timeout_ms > j->total_timeout_ms) {
        return broken(r, path_of(place, "total_timeout_ms", path),
                      "must be at least connect_timeout_ms and first_byte_timeout_ms");
    }
    return VQ_OK;
}

static enum vq_status check_list(const struct rules *r, const struct vq_conf_judge *judges,
                                 uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++) {
        char place[PATH_BYTES_MAX];
        (void)snprintf(place, sizeof(place), "%s[%u]", key, i);
        VQ_TRY(check_judge(r, &judges[i], place));
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(judges[k].name, judges[i].name) == 0) {
                return broken(
                    r, place,
                    "the name \"%.80s\" is already that of %s[%u]; give each its own name",
                    judges[i].name, key, k);
            }
        }
    }
    return VQ_OK;
}

static enum vq_status check_judges(const struct rules *r)
{
    const struct vq_config *c = r->config;
    if (c->judges_count == 0) {
        return broken(
            r, "judges",
            "missing; name at least one model, for example judges: [offline-a, offline-b]");
    }
    VQ_TRY(check_list(r, c->judges, c->judges_count, "judges"));
    VQ_TRY(check_list(r, c->preference_judges, c->preference_judges_count, "preference_judges"));
    if (c->proposer != NULL) {
        VQ_TRY(check_judge(r, c->proposer, "proposer"));
    }
    if (c->reducer != NULL) {
        VQ_TRY(check_judge(r, c->reducer, "reducer"));
    }
    if (c->embedder != NULL && strcmp(c->embedder->model, VQ_EMBEDDER_NONE) != 0) {
        VQ_TRY(check_judge(r, c->embedder, "embedder"));
    }
    return VQ_OK;
}

/* What single calls can do and joint ones cannot. */
static enum vq_status check_joint(const struct rules *r)
{
    const struct vq_conf_judging *j = &r->config->judging;
    if (j->vibes_per_call == 1) {
        return VQ_OK;
    }
    if (j->lazy_swap) {
        return broken(
            r, "judging.lazy_swap",
            "not with vibes_per_call: %u; a joint call is needed in both orders as soon as "
            "one of its vibes is. Switch it off, or leave it out",
            j->vibes_per_call);
    }
    if (j->truncate) {
        return broken(r, "judging.truncate",
                      "not with vibes_per_call: %u; what is too long for a joint call is asked one "
                      "vibe at a time. Leave it out",
                      j->vibes_per_call);
    }
    if (j->retest > 0) {
        return broken(r, "judging.retest",
                      "not with vibes_per_call: %u; it asks single calls again. Leave it out",
                      j->vibes_per_call);
    }
    return VQ_OK;
}

static enum vq_status check_judging(const struct rules *r)
{
    const struct vq_conf_judging *j = &r->config->judging;
    if (j->lazy_swap && j->pair_rule != VQ_PAIR_STRICT) {
        return broken(
            r, "judging.lazy_swap",
            "only exact under pair_rule: strict; under `%s` %s. Switch it off, or leave it out",
            j->pair_rule == VQ_PAIR_LENIENT ? "lenient" : "forward",
            j->pair_rule == VQ_PAIR_LENIENT ? "the second order can still decide a score"
                                            : "one order is asked anyway");
    }
    return check_joint(r);
}

static enum vq_status check_regression(const struct rules *r)
{
    const struct vq_conf_regression *c = &r->config->regression;
    if (c->estimator == VQ_ESTIMATOR_LEGACY_BOOTSTRAP && c->bootstrap_draws == 0) {
        return broken(r, "regression.bootstrap_draws",
                      "must not be 0 with `estimator: legacy_bootstrap`, which is made of draws");
    }
    return VQ_OK;
}

static enum vq_status check_redis(const struct rules *r)
{
    const char *url = r->config->redis_url;
    if (url == NULL) {
        return VQ_OK;
    }
    bool unix_path = strncmp(url, "unix:///", 8) == 0 && url[8] != '\0';
    bool tcp =
        strncmp(url, "redis://", 8) == 0 && url[8] != '\0' && strpbrk(url, " \t\r\n") == NULL;
    if (!unix_path && !tcp) { /* it may hold a password: it is not repeated */
        return broken(r, "redis.url", "must be redis://[:password@]host:port[/db] or unix:///PATH");
    }
    return VQ_OK;
}

enum vq_status vq_conf_check_rules(const struct vq_config *config, const struct vq_node *root,
                                   const char *name, struct vq_error *err)
{
    struct rules r = {.config = config, .root = root, .name = name, .err = err};
    VQ_TRY(check_run(&r));
    VQ_TRY(check_data(&r));
    VQ_TRY(check_models(&r));
    VQ_TRY(check_vibes(&r));
    VQ_TRY(check_judges(&r));
    VQ_TRY(check_judging(&r));
    VQ_TRY(check_regression(&r));
    return check_redis(&r);
}
