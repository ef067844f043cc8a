/* The store's file: what it refuses to open, what survives a process that ends anywhere, and
 * several processes at once. */
#include "fixture.h"

#include "common/base/clock.h"
#include "coordinator/store/calls/env.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#define SAYS_A "Model: A"

static void path_of(const struct fx *fx, char ret_path[128])
{
    (void)snprintf(ret_path, 128, "%s/%s", fx->dir, VQ_STORE_FILE);
}

static enum vq_status reopen(struct fx *fx)
{
    vq_calls_close(&fx->calls);
    return vq_calls_open(fx->dir, &fx_options, &fx->calls, &fx->err);
}

/* One answer for each of `count` made-up questions from `first` on; `epoch` in the call's number
 * keeps them apart. */
static void add_made_up(struct fx *fx, uint64_t first, uint64_t count, size_t bytes)
{
    static char text[8192];
    memset(text, 'x', sizeof(text));
    for (uint64_t i = first; i < first + count; i++) {
        struct vq_result r = fx_answer(fx, 0, SAYS_A);
        r.answer = vq_span(text, bytes);
        r.task = UINT64_MAX; /* no task of ours: only recorded */
        vq_hash_of("made up", vq_span((const char *)&i, sizeof(i)), &r.request);
        memcpy(r.call.b + 8, &i, sizeof(i));
        fx_add(fx, &r);
    }
}

static bool has_made_up(struct fx *fx, struct vq_view *view, uint64_t i)
{
    struct vq_hash request;
    struct vq_answer answer;
    vq_hash_of("made up", vq_span((const char *)&i, sizeof(i)), &request);
    enum vq_status status = vq_lookup_answer(view, &request, &answer, &fx->err);
    assert_true(status == VQ_OK || status == VQ_NOT_FOUND);
    return status == VQ_OK;
}

static void commit_made_up(struct fx *fx, uint64_t first, uint64_t count, size_t bytes)
{
    struct vq_commit commit;
    add_made_up(fx, first, count, bytes);
    fx_commit(fx, &commit);
    vq_commit_free(&commit);
}

/* ---- opening ---- */

