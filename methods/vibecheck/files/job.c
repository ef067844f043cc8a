/* The job of the VibeCheck method: pairs of outputs, the given vibes, people's labels, and the
 * method's registration. Invariant: the data set's order of rows is that of the samples. Not its
 * job: the steps (methods/vibecheck/steps). */
#include "methods/vibecheck/files/job.h"

#include "common/base/alloc.h"
#include "methods/files/method_type.h"
#include "methods/vibecheck/files/files.h"
#include "methods/vibecheck/files/human.h"
#include "methods/vibecheck/forecast.h"

const struct vq_vibecheck_job *vq_vibecheck_job_of(const struct vq_job *job)
{
    return job->method == &vq_vibecheck_method ? job->own : NULL;
}

/* An upper bound of the calls of one comparison: every judge, every vibe, in the orders that are
 * asked. */
static uint64_t calls_each(const struct vq_config *c)
{
    size_t vibes = c->vibes_count;
    if (c->method != VQ_METHOD_VIBES) {
        (void)vq_preset_axes(&vibes);
    }
    return (uint64_t)vibes * c->judges_count * (c->judging.pair_rule == VQ_PAIR_FORWARD ? 1 : 2);
}

static enum vq_status load_dataset(struct vq_job *job, struct vq_error *err)
{
    struct vq_dataset_settings settings = {.data = &job->config->data,
                                           .seed = job->config->seed,
                                           .pairs = job->config->pairs,
                                           .calls_each = calls_each(job->config)};
    memcpy(settings.models, job->config->models, sizeof(settings.models));
    VQ_TRY(vq_dataset_build(&settings, job->tables[0], job->tables[1], &job->dataset, err));
    for (uint32_t i = 0; i < vq_dataset_count(job->dataset); i++) {
        struct vq_data_row *row = &job->dataset->samples[i];
        VQ_TRY(vq_job_load_image(job, row->file, row->record, &row->image, err));
    }
    return VQ_OK;
}

static enum vq_status load_axes(const struct vq_job *job, struct vq_vibecheck_job *own)
{
    size_t n = job->config->vibes_count;
    const struct vq_axis *preset = NULL;
    if (job->config->method != VQ_METHOD_VIBES) {
        preset = vq_preset_axes(&n);
    }
    VQ_TRY(VQ_ARENA_ALLOC(&own->memory, own->axes, n));
    for (size_t i = 0; i < n; i++) {
        const struct vq_conf_axis *given = preset == NULL ? &job->config->vibes[i] : NULL;
        own->axes[i] =
            preset != NULL ? preset[i] : (struct vq_axis){given->name, given->low, given->high};
    }
    own->axes_count = (uint32_t)n;
    return VQ_OK;
}

struct vq_label_frame vq_vibecheck_label_frame(const struct vq_job *job, const struct vq_axis *axes,
                                               uint32_t axes_count)
{
    return (struct vq_label_frame){.dataset = job->dataset,
                                   .axes = axes,
                                   .axes_count = axes_count,
                                   .models = {job->config->models[0], job->config->models[1]},
                                   .seed = job->config->seed};
}

/* Names of vibes that will be discovered cannot be checked yet. */
static enum vq_status load_human(struct vq_job *job, const struct vq_run_dir *run,
                                 struct vq_error *err)
{
    struct vq_vibecheck_job *own = job->own;
    struct vq_label_frame frame = vq_vibecheck_label_frame(job, own->axes, own->axes_count);
    frame.other_vibes = job->config->method == VQ_METHOD_DISCOVER;
    return vq_human_load(&own->human, job->config, &frame, run, err);
}

/* With more than two models, a proposer sees only one pair of models at a time. */
static uint32_t topic_of(const struct vq_dataset *d, const struct vq_data_row *row)
{
    uint32_t pair = row->model[0] * VQ_MODELS_MAX + row->model[1];
    uint32_t group = d->groups_count > 0 ? row->group : 0;
    return vq_dataset_ranks(d) ? group * VQ_MODELS_MAX * VQ_MODELS_MAX + pair : group;
}

