/* Locks of provider keys: real flocks between real processes, and a real Redis between two folders
 * that stand for two machines. */
#include "tests/unit/coordinator/store/calls/redis_fixture.h"

#include "common/base/clock.h"
#include "common/base/rng.h"
#include "coordinator/run/pool_file.h"
#include "coordinator/run/pool_lock.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define NAME "0123456789abcdef0123456789abcdef"
#define TERM 20000u

static char dir[64];
static char pools[80];

static int setup(void **state)
{
    (void)state;
    fx_folder(dir);
    (void)snprintf(pools, sizeof(pools), "%s/pools", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_remove(dir);
    return 0;
}

static struct vq_pool_owner owner(const char *run, uint32_t share)
{
    return (struct vq_pool_owner){
        .run = run, .uid = {.b = {(uint8_t)run[0]}}, .term_ms = TERM, .share = share};
}

static enum vq_status take_at(const char *run, uint32_t share, int64_t unix_ms,
                              struct vq_pool_file **ret_file, struct vq_error *err)
{
    struct vq_pool_owner me = owner(run, share);
    return vq_pool_file_take(pools, NAME, &me, unix_ms, ret_file, err);
}

static enum vq_status take(const char *run, uint32_t share, struct vq_pool_file **ret_file,
                           struct vq_error *err)
{
    return take_at(run, share, vq_clock_unix_ms(), ret_file, err);
}

/* ---- another process that holds it ---- */

struct other {
    pid_t pid;
    int to, from;
};

static void other_start(struct other *other, const char *run, uint32_t share)
{
    int to[2], from[2];
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    other->pid = fork();
    assert_true(other->pid >= 0);
    if (other->pid == 0) {
        struct vq_pool_file *file = NULL;
        struct vq_error err = {""};
        char word = take(run, share, &file, &err) == VQ_OK ? 'y' : 'n';
        bool told = write(from[1], &word, 1) == 1 && read(to[0], &word, 1) == 1;
        vq_pool_file_release(&file);
        _exit(told ? 0 : 1);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    other->to = to[1];
    other->from = from[0];
    char word = 0;
    assert_int_equal(read(other->from, &word, 1), 1);
    assert_int_equal(word, 'y');
}

static void other_end(struct other *other, bool kill_it)
{
    int how;
    if (kill_it) {
        assert_int_equal(kill(other->pid, SIGKILL), 0);
    } else {
        assert_int_equal(write(other->to, "x", 1), 1);
    }
    assert_int_equal(waitpid(other->pid, &how, 0), other->pid);
    assert_true(kill_it || (WIFEXITED(how) && WEXITSTATUS(how) == 0));
    (void)close(other->to);
    (void)close(other->from);
}

TEST_WITH(test_one_run_alone, setup, teardown)
{
    struct other night;
    struct vq_pool_file *file = NULL;
    struct vq_error err = {""};
    char pid[32];
    other_start(&night, "night", VQ_POOL_WHOLE);
    (void)snprintf(pid, sizeof(pid), "(pid %d ", (int)night.pid);
    assert_int_equal(take("day", VQ_POOL_WHOLE, &file, &err), VQ_LOCKED);
    assert_non_null(strstr(err.text, "run \"night\""));
    assert_non_null(strstr(err.text, pid));
    assert_int_equal(take("day", VQ_POOL_WHOLE / 10, &file, &err), VQ_LOCKED);
    assert_non_null(strstr(err.text, "run \"night\""));
    other_end(&night, false);
    assert_ok(take("day", VQ_POOL_WHOLE, &file, &err), &err);
    struct vq_pool_file *second = NULL; /* not even the same run twice */
    assert_int_equal(take("day", VQ_POOL_WHOLE, &second, &err), VQ_LOCKED);
    vq_pool_file_touch(file);
    vq_pool_file_release(&file);
    vq_pool_file_release(&file);
    assert_ok(take("eve", VQ_POOL_WHOLE / 2, &file, &err), &err);
    vq_pool_file_release(&file);
}

TEST_WITH(test_one_that_was_killed, setup, teardown)
{
    struct other night;
    struct vq_pool_file *file = NULL;
    struct vq_error err = {""};
    other_start(&night, "night", VQ_POOL_WHOLE);
    other_end(&night, true);
    int64_t now = vq_clock_unix_ms();
    assert_int_equal(take_at("day", VQ_POOL_WHOLE, now, &file, &err), VQ_LOCKED);
    assert_non_null(strstr(err.text, "without giving it back"));
    assert_int_equal(take_at("day", 1, now, &file, &err), VQ_LOCKED);
    assert_non_null(strstr(err.text, "without giving it back"));
    assert_ok(take_at("day", 1, now + TERM + 5000, &file, &err), &err);
    vq_pool_file_release(&file);
    assert_ok(take("day", VQ_POOL_WHOLE, &file, &err), &err); /* the share emptied it */
    vq_pool_file_abandon(&file);
    assert_ok(take("day", VQ_POOL_WHOLE, &file, &err), &err); /* its own run waits by itself */
    vq_pool_file_abandon(&file);
    assert_int_equal(take("eve", VQ_POOL_WHOLE, &file, &err), VQ_LOCKED);
    assert_ok(take_at("eve", VQ_POOL_WHOLE, vq_clock_unix_ms() + TERM + 5000, &file, &err), &err);
    vq_pool_file_release(&file);
}

TEST_WITH(test_shares, setup, teardown)
{
    struct other night, late;
    struct vq_pool_file *file = NULL, *none = NULL;
    struct vq_error err = {""};
    other_start(&night, "night", 600000);
    assert_int_equal(take("day", 400001, &file, &err), VQ_LOCKED);
    assert_non_null(strstr(err.text, "run \"night\""));
    assert_non_null(strstr(err.text, "0.6"));
    assert_ok(take("day", 300000, &file, &err), &err);
    other_start(&late, "late", 100000);
    assert_int_equal(take("eve", 1, &none, &err), VQ_LOCKED);
    assert_int_equal(take("eve", VQ_POOL_WHOLE, &none, &err), VQ_LOCKED);
    assert_non_null(strstr(err.text, "run \"day\""));
    other_end(&late, false);
    other_end(&night, true); /* its share is in use for a term yet */
    assert_int_equal(take("eve", 100001, &none, &err), VQ_LOCKED);
    int64_t later = vq_clock_unix_ms() + TERM + 5000;
    assert_int_equal(take_at("eve", 700001, later, &none, &err), VQ_LOCKED);
    struct vq_pool_file *eve = NULL;
    assert_ok(take_at("eve", 700000, later, &eve, &err), &err);
    vq_pool_file_release(&eve);
    assert_int_equal(take("eve", VQ_POOL_WHOLE, &none, &err), VQ_LOCKED);
    vq_pool_file_release(&file);
    assert_ok(take("eve", VQ_POOL_WHOLE, &file, &err), &err);
    vq_pool_file_release(&file);
}

/* Modes, close-on-exec, and what stands in the files. */
TEST_WITH(test_files, setup, teardown)
{
    struct vq_pool_locks_options options = {
        .dir = pools, .run_name = "night", .run = {.b = {9}}, .term_ms = TERM};
    struct vq_pool_locks *locks = NULL;
    assert_int_equal(vq_pool_locks_create(&options, &locks), VQ_OK);
    assert_int_equal(
        vq_pool_locks_want(locks, 0, "api.example.org/v1", UINT64_C(0x1234567890abcdef), 1), VQ_OK);
    assert_int_equal(vq_pool_locks_want(locks, 1, "api.example.org/v1", 77, 0.5), VQ_OK);
    mode_t mask = umask(0);
    vq_pool_locks_tick(locks, 0);
    (void)umask(mask);
    assert_true(vq_pool_locks_ours(locks, 0) && vq_pool_locks_ours(locks, 1));
    struct stat st;
    assert_int_equal(stat(pools, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    DIR *folder = opendir(pools);
    unsigned files = 0, notes = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[400], text[2048] = "";
        (void)snprintf(path, sizeof(path), "%s/%s", pools, entry->d_name);
        if (entry->d_name[0] == '.') {
            continue;
        }
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        FILE *file = fopen(path, "re");
        size_t n = fread(text, 1, sizeof(text) - 1, file);
        (void)fclose(file);
        files++;
        notes += n > 0 ? 1 : 0;
        assert_true(n == 0 || strstr(text, "run: night\n") != NULL);
        assert_null(strstr(text, "example"));
        assert_null(strstr(text, "90abcdef"));
        assert_null(strstr(entry->d_name, "90abcdef"));
    }
    (void)closedir(folder);
    assert_true(files == 5 && notes == 2); /* two keys and gates, one share */
    for (int fd = 3; fd < 256; fd++) {
        char link[64], path[400];
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, path, sizeof(path) - 1);
        path[n < 0 ? 0 : n] = '\0';
        assert_true(strncmp(path, pools, strlen(pools)) != 0 ||
                    (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    }
    vq_pool_locks_release(locks);
    vq_pool_locks_destroy(&locks);
    assert_null(locks);
}

/* Many processes take and give back; what they hold together never exceeds the whole. */
#define RACERS 4
#define ROUNDS 150

static void race(uint8_t no, atomic_uint *sum, atomic_uint *bad, atomic_uint *wins)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, no);
    char run[2] = {(char)('a' + no), '\0'};
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t share = vq_rng_below(&rng, 4) == 0
                             ? VQ_POOL_WHOLE
                             : 1 + (uint32_t)vq_rng_below(&rng, VQ_POOL_WHOLE * 7 / 10);
        struct vq_pool_file *file = NULL;
        struct vq_error err = {""};
        enum vq_status status = take(run, share, &file, &err);
        if (status == VQ_OK) {
            if (atomic_fetch_add(sum, share) + share > VQ_POOL_WHOLE) {
                atomic_fetch_add(bad, 1);
            }
            (void)usleep((useconds_t)vq_rng_below(&rng, 300));
            atomic_fetch_sub(sum, share);
            atomic_fetch_add(wins, 1);
            vq_pool_file_release(&file);
        } else if (status != VQ_LOCKED) {
            atomic_fetch_add(bad, 1);
        }
        (void)usleep((useconds_t)vq_rng_below(&rng, 300));
    }
}

TEST_WITH(test_races, setup, teardown)
{
    atomic_uint *shared =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    pid_t racers[RACERS];
    for (uint8_t i = 0; i < RACERS; i++) {
        racers[i] = fork();
        assert_true(racers[i] >= 0);
        if (racers[i] == 0) {
            race(i, &shared[0], &shared[1], &shared[2]);
            _exit(0);
        }
    }
    for (int i = 0; i < RACERS; i++) {
        int how;
        assert_int_equal(waitpid(racers[i], &how, 0), racers[i]);
        assert_int_equal(how, 0);
    }
    assert_int_equal(atomic_load(&shared[1]), 0);
    assert_true(atomic_load(&shared[2]) >= RACERS);
    assert_int_equal(munmap(shared, 4096), 0);
}

/* ---- pools and their keys ---- */

struct said {
    unsigned calls[4];
    bool ours[4];
    char text[4][VQ_AUTHORITY_TEXT_BYTES];
};

static void on_changed(void *ctx, uint32_t pool, bool ours, const char *sentence)
{
    struct said *said = ctx;
    assert_true(pool < 4);
    assert_true(ours == (sentence == NULL));
    said->calls[pool]++;
    said->ours[pool] = ours;
    (void)snprintf(said->text[pool], sizeof(said->text[pool]), "%s", ours ? "" : sentence);
}

static struct vq_pool_locks *locks_new(const char *folder, const char *run, struct vq_redis *redis,
                                       uint32_t term_ms, struct said *said)
{
    struct vq_pool_locks_options options = {.dir = folder,
                                            .run_name = run,
                                            .run = {.b = {(uint8_t)run[0]}},
                                            .nonce = {.b = {5}},
                                            .term_ms = term_ms,
                                            .redis = redis,
                                            .changed = on_changed,
                                            .ctx = said};
    struct vq_pool_locks *locks = NULL;
    assert_int_equal(vq_pool_locks_create(&options, &locks), VQ_OK);
    return locks;
}

static void want(struct vq_pool_locks *locks, uint32_t pool, uint64_t fingerprint, double share)
{
    assert_int_equal(vq_pool_locks_want(locks, pool, "host/v1", fingerprint, share), VQ_OK);
}

TEST_WITH(test_pools_and_keys, setup, teardown)
{
    struct said mine = {.calls = {0}}, theirs = {.calls = {0}};
    struct vq_pool_locks *a = locks_new(pools, "a", NULL, TERM, &mine);
    struct vq_pool_locks *b = locks_new(pools, "b", NULL, TERM, &theirs);
    int64_t s = VQ_NS_PER_S;
    vq_pool_locks_tick(a, 0);
    assert_false(vq_pool_locks_ours(a, 0));
    want(a, 0, 1, 1);
    want(a, 1, 1, 1); /* another model of the same account */
    want(a, 1, 1, 1);
    vq_pool_locks_tick(a, s);
    assert_true(mine.ours[0] && mine.ours[1] && mine.calls[0] == 1 && mine.calls[1] == 1);
    want(b, 0, 1, 1);
    want(b, 2, 2, 1);
    want(b, 2, 3, 1); /* a pool of two keys */
    vq_pool_locks_tick(b, s);
    assert_true(theirs.calls[0] == 1 && !theirs.ours[0] && theirs.ours[2]);
    assert_non_null(strstr(theirs.text[0], "run \"a\""));
    assert_non_null(strstr(theirs.text[0], "tried again"));
    want(a, 1, 3, 1); /* a worker has a second key for it, which b holds */
    vq_pool_locks_tick(a, 2 * s);
    assert_true(mine.ours[0] && !mine.ours[1] && !vq_pool_locks_ours(a, 1));
    assert_non_null(strstr(mine.text[1], "run \"b\""));
    vq_pool_locks_release(b);
    assert_false(vq_pool_locks_ours(b, 2));
    vq_pool_locks_tick(a, 2 * s + s / 2); /* once a second */
    assert_false(mine.ours[1]);
    vq_pool_locks_tick(a, 3 * s);
    assert_true(mine.ours[0] && mine.ours[1]);
    unsigned calls = mine.calls[0];
    vq_pool_locks_tick(a, 4 * s);
    assert_int_equal(mine.calls[0], calls); /* nothing new */
    vq_pool_locks_release(a);
    want(a, 0, 1, 0.5);
    want(b, 0, 1, 0.5);
    vq_pool_locks_tick(a, 5 * s);
    vq_pool_locks_tick(b, 5 * s);
    assert_true(vq_pool_locks_ours(a, 0) && vq_pool_locks_ours(b, 0));
    want(a, 1, 1, 0.6); /* more of the same key than is left */
    vq_pool_locks_tick(a, 5 * s);
    assert_true(!mine.ours[0] && !mine.ours[1]);
    vq_pool_locks_release(b);
    vq_pool_locks_tick(a, 6 * s);
    assert_true(mine.ours[0] && mine.ours[1]);
    vq_pool_locks_destroy(&b);
    vq_pool_locks_destroy(&a); /* as killed */
    b = locks_new(pools, "b", NULL, TERM, &theirs);
    want(b, 0, 1, 1);
    vq_pool_locks_tick(b, 7 * s);
    assert_false(vq_pool_locks_ours(b, 0));
    assert_non_null(strstr(theirs.text[0], "ended"));
    vq_pool_locks_destroy(&b);
    vq_pool_locks_destroy(&b);
}

TEST_WITH(test_a_folder_that_cannot_be_used, setup, teardown)
{
    struct said said = {.calls = {0}};
    FILE *file = fopen(pools, "we"); /* a file where the folder should be */
    assert_non_null(file);
    (void)fclose(file);
    struct vq_pool_locks *locks = locks_new(pools, "a", NULL, TERM, &said);
    want(locks, 0, 1, 1);
    vq_pool_locks_tick(locks, 0);
    assert_true(said.calls[0] == 1 && !said.ours[0]);
    assert_non_null(strstr(said.text[0], pools));
    vq_pool_locks_destroy(&locks);
}

/* ---- a shared Redis ---- */

#define SHORT_TERM 400u

struct pair {
    struct rx *rx;
    struct vq_timer *turn; /* so that the loop turns */
    struct vq_pool_locks *a, *b;
    struct said mine, theirs;
    char folders[2][80];
};

static void on_turn(void *ctx)
{
    (void)ctx;
}

static struct pair *pair_new(void)
{
    struct pair *p = vq_alloc(1, sizeof(*p));
    assert_non_null(p);
    struct vq_id uid = {.b = {0xab}};
    p->rx = rx_new();
    rx_start(p->rx, &uid);
    rx_wait(p->rx, rx_is_ready, p->rx);
    rx_connect(p->rx);
    assert_int_equal(vq_timer_create(p->rx->loop, on_turn, p, &p->turn), VQ_OK);
    vq_timer_start(p->turn, 5, 5);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(p->folders[i], sizeof(p->folders[i]), "%s/machine-%d", p->rx->dir, i);
    }
    p->a = locks_new(p->folders[0], "a", p->rx->redis, SHORT_TERM, &p->mine);
    p->b = locks_new(p->folders[1], "b", p->rx->redis, SHORT_TERM, &p->theirs);
    return p;
}

