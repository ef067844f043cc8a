/* Looks up records, vibes and judges by their names, and prints one prompt. Reads only a prepared
 * job. */
#include "cli/pick_prompt.h"

#include "common/base/alloc.h"
#include "common/text/intern.h"
#include "methods/rubric/files/job.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Finds the name `wanted` among `count` names, ignoring case; NULL: the first name. */
static enum vq_status pick_name(const char *what, const char *wanted, const struct vq_span *names,
                                uint32_t count, uint32_t *ret_index, struct vq_error *err)
{
    uint32_t i = 0;
    while (wanted != NULL && i < count &&
           (names[i].bytes != strlen(wanted) ||
            strncasecmp(names[i].at, wanted, names[i].bytes) != 0)) {
        i++;
    }
    if (i < count) {
        *ret_index = i;
        return VQ_OK;
    }
    uint32_t near = vq_nearest_name(vq_span_str(wanted), names, count);
    if (near != VQ_INTERN_NONE) {
        return vq_fail(err, VQ_NOT_FOUND, "this run has no %s \"%.80s\"; did you mean \"%s\"?",
                       what, wanted, names[near].at);
    }
    struct vq_buf list;
    vq_buf_init(&list, VQ_ERROR_BYTES_MAX / 2);
    for (uint32_t k = 0; k < count; k++) {
        vq_buf_printf(&list, "%s\"%s\"", k == 0 ? "" : ", ", names[k].at);
    }
    enum vq_status status = vq_fail(err, VQ_NOT_FOUND, "this run has no %s \"%.80s\"; it has %s",
                                    what, wanted, list.at == NULL ? "none" : list.at);
    vq_buf_free(&list);
    return status;
}

/* Makes the stage of this criterion the given stage: stages of other kinds do not have it. */
static enum vq_status give_criterion(struct vq_job *job, const char *wanted, struct vq_error *err)
{
    uint32_t i, count = job->config->criteria_count;
    struct vq_span *names;
    VQ_TRY(VQ_ALLOC(names, count));
    for (uint32_t k = 0; k < count; k++) {
        names[k] = vq_span_str(job->config->criteria[k].name);
    }
    enum vq_status status = pick_name("criterion", wanted, names, count, &i, err);
    vq_free(names);
    return status == VQ_OK ? vq_rubric_give(job, i, err) : status;
}

enum vq_status vq_pick_prompt_job(const char *config_path, const struct vq_pick_prompt_words *words,
                                  struct vq_job **ret_job, struct vq_error *err)
{
    struct vq_config *config;
    VQ_TRY(vq_config_load(config_path == NULL ? VQ_PICK_PROMPT_CONFIG : config_path,
                          words->set.items, words->set.count, &config, err));
    VQ_TRY(vq_job_create(config, NULL, ret_job, err));
    if (words->vibe == NULL || vq_rubric_job_of(*ret_job) == NULL) {
        return VQ_OK;
    }
    enum vq_status status = give_criterion(*ret_job, words->vibe, err);
    if (status != VQ_OK) {
        vq_job_destroy(ret_job);
    }
    return status;
}

static enum vq_status pick_sample(const struct vq_job *job, const struct vq_opt_count *row,
                                  uint32_t *ret_sample, struct vq_error *err)
{
    if (!row->given) {
        *ret_sample = 0;
        return VQ_OK;
    }
    for (uint32_t i = 0; i < job->given->plan.grid.samples; i++) {
        bool first = job->dataset == NULL || job->dataset->samples[i].file == 0;
        if (first && vq_job_record(job, job->given, i) == row->value) {
            *ret_sample = i;
            return VQ_OK;
        }
    }
    uint32_t records =
        job->dataset == NULL ? vq_rubric_job_of(job)->data->records : job->dataset->records_read[0];
    if (row->value == 0 || row->value > records) {
        return vq_fail(err, VQ_NOT_FOUND, "there is no record %u: %s has records 1 to %u",
                       row->value, job->config->data.path, records);
    }
    return vq_fail(err, VQ_NOT_FOUND,
                   "record %u is no sample of this run, it was left out; vibeq run --dry-run shows "
                   "the steps",
                   row->value);
}

enum vq_status vq_pick_prompt(const struct vq_job *job, const struct vq_pick_prompt_words *words,
                              struct vq_picked_prompt *ret_picked, struct vq_error *err)
{
    VQ_TRY(vq_job_needs_rows(job, "this", err));
    const struct vq_grid *g = &job->given->plan.grid;
    struct vq_picked_prompt picked = {.order = words->swapped ? 1 : 0};
    struct vq_span *names = vq_alloc(g->vibes > g->judges ? g->vibes : g->judges, sizeof(*names));
    if (names == NULL) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < g->vibes; i++) {
        names[i] = vq_span_str(job->given->axes[i].name);
    }
    enum vq_status status = pick_sample(job, &words->row, &picked.sample, err);
    if (status == VQ_OK) {
        status = pick_name(vq_stage_rates(job->given->kind) ? "criterion" : "vibe", words->vibe,
                           names, g->vibes, &picked.vibe, err);
    }
    for (uint32_t i = 0; i < g->judges; i++) {
        names[i] = vq_span_str(job->given->cast->judges[i].name);
    }
    if (status == VQ_OK) {
        status = pick_name("judge", words->judge, names, g->judges, &picked.judge, err);
    }
    vq_free(names);
    if (status == VQ_OK) {
        /* the prompt shows one output */
        if (vq_job_output(job, job->given, picked.sample) != NULL) {
            picked.sample += picked.order > 0 && job->config->models_count > 1 ? 1 : 0;
            picked.order = 0;
        }
        *ret_picked = picked;
    }
    return status;
}

static void put_part(const char *name, const struct vq_buf *text)
{
    printf("--- %s\n%.*s\n", name, (int)text->bytes, text->at);
}

enum vq_status vq_pick_prompt_show(const struct vq_job *job, const struct vq_picked_prompt *picked)
{
    struct vq_buf system, user;
    vq_buf_init(&system, VQ_RENDER_BYTES_MAX);
    vq_buf_init(&user, VQ_RENDER_BYTES_MAX);
    enum vq_status status =
        vq_request_render(&job->given->askers[picked->judge], &job->given->samples[picked->sample],
                          &job->given->axes[picked->vibe], picked->order, 0, &system, &user);
    if (status == VQ_OK && system.bytes > 0) {
        put_part("system", &system);
    }
    if (status == VQ_OK) {
        put_part("user", &user);
    }
    vq_buf_free(&system);
    vq_buf_free(&user);
    return status;
}
