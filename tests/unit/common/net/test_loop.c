/* Order of a turn, timers, deferred functions, the thread pool. */
#include "net_test.h"

#include "common/net/loop_private.h"

#include <unistd.h>

static char trace[64];

static void note(char c)
{
    size_t n = strlen(trace);
    if (n + 1 < sizeof(trace)) {
        trace[n] = c;
        trace[n + 1] = '\0';
    }
}

static void count_up(void *ctx)
{
    (*(int *)ctx)++;
}

TEST_WITH(test_timer_fires_once, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    int fired = 0;
    struct vq_timer *timer;
    assert_ok(vq_timer_create(loop, count_up, &fired, &timer));
    vq_timer_start(timer, 1, 0);
    assert_true(vq_timer_is_running(timer));
    wait_count(loop, &fired, 1);
    assert_false(vq_timer_is_running(timer));
    run_for(loop, 20);
    assert_int_equal(fired, 1);
    vq_timer_destroy(&timer);
    assert_null(timer);
}

TEST_WITH(test_timer_repeats_until_stopped, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    int fired = 0;
    struct vq_timer *timer;
    assert_ok(vq_timer_create(loop, count_up, &fired, &timer));
    vq_timer_start(timer, 0, 1);
    wait_count(loop, &fired, 5);
    vq_timer_stop(timer);
    int before = fired;
    run_for(loop, 20);
    assert_int_equal(fired, before);
    vq_timer_destroy(&timer);
}

static void note_a(void *ctx)
{
    (void)ctx;
    note('a');
}

static void note_b(void *ctx)
{
    (void)ctx;
    note('b');
}

static void note_c(void *ctx)
{
    note('c');
    *(bool *)ctx = true;
}

TEST_WITH(test_timers_fire_in_order_of_due_time, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    bool done = false;
    struct vq_timer *a, *b, *c;
    trace[0] = '\0';
    assert_ok(vq_timer_create(loop, note_c, &done, &c));
    assert_ok(vq_timer_create(loop, note_b, NULL, &b));
    assert_ok(vq_timer_create(loop, note_a, NULL, &a));
    vq_timer_start(c, 30, 0);
    vq_timer_start(b, 20, 0);
    vq_timer_start(a, 10, 0);
    usleep(50000); /* all are due at once: order of due time all the same */
    wait_flag(loop, &done);
    assert_string_equal(trace, "abc");
    vq_timer_destroy(&a);
    vq_timer_destroy(&b);
    vq_timer_destroy(&c);
}

struct self_ender {
    struct vq_timer *timer;
    int fired;
};

static void end_self(void *ctx)
{
    struct self_ender *self = ctx;
    self->fired++;
    vq_timer_destroy(&self->timer);
}

TEST_WITH(test_timer_may_destroy_itself, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    struct self_ender self = {0};
    assert_ok(vq_timer_create(loop, end_self, &self, &self.timer));
    vq_timer_start(self.timer, 0, 1);
    run_for(loop, 20);
    assert_int_equal(self.fired, 1);
    assert_null(self.timer);
}

/* Many timers, stopped and started at random, against a plain list. */
TEST_WITH(test_timer_heap_keeps_order, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    enum {
        N = 200
    };
    struct vq_timer *timers[N];
    int fired[N] = {0};
    for (int i = 0; i < N; i++) {
        assert_ok(vq_timer_create(loop, count_up, &fired[i], &timers[i]));
        vq_timer_start(timers[i], (uint64_t)((i * 7919) % 23), 0);
    }
    for (int i = 0; i < N; i += 3) {
        vq_timer_stop(timers[i]);
    }
    for (int i = 0; i < N; i += 6) {
        vq_timer_start(timers[i], (uint64_t)(i % 11), 0);
    }
    run_for(loop, 60);
    for (int i = 0; i < N; i++) {
        assert_int_equal(fired[i], i % 3 != 0 || i % 6 == 0 ? 1 : 0);
        vq_timer_destroy(&timers[i]);
    }
}

static bool source_ready;

static bool is_source_ready(void *ctx)
{
    (void)ctx;
    return source_ready;
}

static void drain_source(void *ctx)
{
    (void)ctx;
    if (source_ready) {
        source_ready = false;
        note('s');
    }
}

static void hook(void *ctx)
{
    if (trace[0] != '\0') {
        note('h');
        *(bool *)ctx = true;
    }
}

static struct vq_deferred deferred_d;
static struct vq_loop *the_loop;

static void note_deferred(void *ctx)
{
    (void)ctx;
    note('d');
}

static void note_timer_and_defer(void *ctx)
{
    (void)ctx;
    note('t');
    vq_loop_defer(the_loop, &deferred_d);
}

/* After standing still with both due, the source is read first, then the timer, then what it
 * deferred, then the hook. */
