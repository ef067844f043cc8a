/* Builds a job in the order in which things can be wrong: files, table, columns and rows,
 * templates, axes, judges, grid. Owns everything in it; nothing in it changes while a run goes on,
 * so that the thread pool may read it. Not its job: deciding whether to go on (the verbs), or
 * talking to anybody. */
#include "methods/files/job.h"

#include "common/base/alloc.h"
#include "common/base/crash.h"
#include "common/pack/data_file.h"
#include "common/text/file.h"

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

/* Of one comparison, at most: every judge, every vibe, in the orders that are asked. */
static uint64_t calls_each(const struct vq_config *c)
{
    size_t vibes = c->vibes_count;
    if (c->method != VQ_METHOD_VIBES) {
        (void)vq_preset_axes(&vibes);
    }
    return (uint64_t)vibes * c->judges_count * (c->judging.pair_rule == VQ_PAIR_FORWARD ? 1 : 2);
}

static enum vq_status load_data(struct vq_job *job, const struct vq_run_dir *run,
                                struct vq_error *err)
{
    if (job->config->method == VQ_METHOD_PERSONA) {
        return vq_persona_job_load(&job->persona, job->config, run, err);
    }
    VQ_TRY(load_table(job, run, 0, err));
    VQ_TRY(load_table(job, run, 1, err));
    if (job->config->method == VQ_METHOD_JUDGE) {
        return vq_rubric_job_load(&job->rubric, job->config, job->tables[0], run, err);
    }
    struct vq_dataset_settings settings = {.data = &job->config->data,
                                           .seed = job->config->seed,
                                           .pairs = job->config->pairs,
                                           .calls_each = calls_each(job->config)};
    memcpy(settings.models, job->config->models, sizeof(settings.models));
    return vq_dataset_build(&settings, job->tables[0], job->tables[1], &job->dataset, err);
}

static enum vq_status load_image(struct vq_job *job, unsigned file, uint32_t record,
                                 struct vq_span *image, struct vq_error *err)
{
    const struct vq_conf_data *d = &job->config->data;
    struct vq_image_from from = {.data_path = file == 0 ? d->path_abs : d->test_path_abs,
                                 .file = file,
                                 .line = job->tables[file]->lines[record - 1]};
    return image->bytes == 0 ? VQ_OK : vq_images_load(&job->images, &from, image, err);
}

static enum vq_status load_images(struct vq_job *job, const struct vq_run_dir *run,
                                  struct vq_error *err)
{
    if (job->config->data.image == NULL) {
        return VQ_OK;
    }
    VQ_TRY(run == NULL ? VQ_OK : vq_images_recall(&job->images, run, err));
    for (uint32_t i = 0; job->dataset != NULL && i < vq_dataset_count(job->dataset); i++) {
        struct vq_data_row *row = &job->dataset->samples[i];
        VQ_TRY(load_image(job, row->file, row->record, &row->image, err));
    }
    struct vq_rubric_data *rated = job->rubric.data;
    for (uint32_t i = 0; rated != NULL && i < rated->rows_count; i++) {
        VQ_TRY(load_image(job, 0, rated->rows[i].record, &rated->rows[i].image, err));
    }
    return VQ_OK;
}

/* Who judges rows, and with them their images. */
static bool sees_images(enum vq_role role)
{
    return role == VQ_ROLE_JUDGE || role == VQ_ROLE_PREFERENCE_JUDGE;
}

/* Gemini's API fetches nothing from the web. */
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

/* A folder may replace some of the templates, but not be missing, nor replace none by a mistake. */
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
                         "prompts.dir: %s holds no %s; vibeq prompts export DIR writes them", dir,
                         names.at == NULL ? "template" : names.at);
    }
    vq_buf_free(&names);
    return status;
}

