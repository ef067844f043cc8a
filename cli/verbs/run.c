/* `vibeq run` and `vibeq resume`: what will be sent said before anything is sent, then the run. Not
 * its job: reading the words (run_words.c), the run itself (coordinator/run). */
#include "cli/dry.h"
#include "cli/opts.h"
#include "cli/resume_overrides.h"
#include "cli/run_words.h"
#include "cli/ui/beside.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/conf/config.h"
#include "coordinator/run/ctl.h"
#include "coordinator/run/machine.h"
#include "coordinator/store/calls/unanswered.h"
#include "coordinator/store/rundir/run_dir.h"
#include "methods/files/job_work.h"
#include "methods/files/method_type.h"
#include "methods/plan/files/forecast.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

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

/* Keeps in run.yaml what `set` changes of the judges' questions, so that every later command reads
 * the same. `refusal`: why not, if the run has an answer; VQ_INVALID then. Call it with the run
 * locked and before it starts. */
static enum vq_status reshape(const struct vq_run_dir *run, const char *runs_dir,
                              const struct vq_opt_list *set, const struct vq_error *refusal,
                              struct vq_error *err)
{
    VQ_TRY(check_store(run, runs_dir, refusal, err));
    return keep(run, set, err);
}

/* ---- the lines before a run ---- */

/* The lines before a run: the most calls by what they are for, then tokens and dollars as expected.
 * `vibeq plan` prints more of the same forecast. Not its job: the numbers
 * (methods/plan/files/forecast.c), and what a method says of its calls. */

#define LINES_BYTES_MAX (1u << 20)

static void put(struct vq_buf *lines)
{
    (void)fwrite(lines->at, 1, lines->bytes, stderr);
    vq_buf_free(lines);
}

/* Prints on standard error which data vibeq read and which rows it left out. */
static void say_data(const struct vq_job *job)
{
    struct vq_buf lines;
    vq_buf_init(&lines, LINES_BYTES_MAX);
    if (job->method->show_data != NULL) {
        job->method->show_data(job, &lines);
    }
    put(&lines);
}

/* Prints on standard error the largest number of calls per model, and their price. */
static void say_estimate(const struct vq_job *job, const struct vq_forecast *f)
{
    struct vq_buf lines;
    vq_buf_init(&lines, LINES_BYTES_MAX);
    if (job->method->show_calls != NULL) {
        job->method->show_calls(job, f, &lines);
    } else {
        vq_forecast_show_total(f, &lines);
    }
    put(&lines);
}

#define ASK_ABOVE_CALLS 500

/* ---- the messages before the first call ---- */

static bool must_confirm(const struct vq_run_words *w, const struct vq_job *job,
                         const struct vq_forecast *f)
{
    return !w->yes && vq_forecast_is_remote(job, f) && f->all.calls.most > ASK_ABOVE_CALLS;
}

static enum vq_status confirm(const struct vq_forecast *f, struct vq_error *err)
{
    if (!isatty(STDIN_FILENO)) {
        return vq_fail(
            err, VQ_DENIED,
            "this may send %llu calls to an endpoint that is not on this machine; say --yes "
            "to go ahead, or --dry-run to only look",
            (unsigned long long)f->all.calls.most);
    }
    fprintf(stderr, "Send them? [y/N] ");
    char answer[16];
    bool said = fgets(answer, sizeof(answer), stdin) != NULL;
    if (!said) {
        fprintf(stderr, "\n"); /* the terminal's own line end did not come */
    }
    if (!said || (answer[0] != 'y' && answer[0] != 'Y')) {
        return vq_fail(err, VQ_DENIED, "nothing was sent");
    }
    return VQ_OK;
}

/* ---- the run's name ---- */

static void stem(const char *path, char ret_stem[64])
{
    path = path == NULL ? "" : path;
    const char *slash = strrchr(path, '/');
    const char *from = slash == NULL ? path : slash + 1;
    size_t n = strcspn(from, ".");
    size_t at = 0;
    for (size_t i = 0; i < n && at < 40; i++) {
        char c = from[i];
        bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    ((c == '-' || c == '_') && at > 0);
        if (fine) {
            ret_stem[at++] = c;
        }
    }
    ret_stem[at] = '\0';
    if (at == 0) {
        (void)snprintf(ret_stem, 64, "run");
    }
}

