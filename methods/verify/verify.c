/* Derives every record of a run again from the records before it: rows from their bytes, states
 * from answers and failures, results from states, sums from the ledger.
 *
 * Invariants: it writes nothing, sends nothing, and holds no lock that a coordinator needs. After a
 * difference it still checks everything that does not depend on it. Not its job: requests as the
 * endpoint saw them (tests/tools/audit has its log), repairs. */
#include "methods/verify/verify.h"

#include "common/base/alloc.h"
#include "methods/files/results.h"
#include "methods/verify/parts.h"
#include "proto/spool.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_BYTES_MAX (16u << 20)
#define UNDECIDED_SAID   20u
#define VIEW_SHARDS      1024u

enum end_reported {
    END_UNSAID,
    END_FINISHED,
    END_STOPPED
};

/* ---- lists of differences and notes ---- */

static void VQ_PRINTF(2, 0) keep(struct vq_verify_list *list, const char *fmt, va_list args)
{
    char text[VQ_ERROR_BYTES_MAX];
    void *said = list->said;
    (void)vsnprintf(text, sizeof(text), fmt, args);
    list->all++;
    if (vq_grow(&said, &list->cap, list->count + 1, sizeof(*list->said), VQ_VERIFY_SAID_MAX) !=
        VQ_OK) {
        return;
    }
    list->said = said;
    char *copy = vq_strndup(text, strlen(text));
    if (copy != NULL) {
        list->said[list->count++] = copy;
    }
}

void vq_verify_report(struct vq_verifying *v, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    keep(&v->out->wrong, fmt, args);
    va_end(args);
}

void vq_verify_note(struct vq_verifying *v, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    keep(&v->out->notes, fmt, args);
    va_end(args);
}

static void say_sentence(void *ctx, const char *sentence)
{
    vq_verify_report(ctx, "%s", sentence);
}

static void list_free(struct vq_verify_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        vq_free(list->said[i]);
    }
    vq_free(list->said);
    *list = (struct vq_verify_list){.said = NULL};
}

void vq_verify_free(struct vq_verify *verify)
{
    list_free(&verify->wrong);
    list_free(&verify->notes);
}

/* ---- whether the run is finished ---- */

/* The end that the last coordinator wrote to status.json. The file may be missing or older, because
 * no other record depends on it. */
static enum end_reported end_reported(const struct vq_verifying *v)
{
    struct vq_buf text;
    struct vq_error ignored = {0};
    json_t *root = NULL;
    vq_buf_init(&text, STATUS_BYTES_MAX);
    if (vq_run_dir_read(v->in->dir, "status.json", &text, &ignored) == VQ_OK) {
        root = json_loadb(text.at, text.bytes, 0, NULL);
    }
    vq_buf_free(&text);
    const char *state = json_string_value(json_object_get(root, "state"));
    enum end_reported said = END_UNSAID;
    if (state != NULL && strcmp(state, "finished") == 0) {
        said = END_FINISHED;
    } else if (state != NULL && strcmp(state, "stopped") == 0) {
        said = END_STOPPED;
    }
    json_decref(root);
    return said;
}

bool vq_verify_is_there(const struct vq_verifying *v, const char *file)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    return vq_run_dir_join(v->in->dir, file, path) == VQ_OK && access(path, F_OK) == 0;
}

/* Whether the last coordinator reached the end of the run. If status.json does not report the end,
 * two things show it: the store has the mark of a clean end, and there are results or all tasks are
 * settled. */
static enum vq_status find_finished(struct vq_verifying *v)
{
    struct vq_run_meta meta;
    enum end_reported said = END_UNSAID;
    if (v->in->running) {
        return VQ_OK;
    }
    said = end_reported(v);
    v->out->finished = said == END_FINISHED;
    if (said != END_UNSAID) {
        return VQ_OK;
    }
    VQ_TRY(vq_calls_read_run(v->in->calls, v->uid, &meta, v->err));
    bool settled = v->walked && v->replay.whole && v->out->open == 0;
    v->out->finished = meta.clean && (vq_verify_is_there(v, "results") || settled);
    if (v->out->finished) {
        vq_verify_note(v, "status.json does not say how the run ended; the store has the mark of a "
                          "clean end, so the run counts as finished");
    }
    return VQ_OK;
}

/* ---- the store ---- */

static enum vq_status check_store(struct vq_verifying *v)
{
    struct vq_view *view;
    VQ_TRY(vq_view_begin(v->in->calls, &view, v->err));
    enum vq_status status = vq_check_run(view, v->uid, say_sentence, v, &v->out->store, v->err);
    vq_view_end(&view);
    return status;
}

/* ---- spools ---- */

