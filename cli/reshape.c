/* The question to the judges is part of each request's hash. Therefore a new question is written to
 * run.yaml instead of being used for one start only: a later start would look for answers under the
 * old hashes. The store is changed first: if the process ends in between, the run starts again with
 * its old question. Not its job: which keys these are (resume_overrides.c), and what counts as an
 * answer (coordinator/store/calls/unanswered.c). */
#include "cli/reshape.h"

#include "cli/resume_overrides.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/conf/config.h"
#include "coordinator/store/calls/unanswered.h"

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

enum vq_status vq_cli_reshape(const struct vq_run_dir *run, const char *runs_dir,
                              const struct vq_opt_list *set, const struct vq_error *refusal,
                              struct vq_error *err)
{
    VQ_TRY(check_store(run, runs_dir, refusal, err));
    return keep(run, set, err);
}
