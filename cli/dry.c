/* The checks of a run's start that need no folder and no connection. A key is read and forgotten: that it can be read is all that is learned.
 * With no local worker keys are the business of other machines. Not its job: data, prompts, prices and budget, which every verb that reads the
 * configuration checks. */
#include "cli/dry.h"

#include "common/base/alloc.h"
#include "common/base/secret.h"
#include "common/net/redis.h"
#include "coordinator/shell/run/listen.h"
#include "coordinator/shell/run/machine.h"
#include "coordinator/store/run_list.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The folder, or the nearest one above it that there is, takes new files. */
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
                         "run %s exists; `vibeq resume %s` goes on with it, another --name begins "
                         "a new one",
                         name, name);
    }
    vq_free(runs_dir);
    return status;
}

/* One key of the pool can be had, or it needs none. */
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

/* A model whose pools have no key here is named: the run would start and stop, or wait for workers from elsewhere. */
static void say_keys(const struct vq_job *job)
{
    for (int role = 0; role < (int)VQ_ROLE__COUNT; role++) {
        const struct vq_cast *cast = &job->cast[role];
        for (uint32_t i = 0; i < cast->count; i++) {
            enum vq_status status = VQ_OK;
            struct vq_error err = {0};
            for (uint32_t k = 0; k < cast->pools_count[i]; k++) {
                status = check_pool(&job->pools.uses.uses[cast->pools[i][k]], &err);
                if (status == VQ_OK) {
                    break;
                }
            }
            if (status != VQ_OK) {
                fprintf(stderr, "  warning: no worker of this machine could call %s: %s\n",
                        cast->conf[i].name, err.text);
            }
        }
    }
}

enum vq_status vq_cli_dry_check(const struct vq_run_words *w, const struct vq_job *job,
                                struct vq_error *err)
{
    VQ_TRY(check_place(w, job, err));
    VQ_TRY(vq_machine_check(job, job->config->workers, err));
    struct vq_listen listen;
    VQ_TRY(vq_listen_of(w->listen, "", &listen, err));
    if (job->config->redis_url != NULL) {
        struct vq_redis_address address = {.port = 0};
        VQ_TRY(vq_redis_address_parse(job->config->redis_url, &address, err));
        vq_redis_address_destroy(&address);
    }
    if (job->config->workers > 0) {
        say_keys(job);
    }
    return VQ_OK;
}