static void count_spool(struct vq_verifying *v, const char *dir, const struct vq_spool_held *held)
{
    size_t calls = vq_spool_held_count(held), unknown = vq_spool_held_unknown(held);
    const char *name = vq_run_dir_name(v->in->dir);
    v->out->spooled += calls;
    v->out->spooled_unknown += unknown;
    if (calls > 0) {
        vq_verify_note(v,
                       "%s holds %zu calls that were not committed, %zu of them without an answer; "
                       "vibeq resume %s collects them",
                       dir, calls, unknown, name);
    }
    if (vq_spool_held_torn_bytes(held) > 0) {
        vq_verify_note(v, "%s ends with %llu bytes of a record that its worker was killed over",
                       dir, (unsigned long long)vq_spool_held_torn_bytes(held));
    }
}

static enum vq_status check_spool(struct vq_verifying *v, const char *dir)
{
    struct vq_spool_held *held;
    struct vq_error why = {0};
    int lock = -1;
    enum vq_status status = vq_spool_lock(dir, false, &lock, &why);
    if (status == VQ_LOCKED) {
        vq_verify_note(v, "%s is in use by a worker that lives", dir);
        return VQ_OK;
    }
    if (status == VQ_OK) {
        status = vq_spool_read(dir, v->uid, &held, &why);
        (void)close(lock);
    }
    if (status == VQ_OK) {
        count_spool(v, dir, held);
        vq_spool_held_destroy(&held);
    } else if (status == VQ_CORRUPT || status == VQ_VERSION || status == VQ_INVALID) {
        vq_verify_report(v, "spool: %s", why.text);
    } else if (status != VQ_NOT_FOUND) {
        return vq_fail(v->err, status, "%s", why.text);
    }
    return VQ_OK;
}

/* The spools of an active run belong to its workers. */
static enum vq_status check_spools(struct vq_verifying *v)
{
    char path[VQ_RUN_PATH_BYTES_MAX], dir[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_dir_join(v->in->dir, "spool", path));
    DIR *spools = v->in->running ? NULL : opendir(path);
    enum vq_status status = VQ_OK;
    for (struct dirent *e; spools != NULL && status == VQ_OK && (e = readdir(spools)) != NULL;) {
        int n = snprintf(dir, sizeof(dir), "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.' && n > 0 && (size_t)n < sizeof(dir)) {
            status = check_spool(v, dir);
        }
    }
    if (spools != NULL) {
        (void)closedir(spools);
    }
    return status;
}

/* ---- tasks ---- */

static enum vq_status check_standing(struct vq_verifying *v, struct vq_view *view,
                                     const struct vq_plan *plan, uint64_t task)
{
    struct vq_answer answer;
    bool repaired;
    enum vq_status status =
        vq_lookup_standing(view, plan, v->uid, task, &answer, &repaired, v->err);
    if (status == VQ_OK) {
        status = vq_check_standing(view, v->uid, &answer, say_sentence, v, v->err);
    }
    return status == VQ_NOT_FOUND ? VQ_OK : status;
}

static enum vq_status count_task(struct vq_verifying *v, struct vq_view *view,
                                 const struct vq_plan *plan, uint64_t task, enum vq_outcome outcome)
{
    struct vq_verify *out = v->out;
    if (!vq_plan_asks(plan, task)) {
        return VQ_OK;
    }
    out->planned++;
    switch (vq_task_state_of(outcome)) {
    case VQ_TASK_ANSWERED: out->answered++; return check_standing(v, view, plan, task);
    case VQ_TASK_NOT_NEEDED: out->not_needed++; break;
    case VQ_TASK_OPEN: out->open++; break;
    case VQ_TASK_FAILED:
    case VQ_TASK_BLOCKED:
    case VQ_TASK_LEASED:
    case VQ_TASK_STATES:
    default: out->failed++; break;
    }
    return VQ_OK;
}

/* Checks a range of shards in one snapshot. One snapshot over a whole large run would stop the
 * store's file from reusing space. */
static enum vq_status check_shards(struct vq_verifying *v, const struct vq_plan *plan,
                                   uint64_t from, uint64_t until, uint8_t *outcomes)
{
    uint32_t tasks = vq_grid_shard_tasks(&plan->grid);
    struct vq_view *view;
    VQ_TRY(vq_view_begin(v->in->calls, &view, v->err));
    enum vq_status status = VQ_OK;
    for (uint64_t shard = from; status == VQ_OK && shard < until; shard++) {
        uint8_t *of = outcomes + shard * tasks;
        status = vq_lookup_outcomes(view, plan, v->uid, shard, of, v->err);
        for (uint32_t i = 0; status == VQ_OK && i < tasks; i++) {
            status = count_task(v, view, plan, shard * tasks + i, (enum vq_outcome)of[i]);
        }
    }
    vq_view_end(&view);
    return status;
}

static enum vq_status check_stage(struct vq_verifying *v, uint32_t stage)
{
    const struct vq_plan *plan = &v->replay.stages[stage]->plan;
    uint64_t shards = vq_grid_shards(&plan->grid);
    uint8_t *outcomes;
    VQ_TRY(VQ_ALLOC(outcomes, vq_grid_tasks(&plan->grid)));
    v->outcomes[stage] = outcomes;
    for (uint64_t from = 0; from < shards; from += VIEW_SHARDS) {
        uint64_t until = shards - from < VIEW_SHARDS ? shards : from + VIEW_SHARDS;
        VQ_TRY(check_shards(v, plan, from, until, outcomes));
    }
    return VQ_OK;
}

