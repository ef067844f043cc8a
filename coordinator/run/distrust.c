/* Workers that a run distrusts. An active run refuses such a worker at once, lets the calls in
 * flight end, and starts again from its store in the same process: the store throws the answers
 * away, and the walk through the stages asks their tasks again, also those of earlier stages.
 *
 * Invariants: the name is in the run's folder before the reply, so that a crash in between changes
 * nothing. Each start throws away the rest of these workers' answers. A local worker is never
 * distrusted, because the next one has the same name. Not its job: moving the answers
 * (calls/distrust.c), and the key of the worker (`vibeq cert revoke`). */
#include "coordinator/run/distrust.h"

#include "common/base/clock.h"
#include "common/text/fmt.h"
#include "common/text/json_load.h"
#include "common/text/log.h"
#include "coordinator/run/parts.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#define ACCOUNTING_BYTES_MAX (64u << 20)
#define LOCAL_PREFIX         "local-" /* children.c gives local workers this prefix */

/* ---- the list ---- */

/* Returns the next line; false: no more. *io_at starts with 0. */
static bool next_name(const struct vq_buf *names, size_t *io_at, struct vq_span *ret_name)
{
    while (*io_at < names->bytes) {
        const char *from = names->at + *io_at;
        const char *end = memchr(from, '\n', names->bytes - *io_at);
        size_t bytes = end == NULL ? names->bytes - *io_at : (size_t)(end - from);
        *io_at += bytes + 1;
        *ret_name = vq_span(from, bytes);
        if (bytes > 0 && bytes <= VQ_WORKER_NAME_BYTES) {
            return true;
        }
    }
    return false;
}

static void copy_name(struct vq_span name, char ret_text[VQ_WORKER_NAME_BYTES + 1])
{
    memcpy(ret_text, name.at, name.bytes);
    ret_text[name.bytes] = '\0';
}

static bool is_listed(const struct vq_buf *names, struct vq_span worker)
{
    struct vq_span name;
    for (size_t at = 0; next_name(names, &at, &name);) {
        char text[VQ_WORKER_NAME_BYTES + 1];
        copy_name(name, text);
        if (vq_distrust_names(text, worker)) {
            return true;
        }
    }
    return false;
}