static enum vq_status fill_rows(struct vq_job *job)
{
    struct vq_vibecheck_job *own = job->own;
    const struct vq_dataset *d = job->dataset;
    uint32_t n = vq_dataset_count(d);
    VQ_TRY(VQ_ARENA_ALLOC(&own->memory, job->samples, n));
    VQ_TRY(VQ_ARENA_ALLOC(&own->memory, job->sample_ids, n));
    VQ_TRY(VQ_ARENA_ALLOC(&own->memory, own->rows, n));
    VQ_TRY(VQ_ARENA_ALLOC(&own->memory, own->train, d->train_count));
    if (d->groups_count > 0 || vq_dataset_ranks(d)) {
        VQ_TRY(VQ_ARENA_ALLOC(&own->memory, own->topics, n));
    }
    job->samples_count = n;
    for (uint32_t i = 0; i < d->train_count; i++) {
        own->train[i] = i; /* the data set has the rows in seeded order */
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct vq_data_row *row = &d->samples[i];
        job->samples[i] = (struct vq_sample){
            .prompt = row->prompt, .a = row->a, .b = row->b, .image = row->image};
        if (own->topics != NULL) {
            own->topics[i] = topic_of(d, row);
        }
        vq_sample_identify(&job->samples[i], &job->sample_ids[i]);
        bool vote = row->preference == VQ_PREFER_A || row->preference == VQ_PREFER_B;
        uint32_t before = row->file == 1 ? d->records_read[0] : 0;
        own->rows[i] = (struct vq_row){.group = row->question,
                                       .record = before + row->record,
                                       .model = {row->model[0], row->model[1]},
                                       .preference = vote ? row->preference : (int8_t)0,
                                       .test = row->split == VQ_SPLIT_TEST};
    }
    return VQ_OK;
}

static enum vq_status ask_given(struct vq_job *job, struct vq_error *err)
{
    const struct vq_vibecheck_job *own = vq_vibecheck_job_of(job);
    uint32_t *rows;
    VQ_TRY(VQ_ALLOC(rows, job->samples_count));
    for (uint32_t i = 0; i < job->samples_count; i++) {
        rows[i] = i;
    }
    struct vq_stage stage = {.name = "rank",
                             .kind = VQ_STAGE_RANK,
                             .role = VQ_ROLE_JUDGE,
                             .rows = rows,
                             .rows_count = job->samples_count,
                             .axes = own->axes,
                             .axes_count = own->axes_count};
    struct vq_grid_source source = vq_job_source(job);
    enum vq_status status = vq_stage_grid_create(&source, &stage, &job->given, err);
    vq_free(rows);
    return status;
}

static enum vq_status load(struct vq_job *job, const struct vq_run_dir *run, struct vq_error *err)
{
    struct vq_vibecheck_job *own;
    VQ_TRY(VQ_ALLOC(own, 1));
    job->own = own;
    VQ_TRY(vq_job_load_tables(job, run, err));
    VQ_TRY(load_dataset(job, err));
    VQ_TRY(load_axes(job, own));
    return load_human(job, run, err);
}

static enum vq_status prepare(struct vq_job *job, struct vq_error *err)
{
    VQ_TRY(fill_rows(job));
    if (job->config->method == VQ_METHOD_DISCOVER || job->config->vibecheck.question_types) {
        VQ_TRY(vq_job_add_discovery(job, err));
    }
    return ask_given(job, err);
}

static enum vq_status keep(const struct vq_job *job, const struct vq_run_dir *run,
                           struct vq_error *err)
{
    return vq_human_keep(&vq_vibecheck_job_of(job)->human, job->config, run, err);
}

static void unload(struct vq_job *job)
{
    struct vq_vibecheck_job *own = job->own;
    vq_human_free(&own->human);
    vq_arena_clear(&own->memory);
}

/* Whether the data itself has a label for either model. */
static bool has_labels(const struct vq_job *job)
{
    const uint32_t(*preferred)[4] = job->dataset->preferred;
    return preferred[0][0] + preferred[0][2] + preferred[1][0] + preferred[1][2] > 0;
}

void vq_vibecheck_job_input(const struct vq_job *job, struct vq_vibecheck_method_input *ret_input)
{
    const struct vq_dataset *d = job->dataset;
    const struct vq_vibecheck_job *own = vq_vibecheck_job_of(job);
    *ret_input = (struct vq_vibecheck_method_input){
        .config = job->config,
        .samples = job->samples,
        .sample_ids = job->sample_ids,
        .judges = job->cast[VQ_ROLE_JUDGE].judges,
        .rows = own->rows,
        .rows_count = job->samples_count,
        .topics = own->topics,
        .train = own->train,
        .train_count = d->train_count,
        .has_preferences = has_labels(job),
        .judges_count = job->cast[VQ_ROLE_JUDGE].count,
        .preference_judges_count = job->cast[VQ_ROLE_PREFERENCE_JUDGE].count,
        .first_order = job->given->first_order,
        .embedder = job->cast[VQ_ROLE_EMBEDDER].count > 0,
        .templates = (const struct vq_template *const *)job->templates};
}

