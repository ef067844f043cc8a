/* Builds a job. Its parts are checked in the order in which they depend on each other: files,
 * table, columns and rows, templates, axes, judges, grid. Owns everything in the job. Invariant:
 * nothing in it changes while a run is active, so that the thread pool may read it. Not its job:
 * deciding whether to continue (the verbs), or sending anything. */
#include "methods/files/job.h"

#include "common/base/alloc.h"
#include "common/base/crash.h"
#include "common/pack/data_file.h"
#include "common/text/file.h"
#include "methods/files/method_type.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum vq_status read_bytes(const struct vq_run_dir *run, const char *copy, const char *path,
                                 struct vq_buf *ret_bytes, struct vq_error *err)
{
    if (run == NULL) {
        return vq_data_read(path, VQ_JOB_DATA_BYTES_MAX, ret_bytes, err);
    }
    char file[64];
    (void)snprintf(file, sizeof(file), "inputs/%s", copy);
    vq_buf_init(ret_bytes, VQ_JOB_DATA_BYTES_MAX);
    return vq_run_dir_read(run, file, ret_bytes, err);
}

static enum vq_status load_table(struct vq_job *job, const struct vq_run_dir *run, int which,
                                 struct vq_error *err)
{
    const struct vq_conf_data *d = &job->config->data;
    const char *path = which == 0 ? d->path_abs : d->test_path_abs;
    if (path == NULL) {
        return VQ_OK;
    }
    VQ_TRY(read_bytes(run, which == 0 ? VQ_JOB_DATA_COPY : VQ_JOB_TEST_COPY, path,
                      &job->data[which], err));
    vq_sha256_hex(vq_buf_span(&job->data[which]), job->data_sha256[which]);
    struct vq_table_options options = {.unwrap_lists = d->unwrap_lists};
    return vq_data_table(vq_buf_span(&job->data[which]), path, d->format, &options,
                         &job->tables[which], err);
}

enum vq_status vq_job_load_tables(struct vq_job *job, const struct vq_run_dir *run,
                                  struct vq_error *err)
{
    VQ_TRY(load_table(job, run, 0, err));
    VQ_TRY(load_table(job, run, 1, err));
    return run == NULL || job->config->data.image == NULL
               ? VQ_OK
               : vq_images_recall(&job->images, run, err);
}

enum vq_status vq_job_load_image(struct vq_job *job, unsigned file, uint32_t record,
                                 struct vq_span *image, struct vq_error *err)
{
    const struct vq_conf_data *d = &job->config->data;
    if (image->bytes == 0) {
        return VQ_OK;
    }
    struct vq_image_from from = {.data_path = file == 0 ? d->path_abs : d->test_path_abs,
                                 .file = file,
                                 .line = job->tables[file]->lines[record - 1]};
    return vq_images_load(&job->images, &from, image, err);
}

/* The roles that judge rows, and with them the rows' images. */
static bool sees_images(enum vq_role role)
{
    return role == VQ_ROLE_JUDGE || role == VQ_ROLE_PREFERENCE_JUDGE;
}

/* Refuses image URLs for Gemini, whose API fetches nothing from the web. */
static enum vq_status check_urls(const struct vq_job *job, struct vq_error *err)
{
    for (int role = 0; role < VQ_ROLE__COUNT && job->images.urls > 0; role++) {
        const struct vq_role_models *cast = &job->cast[role];
        for (uint32_t i = 0; sees_images((enum vq_role)role) && i < cast->count; i++) {
            uint32_t pools[VQ_POOLS_MAX];
            uint32_t n = vq_conf_uses_serve(&job->pools.uses, &cast->conf[i], pools);
            for (uint32_t p = 0; p < n; p++) {
                const struct vq_conf_use *use = &job->pools.uses.uses[pools[p]];
                if (strcmp(use->dialect, "gemini") == 0) {
                    return vq_fail(err, VQ_INVALID,
                                   "the column \"%.80s\" (data.image) holds %u URLs, and \"%.80s\" "
                                   "is asked in the gemini dialect, which takes no images by URL; "
                                   "download them, and put their paths into the column",
                                   job->config->data.image, job->images.urls, cast->conf[i].model);
                }
            }
        }
    }
    return VQ_OK;
}

static struct vq_span builtin_of(const struct vq_job *job, enum vq_template_kind kind)
{
    return job->config->judging.form == VQ_FORM_CLEAR ? vq_template_builtin_clear(kind)
                                                      : vq_template_builtin(kind);
}

