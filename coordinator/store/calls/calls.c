/* The call store's handle: opening it with the checks that LMDB leaves to its user, and the meta
 * row of a run.
 *
 * Invariants: one handle per process (a second open of the same LMDB file in one process breaks the
 * first one's locks). Before anything in the file is read, it is checked: only this user may read
 * it, it is on a local disk, and it is as long as LMDB believes. Threads: open and close belong to
 * the loop thread while nothing else uses the handle; env.c describes the rest. Not its job:
 * answers and ledger rows (commit.c, lookup.c). */
#include "coordinator/store/calls/calls.h"

#include "common/base/alloc.h"
#include "common/base/crash.h"
#include "coordinator/store/calls/env.h"
#include "coordinator/store/calls/guard.h"
#include "coordinator/store/calls/pages.h"
#include "coordinator/store/calls/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TABLES       2
#define OPEN_TRIES   50 /* LMDB: "can fail if another process is opening or closing it" */
#define OPEN_WAIT_MS 10
#define LOOK_TRIES   5

static const char format_key[] = "format";
static const char format_value[] = "vibeq-calls 1";
static const char starts_key[] = "starts"; /* older stores do not have it */

/* The process that has a store open: a fork does not inherit it. */
static _Atomic pid_t opened_by;

static void pause_ms(long ms)
{
    struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&wait, NULL);
}

static void assert_failed(MDB_env *env, const char *text)
{
    const struct vq_calls *calls = mdb_env_get_userctx(env);
    (void)fprintf(stderr,
                  "vibeq: %s: the file is damaged (%s); put back a copy, or move it away to begin "
                  "a new store\n",
                  calls->path, text);
    _exit(1);
}

/* ---- opening ---- */

static enum vq_status env_create(struct vq_calls *calls, const struct vq_calls_options *options,
                                 struct vq_error *err)
{
    size_t map_bytes = options->map_bytes != 0 ? options->map_bytes : VQ_STORE_MAP_BYTES;
    int rc = mdb_env_create(&calls->env);
    if (rc == 0) {
        rc = mdb_env_set_userctx(calls->env, calls);
    }
    if (rc == 0) {
        rc = mdb_env_set_assert(calls->env, assert_failed);
    }
    if (rc == 0) {
        rc = mdb_env_set_maxdbs(calls->env, TABLES);
    }
    if (rc == 0) {
        rc = mdb_env_set_mapsize(calls->env, map_bytes);
    }
    return rc == 0 ? VQ_OK : vq_env_status(calls, rc, "setting up", err);
}

/* Calls mdb_env_open, with a new environment for each try, because a failed open leaves it
 * unusable. */
static enum vq_status env_open(struct vq_calls *calls, const struct vq_calls_options *options,
                               struct vq_error *err)
{
    int rc = 0;
    for (int tries = 0; tries < OPEN_TRIES; tries++) {
        VQ_TRY(env_create(calls, options, err));
        unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | (options->read_only ? MDB_RDONLY : 0u);
        rc = mdb_env_open(calls->env, calls->path, flags, 0600);
        if (rc != EAGAIN && rc != EBUSY && rc != ENOENT) {
            break;
        }
        mdb_env_close(calls->env);
        calls->env = NULL;
        pause_ms(OPEN_WAIT_MS);
    }
    return rc == 0 ? VQ_OK : vq_env_status(calls, rc, "opening", err);
}

static enum vq_status check_length(struct vq_calls *calls, struct vq_error *err)
{
    MDB_envinfo info;
    MDB_stat stat;
    int fd;
    int rc = mdb_env_info(calls->env, &info);
    if (rc == 0) {
        rc = mdb_env_stat(calls->env, &stat);
    }
    if (rc == 0) {
        rc = mdb_env_get_fd(calls->env, &fd);
    }
    if (rc != 0) {
        return vq_env_status(calls, rc, "looking at the file", err);
    }
    calls->page_bytes = stat.ms_psize;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return vq_guard_length(fd, calls->path, ((uint64_t)info.me_last_pgno + 1) * stat.ms_psize, err);
}

/* ---- checks before LMDB uses the file ---- */

