/* Local workers and the built-in server. Workers outlive this process on purpose: if the
 * coordinator is killed, they finish their calls, keep the results in their spool, and connect to
 * the resumed run. If a worker ends before the run does, its spool is read first, then the core
 * gets the report, then another worker is started. The built-in server dies with this process. */
#include "coordinator/run/parts.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/crash.h"
#include "common/text/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESTART_FIRST_MS UINT64_C(200)
#define RESTART_MAX_MS   UINT64_C(10000)
#define UNREAD_MS        20
#define HELD_MS          500 /* its worker is alive, or is just ending */
#define STRAYS_EVERY_MS  2000
#define STRAYS_NEXT_MS   20          /* between two spools */
#define STRAYS_FIRST_MS  UINT64_C(5) /* workers wait until the spools are read: a short time */

static void spawn_worker(struct vq_local_worker *w);

static enum vq_status open_log(struct vq_run *run, const char *file, int *ret_fd,
                               struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_dir_join(run->dir, file, path));
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) {
        return vq_fail(err, errno == ENOSPC ? VQ_FULL : VQ_IO, "cannot open %s: %s", path,
                       strerror(errno));
    }
    *ret_fd = fd;
    return VQ_OK;
}

/* A spool that is damaged in its middle stops the start: otherwise its calls would be asked again.
 * Errors of other spools (of another run) are logged when they are read. */
static enum vq_status look_at_spools(struct vq_run *run, struct vq_error *err)
{
    uint32_t k = 0;
    enum vq_status status = VQ_OK;
    while (status != VQ_NOT_FOUND) {
        struct vq_spool_import *import = NULL;
        status = vq_spool_import_next(vq_run_dir_path(run->dir), &run->owner.uid, &k, &import, err);
        vq_spool_import_abandon(&import);
        if (status == VQ_CORRUPT || status == VQ_NOMEM) {
            return status;
        }
    }
    return VQ_OK;
}

enum vq_status vq_children_open(struct vq_run *run, struct vq_error *err)
{
    vq_program_path("vibeq-worker", run->children.worker_path);
    VQ_TRY(open_log(run, "workers.log", &run->children.workers_log_fd, err));
    char spool[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_dir_join(run->dir, "spool", spool));
    if (mkdir(spool, 0700) != 0 && errno != EEXIST) {
        return vq_fail(err, errno == ENOSPC ? VQ_FULL : VQ_IO, "cannot make %s: %s", spool,
                       strerror(errno));
    }
    VQ_TRY(look_at_spools(run, err));
    if (run->work->needs_offline) {
        VQ_TRY(open_log(run, "offline.err", &run->children.offline_log_fd, err));
    }
    return VQ_OK;
}

/* ---- the built-in server ---- */

static void offline_exited(void *ctx, struct vq_child_exit how)
{
    struct vq_run *run = ctx;
    run->children.offline_died = true;
    if (!run->stop.done && !run->stop.finished && !run->stop.stopped) {
        vq_log(VQ_LOG_ERROR, "offline.exited", "code=%d signal=%d", how.code, how.signal);
        vq_run_fatal(
            run, VQ_UNAVAILABLE,
            "the built-in server ended (code %d, signal %d); see offline.err in the run's folder",
            how.code, how.signal);
    }
}

enum vq_status vq_children_offline(struct vq_run *run, struct vq_error *err)
{
    char log[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_dir_join(run->dir, "offline.log", log));
    struct vq_program_offline options = {.conf = &run->source.config->offline,
                                         .log = log,
                                         .hint = "; see offline.err in the run's folder",
                                         .stderr_fd = run->children.offline_log_fd,
                                         .exited = offline_exited,
                                         .ctx = run};
    return vq_program_offline_start(run->loop, &options, &run->children.offline,
                                    run->children.offline_url, err);
}

/* ---- spools ---- */

