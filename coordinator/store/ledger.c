/* Walks a run's rows of the ledger, in key order.
 * Not its job: adding up (account.c). */
#include "coordinator/store/ledger.h"

#include "coordinator/store/cell.h"

static enum vq_status scan(struct vq_view *view, MDB_cursor *cursor, const struct vq_id *run,
                           vq_ledger_row_fn row, void *ctx, struct vq_error *err)
{
    static const struct vq_id zero;
    struct vq_ledger_key from = vq_ledger_key_call(run, &zero);
    MDB_val k = {.mv_size = from.bytes, .mv_data = from.b};
    MDB_val v;
    int rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
    for (; rc == 0; rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) {
        struct vq_span key = vq_env_span(k);
        enum vq_record_kind kind;
        struct vq_id of;
        struct vq_call_row call;
        enum vq_status status = vq_ledger_key_read(key, &kind, &of);
        if (status == VQ_OK && (!vq_id_eq(&of, run) || kind != VQ_RECORD_CALL)) {
            return VQ_OK;
        }
        if (status == VQ_OK) {
            status = vq_record_read_call(key, vq_env_span(v), &call);
        }
        if (status != VQ_OK) {
            return vq_env_bad_value(view->calls, status, "the ledger row", key, err);
        }
        VQ_TRY(row(ctx, &call));
    }
    return rc == MDB_NOTFOUND ? VQ_OK : vq_env_status(view->calls, rc, "reading the ledger", err);
}

enum vq_status vq_ledger_scan(struct vq_view *view, const struct vq_id *run, vq_ledger_row_fn row,
                              void *ctx, struct vq_error *err)
{
    MDB_cursor *cursor;
    int rc = mdb_cursor_open(view->txn, view->calls->ledger, &cursor);
    if (rc != 0) {
        return vq_env_status(view->calls, rc, "reading the ledger", err);
    }
    enum vq_status status = scan(view, cursor, run, row, ctx, err);
    mdb_cursor_close(cursor);
    return status;
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
