/* Builds a job in the order in which things can be wrong: files, table, columns and rows, templates, axes, judges, grid. Owns
 * everything in it; nothing in it changes while a run goes on, so that the thread pool may read it. Not its job: deciding
 * whether to go on (the verbs), or talking to anybody. */
#include "coordinator/shell/job.h"

#include "common/base/alloc.h"
#include "common/net/http.h"
#include "common/text/file.h"
#include "proto/wire.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_TOKENS_GUESS 120.0
#define ESTIMATE_ROWS       64u

static enum vq_status read_bytes(const struct vq_run_dir *run, const char *copy, const char *path,
                                 struct vq_buf *ret_bytes, struct vq_error *err)
{
    if (run == NULL) {
        return vq_file_read(path, VQ_JOB_DATA_BYTES_MAX, ret_bytes, err);
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
    enum vq_table_format format;
    VQ_TRY(vq_table_format_of(d->format, path, vq_buf_span(&job->data[which]), &format, err));
    return vq_table_parse(vq_buf_span(&job->data[which]), format, path, &job->tables[which], err);
}

static enum vq_status load_data(struct vq_job *job, const struct vq_run_dir *run,
                                struct vq_error *err)
{
    VQ_TRY(load_table(job, run, 0, err));
    VQ_TRY(load_table(job, run, 1, err));
    struct vq_dataset_settings settings = {
        .data = &job->config->data,
        .models = {job->config->models[0], job->config->models[1]},
        .seed = job->config->seed};
    return vq_dataset_build(&settings, job->tables[0], job->tables[1], &job->dataset, err);
}

static enum vq_status load_template(struct vq_job *job, const struct vq_run_dir *run,
                                    enum vq_template_kind kind, struct vq_error *err)
{
    const char *name = vq_template_file(kind);
    struct vq_buf text;
    vq_buf_init(&text, VQ_TEMPLATE_BYTES_MAX);
    char *path = NULL;
    enum vq_status status = VQ_OK;
    struct vq_span span = vq_template_builtin(kind);
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
            span = vq_template_builtin(kind);
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
    if (job->config->method == VQ_METHOD_PRESET) {
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
    job->plan.grid.vibes = (uint32_t)n;
    return VQ_OK;
}

/* What the provider is, for the request hash: host and path, without scheme; the built-in server is its seed and what it was told
 * to say, never its port. */
static enum vq_status identity_of(const struct vq_job *job, const struct vq_conf_judge *judge,
                                  char **ret_identity, struct vq_error *err)
{
    if (judge->identity != NULL) {
        *ret_identity = vq_strdup(judge->identity);
        return *ret_identity == NULL ? VQ_NOMEM : VQ_OK;
    }
    struct vq_buf text;
    vq_buf_init(&text, VQ_HTTP_URL_BYTES_MAX);
    if (judge->base_url != NULL) {
        const char *host = strstr(judge->base_url, "://");
        vq_buf_puts(&text, host == NULL ? judge->base_url : host + 3);
        while (text.bytes > 0 && text.at[text.bytes - 1] == '/') {
            text.at[--text.bytes] = '\0';
        }
    } else {
        vq_buf_printf(&text, "offline/%llu", (unsigned long long)job->config->offline.seed);
        const char *const files[] = {job->config->offline.oracle, job->config->offline.faults};
        for (size_t i = 0; i < VQ_COUNT(files); i++) {
            if (files[i] == NULL) {
                continue;
            }
            struct vq_buf bytes;
            enum vq_status status = vq_file_read(files[i], VQ_JOB_DATA_BYTES_MAX, &bytes, err);
            if (status != VQ_OK) {
                vq_buf_free(&text);
                return status;
            }
            struct vq_hash hash;
            vq_hash_of("vq-offline-file", vq_buf_span(&bytes), &hash);
            char hex[VQ_HEX_BYTES(8)];
            vq_hex(hash.b, 8, hex);
            vq_buf_printf(&text, "/%s", hex);
            vq_buf_free(&bytes);
        }
    }
    *ret_identity = text.status == VQ_OK ? vq_strndup(text.at, text.bytes) : NULL;
    vq_buf_free(&text);
    return *ret_identity == NULL ? VQ_NOMEM : VQ_OK;
}

static enum vq_status load_judges(struct vq_job *job, struct vq_error *err)
{
    uint32_t n = job->config->judges_count;
    job->judges = vq_alloc(n, sizeof(*job->judges));
    job->identities = vq_alloc(n, sizeof(*job->identities));
    job->askers = vq_alloc(n, sizeof(*job->askers));
    if (job->judges == NULL || job->identities == NULL || job->askers == NULL) {
        return VQ_NOMEM;
    }
    uint32_t offline = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct vq_conf_judge *c = &job->config->judges[i];
        VQ_TRY(identity_of(job, c, &job->identities[i], err));
        offline += c->base_url == NULL;
        job->judges[i] = (struct vq_judge){.name = c->name,
                                           .model = c->model,
                                           .dialect = c->dialect,
                                           .identity = job->identities[i],
                                           .temperature = c->temperature,
                                           .send_temperature = c->send_temperature,
                                           .max_tokens = c->max_tokens,
                                           .max_tokens_field = c->max_tokens_field,
                                           .seed = c->seed,
                                           .truncate = job->config->judging.truncate};
        vq_asker_init(&job->askers[i], &job->judges[i], job->templates[VQ_TEMPLATE_JUDGE],
                      job->templates[VQ_TEMPLATE_REPAIR]);
    }
    job->needs_offline = offline > 0;
    job->judge_kind = offline == 0                          ? "model"
                      : offline < n                         ? "mixed"
                      : job->config->offline.oracle != NULL ? "offline-oracle"
                                                            : "offline-lexical";
    job->plan.grid.judges = n;
    return VQ_OK;
}

static enum vq_status fill_rows(struct vq_job *job)
{
    const struct vq_dataset *d = job->dataset;
    uint32_t n = vq_dataset_count(d);
    uint32_t judges = job->plan.grid.judges;
    job->samples = vq_alloc(n, sizeof(*job->samples));
    job->sample_ids = vq_alloc(n, sizeof(*job->sample_ids));
    job->rows = vq_alloc(n, sizeof(*job->rows));
    job->first_order = vq_alloc((size_t)n * judges, 1);
    if (job->samples == NULL || job->sample_ids == NULL || job->rows == NULL ||
        job->first_order == NULL) {
        return VQ_NOMEM;
    }
    bool forward = job->config->judging.pair_rule == VQ_PAIR_FORWARD;
    for (uint32_t i = 0; i < n; i++) {
        const struct vq_data_row *row = &d->samples[i];
        job->samples[i] = (struct vq_sample){row->prompt, row->a, row->b};
        vq_sample_identify(&job->samples[i], &job->sample_ids[i]);
        bool vote = row->preference == VQ_PREFER_A || row->preference == VQ_PREFER_B;
        job->rows[i] = (struct vq_row){.group = row->question,
                                       .preference = vote ? row->preference : (int8_t)0,
                                       .test = row->split == VQ_SPLIT_TEST};
        for (uint32_t j = 0; j < judges; j++) {
            job->first_order[(size_t)i * judges + j] =
                forward ? 0 : (uint8_t)vq_first_order(&job->sample_ids[i], &job->judges[j]);
        }
    }
    job->plan.first_order = job->first_order;
    return VQ_OK;
}

static enum vq_status build(struct vq_job *job, const struct vq_run_dir *run, struct vq_error *err)
{
    VQ_TRY(load_data(job, run, err));
    if (run == NULL && job->config->prompts_dir != NULL) {
        VQ_TRY(check_prompts_dir(job, err));
    }
    for (unsigned k = 0; k < VQ_TEMPLATE_FILES; k++) {
        if (k != VQ_TEMPLATE_REPAIR || job->config->judging.repair) {
            VQ_TRY(load_template(job, run, (enum vq_template_kind)k, err));
        }
    }
    VQ_TRY(load_axes(job));
    VQ_TRY(load_judges(job, err));
    VQ_TRY(fill_rows(job));
    job->plan.grid.samples = vq_dataset_count(job->dataset);
    job->plan.samples = job->sample_ids;
    job->plan.askers = job->askers;
    job->plan.axes = job->axes;
    job->plan.audit_share = job->config->judging.audit_share;
    job->plan.swap = job->config->judging.pair_rule == VQ_PAIR_FORWARD ? VQ_SWAP_NONE
                     : job->config->judging.lazy_swap                  ? VQ_SWAP_LAZY
                                                                       : VQ_SWAP_BOTH;
    return VQ_OK;
}

enum vq_status vq_job_create(struct vq_config *take_config, const struct vq_run_dir *run,
                             struct vq_job **ret_job, struct vq_error *err)
{
    struct vq_job *job = vq_alloc(1, sizeof(*job));
    if (job == NULL) {
        vq_config_destroy(&take_config);
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    job->config = take_config;
    vq_buf_init(&job->data[0], 0);
    vq_buf_init(&job->data[1], 0);
    enum vq_status status = build(job, run, err);
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
    for (uint32_t i = 0; j->identities != NULL && i < j->config->judges_count; i++) {
        vq_free(j->identities[i]);
    }
    vq_free(j->identities);
    vq_free(j->askers);
    vq_free(j->judges);
    vq_free(j->axes);
    vq_free(j->samples);
    vq_free(j->sample_ids);
    vq_free(j->rows);
    vq_free(j->first_order);
    for (int k = 0; k < (int)VQ_TEMPLATE_FILES; k++) {
        vq_template_destroy(&j->templates[k]);
    }
    vq_dataset_destroy(&j->dataset);
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
    VQ_TRY(vq_run_dir_keep(run, VQ_JOB_DATA_COPY, vq_buf_span(&job->data[0]),
                           job->config->data.path_abs, err));
    if (job->config->data.test_path_abs != NULL) {
        VQ_TRY(vq_run_dir_keep(run, VQ_JOB_TEST_COPY, vq_buf_span(&job->data[1]),
                               job->config->data.test_path_abs, err));
    }
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
    char *yaml;
    size_t bytes;
    VQ_TRY(vq_config_write(job->config, &yaml, &bytes));
    enum vq_status status = vq_run_dir_write(run, "run.yaml", vq_span(yaml, bytes), true, err);
    vq_free(yaml);
    return status;
}

enum vq_status vq_job_spec(const struct vq_job *job, const char *offline_url,
                           struct vq_buf *ret_body, struct vq_hash *ret_hash)
{
    const struct vq_config *c = job->config;
    struct vq_spec_axis *axes = vq_alloc(job->plan.grid.vibes, sizeof(*axes));
    struct vq_spec_judge *judges = vq_alloc(c->judges_count, sizeof(*judges));
    enum vq_status status = VQ_NOMEM;
    if (axes == NULL || judges == NULL) {
        goto done;
    }
    for (uint32_t v = 0; v < job->plan.grid.vibes; v++) {
        axes[v] =
            (struct vq_spec_axis){vq_span_str(job->axes[v].name), vq_span_str(job->axes[v].low),
                                  vq_span_str(job->axes[v].high)};
    }
    for (uint32_t i = 0; i < c->judges_count; i++) {
        const struct vq_conf_judge *j = &c->judges[i];
        judges[i] = (struct vq_spec_judge){
            .name = vq_span_str(j->name),
            .model = vq_span_str(j->model),
            .dialect = vq_span_str(j->dialect),
            .base_url = vq_span_str(j->base_url != NULL ? j->base_url : offline_url),
            .identity = vq_span_str(job->identities[i]),
            .max_tokens_field = vq_span_str(j->max_tokens_field),
            .key = vq_span_str(j->key),
            .temperature = j->temperature,
            .send_temperature = j->send_temperature,
            .max_tokens = j->max_tokens,
            .seed = j->seed,
            .tries_max = c->judging.tries_max,
            .connect_timeout_ms = j->connect_timeout_ms,
            .first_byte_timeout_ms = j->first_byte_timeout_ms,
            .total_timeout_ms = j->total_timeout_ms};
    }
    struct vq_spec spec = {.judge_template = vq_template_text(job->templates[VQ_TEMPLATE_JUDGE]),
                           .repair_template =
                               job->templates[VQ_TEMPLATE_REPAIR] == NULL
                                   ? vq_span("", 0)
                                   : vq_template_text(job->templates[VQ_TEMPLATE_REPAIR]),
                           .truncate = c->judging.truncate,
                           .lazy_swap = c->judging.lazy_swap,
                           .axes = axes,
                           .axes_count = job->plan.grid.vibes,
                           .judges = judges,
                           .judges_count = c->judges_count};
    vq_buf_init(ret_body, VQ_JOB_SPEC_BYTES_MAX);
    status = vq_spec_encode(&spec, ret_body);
    if (status == VQ_OK) {
        vq_hash_of("vq-spec", vq_buf_span(ret_body), ret_hash);
    } else {
        vq_buf_free(ret_body);
    }
done:
    vq_free(axes);
    vq_free(judges);
    return status;
}

/* Mean rendered bytes of a call over rows spread evenly through the data. */
static enum vq_status mean_prompt_bytes(const struct vq_job *job, double *ret_bytes)
{
    struct vq_buf system, user;
    vq_buf_init(&system, VQ_SAMPLE_BYTES_MAX);
    vq_buf_init(&user, 2u * VQ_SAMPLE_BYTES_MAX);
    uint32_t n = job->plan.grid.samples;
    uint32_t rows = n < ESTIMATE_ROWS ? n : ESTIMATE_ROWS;
    double total = 0;
    enum vq_status status = VQ_OK;
    for (uint32_t i = 0; i < rows && status == VQ_OK; i++) {
        const struct vq_sample *s = &job->samples[(uint64_t)i * n / rows];
        status = vq_request_render(&job->askers[0], s, &job->axes[i % job->plan.grid.vibes], 0, 0,
                                   &system, &user);
        total += (double)(system.bytes + user.bytes);
    }
    vq_buf_free(&system);
    vq_buf_free(&user);
    if (status == VQ_OK) {
        *ret_bytes = rows == 0 ? 0 : total / rows;
    }
    return status;
}

enum vq_status vq_job_estimate(const struct vq_job *job, struct vq_job_estimate *ret_estimate)
{
    double bytes;
    VQ_TRY(mean_prompt_bytes(job, &bytes));
    const struct vq_grid *g = &job->plan.grid;
    uint64_t orders = job->plan.swap == VQ_SWAP_NONE ? 1 : 2;
    uint64_t calls_a_judge = (uint64_t)g->samples * g->vibes * orders;
    struct vq_job_estimate e = {.priced = true};
    for (uint32_t i = 0; i < g->judges; i++) {
        const struct vq_conf_judge *j = &job->config->judges[i];
        double in = (double)calls_a_judge * bytes / 4;
        double out = (double)calls_a_judge * ANSWER_TOKENS_GUESS;
        e.calls += calls_a_judge;
        e.tokens_in += in;
        e.tokens_out += out;
        if (j->price_input_usd >= 0 && j->price_output_usd >= 0) {
            e.usd += (in * j->price_input_usd + out * j->price_output_usd) / 1e6;
        } else if (j->base_url != NULL) {
            e.priced = false;
        }
        e.remote |= j->base_url != NULL && !vq_http_url_is_local(j->base_url);
    }
    *ret_estimate = e;
    return VQ_OK;
}
