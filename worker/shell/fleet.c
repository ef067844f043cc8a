/* One process per certificate, started again after each end. Each process is a worker of one run;
 * when that run is over, the next process waits for the next run at the same address. Separate
 * processes also isolate the runs from each other. The folders of certificates are checked once a
 * second: a new certificate gets a process; if a certificate was removed or replaced, its process
 * drains.
 *
 * Invariant: a process that drains is never started again by the entry that it had. Not its job:
 * anything about a run (agent.c). */
#include "worker/shell/fleet.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/rng.h"
#include "common/base/secret.h"
#include "common/net/child.h"
#include "common/net/signals.h"
#include "common/text/log.h"
#include "worker/core/work.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS        1000
#define AGAIN_MS       500
#define FAILED_MS      1000
#define FAILED_MS_MAX  30000
#define PATH_BYTES_MAX 4096
#define SAME_SIGNAL_MS 500

struct member {
    bool used;
    char path[PATH_BYTES_MAX];
    struct stat seen; /* the certificate at the start of its process */
    struct vq_child *child;
    struct fleet *fleet;
    bool wanted, drains;
    uint32_t failures;
    int64_t start_ns; /* of the next process */
};

struct fleet {
    const struct vq_worker_options *options;
    int argc;
    char **argv;
    struct vq_loop *loop;
    struct vq_timer *timer;
    struct vq_signal *signals[3];
    struct vq_rng rng;
    struct member members[VQ_FLEET_CERTS_MAX];
    bool leaving, too_many;
    int signum;
    int64_t signal_ns;
    int code;
};

uint32_t vq_fleet_wait_ms(int code, uint32_t failures)
{
    if (code == VQ_WORK_EXIT_DONE || failures == 0) {
        return AGAIN_MS;
    }
    uint32_t doubled = failures > 6 ? FAILED_MS_MAX : (uint32_t)FAILED_MS << (failures - 1);
    return doubled > FAILED_MS_MAX ? FAILED_MS_MAX : doubled;
}

/* ---- the processes ---- */

static void look(struct fleet *f);

/* The worst exit code of the processes: 1, then 4, then 2. */
static int worse(int a, int b)
{
    static const int order[] = {VQ_WORK_EXIT_FATAL, VQ_WORK_EXIT_STOPPED, VQ_WORK_EXIT_USAGE};
    for (size_t i = 0; i < VQ_COUNT(order); i++) {
        if (a == order[i] || b == order[i]) {
            return order[i];
        }
    }
    return VQ_WORK_EXIT_DONE;
}

static void on_exited(void *ctx, struct vq_child_exit how)
{
    struct member *m = ctx;
    struct fleet *f = m->fleet;
    /* it had not started its work: a worker that has started drains at this signal */
    bool idle = f->leaving && how.signal == SIGTERM;
    int code = idle ? VQ_WORK_EXIT_DONE : how.signal != 0 ? VQ_WORK_EXIT_STOPPED : how.code;
    vq_child_destroy(&m->child);
    m->failures = code == VQ_WORK_EXIT_DONE ? 0 : m->failures + 1;
    uint32_t wait_ms = vq_fleet_wait_ms(code, m->failures);
    wait_ms = wait_ms / 2 + (uint32_t)vq_rng_below(&f->rng, wait_ms + 1);
    m->start_ns = vq_clock_mono_ns() + wait_ms * VQ_NS_PER_MS;
    vq_log(code == VQ_WORK_EXIT_DONE ? VQ_LOG_INFO : VQ_LOG_WARN, "fleet.ended",
           "cert=%s code=%d signal=%d again_ms=%u", m->path, how.code, how.signal,
           m->drains ? 0 : wait_ms);
    if (f->leaving) {
        f->code = worse(f->code, code);
    }
    if (m->drains) {
        *m = (struct member){.fleet = f};
    }
    look(f);
}

