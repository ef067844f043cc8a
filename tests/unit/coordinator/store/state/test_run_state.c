/* A run's columns in a real Redis: who may write, what is applied once, what is noticed as lost. */
#include "tests/unit/coordinator/store/calls/redis_fixture.h"

#include "common/base/rng.h"

#include <signal.h>

static const struct vq_id uid = {.b = {0xab, 0xcd}};
static struct rx *rx; /* one server for all tests, emptied before each */

struct answer { /* of any operation */
    unsigned calls;
    enum vq_status status;
    enum vq_sync sync;
    uint8_t *column;
    uint64_t tasks;
    char text[256];
};

static void on_done(void *ctx, enum vq_status status, const char *text)
{
    struct answer *a = ctx;
    a->calls++;
    a->status = status;
    (void)snprintf(a->text, sizeof(a->text), "%s", text);
}

static void on_sync(void *ctx, enum vq_status status, enum vq_sync sync, const char *text)
{
    ((struct answer *)ctx)->sync = sync;
    on_done(ctx, status, text);
}

static void on_column(void *ctx, enum vq_status status, const uint8_t *outcomes, uint64_t tasks,
                      const char *text)
{
    struct answer *a = ctx;
    a->tasks = tasks;
    if (status == VQ_OK) {
        a->column = vq_alloc(tasks, 1);
        memcpy(a->column, outcomes, tasks);
    }
    on_done(ctx, status, text);
}

static bool answered(void *ctx)
{
    return ((struct answer *)ctx)->calls > 0;
}

static struct answer wait_for(struct answer *a)
{
    assert_int_equal(a->calls, 0); /* never from inside */
    rx_wait(rx, answered, a);
    assert_int_equal(a->calls, 1);
    return *a;
}

static struct vq_owner owner(uint64_t epoch)
{
    struct vq_owner o = {.uid = uid, .epoch = epoch};
    o.nonce.b[0] = (uint8_t)epoch;
    o.nonce.b[1] = 9;
    return o;
}

static struct vq_run_state *state_of(uint64_t epoch, uint64_t tasks)
{
    struct vq_run_state *state = NULL;
    struct vq_owner mine = owner(epoch);
    assert_ok(vq_run_state_create(rx->loop, rx->redis, "demo", &mine, 0, tasks, &state, &rx->err),
              &rx->err);
    return state;
}

static struct answer begin(struct vq_run_state *state, uint64_t before, uint64_t n)
{
    struct answer a = {0};
    struct vq_owner was = owner(before);
    vq_run_state_begin(state, before == 0 ? NULL : &was, n, on_sync, &a);
    return wait_for(&a);
}

static struct answer wipe(struct vq_run_state *state)
{
    struct answer a = {0};
    vq_run_state_wipe(state, on_done, &a);
    return wait_for(&a);
}

static struct answer fill(struct vq_run_state *state, uint64_t first, const uint8_t *outcomes,
                          uint32_t count)
{
    struct answer a = {0};
    vq_run_state_fill(state, first, outcomes, count, on_done, &a);
    return wait_for(&a);
}

static struct answer fill_end(struct vq_run_state *state, uint64_t n)
{
    struct answer a = {0};
    vq_run_state_fill_end(state, n, on_done, &a);
    return wait_for(&a);
}

static struct answer apply(struct vq_run_state *state, uint64_t n,
                           const struct vq_settled *standing, size_t count)
{
    struct answer a = {0};
    vq_run_state_apply(state, n, standing, count, on_done, &a);
    return wait_for(&a);
}

static struct answer check(struct vq_run_state *state)
{
    struct answer a = {0};
    vq_run_state_check(state, on_done, &a);
    return wait_for(&a);
}

static struct answer read_all(struct vq_run_state *state, uint64_t n)
{
    struct answer a = {0};
    vq_run_state_read(state, n, on_column, &a);
    return wait_for(&a);
}

/* A run that stands at commit n with nothing settled. */
static struct vq_run_state *fresh(uint64_t epoch, uint64_t tasks, uint64_t n)
{
    struct vq_run_state *state = state_of(epoch, tasks);
    struct answer a = begin(state, 0, n);
    assert_int_equal(a.status, VQ_OK);
    assert_int_equal(a.sync, VQ_SYNC_REBUILD);
    assert_int_equal(wipe(state).status, VQ_OK);
    assert_int_equal(fill_end(state, n).status, VQ_OK);
    return state;
}

