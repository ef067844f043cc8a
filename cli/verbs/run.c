/* `vibeq run`: prints the calls to be sent before it sends any, then carries out the run. With
 * --or-resume, an existing run of this name continues. Not its job: reading the words
 * (run_words.c), the run itself (coordinator/run). */
#include "cli/carry_out.h"
#include "cli/dry.h"
#include "cli/opts.h"
#include "cli/or_resume.h"
#include "common/base/alloc.h"
#include "common/conf/config.h"
#include "coordinator/run/machine.h"
#include "coordinator/store/rundir/run_dir.h"
#include "methods/files/method_type.h"
#include "methods/plan/files/forecast.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define RESULTS_BYTES_MAX ((size_t)1 << 32)

/* ---- the lines before a run ---- */

/* The lines before a run: the largest number of calls by purpose, then expected tokens and dollars.
 * `vibeq plan` prints more of the same forecast. Not its job: the numbers
 * (methods/plan/files/forecast.c), a method's lines about its calls. */

#define LINES_BYTES_MAX (1u << 20)

static void put(struct vq_buf *lines)
{
    (void)fwrite(lines->at, 1, lines->bytes, stderr);
    vq_buf_free(lines);
}

/* Prints on standard error the data that vibeq read and the rows that it left out. */
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
        fprintf(stderr, "\n"); /* the terminal did not print a line end */
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

/* ---- a new run ---- */

/* Checks before the folder exists everything that can be checked without a folder. */
static enum vq_status check_before(const struct vq_run_words *w, const struct vq_job *job,
                                   const struct vq_forecast *forecast, struct vq_error *err)
{
    const char *name = w->name != NULL ? w->name : job->config->name;
    if (name != NULL) {
        VQ_TRY(vq_run_name_check(name, err));
    }
    VQ_TRY(vq_machine_check(&job->pools, job->config, err));
    return must_confirm(w, job, forecast) ? confirm(forecast, err) : VQ_OK;
}

/* Carries out a new run in its folder. If it is refused at its start, nothing was sent, and the
 * folder is removed. */
static enum vq_status run_new(const struct vq_run_words *w, struct vq_job *job,
                              const char *runs_dir, enum vq_run_end *ret_end, struct vq_error *err)
{
    struct vq_run_dir *run = NULL;
    VQ_TRY(create_run(w, job, runs_dir, &run, err));
    char name[VQ_RUN_NAME_BYTES_MAX + 1];
    (void)snprintf(name, sizeof(name), "%s", vq_run_dir_name(run));
    enum vq_status status = vq_job_keep(job, run, err);
    if (status == VQ_OK) {
        status = vq_carry_out(w, job, run, runs_dir, false, ret_end, err);
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

static enum vq_status check_and_run(const struct vq_run_words *w, struct vq_job *job,
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
        status = check_and_run(w, job, forecast, &end, &err);
    }
    vq_forecast_destroy(&forecast);
    return status == VQ_OK ? vq_cli_exit_of(end) : vq_carry_out_fail(w, status, &err);
}

/* ---- a repeated command ---- */

static enum vq_status print_results(const struct vq_run_dir *run, struct vq_error *err)
{
    struct vq_buf text;
    vq_buf_init(&text, RESULTS_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(run, "results/results.json", &text, err);
    if (status == VQ_OK) {
        status = vq_cli_write(vq_buf_span(&text), err);
    }
    vq_buf_free(&text);
    return status;
}

/* A finished run is not started again. */
static int say_ended(const struct vq_run_words *w, const struct vq_run_dir *run,
                     enum vq_run_end end)
{
    struct vq_error err = {0};
    enum vq_status status = w->json ? print_results(run, &err) : VQ_OK;
    if (status == VQ_OK && !w->quiet) {
        fprintf(stderr, "Run %s is finished%s. vibeq resume %s computes its results again.\n",
                vq_run_dir_name(run), end == VQ_RUN_MISSING ? ", with missing answers" : "",
                vq_run_dir_name(run));
    }
    return status == VQ_OK ? vq_cli_exit_of(end) : vq_cli_fail(status, &err);
}

/* `take_config`: of the command; destroyed here. */
static int resume_same(struct vq_run_words *w, struct vq_config *take_config,
                       struct vq_run_dir *run, const char *runs_dir,
                       const struct vq_or_resume_changes *changes)
{
    struct vq_error err = {0};
    enum vq_run_end end;
    if (vq_or_resume_has_ended(run, &end)) {
        vq_config_destroy(&take_config);
        return say_ended(w, run, end);
    }
    for (uint32_t i = 0; i < changes->set.count && !w->quiet; i++) {
        fprintf(stderr, "%.*s differs from the start of this run: the new value is in force.\n",
                (int)strcspn(changes->set.items[i], "="), changes->set.items[i]);
    }
    w->set = changes->set;
    struct vq_job *job;
    enum vq_status status = vq_job_create(take_config, run, &job, &err);
    if (status != VQ_OK) {
        return vq_cli_fail(status, &err);
    }
    int code = vq_carry_out_resumed(w, job, run, runs_dir);
    vq_job_destroy(&job);
    return code;
}

static int run_config(const struct vq_run_words *w, struct vq_config *take_config)
{
    struct vq_error err = {0};
    struct vq_job *job;
    enum vq_status status = vq_job_create(take_config, NULL, &job, &err);
    if (status != VQ_OK) {
        return vq_cli_fail(status, &err);
    }
    int code = run_job(w, job);
    vq_job_destroy(&job);
    return code;
}

static int run_or_resume(struct vq_run_words *w, struct vq_config *take_config)
{
    struct vq_or_resume_changes changes;
    struct vq_error err = {0};
    char *runs_dir = NULL;
    struct vq_run_dir *run = NULL;
    const char *name = w->name != NULL ? w->name : take_config->name;
    if (name == NULL || w->dry_run) {
        vq_config_destroy(&take_config);
        return vq_cli_usage("run", name == NULL ? "--or-resume needs --name"
                                                : "--or-resume and --dry-run exclude each other");
    }
    enum vq_status status = vq_runs_dir(w->runs, &runs_dir, &err);
    if (status == VQ_OK) {
        status = vq_or_resume_open(runs_dir, name, take_config, &run, &changes, &err);
    }
    int code;
    if (status != VQ_OK) {
        vq_config_destroy(&take_config);
        code = vq_cli_fail(status, &err);
    } else if (run != NULL) {
        code = resume_same(w, take_config, run, runs_dir, &changes);
    } else {
        code = run_config(w, take_config);
    }
    vq_run_dir_close(&run);
    vq_free(runs_dir);
    return code;
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
    if (status != VQ_OK) {
        return vq_cli_fail(status, &err);
    }
    if (w.or_resume) {
        return run_or_resume(&w, config);
    }
    status = vq_or_resume_date(NULL, time(NULL), config, &err);
    if (status != VQ_OK) {
        vq_config_destroy(&config);
        return vq_cli_fail(status, &err);
    }
    return run_config(&w, config);
}