static void start(struct member *m)
{
    struct fleet *f = m->fleet;
    const char *argv[VQ_WORKER_CHILD_ARGS_MAX];
    struct vq_error err = {""};
    struct vq_child_options options = {.path = "/proc/self/exe",
                                       .argv = argv,
                                       .env_all = true,
                                       .stdout_fd = STDOUT_FILENO,
                                       .stderr_fd = STDERR_FILENO,
                                       .exited = on_exited,
                                       .ctx = m};
    (void)stat(m->path, &m->seen);
    enum vq_status status = vq_worker_options_of_child(f->argc, f->argv, m->path, argv, &err);
    if (status == VQ_OK) {
        status = vq_child_spawn(f->loop, &options, &m->child, &err);
    }
    if (status != VQ_OK) {
        m->failures++;
        m->start_ns =
            vq_clock_mono_ns() + vq_fleet_wait_ms(VQ_WORK_EXIT_FATAL, m->failures) * VQ_NS_PER_MS;
        vq_log(VQ_LOG_ERROR, "fleet.not_started", "cert=%s why=%s", m->path,
               err.text[0] != '\0' ? err.text : vq_status_text(status));
    }
}

static void drain(struct member *m)
{
    if (m->child == NULL) {
        *m = (struct member){.fleet = m->fleet};
    } else if (!m->drains) {
        m->drains = true;
        (void)vq_child_kill(m->child, SIGTERM, false);
    }
}

/* ---- the certificates ---- */

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void want(struct fleet *f, const char *path)
{
    struct member *room = NULL;
    for (size_t i = 0; i < VQ_FLEET_CERTS_MAX; i++) {
        struct member *m = &f->members[i];
        if (m->used && !m->drains && strcmp(m->path, path) == 0) {
            m->wanted = true;
            return;
        }
        room = room == NULL && !m->used ? m : room;
    }
    if (room == NULL) {
        if (!f->too_many) {
            vq_log(VQ_LOG_ERROR, "fleet.full", "cert=%s most=%u", path, VQ_FLEET_CERTS_MAX);
        }
        f->too_many = true;
        return;
    }
    *room = (struct member){.used = true, .fleet = f, .wanted = true};
    (void)snprintf(room->path, sizeof(room->path), "%s", path);
}

/* The certificates of a coordinator and of its local workers are not for a fleet. */
static bool is_cert(const char *name)
{
    size_t bytes = strlen(name), end = strlen(".cert");
    return bytes > end && name[0] != '.' && strcmp(name + bytes - end, ".cert") == 0 &&
           strcmp(name, "coordinator.cert") != 0 && strcmp(name, "local.cert") != 0;
}

static void want_all_of(struct fleet *f, const char *join)
{
    char path[PATH_BYTES_MAX];
    DIR *dir = opendir(join);
    const struct dirent *entry;
    if (dir == NULL) { /* not a folder: a file, which may be created later */
        want(f, join);
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        int n = snprintf(path, sizeof(path), "%s/%s", join, entry->d_name);
        if (is_cert(entry->d_name) && n > 0 && (size_t)n < sizeof(path)) {
            want(f, path);
        }
    }
    (void)closedir(dir);
}

static void find_certs(struct fleet *f)
{
    for (size_t i = 0; i < VQ_FLEET_CERTS_MAX; i++) {
        f->members[i].wanted = false;
    }
    for (uint32_t i = 0; i < f->options->joins_count; i++) {
        want_all_of(f, f->options->joins[i]);
    }
    for (size_t i = 0; i < VQ_FLEET_CERTS_MAX; i++) {
        struct member *m = &f->members[i];
        struct stat now = {0};
        bool changed =
            m->used && m->child != NULL && stat(m->path, &now) == 0 && !is_same(&now, &m->seen);
        if (m->used && (!m->wanted || changed)) {
            drain(m);
        }
    }
}

/* ---- the loop ---- */

static bool is_empty(const struct fleet *f)
{
    for (size_t i = 0; i < VQ_FLEET_CERTS_MAX; i++) {
        if (f->members[i].child != NULL) {
            return false;
        }
    }
    return true;
}