/* Offers the next results of an import; true when the core has them all. */
static bool offer(struct vq_run *run, struct vq_spool_import *import, size_t *taken)
{
    size_t total = vq_spool_import_results(import);
    char name[32];
    (void)snprintf(name, sizeof(name), "local-%u", vq_spool_import_k(import));
    while (*taken < total && run->fatal == VQ_OK) {
        size_t got = 0;
        enum vq_status status =
            vq_coord_import(run->coord, vq_span_str(name), vq_spool_import_at(import, *taken), 1,
                            vq_run_now(), &got);
        if (status != VQ_OK) {
            vq_run_fatal(run, status, "the coordinator's core gave up on a spool: %s",
                         vq_status_text(status));
            return false;
        }
        VQ_CRASH_POINT(import_offered);
        if (got == 0) {
            return false; /* the batch is full: continue after the next commit */
        }
        *taken += got;
    }
    return *taken == total;
}

static bool committed(const struct vq_run *run, uint64_t no)
{
    struct vq_coord_status status;
    vq_coord_status_fill(run->coord, vq_run_now(), &status);
    return status.batches >= no;
}

static void finish_import(struct vq_run *run, struct vq_spool_import **import)
{
    struct vq_error err = {0};
    uint64_t torn = vq_spool_import_torn_bytes(*import);
    vq_log(torn > 0 ? VQ_LOG_WARN : VQ_LOG_INFO, "spool.imported",
           "k=%u results=%zu unknown=%zu torn_bytes=%llu", vq_spool_import_k(*import),
           vq_spool_import_results(*import), vq_spool_import_unknown(*import),
           (unsigned long long)torn);
    run->seen.spools++;
    run->seen.spool_results += vq_spool_import_results(*import);
    run->seen.spool_unknown += vq_spool_import_unknown(*import);
    run->seen.spools_torn += torn > 0 ? 1 : 0;
    if (torn > 0) {
        vq_run_message(run,
                       "The spool of local worker %u ends with %llu bytes of an incomplete record "
                       "(a write was cut short); the %zu calls before it are imported.",
                       vq_spool_import_k(*import), (unsigned long long)torn,
                       vq_spool_import_results(*import));
    }
    if (vq_spool_import_finish(import, &err) != VQ_OK) {
        vq_log(VQ_LOG_WARN, "spool.kept", "why=%s", err.text);
    }
}

static void local_ended(struct vq_run *run, uint32_t k)
{
    vq_run_check_core(run, vq_coord_local_ended(run->coord, k, vq_run_now()));
}

/* Workers of an earlier coordinator, and workers on other machines, may still have a session. */
static bool no_worker_works(const struct vq_run *run)
{
    struct vq_coord_worker_status session;
    bool none = run->options->listen == NULL && !vq_coord_worker_fill(run->coord, 0, &session);
    for (uint32_t k = 0; k < run->children.workers_count; k++) {
        none &= run->children.workers[k].given_up;
    }
    return none;
}

static void give_up_worker(struct vq_local_worker *w)
{
    struct vq_run *run = w->run;
    w->given_up = true;
    if (!w->spool_damaged) {
        vq_run_message(
            run,
            "Local worker %u ended %u times in a row without a result (code %d, signal %d) "
            "and is not started again; see %s/workers.log",
            w->k, w->restarts + 1, w->how.code, w->how.signal, vq_run_dir_path(run->dir));
    }
    if (no_worker_works(run)) {
        vq_run_fatal(
            run, VQ_UNAVAILABLE,
            "no local worker is left: each worker ended repeatedly without a result, or its "
            "spool is damaged; %s/workers.log says why",
            vq_run_dir_path(run->dir));
    }
}

static void restart_later(struct vq_local_worker *w)
{
    if (w->spool_damaged || w->restarts >= VQ_RUN_WORKER_RESTARTS_MAX) {
        give_up_worker(w);
        return;
    }
    uint64_t pause = RESTART_FIRST_MS << (w->restarts < 6 ? w->restarts : 6);
    w->restarts++;
    vq_timer_start(w->restart, pause > RESTART_MAX_MS ? RESTART_MAX_MS : pause, 0);
}

/* Handles the spool of a worker that ended: all its results go into batches; after their commit the
 * spool is deleted, and the core gets the report of the end. */
