/* Opens the files of a finished run for reading. Changes none of them. */
#include "cli/open_run.h"

#include "cli/copied_inputs.h"
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "coordinator/run/machine.h"
#include "coordinator/store/rundir/run_dir.h"
#include "methods/files/job_work.h"

static enum vq_status load_config(const struct vq_open_run_words *words, const char *path,
                                  struct vq_config **ret_config, struct vq_error *err)
{
    struct vq_config *was = NULL, *now;
    VQ_TRY(vq_config_load(path, words->set.items, words->set.count, &now, err));
    enum vq_status status = VQ_OK;
    if (words->set.count > 0) {
        status = vq_config_load(path, NULL, 0, &was, err);
    }
    if (was != NULL) {
        status = vq_copied_inputs_check(was, now, err);
        vq_config_destroy(&was);
    }
    if (status != VQ_OK) {
        vq_config_destroy(&now);
        return status;
    }
    *ret_config = now;
    return VQ_OK;
}

static enum vq_status open_all(const struct vq_open_run_words *words, const char *name, bool lock,
                               struct vq_open_run *k, struct vq_error *err)
{
    VQ_TRY(vq_runs_dir_find(words->runs, &k->runs_dir, err));
    VQ_TRY(lock ? vq_run_dir_open(k->runs_dir, name, &k->run, err)
                : vq_run_dir_look(k->runs_dir, name, &k->run, err));
    VQ_TRY(vq_run_dir_check_kept(k->run, err));
    char path[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_dir_join(k->run, "run.yaml", path));
    struct vq_config *config;
    VQ_TRY(load_config(words, path, &config, err));
    VQ_TRY(vq_job_create(config, k->run, &k->job, err));
    struct vq_calls_options options = {.must_exist = true};
    VQ_TRY(vq_calls_open(k->runs_dir, &options, &k->calls, err));
    struct vq_run_meta meta;
    enum vq_status status = vq_calls_read_run(k->calls, vq_run_dir_uid(k->run), &meta, err);
    if (status == VQ_NOT_FOUND) {
        return vq_fail(err, status, "%s has sent no call yet; vibeq resume %s starts it",
                       vq_run_dir_name(k->run), vq_run_dir_name(k->run));
    }
    k->job->generation = meta.generation;
    return status;
}

static enum vq_status open_kept(const struct vq_open_run_words *words, const char *name, bool lock,
                                struct vq_open_run *ret_kept, struct vq_error *err)
{
    struct vq_open_run kept = {.runs_dir = NULL};
    enum vq_status status = open_all(words, name, lock, &kept, err);
    if (status != VQ_OK) {
        vq_open_run_close(&kept);
        return status;
    }
    *ret_kept = kept;
    return VQ_OK;
}

enum vq_status vq_open_run_begin(const struct vq_open_run_words *words, const char *name,
                                 struct vq_open_run *ret_kept, struct vq_error *err)
{
    return open_kept(words, name, true, ret_kept, err);
}

enum vq_status vq_open_run_look(const struct vq_open_run_words *words, const char *name,
                                struct vq_open_run *ret_kept, struct vq_error *err)
{
    return open_kept(words, name, false, ret_kept, err);
}

void vq_open_run_close(struct vq_open_run *kept)
{
    vq_calls_close(&kept->calls);
    vq_job_destroy(&kept->job);
    vq_run_dir_close(&kept->run);
    vq_free(kept->runs_dir);
    kept->runs_dir = NULL;
}

int vq_open_run_buy(struct vq_open_run *kept, const char *folder, bool quiet, bool json)
{
    struct vq_error err = {0};
    vq_calls_close(&kept->calls); /* one handle per process: the run opens its own */
    struct vq_run_options options = {.runs_dir = kept->runs_dir,
                                     .folder = folder,
                                     .workers = kept->job->config->workers,
                                     .resumed = true,
                                     .quiet = quiet};
    struct vq_job_work work = {.folder = folder, .json = json};
    enum vq_run_end end = VQ_RUN_FAILED;
    enum vq_status status = vq_machine_check(&kept->job->pools, kept->job->config, &err);
    if (status == VQ_OK) {
        status = vq_job_work_open(kept->job, &work, &err);
    }
    if (status == VQ_OK) {
        status = vq_run_carry_out(&options, &work.work, kept->run, &end, &err);
    }
    vq_job_work_close(&work);
    return status == VQ_OK ? vq_cli_exit_of(end) : vq_cli_fail(status, &err);
}

enum vq_status vq_open_run_ask(struct vq_open_run *kept, const struct vq_script *script,
                               const char *folder, bool quiet, enum vq_run_end *ret_end,
                               struct vq_error *err)
{
    VQ_TRY(vq_machine_check(&kept->job->pools, kept->job->config, err));
    VQ_TRY(vq_job_add_discovery(kept->job, err));
    vq_calls_close(&kept->calls);
    struct vq_run_options options = {.runs_dir = kept->runs_dir,
                                     .folder = folder,
                                     .workers = kept->job->config->workers,
                                     .resumed = true,
                                     .quiet = quiet};
    struct vq_job_work work;
    vq_job_work_beside(kept->job, script, &work);
    return vq_run_carry_out(&options, &work.work, kept->run, ret_end, err);
}
