/* Walks rows of the ledger, a run's or all, in key order.
 * Not its job: adding up (account.c). */
#include "coordinator/store/ledger.h"

#include "coordinator/store/cell.h"

struct scan {
    struct vq_view *view;
    const struct vq_id *run; /* NULL: any */
    uint64_t rows_max;
    vq_ledger_row_fn row;
    void *ctx;
    struct vq_error *err;
};

static enum vq_status scan(const struct scan *s, MDB_cursor *cursor)
{
    static const struct vq_id zero;
    struct vq_ledger_key from = vq_ledger_key_call(s->run == NULL ? &zero : s->run, &zero);
    MDB_val k = {.mv_size = from.bytes, .mv_data = from.b};
    MDB_val v;
    uint64_t rows = 0;
    int rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
    for (; rc == 0 && rows < s->rows_max; rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) {
        struct vq_span key = vq_env_span(k);
        enum vq_record_kind kind;
        struct vq_id of;
        struct vq_call_row call;
        enum vq_status status = vq_ledger_key_read(key, &kind, &of);
        bool other = status == VQ_OK && s->run != NULL && !vq_id_eq(&of, s->run);
        if (status == VQ_OK && (other || kind != VQ_RECORD_CALL)) {
            if (s->run != NULL) {
                return VQ_OK;
            }
            continue;
        }
        if (status == VQ_OK) {
            status = vq_record_read_call(key, vq_env_span(v), &call);
        }
        if (status != VQ_OK) {
            return vq_env_bad_value(s->view->calls, status, "the ledger row", key, s->err);
        }
        rows++;
        VQ_TRY(s->row(s->ctx, &call));
    }
    return rc == 0 || rc == MDB_NOTFOUND
               ? VQ_OK
               : vq_env_status(s->view->calls, rc, "reading the ledger", s->err);
}

static enum vq_status scan_all(const struct scan *s)
{
    MDB_cursor *cursor;
    int rc = mdb_cursor_open(s->view->txn, s->view->calls->ledger, &cursor);
    if (rc != 0) {
        return vq_env_status(s->view->calls, rc, "reading the ledger", s->err);
    }
    enum vq_status status = scan(s, cursor);
    mdb_cursor_close(cursor);
    return status;
}

enum vq_status vq_ledger_scan(struct vq_view *view, const struct vq_id *run, vq_ledger_row_fn row,
                              void *ctx, struct vq_error *err)
{
    struct scan s = {view, run, UINT64_MAX, row, ctx, err};
    return scan_all(&s);
}

enum vq_status vq_ledger_scan_any(struct vq_view *view, uint64_t rows_max, vq_ledger_row_fn row,
                                  void *ctx, struct vq_error *err)
{
    struct scan s = {view, NULL, rows_max, row, ctx, err};
    return scan_all(&s);
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