static enum vq_status damaged(const struct vq_calls *calls, enum vq_status status,
                              struct vq_error *err)
{
    if (status != VQ_CORRUPT) {
        return status;
    }
    struct vq_error why = {""};
    if (err != NULL) {
        why = *err;
    }
    return vq_fail(err, status,
                   "%s is damaged: %.300s; put back a copy, or move the file away to begin a new "
                   "store",
                   calls->path, why.text);
}

/* A new file has no heads yet; if another process is creating the file, it will have them soon. */
static enum vq_status heads_once(const struct vq_calls *calls, char *front, struct vq_error *err)
{
    int fd = open(calls->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return errno == ENOENT ? VQ_OK
                               : vq_fail(err, VQ_IO, "%s: %s", calls->path, strerror(errno));
    }
    ssize_t got;
    do {
        got = pread(fd, front, VQ_PAGES_HEAD_BYTES, 0);
    } while (got < 0 && errno == EINTR);
    (void)close(fd);
    if (got <= 0) {
        return got == 0 ? VQ_OK : vq_fail(err, VQ_IO, "%s: %s", calls->path, strerror(errno));
    }
    size_t page_bytes;
    return vq_pages_heads(vq_span(front, (size_t)got), &page_bytes, err);
}

static enum vq_status check_heads(const struct vq_calls *calls, struct vq_error *err)
{
    char *front;
    VQ_TRY(VQ_ALLOC(front, VQ_PAGES_HEAD_BYTES));
    enum vq_status status = VQ_OK;
    for (int tries = 0; tries < LOOK_TRIES; tries++) { /* another process may be writing them */
        status = heads_once(calls, front, err);
        if (status != VQ_CORRUPT) {
            break;
        }
        pause_ms(tries + 1);
    }
    vq_free(front);
    return damaged(calls, status, err);
}

static bool any_value(struct vq_span key, struct vq_span value)
{
    (void)key;
    (void)value;
    return true;
}

static enum vq_status check_pages_of(struct vq_calls *calls, uint64_t txnid, bool any,
                                     struct vq_error *err)
{
    int fd;
    struct stat st;
    int rc = mdb_env_get_fd(calls->env, &fd);
    if (rc != 0 || fstat(fd, &st) != 0) {
        return vq_env_status(calls, rc != 0 ? rc : errno, "looking at the file", err);
    }
    size_t bytes = (size_t)st.st_size / calls->page_bytes * calls->page_bytes;
    void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        return vq_env_status(calls, errno, "looking at the file", err);
    }
    struct vq_pages_count count;
    enum vq_status status = vq_pages_check(vq_span(map, bytes), calls->page_bytes, txnid,
                                           any                            ? any_value
                                           : bytes <= VQ_STORE_LOOK_BYTES ? vq_record_is_whole
                                                                          : NULL,
                                           &count, err);
    (void)munmap(map, bytes);
    return damaged(calls, status, err);
}

/* Checks in a separate snapshot, so that no writer reuses its pages during the check. If its head
 * is overwritten by then, it tries again. */
static enum vq_status check_pages(struct vq_calls *calls, bool any, struct vq_error *err)
{
    enum vq_status status = VQ_AGAIN;
    for (int tries = 0; tries < LOOK_TRIES && status == VQ_AGAIN; tries++) {
        struct vq_view *view = NULL;
        VQ_TRY(vq_view_begin(calls, &view, err));
        status = check_pages_of(calls, mdb_txn_id(view->txn), any, err);
        vq_view_end(&view);
    }
    /* another process has checked a store that is busy */
    return status == VQ_AGAIN ? VQ_OK : status;
}

static struct vq_span span_of(const char *text, size_t bytes)
{
    return vq_span(text, bytes - 1);
}

static enum vq_status check_format(struct vq_calls *calls, struct vq_span value,
                                   struct vq_error *err)
{
    if (vq_span_eq(value, span_of(format_value, sizeof(format_value)))) {
        return VQ_OK;
    }
    return vq_fail(err, VQ_VERSION, "%s has the format '%.*s' and this vibeq reads '%s'",
                   calls->path, (int)(value.bytes < 64 ? value.bytes : 64), value.at, format_value);
}

