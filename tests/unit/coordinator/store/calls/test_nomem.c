/* The store's readers and the account of a run with every allocation failing in turn, LMDB's too:
 * VQ_NOMEM comes back, what was asked for is untouched, nothing leaks, and the same store answers
 * the next question. */
#include "fixture.h"

#include "coordinator/store/calls/failures.h"
#include "coordinator/store/calls/ledger.h"
#include "coordinator/store/calls/record.h"
#include "tests/unit/heap.h"

#define SAYS_A "Model: A"

static struct fx *fx;
static uint8_t outcomes[2 * FX_SAMPLES * FX_JUDGES * FX_VIBES];

/* Calls of every kind: several tries, a repair, a failure that is asked again, pools and
 * workers. */
static int setup(void **state)
{
    (void)fx_setup(state);
    fx = *state;
    for (uint32_t i = 0; i < 20; i++) {
        char pool[16], worker[16];
        (void)snprintf(pool, sizeof(pool), "pool-%u", i);
        (void)snprintf(worker, sizeof(worker), "worker-%u", i % 18);
        struct vq_result r = i % 5 == 3 ? fx_failure(fx, i, 0, VQ_END_RATE, VQ_OUTCOME_NONE)
                                        : fx_answer(fx, i, i % 7 == 2 ? "hm" : SAYS_A);
        r.final = i % 5 != 3;
        r.pool = vq_span_str(pool);
        fx_add_of(fx, &r, worker);
    }
    struct vq_result r = fx_failure(fx, 22, 0, VQ_END_BAD_REQUEST, VQ_OUTCOME_ERROR);
    fx_add(fx, &r);
    r = fx_repair(fx, 2, "hm", SAYS_A);
    fx_add(fx, &r);
    struct vq_commit commit;
    fx_commit(fx, &commit);
    vq_commit_free(&commit);
    fx_begin_run(fx, true);
    r = fx_answer(fx, 22, SAYS_A);
    r.repeat = 1;
    vq_plan_request(&fx->plan, 22, 1, &r.request);
    fx_commit_one(fx, &r);
    return 0;
}

static enum vq_status all_outcomes(struct vq_view *view)
{
    uint32_t tasks = vq_grid_shard_tasks(&fx->plan.grid);
    for (uint64_t shard = 0; shard < vq_grid_shards(&fx->plan.grid); shard++) {
        VQ_TRY(vq_lookup_outcomes(view, &fx->plan, &fx->run, shard, outcomes + shard * tasks,
                                  &fx->err));
    }
    return VQ_OK;
}

static enum vq_status account(void *ctx)
{
    (void)ctx;
    struct vq_view *view = NULL;
    struct vq_account *account = NULL;
    enum vq_status status = vq_view_begin(fx->calls, &view, &fx->err);
    if (status != VQ_OK) {
        assert_null(view);
        return status;
    }
    status = all_outcomes(view);
    if (status == VQ_OK) {
        const struct vq_account_plan stage = {&fx->plan, outcomes, NULL};
        status = vq_ledger_account(view, &fx->run, &stage, 1, &account, &fx->err);
    }
    vq_view_end(&view);
    assert_true((status == VQ_OK) == (account != NULL));
    if (status == VQ_OK) {
        assert_int_equal(account->all.sums.sent, 23);
        assert_int_equal(account->all.repairs, 1);
        assert_int_equal(account->all.asked_again, 1);
        assert_int_equal(account->pools_count, 20);
        assert_true(account->workers_count >= 18);
    }
    vq_account_destroy(&account);
    return status;
}

static enum vq_status count_row(void *ctx, const struct vq_call_row *row)
{
    assert_true(row->worker.bytes > 0);
    ++*(uint32_t *)ctx;
    return VQ_OK;
}

static enum vq_status ledger(void *ctx)
{
    (void)ctx;
    struct vq_view *view = NULL;
    uint32_t rows = 0, any = 0;
    uint64_t spent = 77;
    struct vq_ledger_day day = {.pool = "pool-1", .since_unix_ms = 0};
    VQ_TRY(vq_view_begin(fx->calls, &view, &fx->err));
    enum vq_status status = vq_ledger_scan(view, &fx->run, count_row, &rows, &fx->err);
    status = status == VQ_OK ? vq_ledger_scan_any(view, 100, count_row, &any, &fx->err) : status;
    status = status == VQ_OK ? vq_ledger_spent(view, &fx->run, &day, 1, &spent, &fx->err) : status;
    vq_view_end(&view);
    assert_true(status != VQ_OK || (rows == 23 && any == 23 && day.requests == 1));
    assert_true(status == VQ_OK || spent == 77);
    return status;
}