TEST_WITH(test_file_is_private, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    char path[128];
    struct stat st;
    path_of(fx, path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    vq_calls_close(&fx->calls);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(reopen(fx), VQ_DENIED);
    assert_non_null(strstr(fx->err.text, "chmod 600"));
    assert_int_equal(chmod(path, 0600), 0);
    assert_ok(reopen(fx), &fx->err);
    int fd;
    assert_int_equal(mdb_env_get_fd(fx->calls->env, &fd), 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_WITH(test_one_handle, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_calls *second = NULL;
    assert_int_equal(vq_calls_open(fx->dir, NULL, &second, &fx->err), VQ_EXISTS);
    assert_null(second);
}

TEST_WITH(test_must_exist, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    char path[128];
    struct vq_calls_options options = fx_options;
    options.must_exist = true;
    vq_calls_close(&fx->calls);
    assert_ok(vq_calls_open(fx->dir, &options, &fx->calls, &fx->err), &fx->err);
    vq_calls_close(&fx->calls);
    path_of(fx, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(vq_calls_open(fx->dir, &options, &fx->calls, &fx->err), VQ_NOT_FOUND);
    assert_int_equal(access(path, F_OK), -1);
}

TEST_WITH(test_cut_short, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    char path[128];
    commit_made_up(fx, 0, 400, 3000);
    path_of(fx, path);
    MDB_envinfo info;
    assert_int_equal(mdb_env_info(fx->calls->env, &info), 0);
    off_t used = (off_t)((info.me_last_pgno + 1) * fx->calls->page_bytes);
    vq_calls_close(&fx->calls);
    /* The space that was reserved may go, nothing else. */
    assert_int_equal(truncate(path, used), 0);
    assert_ok(reopen(fx), &fx->err);
    vq_calls_close(&fx->calls);
    const off_t cuts[] = {used - 1, used / 2, 8192, 5000, 100};
    for (size_t i = 0; i < VQ_COUNT(cuts); i++) {
        assert_int_equal(truncate(path, cuts[i]), 0);
        assert_int_equal(vq_calls_open(fx->dir, &fx_options, &fx->calls, &fx->err), VQ_CORRUPT);
        assert_null(fx->calls);
        assert_non_null(strstr(fx->err.text, path));
    }
}

TEST_WITH(test_not_a_store, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    char path[128];
    vq_calls_close(&fx->calls);
    path_of(fx, path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 20000; i++) {
        assert_true(fputs("not LMDB\n", file) >= 0);
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(vq_calls_open(fx->dir, &fx_options, &fx->calls, &fx->err), VQ_CORRUPT);
    assert_non_null(strstr(fx->err.text, path));
}

/* A bit of a value changes on disk: named, never believed. */
TEST_WITH(test_flipped_bit, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    char path[128];
    commit_made_up(fx, 0, 50, 200);
    vq_calls_close(&fx->calls);
    path_of(fx, path);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    static char bytes[1u << 20];
    size_t n = fread(bytes, 1, sizeof(bytes), file);
    char run[64];
    memset(run, 'x', sizeof(run));
    long flips = 0;
    for (size_t i = 0; i + sizeof(run) < n; i++) {
        if (memcmp(bytes + i, run, sizeof(run)) == 0) {
            assert_int_equal(fseek(file, (long)i, SEEK_SET), 0);
            assert_int_equal(fputc('y', file), 'y');
            flips++;
            i += 4096;
        }
    }
    assert_int_equal(fclose(file), 0);
    assert_true(flips > 0);
    assert_int_equal(reopen(fx), VQ_CORRUPT);
    assert_non_null(strstr(fx->err.text, path));
    assert_non_null(strstr(fx->err.text, "damaged"));
}

/* It changes while the store is open: whoever reads it next is told. */
TEST_WITH(test_flipped_bit_while_open, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    char path[128];
    commit_made_up(fx, 0, 1, 3000);
    path_of(fx, path);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    static char bytes[1u << 20];
    size_t n = fread(bytes, 1, sizeof(bytes), file), at = 0;
    while (at + 100 < n && memcmp(bytes + at, "xxxxxxxx", 8) != 0) {
        at++;
    }
    assert_int_equal(fseek(file, (long)at + 50, SEEK_SET), 0);
    assert_int_equal(fputc('y', file), 'y');
    assert_int_equal(fclose(file), 0);
    struct vq_view *view = NULL;
    struct vq_hash request;
    struct vq_answer answer;
    uint64_t i = 0, values;
    vq_hash_of("made up", vq_span((const char *)&i, sizeof(i)), &request);
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_int_equal(vq_lookup_answer(view, &request, &answer, &fx->err), VQ_CORRUPT);
    assert_non_null(strstr(fx->err.text, "damaged"));
    vq_view_end(&view);
    assert_int_equal(vq_store_check(fx->calls, &values, &fx->err), VQ_CORRUPT);
}

/* ---- runs ---- */

TEST_WITH(test_epochs, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_run_begun begun;
    struct vq_id nonce = {.b = {1}}, later = {.b = {2}}, uid = {.b = {0x77}};
    assert_ok(vq_calls_begin_run(fx->calls, &uid, &nonce, false, 500, &begun, &fx->err), &fx->err);
    assert_true(begun.first_start && !begun.was_clean);
    assert_true(begun.now.epoch == 1 && begun.now.created_unix_ms == 500);
    assert_ok(reopen(fx), &fx->err);
    assert_ok(vq_calls_begin_run(fx->calls, &uid, &later, false, 600, &begun, &fx->err), &fx->err);
    assert_true(!begun.first_start && !begun.was_clean);
    assert_true(begun.now.epoch == 2 && begun.before.epoch == 1);
    assert_true(vq_id_eq(&begun.before.nonce, &nonce) && vq_id_eq(&begun.now.nonce, &later));
    assert_true(begun.now.created_unix_ms == 500 && begun.now.started_unix_ms == 600);
    assert_int_equal(vq_calls_end_run(fx->calls, &uid, 1, 800, &fx->err), VQ_STALE);
    assert_ok(vq_calls_end_run(fx->calls, &uid, 2, 800, &fx->err), &fx->err);
    assert_ok(vq_calls_begin_run(fx->calls, &uid, &later, false, 700, &begun, &fx->err), &fx->err);
    assert_true(begun.was_clean && begun.now.epoch == 3 && !begun.now.clean);
    assert_true(begun.before.ended_unix_ms == 800);
}

TEST_WITH(test_starts_are_counted_over_all_runs, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_run_begun begun;
    struct vq_id nonce = {.b = {1}}, one = {.b = {0x71}}, two = {.b = {0x72}};
    assert_ok(vq_calls_begin_run(fx->calls, &one, &nonce, false, 1, &begun, &fx->err), &fx->err);
    uint64_t first = begun.start_no;
    assert_true(first >= 1);
    assert_ok(vq_calls_begin_run(fx->calls, &two, &nonce, false, 2, &begun, &fx->err), &fx->err);
    assert_int_equal(begun.start_no, first + 1);
    assert_ok(reopen(fx), &fx->err);
    assert_ok(vq_calls_begin_run(fx->calls, &one, &nonce, false, 3, &begun, &fx->err), &fx->err);
    assert_int_equal(begun.start_no, first + 2);
}

TEST_WITH(test_generation_limit, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_run_begun begun;
    struct vq_id nonce = {.b = {1}};
    for (int i = 0; i < VQ_GENERATION_MAX; i++) {
        assert_ok(vq_calls_begin_run(fx->calls, &fx->run, &nonce, true, 1, &begun, &fx->err),
                  &fx->err);
    }
    assert_int_equal(vq_calls_begin_run(fx->calls, &fx->run, &nonce, true, 1, &begun, &fx->err),
                     VQ_LIMIT);
    struct vq_run_meta meta;
    assert_ok(vq_calls_read_run(fx->calls, &fx->run, &meta, &fx->err), &fx->err);
    assert_int_equal(meta.epoch, VQ_GENERATION_MAX + 1);
    /* The most attempts that a look-up ever has. */
    fx->plan.generation = meta.generation;
    assert_int_equal(fx_outcome(fx, 0), VQ_OUTCOME_NONE);
}

/* ---- the map and the disk ---- */

TEST_WITH(test_map_grows, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_calls_options options = {.map_bytes = 1u << 20, .reserve_bytes = 1u << 20};
    vq_calls_close(&fx->calls);
    assert_ok(vq_calls_open(fx->dir, &options, &fx->calls, &fx->err), &fx->err);
    for (uint64_t i = 0; i < 4; i++) {
        commit_made_up(fx, i * 1000, 1000, 3000);
    }
    uint64_t values;
    assert_ok(vq_store_check(fx->calls, &values, &fx->err), &fx->err);
    assert_int_equal(values, 2 * 4000 + 1);
}

/* Runs `work` in a process of its own, which opens the store itself; returns its exit code. */
static int in_child(struct fx *fx, int (*work)(struct fx *fx))
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int code = vq_calls_open(fx->dir, NULL, &fx->calls, &fx->err) == VQ_OK ? work(fx) : 99;
        _exit(code);
    }
    int how;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static int write_much(struct fx *fx)
{
    for (uint64_t i = 10; i < 40; i++) {
        struct vq_commit commit;
        add_made_up(fx, i * 1000, 1000, 3000);
        if (vq_commit_run(fx->calls, &fx->plan, &fx->run, fx->epoch, &fx->batch, 9000, &commit,
                          &fx->err) != VQ_OK) {
            return 1;
        }
        vq_commit_free(&commit);
        fx_clear(fx);
    }
    vq_calls_close(&fx->calls);
    return 0;
}

/* Another process made the map larger than ours: reading and writing go on. */
TEST_WITH(test_map_grown_by_another, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    pid_t pid;
    int go[2], how;
    char byte;
    vq_calls_close(&fx->calls);
    assert_int_equal(pipe(go), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool good = read(go[0], &byte, 1) == 1 &&
                    vq_calls_open(fx->dir, NULL, &fx->calls, &fx->err) == VQ_OK &&
                    write_much(fx) == 0;
        _exit(good ? 0 : 1);
    }
    assert_ok(vq_calls_open(fx->dir, &fx_options, &fx->calls, &fx->err), &fx->err);
    commit_made_up(fx, 0, 10, 100);
    assert_int_equal(write(go[1], "x", 1), 1);
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_int_equal(how, 0);
    struct vq_view *view = NULL;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_true(has_made_up(fx, view, 39999));
    vq_view_end(&view);
    commit_made_up(fx, 100000, 10, 100);
    (void)close(go[0]);
    (void)close(go[1]);
}

static int fill_disk(struct fx *fx)
{
    char path[128];
    struct stat st;
    path_of(fx, path);
    (void)signal(SIGXFSZ, SIG_IGN);
    if (stat(path, &st) != 0) {
        return 2;
    }
    struct rlimit limit = {(rlim_t)st.st_size + (4u << 20), (rlim_t)st.st_size + (4u << 20)};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 3;
    }
    for (uint64_t i = 10; i < 40; i++) {
        struct vq_commit commit;
        add_made_up(fx, i * 1000, 1000, 3000);
        enum vq_status status = vq_commit_run(fx->calls, &fx->plan, &fx->run, fx->epoch, &fx->batch,
                                              9000, &commit, &fx->err);
        if (status != VQ_OK) {
            vq_calls_close(&fx->calls);
            return status == VQ_FULL && strstr(fx->err.text, "make room") != NULL ? 0 : 4;
        }
        vq_commit_free(&commit);
        fx_clear(fx);
    }
    return 5;
}

TEST_WITH(test_full_disk, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    commit_made_up(fx, 0, 100, 3000);
    vq_calls_close(&fx->calls);
    assert_int_equal(in_child(fx, fill_disk), 0);
    assert_ok(reopen(fx), &fx->err);
    uint64_t values;
    assert_ok(vq_store_check(fx->calls, &values, &fx->err), &fx->err);
    assert_int_equal((values - 1) % 2000, 200);
}

/* ---- the loop thread and the pool ---- */

struct committer {
    struct fx *fx;
    _Atomic bool done;
    enum vq_status status;
};

static void *commit_thread(void *ctx)
{
    struct committer *c = ctx;
    struct vq_error err;
    for (uint64_t i = 0; i < 40 && c->status == VQ_OK; i++) {
        struct vq_commit commit;
        add_made_up(c->fx, i * 50, 50, 3000);
        c->status = vq_commit_run(c->fx->calls, &c->fx->plan, &c->fx->run, c->fx->epoch,
                                  &c->fx->batch, 9000, &commit, &err);
        fx_clear(c->fx);
        if (c->status == VQ_OK) {
            vq_commit_free(&commit);
        }
    }
    atomic_store(&c->done, true);
    return NULL;
}

/* Look-ups see whole commits only, in their order, while the map grows under them. */
TEST_WITH(test_read_while_writing, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_calls_options options = {.map_bytes = 1u << 20, .reserve_bytes = 1u << 20};
    struct committer c = {.fx = fx};
    pthread_t thread;
    struct vq_error err;
    vq_calls_close(&fx->calls);
    assert_ok(vq_calls_open(fx->dir, &options, &fx->calls, &err), &err);
    assert_int_equal(pthread_create(&thread, NULL, commit_thread, &c), 0);
    uint64_t seen = 0;
    bool last = false;
    while (!last) {
        last = atomic_load(&c.done);
        struct vq_view *view = NULL;
        enum vq_status status = vq_view_begin(fx->calls, &view, &err);
        if (status == VQ_AGAIN) {
            continue;
        }
        assert_ok(status, &err);
        while (seen < 40 && has_made_up(fx, view, seen * 50)) {
            seen++;
        }
        assert_true(seen == 0 || has_made_up(fx, view, seen * 50 - 1));
        assert_false(has_made_up(fx, view, seen * 50 + 49));
        vq_view_end(&view);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(c.status, VQ_OK);
    assert_int_equal(seen, 40);
}

/* ---- processes that end ---- */

/* Commits ten answers at a time and says how many are durable, until it is killed. */
static void commit_for_ever(struct fx *fx, int say)
{
    if (vq_calls_open(fx->dir, &fx_options, &fx->calls, &fx->err) != VQ_OK) {
        _exit(1);
    }
    for (uint64_t i = 0;; i += 10) {
        struct vq_commit commit;
        add_made_up(fx, i, 10, 700);
        if (vq_commit_run(fx->calls, &fx->plan, &fx->run, fx->epoch, &fx->batch, 9000, &commit,
                          &fx->err) != VQ_OK) {
            _exit(2);
        }
        fx_clear(fx);
        uint64_t done[2] = {i + 10, commit.n};
        if (write(say, done, sizeof(done)) != (ssize_t)sizeof(done)) {
            _exit(3);
        }
        vq_commit_free(&commit);
    }
}

static void kill_round(struct fx *fx, unsigned round)
{
    int said[2];
    uint64_t done[2], last[2] = {0, 0};
    assert_int_equal(pipe(said), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(said[0]);
        commit_for_ever(fx, said[1]);
    }
    (void)close(said[1]);
    unsigned commits = 1 + round % 7;
    for (unsigned i = 0; i < commits; i++) {
        assert_int_equal(read(said[0], done, sizeof(done)), sizeof(done));
    }
    struct timespec moment = {.tv_nsec = (long)(round * 137 % 3000) * 1000};
    (void)nanosleep(&moment, NULL);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    memcpy(last, done, sizeof(done));
    while (read(said[0], done, sizeof(done)) == (ssize_t)sizeof(done)) {
        memcpy(last, done, sizeof(done));
    }
    (void)close(said[0]);

    assert_ok(vq_calls_open(fx->dir, &fx_options, &fx->calls, &fx->err), &fx->err);
    struct vq_run_meta meta;
    uint64_t values;
    struct vq_view *view = NULL;
    assert_ok(vq_store_check(fx->calls, &values, &fx->err), &fx->err);
    assert_ok(vq_calls_read_run(fx->calls, &fx->run, &meta, &fx->err), &fx->err);
    assert_true(meta.commit_n == last[1] || meta.commit_n == last[1] + 1);
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    for (uint64_t i = 0; i < last[0]; i++) {
        assert_true(has_made_up(fx, view, i));
    }
    /* Of the commit that was cut off all or nothing is there. */
    bool more = has_made_up(fx, view, last[0]);
    for (uint64_t i = last[0]; i < last[0] + 10; i++) {
        assert_int_equal(has_made_up(fx, view, i), more);
    }
    vq_view_end(&view);
    vq_calls_close(&fx->calls);
}

TEST_WITH(test_killed_anywhere, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    vq_calls_close(&fx->calls);
    for (unsigned round = 0; round < 30; round++) {
        kill_round(fx, round);
    }
}

struct beginner {
    struct fx *fx;
    enum vq_status status;
    _Atomic bool done;
};

static void *begin_thread(void *ctx)
{
    struct beginner *b = ctx;
    struct vq_run_begun begun;
    struct vq_id nonce = {.b = {3}};
    b->status =
        vq_calls_begin_run(b->fx->calls, &b->fx->run, &nonce, false, 1, &begun, &b->fx->err);
    atomic_store(&b->done, true);
    return NULL;
}

static enum vq_status hold_writer(void *ctx, struct vq_write *write_, struct vq_error *err)
{
    (void)write_;
    (void)err;
    ssize_t n = write(*(int *)ctx, "x", 1);
    (void)n;
    while (n > 0) {
        (void)pause();
    }
    return VQ_IO;
}

/* A process that stands still inside a write transaction: others wait and say so; when it dies
 * they go on. */
TEST_WITH(test_writer_lock, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    int said[2];
    char byte;
    vq_calls_close(&fx->calls);
    assert_int_equal(pipe(said), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool held = vq_calls_open(fx->dir, &fx_options, &fx->calls, &fx->err) == VQ_OK &&
                    vq_env_write(fx->calls, 0, hold_writer, &said[1], &fx->err) == VQ_OK;
        _exit(held ? 0 : 1);
    }
    assert_int_equal(read(said[0], &byte, 1), 1);
    assert_ok(vq_calls_open(fx->dir, &fx_options, &fx->calls, &fx->err), &fx->err);
    assert_int_equal(vq_calls_lock_wait_ns(fx->calls, vq_clock_mono_ns()), 0);
    struct beginner b = {.fx = fx};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, begin_thread, &b), 0);
    while (vq_calls_lock_wait_ns(fx->calls, vq_clock_mono_ns()) < 20 * VQ_NS_PER_MS) {
        assert_false(atomic_load(&b.done));
        (void)usleep(1000);
    }
    /* Reading goes on meanwhile. */
    assert_int_equal(fx_outcome(fx, 0), VQ_OUTCOME_NONE);
    struct vq_error text;
    vq_calls_lock_text(fx->calls, &text);
    assert_non_null(strstr(text.text, "calls.lmdb-lock"));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(b.status, &fx->err);
    assert_int_equal(vq_calls_lock_wait_ns(fx->calls, vq_clock_mono_ns()), 0);
    (void)close(said[0]);
    (void)close(said[1]);
}

/* The file loses its end while it is open: no crash without a word. */
TEST_WITH(test_sigbus, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    char path[128];
    int out[2], how;
    path_of(fx, path);
    commit_made_up(fx, 0, 2000, 3000);
    vq_calls_close(&fx->calls);
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        uint64_t values;
        (void)dup2(out[1], STDERR_FILENO);
        if (vq_calls_open(fx->dir, &fx_options, &fx->calls, &fx->err) != VQ_OK ||
            truncate(path, 16384) != 0) {
            _exit(3);
        }
        _exit(vq_store_check(fx->calls, &values, &fx->err) == VQ_OK ? 4 : 5);
    }
    (void)close(out[1]);
    char said[2048];
    size_t bytes = 0;
    ssize_t n;
    while ((n = read(out[0], said + bytes, sizeof(said) - 1 - bytes)) > 0) {
        bytes += (size_t)n;
    }
    said[bytes] = '\0';
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 1);
    assert_non_null(strstr(said, path));
    (void)close(out[0]);
}