static enum vq_status create_run(const struct vq_run_words *w, const struct vq_job *job,
                                 const char *runs_dir, struct vq_run_dir **ret_run,
                                 struct vq_error *err)
{
    const char *name = w->name != NULL ? w->name : job->config->name;
    if (name != NULL) {
        return vq_run_dir_create(runs_dir, name, ret_run, err);
    }
    char made[128], base[64], when[32];
    time_t now = time(NULL);
    struct tm tm;
    (void)localtime_r(&now, &tm);
    (void)strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
    const struct vq_config *c = job->config;
    stem(c->dialogues != NULL ? c->dialogues->personas : c->data.path, base);
    enum vq_status status = VQ_EXISTS;
    for (int i = 1; status == VQ_EXISTS && i < 100; i++) {
        (void)snprintf(made, sizeof(made), i == 1 ? "%s-%s" : "%s-%s-%d", base, when, i);
        status = vq_run_dir_create(runs_dir, made, ret_run, err);
    }
    return status;
}

/* ---- the verbs ---- */

int vq_cli_exit_of(enum vq_run_end end)
{
    switch (end) {
    case VQ_RUN_DONE: return VQ_EXIT_DONE;
    case VQ_RUN_MISSING: return VQ_EXIT_MISSING;
    case VQ_RUN_STOPPED: return VQ_EXIT_STOPPED;
    case VQ_RUN_FAILED: return VQ_EXIT_INTERNAL;
    }
    return VQ_EXIT_INTERNAL;
}

/* A page that cannot be served harms no run. */
static void show_page(const struct vq_run_words *w, const char *runs_dir, const char *name,
                      struct vq_ui_beside **ret_beside)
{
    struct vq_error err = {0};
    enum vq_status status = w->ui ? vq_ui_beside_start(runs_dir, ret_beside, &err) : VQ_OK;
    if (status != VQ_OK && status != VQ_LOCKED) {
        fprintf(stderr, "vibeq: --ui: %s; the run goes on without it\n", err.text);
    }
    if (!w->quiet) {
        vq_ui_say_page(runs_dir, name);
    }
}

static enum vq_status carry_out(const struct vq_run_words *w, struct vq_job *job,
                                struct vq_run_dir *run, const char *runs_dir, bool resumed,
                                enum vq_run_end *ret_end, struct vq_error *err)
{
    struct vq_run_options options = {.runs_dir = runs_dir,
                                     .listen = w->listen,
                                     .http = vq_run_words_http(w),
                                     .workers = job->config->workers,
                                     .resumed = resumed,
                                     .retry_failed = w->retry_failed,
                                     .failures = w->class == NULL ? 0 : vq_ctl_failures(w->class),
                                     .set = w->set.items,
                                     .set_count = w->set.count,
                                     .quiet = w->quiet};
    struct vq_job_work work = {.json = w->json};
    struct vq_ui_beside *beside = NULL;
    enum vq_status status = vq_job_work_open(job, &work, err);
    if (status == VQ_OK) {
        show_page(w, runs_dir, vq_run_dir_name(run), &beside);
        status = vq_run_carry_out(&options, &work.work, run, ret_end, err);
    }
    vq_ui_beside_stop(&beside);
    vq_job_work_close(&work);
    return status;
}

/* Everything that can be refused without a folder is refused before there is one. */
static enum vq_status check_before(const struct vq_run_words *w, const struct vq_job *job,
                                   const struct vq_forecast *forecast, struct vq_error *err)
{
    const char *name = w->name != NULL ? w->name : job->config->name;
    if (name != NULL) {
        VQ_TRY(vq_run_name_check(name, err));
    }
    VQ_TRY(vq_machine_check(&job->pools, job->config->workers, err));
    return must_confirm(w, job, forecast) ? confirm(forecast, err) : VQ_OK;
}

/* A new run in its folder. When it is refused at its start nothing was sent, and no folder is left
 * behind. */
static enum vq_status run_new(const struct vq_run_words *w, struct vq_job *job,
                              const char *runs_dir, enum vq_run_end *ret_end, struct vq_error *err)
{
    struct vq_run_dir *run = NULL;
    VQ_TRY(create_run(w, job, runs_dir, &run, err));
    char name[VQ_RUN_NAME_BYTES_MAX + 1];
    (void)snprintf(name, sizeof(name), "%s", vq_run_dir_name(run));
    enum vq_status status = vq_job_keep(job, run, err);
    if (status == VQ_OK) {
        if (!w->quiet) {
            fprintf(stderr, "Run %s\n", name);
        }
        status = carry_out(w, job, run, runs_dir, false, ret_end, err);
    }
    vq_run_dir_close(&run);
    if (status != VQ_OK && vq_status_class(status) == VQ_CLASS_REFUSE) {
        struct vq_error ignored;
        struct vq_run_info info;
        if (vq_cli_remove_run(runs_dir, name, true, &ignored) != VQ_OK &&
            vq_run_info_read(runs_dir, name, &info, &ignored) == VQ_OK) {
            fprintf(stderr, "vibeq: the folder of %s could not be removed\n", name);
        }
    }
    return status;
}