static void check_column(struct vq_run_state *state, uint64_t n, const uint8_t *expected,
                         uint64_t tasks)
{
    struct answer a = read_all(state, n);
    assert_int_equal(a.status, VQ_OK);
    assert_int_equal(a.tasks, tasks);
    assert_memory_equal(a.column, expected, tasks);
    vq_free(a.column);
    uint64_t counts[256] = {0};
    for (uint64_t i = 0; i < tasks; i++) {
        counts[expected[i]]++;
    }
    for (int o = 0; o < 256; o++) {
        char field[8], count[32];
        (void)snprintf(field, sizeof(field), "%d", o);
        (void)snprintf(count, sizeof(count), "%llu", (unsigned long long)counts[o]);
        const char *got = rx_command(rx, "HGET", "vibeq:{demo.abcd0000}:tally", field);
        assert_true(strcmp(got, count) == 0 || (counts[o] == 0 && strcmp(got, "(nil)") == 0));
    }
}

static void test_life(void **unused)
{
    (void)unused;
    struct vq_run_state *state = fresh(1, 100, 0);
    uint8_t expected[100] = {0};
    const struct vq_settled one[] = {{7, 3}, {6, 1}, {8, 32}, {99, 50}};
    assert_int_equal(apply(state, 1, one, VQ_COUNT(one)).status, VQ_OK);
    expected[7] = 3;
    expected[6] = 1;
    expected[8] = 32;
    expected[99] = 50;
    check_column(state, 1, expected, 100);
    /* The same again: done already. */
    assert_int_equal(apply(state, 1, one, VQ_COUNT(one)).status, VQ_OK);
    check_column(state, 1, expected, 100);
    /* An outcome is replaced, one becomes open again; an empty commit counts too. */
    const struct vq_settled two[] = {{6, 32}, {7, 3}, {99, 0}};
    assert_int_equal(apply(state, 2, two, VQ_COUNT(two)).status, VQ_OK);
    assert_int_equal(apply(state, 3, NULL, 0).status, VQ_OK);
    expected[6] = 32;
    expected[99] = 0;
    check_column(state, 3, expected, 100);
    /* n - 1 is checked, and nothing was changed by what was refused. */
    const struct vq_settled five[] = {{0, 5}};
    assert_int_equal(apply(state, 5, five, 1).status, VQ_CORRUPT);
    assert_int_equal(read_all(state, 5).status, VQ_CORRUPT);
    check_column(state, 3, expected, 100);
    assert_int_equal(check(state).status, VQ_OK);
    vq_run_state_destroy(&state);
}

static void test_begin(void **unused)
{
    (void)unused;
    struct vq_run_state *state = fresh(1, 10, 4);
    /* The same process after a reconnection. */
    assert_int_equal(begin(state, 0, 4).sync, VQ_SYNC_EQUAL);
    assert_int_equal(begin(state, 0, 5).sync, VQ_SYNC_BEHIND);
    assert_int_equal(begin(state, 0, 6).sync, VQ_SYNC_REBUILD);
    assert_int_equal(begin(state, 0, 3).sync, VQ_SYNC_REBUILD);
    vq_run_state_destroy(&state);
    /* The next start: it names the one before. */
    state = state_of(2, 10);
    struct answer a = begin(state, 1, 4);
    assert_true(a.status == VQ_OK && a.sync == VQ_SYNC_EQUAL);
    vq_run_state_destroy(&state);
    /* A start that Redis did not see: rebuild, and that is allowed. */
    state = state_of(4, 10);
    a = begin(state, 3, 4);
    assert_true(a.status == VQ_OK && a.sync == VQ_SYNC_REBUILD);
    assert_int_equal(wipe(state).status, VQ_OK);
    /* A crash before fill_end leaves no n. */
    assert_int_equal(begin(state, 0, 4).sync, VQ_SYNC_REBUILD);
    assert_int_equal(fill_end(state, 4).status, VQ_OK);
    assert_int_equal(fill_end(state, 4).status, VQ_CORRUPT);
    assert_int_equal(begin(state, 0, 4).sync, VQ_SYNC_EQUAL);
    vq_run_state_destroy(&state);
}

