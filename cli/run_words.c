/* Options in, a configuration out. Invariant: an option never bypasses the configuration. It
 * becomes a line or an override of it, so kinds and ranges are checked in one place, and an error
 * about such a line names the option. A key is only a reference, and is never printed. Not its job:
 * files and columns (methods/files/job.c). */
#include "cli/run_words.h"

#include "cli/resume_overrides.h"
#include "common/text/json.h"
#include "common/text/table.h"
#include "coordinator/run/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MADE_YAML_BYTES_MAX (1u << 20)
#define OPENAI_URL          "https://api.openai.com/v1"
#define COMMAND_LINE        "(command line)"

#define AT(field) offsetof(struct vq_run_words, field)

const struct vq_opt vq_run_opts[] = {
    {"set", VQ_OPT_LIST, AT(set), "A.B=VALUE", "overrides a key of the configuration (repeatable)"},
    {"models", VQ_OPT_SPLIT, AT(models), "A,B", "the two columns with the models' outputs"},
    {"model", VQ_OPT_LIST, AT(models), "A",
     "one of the two, for names with commas (give it twice)"},
    {"judge", VQ_OPT_LIST, AT(judges), "MODEL[,..]",
     "the judges; if you repeat the option, each value is one name, and can contain commas"},
    {"prompt", VQ_OPT_TEXT, AT(prompt), "COLUMN", "prompt column; default question, then prompt"},
    {"preference", VQ_OPT_TEXT, AT(preference), "COLUMN",
     "the column that names the preferred model"},
    {"criteria", VQ_OPT_SPLIT, AT(criteria), "NAME[,..]",
     "rate the outputs by built-in criteria (method: judge)"},
    {"discover", VQ_OPT_FLAG, AT(discover), NULL, "find the vibes in the data (method: discover)"},
    {"proposer", VQ_OPT_TEXT, AT(proposer), "MODEL",
     "the model that proposes vibes; default the first judge"},
    {"base-url", VQ_OPT_TEXT, AT(base_url), "URL",
     "OpenAI-compatible endpoint; default OPENAI_BASE_URL"},
    {"key", VQ_OPT_TEXT, AT(key), "env:NAME", "or file:PATH; default env:OPENAI_API_KEY"},
    {"limit", VQ_OPT_COUNT, AT(limit), "N", "a seeded sample of N records"},
    {"runs", VQ_OPT_TEXT, AT(runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {"name", VQ_OPT_TEXT, AT(name), "ID", "the run's name"},
    {"or-resume", VQ_OPT_FLAG, AT(or_resume), NULL,
     "resume the run of this name if there is one; end at once if it is finished"},
#include "cli/serve_opts.def"
    {"yes", VQ_OPT_FLAG, AT(yes), NULL, "do not ask before sending"},
    {"dry-run", VQ_OPT_FLAG, AT(dry_run), NULL,
     "print what would be sent, test the start, and stop"},
    {"json", VQ_OPT_FLAG, AT(json), NULL, "results.json on standard output instead of the table"},
    {"quiet", VQ_OPT_FLAG, AT(quiet), NULL, "no progress, no notes"},
    {0},
};

const struct vq_opt vq_resume_opts[] = {
    {"set", VQ_OPT_LIST, AT(set), "A.B=VALUE",
     "overrides workers, limits, keys; in a run without answers also the questions"},
    {"runs", VQ_OPT_TEXT, AT(runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
#include "cli/serve_opts.def"
    {"retry-failed", VQ_OPT_FLAG, AT(retry_failed), NULL,
     "retry the failed tasks, and those without a verdict"},
    {"class", VQ_OPT_TEXT, AT(class), "CLASS",
     "with --retry-failed: only tasks that failed as " VQ_CTL_CLASSES},
    {"json", VQ_OPT_FLAG, AT(json), NULL, "results.json on standard output instead of the table"},
    {"quiet", VQ_OPT_FLAG, AT(quiet), NULL, "no progress, no notes"},
    {0},
};

static enum vq_status add_setting(struct vq_run_words *w, const char *setting, struct vq_error *err)
{
    if (w->set.count == VQ_OPT_LIST_MAX) {
        return vq_fail(err, VQ_INVALID, "more than %d settings", VQ_OPT_LIST_MAX);
    }
    w->set.items[w->set.count++] = setting;
    return VQ_OK;
}

/* Options with a key of the configuration are overrides like any other: range and kind are checked
 * in one place. */
static enum vq_status add_settings(struct vq_run_words *w, struct vq_error *err)
{
    const struct {
        const char *key;
        struct vq_opt_count count;
    } counts[] = {{"data.limit", w->limit}, {"workers", w->workers}};
    for (size_t i = 0; i < VQ_COUNT(counts); i++) {
        if (!counts[i].count.given) {
            continue;
        }
        (void)snprintf(w->made[i], VQ_OVERRIDE_BYTES, "%s=%u", counts[i].key,
                       counts[i].count.value);
        VQ_TRY(add_setting(w, w->made[i], err));
    }
    if (w->deadline != NULL) { /* a longer text is not a time either */
        (void)snprintf(w->made_deadline, sizeof(w->made_deadline), "deadline=%s", w->deadline);
        VQ_TRY(add_setting(w, w->made_deadline, err));
    }
    return w->discover ? add_setting(w, "method=discover", err) : VQ_OK;
}

/* Replaces the first `bytes` of the sentence by `by`. */
static void begin_with(struct vq_error *err, size_t bytes, const char *by)
{
    struct vq_error old = *err;
    (void)snprintf(err->text, sizeof(err->text), "%s%s", by, old.text + bytes);
}

static void name_count(struct vq_error *err)
{
    static const char *const names[][2] = {{"--set workers:", "--workers:"},
                                           {"--set data.limit:", "--limit:"},
                                           {"--set deadline:", "--deadline:"}};
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        if (strncmp(err->text, names[i][0], strlen(names[i][0])) == 0) {
            begin_with(err, strlen(names[i][0]), names[i][1]);
            return;
        }
    }
}

int vq_run_words_parse(const char *verb, const struct vq_opt *opts, int argc, char **argv,
                       struct vq_run_words *ret_words, int *ret_count)
{
    struct vq_error err = {0};
    enum vq_status status = vq_opts_parse(opts, argc, argv, ret_words, ret_count, &err);
    if (status == VQ_OK) {
        status = add_settings(ret_words, &err);
    }
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_usage(verb, "%s", err.text);
}

struct vq_run_http vq_run_words_http(const struct vq_run_words *words)
{
    return (struct vq_run_http){.listen = words->http,
                                .token_file = words->http_token_file,
                                .hosts = words->http_hosts.items,
                                .hosts_count = words->http_hosts.count};
}

/* ---- a configuration from words alone ---- */

static void yaml_span(struct vq_buf *out, const char *before, struct vq_span value)
{
    vq_buf_puts(out, before);
    vq_json_string(out, value); /* a JSON string is a YAML one */
    vq_buf_putc(out, '\n');
}

static void yaml_line(struct vq_buf *out, const char *before, const char *value)
{
    if (value != NULL) {
        yaml_span(out, before, vq_span_str(value));
    }
}

static bool is_offline(struct vq_span model)
{
    size_t bytes = strlen("offline-");
    return model.bytes > bytes && memcmp(model.at, "offline-", bytes) == 0;
}

/* A variable that is empty counts as not set. */
static const char *from_environment(const char *name)
{
    const char *value = getenv(name);
    return value == NULL || value[0] == '\0' ? NULL : value;
}

/* A model as a map; its first key comes after `before`. */
static void yaml_model(struct vq_buf *out, const struct vq_run_words *w, const char *before,
                       struct vq_span model)
{
    yaml_span(out, before, model);
    if (is_offline(model) && w->base_url == NULL) {
        return;
    }
    const char *url = w->base_url != NULL ? w->base_url : from_environment("OPENAI_BASE_URL");
    const char *key = w->key;
    if (key == NULL && from_environment("OPENAI_API_KEY") != NULL) {
        key = "env:OPENAI_API_KEY";
    }
    yaml_line(out, "    base_url: ", url != NULL ? url : OPENAI_URL);
    yaml_line(out, "    key: ", key);
}

/* A single --judge may have several names separated by commas; with several --judge, each is one
 * name. */
static void yaml_judges(struct vq_buf *out, const struct vq_run_words *w)
{
    vq_buf_puts(out, "judges:\n");
    if (w->judges.count > 1) {
        for (uint32_t i = 0; i < w->judges.count; i++) {
            yaml_model(out, w, "  - model: ", vq_span_str(w->judges.items[i]));
        }
        return;
    }
    for (const char *at = w->judges.items[0]; at != NULL;) {
        size_t bytes = strcspn(at, ",");
        yaml_model(out, w, "  - model: ", vq_span(at, bytes));
        at = at[bytes] == '\0' ? NULL : at + bytes + 1;
    }
}

/* "(command line), line 9, column 5, judges[0].key: ..." names a file that does not exist:
 * the message names the option instead. */
static void name_option(struct vq_error *err)
{
    static const struct {
        const char *key, *option;
    } options[] = {{"data.path", "the data file"},      {"data.prompt", "--prompt"},
                   {"data.preference", "--preference"}, {"models", "--models"},
                   {".base_url", "--base-url"},         {".key", "--key"},
                   {"proposer", "--proposer"},          {"judges", "--judge"},
                   {"criteria", "--criteria"}};
    size_t place = strlen(COMMAND_LINE ", line ");
    const char *at = strstr(err->text, ", column ");
    if (strncmp(err->text, COMMAND_LINE ", line ", place) != 0 || at == NULL) {
        return;
    }
    at += strlen(", column ");
    at += strcspn(at, ",:");
    at += *at == ',' ? 2 : 0;
    size_t path = strcspn(at, ":");
    for (size_t i = 0; i < VQ_COUNT(options); i++) {
        const char *found = strstr(at, options[i].key);
        if (found != NULL && found < at + path) {
            begin_with(err, (size_t)(at + path - err->text), options[i].option);
            return;
        }
    }
}

static enum vq_status config_from_words(const struct vq_run_words *w, const char *data,
                                        struct vq_config **ret_config, struct vq_error *err)
{
    bool rates = w->criteria.count > 0;
    if (rates && (w->models.count == 0 || w->models.count > 2)) {
        return vq_fail(err, VQ_INVALID,
                       "name one or two output columns: vibeq run %s --models A[,B] --criteria "
                       "NAME --judge MODEL",
                       data);
    }
    if (!rates && w->models.count < 2) {
        return vq_fail(
            err, VQ_INVALID,
            "name two to 16 output columns, not %u: vibeq run %s --models A,B --judge MODEL "
            "(a configuration's name ends with .yaml)",
            w->models.count, data);
    }
    if (w->judges.count == 0) {
        return vq_fail(
            err, VQ_INVALID,
            "name at least one judge: --judge MODEL[,MODEL]; offline-a and offline-b need "
            "no endpoint");
    }
    struct vq_buf yaml;
    vq_buf_init(&yaml, MADE_YAML_BYTES_MAX);
    vq_buf_puts(&yaml, "data:\n");
    yaml_line(&yaml, "  path: ", data);
    yaml_line(&yaml, "  prompt: ", w->prompt);
    yaml_line(&yaml, "  preference: ", w->preference);
    vq_buf_puts(&yaml, "models:\n");
    for (uint32_t i = 0; i < w->models.count; i++) {
        yaml_line(&yaml, "  - ", w->models.items[i]);
    }
    vq_buf_puts(&yaml, rates ? "criteria:\n" : "");
    for (uint32_t i = 0; i < w->criteria.count; i++) {
        yaml_line(&yaml, "  - ", w->criteria.items[i]);
    }
    yaml_judges(&yaml, w);
    if (w->proposer != NULL) {
        vq_buf_puts(&yaml, "proposer:\n");
        yaml_model(&yaml, w, "    model: ", vq_span_str(w->proposer));
    }
    enum vq_status status = yaml.status;
    if (status == VQ_OK) {
        status = vq_config_parse(yaml.at, yaml.bytes, COMMAND_LINE, ".", w->set.items, w->set.count,
                                 ret_config, err);
    }
    vq_buf_free(&yaml);
    if (status != VQ_OK) {
        name_option(err);
    }
    return status;
}

bool vq_is_config_name(const char *path)
{
    return vq_name_ends_with(path, ".yaml") || vq_name_ends_with(path, ".yml");
}

static enum vq_status config_from_file(const struct vq_run_words *w, const char *path,
                                       struct vq_config **ret_config, struct vq_error *err)
{
    if (w->models.count > 0 || w->judges.count > 0 || w->criteria.count > 0 ||
        w->base_url != NULL || w->key != NULL || w->prompt != NULL || w->preference != NULL ||
        w->proposer != NULL) {
        return vq_fail(
            err, VQ_INVALID,
            "--models, --judge, --criteria, --proposer, --prompt, --preference, --base-url and "
            "--key go with a "
            "data file; with a configuration use --set, for example --set judges[0].model=NAME");
    }
    return vq_config_load(path, w->set.items, w->set.count, ret_config, err);
}

enum vq_status vq_run_words_config(const struct vq_run_words *w, const char *word,
                                   struct vq_config **ret_config, struct vq_error *err)
{
    enum vq_status status = vq_is_config_name(word) ? config_from_file(w, word, ret_config, err)
                                                    : config_from_words(w, word, ret_config, err);
    if (status != VQ_OK) {
        name_count(err);
    }
    return status;
}

enum vq_status vq_run_words_reload(const struct vq_run_words *w, const char *run_yaml,
                                   struct vq_config **ret_config, struct vq_error *ret_unanswered,
                                   struct vq_error *err)
{
    VQ_TRY(vq_resume_overrides_keys_check(&w->set, err));
    struct vq_config *was, *now;
    VQ_TRY(vq_config_load(run_yaml, NULL, 0, &was, err));
    enum vq_status status = vq_config_load(run_yaml, w->set.items, w->set.count, &now, err);
    if (status != VQ_OK) {
        name_count(err);
        vq_config_destroy(&was);
        return status;
    }
    struct vq_error unanswered = {0};
    const char *otherwise = vq_resume_overrides_before_answers(&w->set);
    if (vq_resume_overrides_judges_check(was, now, &unanswered) == VQ_OK && otherwise != NULL) {
        (void)vq_fail(
            &unanswered, VQ_INVALID,
            "--set %.*s: this run has answers that were given with the old value. Start a "
            "new run with the new value; stored answers are not bought again",
            (int)strcspn(otherwise, "="), otherwise);
    }
    vq_config_destroy(&was);
    *ret_unanswered = unanswered;
    *ret_config = now;
    return VQ_OK;
}
