/* A disk that fails under a spool: each write and each booking of space in turn, once or from then
 * on, wholly or half-way. What a vq_spool_write said to have written is in the file, whatever fails
 * later; what failed waits; no call is to be made without its SENT and the room for its answer. */

#include "tests/unit/test.h"

#include "proto/spool.h"
#include "tests/tools/faulty.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALLS 12
#define FILE_ "/" VQ_SPOOL_FILE /* and spool.new */

static char dir[128];
static char text[6000];
static const struct vq_id run = {{1, 2, 3}};
static const struct vq_id worker = {{9}};

/* What the file must hold after a kill now. */
struct promised {
    bool sent[CALLS], answered[CALLS], acked[CALLS];
};

static int setup(void **state)
{
    (void)state;
    memset(text, 'x', sizeof(text));
    (void)snprintf(dir, sizeof(dir), "/tmp/vq-spool-XXXXXX");
    return mkdtemp(dir) == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    static const char *const names[] = {VQ_SPOOL_FILE, VQ_SPOOL_LOCK, "spool.new"};
    vq_faulty_set(VQ_FAULTY_SYNC, NULL, 0, 0, false);
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        char path[200];
        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    return rmdir(dir);
}

static struct vq_result call(unsigned n)
{
    struct vq_result result = {
        .call = {{0xaa, (uint8_t)n}}, .task = n, .answer = vq_span(text, 500 * (n % 12))};
    result.request.b[0] = (uint8_t)n;
    return result;
}