static void test_two_coordinators(void **unused)
{
    (void)unused;
    struct vq_run_state *old = fresh(1, 10, 0);
    struct vq_run_state *new = state_of(2, 10);
    const struct vq_settled one[] = {{1, 1}};
    assert_int_equal(begin(new, 1, 0).sync, VQ_SYNC_EQUAL);
    assert_int_equal(apply(old, 1, one, 1).status, VQ_STALE);
    assert_int_equal(check(old).status, VQ_STALE);
    assert_int_equal(begin(old, 0, 0).status, VQ_STALE);
    assert_int_equal(wipe(old).status, VQ_STALE);
    assert_int_equal(read_all(old, 0).status, VQ_STALE);
    uint8_t nothing[10] = {0};
    check_column(new, 0, nothing, 10);
    /* The same epoch with another nonce: a copied run folder. */
    struct vq_owner copied = owner(2);
    copied.nonce.b[5] = 1;
    struct vq_run_state *copy = NULL;
    assert_ok(vq_run_state_create(rx->loop, rx->redis, "demo", &copied, 0, 10, &copy, &rx->err),
              &rx->err);
    assert_int_equal(begin(copy, 1, 0).status, VQ_STALE);
    vq_run_state_destroy(&copy);
    vq_run_state_destroy(&old);
    vq_run_state_destroy(&new);
}

static void test_lost_data(void **unused)
{
    (void)unused;
    struct vq_run_state *state = fresh(3, 10, 2);
    const struct vq_settled one[] = {{1, 1}};
    assert_string_equal(rx_command(rx, "FLUSHALL", NULL, NULL), "OK");
    assert_int_equal(apply(state, 3, one, 1).status, VQ_CORRUPT);
    assert_int_equal(check(state).status, VQ_CORRUPT);
    assert_int_equal(begin(state, 0, 2).sync, VQ_SYNC_REBUILD);
    assert_int_equal(wipe(state).status, VQ_OK);
    assert_int_equal(fill_end(state, 2).status, VQ_OK);
    /* A lost tail brought back the owner of an earlier start. */
    struct vq_run_state *older = state_of(2, 10);
    assert_int_equal(begin(older, 0, 2).status, VQ_STALE);
    vq_run_state_destroy(&older);
    assert_string_equal(rx_command(rx, "SET", "vibeq:{demo.abcd0000}:owner",
                                   "abcd0000000000000000000000000000:2:00"),
                        "OK");
    assert_int_equal(apply(state, 3, one, 1).status, VQ_CORRUPT);
    assert_int_equal(begin(state, 0, 2).sync, VQ_SYNC_REBUILD);
    vq_run_state_destroy(&state);
}

static bool redis_has(const char *name)
{
    char key[96];
    (void)snprintf(key, sizeof(key), "vibeq:{demo.abcd0000}:%s", name);
    return strcmp(rx_command(rx, "TYPE", key, NULL), "none") != 0;
}

/* Redis holds the columns of one stage: the next one begins with a rebuild, and so does an earlier
 * one after that. */