static enum vq_status read_list(const struct vq_run_dir *dir, struct vq_buf *ret_names,
                                struct vq_error *err)
{
    vq_buf_init(ret_names, VQ_DISTRUSTED_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(dir, VQ_DISTRUSTED_FILE, ret_names, err);
    return status == VQ_NOT_FOUND ? VQ_OK : status;
}

static enum vq_status add_name(const struct vq_run_dir *dir, struct vq_buf *names, const char *name,
                               struct vq_error *err)
{
    if (is_listed(names, vq_span_str(name))) {
        return VQ_OK;
    }
    vq_buf_printf(names, "%s\n", name);
    if (names->status != VQ_OK) {
        return vq_fail(err, VQ_DENIED, VQ_DISTRUSTED_FILE " has no room for another worker");
    }
    return vq_run_dir_write(dir, VQ_DISTRUSTED_FILE, vq_buf_span(names), true, err);
}

enum vq_status vq_distrust_open(struct vq_run *run, struct vq_error *err)
{
    return read_list(run->dir, &run->distrust.names, err);
}

void vq_distrust_close(struct vq_run *run)
{
    vq_buf_free(&run->distrust.names);
}

bool vq_distrust_refuses(const struct vq_run *run, struct vq_span name)
{
    name.bytes = name.bytes > VQ_WORKER_NAME_BYTES ? VQ_WORKER_NAME_BYTES : name.bytes;
    return is_listed(&run->distrust.names, name);
}

enum vq_status vq_distrust_apply(struct vq_run *run, struct vq_distrust *ret_found,
                                 struct vq_error *err)
{
    struct vq_distrust all = {0};
    struct vq_span name;
    for (size_t at = 0; next_name(&run->distrust.names, &at, &name);) {
        char text[VQ_WORKER_NAME_BYTES + 1];
        struct vq_distrust found;
        copy_name(name, text);
        VQ_TRY(vq_distrust_carry_out(run->calls, &run->owner.uid, text, run->started_unix_ms,
                                     &found, err));
        all.answers += found.answers;
        all.failures += found.failures;
        vq_distrust_free(&found);
    }
    *ret_found = all;
    return VQ_OK;
}

/* ---- the reply ---- */

typedef const char *(*stage_name_fn)(const void *ctx, uint32_t stage); /* NULL: unknown */

static void say_counts(const struct vq_distrust *found, bool failures, stage_name_fn name_of,
                       const void *ctx, struct vq_buf *said)
{
    const char *comma = " (";
    for (size_t i = 0; i < found->stages_count; i++) {
        const struct vq_distrust_stage *s = &found->stages[i];
        uint64_t n = failures ? s->failures : s->answers;
        const char *name = name_of(ctx, s->stage);
        if (n == 0) {
            continue;
        }
        if (name == NULL) {
            vq_buf_printf(said, "%s%llu of stage %u", comma, (unsigned long long)n, s->stage);
        } else {
            vq_buf_printf(said, "%s%llu of %s", comma, (unsigned long long)n, name);
        }
        comma = ", ";
    }
    if (comma[0] == ',') {
        vq_buf_putc(said, ')');
    }
}

static void say_found(const char *worker, const struct vq_distrust *found, stage_name_fn name_of,
                      const void *ctx, struct vq_buf *said)
{
    char n[VQ_FMT_BYTES], cost[VQ_FMT_BYTES];
    vq_buf_printf(said, "%s is refused from now on. Thrown away: %s answer%s", worker,
                  vq_fmt_count(found->answers, n), vq_fmt_plural(found->answers));
    say_counts(found, false, name_of, ctx, said);
    vq_buf_printf(said, " and %s failure%s", vq_fmt_count(found->failures, n),
                  vq_fmt_plural(found->failures));
    say_counts(found, true, name_of, ctx, said);
    vq_buf_printf(said, ". Its %s call%s cost %s, which stays on the bill",
                  vq_fmt_count(found->calls, n), vq_fmt_plural(found->calls),
                  vq_fmt_dollars((double)found->cost_nano / 1e9, cost));
}

/* ---- an active run ---- */

enum vq_status vq_distrust_check(const char *const *values, struct vq_error *err)
{
    const char *name = values[0];
    size_t bytes = strlen(name);
    if (bytes == 0 || bytes > VQ_WORKER_NAME_BYTES || strchr(name, '\n') != NULL) {
        return vq_fail(err, VQ_INVALID, "a worker's name has 1 to %d bytes", VQ_WORKER_NAME_BYTES);
    }
    if (strncmp(name, LOCAL_PREFIX, strlen(LOCAL_PREFIX)) == 0) {
        return vq_fail(err, VQ_INVALID,
                       "%s is a local worker: this machine starts it, and each next one has its "
                       "name",
                       name);
    }
    if (strcmp(name, VQ_JOIN_GROUP) == 0) {
        return vq_fail(err, VQ_INVALID,
                       "the workers with " VQ_JOIN_GROUP ".cert share one key, so name each as "
                       "accounting.json does; vibeq cert revoke " VQ_JOIN_GROUP
                       " refuses them all");
    }
    return VQ_OK;
}

static const char *active_stage(const void *ctx, uint32_t stage)
{
    const struct vq_run *run = ctx;
    if (run->stages.asking != NULL && run->stages.asking->no == stage) {
        return run->stages.asking->name;
    }
    for (uint32_t i = 0; i < run->stages.past_count; i++) {
        if (run->stages.past[i].asking->no == stage) {
            return run->stages.past[i].asking->name;
        }
    }
    return NULL;
}

/* Ends the worker's sessions. *ret_seen: their number. */
static enum vq_status send_away(struct vq_run *run, const char *name, uint32_t *ret_seen)
{
    struct vq_coord_worker_status w;
    *ret_seen = 0;
    for (uint32_t i = 0; vq_coord_worker_fill(run->coord, i, &w); i++) {
        if (w.local < 0 && vq_distrust_names(name, vq_span_str(w.name))) {
            (*ret_seen)++;
            VQ_TRY(vq_coord_expel(run->coord, w.peer, VQ_DISTRUST_WHY, vq_run_now()));
        }
    }
    return VQ_OK;
}

static enum vq_status find(struct vq_run *run, const char *name, struct vq_distrust *ret_found,
                           struct vq_error *err)
{
    struct vq_view *view = NULL;
    enum vq_status status = vq_view_begin(run->calls, &view, err);
    if (status == VQ_AGAIN) {
        return vq_fail(err, VQ_DENIED, "the call store is being enlarged; try again");
    }
    VQ_TRY(status);
    status = vq_distrust_find(view, &run->owner.uid, name, ret_found, err);
    vq_view_end(&view);
    return status;
}

static enum vq_status begin_again(struct vq_run *run)
{
    run->distrust.again = true;
    run->distrust.until_ns = vq_run_now() + (int64_t)run->source.config->term_ms * VQ_NS_PER_MS;
    vq_loop_again(run->loop);
    return vq_coord_hold(run->coord, true, vq_run_now());
}

enum vq_status vq_distrust_do(struct vq_run *run, const char *const *values, struct vq_buf *said,
                              struct vq_error *err)
{
    const char *name = values[0];
    struct vq_distrust found;
    uint32_t seen = 0;
    if (run->coord == NULL || run->fatal != VQ_OK || run->stop.finished || run->stop.stopped ||
        run->stop.interrupts > 0 || run->distrust.again) {
        return vq_fail(err, VQ_DENIED, "the run is ending; try again when it has ended");
    }
    if (run->work->write == NULL) {
        return vq_fail(err, VQ_DENIED,
                       "another command works on this run; try again when it has ended");
    }
    VQ_TRY(find(run, name, &found, err));
    bool known = found.calls > 0;
    for (size_t i = 0; i < run->gate.allowed.count && !known; i++) {
        known = strcmp(run->gate.allowed.items[i].name, name) == 0;
    }
    struct vq_coord_worker_status w;
    for (uint32_t i = 0; !known && vq_coord_worker_fill(run->coord, i, &w); i++) {
        known = vq_distrust_names(name, vq_span_str(w.name));
    }
    enum vq_status status =
        known ? add_name(run->dir, &run->distrust.names, name, err)
              : vq_fail(err, VQ_DENIED,
                        "no worker and no certificate of this run has the name '%.60s'; "
                        "vibeq status and accounting.json show the names",
                        name);
    if (status == VQ_OK) {
        status = send_away(run, name, &seen);
    }
    if (status == VQ_OK) {
        status = begin_again(run);
    }
    if (status == VQ_OK) {
        vq_log(VQ_LOG_WARN, "worker.distrusted", "name=%s sessions=%u answers=%llu failures=%llu",
               name, seen, (unsigned long long)found.answers, (unsigned long long)found.failures);
        say_found(name, &found, active_stage, run, said);
        vq_buf_puts(said, ". The run starts again from its store and asks all of this again; later "
                          "stages follow from the new answers");
    }
    vq_distrust_free(&found);
    return status;
}

void vq_distrust_turn(struct vq_run *run)
{
    struct vq_run_distrust *d = &run->distrust;
    if (!d->again || d->is_over || run->coord == NULL || run->fatal != VQ_OK ||
        run->stop.finished || run->stop.stopped) {
        return;
    }
    bool quiet = vq_coord_clean(run->coord) && !run->commit.busy;
    if (quiet || vq_run_now() >= d->until_ns) {
        d->is_clean = quiet;
        d->is_over = true;
        vq_run_message(run, "The run starts again from its store, without the distrusted worker.");
    }
}

int64_t vq_distrust_wake_ns(const struct vq_run *run)
{
    return run->distrust.again && !run->distrust.is_over ? run->distrust.until_ns : INT64_MAX;
}

/* ---- a run that is not active ---- */

/* From accounting.json, whose stages ascend by number without a gap. */
static const char *stopped_stage(const void *ctx, uint32_t stage)
{
    const json_t *stages = ctx;
    return json_string_value(json_object_get(json_array_get(stages, stage), "name"));
}

static enum vq_status throw_away(const char *runs_dir, const struct vq_run_dir *dir,
                                 const char *name, struct vq_distrust *ret_found,
                                 struct vq_error *err)
{
    static const struct vq_calls_options options = {.must_exist = true};
    struct vq_calls *calls = NULL;
    struct vq_buf names;
    VQ_TRY(vq_calls_open(runs_dir, &options, &calls, err));
    struct vq_view *view = NULL;
    struct vq_distrust found = {0};
    enum vq_status status = vq_view_begin(calls, &view, err);
    if (status == VQ_OK) {
        status = vq_distrust_find(view, vq_run_dir_uid(dir), name, &found, err);
        vq_view_end(&view);
    }
    if (status == VQ_OK && found.calls == 0) {
        status = vq_fail(err, VQ_INVALID,
                         "no worker '%.60s' delivered anything to this run; accounting.json shows "
                         "the names",
                         name);
    }
    vq_distrust_free(&found);
    if (status == VQ_OK) {
        status = read_list(dir, &names, err);
        status = status == VQ_OK ? add_name(dir, &names, name, err) : status;
        vq_buf_free(&names);
    }
    if (status == VQ_OK) {
        status = vq_distrust_carry_out(calls, vq_run_dir_uid(dir), name, vq_clock_unix_ms(),
                                       ret_found, err);
    }
    vq_calls_close(&calls);
    return status;
}

/* So that `vibeq run --or-resume` starts the run again. */
static enum vq_status forget_end(const struct vq_run_dir *dir, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_dir_join(dir, VQ_RUN_END_FILE, path));
    return unlink(path) == 0 || errno == ENOENT
               ? VQ_OK
               : vq_fail(err, VQ_IO, "%s cannot be removed: %s", path, strerror(errno));
}

