/* Looking after the store: counts, dropping what is named and nothing else, export. */
#include "fixture.h"

#include "coordinator/store/calls/ledger.h"

static void fill_run(struct fx *fx, uint8_t run, uint64_t from, uint64_t to)
{
    fx->run.b[1] = run;
    fx_begin_run(fx, false);
    for (uint64_t task = from; task < to; task++) {
        struct vq_result r = fx_answer(fx, task, "Model: A");
        fx_add(fx, &r);
    }
    fx_fail(fx, to, VQ_OUTCOME_WORKER_LOST);
    struct vq_commit commit;
    fx_commit(fx, &commit);
    vq_commit_free(&commit);
}

TEST_WITH(test_stat_and_drop, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    fill_run(fx, 2, 0, 10);
    fill_run(fx, 3, 5, 20);
    struct vq_store_stat stat;
    uint64_t values, rows;
    assert_ok(vq_store_stat(fx->calls, &stat, &fx->err), &fx->err);
    assert_int_equal(stat.answers, 20);
    assert_int_equal(stat.calls, 25);
    assert_int_equal(stat.failures, 2);
    assert_int_equal(stat.runs, 3);
    assert_true(stat.bytes_used > 0 && stat.bytes_used <= stat.bytes_file);
    assert_ok(vq_store_check(fx->calls, &values, &fx->err), &fx->err);
    assert_int_equal(values, stat.answers + stat.calls + stat.failures + stat.runs);

    struct vq_id run = fx->run;
    assert_ok(vq_store_drop_run(fx->calls, &run, &rows, &fx->err), &fx->err);
    assert_int_equal(rows, 15 + 1 + 1);
    assert_ok(vq_store_drop_run(fx->calls, &run, &rows, &fx->err), &fx->err);
    assert_int_equal(rows, 0);
    assert_ok(vq_store_stat(fx->calls, &stat, &fx->err), &fx->err);
    assert_int_equal(stat.answers, 20);
    assert_int_equal(stat.calls, 10);
    assert_int_equal(stat.runs, 2);
}

/* More rows than one transaction drops. */
TEST_WITH(test_drop_many, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    for (uint64_t i = 0; i < 10000; i++) {
        struct vq_result r = fx_failure(fx, 0, 0, VQ_END_RATE, VQ_OUTCOME_NONE);
        r.final = false;
        fx_add(fx, &r);
    }
    struct vq_commit commit;
    fx_commit(fx, &commit);
    vq_commit_free(&commit);
    struct vq_id before = fx->run;
    fill_run(fx, 9, 0, 3);
    uint64_t rows;
    assert_ok(vq_store_drop_run(fx->calls, &before, &rows, &fx->err), &fx->err);
    assert_int_equal(rows, 10001);
    struct vq_store_stat stat;
    assert_ok(vq_store_stat(fx->calls, &stat, &fx->err), &fx->err);
    assert_int_equal(stat.calls, 3);
    assert_true(stat.bytes_free > 0);
}

/* The one run at `ctx`. */
static enum vq_status keep_one(void *ctx, struct vq_id **ret_runs, size_t *ret_count,
                               struct vq_error *err)
{
    (void)err;
    *ret_runs = vq_alloc(1, sizeof(**ret_runs));
    assert_non_null(*ret_runs);
    **ret_runs = *(const struct vq_id *)ctx;
    *ret_count = 1;
    return VQ_OK;
}

/* Runs begin all the time: one does between the look at the folder and the list of its runs. */
static enum vq_status keep_none_and_begin(void *ctx, struct vq_id **ret_runs, size_t *ret_count,
                                          struct vq_error *err)
{
    struct fx *fx = ctx;
    struct vq_id none = {0};
    fill_run(fx, 7, 0, 5);
    return keep_one(&none, ret_runs, ret_count, err);
}

TEST_WITH(test_gc_and_a_run_that_begins, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_gc gc = {.keep = keep_none_and_begin, .ctx = fx};
    struct vq_gc_done done;
    struct vq_store_stat stat;
    fill_run(fx, 2, 0, 10);
    assert_ok(vq_store_gc(fx->calls, &gc, &done, &fx->err), &fx->err);
    assert_int_equal(done.runs, 2); /* run 2, and the one of the set-up */
    assert_ok(vq_store_stat(fx->calls, &stat, &fx->err), &fx->err);
    assert_int_equal(stat.runs, 1);
    assert_int_equal(stat.calls, 5);
}

TEST_WITH(test_gc, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    fill_run(fx, 2, 0, 10);
    struct vq_id kept = fx->run;
    fill_run(fx, 3, 20, 30);
    struct vq_gc gc = {.keep = keep_one, .ctx = &kept, .dry_run = true};
    struct vq_gc_done done;
    struct vq_store_stat before, after;
    assert_ok(vq_store_stat(fx->calls, &before, &fx->err), &fx->err);
    assert_ok(vq_store_gc(fx->calls, &gc, &done, &fx->err), &fx->err);
    assert_int_equal(done.runs, 2); /* run 3, and the one of the set-up */
    assert_int_equal(done.answers, 0);
    assert_ok(vq_store_stat(fx->calls, &after, &fx->err), &fx->err);
    assert_memory_equal(&before, &after, sizeof(before));

    gc.dry_run = false;
    assert_ok(vq_store_gc(fx->calls, &gc, &done, &fx->err), &fx->err);
    assert_ok(vq_store_stat(fx->calls, &after, &fx->err), &fx->err);
    assert_int_equal(after.runs, 1);
    assert_int_equal(after.answers, 20);
    assert_int_equal(before.calls - after.calls, 10);

    gc.answers_before_unix_ms = 9000; /* they were made at 9000 */
    assert_ok(vq_store_gc(fx->calls, &gc, &done, &fx->err), &fx->err);
    assert_int_equal(done.answers, 0);
    gc.answers_before_unix_ms = 9001;
    assert_ok(vq_store_gc(fx->calls, &gc, &done, &fx->err), &fx->err);
    assert_int_equal(done.answers, 10);
    fx->run = kept;
    for (uint64_t task = 0; task < 10; task++) {
        assert_int_equal(fx_outcome(fx, task), VQ_OUTCOME_FIRST);
    }
    assert_int_equal(fx_outcome(fx, 20), VQ_OUTCOME_NONE);
}

