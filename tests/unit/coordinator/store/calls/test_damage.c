/* A store whose bytes were changed, anywhere: in its heads, in the pages that lead to others, in
 * those with keys, in values. Each time a process opens it, reads everything and writes. Either it
 * says what is damaged, with the file's name, or all is there as it was: never a crash, never a
 * value that is missing without a word. */
#include "fixture.h"

#include "common/base/rng.h"
#include "coordinator/store/calls/env.h"
#include "coordinator/store/calls/pages.h"

#include <fcntl.h>

#define ANSWERS      600
#define BYTES        700
#define PAGE         4096
#define EXIT_FINE    0
#define EXIT_SAID    1 /* LMDB's own assertion, or SIGBUS: the text is on standard error */
#define EXIT_NAMED   10
#define EXIT_SILENT  11
#define EXIT_UNNAMED 12

static char *whole;
static size_t whole_bytes;

static void hash_of(uint64_t i, struct vq_hash *ret_hash)
{
    vq_hash_of("made up", vq_span((const char *)&i, sizeof(i)), ret_hash);
}

static void add(struct fx *fx, uint64_t first, uint64_t count)
{
    static char text[3 * PAGE];
    memset(text, 'x', sizeof(text));
    for (uint64_t i = first; i < first + count; i++) {
        struct vq_result r = fx_answer(fx, 0, "Model: A");
        r.answer =
            vq_span(text, i % 50 == 0 ? sizeof(text) : BYTES); /* some on pages of their own */
        r.task = UINT64_MAX;
        hash_of(i, &r.request);
        memcpy(r.call.b + 8, &i, sizeof(i));
        fx_add(fx, &r);
    }
}

static enum vq_status commit(struct fx *fx, uint64_t first, uint64_t count)
{
    struct vq_commit done;
    add(fx, first, count);
    enum vq_status status =
        vq_commit_run(fx->calls, &fx->plan, &fx->run, fx->epoch, &fx->batch, 9000, &done, &fx->err);
    fx_clear(fx);
    if (status == VQ_OK) {
        vq_commit_free(&done);
    }
    return status;
}

static void path_of(const struct fx *fx, char ret_path[128])
{
    (void)snprintf(ret_path, 128, "%s/%s", fx->dir, VQ_STORE_FILE);
}

/* Everything that a run does with a store. */
static enum vq_status use(struct fx *fx, size_t *ret_found)
{
    struct vq_view *view = NULL;
    VQ_TRY(vq_calls_open(fx->dir, &fx_options, &fx->calls, &fx->err));
    (void)mdb_env_set_flags(fx->calls->env, MDB_NOSYNC, 1); /* for speed */
    VQ_TRY(vq_view_begin(fx->calls, &view, &fx->err));
    enum vq_status status = VQ_OK;
    size_t found = 0;
    for (uint64_t i = 0; i < ANSWERS && status == VQ_OK; i++) {
        struct vq_hash request;
        struct vq_answer answer;
        hash_of(i, &request);
        status = vq_lookup_answer(view, &request, &answer, &fx->err);
        found += status == VQ_OK ? 1 : 0;
        status = status == VQ_NOT_FOUND ? VQ_OK : status;
    }
    vq_view_end(&view);
    VQ_TRY(status);
    struct vq_run_begun begun;
    struct vq_id nonce = {.b = {3}};
    VQ_TRY(vq_calls_begin_run(fx->calls, &fx->run, &nonce, false, 1, &begun, &fx->err));
    fx->epoch = begun.now.epoch;
    if (begun.first_start) {
        return vq_fail(&fx->err, VQ_CORRUPT, "the run is gone"); /* the shell says so: begin.c */
    }
    for (uint64_t i = 0; i < 4; i++) {
        VQ_TRY(commit(fx, 10000 + 40 * i, 40));
    }
    *ret_found = found;
    return VQ_OK;
}

static int in_child(struct fx *fx)
{
    char path[128];
    size_t found = 0;
    path_of(fx, path);
    fx->err.text[0] = '\0';
    enum vq_status status = use(fx, &found);
    if (status != VQ_OK) {
        bool named = strstr(fx->err.text, path) != NULL || strstr(fx->err.text, "the run") != NULL;
        if (!named) {
            fprintf(stderr, "%s: %s\n", vq_status_name(status), fx->err.text);
        }
        return named ? EXIT_NAMED : EXIT_UNNAMED;
    }
    return found == ANSWERS ? EXIT_FINE : EXIT_SILENT;
}

static int verdict(struct fx *fx)
{
    int said[2];
    assert_int_equal(pipe(said), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(said[1], STDERR_FILENO);
        _exit(in_child(fx));
    }
    (void)close(said[1]);
    char text[4096];
    size_t bytes = 0;
    ssize_t n;
    while ((n = read(said[0], text + bytes, sizeof(text) - 1 - bytes)) > 0) {
        bytes += (size_t)n;
    }
    text[bytes] = '\0';
    (void)close(said[0]);
    int how;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    if (!WIFEXITED(how)) {
        printf("signal %d: %s\n", WTERMSIG(how), text);
        return -WTERMSIG(how);
    }
    if (WEXITSTATUS(how) == EXIT_UNNAMED) {
        printf("unnamed: %s\n", text);
    }
    if (WEXITSTATUS(how) == EXIT_SAID && strstr(text, VQ_STORE_FILE) == NULL) {
        return EXIT_UNNAMED;
    }
    return WEXITSTATUS(how);
}

