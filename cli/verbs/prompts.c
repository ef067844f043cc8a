/* `vibeq prompts export DIR` and `vibeq prompts show judge|discover|criteria|CRITERION`: the
 * templates and criteria as files; a prompt exactly as a judge, or the proposer, gets it; the texts
 * of the built-in criteria. Later prompts contain answers, so they cannot be shown before a run. */
#include "cli/pick_prompt.h"
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/judge/criteria.h"
#include "common/text/file.h"
#include "methods/vibecheck/files/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct prompts_words {
    struct vq_pick_prompt_words pick; /* first: the offsets of the common options start here */
    const char *config;
};

const struct vq_opt vq_prompts_opts[] = {
    {"config", VQ_OPT_TEXT, offsetof(struct prompts_words, config), "FILE",
     "the run's configuration; default vibeq.yaml"},
    VQ_PICK_PROMPT_OPTS,
    {0},
};

static enum vq_status make_folder(const char *folder, struct vq_error *err)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return vq_fail(err, VQ_INVALID, "cannot make the folder %s: %s", folder, strerror(errno));
    }
    return VQ_OK;
}

static enum vq_status export_file(const char *folder, const char *name, struct vq_span text,
                                  struct vq_error *err)
{
    char *path;
    VQ_TRY(vq_path_join(folder, name, &path));
    enum vq_status status = vq_file_create(path, text, 0644, err);
    if (status == VQ_OK) {
        printf("%s\n", path);
    }
    vq_free(path);
    return status;
}

/* Writes a criterion in the form of its file. */
static void write_criterion(const struct vq_criterion *c, struct vq_buf *to)
{
    vq_buf_printf(to, "kind: %s\nabout: %s\n\n%s\n", vq_criterion_kind_name(c->kind), c->about,
                  c->rubric);
}

static enum vq_status export_criterion(const char *folder, const struct vq_criterion *c,
                                       struct vq_error *err)
{
    char name[VQ_CRITERION_NAME_BYTES_MAX + sizeof(".txt")];
    struct vq_buf text;
    vq_buf_init(&text, VQ_CRITERION_BYTES_MAX);
    (void)snprintf(name, sizeof(name), "%s.txt", c->name);
    write_criterion(c, &text);
    enum vq_status status = text.status;
    if (status == VQ_OK) {
        status = export_file(folder, name, vq_buf_span(&text), err);
    }
    vq_buf_free(&text);
    return status;
}

static enum vq_status export_criteria(const char *folder, struct vq_error *err)
{
    char *criteria;
    VQ_TRY(vq_path_join(folder, "criteria", &criteria));
    enum vq_status status = make_folder(criteria, err);
    const struct vq_criterion *c;
    for (size_t i = 0; status == VQ_OK && (c = vq_criterion_at(i)) != NULL; i++) {
        status = export_criterion(criteria, c, err);
    }
    vq_free(criteria);
    return status;
}

static enum vq_status export_all(const char *folder, struct vq_error *err)
{
    VQ_TRY(make_folder(folder, err));
    for (int k = 0; k < (int)VQ_TEMPLATE_FILES; k++) {
        enum vq_template_kind kind = (enum vq_template_kind)k;
        VQ_TRY(export_file(folder, vq_template_file(kind), vq_template_builtin(kind), err));
    }
    VQ_TRY(export_criteria(folder, err));
    printf(
        "Use the templates with prompts: {dir: %s} in a configuration, and a criterion by naming "
        "its file.\n",
        folder);
    return VQ_OK;
}

static enum vq_status show_criteria(void)
{
    const struct vq_criterion *c;
    for (size_t i = 0; (c = vq_criterion_at(i)) != NULL; i++) {
        printf("%-18s%-10s%s\n", c->name, vq_criterion_kind_name(c->kind), c->about);
    }
    return VQ_OK;
}

static enum vq_status show_criterion(const struct vq_criterion *c, struct vq_error *err)
{
    struct vq_buf text;
    vq_buf_init(&text, VQ_CRITERION_BYTES_MAX);
    write_criterion(c, &text);
    return vq_cli_print(&text, err);
}

static enum vq_status show_prompt(const struct vq_job *job, const struct prompts_words *w,
                                  struct vq_error *err)
{
    struct vq_picked_prompt p;
    VQ_TRY(vq_pick_prompt(job, &w->pick, &p, err));
    struct vq_hash hash;
    char hex[VQ_HEX_BYTES(VQ_HASH_BYTES)];
    vq_request_hash(&job->given->askers[p.judge], &job->given->ids[p.sample],
                    &job->given->axes[p.vibe], p.order, 0, &hash);
    vq_hex(hash.b, VQ_HASH_BYTES, hex);
    printf("--- judge %s, record %lld, %s %s, request %s\n", job->given->cast->judges[p.judge].name,
           (long long)vq_job_record(job, job->given, p.sample),
           vq_stage_rates(job->given->kind) ? "criterion" : "vibe", job->given->axes[p.vibe].name,
           hex);
    return vq_pick_prompt_show(job, &p);
}

