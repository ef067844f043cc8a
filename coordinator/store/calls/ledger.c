/* Scans a run's rows of the ledger, in key order; or those of all runs, for the spending of a day's
 * quotas. Not its job: adding up (account.c). */
#include "coordinator/store/calls/ledger.h"
#include "common/base/sum.h"

#include "coordinator/store/calls/cell.h"
#include "proto/pool.h"

struct scan {
    struct vq_view *view;
    uint64_t rows, rows_max;
    vq_ledger_row_fn row;
    void *ctx;
};

static enum vq_status scan_row(void *ctx, struct vq_span key, struct vq_span value,
                               struct vq_error *err)
{
    struct scan *s = ctx;
    enum vq_record_kind kind;
    struct vq_id of;
    struct vq_call_row call;
    enum vq_status status = vq_ledger_key_read(key, &kind, &of);
    if (status == VQ_OK && kind != VQ_RECORD_CALL) {
        return VQ_OK;
    }
    if (s->rows == s->rows_max) {
        return VQ_LIMIT;
    }
    if (status == VQ_OK) {
        status = vq_record_read_call(key, value, &call);
    }
    if (status != VQ_OK) {
        return vq_env_bad_value(s->view->calls, status, "the ledger row", key, err);
    }
    s->rows++;
    return s->row(s->ctx, &call);
}

enum vq_status vq_ledger_scan(struct vq_view *view, const struct vq_id *run, vq_ledger_row_fn row,
                              void *ctx, struct vq_error *err)
{
    struct scan s = {view, 0, UINT64_MAX, row, ctx};
    struct vq_ledger_key prefix = vq_ledger_key_prefix(run, VQ_RECORD_CALL);
    return vq_env_each(view, view->calls->ledger, vq_ledger_key_span(&prefix), scan_row, &s, err);
}

enum vq_status vq_ledger_scan_any(struct vq_view *view, uint64_t rows_max, vq_ledger_row_fn row,
                                  void *ctx, struct vq_error *err)
{
    struct scan s = {view, 0, rows_max, row, ctx};
    enum vq_status status =
        vq_env_each(view, view->calls->ledger, vq_span(NULL, 0), scan_row, &s, err);
    return status == VQ_LIMIT && s.rows == rows_max ? VQ_OK : status;
}

static enum vq_status account_row(void *ctx, const struct vq_call_row *row)
{
    return vq_accountant_row(ctx, row);
}

enum vq_status vq_ledger_account(struct vq_view *view, const struct vq_id *run,
                                 const struct vq_account_plan *stages, uint32_t stages_count,
                                 struct vq_account **ret_account, struct vq_error *err)
{
    struct vq_accountant *accountant = NULL;
    enum vq_status status = vq_accountant_create(stages, stages_count, &accountant);
    if (status == VQ_OK) {
        status = vq_ledger_scan(view, run, account_row, accountant, err);
    }
    if (status == VQ_OK) {
        status = vq_accountant_finish(accountant, ret_account);
    }
    vq_accountant_destroy(&accountant);
    return status;
}

/* ---- spending ---- */

struct spent {
    const struct vq_id *run;
    struct vq_ledger_day *days;
    uint32_t days_count;
    uint32_t day;        /* the last one found: rows of one pool often follow each other */
    int64_t earliest_ms; /* of the days */
    uint64_t cost_nano;
};

static void add_day(struct spent *s, const struct vq_call_row *row)
{
    if (row->result.started_unix_ms < s->earliest_ms || row->result.pool.bytes == 0) {
        return;
    }
    for (uint32_t i = 0; i < s->days_count; i++) {
        struct vq_ledger_day *day = &s->days[s->day];
        if (vq_span_eq(row->result.pool, vq_span_str(day->pool))) {
            bool counts = row->result.started_unix_ms >= day->since_unix_ms &&
                          vq_result_requests(&row->result) != 0;
            day->requests += counts ? 1 : 0;
            day->tokens =
                counts ? vq_sum(day->tokens, vq_result_tokens(&row->result)) : day->tokens;
            return;
        }
        s->day = (s->day + 1) % s->days_count;
    }
}

