/* `vibeq resume`: opens the run's folder, and continues the run with the options of the command.
 * Not its job: which overrides are allowed (resume_overrides.c), the run itself
 * (coordinator/run). */
#include "cli/carry_out.h"
#include "cli/opts.h"
#include "cli/resume_overrides.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "coordinator/run/ctl.h"
#include "coordinator/store/calls/unanswered.h"
#include "methods/files/job.h"

#include <string.h>

/* ---- a new question to the judges ---- */

/* The question to the judges is part of each request's hash. Therefore a new question is written to
 * run.yaml instead of being used for one start only: a later start would look for answers under the
 * old hashes. The store is changed first: if the process ends in between, the run starts again with
 * its old question. Not its job: which keys these are (resume_overrides.c), and what counts as an
 * answer (coordinator/store/calls/unanswered.c). */

static enum vq_status check_store(const struct vq_run_dir *run, const char *runs_dir,
                                  const struct vq_error *refusal, struct vq_error *err)
{
    struct vq_calls *calls = NULL;
    VQ_TRY(vq_calls_open(runs_dir, NULL, &calls, err));
    const struct vq_id *uid = vq_run_dir_uid(run);
    enum vq_unanswered found;
    enum vq_status status = vq_unanswered_reset(calls, uid, vq_clock_unix_ms(), &found, err);
    vq_calls_close(&calls);
    VQ_TRY(status);
    if (found == VQ_UNANSWERED_NOT_CLEAN) {
        return vq_fail(
            err, VQ_INVALID,
            "the run was not stopped in order, so its workers may hold answers. Resume it "
            "without that --set first; if it stops again without an answer, set it then");
    }
    return found == VQ_UNANSWERED_NOT ? vq_fail(err, VQ_INVALID, "%s", refusal->text) : VQ_OK;
}

static enum vq_status keep(const struct vq_run_dir *run, const struct vq_opt_list *set,
                           struct vq_error *err)
{
    struct vq_opt_list asked = {.count = 0};
    for (uint32_t i = 0; i < set->count; i++) {
        if (vq_resume_overrides_changes_requests(set->items[i])) {
            asked.items[asked.count++] = set->items[i];
        }
    }
    char path[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_dir_join(run, VQ_RUN_BEGUN_FILE, path));
    struct vq_config *config;
    VQ_TRY(vq_config_load(path, asked.items, asked.count, &config, err));
    char *yaml = NULL;
    size_t bytes = 0;
    enum vq_status status = vq_config_write(config, &yaml, &bytes);
    if (status == VQ_OK) {
        status = vq_run_dir_write(run, VQ_RUN_BEGUN_FILE, vq_span(yaml, bytes), true, err);
    }
    vq_free(yaml);
    vq_config_destroy(&config);
    return status;
}

/* Writes the changes of `set` to the judges' questions into run.yaml, so that every later command
 * reads the same. `refusal`: the sentence if the run has an answer; then VQ_INVALID. Call it with
 * the run locked and before it starts. */
static enum vq_status reshape(const struct vq_run_dir *run, const char *runs_dir,
                              const struct vq_opt_list *set, const struct vq_error *refusal,
                              struct vq_error *err)
{
    VQ_TRY(check_store(run, runs_dir, refusal, err));
    return keep(run, set, err);
}

/* ---- the verb ---- */

/* The caller closes and destroys what is there, also after a failure. */
static enum vq_status open_run(const struct vq_run_words *w, const char *runs_dir, const char *name,
                               struct vq_run_dir **run, struct vq_job **job, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct vq_config *config;
    struct vq_error unanswered = {0};
    VQ_TRY(vq_run_dir_open(runs_dir, name, run, err));
    VQ_TRY(vq_run_dir_check_begun(*run, err));
    VQ_TRY(vq_run_dir_check_kept(*run, err));
    VQ_TRY(vq_run_dir_join(*run, VQ_RUN_BEGUN_FILE, path));
    VQ_TRY(vq_run_words_reload(w, path, &config, &unanswered, err));
    VQ_TRY(vq_job_create(config, *run, job, err));
    return unanswered.text[0] == '\0' ? VQ_OK : reshape(*run, runs_dir, &w->set, &unanswered, err);
}

int vq_verb_resume(int argc, char **argv)
{
    struct vq_run_words w = {.yes = false};
    struct vq_error err = {0};
    int words;
    int code = vq_run_words_parse("resume", vq_resume_opts, argc, argv, &w, &words);
    if (code != VQ_EXIT_DONE) {
        return code;
    }
    if (words != 1) {
        return vq_cli_usage("resume", "name one run; vibeq list shows them");
    }
    if (w.class != NULL && !w.retry_failed) {
        return vq_cli_usage("resume", "--class goes with --retry-failed");
    }
    if (vq_ctl_failures_check(w.class, &err) != VQ_OK) {
        return vq_cli_usage("resume", "%s", err.text);
    }
    char *runs_dir = NULL;
    struct vq_run_dir *run = NULL;
    struct vq_job *job = NULL;
    enum vq_status status = vq_runs_dir_find(w.runs, &runs_dir, &err);
    if (status == VQ_OK) {
        status = open_run(&w, runs_dir, argv[0], &run, &job, &err);
    }
    code =
        status == VQ_OK ? vq_carry_out_resumed(&w, job, run, runs_dir) : vq_cli_fail(status, &err);
    vq_job_destroy(&job);
    vq_run_dir_close(&run);
    vq_free(runs_dir);
    return code;
}
