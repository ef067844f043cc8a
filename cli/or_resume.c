/* A run is resumed by the command that started it: the configuration of the command is compared
 * with run.yaml. Values that may change come from the command; any other difference refuses the
 * command. Not its job: starting, resuming (verbs/run.c). */
#include "cli/or_resume.h"

#include "cli/resume_overrides.h"
#include "common/base/alloc.h"
#include "common/text/when.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define END_BYTES_MAX 64

struct check {
    struct vq_or_resume_changes *changes;
    struct vq_error *err;
};

static enum vq_status take_key(void *ctx, const char *key)
{
    struct check *c = ctx;
    struct vq_or_resume_changes *to = c->changes;
    if (strcmp(key, "name") == 0) {
        return VQ_OK;
    }
    if (!vq_resume_overrides_may_change(key)) {
        return vq_fail(c->err, VQ_INVALID,
                       "%s differs from the start of this run: a resumed run keeps its settings; "
                       "only workers, pools, limits, keys, endpoints, prices, the budget and time "
                       "limits may change. Set it back, or start a new run with another --name: "
                       "answers that are stored are not bought again",
                       key);
    }
    if (to->set.count == VQ_OPT_LIST_MAX) {
        return vq_fail(c->err, VQ_LIMIT,
                       "more than %d settings differ from the start of this run; use vibeq resume",
                       VQ_OPT_LIST_MAX);
    }
    char *text = to->texts[to->set.count];
    (void)snprintf(text, sizeof(to->texts[0]), "%s=", key);
    to->set.items[to->set.count++] = text;
    return VQ_OK;
}

enum vq_status vq_or_resume_check(const struct vq_config *was, const struct vq_config *now,
                                  struct vq_or_resume_changes *ret_changes, struct vq_error *err)
{
    ret_changes->set.count = 0;
    struct check check = {.changes = ret_changes, .err = err};
    VQ_TRY(vq_config_differences(was, now, take_key, &check));
    return vq_resume_overrides_judges_check(was, now, err);
}

static enum vq_status deadline_of(const struct vq_config *was, time_t now, const char *text,
                                  time_t *ret_when, struct vq_error *err)
{
    struct vq_error why = {.text = ""};
    time_t first, same;
    if (was != NULL && was->deadline != NULL &&
        vq_when_parse(was->deadline, now, &first, &why) == VQ_OK &&
        vq_when_parse(text, first - 1, &same, &why) == VQ_OK && same == first) {
        *ret_when = first;
        return VQ_OK;
    }
    enum vq_status status = vq_when_parse_ahead(text, now, ret_when, &why);
    return status == VQ_OK ? VQ_OK : vq_fail(err, status, "deadline: %s", why.text);
}

enum vq_status vq_or_resume_date(const struct vq_config *was, time_t now, struct vq_config *config,
                                 struct vq_error *err)
{
    char text[VQ_WHEN_BYTES];
    time_t when;
    if (config->deadline == NULL) {
        return VQ_OK;
    }
    VQ_TRY(deadline_of(was, now, config->deadline, &when, err));
    char *dated = vq_strdup(vq_when_write(when, text));
    if (dated == NULL) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    vq_free(config->deadline);
    config->deadline = dated;
    return VQ_OK;
}

static enum vq_status compare(const struct vq_run_dir *run, struct vq_config *now,
                              struct vq_or_resume_changes *ret_changes, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct vq_config *was;
    VQ_TRY(vq_run_dir_check_kept(run, err));
    VQ_TRY(vq_run_dir_join(run, VQ_RUN_BEGUN_FILE, path));
    VQ_TRY(vq_config_load(path, NULL, 0, &was, err));
    enum vq_status status = vq_or_resume_date(was, time(NULL), now, err);
    if (status == VQ_OK) {
        status = vq_or_resume_check(was, now, ret_changes, err);
    }
    vq_config_destroy(&was);
    if (status != VQ_OK) {
        vq_error_prefix(err, "run %s exists", vq_run_dir_name(run));
    }
    return status;
}

/* Whether a run exists. A folder without run.yaml is not a run: a new run takes it over. */
static bool was_begun(const char *runs_dir, const char *name)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s/" VQ_RUN_BEGUN_FILE, runs_dir, name);
    return n > 0 && (size_t)n < sizeof(path) && (access(path, F_OK) == 0 || errno != ENOENT);
}

enum vq_status vq_or_resume_open(const char *runs_dir, const char *name, struct vq_config *now,
                                 struct vq_run_dir **ret_run,
                                 struct vq_or_resume_changes *ret_changes, struct vq_error *err)
{
    struct vq_run_dir *run = NULL;
    ret_changes->set.count = 0;
    VQ_TRY(vq_run_name_check(name, err));
    if (!was_begun(runs_dir, name)) {
        VQ_TRY(vq_or_resume_date(NULL, time(NULL), now, err));
    } else {
        VQ_TRY(vq_run_dir_open(runs_dir, name, &run, err));
        enum vq_status status = compare(run, now, ret_changes, err);
        if (status != VQ_OK) {
            vq_run_dir_close(&run);
            return status;
        }
    }
    *ret_run = run;
    return VQ_OK;
}

/* ---- the end of a run ---- */

static const char *const words[] = {[VQ_RUN_DONE] = "done\n", [VQ_RUN_MISSING] = "missing\n"};

enum vq_status vq_or_resume_forget_end(const struct vq_run_dir *run, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_dir_join(run, VQ_RUN_END_FILE, path));
    return unlink(path) == 0 || errno == ENOENT
               ? VQ_OK
               : vq_fail(err, VQ_IO, "%s cannot be removed: %s", path, strerror(errno));
}

enum vq_status vq_or_resume_keep_end(const struct vq_run_dir *run, enum vq_run_end end,
                                     struct vq_error *err)
{
    return end == VQ_RUN_DONE || end == VQ_RUN_MISSING
               ? vq_run_dir_write(run, VQ_RUN_END_FILE, vq_span_str(words[end]), true, err)
               : VQ_OK;
}

bool vq_or_resume_has_ended(const struct vq_run_dir *run, enum vq_run_end *ret_end)
{
    struct vq_buf text;
    bool found = false;
    vq_buf_init(&text, END_BYTES_MAX);
    if (vq_run_dir_read(run, VQ_RUN_END_FILE, &text, NULL) == VQ_OK) {
        for (size_t i = 0; i < VQ_COUNT(words) && !found; i++) {
            found = vq_span_eq(vq_buf_span(&text), vq_span_str(words[i]));
            *ret_end = found ? (enum vq_run_end)i : *ret_end;
        }
    }
    vq_buf_free(&text);
    return found;
}
