/* Signals reach the loop; and one that comes again at the very end does not change how the process
 * ends. */
#include "net_test.h"

#include "common/net/signals.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_STOPPED 4

static void pause_ms(long ms)
{
    struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&wait, &wait) != 0) {
    }
}

static volatile sig_atomic_t reached_the_one_before;

static void one_before(int signum)
{
    reached_the_one_before = signum;
}

/* The first test: once a signal has come it is ignored instead. */
TEST_WITH(test_what_was_before_is_back_when_none_came, loop_setup, loop_teardown)
{
    struct sigaction action = {.sa_handler = one_before};
    struct vq_signal *signal_handle;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_ok(vq_signal_create(*state, SIGUSR1, NULL, NULL, &signal_handle));
    vq_signal_destroy(&signal_handle);
    assert_null(signal_handle);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(reached_the_one_before, SIGUSR1);
}

struct program {
    struct vq_loop *loop;
};

static void on_stop(void *ctx, int signum)
{
    (void)signum;
    vq_loop_stop(((struct program *)ctx)->loop);
}

/* A program that gets a signal before its loop runs. */
_Noreturn static void run_late_program(void)
{
    struct program p;
    struct vq_signal *term;
    if (vq_signal_keep(SIGTERM) != VQ_OK || raise(SIGTERM) != 0 ||
        vq_loop_create(&p.loop, NULL) != VQ_OK ||
        vq_signal_create(p.loop, SIGTERM, on_stop, &p, &term) != VQ_OK) {
        _exit(1);
    }
    _exit(vq_loop_run(p.loop) == VQ_OK ? EXIT_STOPPED : 1);
}

TEST_WITH(test_a_kept_signal_waits_for_its_watch, loop_setup, loop_teardown)
{
    assert_status(vq_signal_keep(0), VQ_INVALID);
    assert_status(vq_signal_keep(SIGKILL), VQ_INVALID);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) { /* the default of the signal would end it */
        run_late_program();
    }
    int how;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), EXIT_STOPPED);
}

static int caught_signal;

static void on_caught(void *ctx, int signum)
{
    caught_signal = signum;
    *(bool *)ctx = true;
}

TEST_WITH(test_signal_reaches_the_loop, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    for (int round = 0; round < 2; round++) {
        bool caught = false;
        struct vq_signal *signal_handle;
        assert_ok(vq_signal_create(loop, SIGUSR1, on_caught, &caught, &signal_handle));
        run_for(loop, 5);
        assert_false(caught); /* nothing is left of the round before */
        assert_int_equal(raise(SIGUSR1), 0);
        assert_int_equal(raise(SIGUSR1), 0);
        wait_flag(loop, &caught);
        assert_int_equal(caught_signal, SIGUSR1);
        assert_int_equal(raise(SIGUSR1), 0); /* never told */
        caught = false;
        vq_signal_destroy(&signal_handle);
        run_for(loop, 5);
        assert_false(caught);
    }
}

TEST_WITH(test_what_cannot_be_watched_is_refused, loop_setup, loop_teardown)
{
    struct vq_signal *first, *other;
    assert_status(vq_signal_create(*state, SIGKILL, on_caught, NULL, &other), VQ_INVALID);
    assert_status(vq_signal_create(*state, 0, on_caught, NULL, &other), VQ_INVALID);
    assert_status(vq_signal_create(*state, NSIG, on_caught, NULL, &other), VQ_INVALID);
    assert_ok(vq_signal_create(*state, SIGUSR2, on_caught, NULL, &first));
    assert_status(vq_signal_create(*state, SIGUSR2, on_caught, NULL, &other), VQ_EXISTS);
    vq_signal_destroy(&first);
}

/* A program that is asked to stop, closes everything, and takes its time to exit. */
_Noreturn static void run_program(int ready_fd)
{
    struct program p;
    struct vq_signal *term, *interrupt;
    if (vq_loop_create(&p.loop, NULL) != VQ_OK ||
        vq_signal_create(p.loop, SIGTERM, on_stop, &p, &term) != VQ_OK ||
        vq_signal_create(p.loop, SIGINT, on_stop, &p, &interrupt) != VQ_OK ||
        write(ready_fd, "r", 1) != 1) {
        _exit(1);
    }
    enum vq_status status = vq_loop_run(p.loop);
    vq_signal_destroy(&term);
    vq_signal_destroy(&interrupt);
    vq_loop_destroy(&p.loop);
    pause_ms(50);
    _exit(status == VQ_OK ? EXIT_STOPPED : 1);
}

TEST(test_a_storm_does_not_change_how_the_process_ends)
{
    for (int round = 0; round < 10; round++) {
        int ready[2], how;
        char byte;
        assert_int_equal(pipe(ready), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            run_program(ready[1]);
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        while (waitpid(pid, &how, WNOHANG) == 0) {
            assert_int_equal(kill(pid, SIGTERM), 0);
            assert_int_equal(kill(pid, SIGINT), 0);
        }
        assert_true(WIFEXITED(how));
        assert_int_equal(WEXITSTATUS(how), EXIT_STOPPED);
        assert_int_equal(close(ready[0]), 0);
        assert_int_equal(close(ready[1]), 0);
    }
}