static enum vq_status load_template(struct vq_job *job, const struct vq_run_dir *run,
                                    enum vq_template_kind kind, struct vq_error *err)
{
    const char *name = vq_template_file(kind);
    struct vq_buf text;
    vq_buf_init(&text, VQ_TEMPLATE_BYTES_MAX);
    char *path = NULL;
    enum vq_status status = VQ_OK;
    struct vq_span span = builtin_of(job, kind);
    char shown[VQ_RUN_PATH_BYTES_MAX];
    (void)snprintf(shown, sizeof(shown), "the built-in %s", name);
    if (run != NULL) {
        (void)snprintf(shown, sizeof(shown), "inputs/%s", name);
        status = vq_run_dir_read(run, shown, &text, err);
        span = vq_buf_span(&text);
    } else if (job->config->prompts_dir != NULL) {
        status = vq_path_join(job->config->prompts_dir, name, &path);
        if (status == VQ_OK) {
            (void)snprintf(shown, sizeof(shown), "%s", path);
            status = vq_file_read(path, VQ_TEMPLATE_BYTES_MAX, &text, err);
        }
        span = vq_buf_span(&text);
        if (status == VQ_NOT_FOUND) { /* a folder may replace some templates only */
            status = VQ_OK;
            span = builtin_of(job, kind);
        }
    }
    if (status == VQ_OK) {
        status = vq_template_parse(kind, span, shown, &job->templates[kind], err);
    }
    vq_free(path);
    vq_buf_free(&text);
    return status;
}

/* A folder may replace some of the templates. It must exist and replace at least one, because a
 * folder without any template is probably a mistake. */
static enum vq_status check_prompts_dir(const struct vq_job *job, struct vq_error *err)
{
    const char *dir = job->config->prompts_dir;
    struct vq_buf names;
    vq_buf_init(&names, VQ_ERROR_BYTES_MAX);
    bool found = false;
    enum vq_status status = VQ_OK;
    for (int k = 0; k < (int)VQ_TEMPLATE_FILES && status == VQ_OK; k++) {
        const char *name = vq_template_file((enum vq_template_kind)k);
        char *path = NULL;
        status = vq_path_join(dir, name, &path);
        found |= status == VQ_OK && access(path, F_OK) == 0;
        vq_buf_printf(&names, "%s%s", k == 0 ? "" : " or ", name);
        vq_free(path);
    }
    if (status == VQ_OK && !found) {
        status = vq_fail(err, VQ_NOT_FOUND,
                         "prompts.dir: %s has no %s; vibeq prompts export DIR writes them", dir,
                         names.at == NULL ? "template" : names.at);
    }
    vq_buf_free(&names);
    return status;
}

static void find_offline(struct vq_job *job)
{
    for (int role = 0; role < VQ_ROLE__COUNT; role++) {
        for (uint32_t i = 0; i < job->cast[role].count; i++) {
            job->needs_offline |= vq_role_models_is_offline(&job->cast[role].conf[i]);
        }
    }
}

static bool is_offline_name(const char *model)
{
    return strncmp(model, "offline-", strlen("offline-")) == 0;
}

/* A pool that sends `as: offline-a` is vibeq-offline too, whatever name the judge has. */
static bool is_answered_offline(const struct vq_conf_uses *uses, const struct vq_conf_judge *judge)
{
    uint32_t pools[VQ_POOLS_MAX];
    uint32_t count = vq_conf_uses_serve(uses, judge, pools);
    bool as = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct vq_conf_use *use = &uses->uses[pools[i]];
        as |= use->account != NULL && is_offline_name(use->sent);
    }
    return as || vq_role_models_is_offline(judge);
}

static enum vq_status load_cast(struct vq_job *job, struct vq_error *err)
{
    VQ_TRY(vq_run_pools_create(job->config, &job->pools, err));
    VQ_TRY(vq_role_models_all(job->config, &job->pools.uses, job->cast, err));
    uint32_t offline = 0, n = job->config->judges_count;
    for (uint32_t i = 0; i < n; i++) {
        offline += is_answered_offline(&job->pools.uses, &job->config->judges[i]);
    }
    find_offline(job);
    job->judge_kind = offline == 0                          ? "model"
                      : offline < n                         ? "mixed"
                      : job->config->offline.oracle != NULL ? "offline-oracle"
                                                            : "offline-lexical";
    return VQ_OK;
}