static enum vq_status run_told(const struct vq_run_words *w, struct vq_job *job,
                               const struct vq_forecast *forecast, enum vq_run_end *ret_end,
                               struct vq_error *err)
{
    char *runs_dir = NULL;
    VQ_TRY(check_before(w, job, forecast, err));
    VQ_TRY(vq_runs_dir(w->runs, &runs_dir, err));
    enum vq_status status = run_new(w, job, runs_dir, ret_end, err);
    vq_free(runs_dir);
    return status;
}

static int run_job(const struct vq_run_words *w, struct vq_job *job)
{
    struct vq_error err = {0};
    struct vq_forecast *forecast;
    enum vq_status status = vq_forecast_make(job, NULL, &forecast, &err);
    if (status != VQ_OK) {
        return vq_cli_fail(status, &err);
    }
    if (!w->quiet || w->dry_run) {
        say_data(job);
    }
    if (!w->quiet || w->dry_run || must_confirm(w, job, forecast)) {
        say_estimate(job, forecast);
    }
    enum vq_run_end end = VQ_RUN_DONE;
    if (w->dry_run) {
        status = vq_cli_dry_check(w, job, &err);
        fprintf(stderr, "%s", status == VQ_OK ? "Dry run: nothing was sent.\n" : "");
    } else {
        status = run_told(w, job, forecast, &end, &err);
    }
    vq_forecast_destroy(&forecast);
    return status == VQ_OK ? vq_cli_exit_of(end) : vq_cli_fail(status, &err);
}

int vq_verb_run(int argc, char **argv)
{
    struct vq_run_words w = {.yes = false};
    struct vq_error err = {0};
    int words;
    int code = vq_run_words_parse("run", vq_run_opts, argc, argv, &w, &words);
    if (code != VQ_EXIT_DONE) {
        return code;
    }
    if (words != 1) {
        return vq_cli_usage("run", words == 0 ? "name a configuration or a data file"
                                              : "one configuration or data file at a time");
    }
    struct vq_config *config;
    enum vq_status status = vq_run_words_config(&w, argv[0], &config, &err);
    struct vq_job *job;
    if (status == VQ_OK) {
        status = vq_job_create(config, NULL, &job, &err);
    }
    if (status != VQ_OK) {
        return vq_cli_fail(status, &err);
    }
    code = run_job(&w, job);
    vq_job_destroy(&job);
    return code;
}

static enum vq_status open_run(const struct vq_run_words *w, const char *runs_dir, const char *name,
                               struct vq_run_dir **ret_run, struct vq_job **ret_job,
                               struct vq_error *err)
{
    struct vq_run_dir *run;
    VQ_TRY(vq_run_dir_open(runs_dir, name, &run, err));
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct vq_config *config = NULL;
    struct vq_job *job = NULL;
    struct vq_error unanswered = {0};
    enum vq_status status = vq_run_dir_check_begun(run, err);
    if (status == VQ_OK) {
        status = vq_run_dir_check_kept(run, err);
    }
    if (status == VQ_OK) {
        status = vq_run_dir_join(run, VQ_RUN_BEGUN_FILE, path);
    }
    if (status == VQ_OK) {
        status = vq_run_words_reload(w, path, &config, &unanswered, err);
    }
    if (status == VQ_OK) {
        status = vq_job_create(config, run, &job, err);
    }
    if (status == VQ_OK && unanswered.text[0] != '\0') {
        status = reshape(run, runs_dir, &w->set, &unanswered, err);
    }
    if (status != VQ_OK) {
        vq_job_destroy(&job);
        vq_run_dir_close(&run);
        return status;
    }
    *ret_job = job;
    *ret_run = run;
    return VQ_OK;
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
    if (status == VQ_OK) {
        status = vq_machine_check(&job->pools, job->config->workers, &err);
    }
    enum vq_run_end end = VQ_RUN_FAILED;
    if (status == VQ_OK) {
        status = carry_out(&w, job, run, runs_dir, true, &end, &err);
    }
    vq_job_destroy(&job);
    vq_run_dir_close(&run);
    vq_free(runs_dir);
    return status == VQ_OK ? vq_cli_exit_of(end) : vq_cli_fail(status, &err);
}
