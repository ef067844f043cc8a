/* Children: exit codes, environment, descriptors, process group, death with the parent. */
#include "net_test.h"

#include "common/net/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct watch {
    bool done;
    int times;
    struct vq_child_exit how;
};

static void on_exited(void *ctx, struct vq_child_exit how)
{
    struct watch *watch = ctx;
    watch->done = true;
    watch->times++;
    watch->how = how;
}

/* Runs a shell line; what it prints is in `out`. */
static struct vq_child_exit run_shell(struct vq_loop *loop, const char *line,
                                      struct vq_child_options options, char *out, size_t out_cap)
{
    struct watch watch = {0};
    struct vq_child *child;
    int ends[2];
    const char *argv[] = {"sh", "-c", line, NULL};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    options.path = "/bin/sh";
    options.argv = argv;
    options.stdout_fd = ends[1];
    options.exited = on_exited;
    options.ctx = &watch;
    assert_ok(vq_child_spawn(loop, &options, &child, NULL));
    assert_int_equal(close(ends[1]), 0);
    wait_flag(loop, &watch.done);
    assert_int_equal(watch.times, 1);
    assert_int_equal(vq_child_pid(child), 0);
    ssize_t n = read(ends[0], out, out_cap - 1);
    assert_true(n >= 0);
    out[n] = '\0';
    assert_int_equal(close(ends[0]), 0);
    vq_child_destroy(&child);
    return watch.how;
}

TEST_WITH(test_exit_code_and_output, loop_setup, loop_teardown)
{
    char out[256];
    struct vq_child_exit how =
        run_shell(*state, "echo hello; exit 7", (struct vq_child_options){0}, out, sizeof(out));
    assert_int_equal(how.code, 7);
    assert_int_equal(how.signal, 0);
    assert_string_equal(out, "hello\n");
}

TEST_WITH(test_ended_by_signal, loop_setup, loop_teardown)
{
    char out[256];
    struct vq_child_exit how =
        run_shell(*state, "kill -9 $$", (struct vq_child_options){0}, out, sizeof(out));
    assert_int_equal(how.code, -1);
    assert_int_equal(how.signal, SIGKILL);
}

TEST_WITH(test_environment_is_an_allow_list, loop_setup, loop_teardown)
{
    char out[256];
    const char *keep[] = {"VQ_TEST_KEPT", NULL};
    const char *set[] = {"VQ_TEST_SET=new", NULL};
    assert_int_equal(setenv("VQ_TEST_KEPT", "kept", 1), 0);
    assert_int_equal(setenv("VQ_TEST_SECRET", "secret", 1), 0);
    assert_int_equal(setenv("VQ_TEST_SET", "old", 1), 0);
    const char *line = "echo \"[$VQ_TEST_KEPT][$VQ_TEST_SECRET][$VQ_TEST_SET]\"";
    struct vq_child_options some = {.env_keep = keep, .env_set = set};
    (void)run_shell(*state, line, some, out, sizeof(out));
    assert_string_equal(out, "[kept][][new]\n");
    struct vq_child_options all = {.env_all = true, .env_set = set};
    (void)run_shell(*state, line, all, out, sizeof(out));
    assert_string_equal(out, "[kept][secret][new]\n");
}

TEST_WITH(test_only_named_descriptors_are_inherited, loop_setup, loop_teardown)
{
    char out[256], line[128];
    int kept = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int other = open("/dev/null", O_RDONLY); /* not even close-on-exec */
    assert_true(kept > 2 && other > 2);
    (void)snprintf(line, sizeof(line),
                   "test -e /proc/self/fd/%d && echo kept; test -e /proc/self/fd/%d && echo other",
                   kept, other);
    struct vq_child_options options = {.keep_fds = &kept, .keep_fds_count = 1};
    (void)run_shell(*state, line, options, out, sizeof(out));
    assert_string_equal(out, "kept\n");
    assert_int_equal(close(kept), 0);
    assert_int_equal(close(other), 0);
}

TEST_WITH(test_own_process_group_and_default_signals, loop_setup, loop_teardown)
{
    char out[256];
    (void)run_shell(*state, "test $(ps -o pgid= -p $$) = $$ && echo leader",
                    (struct vq_child_options){0}, out, sizeof(out));
    assert_string_equal(out, "leader\n");
    /* SIGPIPE is ignored here, and not there */
    (void)run_shell(*state, "grep SigIgn /proc/self/status", (struct vq_child_options){0}, out,
                    sizeof(out));
    const char *mask = strpbrk(out, "0123456789abcdef");
    for (const char *at = out; *at != '\0'; at++) {
        mask = *at == '\t' ? at + 1 : mask;
    }
    assert_non_null(mask);
    /* 32 and 33 are the C library's own: whoever started us may have ignored them, and nobody
     * can take that back */
    unsigned long long c_library = 3ull << 31;
    assert_int_equal(strtoull(mask, NULL, 16) & ~c_library, 0);
}

