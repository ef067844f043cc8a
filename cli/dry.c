/* The checks of a run's start. A key is only read to find out whether it can be read, then freed.
 * Without local workers, or with --listen, a worker on another machine may have the key, so a
 * missing key is a warning; a run with only local workers would stop. Not its job: data, prompts,
 * prices and budget, which every verb that reads the configuration checks. */
#include "cli/dry.h"

#include "common/base/alloc.h"
#include "common/base/secret.h"
#include "coordinator/run/machine.h"
#include "coordinator/run/trial.h"
#include "coordinator/store/rundir/run_list.h"
#include "methods/plan/files/forecast.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Whether the folder, or the nearest existing one above it, accepts new files. */
static enum vq_status check_folder(const char *wanted, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    int n = snprintf(path, sizeof(path), "%s", wanted);
    if (n < 0 || (size_t)n >= sizeof(path)) {
        return vq_fail(err, VQ_LIMIT, "the name of the runs folder is too long");
    }
    char *at = path;
    while (access(at, F_OK) != 0 && errno == ENOENT) {
        at = dirname(at);
    }
    return access(at, W_OK | X_OK) == 0
               ? VQ_OK
               : vq_fail(err, VQ_DENIED, "no run can be made in %s: %s: %s", wanted, at,
                         strerror(errno));
}

static enum vq_status check_place(const struct vq_run_words *w, const struct vq_job *job,
                                  struct vq_error *err)
{
    const char *name = w->name != NULL ? w->name : job->config->name;
    VQ_TRY(name == NULL ? VQ_OK : vq_run_name_check(name, err));
    char *runs_dir = NULL;
    struct vq_error ignored;
    enum vq_status status = vq_runs_dir_find(w->runs, &runs_dir, &ignored);
    if (status == VQ_NOT_FOUND) {
        return check_folder(vq_runs_dir_wanted(w->runs), err);
    }
    if (status != VQ_OK) {
        *err = ignored;
        return status;
    }
    struct vq_run_info info;
    status = check_folder(runs_dir, err);
    if (status == VQ_OK && name != NULL &&
        vq_run_info_read(runs_dir, name, &info, &ignored) == VQ_OK) {
        status = vq_fail(err, VQ_EXISTS,
                         "run %s exists; `vibeq resume %s` continues it, another --name starts "
                         "a new one",
                         name, name);
    }
    vq_free(runs_dir);
    return status;
}

/* Whether a key of the pool can be loaded, or the pool needs none. */
static enum vq_status check_pool(const struct vq_conf_use *use, struct vq_error *err)
{
    enum vq_status first = VQ_OK;
    for (uint32_t i = 0; i < use->keys_count; i++) {
        struct vq_secret *secret = NULL;
        struct vq_error why = {0};
        enum vq_status status = vq_secret_load(use->keys[i], &secret, &why);
        vq_secret_destroy(&secret);
        if (status == VQ_OK) {
            return VQ_OK;
        }
        if (first == VQ_OK) {
            first = status;
            *err = why;
        }
    }
    return first;
}

/* The same sentence as that of the run (coordinator/queue/session.c). */
static enum vq_status check_model(const struct vq_job *job, const struct vq_role_models *cast,
                                  uint32_t i, struct vq_error *err)
{
    struct vq_error why = {0};
    for (uint32_t k = 0; k < cast->pools_count[i]; k++) {
        if (check_pool(&job->pools.uses.uses[cast->pools[i][k]], &why) == VQ_OK) {
            return VQ_OK;
        }
    }
    return vq_fail(err, VQ_UNAVAILABLE, "no worker can call judge %s: %s", cast->conf[i].name,
                   why.text);
}

/* Names each model without a key on this machine. *ret_err: of the first one. */
static enum vq_status check_keys(const struct vq_job *job, struct vq_error *ret_err)
{
    enum vq_status first = VQ_OK;
    for (int role = 0; role < (int)VQ_ROLE__COUNT; role++) {
        const struct vq_role_models *cast = &job->cast[role];
        for (uint32_t i = 0; i < cast->count; i++) {
            struct vq_error err = {0};
            enum vq_status status = check_model(job, cast, i, &err);
            if (status != VQ_OK) {
                fprintf(stderr, "  warning: on this machine %s\n", err.text);
            }
            if (status != VQ_OK && first == VQ_OK) {
                first = status;
                *ret_err = err;
            }
        }
    }
    return first;
}

/* Whether all answers are stored: without calls, no key is needed. */
static enum vq_status is_all_stored(const struct vq_run_words *w, const struct vq_job *job,
                                    bool *ret_stored, struct vq_error *err)
{
    struct vq_calls *calls = NULL;
    struct vq_forecast *forecast = NULL;
    VQ_TRY(vq_cli_open_store(w->runs, &calls, err));
    enum vq_status status = vq_forecast_make(job, calls, &forecast, err);
    vq_calls_close(&calls);
    VQ_TRY(status);
    *ret_stored = forecast->all.calls.most <= 0;
    vq_forecast_destroy(&forecast);
    return VQ_OK;
}

enum vq_status vq_cli_dry_check(const struct vq_run_words *w, const struct vq_job *job,
                                struct vq_error *err)
{
    VQ_TRY(check_place(w, job, err));
    VQ_TRY(vq_machine_check(&job->pools, job->config, err));
    struct vq_run_options options = {.listen = w->listen,
                                     .advertise = w->advertise,
                                     .cert = w->cert,
                                     .http = vq_run_words_http(w)};
    VQ_TRY(vq_trial_start(&options, job->config, err));
    struct vq_error keys = {0};
    enum vq_status status = job->config->workers > 0 ? check_keys(job, &keys) : VQ_OK;
    if (status == VQ_OK || w->listen != NULL) {
        return VQ_OK;
    }
    bool stored = false;
    VQ_TRY(is_all_stored(w, job, &stored, err));
    return stored ? VQ_OK
                  : vq_fail(err, status, "the run would stop: %s. Put it right, then start it",
                            keys.text);
}