static void go_on_with_worker(struct vq_local_worker *w)
{
    struct vq_run *run = w->run;
    if (!w->importing || run->coord == NULL || run->fatal != VQ_OK) {
        return;
    }
    if (vq_committer_is_dead(&run->commit)) { /* its spool stays for the resumed run */
        vq_spool_import_abandon(&w->import);
        w->importing = false;
        return;
    }
    if (w->import != NULL) {
        if (!offer(run, w->import, &w->imported) ||
            !committed(run, vq_coord_imported_no(run->coord))) {
            return;
        }
        finish_import(run, &w->import);
    }
    w->importing = false;
    local_ended(run, w->k);
    vq_loop_again(run->loop);
    if (run->stop.finished || run->stop.stopped || run->stop.draining || run->stop.done) {
        return;
    }
    if (w->leaves) {
        w->given_up = true;
        vq_run_message(
            run, "Local worker %u has left, by vibeq ctl drain; vibeq resume starts it again.",
            w->k);
        return;
    }
    restart_later(w);
}

static void worker_reap(void *ctx)
{
    struct vq_local_worker *w = ctx;
    struct vq_run *run = w->run;
    vq_child_destroy(&w->child);
    struct vq_error err = {0};
    w->importing = true;
    w->imported = 0;
    enum vq_status status =
        vq_spool_import_one(vq_run_dir_path(run->dir), &run->owner.uid, w->k, &w->import, &err);
    if (status != VQ_OK && status != VQ_NOT_FOUND) {
        vq_run_message(run, "The spool of local worker %u is not imported: %s", w->k, err.text);
        w->spool_damaged = status == VQ_CORRUPT; /* no worker would start with it */
    }
    if (w->import != NULL && vq_spool_import_results(w->import) > 0) {
        w->restarts = 0;
    }
    go_on_with_worker(w);
}

static void worker_exited(void *ctx, struct vq_child_exit how)
{
    struct vq_local_worker *w = ctx;
    struct vq_run *run = w->run;
    bool expected = run->stop.finished || run->stop.stopped || run->stop.draining ||
                    run->stop.done || w->leaves;
    vq_log(expected ? VQ_LOG_INFO : VQ_LOG_WARN, "worker.exited", "k=%u code=%d signal=%d", w->k,
           how.code, how.signal);
    w->how = how;
    if (!expected) {
        vq_run_moment(run, VQ_TROUBLE_WORKER, "",
                      "It is started again. workers.log says why it ended.",
                      "Local worker %u ended (code %d, signal %d).", w->k, how.code, how.signal);
    }
    if (!expected && how.code > 0 && w->restarts < 2) {
        vq_run_message(
            run, "Local worker %u ended with code %d and is started again; see %s/workers.log",
            w->k, how.code, vq_run_dir_path(run->dir));
    }
    vq_loop_defer(run->loop, &w->reap); /* not from its own callback */
}

/* Whether a worker that outlived the last coordinator holds this spool: that worker connects again,
 * and no second one is started for it. */