enum vq_status vq_distrust_do_stopped(const char *runs_dir, const char *name,
                                      const char *const *values, struct vq_buf *said,
                                      struct vq_error *err)
{
    struct vq_run_dir *dir = NULL;
    struct vq_distrust found = {0};
    struct vq_buf text;
    json_t *root = NULL;
    VQ_TRY(vq_run_dir_open(runs_dir, name, &dir, err));
    enum vq_status status = forget_end(dir, err);
    if (status == VQ_OK) {
        status = throw_away(runs_dir, dir, values[0], &found, err);
    }
    vq_buf_init(&text, ACCOUNTING_BYTES_MAX);
    if (status == VQ_OK && (vq_run_dir_read(dir, "accounting.json", &text, NULL) != VQ_OK ||
                            vq_json_load(vq_buf_span(&text), 0, &root, NULL) != VQ_OK)) {
        root = NULL; /* then the stages have numbers instead of names */
    }
    if (status == VQ_OK) {
        say_found(values[0], &found, stopped_stage, json_object_get(root, "stages"), said);
        vq_buf_printf(said,
                      ". `vibeq resume %s` asks all of this again; the results in the folder are "
                      "the old ones until then",
                      name);
    }
    json_decref(root);
    vq_buf_free(&text);
    vq_distrust_free(&found);
    vq_run_dir_close(&dir);
    return status;
}
