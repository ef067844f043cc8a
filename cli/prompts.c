/* `vibeq prompts export DIR` and `vibeq prompts show judge`: the templates as files, and one prompt exactly as a judge gets it. */
#include "cli/pick.h"
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/text/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct prompts_words {
    struct vq_pick_words pick; /* first: the common options count from it */
    const char *config;
};

const struct vq_opt vq_prompts_opts[] = {
    {"config", VQ_OPT_TEXT, offsetof(struct prompts_words, config), "FILE",
     "the run's configuration; default vibeq.yaml"},
    VQ_PICK_OPTS,
    {0},
};

static enum vq_status export_templates(const char *folder, struct vq_error *err)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return vq_fail(err, VQ_INVALID, "cannot make the folder %s: %s", folder, strerror(errno));
    }
    for (int k = 0; k < (int)VQ_TEMPLATE_FILES; k++) {
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

static enum vq_status show_prompt(const struct vq_job *job, const struct prompts_words *w,
                                  struct vq_error *err)
{
    struct vq_picked p;
    VQ_TRY(vq_pick(job, &w->pick, &p, err));
    struct vq_hash hash;
    char hex[VQ_HEX_BYTES(VQ_HASH_BYTES)];
    vq_request_hash(&job->given->askers[p.judge], &job->sample_ids[p.sample], &job->axes[p.vibe],
                    p.order, 0, &hash);
    vq_hex(hash.b, VQ_HASH_BYTES, hex);
    printf("--- judge %s, record %u, vibe %s, request %s\n", job->given->cast->judges[p.judge].name,
           job->dataset->samples[p.sample].record, job->axes[p.vibe].name, hex);
    return vq_pick_show(job, &p);
}

static enum vq_status show(const struct prompts_words *w, struct vq_error *err)
{
    struct vq_job *job;
    VQ_TRY(vq_pick_job(w->config, &w->pick, &job, err));
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
    static const char *const known[] = {"export", "show", NULL};
    static const char *const shown[] = {"judge", NULL};
    enum vq_status status;
    if (words == 2 && strcmp(argv[0], "export") == 0) {
        status = export_templates(argv[1], &err);
    } else if (words == 2 && strcmp(argv[0], "show") == 0 && strcmp(argv[1], "judge") == 0) {
        status = show(&w, &err);
    } else if (words > 0 && strcmp(argv[0], "export") == 0) {
        return vq_cli_usage("prompts", "name one folder: vibeq prompts export DIR");
    } else if (words > 0 && strcmp(argv[0], "show") == 0) {
        return vq_cli_unknown_word("prompts", words > 1 ? argv[1] : NULL, shown);
    } else {
        return vq_cli_unknown_word("prompts", words > 0 ? argv[0] : NULL, known);
    }
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}