static enum vq_status check_image(const struct vq_job *job, const struct vq_template *template,
                                  enum vq_template_kind kind, struct vq_error *err)
{
    if (job->config->data.image != NULL || !vq_template_uses(template, VQ_PLACEHOLDER_IMAGE)) {
        return VQ_OK;
    }
    return vq_fail(err, VQ_INVALID,
                   "%s: {{image}} is used, and no column has images; name it with data.image",
                   vq_template_file(kind));
}

static enum vq_status load_templates(struct vq_job *job, const struct vq_run_dir *run,
                                     struct vq_error *err)
{
    if (run == NULL && job->config->prompts_dir != NULL) {
        VQ_TRY(check_prompts_dir(job, err));
    }
    const struct vq_conf_judging *judging = &job->config->judging;
    for (unsigned k = 0; k < VQ_TEMPLATE_FILES; k++) {
        bool unused = (k == VQ_TEMPLATE_REPAIR && !judging->repair) ||
                      (k == VQ_TEMPLATE_JUDGE_MANY && judging->vibes_per_call == 1);
        if (!unused) {
            VQ_TRY(load_template(job, run, (enum vq_template_kind)k, err));
            VQ_TRY(check_image(job, job->templates[k], (enum vq_template_kind)k, err));
        }
    }
    return vq_template_parse(VQ_TEMPLATE_AS_IS, vq_template_builtin(VQ_TEMPLATE_AS_IS),
                             vq_template_file(VQ_TEMPLATE_AS_IS),
                             &job->templates[VQ_TEMPLATE_AS_IS], err);
}

static enum vq_status build(struct vq_job *job, const struct vq_run_dir *run, struct vq_error *err)
{
    VQ_TRY(job->method->load(job, run, err));
    VQ_TRY(load_templates(job, run, err));
    VQ_TRY(load_cast(job, err));
    VQ_TRY(check_urls(job, err));
    return job->method->prepare == NULL ? VQ_OK : job->method->prepare(job, err);
}

int64_t vq_job_record(const struct vq_job *job, const struct vq_stage_grid *asking, uint32_t sample)
{
    if (asking->rows != NULL) {
        return job->dataset->samples[asking->rows[sample]].record;
    }
    return job->method->record == NULL ? -1 : job->method->record(job, asking, sample);
}

const char *vq_job_output(const struct vq_job *job, const struct vq_stage_grid *asking,
                          uint32_t sample)
{
    return job->method->output == NULL ? NULL : job->method->output(job, asking, sample);
}

enum vq_status vq_job_needs_rows(const struct vq_job *job, const char *verb, struct vq_error *err)
{
    return job->method->no_rows == NULL
               ? VQ_OK
               : vq_fail(err, VQ_INVALID, "%s is about the rows of a data file, and this is %s",
                         verb, job->method->no_rows);
}

enum vq_status vq_job_needs_vibes(const struct vq_job *job, const char *verb, struct vq_error *err)
{
    VQ_TRY(vq_job_needs_rows(job, verb, err));
    return job->method->no_vibes == NULL
               ? VQ_OK
               : vq_fail(err, VQ_INVALID, "%s is about vibes, and this is %s", verb,
                         job->method->no_vibes);
}

const char *vq_job_model(const struct vq_job *job, const struct vq_stage_grid *asking,
                         uint32_t sample, uint32_t side)
{
    bool ranks = asking->rows != NULL && vq_config_ranks(job->config);
    return job->config
        ->models[ranks ? job->dataset->samples[asking->rows[sample]].model[side] : side];
}

enum vq_status vq_job_needs_two(const struct vq_config *config, const char *verb,
                                struct vq_error *err)
{
    return !vq_config_ranks(config)
               ? VQ_OK
               : vq_fail(
                     err, VQ_INVALID,
                     "%s is about two models, and this run ranks %u; its rankings are in "
                     "results.json (ranking.matrix) and report.html, its comparisons in rows.csv",
                     verb, config->models_count);
}

struct vq_grid_source vq_job_source(const struct vq_job *job)
{
    return (struct vq_grid_source){.config = job->config,
                                   .pools = &job->pools,
                                   .roles = job->cast,
                                   .templates = job->templates,
                                   .samples = job->samples,
                                   .sample_ids = job->sample_ids,
                                   .generation = job->generation};
}