/* Reports open tasks, because each task of a finished run must be in a final state. */
static void say_open(struct vq_verifying *v)
{
    const struct vq_replay *r = &v->replay;
    const struct vq_job *job = v->in->job;
    for (size_t i = 0; i < r->undecided_count && i < UNDECIDED_SAID; i++) {
        const struct vq_undecided *u = &r->undecided[i];
        vq_verify_report(v,
                         "tasks: record %lld, %s, judge %s has no state, and the run is finished",
                         (long long)u->record, u->vibe, job->config->judges[u->judge].name);
    }
    if (r->undecided_count == 0 || r->undecided_count > UNDECIDED_SAID) {
        vq_verify_report(
            v,
            "tasks: %llu tasks have no state, and the run is finished; vibeq resume %s "
            "asks them",
            (unsigned long long)v->out->open, vq_run_dir_name(v->in->dir));
    }
}

enum vq_status vq_verify_tasks(struct vq_verifying *v, const struct vq_script *script)
{
    struct vq_error why = {0};
    enum vq_status status =
        vq_replay_walk(v->in->job, v->in->calls, v->uid, script, &v->replay, &why);
    if (status == VQ_CORRUPT || status == VQ_VERSION || status == VQ_INVALID) {
        vq_verify_report(v, "%s: they cannot be derived again: %s",
                         script == NULL ? "tasks" : "chat", why.text);
        return VQ_OK;
    }
    if (status != VQ_OK) {
        return vq_fail(v->err, status, "%s", why.text);
    }
    v->walked = true;
    VQ_TRY(VQ_ALLOC(v->outcomes, v->replay.stages_count));
    for (uint32_t i = 0; status == VQ_OK && i < v->replay.stages_count; i++) {
        status = check_stage(v, i);
    }
    return status;
}

void vq_verify_tasks_free(struct vq_verifying *v)
{
    for (uint32_t i = 0; v->outcomes != NULL && i < v->replay.stages_count; i++) {
        vq_free(v->outcomes[i]);
    }
    vq_free(v->outcomes);
    if (v->walked) {
        vq_replay_free(&v->replay);
    }
}

static void check_open(struct vq_verifying *v)
{
    if (v->out->finished && (v->out->open > 0 || !v->out->whole)) {
        say_open(v);
    } else if (v->out->open > 0 && !v->in->running) {
        vq_verify_note(v, "the run is not finished; vibeq resume %s continues it",
                       vq_run_dir_name(v->in->dir));
    }
}

/* ---- results ---- */

static void say_differs(void *ctx, const char *file, const char *how)
{
    vq_verify_report(ctx, "results: %s %s", file, how);
}

static enum vq_status check_results(struct vq_verifying *v)
{
    struct vq_results results = {.job = v->in->job,
                                 .method = &v->replay.method,
                                 .calls = v->in->calls,
                                 .run = v->uid,
                                 .dir = v->in->dir,
                                 .folder = "results",
                                 .silent = true,
                                 .differs = say_differs,
                                 .differs_ctx = v};
    bool missing;
    return vq_results_write(&results, &missing, v->err);
}

/* ---- all of it ---- */

static enum vq_status verify(struct vq_verifying *v)
{
    VQ_TRY(check_store(v));
    VQ_TRY(check_spools(v));
    VQ_TRY(vq_verify_tasks(v, NULL));
    v->out->whole = v->walked && v->replay.whole;
    VQ_TRY(find_finished(v));
    if (v->in->running) {
        vq_verify_note(v, "the run is active: verify checked its committed part");
    }
    if (!v->walked) {
        return VQ_OK;
    }
    check_open(v);
    if (v->in->running) {
        return vq_verify_redis(v);
    }
    if (!v->out->finished) {
        vq_verify_note(v, "results and accounting.json are compared when the run is finished");
        return VQ_OK;
    }
    if (v->replay.whole) {
        VQ_TRY(check_results(v));
    }
    return vq_verify_account(v, VQ_RESULT_ACCOUNT);
}

enum vq_status vq_verify_run(const struct vq_verify_input *in, struct vq_verify *ret_verify,
                             struct vq_error *err)
{
    struct vq_verify out = {.whole = false};
    struct vq_verifying v = {.in = in, .uid = vq_run_dir_uid(in->dir), .out = &out, .err = err};
    enum vq_status status = verify(&v);
    if (status == VQ_OK) {
        status = vq_verify_chat(&v);
    }
    vq_verify_tasks_free(&v);
    if (status != VQ_OK) {
        vq_verify_free(&out);
        return status;
    }
    *ret_verify = out;
    return VQ_OK;
}
