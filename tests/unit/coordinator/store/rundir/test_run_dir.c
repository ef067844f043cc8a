/* A run's folder: one owner, whole files, copies that are checked, and what can be seen from
 * outside. */
#include "tests/unit/coordinator/store/calls/fixture.h"

#include "coordinator/store/rundir/run_dir.h"

#include <fcntl.h>
#include <signal.h>

struct dir {
    char runs[64];
    struct vq_error err;
    struct vq_run_dir *run;
};

static int setup(void **state)
{
    struct dir *d = vq_alloc(1, sizeof(*d));
    fx_folder(d->runs);
    *state = d;
    return 0;
}

static int teardown(void **state)
{
    struct dir *d = *state;
    vq_run_dir_close(&d->run);
    fx_remove(d->runs);
    vq_free(d);
    return 0;
}

static void create(struct dir *d, const char *name)
{
    assert_ok(vq_run_dir_create(d->runs, name, &d->run, &d->err), &d->err);
}

static unsigned mode_of(const struct dir *d, const char *file)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct stat st;
    (void)snprintf(path, sizeof(path), "%s/%s", d->runs, file);
    assert_int_equal(stat(path, &st), 0);
    return (unsigned)st.st_mode & 0777;
}

TEST_WITH(test_names, setup, teardown)
{
    struct dir *d = *state;
    static const char *const good[] = {"a", "friendly-vs-terse", "2026_run.1", "X"};
    static const char *const bad[] = {"",     ".",          "..",    ".hidden",
                                      "-x",   "a/b",        "a b",   "a\nb",
                                      "über", "calls.lmdb", "pools", "calls.lmdb-lock"};
    for (size_t i = 0; i < VQ_COUNT(good); i++) {
        assert_ok(vq_run_name_check(good[i], &d->err), &d->err);
    }
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        assert_int_equal(vq_run_name_check(bad[i], &d->err), VQ_INVALID);
        assert_int_equal(vq_run_dir_create(d->runs, bad[i], &d->run, &d->err), VQ_INVALID);
    }
    char longest[VQ_RUN_NAME_BYTES_MAX + 2];
    memset(longest, 'n', sizeof(longest));
    longest[VQ_RUN_NAME_BYTES_MAX + 1] = '\0';
    assert_int_equal(vq_run_name_check(longest, &d->err), VQ_INVALID);
    longest[VQ_RUN_NAME_BYTES_MAX] = '\0';
    assert_ok(vq_run_name_check(longest, &d->err), &d->err);
}

static void begin_fully(struct dir *d)
{
    assert_ok(vq_run_dir_write(d->run, VQ_RUN_BEGUN_FILE, vq_span("{}", 2), true, &d->err),
              &d->err);
}

TEST_WITH(test_create_open, setup, teardown)
{
    struct dir *d = *state;
    struct vq_run_dir *other = NULL;
    create(d, "demo");
    assert_int_equal(mode_of(d, "demo"), 0700);
    assert_int_equal(mode_of(d, "demo/lock"), 0600);
    assert_int_equal(mode_of(d, "demo/uid"), 0600);
    assert_string_equal(vq_run_dir_name(d->run), "demo");
    struct vq_id uid = *vq_run_dir_uid(d->run), zero = {0};
    assert_false(vq_id_eq(&uid, &zero));
    assert_int_equal(vq_run_dir_create(d->runs, "demo", &other, &d->err), VQ_EXISTS);
    assert_non_null(strstr(d->err.text, "vibeq resume demo"));
    assert_int_equal(vq_run_dir_open(d->runs, "demo", &other, &d->err), VQ_LOCKED);
    assert_int_equal(vq_run_dir_open(d->runs, "demos", &other, &d->err), VQ_NOT_FOUND);
    assert_non_null(strstr(d->err.text, "did you mean demo"));
    begin_fully(d);
    assert_ok(vq_run_dir_check_begun(d->run, &d->err), &d->err);
    vq_run_dir_close(&d->run);
    assert_int_equal(vq_run_dir_create(d->runs, "demo", &other, &d->err), VQ_EXISTS);
    assert_ok(vq_run_dir_open(d->runs, "demo", &d->run, &d->err), &d->err);
    assert_true(vq_id_eq(vq_run_dir_uid(d->run), &uid));
    vq_run_dir_close(&d->run);
    create(d, "second");
    assert_false(vq_id_eq(vq_run_dir_uid(d->run), &uid));
}

