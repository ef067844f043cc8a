/* The spools of dead workers, written by the real writer: taken once, kept until committed. */
#include "tests/unit/coordinator/store/calls/fixture.h"

#include "coordinator/store/rundir/spool_import.h"
#include "proto/spool.h"

static void write_spool(struct fx *fx, uint32_t k, const struct vq_id *run, unsigned sent,
                        unsigned answers, unsigned acked, bool keep_open,
                        struct vq_spool **ret_spool)
{
    char dir[128];
    struct vq_id worker = {.b = {(uint8_t)k, 5}};
    struct vq_spool *spool = NULL;
    struct vq_spool_held *held = NULL;
    (void)snprintf(dir, sizeof(dir), "%s/spool", fx->dir);
    (void)mkdir(dir, 0700);
    (void)snprintf(dir, sizeof(dir), "%s/spool/%u", fx->dir, k);
    assert_ok(vq_spool_open(dir, run, &worker, &spool, &held, &fx->err), &fx->err);
    vq_spool_held_destroy(&held);
    for (unsigned i = 0; i < sent; i++) {
        struct vq_result r = fx_answer(fx, i, "Model: A");
        assert_ok(vq_spool_sent(spool, &r, &fx->err), &fx->err);
        if (i < answers) {
            assert_ok(vq_spool_answer(spool, &r, &fx->err), &fx->err);
        }
        if (i < acked) {
            assert_ok(vq_spool_acked(spool, &r.call, &fx->err), &fx->err);
        }
    }
    assert_ok(vq_spool_write(spool, &fx->err), &fx->err);
    if (keep_open) {
        *ret_spool = spool;
    } else {
        vq_spool_close(&spool);
    }
}

TEST_WITH(test_import, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_spool *live = NULL;
    struct vq_spool_import *import = NULL;
    uint32_t k = 0;
    assert_int_equal(vq_spool_import_next(fx->dir, &fx->run, &k, &import, &fx->err), VQ_NOT_FOUND);
    write_spool(fx, 0, &fx->run, 3, 3, 3, false, NULL); /* nothing left in it */
    write_spool(fx, 2, &fx->run, 5, 3, 1, false, NULL);
    write_spool(fx, 7, &fx->run, 1, 1, 0, true, &live);
    write_spool(fx, 11, &fx->run, 1, 0, 0, false, NULL);
    assert_ok(vq_spool_import_next(fx->dir, &fx->run, &k, &import, &fx->err), &fx->err);
    assert_int_equal(vq_spool_import_k(import), 2);
    assert_int_equal(vq_spool_import_results(import), 4);
    assert_int_equal(vq_spool_import_unknown(import), 2);
    size_t unknown = 0;
    for (size_t i = 0; i < 4; i++) {
        const struct vq_result *r = vq_spool_import_at(import, i);
        unknown += r->end == VQ_END_UNKNOWN ? 1 : 0;
        fx_add(fx, r);
    }
    assert_int_equal(unknown, 2);
    /* While it is being imported no worker begins on it. */
    struct vq_spool_import *again = NULL;
    assert_int_equal(vq_spool_import_one(fx->dir, &fx->run, 2, &again, &fx->err), VQ_LOCKED);
    struct vq_commit commit;
    fx_commit(fx, &commit);
    vq_commit_free(&commit);
    assert_int_equal(fx_outcome(fx, 1), VQ_OUTCOME_FIRST);
    assert_ok(vq_spool_import_finish(&import, &fx->err), &fx->err);
    assert_null(import);
    assert_int_equal(vq_spool_import_one(fx->dir, &fx->run, 2, &import, &fx->err), VQ_NOT_FOUND);

    /* The next is number 11: 7 is in use. */
    assert_ok(vq_spool_import_next(fx->dir, &fx->run, &k, &import, &fx->err), &fx->err);
    assert_int_equal(vq_spool_import_k(import), 11);
    vq_spool_import_abandon(&import);
    assert_int_equal(vq_spool_import_next(fx->dir, &fx->run, &k, &import, &fx->err), VQ_NOT_FOUND);
    assert_int_equal(vq_spool_import_one(fx->dir, &fx->run, 7, &import, &fx->err), VQ_LOCKED);
    vq_spool_close(&live);
    /* What was abandoned is still there, and so is what the worker left. */
    k = 0;
    assert_ok(vq_spool_import_next(fx->dir, &fx->run, &k, &import, &fx->err), &fx->err);
    assert_int_equal(vq_spool_import_k(import), 7);
    vq_spool_import_abandon(&import);
    assert_ok(vq_spool_import_one(fx->dir, &fx->run, 11, &import, &fx->err), &fx->err);
    assert_int_equal(vq_spool_import_results(import), 1);
    vq_spool_import_abandon(&import);
}

TEST_WITH(test_other_run_and_damage, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_spool_import *import = NULL;
    struct vq_id other = {.b = {0xee}};
    char path[128];
    uint32_t k = 0;
    write_spool(fx, 0, &other, 2, 2, 0, false, NULL);
    write_spool(fx, 1, &fx->run, 4, 4, 0, false, NULL);
    write_spool(fx, 2, &fx->run, 4, 4, 0, false, NULL);
    (void)snprintf(path, sizeof(path), "%s/spool/1/%s", fx->dir, VQ_SPOOL_FILE);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, VQ_SPOOL_HEAD_BYTES + 30, SEEK_SET), 0);
    assert_true(fputs("damage", file) >= 0);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(path, sizeof(path), "%s/spool/2/%s", fx->dir, VQ_SPOOL_FILE);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 3), 0); /* the last answer */

    assert_int_equal(vq_spool_import_next(fx->dir, &fx->run, &k, &import, &fx->err), VQ_INVALID);
    assert_int_equal(k, 1);
    assert_int_equal(vq_spool_import_next(fx->dir, &fx->run, &k, &import, &fx->err), VQ_CORRUPT);
    assert_non_null(strstr(fx->err.text, "spool/1"));
    assert_ok(vq_spool_import_next(fx->dir, &fx->run, &k, &import, &fx->err), &fx->err);
    assert_int_equal(vq_spool_import_results(import), 4);
    assert_int_equal(vq_spool_import_unknown(import), 1);
    vq_spool_import_abandon(&import);
}