/* Opens the tables in one transaction; makes them if `flags` asks for it. */
static enum vq_status open_tables(struct vq_calls *calls, MDB_txn *txn, unsigned flags,
                                  struct vq_error *err)
{
    int rc = mdb_dbi_open(txn, NULL, 0, &calls->main);
    MDB_val key = {.mv_size = sizeof(format_key) - 1, .mv_data = (void *)(uintptr_t)format_key};
    MDB_val value = {.mv_size = sizeof(format_value) - 1,
                     .mv_data = (void *)(uintptr_t)format_value};
    if (rc == 0) {
        rc = mdb_get(txn, calls->main, &key, &value);
    }
    if (rc == MDB_NOTFOUND && flags != 0) {
        rc = mdb_put(txn, calls->main, &key, &value, 0);
    }
    if (rc != 0) {
        return rc == MDB_NOTFOUND ? VQ_NOT_FOUND : vq_env_status(calls, rc, "opening", err);
    }
    VQ_TRY(check_format(calls, vq_env_span(value), err));
    rc = mdb_dbi_open(txn, "answers", flags, &calls->answers);
    if (rc == 0) {
        rc = mdb_dbi_open(txn, "ledger", flags, &calls->ledger);
    }
    return rc == 0 ? VQ_OK : vq_env_status(calls, rc, "opening its tables", err);
}

static enum vq_status make_tables(void *ctx, struct vq_write *write, struct vq_error *err)
{
    (void)ctx;
    return open_tables(write->view.calls, write->view.txn, MDB_CREATE, err);
}

static enum vq_status tables(struct vq_calls *calls, bool read_only, struct vq_error *err)
{
    struct vq_view *view = NULL;
    VQ_TRY(vq_view_begin(calls, &view, err));
    enum vq_status status = open_tables(calls, view->txn, 0, err);
    if (status == VQ_OK) {
        /* The handles stay valid only if the transaction that opened them is committed. */
        int rc = mdb_txn_commit(view->txn);
        view->txn = NULL;
        (void)pthread_rwlock_unlock(&calls->map);
        vq_free(view);
        return rc == 0 ? VQ_OK : vq_env_status(calls, rc, "opening its tables", err);
    }
    vq_view_end(&view);
    if (status == VQ_NOT_FOUND && !read_only) {
        status = vq_env_write(calls, 0, make_tables, NULL, err);
    }
    return status;
}

static enum vq_status open_checked(struct vq_calls *calls, const char *runs_dir,
                                   const struct vq_calls_options *options, struct vq_error *err)
{
    VQ_TRY(vq_guard_file_system(runs_dir, err));
    enum vq_status status = vq_guard_file(calls->path, err);
    bool must_exist = options->must_exist || options->read_only;
    if (status != VQ_OK && !(status == VQ_NOT_FOUND && !must_exist)) {
        return status;
    }
    VQ_TRY(vq_guard_sigbus(calls->path, err));
    VQ_TRY(check_heads(calls, err));
    VQ_TRY(env_open(calls, options, err));
    VQ_TRY(check_length(calls, err));
    int dead;
    int rc = mdb_reader_check(calls->env, &dead);
    if (rc != 0) {
        return vq_env_status(calls, rc, "clearing readers that died", err);
    }
    VQ_TRY(check_pages(calls, options->any_value, err));
    return tables(calls, options->read_only, err);
}

enum vq_status vq_calls_open(const char *runs_dir, const struct vq_calls_options *options,
                             struct vq_calls **ret_calls, struct vq_error *err)
{
    static const struct vq_calls_options defaults;
    options = options != NULL ? options : &defaults;
    pid_t before = atomic_load(&opened_by);
    if (before == getpid() || !atomic_compare_exchange_strong(&opened_by, &before, getpid())) {
        return vq_fail(err, VQ_EXISTS, "this process has a call store open already");
    }
    struct vq_calls *calls = vq_alloc(1, sizeof(*calls));
    size_t path_bytes = strlen(runs_dir) + 1 + sizeof(VQ_STORE_FILE);
    char *path = vq_alloc(path_bytes, 1);
    if (calls == NULL || path == NULL) {
        vq_free(calls);
        vq_free(path);
        atomic_store(&opened_by, 0);
        return VQ_NOMEM;
    }
    (void)snprintf(path, path_bytes, "%s/%s", runs_dir, VQ_STORE_FILE);
    calls->path = path;
    calls->reserve_bytes =
        options->reserve_bytes != 0 ? options->reserve_bytes : VQ_STORE_RESERVE_BYTES;
    (void)pthread_rwlock_init(&calls->map, NULL);
    enum vq_status status = open_checked(calls, runs_dir, options, err);
    if (status != VQ_OK) {
        vq_calls_close(&calls);
        return status;
    }
    *ret_calls = calls;
    return VQ_OK;
}