TEST_WITH(test_turn_order, loop_setup, loop_teardown)
{
    the_loop = *state;
    bool done = false;
    struct vq_source source = {.ready = is_source_ready, .drain = drain_source};
    struct vq_timer *timer;
    trace[0] = '\0';
    deferred_d = (struct vq_deferred){.fn = note_deferred};
    assert_ok(vq_timer_create(the_loop, note_timer_and_defer, NULL, &timer));
    vq_loop_add_source(the_loop, &source);
    vq_loop_on_turn(the_loop, hook, &done);
    vq_timer_start(timer, 1, 0);
    source_ready = true;
    usleep(5000);
    wait_flag(the_loop, &done);
    assert_string_equal(trace, "stdh");
    vq_loop_on_turn(the_loop, NULL, NULL);
    vq_loop_remove_source(the_loop, &source);
    vq_timer_destroy(&timer);
}

struct again {
    struct vq_loop *loop;
    struct vq_deferred deferred;
    int runs;
};

static void defer_again(void *ctx)
{
    struct again *again = ctx;
    if (++again->runs < 10) {
        vq_loop_defer(again->loop, &again->deferred);
    }
}

TEST_WITH(test_deferred_may_defer_itself_and_others_still_run, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    struct again again = {.loop = loop};
    int others = 0;
    again.deferred = (struct vq_deferred){.fn = defer_again, .ctx = &again};
    struct vq_deferred other = {.fn = count_up, .ctx = &others};
    vq_loop_defer(loop, &again.deferred);
    vq_loop_defer(loop, &again.deferred); /* queued already */
    vq_loop_defer(loop, &other);
    uint64_t before = vq_loop_stats_take(loop).turns;
    wait_count(loop, &again.runs, 10);
    assert_int_equal(others, 1);
    assert_true(vq_loop_stats_take(loop).turns - before >= 10); /* one run a turn */
}

TEST_WITH(test_deferred_cancel, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    int a = 0, b = 0, c = 0;
    struct vq_deferred da = {.fn = count_up, .ctx = &a};
    struct vq_deferred db = {.fn = count_up, .ctx = &b};
    struct vq_deferred dc = {.fn = count_up, .ctx = &c};
    vq_loop_defer(loop, &da);
    vq_loop_defer(loop, &db);
    vq_loop_defer(loop, &dc);
    vq_deferred_cancel(&db);
    vq_deferred_cancel(&db);
    run_for(loop, 5);
    assert_int_equal(a, 1);
    assert_int_equal(b, 0);
    assert_int_equal(c, 1);
}

static void stop_loop(void *ctx)
{
    vq_loop_stop(ctx);
}

TEST_WITH(test_run_and_stop, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    struct vq_timer *timer;
    assert_ok(vq_timer_create(loop, stop_loop, loop, &timer));
    vq_timer_start(timer, 5, 0);
    assert_ok(vq_loop_run(loop));
    assert_false(vq_timer_is_running(timer));
    vq_loop_stop(loop);
    assert_ok(vq_loop_run(loop)); /* a stop before the run ends it */
    vq_timer_start(timer, 5, 0);
    assert_status(vq_loop_run_until(loop, never, NULL, WAIT_MS), VQ_AGAIN);
    vq_timer_destroy(&timer);
}

struct job {
    int input;
    int output;
    int done;
};

static void square(void *ctx)
{
    struct job *job = ctx;
    job->output = job->input * job->input;
}

static void job_done(void *ctx)
{
    ((struct job *)ctx)->done++;
}

TEST_WITH(test_work_runs_and_is_done_once, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    struct job jobs[32] = {{0}};
    for (int i = 0; i < 32; i++) {
        jobs[i].input = i;
        assert_ok(vq_loop_work(loop, square, job_done, &jobs[i]));
    }
    for (int i = 0; i < 32; i++) {
        wait_count(loop, &jobs[i].done, 1);
        assert_int_equal(jobs[i].output, i * i);
        assert_int_equal(jobs[i].done, 1);
    }
}

static void slow(void *ctx)
{
    (void)ctx;
    usleep(20000);
}

TEST(test_destroy_waits_for_work)
{
    struct vq_loop *loop;
    struct job job = {0};
    assert_ok(vq_loop_create(&loop, NULL));
    assert_ok(vq_loop_work(loop, slow, job_done, &job));
    vq_loop_destroy(&loop);
    assert_int_equal(job.done, 1);
}

static void be_busy(void *ctx)
{
    usleep(30000);
    *(bool *)ctx = true;
}

TEST_WITH(test_stats_show_a_long_turn_and_a_late_timer, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    bool done = false;
    struct vq_timer *timer;
    assert_ok(vq_timer_create(loop, be_busy, &done, &timer));
    vq_timer_start(timer, 1, 0);
    usleep(10000);
    wait_flag(loop, &done);
    run_for(loop, 1); /* the turn is measured at the next sleep */
    struct vq_loop_stats stats = vq_loop_stats_take(loop);
    assert_true(stats.busy_ns_max >= 29 * VQ_NS_PER_MS);
    assert_true(stats.late_ns_max >= 8 * VQ_NS_PER_MS);
    stats = vq_loop_stats_take(loop);
    assert_int_equal(stats.late_ns_max, 0);
    vq_timer_destroy(&timer);
}

TEST_WITH(test_sleeping_is_not_busy, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    run_for(loop, 1);
    struct vq_loop_stats before = vq_loop_stats_take(loop);
    run_for(loop, 200);
    struct vq_loop_stats after = vq_loop_stats_take(loop);
    assert_true(after.turns - before.turns < 50); /* it slept, and did not spin */
}
