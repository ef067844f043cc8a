/* `vibeq prompts export DIR` and `vibeq prompts show judge`: the templates as files, and one prompt exactly as a judge gets it. */
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/text/file.h"
#include "coordinator/shell/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

struct prompts_words {
    const char *config, *vibe, *judge;
    struct vq_opt_count row;
    struct vq_opt_list set;
    bool swapped;
};

#define AT(field) offsetof(struct prompts_words, field)

const struct vq_opt vq_prompts_opts[] = {
    {"config", VQ_OPT_TEXT, AT(config), "FILE", "the run's configuration; default vibeq.yaml"},
    {"set", VQ_OPT_LIST, AT(set), "A.B=VALUE", "overrides a key of the configuration"},
    {"row", VQ_OPT_COUNT, AT(row), "N", "record number in the data file, from 1"},
    {"vibe", VQ_OPT_TEXT, AT(vibe), "NAME", "name of the vibe; default the first"},
    {"judge", VQ_OPT_TEXT, AT(judge), "NAME", "name of the judge; default the first"},
    {"swapped", VQ_OPT_FLAG, AT(swapped), NULL, "with model B's output shown first"},
    {0},
};

static enum vq_status export_templates(const char *folder, struct vq_error *err)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return vq_fail(err, VQ_IO, "cannot make the folder %s: %s", folder, strerror(errno));
    }
    for (int k = 0; k < VQ_TEMPLATE__COUNT; k++) {
        char *path;
        VQ_TRY(vq_path_join(folder, vq_template_file((enum vq_template_kind)k), &path));
        struct stat st;
        enum vq_status status = VQ_OK;
        if (stat(path, &st) == 0) {
            status = vq_fail(err, VQ_EXISTS, "%s is there already and is left as it is", path);
        }
        if (status == VQ_OK) {
            status =
                vq_file_replace(path, vq_template_builtin((enum vq_template_kind)k), 0644, err);
        }
        if (status == VQ_OK) {
            printf("%s\n", path);
        }
        vq_free(path);
        VQ_TRY(status);
    }
    printf("Use them with prompts: {dir: %s} in a configuration.\n", folder);
    return VQ_OK;
}

static enum vq_status find_sample(const struct vq_job *job, uint32_t record, uint32_t *ret_sample,
                                  struct vq_error *err)
{
    for (uint32_t i = 0; i < job->plan.grid.samples; i++) {
        const struct vq_data_row *row = &job->dataset->samples[i];
        if (row->record == record && row->file == 0) {
            *ret_sample = i;
            return VQ_OK;
        }
    }
    return vq_fail(
        err, VQ_NOT_FOUND,
        "record %u is no sample of this run: there is no such record, or it was excluded "
        "(vibeq run --dry-run shows the steps)",
        record);
}

static enum vq_status find_names(const struct vq_job *job, const struct prompts_words *w,
                                 uint32_t *ret_vibe, uint32_t *ret_judge, struct vq_error *err)
{
    uint32_t vibe = 0, judge = 0;
    while (w->vibe != NULL && vibe < job->plan.grid.vibes &&
           strcasecmp(job->axes[vibe].name, w->vibe) != 0) {
        vibe++;
    }
    if (vibe == job->plan.grid.vibes) {
        return vq_fail(err, VQ_NOT_FOUND, "this run has no vibe named '%s'", w->vibe);
    }
    while (w->judge != NULL && judge < job->plan.grid.judges &&
           strcmp(job->judges[judge].name, w->judge) != 0) {
        judge++;
    }
    if (judge == job->plan.grid.judges) {
        return vq_fail(err, VQ_NOT_FOUND, "this run has no judge named '%s'", w->judge);
    }
    *ret_vibe = vibe;
    *ret_judge = judge;
    return VQ_OK;
}

static enum vq_status show_prompt(const struct vq_job *job, const struct prompts_words *w,
                                  struct vq_error *err)
{
    uint32_t sample = 0, vibe, judge;
    if (w->row.given) {
        VQ_TRY(find_sample(job, w->row.value, &sample, err));
    }
    VQ_TRY(find_names(job, w, &vibe, &judge, err));
    struct vq_buf system, user;
    vq_buf_init(&system, VQ_SAMPLE_BYTES_MAX);
    vq_buf_init(&user, 2u * VQ_SAMPLE_BYTES_MAX);
    enum vq_status status =
        vq_request_render(&job->askers[judge], &job->samples[sample], &job->axes[vibe],
                          w->swapped ? 1 : 0, 0, &system, &user);
    if (status == VQ_OK) {
        struct vq_hash hash;
        char hex[VQ_HEX_BYTES(VQ_HASH_BYTES)];
        vq_request_hash(&job->askers[judge], &job->sample_ids[sample], &job->axes[vibe],
                        w->swapped ? 1 : 0, 0, &hash);
        vq_hex(hash.b, VQ_HASH_BYTES, hex);
        printf("--- judge %s, record %u, vibe %s, request %s\n--- system\n%.*s\n--- user\n%.*s\n",
               job->judges[judge].name, job->dataset->samples[sample].record, job->axes[vibe].name,
               hex, (int)system.bytes, system.bytes > 0 ? system.at : "", (int)user.bytes, user.at);
    }
    vq_buf_free(&system);
    vq_buf_free(&user);
    return status;
}

static enum vq_status show(const struct prompts_words *w, struct vq_error *err)
{
    struct vq_config *config;
    VQ_TRY(vq_config_load(w->config == NULL ? "vibeq.yaml" : w->config, w->set.items, w->set.count,
                          &config, err));
    struct vq_job *job;
    VQ_TRY(vq_job_create(config, NULL, &job, err));
    enum vq_status status = show_prompt(job, w, err);
    vq_job_destroy(&job);
    return status;
}

int vq_verb_prompts(int argc, char **argv)
{
    struct prompts_words w = {0};
    struct vq_error err = {0};
    int words;
    if (vq_opts_parse(vq_prompts_opts, argc, argv, &w, &words, &err) != VQ_OK) {
        return vq_cli_usage("prompts", "%s", err.text);
    }
    enum vq_status status;
    if (words == 2 && strcmp(argv[0], "export") == 0) {
        status = export_templates(argv[1], &err);
    } else if (words == 2 && strcmp(argv[0], "show") == 0 && strcmp(argv[1], "judge") == 0) {
        status = show(&w, &err);
    } else {
        return vq_cli_usage("prompts", "say 'export DIR' or 'show judge'");
    }
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}