static enum vq_status make(struct vq_config *take_config, struct vq_job **ret_job,
                           struct vq_error *err)
{
    struct vq_job *job = vq_alloc(1, sizeof(*job));
    if (job == NULL) {
        vq_config_destroy(&take_config);
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    job->config = take_config;
    job->method = vq_method_type_of(take_config);
    vq_buf_init(&job->data[0], 0);
    vq_buf_init(&job->data[1], 0);
    *ret_job = job;
    return VQ_OK;
}

enum vq_status vq_job_add_discovery(struct vq_job *job, struct vq_error *err)
{
    VQ_TRY(vq_role_models_discovery(job->config, &job->pools.uses, job->cast, err));
    find_offline(job);
    return VQ_OK;
}

enum vq_status vq_job_create(struct vq_config *take_config, const struct vq_run_dir *run,
                             struct vq_job **ret_job, struct vq_error *err)
{
    struct vq_job *job = NULL;
    VQ_TRY(make(take_config, &job, err));
    enum vq_status status = build(job, run, err);
    if (status != VQ_OK) {
        vq_job_destroy(&job);
        return status;
    }
    *ret_job = job;
    return VQ_OK;
}

enum vq_status vq_job_create_bare(struct vq_config *take_config, struct vq_job **ret_job,
                                  struct vq_error *err)
{
    struct vq_job *job = NULL;
    VQ_TRY(make(take_config, &job, err));
    enum vq_status status = load_templates(job, NULL, err);
    if (status == VQ_OK) {
        status = load_cast(job, err);
    }
    if (status == VQ_OK) {
        status = vq_job_add_discovery(job, err);
    }
    if (status != VQ_OK) {
        vq_job_destroy(&job);
        return status;
    }
    *ret_job = job;
    return VQ_OK;
}

void vq_job_destroy(struct vq_job **job)
{
    struct vq_job *j = *job;
    if (j == NULL) {
        return;
    }
    vq_stage_grid_destroy(&j->given);
    vq_role_models_free(j->cast);
    vq_run_pools_free(&j->pools);
    for (int k = 0; k < VQ_TEMPLATE__COUNT; k++) {
        vq_template_destroy(&j->templates[k]);
    }
    if (j->own != NULL && j->method->unload != NULL) {
        j->method->unload(j);
    }
    vq_free(j->own);
    vq_dataset_destroy(&j->dataset);
    vq_images_free(&j->images);
    for (int i = 0; i < 2; i++) {
        vq_table_destroy(&j->tables[i]);
        vq_buf_free(&j->data[i]);
    }
    vq_config_destroy(&j->config);
    vq_free(j);
    *job = NULL;
}

enum vq_status vq_job_keep(const struct vq_job *job, const struct vq_run_dir *run,
                           struct vq_error *err)
{
    const char *path = job->config->data.path_abs;
    if (job->tables[0] != NULL) {
        VQ_TRY(vq_run_dir_keep(run, VQ_JOB_DATA_COPY, vq_buf_span(&job->data[0]),
                               strcmp(path, VQ_DATA_STDIN) == 0 ? "" : path, err));
    }
    if (job->config->data.test_path_abs != NULL) {
        VQ_TRY(vq_run_dir_keep(run, VQ_JOB_TEST_COPY, vq_buf_span(&job->data[1]),
                               job->config->data.test_path_abs, err));
    }
    VQ_TRY(vq_images_keep(&job->images, run, err));
    VQ_TRY(job->method->keep(job, run, err));
    for (int k = 0; k < (int)VQ_TEMPLATE_FILES; k++) {
        if (job->templates[k] == NULL) {
            continue;
        }
        const char *name = vq_template_file((enum vq_template_kind)k);
        char *from = NULL;
        if (job->config->prompts_dir != NULL) {
            VQ_TRY(vq_path_join(job->config->prompts_dir, name, &from));
        }
        enum vq_status status = vq_run_dir_keep(run, name, vq_template_text(job->templates[k]),
                                                from == NULL ? "" : from, err);
        vq_free(from);
        VQ_TRY(status);
    }
    char *yaml;
    size_t bytes;
    VQ_TRY(vq_config_write(job->config, &yaml, &bytes));
    VQ_CRASH_POINT(run_inputs_kept);
    enum vq_status status =
        vq_run_dir_write(run, VQ_RUN_BEGUN_FILE, vq_span(yaml, bytes), true, err);
    vq_free(yaml);
    return status;
}