void vq_calls_close(struct vq_calls **calls)
{
    if (*calls == NULL) {
        return;
    }
    if ((*calls)->env != NULL) {
        mdb_env_close((*calls)->env);
    }
    vq_guard_sigbus_end();
    (void)pthread_rwlock_destroy(&(*calls)->map);
    vq_free((*calls)->path);
    vq_free(*calls);
    *calls = NULL;
    atomic_store(&opened_by, 0);
}

const char *vq_calls_path(const struct vq_calls *calls)
{
    return calls->path;
}

int64_t vq_calls_lock_wait_ns(const struct vq_calls *calls, int64_t now_ns)
{
    int64_t since = atomic_load(&calls->waiting_since_ns);
    return since == 0 || now_ns <= since ? 0 : now_ns - since;
}

void vq_calls_lock_text(const struct vq_calls *calls, struct vq_error *ret_text)
{
    (void)vq_fail(ret_text, VQ_LOCKED,
                  "%s: another process holds its writer lock (%s-lock); it may be stopped: see "
                  "`fuser %s-lock`, and continue it (kill -CONT) or end it",
                  calls->path, calls->path, calls->path);
}

/* ---- a run's meta row ---- */

enum vq_status vq_env_meta_get(const struct vq_view *view, const struct vq_id *uid,
                               struct vq_run_meta *ret_meta, struct vq_error *err)
{
    struct vq_ledger_key key = vq_ledger_key_meta(uid);
    struct vq_span k = vq_span((const char *)key.b, key.bytes);
    struct vq_span value;
    VQ_TRY(vq_env_get(view, view->calls->ledger, k, &value, err));
    enum vq_status status = vq_record_read_meta(k, value, ret_meta);
    return status == VQ_OK ? VQ_OK : vq_env_bad_value(view->calls, status, "the meta row", k, err);
}

static enum vq_status meta_put(struct vq_write *write, const struct vq_id *uid,
                               const struct vq_run_meta *meta, struct vq_error *err)
{
    struct vq_ledger_key key = vq_ledger_key_meta(uid);
    struct vq_span k = vq_span((const char *)key.b, key.bytes);
    struct vq_buf value;
    vq_buf_init(&value, VQ_RECORD_BYTES_MAX);
    vq_record_meta(&value, k, meta);
    enum vq_status status = value.status;
    if (status == VQ_OK) {
        status = vq_env_put(write, write->view.calls->ledger, k, vq_buf_span(&value), true, err);
    }
    vq_buf_free(&value);
    return status;
}

enum vq_status vq_env_meta(struct vq_write *write, const struct vq_id *uid, vq_meta_fn change,
                           void *ctx, struct vq_error *err)
{
    struct vq_run_meta meta = {0};
    enum vq_status status = vq_env_meta_get(&write->view, uid, &meta, err);
    if (status != VQ_OK && status != VQ_NOT_FOUND) {
        return status;
    }
    VQ_TRY(change(ctx, status == VQ_OK, &meta, err));
    return meta_put(write, uid, &meta, err);
}

static enum vq_status raise_commit(void *ctx, bool exists, struct vq_run_meta *meta,
                                   struct vq_error *err)
{
    (void)ctx;
    if (!exists) {
        return vq_fail(err, VQ_NOT_FOUND, "the run never started on this store");
    }
    meta->commit_n++;
    return VQ_OK;
}

enum vq_status vq_env_raise_commit(struct vq_write *write, const struct vq_id *uid,
                                   struct vq_error *err)
{
    return vq_env_meta(write, uid, raise_commit, NULL, err);
}

struct begin_ctx {
    const struct vq_id *uid;
    const struct vq_id *nonce;
    bool retry_failed;
    int64_t unix_ms;
    struct vq_run_begun begun;
};