/* Finds discovery's first stage. If a model gives labels, their stage comes first; labels change
 * the rows of discovery only if ties are left out. */
static enum vq_status first_texts(struct vq_vibecheck_method *method, uint32_t judges,
                                  const struct vq_stage **ret_stage, struct vq_error *err)
{
    const struct vq_stage *stage;
    VQ_TRY(vq_vibecheck_method_next(method, &stage, err));
    while (stage->kind == VQ_STAGE_PREFER) {
        size_t count = (size_t)stage->rows_count * judges * 2;
        uint8_t *none;
        VQ_TRY(VQ_ALLOC(none, count));
        memset(none, VQ_OUTCOME_NOT_NEEDED, count);
        enum vq_status status = vq_vibecheck_method_take_outcomes(method, none, count, err);
        vq_free(none);
        VQ_TRY(status);
        VQ_TRY(vq_vibecheck_method_next(method, &stage, err));
    }
    *ret_stage = stage;
    return VQ_OK;
}

static enum vq_status show_batches(const struct vq_job *job,
                                   const struct vq_vibecheck_method_input *input,
                                   struct vq_error *err)
{
    struct vq_vibecheck_method *method;
    VQ_TRY(vq_vibecheck_method_create(input, &method, err));
    const struct vq_stage *stage;
    enum vq_status status = first_texts(method, input->preference_judges_count, &stage, err);
    if (status == VQ_OK) {
        const struct vq_stage_prompt *first = &stage->prompts[0];
        printf("--- stage %s, the first of %u prompts to %s\n", stage->name, stage->prompts_count,
               job->cast[stage->role].judges[0].name);
        if (first->system.bytes > 0) {
            printf("--- system\n%.*s\n", (int)first->system.bytes, first->system.at);
        }
        printf("--- user\n%.*s\n", (int)first->user.bytes, first->user.at);
    }
    vq_vibecheck_method_destroy(&method);
    return status;
}

static enum vq_status show_discover(const struct vq_job *job, struct vq_error *err)
{
    if (job->config->method != VQ_METHOD_DISCOVER) {
        return vq_fail(err, VQ_INVALID,
                       "this configuration discovers nothing; --set method=discover shows what it "
                       "would ask");
    }
    struct vq_vibecheck_method_input input;
    vq_vibecheck_job_input(job, &input);
    return show_batches(job, &input, err);
}

static enum vq_status show(const struct prompts_words *w, bool discover, struct vq_error *err)
{
    struct vq_job *job;
    VQ_TRY(vq_pick_prompt_job(w->config, &w->pick, &job, err));
    enum vq_status status = discover ? show_discover(job, err) : show_prompt(job, w, err);
    vq_job_destroy(&job);
    return status;
}

static enum vq_status show_what(const struct prompts_words *w, const char *what,
                                struct vq_error *err)
{
    if (strcmp(what, "criteria") == 0) {
        return show_criteria();
    }
    const struct vq_criterion *criterion = vq_criterion_builtin(what);
    return criterion != NULL ? show_criterion(criterion, err)
                             : show(w, strcmp(what, "discover") == 0, err);
}

static bool can_show(const char *what)
{
    return strcmp(what, "judge") == 0 || strcmp(what, "discover") == 0 ||
           strcmp(what, "criteria") == 0 || vq_criterion_builtin(what) != NULL;
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
    static const char *const shown[] = {"judge", "discover", "criteria", NULL};
    enum vq_status status;
    if (words == 2 && strcmp(argv[0], "export") == 0) {
        status = export_all(argv[1], &err);
    } else if (words == 2 && strcmp(argv[0], "show") == 0 && can_show(argv[1])) {
        status = show_what(&w, argv[1], &err);
    } else if (words > 0 && strcmp(argv[0], "export") == 0) {
        return vq_cli_usage("prompts", "name one folder: vibeq prompts export DIR");
    } else if (words > 0 && strcmp(argv[0], "show") == 0) {
        return vq_cli_unknown_word("prompts", words > 1 ? argv[1] : NULL, shown);
    } else {
        return vq_cli_unknown_word("prompts", words > 0 ? argv[0] : NULL, known);
    }
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}