static void look(struct fleet *f)
{
    if (f->leaving) {
        if (is_empty(f)) {
            vq_loop_stop(f->loop);
        }
        return;
    }
    find_certs(f);
    int64_t now_ns = vq_clock_mono_ns();
    int64_t next_ns = now_ns + LOOK_MS * VQ_NS_PER_MS;
    for (size_t i = 0; i < VQ_FLEET_CERTS_MAX; i++) {
        struct member *m = &f->members[i];
        if (m->used && m->child == NULL && m->start_ns <= now_ns) {
            start(m);
        }
        if (m->used && m->child == NULL && m->start_ns < next_ns) {
            next_ns = m->start_ns;
        }
    }
    uint64_t wait_ms = next_ns <= now_ns ? 1 : (uint64_t)((next_ns - now_ns) / VQ_NS_PER_MS) + 1;
    vq_timer_start(f->timer, wait_ms, 0);
}

static void on_timer(void *ctx)
{
    look(ctx);
}

static void on_signal(void *ctx, int signum)
{
    struct fleet *f = ctx;
    int64_t now_ns = vq_clock_mono_ns();
    bool same = signum == f->signum && now_ns - f->signal_ns < SAME_SIGNAL_MS * VQ_NS_PER_MS;
    if (signum == SIGHUP || same) {
        return;
    }
    f->signum = signum;
    f->signal_ns = now_ns;
    f->leaving = true;
    vq_log(VQ_LOG_INFO, "fleet.signal", "signal=%d", signum);
    for (size_t i = 0; i < VQ_FLEET_CERTS_MAX; i++) {
        if (f->members[i].child != NULL) { /* a second signal stops it at once */
            (void)vq_child_kill(f->members[i].child, SIGTERM, false);
        }
    }
    look(f);
}

static enum vq_status open_all(struct fleet *f, struct vq_error *err)
{
    static const int signums[] = {SIGTERM, SIGINT, SIGHUP};
    VQ_TRY(vq_loop_create(&f->loop, err));
    VQ_TRY(vq_timer_create(f->loop, on_timer, f, &f->timer));
    for (size_t i = 0; i < VQ_COUNT(signums); i++) {
        VQ_TRY(vq_signal_create(f->loop, signums[i], on_signal, f, &f->signals[i]));
    }
    return VQ_OK;
}

static void close_all(struct fleet *f)
{
    for (size_t i = 0; i < VQ_FLEET_CERTS_MAX; i++) {
        vq_child_destroy(&f->members[i].child);
    }
    for (size_t i = 0; i < VQ_COUNT(f->signals); i++) {
        vq_signal_destroy(&f->signals[i]);
    }
    vq_timer_destroy(&f->timer);
    if (f->loop != NULL) {
        vq_loop_destroy(&f->loop);
    }
}

int vq_fleet_run(const struct vq_worker_options *options, int argc, char **argv)
{
    struct fleet *f = vq_alloc(1, sizeof(*f));
    struct vq_error err = {""};
    uint64_t seed;
    if (f == NULL) {
        (void)fprintf(stderr, "vibeq-worker: out of memory\n");
        return VQ_WORK_EXIT_FATAL;
    }
    f->options = options;
    f->argc = argc;
    f->argv = argv;
    f->code = VQ_WORK_EXIT_DONE;
    vq_random_bytes(&seed, sizeof(seed));
    vq_rng_seed(&f->rng, seed);
    enum vq_status status = open_all(f, &err);
    if (status == VQ_OK) {
        look(f);
        status = vq_loop_run(f->loop);
    }
    if (status != VQ_OK) {
        (void)fprintf(stderr, "vibeq-worker: %s\n",
                      err.text[0] != '\0' ? err.text : vq_status_text(status));
        f->code = VQ_WORK_EXIT_FATAL;
    }
    int code = f->code;
    close_all(f);
    vq_free(f);
    return code;
}