static void test_stages(void **unused)
{
    (void)unused;
    struct vq_run_state *first = fresh(1, 10, 3);
    struct vq_run_state *second = NULL;
    struct vq_owner mine = owner(1);
    const struct vq_settled one[] = {{1, 1}};
    assert_int_equal(apply(first, 4, one, 1).status, VQ_OK);
    assert_true(redis_has("0:0") && redis_has("columns"));
    assert_ok(vq_run_state_create(rx->loop, rx->redis, "demo", &mine, 1, 6, &second, &rx->err),
              &rx->err);
    /* Not one byte of it is taken for the next stage's. */
    assert_int_equal(apply(second, 5, one, 1).status, VQ_CORRUPT);
    assert_int_equal(read_all(second, 4).status, VQ_CORRUPT);
    struct answer a = begin(second, 0, 4);
    assert_true(a.status == VQ_OK && a.sync == VQ_SYNC_REBUILD);
    assert_int_equal(begin(second, 0, 5).sync, VQ_SYNC_REBUILD); /* not "one behind" */
    assert_int_equal(wipe(second).status, VQ_OK);
    assert_false(redis_has("0:0"));
    const uint8_t column[6] = {1, 2, 3, 0, 8, 8};
    assert_int_equal(fill(second, 0, column, 6).status, VQ_OK);
    assert_int_equal(fill_end(second, 4).status, VQ_OK);
    assert_int_equal(begin(second, 0, 4).sync, VQ_SYNC_EQUAL);
    check_column(second, 4, column, 6);
    assert_int_equal(apply(second, 5, one, 1).status, VQ_OK); /* n goes on */
    /* A resumed run walks through the first one again. */
    assert_int_equal(begin(first, 0, 5).sync, VQ_SYNC_REBUILD);
    assert_int_equal(wipe(first).status, VQ_OK);
    assert_false(redis_has("1:0"));
    assert_int_equal(fill_end(first, 5).status, VQ_OK);
    assert_int_equal(fill(first, 0, column, 6).status, VQ_CORRUPT); /* not being filled */
    assert_int_equal(apply(first, 6, one, 1).status, VQ_OK);
    vq_run_state_destroy(&first);
    vq_run_state_destroy(&second);
}

/* A script that ended in an error may have done half of its work. */
static void test_refused_by_redis(void **unused)
{
    (void)unused;
    struct vq_run_state *state = fresh(1, 10, 0);
    const struct vq_settled one[] = {{1, 1}};
    assert_string_equal(rx_command(rx, "SET", "vibeq:{demo.abcd0000}:tally", "no hash"), "OK");
    struct answer a = apply(state, 1, one, 1);
    assert_int_equal(a.status, VQ_UNAVAILABLE);
    assert_non_null(strstr(a.text, "WRONGTYPE"));
    assert_int_equal(begin(state, 0, 0).sync, VQ_SYNC_REBUILD);
    assert_int_equal(wipe(state).status, VQ_OK);
    assert_int_equal(fill_end(state, 0).status, VQ_OK);
    assert_int_equal(begin(state, 0, 0).sync, VQ_SYNC_EQUAL);
    uint8_t nothing[10] = {0};
    check_column(state, 0, nothing, 10);
    vq_run_state_destroy(&state);
}

static void random_bytes(struct vq_rng *rng, uint8_t *bytes, uint64_t count)
{
    static const uint8_t outcomes[] = {0, 0, 1, 2, 3, 4, 5, 16, 18, 32, 48, 52};
    for (uint64_t i = 0; i < count; i++) {
        bytes[i] = outcomes[vq_rng_below(rng, VQ_COUNT(outcomes))];
    }
}

/* Several blocks: filling across their borders, commits that touch two of them, reading all. */
static void test_blocks(void **unused)
{
    (void)unused;
    const uint64_t tasks = 2 * (uint64_t)VQ_STATE_BLOCK_TASKS + 5000;
    uint8_t *expected = vq_alloc(tasks, 1);
    struct vq_rng rng;
    vq_rng_seed(&rng, 5);
    random_bytes(&rng, expected, tasks);
    struct vq_run_state *state = state_of(1, tasks);
    assert_int_equal(wipe(state).status, VQ_OK);
    uint64_t first = 0;
    const uint32_t steps[] = {1000, VQ_STATE_FILL_MAX, VQ_STATE_FILL_MAX - 5000, 9000};
    for (size_t i = 0; i < VQ_COUNT(steps); i++) {
        assert_int_equal(fill(state, first, expected + first, steps[i]).status, VQ_OK);
        first += steps[i];
    }
    assert_int_equal(first, tasks);
    assert_int_equal(fill_end(state, 0).status, VQ_OK);
    check_column(state, 0, expected, tasks);
    struct vq_settled standing[400];
    for (uint64_t n = 1; n <= 5; n++) {
        uint64_t at = VQ_STATE_BLOCK_TASKS - 200;
        for (size_t i = 0; i < VQ_COUNT(standing); i++) {
            at += vq_rng_below(&rng, 3) == 0 ? 2u : 1u;
            uint8_t outcome;
            random_bytes(&rng, &outcome, 1);
            standing[i].outcome = (enum vq_outcome)outcome;
            standing[i].task = at;
            expected[at] = outcome;
        }
        assert_int_equal(apply(state, n, standing, VQ_COUNT(standing)).status, VQ_OK);
        check_column(state, n, expected, tasks);
    }
    vq_run_state_destroy(&state);
    vq_free(expected);
}

