/* The spool: what is written is read, torn at every byte, damaged at every byte, full, locked, made
 * smaller. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "proto/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[128];
static struct vq_id run = {{1, 2, 3}};
static struct vq_id worker = {{9}};

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/vq-spool-XXXXXX");
    return mkdtemp(dir) == NULL ? -1 : 0;
}

static void path_of(const char *name, char *ret_path)
{
    (void)snprintf(ret_path, 200, "%s/%s", dir, name);
}

static int teardown(void **state)
{
    (void)state;
    char path[200];
    static const char *const names[] = {VQ_SPOOL_FILE, VQ_SPOOL_LOCK, "spool.new"};
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        path_of(names[i], path);
        (void)unlink(path);
    }
    return rmdir(dir);
}

static struct vq_result call(uint8_t n)
{
    struct vq_result result = {.call = {{0xaa, n}},
                               .stage = 100u + n,
                               .shard = n,
                               .fence = {2, n},
                               .task = n * 10u,
                               .judge = 1,
                               .repeat = 3,
                               .tries = 2,
                               .started_unix_ms = 1000 + n,
                               .http_status = 200,
                               .tokens_in = 7,
                               .answer = vq_span_str("Model: A, because of \n\xc3\xa9 and more"),
                               .finish_reason = vq_span_str("stop"),
                               .cost_nano = 12,
                               .tokens_reserved = 34,
                               .pool = vq_span_str("account/m"),
                               .model = vq_span_str("m-1")};
    result.request.b[0] = n;
    return result;
}

static struct vq_spool *open_it(struct vq_spool_held **ret_held)
{
    struct vq_spool *spool = NULL;
    struct vq_error err = {""};
    if (vq_spool_open(dir, &run, &worker, &spool, ret_held, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return spool;
}

static struct vq_spool *open_empty(void)
{
    struct vq_spool_held *held = NULL;
    struct vq_spool *spool = open_it(&held);
    assert_int_equal(vq_spool_held_count(held), 0);
    vq_spool_held_destroy(&held);
    return spool;
}

static void put(struct vq_spool *spool, uint8_t n, const char *what)
{
    struct vq_result result = call(n);
    struct vq_error err = {""};
    for (; *what != '\0'; what++) {
        enum vq_status status = *what == 's'   ? vq_spool_sent(spool, &result, &err)
                                : *what == 'a' ? vq_spool_answer(spool, &result, &err)
                                : *what == 'u' ? vq_spool_unsent(spool, &result, &err)
                                               : vq_spool_acked(spool, &result.call, &err);
        assert_int_equal(status, VQ_OK);
    }
    assert_int_equal(vq_spool_write(spool, &err), VQ_OK);
}

static struct vq_spool_held *read_it(void)
{
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    if (vq_spool_read(dir, &run, &held, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return held;
}

TEST_WITH(test_what_is_written_is_read, setup, teardown)
{
    struct vq_spool *spool = open_empty();
    put(spool, 1, "sak"); /* done */
    put(spool, 2, "sa");  /* answered */
    put(spool, 3, "s");   /* sent */
    put(spool, 4, "s");
    put(spool, 4, "a");
    put(spool, 5, "kkkkk"); /* ACKs of nothing that is here: what is there stays */
    vq_spool_close(&spool);
    struct vq_spool_held *held = read_it();
    assert_int_equal(vq_spool_held_count(held), 3);
    assert_int_equal(vq_spool_held_unknown(held), 1);
    assert_int_equal(vq_spool_held_torn_bytes(held), 0);
    const struct vq_result *two = vq_spool_held_at(held, 0);
    struct vq_result want = call(2);
    assert_true(vq_id_eq(&two->call, &want.call));
    assert_true(vq_hash_eq(&two->request, &want.request));
    assert_true(vq_span_eq(two->answer, want.answer));
    assert_true(vq_span_eq(two->model, want.model));
    assert_int_equal(two->tokens_in, 7);
    assert_int_equal(two->end, VQ_END_ANSWER);
    assert_true(vq_span_eq(two->pool, want.pool));
    assert_int_equal(two->stage, 102);
    const struct vq_result *three = vq_spool_held_at(held, 1);
    assert_int_equal(three->end, VQ_END_UNKNOWN);
    assert_int_equal(three->stage, 103);
    assert_int_equal(three->task, 30);
    assert_int_equal(three->fence.n, 3);
    assert_int_equal(three->started_unix_ms, 1003);
    assert_int_equal(three->tries, 2);
    assert_int_equal(three->answer.bytes, 0);
    assert_true(
        vq_span_eq(three->pool, want.pool)); /* what it may have cost, should nothing come */
    assert_true(three->cost_nano == 12 && three->tokens_reserved == 34);
    vq_spool_held_destroy(&held);
}