static void pair_free(struct pair *p)
{
    vq_pool_locks_destroy(&p->a);
    vq_timer_destroy(&p->turn);
    rx_free(p->rx); /* before b's end: replies for a are for nobody, those for b come now */
    vq_pool_locks_destroy(&p->b);
    vq_free(p);
}

static void tick_both(struct pair *p)
{
    if (p->a != NULL) {
        vq_pool_locks_tick(p->a, vq_clock_mono_ns());
    }
    vq_pool_locks_tick(p->b, vq_clock_mono_ns());
}

static bool ticks_only(void *ctx)
{
    tick_both(ctx);
    return false;
}

static bool a_has(void *ctx)
{
    struct pair *p = ctx;
    tick_both(p);
    return p->mine.ours[0];
}

static bool a_has_not(void *ctx)
{
    return !a_has(ctx);
}

static bool b_has(void *ctx)
{
    struct pair *p = ctx;
    tick_both(p);
    return p->theirs.ours[0];
}

/* The loop's turns for a moment. */
static void turns(struct pair *p, uint32_t ms)
{
    assert_int_equal(vq_loop_run_until(p->rx->loop, ticks_only, p, ms), VQ_TIMEOUT);
}

static bool b_knows(void *ctx)
{
    struct pair *p = ctx;
    tick_both(p);
    return strstr(p->theirs.text[0], "run \"a\"") != NULL;
}