static enum vq_status begin_change(void *ctx, bool exists, struct vq_run_meta *meta,
                                   struct vq_error *err)
{
    struct begin_ctx *begin = ctx;
    begin->begun = (struct vq_run_begun){
        .first_start = !exists, .was_clean = exists && meta->clean, .before = *meta};
    if (!exists) {
        meta->created_unix_ms = begin->unix_ms;
    }
    if (begin->retry_failed) {
        if (meta->generation >= VQ_GENERATION_MAX) {
            return vq_fail(err, VQ_LIMIT, "missing answers were asked again %d times already",
                           VQ_GENERATION_MAX);
        }
        meta->generation++;
        meta->commit_n++;
    }
    meta->epoch++;
    meta->clean = false;
    meta->nonce = *begin->nonce;
    meta->started_unix_ms = begin->unix_ms;
    begin->begun.now = *meta;
    return VQ_OK;
}

/* Counts the starts of all runs. The number only decides about an order, so an invalid row starts
 * the count again. */
static enum vq_status count_start(struct vq_write *write, uint64_t *ret_no, struct vq_error *err)
{
    struct vq_span key = span_of(starts_key, sizeof(starts_key));
    struct vq_span value;
    uint8_t bytes[sizeof(uint64_t)];
    uint64_t no = 0;
    enum vq_status status = vq_env_get(&write->view, write->view.calls->main, key, &value, err);
    if (status != VQ_OK && status != VQ_NOT_FOUND) {
        return status;
    }
    for (size_t i = 0; status == VQ_OK && value.bytes == sizeof(bytes) && i < sizeof(bytes); i++) {
        no |= (uint64_t)(uint8_t)value.at[i] << (8 * i);
    }
    no++;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(no >> (8 * i));
    }
    *ret_no = no;
    return vq_env_put(write, write->view.calls->main, key,
                      vq_span((const char *)bytes, sizeof(bytes)), true, err);
}

static enum vq_status begin_write(void *ctx, struct vq_write *write, struct vq_error *err)
{
    struct begin_ctx *begin = ctx;
    uint64_t start_no;
    VQ_TRY(count_start(write, &start_no, err));
    VQ_TRY(vq_env_meta(write, begin->uid, begin_change, begin, err));
    begin->begun.start_no = start_no;
    return VQ_OK;
}

enum vq_status vq_calls_begin_run(struct vq_calls *calls, const struct vq_id *uid,
                                  const struct vq_id *nonce, bool retry_failed, int64_t unix_ms,
                                  struct vq_run_begun *ret_begun, struct vq_error *err)
{
    struct begin_ctx ctx = {
        .uid = uid, .nonce = nonce, .retry_failed = retry_failed, .unix_ms = unix_ms};
    VQ_TRY(vq_env_write(calls, 0, begin_write, &ctx, err));
    *ret_begun = ctx.begun;
    return VQ_OK;
}

struct end_ctx {
    const struct vq_id *uid;
    uint64_t epoch;
    int64_t unix_ms;
};

static enum vq_status end_change(void *ctx, bool exists, struct vq_run_meta *meta,
                                 struct vq_error *err)
{
    const struct end_ctx *end = ctx;
    if (!exists || meta->epoch != end->epoch) {
        return vq_fail(err, VQ_STALE, "another coordinator has taken this run over");
    }
    meta->clean = true;
    meta->ended_unix_ms = end->unix_ms;
    return VQ_OK;
}

static enum vq_status end_write(void *ctx, struct vq_write *write, struct vq_error *err)
{
    struct end_ctx *end = ctx;
    return vq_env_meta(write, end->uid, end_change, end, err);
}

enum vq_status vq_calls_end_run(struct vq_calls *calls, const struct vq_id *uid, uint64_t epoch,
                                int64_t unix_ms, struct vq_error *err)
{
    struct end_ctx ctx = {.uid = uid, .epoch = epoch, .unix_ms = unix_ms};
    VQ_CRASH_POINT(clean_mark_before);
    VQ_TRY(vq_env_write(calls, 0, end_write, &ctx, err));
    VQ_CRASH_POINT(clean_mark_set);
    return VQ_OK;
}

enum vq_status vq_calls_read_run(struct vq_calls *calls, const struct vq_id *uid,
                                 struct vq_run_meta *ret_meta, struct vq_error *err)
{
    struct vq_view *view = NULL;
    VQ_TRY(vq_view_begin(calls, &view, err));
    enum vq_status status = vq_env_meta_get(view, uid, ret_meta, err);
    vq_view_end(&view);
    if (status == VQ_NOT_FOUND) {
        return vq_fail(err, status, "%s holds no ledger of this run", calls->path);
    }
    return status;
}