static void put_back(struct fx *fx)
{
    char path[128];
    path_of(fx, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, whole, whole_bytes), (ssize_t)whole_bytes);
    assert_int_equal(close(fd), 0);
}

static void change(struct fx *fx, size_t at, const void *bytes, size_t n)
{
    char path[128];
    path_of(fx, path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, (off_t)at), (ssize_t)n);
    assert_int_equal(close(fd), 0);
}

static struct tally {
    unsigned fine, named, said, silent, unnamed, crashed;
} tally;

static void count(struct fx *fx, size_t at)
{
    int how = verdict(fx);
    tally.fine += how == EXIT_FINE;
    tally.named += how == EXIT_NAMED;
    tally.said += how == EXIT_SAID;
    tally.silent += how == EXIT_SILENT;
    tally.unnamed += how == EXIT_UNNAMED;
    tally.crashed += how < 0;
    if (how < 0 || how == EXIT_SILENT || how == EXIT_UNNAMED) {
        printf("byte %zu (page %zu + %zu): %d\n", at, at / PAGE, at % PAGE, how);
    }
}

static int make(void **state)
{
    assert_int_equal(fx_setup(state), 0);
    struct fx *fx = *state;
    for (uint64_t i = 0; i < ANSWERS; i += 50) {
        assert_int_equal(commit(fx, i, 50), VQ_OK);
    }
    MDB_envinfo info;
    assert_int_equal(mdb_env_info(fx->calls->env, &info), 0);
    whole_bytes = (info.me_last_pgno + 1) * PAGE;
    vq_calls_close(&fx->calls);
    char path[128];
    path_of(fx, path);
    whole = vq_alloc(whole_bytes, 1);
    assert_non_null(whole);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, whole, whole_bytes), (ssize_t)whole_bytes);
    (void)close(fd);
    tally = (struct tally){0};
    return 0;
}

static int unmake(void **state)
{
    vq_free(whole);
    return fx_teardown(state);
}

static void is_good(void)
{
    print_message("         %u as if nothing were, %u named, %u by a guard\n", tally.fine,
                  tally.named, tally.said);
    assert_int_equal(tally.crashed, 0);
    assert_int_equal(tally.silent, 0);
    assert_int_equal(tally.unnamed, 0);
    assert_true(tally.named > 0);
}

static void one(struct fx *fx, size_t at, const void *bytes, size_t n)
{
    put_back(fx);
    change(fx, at, bytes, n);
    count(fx, at);
}

static char another(struct vq_rng *rng, char byte)
{
    return (char)((unsigned char)byte ^ (1u + (unsigned)vq_rng_below(rng, 255)));
}

/* The two heads: every byte. */
TEST_WITH(test_heads, make, unmake)
{
    struct fx *fx = *state;
    for (size_t head = 0; head < 2; head++) {
        for (size_t i = 0; i < 160; i += 1) {
            size_t at = head * PAGE + i;
            char other = (char)(whole[at] ^ 0x55);
            one(fx, at, &other, 1);
        }
    }
    is_good();
}

/* The front of every page. */
TEST_WITH(test_fronts_of_pages, make, unmake)
{
    struct fx *fx = *state;
    struct vq_rng rng;
    vq_rng_seed(&rng, 7);
    for (size_t page = 2; page < whole_bytes / PAGE; page += 2) {
        size_t at = page * PAGE + vq_rng_below(&rng, 48);
        char other = another(&rng, whole[at]);
        one(fx, at, &other, 1);
    }
    is_good();
}

TEST_WITH(test_anywhere, make, unmake)
{
    struct fx *fx = *state;
    struct vq_rng rng;
    vq_rng_seed(&rng, 8);
    for (unsigned i = 0; i < 200; i++) {
        size_t at = vq_rng_below(&rng, whole_bytes);
        char other = another(&rng, whole[at]);
        one(fx, at, &other, 1);
    }
    is_good();
}

/* A sector of zeroes, of noise, or of another place. */
TEST_WITH(test_sectors, make, unmake)
{
    struct fx *fx = *state;
    struct vq_rng rng;
    vq_rng_seed(&rng, 9);
    for (unsigned i = 0; i < 120; i++) {
        char sector[512] = {0};
        size_t at = vq_rng_below(&rng, whole_bytes / 512) * 512;
        if (i % 3 == 1) {
            for (size_t k = 0; k < sizeof(sector); k++) {
                sector[k] = (char)vq_rng_u64(&rng);
            }
        } else if (i % 3 == 2) {
            memcpy(sector, whole + vq_rng_below(&rng, whole_bytes / 512) * 512, 512);
        }
        one(fx, at, sector, sizeof(sector));
    }
    is_good();
}

/* Cut at any page, and in the middle of one. */
TEST_WITH(test_cut, make, unmake)
{
    struct fx *fx = *state;
    char path[128];
    path_of(fx, path);
    for (size_t bytes = 0; bytes < whole_bytes; bytes += 9 * PAGE + 100) {
        put_back(fx);
        assert_int_equal(truncate(path, (off_t)bytes), 0);
        if (bytes > 0) { /* an empty file is a store that was just made */
            count(fx, bytes);
        }
    }
    assert_int_equal(tally.fine, 0);
    is_good();
}
