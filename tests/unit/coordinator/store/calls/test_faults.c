/* A disk that fails at every point: each sync, write and booking of space of a short life of the
 * store fails in turn, once or from then on, with EIO or ENOSPC. What was said to be durable is;
 * what failed is there wholly or not at all; after a failed write or sync nothing more is
 * written. */
#include "fixture.h"

#include "tests/tools/faulty.h"

#include <errno.h>

#define COMMITS 4
#define EACH    10
#define FILE_   VQ_STORE_FILE "$"

static char text[200000];
static size_t text_bytes = 20; /* of an answer */

/* How far a life came. */
struct life {
    bool begun;
    unsigned committed; /* commits that returned OK */
    bool ended;
    enum vq_status status; /* the first failure */
    char why[VQ_ERROR_BYTES_MAX];
};

static void add(struct fx *fx, uint64_t first)
{
    for (uint64_t i = first; i < first + EACH; i++) {
        struct vq_result r = fx_answer(fx, 0, "Model: A");
        r.answer = vq_span(text, text_bytes);
        r.task = UINT64_MAX;
        vq_hash_of("made up", vq_span((const char *)&i, sizeof(i)), &r.request);
        memcpy(r.call.b + 8, &i, sizeof(i));
        fx_add(fx, &r);
    }
}

static bool has(struct fx *fx, struct vq_view *view, uint64_t i)
{
    struct vq_hash request;
    struct vq_answer answer;
    vq_hash_of("made up", vq_span((const char *)&i, sizeof(i)), &request);
    enum vq_status status = vq_lookup_answer(view, &request, &answer, &fx->err);
    assert_true(status == VQ_OK || status == VQ_NOT_FOUND);
    return status == VQ_OK;
}

static enum vq_status live_on(struct fx *fx, struct life *life)
{
    struct vq_run_begun begun;
    struct vq_id nonce = {.b = {9}};
    VQ_TRY(vq_calls_begin_run(fx->calls, &fx->run, &nonce, false, 2000, &begun, &fx->err));
    life->begun = true;
    for (unsigned i = 0; i < COMMITS; i++) {
        struct vq_commit commit;
        fx_clear(fx);
        add(fx, (uint64_t)i * EACH);
        VQ_TRY(vq_commit_run(fx->calls, &fx->plan, &fx->run, begun.now.epoch, &fx->batch, 9000,
                             &commit, &fx->err));
        vq_commit_free(&commit);
        life->committed++;
    }
    VQ_TRY(vq_calls_end_run(fx->calls, &fx->run, begun.now.epoch, 9500, &fx->err));
    life->ended = true;
    return VQ_OK;
}

static void live(struct fx *fx, struct life *life)
{
    *life = (struct life){0};
    fx->err.text[0] = '\0';
    life->status = live_on(fx, life);
    (void)snprintf(life->why, sizeof(life->why), "%s", fx->err.text);
}

/* After a failure the handle says no, and does not touch the file. */
static void is_left_alone(struct fx *fx)
{
    struct vq_commit commit;
    unsigned seen = vq_faulty_after();
    for (unsigned i = 0; i < 3; i++) {
        fx_clear(fx);
        add(fx, 1000);
        assert_int_equal(vq_commit_run(fx->calls, &fx->plan, &fx->run, fx->epoch + 1, &fx->batch,
                                       9000, &commit, &fx->err),
                         VQ_IO);
        assert_non_null(strstr(fx->err.text, "earlier write failed"));
    }
    assert_int_equal(vq_faulty_after(), seen);
}

static void what_is_there(struct fx *fx, const struct life *life)
{
    struct vq_view *view = NULL;
    uint64_t values;
    vq_calls_close(&fx->calls);
    assert_ok(vq_calls_open(fx->dir, &fx_options, &fx->calls, &fx->err), &fx->err);
    assert_ok(vq_store_check(fx->calls, &values, &fx->err), &fx->err);
    struct vq_run_meta meta;
    assert_ok(vq_calls_read_run(fx->calls, &fx->run, &meta, &fx->err), &fx->err);
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    unsigned there = 0;
    for (unsigned i = 0; i < COMMITS; i++) {
        bool first = has(fx, view, (uint64_t)i * EACH);
        for (uint64_t k = 0; k < EACH; k++) {
            assert_int_equal(has(fx, view, (uint64_t)i * EACH + k), first);
        }
        assert_true(first || i >= life->committed);
        assert_true(!first || i <= life->committed); /* of the one that failed all, or nothing */
        there += first ? 1 : 0;
    }
    assert_int_equal(meta.commit_n, there);
    assert_true(meta.epoch == fx->epoch + 1 || (meta.epoch == fx->epoch && !life->begun));
    assert_true(!life->ended || meta.clean);
    vq_view_end(&view);
}

/* Fails the n-th call; false when there were not so many. */
static bool one(enum vq_faulty_calls calls, unsigned n, int error, bool on)
{
    void *state = NULL;
    struct life life;
    assert_int_equal(fx_setup(&state), 0);
    struct fx *fx = state;
    vq_faulty_set(calls, FILE_, n, error, on);
    live(fx, &life);
    bool hit = vq_faulty_failed() > 0;
    if (!hit) {
        assert_int_equal(life.status, VQ_OK);
    } else if (calls != VQ_FAULTY_SPACE) { /* a smaller booking may do */
        assert_int_equal(life.status, error == ENOSPC && calls != VQ_FAULTY_TORN ? VQ_FULL : VQ_IO);
        assert_non_null(strstr(life.why, VQ_STORE_FILE));
        is_left_alone(fx);
    } else if (life.status != VQ_OK) {
        assert_int_equal(life.status, error == ENOSPC ? VQ_FULL : VQ_IO);
        assert_non_null(strstr(life.why, VQ_STORE_FILE));
        assert_true(error != ENOSPC || strstr(life.why, "make room") != NULL);
    }
    vq_faulty_set(calls, NULL, 0, 0, false);
    what_is_there(fx, &life);
    assert_int_equal(fx_teardown(&state), 0);
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

TEST(test_every_sync)
{
    every_one(VQ_FAULTY_SYNC, COMMITS + 2);
}

TEST(test_every_write)
{
    every_one(VQ_FAULTY_WRITE, 2 * (COMMITS + 2));
}

TEST(test_every_write_is_cut_short)
{
    every_one(VQ_FAULTY_TORN, 2 * (COMMITS + 2));
}

TEST(test_every_booking)
{
    text_bytes = sizeof(text); /* so that the file has to grow */
    memset(text, 'x', sizeof(text));
    every_one(VQ_FAULTY_SPACE, 2);
}
