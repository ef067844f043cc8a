/* advances.json: what is written is read, and what cannot be read is named. */
#include "tests/unit/coordinator/store/calls/fixture.h"

#include "coordinator/store/rundir/advances.h"

struct kept {
    char runs[64];
    struct vq_error err;
    struct vq_run_dir *run;
};

static int setup(void **state)
{
    struct kept *k = vq_alloc(1, sizeof(*k));
    fx_folder(k->runs);
    assert_ok(vq_run_dir_create(k->runs, "r", &k->run, &k->err), &k->err);
    *state = k;
    return 0;
}

static int teardown(void **state)
{
    struct kept *k = *state;
    vq_run_dir_close(&k->run);
    fx_remove(k->runs);
    vq_free(k);
    return 0;
}

TEST_WITH(what_is_written_is_read, setup, teardown)
{
    struct kept *k = *state;
    struct vq_advance *got = NULL;
    uint32_t count = 7;
    assert_ok(vq_advances_read(k->run, &got, &count, &k->err), &k->err); /* no file */
    assert_int_equal(count, 0);
    const struct vq_advance advances[] = {
        {.worker = {{1, 2, 255}}, .nano = 1},
        {.worker = {{0}}, .nano = 0},
        {.worker = {{9}}, .nano = INT64_MAX},
        {.worker = {{8}}, .nano = UINT64_MAX}, /* more than there is money */
    };
    assert_ok(vq_advances_write(k->run, advances, VQ_COUNT(advances), &k->err), &k->err);
    assert_ok(vq_advances_read(k->run, &got, &count, &k->err), &k->err);
    assert_int_equal(count, VQ_COUNT(advances));
    for (uint32_t i = 0; i < count; i++) {
        assert_true(vq_id_eq(&got[i].worker, &advances[i].worker));
        assert_int_equal(got[i].nano, i == 3 ? (uint64_t)INT64_MAX : advances[i].nano);
    }
    vq_free(got);
    assert_ok(vq_advances_write(k->run, NULL, 0, &k->err), &k->err);
    assert_ok(vq_advances_read(k->run, &got, &count, &k->err), &k->err);
    assert_int_equal(count, 0);
    vq_free(got);
}

TEST_WITH(what_cannot_be_read_is_named, setup, teardown)
{
    struct kept *k = *state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "line 1"},
        {"{\"advances\": [\n1", "line 2"},
        {"[]", "`advances` is no list"},
        {"{\"advances\": 3}", "`advances` is no list"},
        {"{\"advances\": [[[[[[1]]]]]]}", "nests too deep"},
        {"{\"advances\": [{\"worker\": \"00000000000000000000000000000001\", \"nano_usd\": 1}, "
         "{}]}",
         "entry 2"},
        {"{\"advances\": [{\"worker\": \"0001\", \"nano_usd\": 1}]}", "entry 1"},
        {"{\"advances\": [{\"worker\": \"00000000000000000000000000000001\", \"nano_usd\": -1}]}",
         "entry 1"},
        {"{\"advances\": [{\"worker\": \"00000000000000000000000000000001\", \"nano_usd\": 1.5}]}",
         "entry 1"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_advance *got = NULL;
        uint32_t count = 0;
        assert_ok(
            vq_run_dir_write(k->run, VQ_ADVANCES_FILE, vq_span_str(cases[i].text), false, &k->err),
            &k->err);
        assert_int_equal(vq_advances_read(k->run, &got, &count, &k->err), VQ_CORRUPT);
        assert_non_null(strstr(k->err.text, cases[i].says));
        assert_non_null(strstr(k->err.text, "/r/advances.json"));
        assert_null(got);
    }
}

TEST_WITH(without_memory_nothing_is_taken_for_none, setup, teardown)
{
    struct kept *k = *state;
    const struct vq_advance advance = {.worker = {{1}}, .nano = 5};
    assert_ok(vq_advances_write(k->run, &advance, 1, &k->err), &k->err);
    for (uint64_t n = 1;; n++) {
        struct vq_advance *got = NULL;
        uint32_t count = 0;
        vq_alloc_fail_at(n);
        enum vq_status status = vq_advances_read(k->run, &got, &count, &k->err);
        vq_alloc_fail_at(0);
        if (status == VQ_OK) {
            assert_int_equal(count, 1);
            vq_free(got);
            assert_true(n > 2);
            return;
        }
        assert_int_equal(status, VQ_NOMEM);
    }
}