TEST_WITH(test_argv0_may_differ_and_path_is_searched, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    struct watch watch = {0};
    struct vq_child *child;
    const char *argv[] = {"another-name", "-c", "exit 3", NULL};
    struct vq_child_options options = {
        .path = "sh", .argv = argv, .exited = on_exited, .ctx = &watch};
    assert_ok(vq_child_spawn(loop, &options, &child, NULL));
    wait_flag(loop, &watch.done);
    assert_int_equal(watch.how.code, 3);
    vq_child_destroy(&child);
}

TEST_WITH(test_what_cannot_run_is_an_error_now, loop_setup, loop_teardown)
{
    struct vq_error err = {""};
    struct vq_child *child = NULL;
    const char *argv[] = {"x", NULL};
    struct watch watch = {0};
    struct vq_child_options options = {.argv = argv, .exited = on_exited, .ctx = &watch};
    options.path = "/nonexistent/program";
    assert_status(vq_child_spawn(*state, &options, &child, &err), VQ_NOT_FOUND);
    assert_contains(err.text, "/nonexistent/program");
    options.path = "/etc/passwd";
    assert_status(vq_child_spawn(*state, &options, &child, &err), VQ_DENIED);
    options.path = "no-such-program-anywhere";
    assert_status(vq_child_spawn(*state, &options, &child, &err), VQ_NOT_FOUND);
    assert_contains(err.text, "PATH");
    assert_null(child);
    run_for(*state, 10);
    assert_int_equal(watch.times, 0);
}

TEST_WITH(test_kill_and_destroy, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    struct watch a = {0}, b = {0};
    struct vq_child *first, *second;
    const char *argv[] = {"sleep", "1000", NULL};
    struct vq_child_options options = {.path = "sleep", .argv = argv, .exited = on_exited};
    options.ctx = &a;
    assert_ok(vq_child_spawn(loop, &options, &first, NULL));
    options.ctx = &b;
    assert_ok(vq_child_spawn(loop, &options, &second, NULL));
    assert_ok(vq_child_kill(first, SIGTERM, true));
    wait_flag(loop, &a.done);
    assert_int_equal(a.how.signal, SIGTERM);
    assert_status(vq_child_kill(first, SIGTERM, false), VQ_NOT_FOUND);
    pid_t pid = vq_child_pid(second);
    vq_child_destroy(&second);
    assert_int_equal(kill(pid, 0), -1); /* gone and reaped */
    run_for(loop, 10);
    assert_int_equal(b.times, 0);
    vq_child_destroy(&first);
}

/* A parent that is killed takes the child with it: the middle process spawns, tells the pid, and
 * is killed. */
TEST(test_child_dies_with_its_parent)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t middle = fork();
    assert_true(middle >= 0);
    if (middle == 0) {
        struct vq_loop *loop;
        struct vq_child *child;
        struct watch watch = {0};
        const char *argv[] = {"sleep", "1000", NULL};
        struct vq_child_options options = {
            .path = "sleep", .argv = argv, .exited = on_exited, .ctx = &watch};
        if (vq_loop_create(&loop, NULL) == VQ_OK &&
            vq_child_spawn(loop, &options, &child, NULL) == VQ_OK) {
            pid_t pid = vq_child_pid(child);
            ssize_t n = write(ends[1], &pid, sizeof(pid));
            (void)n;
            pause();
        }
        _exit(1);
    }
    pid_t grandchild = 0;
    assert_int_equal(read(ends[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
    assert_int_equal(kill(grandchild, 0), 0);
    assert_int_equal(kill(middle, SIGKILL), 0);
    assert_int_equal(waitpid(middle, NULL, 0), middle);
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)grandchild);
    bool gone = false;
    for (int i = 0; i < 1000 && !gone; i++) {
        FILE *f = fopen(path, "r"); /* gone, or a zombie that nobody reaps in a container */
        char status = 'Z';
        gone = f == NULL || (fscanf(f, "%*d %*s %c", &status) == 1 && status == 'Z');
        if (f != NULL) {
            (void)fclose(f);
        }
        usleep(10000);
    }
    assert_true(gone);
    (void)close(ends[0]);
    (void)close(ends[1]);
}