TEST(test_redis_one_alone)
{
    struct pair *p = pair_new();
    want(p->a, 0, 1, 1);
    assert_false(p->mine.ours[0]);
    rx_wait(p->rx, a_has, p);
    want(p->b, 0, 1, 1);
    rx_wait(p->rx, b_knows, p);
    assert_true(p->mine.ours[0] && !p->theirs.ours[0]);
    int64_t until = vq_clock_mono_ns() + 3 * SHORT_TERM * VQ_NS_PER_MS;
    while (vq_clock_mono_ns() < until) { /* a renews */
        turns(p, 20);
        assert_false(p->theirs.ours[0]);
    }
    vq_pool_locks_release(p->a);
    p->mine.ours[0] = false;
    rx_wait(p->rx, b_has, p);
    vq_pool_locks_release(p->b);
    assert_string_equal(rx_command(p->rx, "KEYS", "vibeq:pool:*", NULL), "");
    pair_free(p);
}

/* One dies: the other has it when two terms are over, not before its entry ends. */
TEST(test_redis_one_dies)
{
    struct pair *p = pair_new();
    want(p->a, 0, 1, 1);
    rx_wait(p->rx, a_has, p);
    want(p->b, 0, 1, 1);
    rx_wait(p->rx, b_knows, p);
    vq_pool_locks_tick(p->a, vq_clock_mono_ns());
    vq_pool_locks_destroy(&p->a); /* perhaps with a request out */
    assert_false(p->theirs.ours[0]);
    rx_wait(p->rx, b_has, p);
    pair_free(p);
}