TEST_WITH(test_notes_wait_for_one_write, setup, teardown)
{
    struct vq_spool *spool = open_empty();
    struct vq_error err = {""};
    for (uint8_t i = 1; i <= 20; i++) {
        struct vq_result result = call(i);
        assert_int_equal(vq_spool_sent(spool, &result, &err), VQ_OK);
        assert_int_equal(vq_spool_answer(spool, &result, &err), VQ_OK);
    }
    assert_int_equal(vq_spool_bytes(spool), VQ_SPOOL_HEAD_BYTES);
    struct vq_spool_held *held = read_it();
    assert_int_equal(vq_spool_held_count(held), 0); /* a kill here would lose them */
    vq_spool_held_destroy(&held);
    assert_int_equal(vq_spool_write(spool, &err), VQ_OK);
    held = read_it();
    assert_int_equal(vq_spool_held_count(held), 20);
    assert_int_equal(vq_spool_held_unknown(held), 0);
    vq_spool_held_destroy(&held);
    uint64_t bytes = vq_spool_bytes(spool);
    assert_int_equal(vq_spool_write(spool, &err), VQ_OK); /* nothing waits */
    assert_int_equal(vq_spool_bytes(spool), bytes);
    for (uint32_t i = 0; i < 2000 && vq_spool_bytes(spool) == bytes; i++) {
        struct vq_result result = call(99);
        assert_int_equal(vq_spool_answer(spool, &result, &err), VQ_OK);
    }
    assert_in_range(vq_spool_bytes(spool) - bytes, 1, 64 << 10); /* what waits is bounded */
    vq_spool_close(&spool);
}

TEST_WITH(test_a_read_answer_is_noted_unread, setup, teardown)
{
    struct vq_spool *spool = open_empty();
    struct vq_result result = call(1);
    result.outcome = VQ_OUTCOME_FIRST;
    result.final = true;
    struct vq_error err = {""};
    assert_int_equal(vq_spool_sent(spool, &result, &err), VQ_OK);
    assert_int_equal(vq_spool_answer(spool, &result, &err), VQ_OK);
    vq_spool_close(&spool);
    struct vq_spool_held *held = read_it();
    assert_int_equal(vq_spool_held_at(held, 0)->outcome, VQ_OUTCOME_NONE);
    assert_false(vq_spool_held_at(held, 0)->final);
    vq_spool_held_destroy(&held);
}

/* A call that is part of a batch: it is ACKed as such, and its answer comes hours later. */
TEST_WITH(test_a_result_after_an_ack_is_kept, setup, teardown)
{
    struct vq_spool *spool = open_empty();
    put(spool, 1, "uku");
    put(spool, 2, "uk");
    put(spool, 3, "u");
    vq_spool_close(&spool);
    struct vq_spool_held *held = NULL;
    spool = open_it(&held);
    assert_int_equal(vq_spool_held_count(held), 2);
    assert_int_equal(vq_spool_held_at(held, 0)->task, 10);
    assert_int_equal(vq_spool_held_at(held, 1)->task, 30);
    vq_spool_held_destroy(&held);
    put(spool, 1, "k");
    put(spool, 3, "k");
    vq_spool_close(&spool);
    held = read_it();
    assert_int_equal(vq_spool_held_count(held), 0);
    vq_spool_held_destroy(&held);
}