static bool spool_is_held(const struct vq_run *run, uint32_t k)
{
    char file[64], path[VQ_RUN_PATH_BYTES_MAX];
    (void)snprintf(file, sizeof(file), "spool/%u/lock", k);
    if (vq_run_dir_join(run->dir, file, path) != VQ_OK) {
        return false;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool held = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    (void)close(fd);
    return held;
}

/* The spool of an earlier worker is imported first: until then its importer has the lock, and a new
 * worker would end at once. */
static bool spool_is_unread(const struct vq_run_children *children, uint32_t k)
{
    return !children->strays_read &&
           (children->import_k <= k ||
            (children->import != NULL && vq_spool_import_k(children->import) == k));
}

static void spawn_worker(struct vq_local_worker *w)
{
    struct vq_run *run = w->run;
    /* this process may hold its spool's lock */
    if (!run->children.strays_read && !run->begun.first_start) {
        vq_timer_start(w->restart, STRAYS_FIRST_MS, 0);
        return;
    }
    if (spool_is_held(run, w->k)) {
        vq_timer_start(w->restart, HELD_MS, 0);
        return;
    }
    if (spool_is_unread(&run->children, w->k)) {
        vq_timer_start(w->restart, UNREAD_MS, 0);
        return;
    }
    char file[64], spool[VQ_RUN_PATH_BYTES_MAX], k[16], name[32];
    (void)snprintf(file, sizeof(file), "spool/%u", w->k);
    (void)snprintf(k, sizeof(k), "%u", w->k);
    (void)snprintf(name, sizeof(name), "local-%u", w->k);
    struct vq_error err = {0};
    enum vq_status status = vq_run_dir_join(run->dir, file, spool);
    const char *argv[] = {
        "vibeq-worker", "--join", run->links.local_path, "--spool", spool, "--local", k, "--name",
        name,           NULL};
    struct vq_child_options options = {.path = run->children.worker_path,
                                       .argv = argv,
                                       .env_all = true,
                                       .stderr_fd = run->children.workers_log_fd,
                                       .own_fate = true,
                                       .exited = worker_exited,
                                       .ctx = w};
    if (status == VQ_OK) {
        status = vq_child_spawn(run->loop, &options, &w->child, &err);
    }
    if (status == VQ_OK) {
        return;
    }
    if (w->restarts == 0) {
        vq_run_fatal(run, status, "cannot start local worker %u: %s", w->k, err.text);
        return;
    }
    /* an earlier start worked: the machine lacks descriptors or processes for a while */
    vq_log(VQ_LOG_WARN, "worker.not_started", "k=%u why=%s", w->k, err.text);
    restart_later(w);
}

static void worker_restart(void *ctx)
{
    struct vq_local_worker *w = ctx;
    if (w->run->fatal == VQ_OK && !w->run->stop.finished && !w->run->stop.stopped &&
        !w->run->stop.draining) {
        spawn_worker(w);
    }
}

enum vq_status vq_children_workers(struct vq_run *run, struct vq_error *err)
{
    uint32_t n = run->options->workers;
    if (run->begun.first_start) { /* no earlier process: all spools are of this process's workers */
        run->children.strays_read = true;
        run->children.import_k = VQ_SPOOLS_MAX;
    }
    run->children.workers = vq_alloc(n, sizeof(*run->children.workers));
    if (run->children.workers == NULL) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    run->children.workers_count = n;
    for (uint32_t k = 0; k < n; k++) {
        struct vq_local_worker *w = &run->children.workers[k];
        w->run = run;
        w->k = k;
        w->reap = (struct vq_deferred){.fn = worker_reap, .ctx = w};
        VQ_TRY(vq_timer_create(run->loop, worker_restart, w, &w->restart));
        spawn_worker(w);
        if (run->fatal != VQ_OK) {
            *err = run->err;
            return run->fatal;
        }
    }
    return VQ_OK;
}

/* Imports spools of workers that an earlier coordinator started. At the start and at the end it
 * takes all free ones. In between it takes only those for which this process starts no worker:
 * their worker may have outlived that coordinator and ended just now. */
static void go_on_with_strays(struct vq_run *run)
{
    if (run->children.import == NULL) {
        if (run->children.import_k >= VQ_SPOOLS_MAX) {
            if (run->stop.done || vq_run_now() < run->children.strays_ns) {
                return;
            }
            run->children.import_k = run->children.workers_count;
        }
        run->children.strays_ns = vq_run_now() + STRAYS_EVERY_MS * VQ_NS_PER_MS;
        struct vq_error err = {0};
        enum vq_status status =
            vq_spool_import_next(vq_run_dir_path(run->dir), &run->owner.uid,
                                 &run->children.import_k, &run->children.import, &err);
        if (status == VQ_NOT_FOUND) {
            run->children.import_k = VQ_SPOOLS_MAX;
            run->children.strays_read = true;
        } else if (status != VQ_OK) {
            vq_run_message(run, "A spool is not imported: %s", err.text);
        }
        run->children.imported = 0;
        if (run->children.import == NULL) {
            return;
        }
    }
    if (offer(run, run->children.import, &run->children.imported) &&
        committed(run, vq_coord_imported_no(run->coord))) {
        uint32_t k = vq_spool_import_k(run->children.import);
        finish_import(run, &run->children.import);
        if (k >= run->children.workers_count) {
            local_ended(run, k);
        }
        vq_loop_again(run->loop);
    }
}

void vq_children_strays_again(struct vq_run_children *children)
{
    children->import_k = children->import == NULL ? 0 : children->import_k;
}

/* Looks while the workers live: a worker that sends BYE ends its session. */
static void check_workers(struct vq_run *run)
{
    struct vq_coord_worker_status session;
    for (uint32_t i = 0; vq_coord_worker_fill(run->coord, i, &session); i++) {
        if (session.results > 0 && session.local >= 0 &&
            session.local < (int64_t)run->children.workers_count) {
            run->children.workers[session.local].restarts = 0;
        }
    }
}

void vq_children_tick(struct vq_run *run)
{
    if (run->coord != NULL && run->fatal == VQ_OK) {
        check_workers(run);
    }
}

void vq_children_turn(struct vq_run *run)
{
    if (run->coord == NULL || run->fatal != VQ_OK) {
        return;
    }
    for (uint32_t k = 0; k < run->children.workers_count; k++) {
        go_on_with_worker(&run->children.workers[k]);
    }
    go_on_with_strays(run);
}

/* A spool that is being read continues with a commit, which is an event. */
int64_t vq_children_wake_ns(const struct vq_run *run)
{
    if (run->coord == NULL || run->fatal != VQ_OK || run->children.import != NULL) {
        return INT64_MAX;
    }
    if (run->children.import_k < VQ_SPOOLS_MAX) {
        return vq_run_now() + STRAYS_NEXT_MS * VQ_NS_PER_MS;
    }
    return run->stop.done ? INT64_MAX : run->children.strays_ns;
}

bool vq_children_quiet(const struct vq_run_children *children)
{
    bool reading = children->import != NULL;
    for (uint32_t k = 0; k < children->workers_count; k++) {
        reading |= children->workers[k].importing;
    }
    return !reading;
}

bool vq_children_gone(struct vq_run *run)
{
    bool strays = run->children.import != NULL || run->children.import_k < VQ_SPOOLS_MAX;
    if (run->stop.done && strays && run->fatal == VQ_OK && !vq_committer_is_dead(&run->commit)) {
        return false;
    }
    for (uint32_t k = 0; k < run->children.workers_count; k++) {
        const struct vq_local_worker *w = &run->children.workers[k];
        if (w->child != NULL || w->importing) {
            return false;
        }
    }
    return true;
}

void vq_children_stop(struct vq_run_children *children, int signum)
{
    for (uint32_t k = 0; k < children->workers_count; k++) {
        struct vq_local_worker *w = &children->workers[k];
        vq_timer_stop(w->restart);
        if (w->child != NULL) {
            (void)vq_child_kill(w->child, signum, true); /* it may just have ended */
        }
    }
}

/* If this process cannot continue, calls in flight are not killed with it: each worker finishes its
 * calls, starts no others, and keeps the answers in its spool for the resumed run. */
void vq_children_close(struct vq_run *run)
{
    bool leave = run->fatal != VQ_OK && run->stop.interrupts < 2;
    for (uint32_t k = 0; k < run->children.workers_count; k++) {
        struct vq_local_worker *w = &run->children.workers[k];
        vq_deferred_cancel(&w->reap);
        vq_timer_destroy(&w->restart);
        if (leave && w->child != NULL) {
            (void)vq_child_kill(w->child, SIGTERM, true); /* it may just have ended */
            vq_child_leave(&w->child);
        }
        vq_child_destroy(&w->child);
        vq_spool_import_abandon(&w->import);
    }
    vq_free(run->children.workers);
    run->children.workers = NULL;
    run->children.workers_count = 0;
    vq_spool_import_abandon(&run->children.import);
    vq_child_destroy(&run->children.offline);
    if (run->children.workers_log_fd > 0) {
        (void)close(run->children.workers_log_fd);
    }
    if (run->children.offline_log_fd > 0) {
        (void)close(run->children.offline_log_fd);
    }
}
