/* A system in which any call fails under a spool: each that it makes in turn, with each error that
 * matters, once or from then on. A status comes back and names the folder; what was said to be
 * written can be read; what can be repeated or done without is. */

#include "tests/unit/test.h"

#include "proto/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the system (--wrap) ---- */

enum kind {
    MKDIR,
    OPEN,
    FLOCK,
    FSTAT,
    READ,
    WRITE,
    FTRUNCATE,
    FALLOCATE,
    RENAME,
    UNLINK,
    KINDS
};

static struct {
    bool watched;
    unsigned only; /* kinds that count, a bit each */
    unsigned seen, fail_at;
    bool on;
    int error; /* 0: the call does nothing and says so */
    unsigned failed[KINDS];
    bool removed; /* the lock is removed as it is taken */
} sys;

static const unsigned every = (1u << KINDS) - 1;

static void sys_fail(unsigned only, unsigned at, int error, bool on)
{
    memset(&sys, 0, sizeof(sys));
    sys.watched = true;
    sys.only = only;
    sys.fail_at = at;
    sys.error = error;
    sys.on = on;
}

static void sys_works(void)
{
    sys.watched = false;
}

static bool fails(enum kind kind)
{
    if (!sys.watched || (sys.only >> kind & 1) == 0) {
        return false;
    }
    sys.seen++;
    bool now = sys.fail_at != 0 && (sys.seen == sys.fail_at || (sys.on && sys.seen > sys.fail_at));
    sys.failed[kind] += now ? 1 : 0;
    errno = now ? sys.error : errno;
    return now;
}

static unsigned failures(void)
{
    unsigned sum = 0;
    for (int k = 0; k < KINDS; k++) {
        sum += sys.failed[k];
    }
    return sum;
}

#define WRAPPED(type, name, ...)                                                                   \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

WRAPPED(int, mkdir, const char *path, mode_t mode)
{
    return fails(MKDIR) ? -1 : __real_mkdir(path, mode);
}

WRAPPED(int, open, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    unsigned mode = (flags & O_CREAT) != 0 ? va_arg(args, unsigned) : 0;
    va_end(args);
    return fails(OPEN) ? -1 : __real_open(path, flags, mode);
}

static char root[64];
static char dir[128]; /* in it */

WRAPPED(int, flock, int fd, int what)
{
    if (sys.removed) {
        char path[200];
        (void)snprintf(path, sizeof(path), "%s/%s", dir, VQ_SPOOL_LOCK);
        (void)unlink(path);
    }
    return fails(FLOCK) ? -1 : __real_flock(fd, what);
}

WRAPPED(int, fstat, int fd, struct stat *st)
{
    return fails(FSTAT) ? -1 : __real_fstat(fd, st);
}

WRAPPED(ssize_t, read, int fd, void *at, size_t bytes)
{
    return !fails(READ) ? __real_read(fd, at, bytes) : sys.error == 0 ? 0 : -1;
}

WRAPPED(ssize_t, write, int fd, const void *at, size_t bytes)
{
    return !fails(WRITE) ? __real_write(fd, at, bytes) : sys.error == 0 ? 0 : -1;
}

WRAPPED(int, ftruncate, int fd, off_t bytes)
{
    return fails(FTRUNCATE) ? -1 : __real_ftruncate(fd, bytes);
}

WRAPPED(int, fallocate, int fd, int mode, off_t at, off_t bytes)
{
    return fails(FALLOCATE) ? -1 : __real_fallocate(fd, mode, at, bytes);
}

WRAPPED(int, rename, const char *from, const char *to)
{
    return fails(RENAME) ? -1 : __real_rename(from, to);
}

WRAPPED(int, unlink, const char *path)
{
    return fails(UNLINK) ? -1 : __real_unlink(path);
}

/* ---- spools ---- */

#define CALLS     6
#define BIG_BYTES (600u << 10)

static const struct vq_id run = {{1, 2, 3}};
static const struct vq_id worker = {{9}};
static char big[BIG_BYTES];