TEST_WITH(test_an_empty_spool_leaves_no_file, setup, teardown)
{
    char path[200];
    struct vq_spool *spool = open_empty();
    put(spool, 1, "sak");
    path_of(VQ_SPOOL_FILE, path);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    vq_spool_close(&spool);
    assert_int_equal(stat(path, &st), -1);
    vq_spool_close(&spool);
}

TEST_WITH(test_goes_on_where_it_was_left, setup, teardown)
{
    struct vq_spool *spool = open_empty();
    put(spool, 1, "sak");
    put(spool, 2, "sa");
    put(spool, 3, "s");
    vq_spool_close(&spool);
    struct vq_spool_held *held = NULL;
    spool = open_it(&held);
    assert_int_equal(vq_spool_held_count(held), 2);
    vq_spool_held_destroy(&held);
    put(spool, 2, "k");
    put(spool, 4, "sa");
    vq_spool_close(&spool);
    held = read_it();
    assert_int_equal(vq_spool_held_count(held), 2);
    assert_int_equal(vq_spool_held_at(held, 0)->task, 30);
    assert_int_equal(vq_spool_held_at(held, 1)->task, 40);
    vq_spool_held_destroy(&held);
}

TEST_WITH(test_one_owner, setup, teardown)
{
    struct vq_spool *spool = open_empty();
    struct vq_spool *second = NULL;
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    int fd = -1;
    assert_int_equal(vq_spool_open(dir, &run, &worker, &second, &held, &err), VQ_LOCKED);
    assert_non_null(strstr(err.text, dir));
    assert_int_equal(vq_spool_lock(dir, false, &fd, &err), VQ_LOCKED);
    vq_spool_close(&spool);
    assert_int_equal(vq_spool_lock(dir, false, &fd, &err), VQ_OK);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(vq_spool_open(dir, &run, &worker, &second, &held, &err), VQ_LOCKED);
    assert_int_equal(close(fd), 0);
    char none[200];
    path_of("nowhere", none);
    assert_int_equal(vq_spool_lock(none, false, &fd, &err), VQ_NOT_FOUND);
}

TEST_WITH(test_another_run_is_refused_by_name, setup, teardown)
{
    struct vq_spool *spool = open_empty();
    put(spool, 1, "sa");
    vq_spool_close(&spool);
    struct vq_id other = {{0xee}};
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    assert_int_equal(vq_spool_open(dir, &other, &worker, &spool, &held, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "010203"));
    assert_non_null(strstr(err.text, "ee0000"));
    assert_non_null(strstr(err.text, dir));
    held = read_it(); /* nothing was touched */
    assert_int_equal(vq_spool_held_count(held), 1);
    vq_spool_held_destroy(&held);
    assert_int_equal(vq_spool_read(dir, NULL, &held, &err), VQ_OK); /* any run */
    vq_spool_held_destroy(&held);
}

/* ---- torn and damaged ---- */

static char *file_load(size_t *ret_bytes)
{
    char path[200];
    path_of(VQ_SPOOL_FILE, path);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    static char bytes[65536];
    *ret_bytes = fread(bytes, 1, sizeof(bytes), f);
    assert_int_equal(fclose(f), 0);
    return bytes;
}