/* Whether no row of `run` can matter. */
static enum vq_status is_past(struct vq_view *view, const struct spent *s, const struct vq_id *run,
                              bool *ret_past, struct vq_error *err)
{
    struct vq_run_meta meta = {0};
    enum vq_status status = vq_env_meta_get(view, run, &meta, err);
    if (status != VQ_OK && status != VQ_NOT_FOUND) {
        return status;
    }
    *ret_past = status == VQ_OK && meta.clean && meta.ended_unix_ms > 0 &&
                meta.ended_unix_ms <= s->earliest_ms;
    return VQ_OK;
}

/* Moves after all rows of `run`: no key of ours is longer and has this key as a prefix. */
static int skip_run(MDB_cursor *cursor, const struct vq_id *run, MDB_val *k, MDB_val *v)
{
    struct vq_ledger_key meta = vq_ledger_key_meta(run);
    meta.b[meta.bytes - 1]++;
    *k = (MDB_val){.mv_size = meta.bytes, .mv_data = meta.b};
    return mdb_cursor_get(cursor, k, v, MDB_SET_RANGE);
}

static enum vq_status spent_of_others(struct vq_view *view, MDB_cursor *cursor, struct spent *s,
                                      struct vq_error *err)
{
    MDB_val k, v;
    struct vq_id at = {.b = {0}};
    bool first = true;
    int rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST);
    while (rc == 0) {
        struct vq_span key = vq_env_span(k);
        enum vq_record_kind kind;
        struct vq_id of;
        struct vq_call_row row;
        enum vq_status status = vq_ledger_key_read(key, &kind, &of);
        bool past = false;
        if (status == VQ_OK && (first || !vq_id_eq(&of, &at))) {
            first = false;
            at = of;
            past = vq_id_eq(&of, s->run);
            if (!past) {
                VQ_TRY(is_past(view, s, &of, &past, err));
            }
        }
        /* failures and the meta row come last */
        if (status == VQ_OK && (past || kind != VQ_RECORD_CALL)) {
            rc = skip_run(cursor, &of, &k, &v);
            continue;
        }
        if (status == VQ_OK) {
            status = vq_record_read_call(key, vq_env_span(v), &row);
        }
        if (status != VQ_OK) {
            return vq_env_bad_value(view->calls, status, "the ledger row", key, err);
        }
        add_day(s, &row);
        rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
    }
    return rc == MDB_NOTFOUND ? VQ_OK : vq_env_status(view->calls, rc, "reading the ledger", err);
}

static enum vq_status spent_row(void *ctx, const struct vq_call_row *row)
{
    struct spent *s = ctx;
    s->cost_nano = vq_sum(s->cost_nano, row->result.cost_nano);
    add_day(s, row);
    return VQ_OK;
}

enum vq_status vq_ledger_spent(struct vq_view *view, const struct vq_id *run,
                               struct vq_ledger_day *days, uint32_t days_count,
                               uint64_t *ret_cost_nano, struct vq_error *err)
{
    struct spent s = {.run = run, .days = days, .days_count = days_count, .earliest_ms = INT64_MAX};
    for (uint32_t i = 0; i < days_count; i++) {
        days[i].requests = days[i].tokens = 0;
        s.earliest_ms =
            days[i].since_unix_ms < s.earliest_ms ? days[i].since_unix_ms : s.earliest_ms;
    }
    VQ_TRY(vq_ledger_scan(view, run, spent_row, &s, err));
    if (s.earliest_ms < INT64_MAX) {
        MDB_cursor *cursor;
        int rc = mdb_cursor_open(view->txn, view->calls->ledger, &cursor);
        if (rc != 0) {
            return vq_env_status(view->calls, rc, "reading the ledger", err);
        }
        enum vq_status status = spent_of_others(view, cursor, &s, err);
        mdb_cursor_close(cursor);
        VQ_TRY(status);
    }
    *ret_cost_nano = s.cost_nano;
    return VQ_OK;
}
