/* `vibeq list` and `vibeq rm`: the runs of a runs folder. */
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/text/json.h"
#include "coordinator/store/calls/tools.h"
#include "coordinator/store/rundir/run_dir.h"

#include <stdio.h>
#include <time.h>

struct list_words {
    const char *runs;
    bool json, force;
};

#define AT(field) offsetof(struct list_words, field)

const struct vq_opt vq_list_opts[] = {
    {"runs", VQ_OPT_TEXT, AT(runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {"json", VQ_OPT_FLAG, AT(json), NULL, "as JSON"},
    {0},
};

const struct vq_opt vq_rm_opts[] = {
    {"runs", VQ_OPT_TEXT, AT(runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {"force", VQ_OPT_FLAG, AT(force), NULL,
     "also remove a run whose workers have answers that are not in the store yet; these answers "
     "are lost"},
    {0},
};

static const char *state_of(const struct vq_run_info *r)
{
    return r->running ? "running" : r->has_results ? "finished" : "stopped";
}

static void print_table(const struct vq_run_info *runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char when[32];
        time_t changed = (time_t)(runs[i].changed_unix_ms / 1000);
        struct tm tm;
        (void)localtime_r(&changed, &tm);
        (void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
        printf("%-9s  %s  %s\n", state_of(&runs[i]), when, runs[i].name);
    }
}

static enum vq_status print_json(const struct vq_run_info *runs, size_t count, struct vq_error *err)
{
    struct vq_buf out;
    struct vq_json j;
    vq_buf_init(&out, 64u << 20);
    vq_json_init(&j, &out, 2);
    vq_json_array(&j);
    for (size_t i = 0; i < count; i++) {
        vq_json_object(&j);
        vq_json_put_str(&j, "name", runs[i].name);
        vq_json_put_str(&j, "state", state_of(&runs[i]));
        vq_json_put_i64(&j, "changed_unix_ms", runs[i].changed_unix_ms);
        vq_json_object_end(&j);
    }
    vq_json_array_end(&j);
    vq_buf_putc(&out, '\n');
    return vq_cli_print(&out, err);
}

int vq_verb_list(int argc, char **argv)
{
    struct list_words w = {0};
    struct vq_error err = {0};
    int words;
    if (vq_opts_parse(vq_list_opts, argc, argv, &w, &words, &err) != VQ_OK) {
        return vq_cli_usage("list", "%s", err.text);
    }
    char *runs_dir = NULL;
    struct vq_run_info *runs = NULL;
    size_t count = 0;
    enum vq_status status = vq_runs_dir_find(w.runs, &runs_dir, &err);
    if (status == VQ_OK) {
        status = vq_runs_list(runs_dir, &runs, &count, &err);
    } else if (status == VQ_NOT_FOUND && w.runs == NULL) {
        status = VQ_OK; /* no run was ever started in this folder */
    }
    if (status == VQ_OK && w.json) {
        status = print_json(runs, count, &err);
    } else if (status == VQ_OK) {
        print_table(runs, count);
    }
    vq_free(runs);
    vq_free(runs_dir);
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}

/* A copy of a run's folder is the same run for the ledger. If the uids cannot be read, rows stay;
 * `vibeq store gc` finds them. */
static bool is_of_another(const char *runs_dir, const struct vq_id *uid)
{
    struct vq_id *uids;
    size_t count;
    struct vq_error ignored;
    if (vq_runs_uids(runs_dir, &uids, &count, &ignored) != VQ_OK) {
        return true;
    }
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) {
        found = vq_id_eq(&uids[i], uid);
    }
    vq_free(uids);
    return found;
}

enum vq_status vq_cli_remove_run(const char *runs_dir, const char *name, bool force,
                                 struct vq_error *err)
{
    struct vq_id uid;
    VQ_TRY(vq_run_remove(runs_dir, name, force, &uid, err));
    if (is_of_another(runs_dir, &uid)) {
        return VQ_OK;
    }
    struct vq_calls *calls;
    struct vq_calls_options options = {.must_exist = true};
    enum vq_status status = vq_calls_open(runs_dir, &options, &calls, err);
    if (status == VQ_NOT_FOUND) {
        return VQ_OK; /* the run never sent a call */
    }
    VQ_TRY(status);
    uint64_t rows;
    status = vq_store_drop_run(calls, &uid, &rows, err);
    vq_calls_close(&calls);
    return status;
}

int vq_verb_rm(int argc, char **argv)
{
    struct list_words w = {0};
    struct vq_error err = {0};
    int words;
    if (vq_opts_parse(vq_rm_opts, argc, argv, &w, &words, &err) != VQ_OK) {
        return vq_cli_usage("rm", "%s", err.text);
    }
    if (words == 0) {
        return vq_cli_usage("rm", "name the runs to remove; vibeq list shows them");
    }
    char *runs_dir = NULL;
    enum vq_status status = vq_runs_dir_find(w.runs, &runs_dir, &err);
    for (int i = 0; i < words && status == VQ_OK; i++) {
        status = vq_cli_remove_run(runs_dir, argv[i], w.force, &err);
        if (status == VQ_OK) {
            fprintf(stderr,
                    "Removed %s. Its paid answers stay in the store and save later runs their "
                    "calls.\n",
                    argv[i]);
        }
    }
    vq_free(runs_dir);
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}