/* As a worker that is killed here would leave it. */
static void what_a_kill_leaves(const struct promised *p, bool nothing_failed)
{
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    if (vq_spool_read(dir, &run, &held, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    assert_true(!nothing_failed || vq_spool_held_torn_bytes(held) == 0);
    for (unsigned n = 0; n < CALLS; n++) {
        const struct vq_result *found = NULL;
        for (size_t i = 0; i < vq_spool_held_count(held); i++) {
            if (vq_spool_held_at(held, i)->call.b[1] == n) {
                found = vq_spool_held_at(held, i);
            }
        }
        if (p->acked[n]) {
            continue; /* whether its ACK has been written yet is of no interest */
        }
        assert_true(found != NULL || !p->sent[n]);
        assert_true(!p->answered[n] || found->end == VQ_END_ANSWER);
        assert_true(!p->answered[n] || found->answer.bytes == call(n).answer.bytes);
    }
    vq_spool_held_destroy(&held);
}

static enum vq_status note(struct vq_spool *spool, unsigned n, bool answer, struct vq_error *err)
{
    struct vq_result result = call(n);
    result.end = VQ_END_ANSWER;
    VQ_TRY(answer ? vq_spool_answer(spool, &result, err) : vq_spool_sent(spool, &result, err));
    return vq_spool_write(spool, err);
}

/* As the agent does: no SENT in the file, no call; an answer that cannot be written waits for a
 * later write. */
static unsigned live(struct vq_spool *spool, struct promised *p)
{
    unsigned failures = 0;
    struct vq_error err = {""};
    bool waits[CALLS] = {false};
    for (unsigned n = 0; n < CALLS; n++) {
        enum vq_status status = note(spool, n, false, &err);
        bool called = status == VQ_OK;
        p->sent[n] = called;
        failures += called ? 0 : 1;
        assert_true(called || strstr(err.text, dir) != NULL);
        what_a_kill_leaves(p, failures == 0);
        if (called) {
            status = note(spool, n, true, &err);
            waits[n] = status != VQ_OK;
            failures += status == VQ_OK ? 0 : 1;
        }
        for (unsigned k = 0; k <= n && status == VQ_OK; k++) { /* what waited has gone with it */
            p->answered[k] = p->answered[k] || waits[k] || (k == n && called);
            waits[k] = false;
        }
        what_a_kill_leaves(p, failures == 0);
        if (n >= 3 && p->answered[n - 3]) {
            struct vq_result acked = call(n - 3);
            p->acked[n - 3] = true;
            failures += vq_spool_acked(spool, &acked.call, &err) == VQ_OK ? 0 : 1;
            what_a_kill_leaves(p, failures == 0);
        }
    }
    return failures;
}

/* Fails the n-th; false: there were not so many. */
static bool one(enum vq_faulty_calls calls, unsigned n, int error, bool on)
{
    struct vq_spool *spool = NULL;
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    struct promised p = {{false}, {false}, {false}};
    vq_faulty_set(calls, FILE_, n, error, on);
    enum vq_status status = vq_spool_open(dir, &run, &worker, &spool, &held, &err);
    bool hit = vq_faulty_failed() > 0;
    if (status != VQ_OK) { /* it could not be made: a worker that does not start */
        assert_true(hit && strstr(err.text, dir) != NULL);
        assert_null(spool);
    } else {
        vq_spool_held_destroy(&held);
        unsigned failures = live(spool, &p);
        hit = vq_faulty_failed() > 0;
        assert_true(hit || failures == 0);
        assert_true(failures > 0 || !hit || calls == VQ_FAULTY_TORN || calls == VQ_FAULTY_SPACE);
        vq_spool_close(&spool);
        what_a_kill_leaves(&p, !hit);
    }
    vq_faulty_set(calls, NULL, 0, 0, false);
    assert_int_equal(vq_spool_open(dir, &run, &worker, &spool, &held, &err), VQ_OK);
    what_a_kill_leaves(&p, false);
    for (size_t i = 0; i < vq_spool_held_count(held); i++) {
        assert_int_equal(vq_spool_acked(spool, &vq_spool_held_at(held, i)->call, &err), VQ_OK);
    }
    vq_spool_held_destroy(&held);
    vq_spool_close(&spool);
    return hit;
}

static void every_one(enum vq_faulty_calls calls, unsigned least)
{
    for (int i = 0; i < 4; i++) {
        unsigned n = 1;
        while (one(calls, n, i / 2 == 0 ? EIO : ENOSPC, i % 2 == 0)) {
            n++;
        }
        assert_true(n > least);
    }
}

TEST_WITH(test_every_write, setup, teardown)
{
    every_one(VQ_FAULTY_WRITE, 2 * CALLS);
}

TEST_WITH(test_every_write_is_cut_short, setup, teardown)
{
    every_one(VQ_FAULTY_TORN, 2 * CALLS);
}

TEST_WITH(test_every_booking, setup, teardown)
{
    every_one(VQ_FAULTY_SPACE, 1);
}

/* A disk without room takes no call on; those that were sent have room for their answers. */
TEST_WITH(test_room_before_a_call, setup, teardown)
{
    struct vq_spool *spool = NULL;
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    struct stat st;
    char path[200];
    assert_int_equal(vq_spool_open(dir, &run, &worker, &spool, &held, &err), VQ_OK);
    vq_spool_held_destroy(&held);
    for (unsigned n = 0; n < 8; n++) {
        assert_int_equal(note(spool, n, false, &err), VQ_OK);
    }
    (void)snprintf(path, sizeof(path), "%s/%s", dir, VQ_SPOOL_FILE);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal((uint64_t)st.st_size, vq_spool_bytes(spool)); /* the end is where it was */
    vq_faulty_set(VQ_FAULTY_SPACE, FILE_, 1, ENOSPC, true);
    unsigned refused = 0;
    for (unsigned i = 0; i < 1000 && refused == 0; i++) {
        struct vq_result result = call(8 + i % 200);
        enum vq_status status = vq_spool_sent(spool, &result, &err);
        refused += status == VQ_FULL ? 1 : 0;
        assert_true(status == VQ_OK || strstr(err.text, "make room") != NULL);
    }
    assert_int_equal(refused, 1);
    assert_int_equal(note(spool, 3, true, &err), VQ_OK);
    vq_faulty_set(VQ_FAULTY_SPACE, NULL, 0, 0, false);
    assert_int_equal(note(spool, 210, false, &err), VQ_OK); /* there is room again */
    vq_spool_close(&spool);
}