static enum vq_status load_axes(struct vq_job *job)
{
    size_t n = job->config->vibes_count;
    const struct vq_axis *preset = NULL;
    if (job->config->method != VQ_METHOD_VIBES) {
        preset = vq_preset_axes(&n);
    }
    job->axes = vq_alloc(n, sizeof(*job->axes));
    if (job->axes == NULL) {
        return VQ_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        const struct vq_conf_axis *own = preset == NULL ? &job->config->vibes[i] : NULL;
        job->axes[i] =
            preset != NULL ? preset[i] : (struct vq_axis){own->name, own->low, own->high};
    }
    job->axes_count = (uint32_t)n;
    return VQ_OK;
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

/* Also under another name: a pool that sends `as: offline-a` is vibeq-offline, whatever the judge
 * is called. */
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

/* Of more than two models a proposer sees one pair of them at a time. */
static uint32_t topic_of(const struct vq_dataset *d, const struct vq_data_row *row)
{
    uint32_t pair = row->model[0] * VQ_MODELS_MAX + row->model[1];
    uint32_t group = d->groups_count > 0 ? row->group : 0;
    return vq_dataset_ranks(d) ? group * VQ_MODELS_MAX * VQ_MODELS_MAX + pair : group;
}

static enum vq_status fill_rows(struct vq_job *job)
{
    const struct vq_dataset *d = job->dataset;
    uint32_t n = vq_dataset_count(d);
    job->samples = vq_alloc(n, sizeof(*job->samples));
    job->sample_ids = vq_alloc(n, sizeof(*job->sample_ids));
    job->rows = vq_alloc(n, sizeof(*job->rows));
    job->train = vq_alloc(d->train_count, sizeof(*job->train));
    bool topics = d->groups_count > 0 || vq_dataset_ranks(d);
    job->topics = topics ? vq_alloc(n, sizeof(*job->topics)) : NULL;
    if (job->samples == NULL || job->sample_ids == NULL || job->rows == NULL ||
        job->train == NULL || (topics && job->topics == NULL)) {
        return VQ_NOMEM;
    }
    job->samples_count = n;
    for (uint32_t i = 0; i < d->train_count; i++) {
        job->train[i] = i; /* the data set has them in seeded order already */
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct vq_data_row *row = &d->samples[i];
        job->samples[i] = (struct vq_sample){
            .prompt = row->prompt, .a = row->a, .b = row->b, .image = row->image};
        if (job->topics != NULL) {
            job->topics[i] = topic_of(d, row);
        }
        vq_sample_identify(&job->samples[i], &job->sample_ids[i]);
        bool vote = row->preference == VQ_PREFER_A || row->preference == VQ_PREFER_B;
        uint32_t before = row->file == 1 ? d->records_read[0] : 0;
        job->rows[i] = (struct vq_row){.group = row->question,
                                       .record = before + row->record,
                                       .model = {row->model[0], row->model[1]},
                                       .preference = vote ? row->preference : (int8_t)0,
                                       .test = row->split == VQ_SPLIT_TEST};
    }
    return VQ_OK;
}

static enum vq_status ask_given(struct vq_job *job, struct vq_error *err)
{
    uint32_t *rows = vq_alloc(job->samples_count, sizeof(*rows));
    if (rows == NULL) {
        return VQ_NOMEM;
    }
    for (uint32_t i = 0; i < job->samples_count; i++) {
        rows[i] = i;
    }
    struct vq_stage stage = {.name = "rank",
                             .kind = VQ_STAGE_RANK,
                             .role = VQ_ROLE_JUDGE,
                             .rows = rows,
                             .rows_count = job->samples_count,
                             .axes = job->axes,
                             .axes_count = job->axes_count};
    struct vq_grid_source source = vq_job_source(job);
    enum vq_status status = vq_stage_grid_create(&source, &stage, &job->given, err);
    vq_free(rows);
    return status;
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

enum vq_status vq_job_give(struct vq_job *job, uint32_t criterion, struct vq_error *err)
{
    struct vq_rubric *rubric;
    struct vq_stage_grid *given = NULL;
    VQ_TRY(vq_rubric_job_make(&job->rubric, job->config, job->cast[VQ_ROLE_JUDGE].count, &rubric,
                              err));
    struct vq_grid_source source = vq_job_source(job);
    enum vq_status status =
        vq_stage_grid_create(&source, vq_rubric_stage_of(rubric, criterion), &given, err);
    vq_rubric_destroy(&rubric); /* what the asking borrows are texts of the table */
    if (status == VQ_OK) {
        vq_stage_grid_destroy(&job->given);
        job->given = given;
    }
    return status;
}

struct vq_label_frame vq_job_label_frame(const struct vq_job *job, const struct vq_axis *axes,
                                         uint32_t axes_count)
{
    return (struct vq_label_frame){.dataset = job->dataset,
                                   .axes = axes,
                                   .axes_count = axes_count,
                                   .models = {job->config->models[0], job->config->models[1]},
                                   .seed = job->config->seed};
}

/* The names of vibes that are yet to be discovered cannot be checked. */
static enum vq_status load_human(struct vq_job *job, const struct vq_run_dir *run,
                                 struct vq_error *err)
{
    struct vq_label_frame frame = vq_job_label_frame(job, job->axes, job->axes_count);
    frame.other_vibes = job->config->method == VQ_METHOD_DISCOVER;
    return vq_human_load(&job->human, job->config, &frame, run, err);
}

static enum vq_status build(struct vq_job *job, const struct vq_run_dir *run, struct vq_error *err)
{
    VQ_TRY(load_data(job, run, err));
    VQ_TRY(load_images(job, run, err));
    VQ_TRY(load_templates(job, run, err));
    if (job->config->method == VQ_METHOD_PERSONA) {
        return load_cast(job, err);
    }
    if (job->config->method == VQ_METHOD_JUDGE) {
        VQ_TRY(load_cast(job, err));
        VQ_TRY(check_urls(job, err));
        return vq_job_give(job, 0, err);
    }
    VQ_TRY(load_axes(job));
    VQ_TRY(load_human(job, run, err));
    VQ_TRY(load_cast(job, err));
    VQ_TRY(check_urls(job, err));
    VQ_TRY(fill_rows(job));
    return ask_given(job, err);
}

/* A label of the data's own, for either model. */
static bool has_labels(const struct vq_job *job)
{
    const uint32_t(*preferred)[4] = job->dataset->preferred;
    return preferred[0][0] + preferred[0][2] + preferred[1][0] + preferred[1][2] > 0;
}

int64_t vq_job_record(const struct vq_job *job, const struct vq_stage_grid *asking, uint32_t sample)
{
    if (asking->rows != NULL) {
        return job->dataset->samples[asking->rows[sample]].record;
    }
    if (!vq_stage_rates(asking->kind) || job->config->method != VQ_METHOD_JUDGE) {
        return -1;
    }
    uint32_t outputs = asking->kind == VQ_STAGE_PAIRWISE ? 1 : job->config->models_count;
    return job->rubric.data->rows[sample / outputs].record;
}

const char *vq_job_output(const struct vq_job *job, const struct vq_stage_grid *asking,
                          uint32_t sample)
{
    bool one = job->config->method == VQ_METHOD_JUDGE && vq_stage_rates(asking->kind) &&
               asking->kind != VQ_STAGE_PAIRWISE;
    return one ? job->config->models[sample % job->config->models_count] : NULL;
}

enum vq_status vq_job_needs_rows(const struct vq_job *job, const char *verb, struct vq_error *err)
{
    return job->config->method != VQ_METHOD_PERSONA
               ? VQ_OK
               : vq_fail(err, VQ_INVALID,
                         "%s is about the rows of a data file, and this is method: persona, which "
                         "makes its own data; its dialogues are in dialogues.jsonl, its ratings in "
                         "ratings.csv, its numbers in results.json",
                         verb);
}

enum vq_status vq_job_needs_vibes(const struct vq_job *job, const char *verb, struct vq_error *err)
{
    VQ_TRY(vq_job_needs_rows(job, verb, err));
    return job->config->method != VQ_METHOD_JUDGE
               ? VQ_OK
               : vq_fail(err, VQ_INVALID,
                         "%s is about vibes, and this is method: judge, which rates outputs by "
                         "criteria and has none; its numbers are in results.json and report.html, "
                         "its ratings in ratings.csv",
                         verb);
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

void vq_job_method_input(const struct vq_job *job, struct vq_method_input *ret_input)
{
    const struct vq_dataset *d = job->dataset;
    *ret_input = (struct vq_method_input){
        .config = job->config,
        .samples = job->samples,
        .sample_ids = job->sample_ids,
        .judges = job->cast[VQ_ROLE_JUDGE].judges,
        .rows = job->rows,
        .rows_count = job->samples_count,
        .topics = job->topics,
        .train = job->train,
        .train_count = d->train_count,
        .has_preferences = has_labels(job),
        .judges_count = job->cast[VQ_ROLE_JUDGE].count,
        .preference_judges_count = job->cast[VQ_ROLE_PREFERENCE_JUDGE].count,
        .first_order = job->given->first_order,
        .embedder = job->cast[VQ_ROLE_EMBEDDER].count > 0,
        .templates = (const struct vq_template *const *)job->templates};
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
    vq_buf_init(&job->data[0], 0);
    vq_buf_init(&job->data[1], 0);
    vq_buf_init(&job->human.bytes, 0);
    *ret_job = job;
    return VQ_OK;
}

enum vq_status vq_job_add_other_roles(struct vq_job *job, struct vq_error *err)
{
    VQ_TRY(vq_role_models_rest(job->config, &job->pools.uses, job->cast, err));
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
        status = vq_job_add_other_roles(job, err);
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
    vq_free(j->axes);
    vq_free(j->samples);
    vq_free(j->sample_ids);
    vq_free(j->rows);
    vq_free(j->train);
    vq_free(j->topics);
    for (int k = 0; k < VQ_TEMPLATE__COUNT; k++) {
        vq_template_destroy(&j->templates[k]);
    }
    vq_rubric_job_free(&j->rubric, j->config);
    vq_persona_job_free(&j->persona);
    vq_dataset_destroy(&j->dataset);
    vq_images_free(&j->images);
    vq_human_free(&j->human);
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
    if (job->config->method == VQ_METHOD_PERSONA) {
        VQ_TRY(vq_persona_job_keep(&job->persona, run, err));
    } else {
        const char *path = job->config->data.path_abs;
        VQ_TRY(vq_run_dir_keep(run, VQ_JOB_DATA_COPY, vq_buf_span(&job->data[0]),
                               strcmp(path, VQ_DATA_STDIN) == 0 ? "" : path, err));
    }
    if (job->config->data.test_path_abs != NULL) {
        VQ_TRY(vq_run_dir_keep(run, VQ_JOB_TEST_COPY, vq_buf_span(&job->data[1]),
                               job->config->data.test_path_abs, err));
    }
    VQ_TRY(vq_images_keep(&job->images, run, err));
    VQ_TRY(vq_human_keep(&job->human, job->config, run, err));
    for (int k = 0; k < (int)VQ_TEMPLATE_FILES; k++) {
        if (job->templates[k] == NULL) {
            continue;
        }
        const char *name = vq_template_file((enum vq_template_kind)k);
        char *path = NULL;
        if (job->config->prompts_dir != NULL) {
            VQ_TRY(vq_path_join(job->config->prompts_dir, name, &path));
        }
        enum vq_status status = vq_run_dir_keep(run, name, vq_template_text(job->templates[k]),
                                                path == NULL ? "" : path, err);
        vq_free(path);
        VQ_TRY(status);
    }
    if (job->config->method == VQ_METHOD_JUDGE) {
        VQ_TRY(vq_rubric_job_keep(&job->rubric, job->config, run, err));
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