static enum vq_status lookups(void *ctx)
{
    (void)ctx;
    struct vq_view *view = NULL;
    struct vq_known known[2 * FX_VIBES];
    struct vq_answer answer, before;
    bool repaired = false;
    struct vq_buf text;
    vq_buf_init(&text, 1u << 20);
    memset(&answer, 0x55, sizeof(answer));
    before = answer;
    VQ_TRY(vq_view_begin(fx->calls, &view, &fx->err));
    enum vq_status status = vq_lookup_shard(view, &fx->plan, &fx->run, 0, known, &text, &fx->err);
    if (status == VQ_OK) {
        status = vq_lookup_standing(view, &fx->plan, &fx->run, 2, &answer, &repaired, &fx->err);
        assert_true(status != VQ_OK ||
                    (repaired && vq_span_eq(answer.answer, vq_span_str(SAYS_A))));
    }
    assert_true(status == VQ_OK || memcmp(&answer, &before, sizeof(answer)) == 0);
    vq_view_end(&view);
    vq_buf_free(&text);
    return status;
}

/* A writer of every kind of record says that there was no memory, and is used again. */
static enum vq_status records(void *ctx)
{
    (void)ctx;
    static const struct vq_id call = {{1}};
    struct vq_ledger_key key = vq_ledger_key_call(&fx->run, &call);
    struct vq_span at = vq_span((const char *)key.b, key.bytes);
    struct vq_buf out;
    struct vq_call_row row = {.result = {.call = call}, .worker = vq_span_str("w")}, row_back;
    struct vq_answer answer = {.answer = vq_span_str(SAYS_A)}, answer_back;
    vq_buf_init(&out, VQ_RECORD_BYTES_MAX);
    vq_record_call(&out, at, &row);
    enum vq_status first = out.status;
    assert_int_equal(vq_record_read_call(at, vq_buf_span(&out), &row_back),
                     first == VQ_OK ? VQ_OK : VQ_CORRUPT);
    vq_record_answer(&out, at, &answer);
    enum vq_status second = out.status;
    assert_int_equal(vq_record_read_answer(at, vq_buf_span(&out), &answer_back),
                     second == VQ_OK ? VQ_OK : VQ_CORRUPT);
    vq_buf_free(&out);
    return first != VQ_OK ? first : second;
}

TEST_WITH(every_reader, setup, fx_teardown)
{
    assert_true(heap_torture("account", account, NULL, false) > 8);
    assert_true(heap_torture("ledger", ledger, NULL, false) > 2);
    assert_true(heap_torture("lookups", lookups, NULL, false) > 2);
    assert_true(heap_torture("records", records, NULL, false) > 0);
}

/* The store from its opening to its end, with a commit in between that is there afterwards or is
 * not. */
static enum vq_status open_and_commit(void *ctx)
{
    (void)ctx;
    struct vq_calls *calls = NULL;
    enum vq_status status = vq_calls_open(fx->dir, &fx_options, &calls, &fx->err);
    assert_true((status == VQ_OK) == (calls != NULL));
    if (status == VQ_OK) {
        struct vq_commit commit;
        heap.paused = true;
        struct vq_result r = fx_answer(fx, 25, SAYS_A);
        fx->call_n = 900; /* the same call each time */
        r.call.b[15] = 0xee;
        fx_add(fx, &r);
        heap.paused = false;
        status = vq_commit_run(calls, &fx->plan, &fx->run, fx->epoch, &fx->batch, 9000, &commit,
                               &fx->err);
        if (status == VQ_OK) {
            vq_commit_free(&commit);
        }
        heap.paused = true;
        fx_clear(fx);
        heap.paused = false;
    }
    vq_calls_close(&calls);
    return status;
}

TEST_WITH(a_store_that_opens, setup, fx_teardown)
{
    vq_calls_close(&fx->calls);
    assert_true(heap_torture("open", open_and_commit, NULL, false) > 20);
    assert_ok(vq_calls_open(fx->dir, &fx_options, &fx->calls, &fx->err), &fx->err);
    assert_int_equal(fx_outcome(fx, 25), VQ_OUTCOME_FIRST);
    assert_int_equal(fx_outcome(fx, 2), VQ_OUTCOME_FIRST);
}

/* Failures and reopened tasks, as a commit takes them; the same each time. */
static enum vq_status commit_all_kinds(void *ctx)
{
    (void)ctx;
    struct vq_commit commit;
    enum vq_status status = vq_commit_run(fx->calls, &fx->plan, &fx->run, fx->epoch, &fx->batch,
                                          9000, &commit, &fx->err);
    if (status == VQ_OK) {
        assert_int_equal(commit.standing_count, 4);
        vq_commit_free(&commit);
    }
    return status;
}

TEST_WITH(a_batch_of_every_kind, setup, fx_teardown)
{
    fx_fail(fx, 24, VQ_OUTCOME_ERROR);
    fx_reopen(fx, 26);
    assert_true(heap_torture("commit", commit_all_kinds, NULL, false) > 0);
    assert_int_equal(fx_outcome(fx, 24), VQ_OUTCOME_ERROR);
    fx_clear(fx);
}