TEST(test_redis_shares)
{
    struct pair *p = pair_new();
    want(p->a, 0, 1, 0.6);
    rx_wait(p->rx, a_has, p);
    want(p->b, 0, 1, 0.4);
    want(p->b, 1, 2, 1);
    rx_wait(p->rx, b_has, p);
    assert_true(p->mine.ours[0]);
    want(p->b, 0, 1, 0.5); /* too much: taken anew, refused */
    rx_wait(p->rx, b_knows, p);
    assert_true(p->mine.ours[0] && !p->theirs.ours[0] && p->theirs.ours[1]);
    pair_free(p);
}

/* Another took it while this one could not renew; and Redis forgot everything. */
TEST(test_redis_is_lost)
{
    struct pair *p = pair_new();
    want(p->a, 0, 1, 1);
    rx_wait(p->rx, a_has, p);
    (void)rx_command(p->rx, "FLUSHALL", NULL, NULL);
    want(p->b, 0, 1, 1);
    int64_t until = vq_clock_mono_ns() + 3 * SHORT_TERM * VQ_NS_PER_MS;
    bool a = true, b = false;
    while (vq_clock_mono_ns() < until || (a && b)) { /* whoever has it in the end has it alone */
        turns(p, 20);
        a = p->mine.ours[0];
        b = p->theirs.ours[0];
    }
    assert_true(a != b);
    pair_free(p);
}

/* Redis does not answer any more: a pool is ours for no longer than a term. */
TEST(test_redis_goes_away)
{
    struct pair *p = pair_new();
    want(p->a, 0, 1, 1);
    rx_wait(p->rx, a_has, p);
    vq_redis_server_destroy(&p->rx->server);
    rx_wait(p->rx, a_has_not, p);
    assert_non_null(strstr(p->mine.text[0], "Redis"));
    pair_free(p);
}