/* What is in flight when the state goes is answered at once, and only once. */
static void test_destroyed_in_flight(void **unused)
{
    (void)unused;
    struct vq_run_state *state = fresh(1, 10, 0);
    struct answer a[3] = {{0}, {0}, {0}};
    const struct vq_settled one[] = {{1, 1}};
    vq_run_state_apply(state, 1, one, 1, on_done, &a[0]);
    vq_run_state_check(state, on_done, &a[1]);
    vq_run_state_read(state, 1, on_column, &a[2]);
    vq_run_state_destroy(&state);
    assert_null(state);
    assert_string_equal(rx_command(rx, "PING", "x", NULL), "x");
    for (size_t i = 0; i < VQ_COUNT(a); i++) {
        assert_int_equal(a[i].calls, 1);
        assert_int_equal(a[i].status, VQ_UNAVAILABLE);
    }
}

static bool is_down(void *ctx)
{
    return !((struct rx *)ctx)->up;
}

/* SIGSTOP is asynchronous: what is sent before it has stopped may still be carried out. */
static void stop_for_sure(pid_t pid)
{
    char path[64], text[256];
    assert_int_equal(kill(pid, SIGSTOP), 0);
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    for (int i = 0; i < 2000; i++) {
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        bool read = fgets(text, sizeof(text), file) != NULL;
        (void)fclose(file);
        if (read && strstr(text, ") T ") != NULL) {
            return;
        }
        (void)usleep(1000);
    }
    fail_msg("the server does not stop");
}

/* Redis dies under a commit: unknown; it comes back by itself, and begin tells what is true. */
static void test_redis_killed(void **unused)
{
    (void)unused;
    struct vq_run_state *state = fresh(1, 10, 0);
    const struct vq_settled one[] = {{1, 1}};
    struct answer a = {0};
    stop_for_sure(vq_redis_server_pid(rx->server));
    vq_run_state_apply(state, 1, one, 1, on_done, &a);
    assert_int_equal(kill(vq_redis_server_pid(rx->server), SIGKILL), 0);
    assert_int_equal(wait_for(&a).status, VQ_UNAVAILABLE);
    rx_wait(rx, is_down, rx);
    a = (struct answer){0};
    vq_run_state_check(state, on_done, &a);
    assert_int_equal(wait_for(&a).status, VQ_UNAVAILABLE);
    /* Not even sent, and then the state goes. */
    a = (struct answer){0};
    vq_run_state_check(state, on_done, &a);
    assert_int_equal(a.calls, 0);
    vq_run_state_destroy(&state);
    assert_int_equal(a.calls, 1);
    rx_wait(rx, rx_is_up, rx);
    state = state_of(1, 10);
    struct answer b = begin(state, 0, 1);
    assert_int_equal(b.status, VQ_OK);
    assert_true(b.sync == VQ_SYNC_BEHIND || b.sync == VQ_SYNC_REBUILD);
    vq_run_state_destroy(&state);
}

static int group_setup(void **unused)
{
    (void)unused;
    rx = rx_new();
    rx_start(rx, &uid);
    rx_wait(rx, rx_is_ready, rx);
    rx_connect(rx);
    return 0;
}

static int group_teardown(void **unused)
{
    (void)unused;
    rx_free(rx);
    return 0;
}

static int empty(void **unused)
{
    (void)unused;
    assert_string_equal(rx_command(rx, "FLUSHALL", NULL, NULL), "OK");
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, empty)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_life),
        CASE(test_begin),
        CASE(test_two_coordinators),
        CASE(test_lost_data),
        CASE(test_stages),
        CASE(test_refused_by_redis),
        CASE(test_blocks),
        CASE(test_destroyed_in_flight),
        CASE(test_redis_killed),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