static void clear(void)
{
    static const char *const names[] = {VQ_SPOOL_FILE, VQ_SPOOL_LOCK, "spool.new"};
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        char path[200];
        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

/* A name of a folder that is not there yet. */
static int setup(void **state)
{
    (void)state;
    memset(big, 'x', sizeof(big));
    (void)snprintf(root, sizeof(root), "/tmp/vq-spool-XXXXXX");
    if (mkdtemp(root) == NULL) {
        return -1;
    }
    (void)snprintf(dir, sizeof(dir), "%s/s", root);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sys_works();
    clear();
    return rmdir(root);
}

static struct vq_result call(unsigned n, size_t bytes)
{
    return (struct vq_result){
        .call = {{0xaa, (uint8_t)n}}, .end = VQ_END_ANSWER, .answer = vq_span(big, bytes)};
}

/* What the file must hold. */
struct promised {
    bool sent[CALLS], answered[CALLS], acked[CALLS];
    unsigned refused; /* calls that did not succeed */
};

static void what_is_there(const struct promised *p)
{
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    if (vq_spool_read(dir, &run, &held, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    for (unsigned n = 0; n < CALLS; n++) {
        const struct vq_result *found = NULL;
        for (size_t i = 0; i < vq_spool_held_count(held); i++) {
            if (vq_spool_held_at(held, i)->call.b[1] == n) {
                found = vq_spool_held_at(held, i);
            }
        }
        assert_true(p->acked[n] || found != NULL || !p->sent[n]);
        assert_true(p->acked[n] || !p->answered[n] || found->end == VQ_END_ANSWER);
    }
    vq_spool_held_destroy(&held);
}

static bool done(struct promised *p, enum vq_status status, const struct vq_error *err)
{
    if (status != VQ_OK) {
        p->refused++;
        assert_true(status == VQ_IO || status == VQ_FULL || status == VQ_LOCKED);
        assert_non_null(strstr(err->text, dir));
    }
    return status == VQ_OK;
}

static bool note(struct promised *p, struct vq_spool *spool, unsigned n, size_t bytes)
{
    struct vq_error err = {""};
    struct vq_result result = call(n, bytes);
    p->sent[n] = done(p, vq_spool_sent(spool, &result, &err), &err) &&
                 done(p, vq_spool_write(spool, &err), &err);
    p->answered[n] = p->sent[n] && done(p, vq_spool_answer(spool, &result, &err), &err) &&
                     done(p, vq_spool_write(spool, &err), &err);
    return p->answered[n];
}

static void ack(struct promised *p, struct vq_spool *spool, unsigned n)
{
    struct vq_error err = {""};
    struct vq_result result = call(n, 0);
    p->acked[n] = true;
    (void)done(p, vq_spool_acked(spool, &result.call, &err), &err);
}

/* Calls with answers, one of them ACKed. */
static void some_calls(struct promised *p, struct vq_spool *spool, unsigned from)
{
    for (unsigned n = from; n < from + CALLS / 2; n++) {
        (void)note(p, spool, n, 100 * n);
    }
    ack(p, spool, from);
}

/* One large answer and its ACK: the file is cut; then it is used on and all of it ACKed. */
static void cut_file(struct promised *p, struct vq_spool *spool, unsigned from)
{
    for (unsigned n = from; n < from + CALLS / 2; n++) {
        (void)note(p, spool, n, n == from ? BIG_BYTES : 10);
        ack(p, spool, n);
    }
}

typedef void (*life_fn)(struct promised *p, struct vq_spool *spool, unsigned from);

/* A spool is made, used, closed, found again, used and closed. */
static void two_lives(struct promised *p, life_fn use)
{
    for (unsigned again = 0; again < 2; again++) {
        struct vq_spool *spool = NULL;
        struct vq_spool_held *held = NULL;
        struct vq_error err = {""};
        if (done(p, vq_spool_open(dir, &run, &worker, &spool, &held, &err), &err)) {
            vq_spool_held_destroy(&held);
            use(p, spool, again * CALLS / 2);
            vq_spool_close(&spool);
        }
        assert_true(spool == NULL && held == NULL);
    }
}

static const struct {
    int error;
    bool on;        /* also for ever */
    unsigned spare; /* kinds that are tried again, or done without */
} errors[] = {
    {EIO, true, 0},
    {ENOSPC, true, 0},
    {EDQUOT, true, 0},
    {EINTR, false, 1u << READ | 1u << WRITE | 1u << FALLOCATE},
    {ENOSYS, true, 1u << FALLOCATE},
    {EOPNOTSUPP, true, 1u << FALLOCATE},
    {EWOULDBLOCK, true, 0},
};

static void each_call_fails(life_fn use, unsigned quiet, unsigned least)
{
    unsigned hit[KINDS] = {0};
    for (size_t e = 0; e < VQ_COUNT(errors); e++) {
        for (int on = 0; on <= (errors[e].on ? 1 : 0); on++) {
            unsigned n = 1;
            for (;; n++) {
                struct promised p = {.refused = 0};
                clear();
                sys_fail(every, n, errors[e].error, on == 1);
                two_lives(&p, use);
                sys_works();
                unsigned spare = errors[e].spare | quiet, loud = 0;
                for (unsigned k = 0; k < KINDS; k++) {
                    hit[k] += sys.failed[k];
                    loud += (spare >> k & 1) == 0 ? sys.failed[k] : 0;
                }
                assert_true(loud > 0 || p.refused == 0);
                what_is_there(&p);
                if (failures() == 0) {
                    break;
                }
            }
            assert_true(n > least);
        }
    }
    for (unsigned k = 0; k < KINDS; k++) {
        assert_true(hit[k] > 0 || k == FTRUNCATE); /* that one follows a write that failed */
    }
    assert_true(hit[FTRUNCATE] > 0);
}

TEST_WITH(each_call_of_a_spool_fails, setup, teardown)
{
    each_call_fails(some_calls, 0, 30);
}

TEST_WITH(each_call_fails_where_a_file_is_cut, setup, teardown)
{
    each_call_fails(cut_file, 1u << UNLINK, 30);
}

/* Each failure that must be told is told: by its name, with its reason. */
TEST_WITH(what_is_said, setup, teardown)
{
    static const struct {
        enum kind kind;
        unsigned nth;
        int error;
        enum vq_status status;
        const char *says;
    } cases[] = {
        {MKDIR, 1, EACCES, VQ_IO, "cannot make the spool folder"},
        {OPEN, 1, EACCES, VQ_IO, "cannot open"},
        {FLOCK, 1, EWOULDBLOCK, VQ_LOCKED, "in use by another worker"},
        {FLOCK, 1, EIO, VQ_IO, "cannot lock"},
        {FSTAT, 1, EIO, VQ_IO, "cannot look at"},
        {OPEN, 2, EACCES, VQ_IO, "cannot open the spool"},
        {FSTAT, 2, EIO, VQ_IO, "cannot look at the spool"},
        {READ, 1, EIO, VQ_IO, "cannot read the spool"},
        {OPEN, 3, EMFILE, VQ_IO, "cannot make"},
        {WRITE, 1, EIO, VQ_IO, "cannot write the spool"},
        {WRITE, 2, EFBIG, VQ_FULL, "cannot write the spool"},
        {WRITE, 1, 0, VQ_FULL, "No space left"}, /* it says that it wrote nothing */
        {RENAME, 1, EACCES, VQ_IO, "cannot rename"},
    };
    struct promised p = {.refused = 0};
    two_lives(&p, some_calls);
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_spool *spool = NULL;
        struct vq_spool_held *held = NULL;
        struct vq_error err = {""};
        sys_fail(1u << cases[i].kind, cases[i].nth, cases[i].error, false);
        enum vq_status status = vq_spool_open(dir, &run, &worker, &spool, &held, &err);
        sys_works();
        if (status != cases[i].status || strstr(err.text, cases[i].says) == NULL ||
            strstr(err.text, dir) == NULL) {
            fail_msg("case %zu: %s, %s", i, vq_status_name(status), err.text);
        }
        what_is_there(&p);
    }
    sys_fail(1u << UNLINK, 1, EACCES, false);
    struct vq_error err = {""};
    assert_int_equal(vq_spool_remove(dir, &err), VQ_IO);
    assert_non_null(strstr(err.text, "cannot remove"));
    sys_works();
    what_is_there(&p);
}

/* Its owner removes the folder while the next one waits for the lock. */
TEST_WITH(a_lock_that_is_removed_is_none, setup, teardown)
{
    int fd = -1;
    struct vq_error err = {""};
    assert_int_equal(vq_spool_lock(dir, true, &fd, &err), VQ_OK);
    assert_int_equal(close(fd), 0);
    sys.removed = true;
    assert_int_equal(vq_spool_lock(dir, false, &fd, &err), VQ_LOCKED);
    sys.removed = false;
    assert_non_null(strstr(err.text, "being removed"));
    assert_int_equal(vq_spool_lock(dir, false, &fd, &err), VQ_NOT_FOUND);
}

/* A file that ends before the size it had, as it is read: what is there counts. */
TEST_WITH(a_file_that_shrinks, setup, teardown)
{
    struct promised p = {.refused = 0};
    two_lives(&p, some_calls);
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    sys_fail(1u << READ, 1, 0, false);
    assert_int_equal(vq_spool_read(dir, &run, &held, &err), VQ_OK);
    sys_works();
    assert_int_equal(vq_spool_held_count(held), 0);
    vq_spool_held_destroy(&held);
}

/* A large file of which much is ACKed is made anew. While that fails, it is used on; each fault
 * costs one attempt. */
TEST_WITH(a_file_that_cannot_be_made_anew, setup, teardown)
{
    static const struct {
        enum kind kind;
        unsigned nth;
        int error;
        enum vq_status status;
    } faults[] = {
        {WRITE, 1, EIO, VQ_IO},   /* what waits is written first */
        {READ, 1, EIO, VQ_IO},    /* then the file is read */
        {OPEN, 2, EMFILE, VQ_IO}, /* the new one is made */
        {WRITE, 2, EIO, VQ_IO},    {RENAME, 1, EIO, VQ_IO},
        {WRITE, 2, ENOSPC, VQ_OK}, /* no room for two: later */
    };
    struct vq_spool *spool = NULL;
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    assert_int_equal(vq_spool_open(dir, &run, &worker, &spool, &held, &err), VQ_OK);
    vq_spool_held_destroy(&held);
    unsigned calls = 0;
    while (vq_spool_bytes(spool) <= VQ_SPOOL_REWRITE_BYTES) {
        struct vq_result result = call(calls++, BIG_BYTES);
        assert_int_equal(vq_spool_sent(spool, &result, &err), VQ_OK);
        assert_int_equal(vq_spool_answer(spool, &result, &err), VQ_OK);
        assert_int_equal(vq_spool_write(spool, &err), VQ_OK);
    }
    assert_true(calls > VQ_COUNT(faults) + 3);
    uint64_t before = vq_spool_bytes(spool);
    unsigned acked = 0;
    for (size_t i = 0; i < VQ_COUNT(faults); i++) {
        struct vq_result result = call(acked++, 0);
        sys_fail(1u << faults[i].kind, faults[i].nth, faults[i].error, false);
        assert_int_equal(vq_spool_acked(spool, &result.call, &err), faults[i].status);
        assert_int_equal(failures(), 1);
        sys_works();
        assert_true(vq_spool_bytes(spool) >= before);
    }
    struct vq_result result = call(acked++, 0);
    assert_int_equal(vq_spool_acked(spool, &result.call, &err), VQ_OK);
    assert_true(vq_spool_bytes(spool) >= before); /* it waits until the file is twice as large */
    vq_spool_close(&spool);
    assert_int_equal(vq_spool_open(dir, &run, &worker, &spool, &held, &err), VQ_OK);
    assert_int_equal(vq_spool_held_count(held), calls - acked);
    for (size_t i = 0; i < vq_spool_held_count(held); i++) {
        assert_int_equal(vq_spool_held_at(held, i)->call.b[1], acked + i);
        assert_int_equal(vq_spool_held_at(held, i)->answer.bytes, BIG_BYTES);
    }
    vq_spool_held_destroy(&held);
    vq_spool_close(&spool);
}

/* A disk that takes nothing for long: notes wait up to a bound, those above it are refused, and
 * what waited is whole when there is room. */
TEST_WITH(notes_that_pile_up, setup, teardown)
{
    struct vq_spool *spool = NULL;
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    assert_int_equal(vq_spool_open(dir, &run, &worker, &spool, &held, &err), VQ_OK);
    vq_spool_held_destroy(&held);
    sys_fail(1u << WRITE, 1, EIO, true);
    unsigned noted = 0, refused = 0;
    for (unsigned n = 0; n < 8; n++) {
        struct vq_result result = call(n, BIG_BYTES);
        enum vq_status status = vq_spool_answer(spool, &result, &err);
        assert_true(status == (refused == 0 && n < 3 ? VQ_IO : VQ_LIMIT));
        noted += status == VQ_IO ? 1 : 0;
        refused += status == VQ_LIMIT ? 1 : 0;
    }
    unsigned acks = 0;
    for (unsigned n = 0; n < 100000; n++) { /* what is left of the bound takes ACKs */
        struct vq_id other = {{1, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16)}};
        if (vq_spool_acked(spool, &other, &err) == VQ_LIMIT) {
            break;
        }
        acks++;
    }
    assert_in_range(acks, 1, 99999);
    sys_works();
    assert_int_equal(vq_spool_write(spool, &err), VQ_OK);
    assert_int_equal(vq_spool_read(dir, &run, &held, &err), VQ_OK);
    assert_int_equal(vq_spool_held_torn_bytes(held), 0);
    assert_int_equal(vq_spool_held_count(held), noted);
    assert_int_equal(vq_spool_held_at(held, noted - 1)->answer.bytes, BIG_BYTES);
    vq_spool_held_destroy(&held);
    vq_spool_close(&spool);
}

/* ACKs alone do not pile up in memory. */
TEST_WITH(acks_go_into_the_file_when_many_wait, setup, teardown)
{
    struct vq_spool *spool = NULL;
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    assert_int_equal(vq_spool_open(dir, &run, &worker, &spool, &held, &err), VQ_OK);
    vq_spool_held_destroy(&held);
    for (unsigned n = 0; n < 4000; n++) {
        struct vq_result result = call(0, 0);
        result.call.b[2] = (uint8_t)n;
        result.call.b[3] = (uint8_t)(n >> 8);
        assert_int_equal(vq_spool_sent(spool, &result, &err), VQ_OK);
    }
    assert_int_equal(vq_spool_write(spool, &err), VQ_OK);
    uint64_t before = vq_spool_bytes(spool);
    for (unsigned n = 0; n < 3999; n++) {
        struct vq_result result = call(0, 0);
        result.call.b[2] = (uint8_t)n;
        result.call.b[3] = (uint8_t)(n >> 8);
        assert_int_equal(vq_spool_acked(spool, &result.call, &err), VQ_OK);
    }
    assert_true(vq_spool_bytes(spool) > before + (64u << 10)); /* of 125 KiB */
    assert_int_equal(vq_spool_read(dir, &run, &held, &err), VQ_OK);
    assert_true(vq_spool_held_count(held) < 1100);
    vq_spool_held_destroy(&held);
    vq_spool_close(&spool);
}