/* The lock ends with its process, however that ends, and no child keeps it. */
TEST_WITH(test_lock_of_a_killed_owner, setup, teardown)
{
    struct dir *d = *state;
    int said[2];
    char byte;
    assert_int_equal(pipe(said), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (vq_run_dir_create(d->runs, "demo", &d->run, &d->err) != VQ_OK ||
            write(said[1], "x", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            (void)pause();
        }
    }
    assert_int_equal(read(said[0], &byte, 1), 1);
    assert_int_equal(vq_run_dir_open(d->runs, "demo", &d->run, &d->err), VQ_LOCKED);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_ok(vq_run_dir_open(d->runs, "demo", &d->run, &d->err), &d->err);
    (void)close(said[0]);
    (void)close(said[1]);
}

TEST_WITH(test_never_fully_begun, setup, teardown)
{
    struct dir *d = *state;
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct vq_id uid;
    create(d, "demo");
    assert_int_equal(vq_run_dir_join(d->run, "uid", path), VQ_OK);
    assert_int_equal(truncate(path, 5), 0);
    vq_run_dir_close(&d->run);
    assert_int_equal(vq_run_dir_open(d->runs, "demo", &d->run, &d->err), VQ_CORRUPT);
    assert_non_null(strstr(d->err.text, "vibeq rm demo"));
    assert_ok(vq_run_remove(d->runs, "demo", false, &uid, &d->err), &d->err);
}

static void enter(const struct dir *d, const char *name, bool folder)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", d->runs, name);
    int fd = folder ? -1 : open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(folder ? mkdir(path, 0700) == 0 : fd >= 0 && close(fd) == 0);
}

/* Wherever its maker was killed before it wrote VQ_RUN_BEGUN_FILE: nothing was sent, and the name
 * can be had. */
TEST_WITH(test_a_beginning_is_taken_over, setup, teardown)
{
    struct dir *d = *state;
    struct vq_buf text;
    enter(d, "a", true);
    create(d, "a");
    vq_run_dir_close(&d->run);
    enter(d, "b", true);
    enter(d, "b/lock", false);
    enter(d, "b/uid.Xy12ab", false);
    create(d, "b");
    struct vq_id uid = *vq_run_dir_uid(d->run);
    assert_ok(vq_run_dir_keep(d->run, "data", vq_span("1", 1), "", &d->err), &d->err);
    assert_int_equal(vq_run_dir_check_begun(d->run, &d->err), VQ_NOT_FOUND);
    vq_run_dir_close(&d->run);
    create(d, "b");
    assert_false(vq_id_eq(vq_run_dir_uid(d->run), &uid));
    vq_buf_init(&text, 1000);
    assert_int_equal(vq_run_dir_read(d->run, "inputs/HASHES", &text, NULL), VQ_NOT_FOUND);
    vq_buf_free(&text);
    vq_run_dir_close(&d->run);
    enter(d, "b/log", false); /* not ours to take */
    assert_int_equal(vq_run_dir_create(d->runs, "b", &d->run, &d->err), VQ_EXISTS);
    enter(d, "file", false);
    assert_int_equal(vq_run_dir_create(d->runs, "file", &d->run, &d->err), VQ_EXISTS);
}

TEST_WITH(test_files, setup, teardown)
{
    struct dir *d = *state;
    struct vq_buf text;
    create(d, "demo");
    for (int durable = 0; durable < 2; durable++) {
        assert_ok(vq_run_dir_write(d->run, "results/deep/x.json", vq_span("{}", 2), durable != 0,
                                   &d->err),
                  &d->err);
        assert_ok(vq_run_dir_write(d->run, "results/deep/x.json", vq_span("longer", 6),
                                   durable != 0, &d->err),
                  &d->err);
        assert_int_equal(mode_of(d, "demo/results/deep/x.json"), 0600);
        assert_int_equal(mode_of(d, "demo/results/deep"), 0700);
        vq_buf_init(&text, 6);
        assert_ok(vq_run_dir_read(d->run, "results/deep/x.json", &text, &d->err), &d->err);
        assert_string_equal(text.at, "longer");
        vq_buf_free(&text);
    }
    assert_ok(vq_run_dir_write(d->run, "empty", vq_span("", 0), false, &d->err), &d->err);
    vq_buf_init(&text, 5);
    assert_ok(vq_run_dir_read(d->run, "empty", &text, &d->err), &d->err);
    assert_int_equal(text.bytes, 0);
    assert_int_equal(vq_run_dir_read(d->run, "results/deep/x.json", &text, &d->err), VQ_LIMIT);
    vq_buf_free(&text);
    vq_buf_init(&text, 5);
    assert_int_equal(vq_run_dir_read(d->run, "nothing", &text, &d->err), VQ_NOT_FOUND);
    vq_buf_free(&text);
    char deep[VQ_RUN_PATH_BYTES_MAX];
    memset(deep, 'd', sizeof(deep));
    deep[sizeof(deep) - 1] = '\0';
    assert_int_equal(vq_run_dir_write(d->run, deep, vq_span("", 0), true, &d->err), VQ_LIMIT);
}