/* An answer that a kept run used but did not buy stays too: its ledger names no call of it, its
 * age does not matter then. */
TEST_WITH(test_gc_keeps_what_is_named, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    fill_run(fx, 2, 0, 4);
    fill_run(fx, 3, 0, 2); /* bought again, too late: named by this ledger */
    struct vq_gc gc = {.keep = keep_one, .ctx = &fx->run, .answers_before_unix_ms = 9001};
    struct vq_gc_done done;
    assert_ok(vq_store_gc(fx->calls, &gc, &done, &fx->err), &fx->err);
    assert_int_equal(done.answers, 2);
    assert_int_equal(fx_outcome(fx, 0), VQ_OUTCOME_FIRST);
    assert_int_equal(fx_outcome(fx, 1), VQ_OUTCOME_FIRST);
}

struct lines {
    size_t count;
    bool good;
    size_t stop_at;
};

static enum vq_status take_line(void *ctx, struct vq_span line)
{
    struct lines *lines = ctx;
    lines->count++;
    lines->good = lines->good && line.at[0] == '{' && line.at[line.bytes - 1] == '\n' &&
                  line.at[line.bytes - 2] == '}' &&
                  memmem(line.at, line.bytes, "\"verdict\":", 10) != NULL &&
                  memmem(line.at, line.bytes, "judge-x-2024", 12) != NULL;
    return lines->count == lines->stop_at ? VQ_FULL : VQ_OK;
}

TEST_WITH(test_export, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    fill_run(fx, 2, 0, 7);
    struct lines lines = {.good = true};
    assert_ok(vq_store_export(fx->calls, take_line, &lines, &fx->err), &fx->err);
    assert_int_equal(lines.count, 7);
    assert_true(lines.good);
    lines = (struct lines){.good = true, .stop_at = 3};
    assert_int_equal(vq_store_export(fx->calls, take_line, &lines, &fx->err), VQ_FULL);
    assert_int_equal(lines.count, 3);
}

static void count_named(void *ctx, const char *table, struct vq_span key)
{
    unsigned *counts = ctx;
    assert_true(key.bytes > 0);
    counts[strcmp(table, "answers") == 0 ? 0 : 1]++;
}

/* Values that are damaged stop the opening; taken out by name, the rest goes on. */
TEST_WITH(test_what_is_damaged_is_taken_out_on_request, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    char path[128];
    uint64_t values, dropped = 0;
    unsigned counts[2] = {0, 0};
    for (uint64_t task = 0; task < 12; task += 2) {
        struct vq_result r = fx_answer(fx, task, "needle Model: A");
        fx_commit_one(fx, &r);
    }
    vq_calls_close(&fx->calls);
    (void)snprintf(path, sizeof(path), "%s/%s", fx->dir, VQ_STORE_FILE);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    static char bytes[1u << 20];
    size_t n = fread(bytes, 1, sizeof(bytes), file);
    unsigned changed = 0;
    for (size_t i = 0; i + 6 < n; i++) {
        if (memcmp(bytes + i, "needle", 6) == 0) {
            assert_int_equal(fseek(file, (long)i, SEEK_SET), 0);
            assert_int_equal(fputc('N', file), 'N');
            changed++;
        }
    }
    assert_int_equal(fclose(file), 0);
    assert_true(changed > 0);
    struct vq_calls_options options = fx_options;
    assert_int_equal(vq_calls_open(fx->dir, &options, &fx->calls, &fx->err), VQ_CORRUPT);
    assert_non_null(strstr(fx->err.text, "store check --drop"));
    options.any_value = true;
    assert_ok(vq_calls_open(fx->dir, &options, &fx->calls, &fx->err), &fx->err);
    assert_ok(vq_store_drop_damaged(fx->calls, count_named, counts, &dropped, &fx->err), &fx->err);
    assert_int_equal(dropped, 6);
    assert_int_equal(counts[0], 6);
    assert_int_equal(counts[1], 0);
    assert_ok(vq_store_check(fx->calls, &values, &fx->err), &fx->err);
    vq_calls_close(&fx->calls);
    assert_ok(vq_calls_open(fx->dir, &fx_options, &fx->calls, &fx->err), &fx->err);
    assert_int_equal(fx_outcome(fx, 0), VQ_OUTCOME_NONE); /* asked again */
    assert_ok(vq_store_drop_damaged(fx->calls, count_named, counts, &dropped, &fx->err), &fx->err);
    assert_int_equal(dropped, 0);
}
