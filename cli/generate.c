/* One call for a list, outside of any run. Not its job: reading the list from the answer (the
 * verbs). */
#include "cli/generate.h"

#include "cli/run_words.h"
#include "common/text/file.h"
#include "common/text/fmt.h"
#include "common/text/utf8.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COUNT_TEXT   16
#define ANSWER_SHOWN 300

int vq_generate_check(const char *verb, const struct vq_generate_words *w)
{
    if ((w->model == NULL) == (w->config == NULL)) {
        return vq_cli_usage(verb, "name the model: --model MODEL, or --config FILE");
    }
    if (w->config != NULL && (w->base_url != NULL || w->key != NULL)) {
        return vq_cli_usage(verb, "--base-url and --key go with --model; a configuration has "
                                  "its own (--set changes them)");
    }
    return VQ_EXIT_DONE;
}

enum vq_status vq_generate_check_out(const char *out, struct vq_error *err)
{
    if (out != NULL) {
        VQ_TRY(vq_file_create(out, vq_span("", 0), 0644, err));
        (void)unlink(out); /* it can be created, and will be later */
    }
    return VQ_OK;
}

/* Converts `--model` and its companions into the words of `vibeq run`, with data that are never
 * read. */
static enum vq_status config_of_words(const struct vq_generate_words *w,
                                      struct vq_config **ret_config, struct vq_error *err)
{
    struct vq_run_words words = {.set = w->set,
                                 .models = {.items = {"A", "B"}, .count = 2},
                                 .judges = {.items = {w->model}, .count = 1},
                                 .base_url = w->base_url,
                                 .key = w->key};
    return vq_run_words_config(&words, "none", ret_config, err);
}

enum vq_status vq_generate_job(const struct vq_generate_words *w, struct vq_job **ret_job,
                               struct vq_error *err)
{
    struct vq_config *config;
    VQ_TRY(w->config != NULL ? vq_config_load(w->config, w->set.items, w->set.count, &config, err)
                             : config_of_words(w, &config, err));
    return vq_job_create_bare(config, ret_job, err);
}

static enum vq_status render(const struct vq_template *template, uint32_t count,
                             struct vq_buf parts[VQ_TEMPLATE_PART__COUNT])
{
    char text[COUNT_TEXT];
    struct vq_span values[VQ_PLACEHOLDER__COUNT] = {{0}};
    (void)snprintf(text, sizeof(text), "%u", count);
    values[VQ_PLACEHOLDER_COUNT] = vq_span_str(text);
    for (int part = 0; part < VQ_TEMPLATE_PART__COUNT; part++) {
        vq_buf_init(&parts[part], VQ_SAMPLE_BYTES_MAX);
    }
    for (int part = 0; part < VQ_TEMPLATE_PART__COUNT; part++) {
        VQ_TRY(vq_template_render(template, (enum vq_template_part)part, values, &parts[part]));
    }
    return VQ_OK;
}

static const char *model_of(const struct vq_job *job)
{
    return job->cast[VQ_ROLE_PROPOSER].conf[0].model;
}

static enum vq_status check_answered(const char *model, const struct vq_once *once,
                                     struct vq_error *err)
{
    if (once->end != NULL && strcmp(once->end, "answer") == 0 && !once->refusal) {
        return VQ_OK;
    }
    return vq_fail(err, VQ_UNAVAILABLE, "%s gave no list: %s%s%s", model,
                   once->end == NULL ? "no answer came from it"
                   : once->refusal   ? "it refused"
                                     : once->end,
                   once->error == NULL ? "" : ": ", once->error == NULL ? "" : once->error);
}

enum vq_status vq_generate_ask(const struct vq_job *job, enum vq_template_kind kind, uint32_t count,
                               struct vq_once *once, struct vq_error *err)
{
    struct vq_buf parts[VQ_TEMPLATE_PART__COUNT];
    enum vq_status status = render(job->templates[kind], count, parts);
    struct vq_stage_grid *asking = NULL;
    if (status == VQ_OK) {
        struct vq_stage_prompt prompt = {.system = vq_buf_span(&parts[VQ_TEMPLATE_SYSTEM]),
                                         .user = vq_buf_span(&parts[VQ_TEMPLATE_USER])};
        struct vq_stage stage = {.name = "generate",
                                 .kind = VQ_STAGE_TEXT,
                                 .role = VQ_ROLE_PROPOSER,
                                 .prompts = &prompt,
                                 .prompts_count = 1};
        struct vq_grid_source source = vq_job_source(job);
        status = vq_stage_grid_create(&source, &stage, &asking, err);
    }
    if (status == VQ_OK) {
        struct vq_once_task task = {.asking = asking};
        once->wanted = true;
        status = vq_ask_once(&task, once, err);
    }
    vq_stage_grid_destroy(&asking);
    for (int part = 0; part < VQ_TEMPLATE_PART__COUNT; part++) {
        vq_buf_free(&parts[part]);
    }
    return status == VQ_OK ? check_answered(model_of(job), once, err) : status;
}

enum vq_status vq_generate_unread(const struct vq_job *job, const char *what,
                                  const struct vq_once *once, struct vq_error *err)
{
    struct vq_buf begin;
    vq_buf_init(&begin, VQ_ERROR_BYTES_MAX);
    vq_fmt_plain(&begin,
                 vq_utf8_cut(vq_span_str(once->answer == NULL ? "" : once->answer), ANSWER_SHOWN));
    enum vq_status status = begin.status;
    if (status == VQ_OK) {
        status =
            vq_fail(err, VQ_UNAVAILABLE, "no %s can be read in the answer of %s, which begins: %s",
                    what, model_of(job), begin.bytes == 0 ? "" : begin.at);
    }
    vq_buf_free(&begin);
    return status;
}

enum vq_status vq_generate_put(const char *out, struct vq_buf *text, struct vq_error *err)
{
    if (out == NULL) {
        return vq_cli_print(text, err);
    }
    VQ_TRY(text->status);
    return vq_file_create(out, vq_buf_span(text), 0644, err);
}
