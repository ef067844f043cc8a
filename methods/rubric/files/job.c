/* Reads criteria from the configuration, files or a run's copies; then the rows. Invariant: the
 * criteria of a run never change, even if files or built-in texts change. Not its job: the order of
 * the questions (methods/rubric/rubric.c). */
#include "methods/rubric/files/job.h"

#include "common/base/alloc.h"
#include "common/text/file.h"

#include <stdio.h>

#define COPY_BYTES 64

static void copy_name(uint32_t i, char ret_name[COPY_BYTES])
{
    (void)snprintf(ret_name, COPY_BYTES, "criterion-%u.txt", i + 1);
}

static enum vq_status read_text(const struct vq_conf_criterion *c, uint32_t i,
                                const struct vq_run_dir *run, struct vq_buf *ret_text,
                                char ret_shown[VQ_RUN_PATH_BYTES_MAX], struct vq_error *err)
{
    vq_buf_init(ret_text, VQ_CRITERION_BYTES_MAX * 2);
    if (run == NULL) {
        (void)snprintf(ret_shown, VQ_RUN_PATH_BYTES_MAX, "%s", c->file);
        return vq_file_read(c->file, VQ_CRITERION_BYTES_MAX, ret_text, err);
    }
    char name[COPY_BYTES];
    copy_name(i, name);
    (void)snprintf(ret_shown, VQ_RUN_PATH_BYTES_MAX, "inputs/%s", name);
    return vq_run_dir_read(run, ret_shown, ret_text, err);
}

static enum vq_status parse_text(struct vq_rubric_job *job, const struct vq_conf_criterion *c,
                                 uint32_t i, const struct vq_run_dir *run, struct vq_error *err)
{
    char shown[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(read_text(c, i, run, &job->texts[i], shown, err));
    return vq_criterion_parse(vq_buf_span(&job->texts[i]), shown, &job->parsed[i], err);
}

/* Checks that need the kind of the criterion, which may be in a file. */
static enum vq_status check_kind(const struct vq_config *config, uint32_t i,
                                 enum vq_rating_kind kind, struct vq_error *err)
{
    const struct vq_conf_criterion *c = &config->criteria[i];
    const char *word = vq_criterion_kind_name(kind);
    if (c->kind != NULL && strcmp(c->kind, word) != 0) {
        return vq_fail(err, VQ_INVALID,
                       "criteria[%u]: \"%.80s\" has the kind %s, but its file has %s; leave kind "
                       "out, or change one of them",
                       i, c->name, c->kind, word);
    }
    if (config->method == VQ_METHOD_JUDGE && kind == VQ_RATING_PAIRWISE &&
        config->models_count < 2) {
        return vq_fail(err, VQ_INVALID,
                       "criteria[%u]: \"%.80s\" is pairwise and compares two outputs; name two "
                       "columns, for example models: [model_a, model_b]",
                       i, c->name);
    }
    return VQ_OK;
}

static enum vq_status load_criterion(struct vq_rubric_job *job, const struct vq_config *config,
                                     uint32_t i, const struct vq_run_dir *run, struct vq_error *err)
{
    const struct vq_conf_criterion *c = &config->criteria[i];
    struct vq_criterion *to = &job->criteria[i];
    if (c->rubric != NULL) {
        enum vq_rating_kind kind;
        VQ_TRY(vq_criterion_kind_find(vq_span_str(c->kind), &kind));
        *to = (struct vq_criterion){c->name, kind, "", c->rubric};
        return VQ_OK;
    }
    const struct vq_criterion *from = c->file == NULL ? vq_criterion_builtin(c->name) : NULL;
    if (from == NULL || run != NULL) {
        VQ_TRY(parse_text(job, c, i, run, err));
        from = job->parsed[i];
    }
    *to = *from;
    to->name = c->name;
    return check_kind(config, i, to->kind, err);
}

enum vq_status vq_rubric_job_load(struct vq_rubric_job *job, const struct vq_config *config,
                                  const struct vq_table *table, const struct vq_run_dir *run,
                                  struct vq_error *err)
{
    VQ_TRY(VQ_ALLOC(job->criteria, config->criteria_count));
    VQ_TRY(VQ_ALLOC(job->parsed, config->criteria_count));
    VQ_TRY(VQ_ALLOC(job->texts, config->criteria_count));
    for (uint32_t i = 0; i < config->criteria_count; i++) {
        VQ_TRY(load_criterion(job, config, i, run, err));
    }
    if (table == NULL) {
        return VQ_OK;
    }
    struct vq_rubric_settings settings = {
        .config = config, .criteria = job->criteria, .file = config->data.path};
    return vq_rubric_data_create(&settings, table, &job->data, err);
}

enum vq_status vq_rubric_job_keep(const struct vq_rubric_job *job, const struct vq_config *config,
                                  const struct vq_run_dir *run, struct vq_error *err)
{
    enum vq_status status = VQ_OK;
    for (uint32_t i = 0; status == VQ_OK && i < config->criteria_count; i++) {
        const struct vq_criterion *c = &job->criteria[i];
        const char *file = config->criteria[i].file;
        if (config->criteria[i].rubric != NULL) {
            continue;
        }
        char name[COPY_BYTES];
        struct vq_buf text;
        copy_name(i, name);
        vq_buf_init(&text, VQ_CRITERION_BYTES_MAX * 2);
        vq_buf_printf(&text, "kind: %s\nabout: %s\n\n", vq_criterion_kind_name(c->kind), c->about);
        vq_buf_puts(&text, c->rubric);
        vq_buf_putc(&text, '\n');
        status = text.status;
        if (status == VQ_OK) {
            struct vq_span bytes = vq_buf_span(file == NULL ? &text : &job->texts[i]);
            status = vq_run_dir_keep(run, name, bytes, file == NULL ? "" : file, err);
        }
        vq_buf_free(&text);
    }
    return status;
}

void vq_rubric_job_free(struct vq_rubric_job *job, const struct vq_config *config)
{
    for (uint32_t i = 0; job->parsed != NULL && i < config->criteria_count; i++) {
        vq_criterion_destroy(&job->parsed[i]);
    }
    for (uint32_t i = 0; job->texts != NULL && i < config->criteria_count; i++) {
        vq_buf_free(&job->texts[i]);
    }
    vq_free(job->texts);
    vq_free(job->parsed);
    vq_free(job->criteria);
    vq_rubric_data_destroy(&job->data);
    *job = (struct vq_rubric_job){.criteria = NULL};
}

enum vq_status vq_rubric_job_make(const struct vq_rubric_job *job, const struct vq_config *config,
                                  uint32_t judges, struct vq_rubric **ret_rubric,
                                  struct vq_error *err)
{
    struct vq_rubric_input input = {.criteria = job->criteria,
                                    .criteria_count = config->criteria_count,
                                    .rows = job->data->rows,
                                    .rows_count = job->data->rows_count,
                                    .outputs_count = job->data->outputs_count,
                                    .judges_count = judges,
                                    .rating = config->rating};
    return vq_rubric_create(&input, ret_rubric, err);
}