/* The half file may hold an endpoint's token. */
TEST_WITH(test_what_cannot_be_written_leaves_nothing, setup, teardown)
{
    struct dir *d = *state;
    char path[VQ_RUN_PATH_BYTES_MAX];
    create(d, "demo");
    assert_ok(vq_run_dir_write(d->run, "folder/x", vq_span("{}", 2), false, &d->err), &d->err);
    for (int durable = 0; durable < 2; durable++) {
        assert_int_not_equal(
            vq_run_dir_write(d->run, "folder", vq_span("{}", 2), durable != 0, &d->err), VQ_OK);
        (void)snprintf(path, sizeof(path), "%s/demo/folder.tmp", d->runs);
        assert_int_equal(access(path, F_OK), -1);
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

TEST_WITH(test_kept_inputs, setup, teardown)
{
    struct dir *d = *state;
    char original[128], copy[VQ_RUN_PATH_BYTES_MAX];
    create(d, "demo");
    assert_ok(vq_run_dir_check_kept(d->run, &d->err), &d->err);
    (void)snprintf(original, sizeof(original), "%s/my data.csv", d->runs);
    write_file(original, "a,b\n1,2\n");
    assert_ok(vq_run_dir_keep(d->run, "data", vq_span_str("a,b\n1,2\n"), original, &d->err),
              &d->err);
    assert_ok(vq_run_dir_keep(d->run, "judge.txt", vq_span_str("@user\n"), "", &d->err), &d->err);
    assert_ok(vq_run_dir_check_kept(d->run, &d->err), &d->err);

    write_file(original, "a,b\n1,3\n");
    assert_int_equal(vq_run_dir_check_kept(d->run, &d->err), VQ_INVALID);
    assert_non_null(strstr(d->err.text, original));
    assert_int_equal(unlink(original), 0); /* gone: the copy is enough */
    assert_ok(vq_run_dir_check_kept(d->run, &d->err), &d->err);

    assert_int_equal(vq_run_dir_join(d->run, "inputs/judge.txt", copy), VQ_OK);
    write_file(copy, "@user\nother\n");
    assert_int_equal(vq_run_dir_check_kept(d->run, &d->err), VQ_CORRUPT);
    assert_non_null(strstr(d->err.text, "inputs/judge.txt"));
    assert_int_equal(unlink(copy), 0);
    assert_int_equal(vq_run_dir_check_kept(d->run, &d->err), VQ_CORRUPT);
    assert_int_equal(vq_run_dir_keep(d->run, "x", vq_span_str(""), "/a\nb", &d->err), VQ_INVALID);
    assert_int_equal(vq_run_dir_keep(d->run, "../x", vq_span_str(""), "", &d->err), VQ_INVALID);
}

TEST_WITH(test_endpoint, setup, teardown)
{
    struct dir *d = *state;
    struct vq_endpoint endpoint = {.address = "http://127.0.0.1:9", .token = "abc", .pid = 77},
                       back;
    create(d, "demo");
    assert_int_equal(vq_run_endpoint_read(d->runs, "demo", &back, &d->err), VQ_NOT_FOUND);
    assert_ok(vq_run_dir_write_endpoint(d->run, &endpoint, &d->err), &d->err);
    assert_int_equal(mode_of(d, "demo/endpoint.json"), 0600);
    assert_ok(vq_run_endpoint_read(d->runs, "demo", &back, &d->err), &d->err);
    assert_string_equal(back.address, endpoint.address);
    assert_string_equal(back.token, endpoint.token);
    assert_int_equal(back.pid, 77);
    static const char *const damaged[] = {"", "{", "[]", "{\"address\":1}",
                                          "{\"address\":\"x\",\"token\":\"y\"}"};
    for (size_t i = 0; i < VQ_COUNT(damaged); i++) {
        assert_ok(
            vq_run_dir_write(d->run, "endpoint.json", vq_span_str(damaged[i]), false, &d->err),
            &d->err);
        assert_int_equal(vq_run_endpoint_read(d->runs, "demo", &back, &d->err), VQ_CORRUPT);
    }
    vq_run_dir_remove_endpoint(d->run);
    assert_int_equal(vq_run_endpoint_read(d->runs, "demo", &back, &d->err), VQ_NOT_FOUND);
}

TEST_WITH(test_list_and_remove, setup, teardown)
{
    struct dir *d = *state;
    struct vq_run_info *runs = NULL, info;
    struct vq_id uid;
    size_t count = 0;
    char path[VQ_RUN_PATH_BYTES_MAX];
    (void)snprintf(path, sizeof(path), "%s/no-run", d->runs);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/%s", d->runs, VQ_STORE_FILE);
    write_file(path, "");
    create(d, "zulu");
    assert_ok(vq_run_dir_write(d->run, "results/results.json", vq_span_str("{}"), true, &d->err),
              &d->err);
    struct vq_id zulu = *vq_run_dir_uid(d->run);
    vq_run_dir_close(&d->run);
    create(d, "alpha");
    assert_ok(vq_run_dir_write(d->run, "status.json", vq_span_str("{}"), false, &d->err), &d->err);
    assert_ok(vq_runs_list(d->runs, &runs, &count, &d->err), &d->err);
    assert_int_equal(count, 2);
    assert_string_equal(runs[0].name, "alpha");
    assert_true(runs[0].running && runs[0].has_status && !runs[0].has_results);
    assert_string_equal(runs[1].name, "zulu");
    assert_true(!runs[1].running && !runs[1].has_status && runs[1].has_results);
    assert_true(runs[1].changed_unix_ms > 0);
    vq_free(runs);

    assert_int_equal(vq_run_remove(d->runs, "alpha", false, &uid, &d->err), VQ_LOCKED);
    assert_ok(vq_run_remove(d->runs, "zulu", false, &uid, &d->err), &d->err);
    assert_true(vq_id_eq(&uid, &zulu));
    assert_int_equal(vq_run_info_read(d->runs, "zulu", &info, &d->err), VQ_NOT_FOUND);
    assert_int_equal(vq_run_remove(d->runs, "zulu", false, &uid, &d->err), VQ_NOT_FOUND);
    assert_ok(vq_run_info_read(d->runs, "alpha", &info, &d->err), &d->err);
    assert_true(info.running);
}

/* Who drops ledgers of runs that are gone must not take one for gone that is there. */
TEST_WITH(test_uids, setup, teardown)
{
    struct dir *d = *state;
    struct vq_id *uids = NULL;
    struct vq_run_info info;
    size_t count = 0;
    char path[VQ_RUN_PATH_BYTES_MAX];
    create(d, "alpha");
    struct vq_id alpha = *vq_run_dir_uid(d->run);
    vq_run_dir_close(&d->run);
    (void)snprintf(path, sizeof(path), "%s/alpha/lock", d->runs);
    assert_int_equal(unlink(path), 0); /* as a copy of the folder may lack it */
    assert_ok(vq_run_info_read(d->runs, "alpha", &info, &d->err), &d->err);
    assert_false(info.running);
    create(d, "begun-badly");
    vq_run_dir_close(&d->run);
    (void)snprintf(path, sizeof(path), "%s/begun-badly/uid", d->runs);
    assert_int_equal(unlink(path), 0);
    assert_ok(vq_runs_uids(d->runs, &uids, &count, &d->err), &d->err);
    assert_int_equal(count, 1);
    assert_true(vq_id_eq(&uids[0], &alpha));
    vq_free(uids);
    static const char *const damaged[] = {"", "0123",
                                          "not one hex digit of sixty, not one hex digit"};
    for (size_t i = 0; i < VQ_COUNT(damaged); i++) {
        write_file(path, damaged[i]);
        assert_int_equal(vq_runs_uids(d->runs, &uids, &count, &d->err), VQ_CORRUPT);
        assert_non_null(strstr(d->err.text, "begun-badly/uid"));
    }
}

TEST_WITH(test_runs_dir, setup, teardown)
{
    struct dir *d = *state;
    char wanted[128], *path = NULL;
    struct stat st;
    (void)snprintf(wanted, sizeof(wanted), "%s/new/deep/../runs", d->runs);
    assert_int_equal(vq_runs_dir(wanted, &path, &d->err), VQ_OK);
    (void)snprintf(wanted, sizeof(wanted), "%s/new/runs", d->runs);
    assert_string_equal(path, wanted);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    vq_free(path);
    assert_int_equal(setenv("VIBEQ_RUNS", d->runs, 1), 0);
    assert_ok(vq_runs_dir(NULL, &path, &d->err), &d->err);
    assert_string_equal(path, d->runs);
    vq_free(path);
    assert_int_equal(unsetenv("VIBEQ_RUNS"), 0);
    (void)snprintf(wanted, sizeof(wanted), "%s/file", d->runs);
    write_file(wanted, "");
    assert_int_equal(vq_runs_dir(wanted, &path, &d->err), VQ_INVALID);
}