/* ---- the script ---- */

static enum vq_status open_script(const struct vq_job *job, void **ret_state,
                                  struct vq_script *ret_script, struct vq_error *err)
{
    struct vq_vibecheck_method_input input;
    struct vq_vibecheck_method *method;
    vq_vibecheck_job_input(job, &input);
    VQ_TRY(vq_vibecheck_method_create(&input, &method, err));
    *ret_state = method;
    *ret_script = vq_vibecheck_script(method);
    return VQ_OK;
}

static void close_script(void *state)
{
    struct vq_vibecheck_method *method = state;
    vq_vibecheck_method_destroy(&method);
}

static uint32_t stages(const struct vq_job *job, const void *state,
                       const struct vq_forecast_seen *seen, struct vq_forecast_stage *ret_stages)
{
    (void)state;
    struct vq_vibecheck_method_input input;
    vq_vibecheck_job_input(job, &input);
    struct vq_vibecheck_facts facts = {.config = job->config,
                                       .train = job->dataset->train_count,
                                       .test = job->samples_count - job->dataset->train_count,
                                       .axes = vq_vibecheck_job_of(job)->axes_count,
                                       .labels = job->config->preference == VQ_PREFERENCE_JUDGE &&
                                                 !input.has_preferences,
                                       .embedder = input.embedder,
                                       .seen = *seen};
    return vq_vibecheck_forecast(&facts, ret_stages);
}

/* The vibes that are tested on the rows that decide: at most the final vibes. */
static enum vq_status power(const struct vq_job *job, struct vq_power *ret_power)
{
    const struct vq_conf_vibecheck *c = &job->config->vibecheck;
    if (vq_config_ranks(job->config)) { /* the power model is for two models */
        return VQ_OK;
    }
    uint32_t vibes = job->config->method == VQ_METHOD_DISCOVER
                         ? c->num_eval_vibes * c->iterations
                         : vq_vibecheck_job_of(job)->axes_count;
    vibes = c->num_final_vibes > 0 && c->num_final_vibes < vibes ? c->num_final_vibes : vibes;
    bool split = job->samples_count > job->dataset->train_count;
    uint32_t *groups;
    VQ_TRY(VQ_ALLOC(groups, job->samples_count));
    size_t n = 0;
    const struct vq_row *row = vq_vibecheck_job_of(job)->rows;
    for (uint32_t i = 0; i < job->samples_count; i++) {
        if (!row[i].excluded && row[i].test == split) {
            groups[n++] = row[i].group;
        }
    }
    size_t units = vq_power_units(groups, n);
    vq_free(groups);
    if (units == SIZE_MAX) {
        return VQ_NOMEM;
    }
    *ret_power = vq_power_plan(units, vibes > 0 ? vibes : 1);
    return VQ_OK;
}

/* Without discovery the vibes are known, and the first stage ranks them, so its name adds
 * nothing. */
static bool is_first_implied(const struct vq_job *job)
{
    return job->config->method != VQ_METHOD_DISCOVER;
}

/* After given vibes the presets are ranked, unless answers may stop the ranking early. */
static bool is_next_known(const struct vq_job *job, const struct vq_stage *stage)
{
    const struct vq_config *c = job->config;
    return stage->kind == VQ_STAGE_RANK && strcmp(stage->name, "rank") == 0 &&
           c->method == VQ_METHOD_VIBES && c->vibecheck.compare_presets &&
           c->judging.early_stop == VQ_EARLY_STOP_OFF;
}

static const char *const tables[] = {"vibes", "scores", "rows", NULL};

const struct vq_method_type vq_vibecheck_method = {.load = load,
                                                   .prepare = prepare,
                                                   .keep = keep,
                                                   .unload = unload,
                                                   .open = open_script,
                                                   .close = close_script,
                                                   .is_first_implied = is_first_implied,
                                                   .results = vq_vibecheck_results,
                                                   .tables = tables,
                                                   .stages = stages,
                                                   .is_next_known = is_next_known,
                                                   .power = power,
                                                   .show_size = vq_vibecheck_show_size,
                                                   .show_size_json = vq_vibecheck_show_size_json,
                                                   .show_data = vq_vibecheck_show_data,
                                                   .show_calls = vq_vibecheck_show_calls};