static void file_store(const char *bytes, size_t n)
{
    char path[200];
    path_of(VQ_SPOOL_FILE, path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Three calls: ends[i] is where the file ends after record i. */
static size_t make(size_t ends[6])
{
    struct vq_spool *spool = open_empty();
    size_t n = 0;
    for (uint8_t i = 1; i <= 3; i++) {
        put(spool, i, "s");
        ends[n++] = (size_t)vq_spool_bytes(spool);
        put(spool, i, "a");
        ends[n++] = (size_t)vq_spool_bytes(spool);
    }
    vq_spool_close(&spool);
    return n;
}

TEST_WITH(test_torn_at_every_byte, setup, teardown)
{
    size_t ends[6], bytes;
    (void)make(ends);
    char *whole = file_load(&bytes);
    assert_int_equal(bytes, ends[5]);
    static char cut[65536];
    for (size_t n = 0; n <= bytes; n++) {
        memcpy(cut, whole, n);
        file_store(cut, n);
        size_t records = 0;
        while (records < 6 && ends[records] <= n) {
            records++;
        }
        size_t kept = n < VQ_SPOOL_HEAD_BYTES ? 0
                      : records == 0          ? VQ_SPOOL_HEAD_BYTES
                                              : ends[records - 1];
        struct vq_spool_held *held = read_it();
        assert_int_equal(vq_spool_held_count(held), (records + 1) / 2);
        assert_int_equal(vq_spool_held_unknown(held), records % 2);
        assert_int_equal(vq_spool_held_torn_bytes(held), n - kept);
        vq_spool_held_destroy(&held);
    }
    /* and a worker goes on behind it */
    file_store(whole, ends[4] - 3);
    struct vq_spool_held *held = NULL;
    struct vq_spool *spool = open_it(&held);
    assert_int_equal(vq_spool_held_count(held), 2);
    vq_spool_held_destroy(&held);
    put(spool, 7, "sa");
    vq_spool_close(&spool);
    held = read_it();
    assert_int_equal(vq_spool_held_count(held), 3);
    assert_int_equal(vq_spool_held_torn_bytes(held), 0);
    vq_spool_held_destroy(&held);
}

TEST_WITH(test_damaged_at_every_byte, setup, teardown)
{
    size_t ends[6], bytes;
    (void)make(ends);
    char *whole = file_load(&bytes);
    static char bad[65536];
    for (size_t at = 0; at < bytes; at++) {
        memcpy(bad, whole, bytes);
        bad[at] ^= 0x40;
        file_store(bad, bytes);
        struct vq_spool_held *held = NULL;
        struct vq_error err = {""};
        enum vq_status status = vq_spool_read(dir, &run, &held, &err);
        if (at < ends[4]) { /* in the middle: refused, with file and place, nothing is used */
            assert_int_equal(status, VQ_CORRUPT);
            assert_null(held);
            assert_non_null(strstr(err.text, dir));
        } else { /* in the last record: a torn tail */
            assert_int_equal(status, VQ_OK);
            assert_int_equal(vq_spool_held_torn_bytes(held), ends[5] - ends[4]);
            assert_int_equal(vq_spool_held_unknown(held), 1);
            vq_spool_held_destroy(&held);
        }
    }
}

TEST_WITH(test_zeroes_after_a_power_cut_are_a_torn_tail, setup, teardown)
{
    size_t ends[6], bytes;
    (void)make(ends);
    static char long_tail[65536];
    memcpy(long_tail, file_load(&bytes), sizeof(long_tail) / 2);
    memset(long_tail + bytes, 0, sizeof(long_tail) - bytes);
    file_store(long_tail, bytes + 4096);
    struct vq_spool_held *held = read_it();
    assert_int_equal(vq_spool_held_count(held), 3);
    assert_int_equal(vq_spool_held_torn_bytes(held), 4096);
    vq_spool_held_destroy(&held);
}

/* ---- size and space ---- */

TEST_WITH(test_cut_when_all_is_acked_and_rewritten_when_large, setup, teardown)
{
    struct vq_spool *spool = open_empty();
    static char big[600 << 10];
    memset(big, 'x', sizeof(big));
    struct vq_error err = {""};
    struct vq_result lasting = call(200);
    assert_int_equal(vq_spool_sent(spool, &lasting, &err), VQ_OK);
    assert_int_equal(vq_spool_answer(spool, &lasting, &err), VQ_OK);
    uint64_t most = 0;
    for (uint32_t i = 0; i < 120; i++) { /* 72 MB of answers, each ACKed */
        struct vq_result result = call((uint8_t)i);
        result.answer = vq_span(big, sizeof(big));
        assert_int_equal(vq_spool_sent(spool, &result, &err), VQ_OK);
        assert_int_equal(vq_spool_answer(spool, &result, &err), VQ_OK);
        assert_int_equal(vq_spool_write(spool, &err), VQ_OK);
        assert_int_equal(vq_spool_acked(spool, &result.call, &err), VQ_OK);
        most = vq_spool_bytes(spool) > most ? vq_spool_bytes(spool) : most;
    }
    assert_in_range(most, VQ_SPOOL_REWRITE_BYTES - (2u << 20), VQ_SPOOL_REWRITE_BYTES + (2u << 20));
    assert_true(vq_spool_bytes(spool) < VQ_SPOOL_REWRITE_BYTES);
    struct vq_spool_held *held = read_it();
    assert_in_range(vq_spool_held_count(held), 1, 2); /* the last ACK may still wait */
    assert_true(vq_id_eq(&vq_spool_held_at(held, 0)->call, &lasting.call));
    assert_true(vq_span_eq(vq_spool_held_at(held, 0)->answer, lasting.answer));
    vq_spool_held_destroy(&held);
    assert_int_equal(vq_spool_acked(spool, &lasting.call, &err), VQ_OK);
    assert_int_equal(vq_spool_bytes(spool), VQ_SPOOL_HEAD_BYTES);
    put(spool, 1, "sa"); /* and on */
    vq_spool_close(&spool);
    held = read_it();
    assert_int_equal(vq_spool_held_count(held), 1);
    vq_spool_held_destroy(&held);
}

TEST_WITH(test_a_write_without_room_changes_nothing, setup, teardown)
{
    struct vq_spool *spool = open_empty();
    put(spool, 1, "sa");
    struct vq_result result = call(2);
    struct vq_error note_err = {""};
    assert_int_equal(vq_spool_sent(spool, &result, &note_err), VQ_OK);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    struct vq_error err = {""};
    for (uint64_t room = 0; room < 60; room += 7) { /* cut short at several places of the record */
        struct rlimit tight = {vq_spool_bytes(spool) + room, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
        enum vq_status status = vq_spool_write(spool, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, VQ_FULL);
        assert_non_null(strstr(err.text, dir));
        struct vq_spool_held *held = read_it();
        assert_int_equal(vq_spool_held_count(held), 1);
        assert_int_equal(vq_spool_held_torn_bytes(held), 0);
        vq_spool_held_destroy(&held);
    }
    put(spool, 3, "sa"); /* there is room again: what waited is written too, once */
    vq_spool_close(&spool);
    struct vq_spool_held *held = read_it();
    assert_int_equal(vq_spool_held_count(held), 3);
    assert_int_equal(vq_spool_held_unknown(held), 1);
    vq_spool_held_destroy(&held);
}

TEST_WITH(test_every_allocation_fails_once, setup, teardown)
{
    size_t ends[6];
    (void)make(ends);
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        struct vq_spool *spool = NULL;
        struct vq_spool_held *held = NULL;
        struct vq_error err = {""};
        vq_alloc_fail_at(n);
        enum vq_status status = vq_spool_open(dir, &run, &worker, &spool, &held, &err);
        struct vq_result result = call(9);
        if (status == VQ_OK) {
            status = vq_spool_sent(spool, &result, &err);
        }
        if (status == VQ_OK) {
            status = vq_spool_write(spool, &err);
        }
        if (status == VQ_OK) {
            status = vq_spool_acked(spool, &result.call, &err);
        }
        vq_alloc_fail_at(0);
        assert_true(status == VQ_OK || status == VQ_NOMEM);
        done = status == VQ_OK;
        vq_spool_close(&spool);
        vq_spool_held_destroy(&held);
        held = read_it(); /* the three calls are still there */
        assert_true(vq_spool_held_count(held) >= 3);
        vq_spool_held_destroy(&held);
        assert_true(n < 2000);
    }
}
