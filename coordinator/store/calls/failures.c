/* Failure rows: one key each, (run, request). Lifting replaces the row by one without an outcome:
 * it shows that a replay of its call must not fail the task again (commit.c). Not its job: the task
 * of a request, and the state in force (lookup.c). */
#include "coordinator/store/calls/failures.h"

#include "common/base/alloc.h"
#include "coordinator/store/calls/cell.h"

#define LIFTED_MAX ((size_t)1 << 30)
#define ROW_BYTES  256 /* approximate size of a row */

enum vq_status vq_failure_read(const struct vq_view *view, const struct vq_id *run,
                               const struct vq_hash *request, struct vq_failure_row *ret_row,
                               struct vq_error *err)
{
    struct vq_ledger_key key = vq_ledger_key_failure(run, request);
    struct vq_span k = vq_ledger_key_span(&key);
    struct vq_span value;
    VQ_TRY(vq_env_get(view, view->calls->ledger, k, &value, err));
    enum vq_status status = vq_record_read_failure(k, value, ret_row);
    return status == VQ_OK ? VQ_OK
                           : vq_env_bad_value(view->calls, status, "the failure row", k, err);
}

enum vq_status vq_failure_lift(struct vq_write *write, const struct vq_id *run,
                               const struct vq_hash *request, int64_t unix_ms, struct vq_error *err)
{
    struct vq_failure_row row;
    VQ_TRY(vq_failure_read(&write->view, run, request, &row, err));
    row.outcome = VQ_OUTCOME_NONE;
    row.unix_ms = unix_ms;
    struct vq_ledger_key key = vq_ledger_key_failure(run, request);
    struct vq_span k = vq_ledger_key_span(&key);
    struct vq_buf value;
    vq_buf_init(&value, VQ_RECORD_BYTES_MAX);
    vq_record_failure(&value, k, &row);
    enum vq_status status = value.status;
    if (status == VQ_OK) {
        status = vq_env_put(write, write->view.calls->ledger, k, vq_buf_span(&value), true, err);
    }
    vq_buf_free(&value);
    return status;
}

/* ---- all failures of a run ---- */

struct scan {
    struct vq_view *view;
    vq_failure_row_fn row;
    void *ctx;
};

static enum vq_status scan_row(void *ctx, struct vq_span key, struct vq_span value,
                               struct vq_error *err)
{
    const struct scan *s = ctx;
    enum vq_record_kind kind;
    struct vq_id of;
    struct vq_failure_row failure;
    struct vq_hash request;
    enum vq_status status = vq_ledger_key_read(key, &kind, &of);
    if (status == VQ_OK) {
        status = vq_record_read_failure(key, value, &failure);
    }
    if (status != VQ_OK) {
        return vq_env_bad_value(s->view->calls, status, "the failure row", key, err);
    }
    memcpy(request.b, key.at + VQ_ID_BYTES + 1, sizeof(request.b));
    return s->row(s->ctx, &request, &failure);
}

enum vq_status vq_failures_scan(struct vq_view *view, const struct vq_id *run,
                                vq_failure_row_fn row, void *ctx, struct vq_error *err)
{
    struct scan s = {view, row, ctx};
    struct vq_ledger_key prefix = vq_ledger_key_prefix(run, VQ_RECORD_FAILURE);
    return vq_env_each(view, view->calls->ledger, vq_ledger_key_span(&prefix), scan_row, &s, err);
}

struct lift {
    const struct vq_id *run;
    uint32_t failures;
    int64_t unix_ms;
    struct vq_hash *requests;
    size_t count, cap;
};

static enum vq_status lift_row(void *ctx, const struct vq_hash *request,
                               const struct vq_failure_row *row)
{
    struct lift *lift = ctx;
    if ((vq_outcome_failure_bit(row->outcome) & lift->failures) == 0) {
        return VQ_OK;
    }
    VQ_TRY(VQ_GROW(lift->requests, &lift->cap, lift->count + 1, LIFTED_MAX));
    lift->requests[lift->count++] = *request;
    return VQ_OK;
}

static enum vq_status lift_write(void *ctx, struct vq_write *write, struct vq_error *err)
{
    struct lift *lift = ctx;
    for (size_t i = 0; i < lift->count; i++) {
        VQ_TRY(vq_failure_lift(write, lift->run, &lift->requests[i], lift->unix_ms, err));
    }
    return vq_env_raise_commit(write, lift->run, err);
}

enum vq_status vq_failures_lift(struct vq_calls *calls, const struct vq_id *run, uint32_t failures,
                                int64_t unix_ms, size_t *ret_count, struct vq_error *err)
{
    struct lift lift = {.run = run, .failures = failures, .unix_ms = unix_ms};
    struct vq_view *view = NULL;
    VQ_TRY(vq_view_begin(calls, &view, err));
    enum vq_status status = vq_failures_scan(view, run, lift_row, &lift, err);
    vq_view_end(&view);
    if (status == VQ_OK && lift.count > 0) {
        status = vq_env_write(calls, ROW_BYTES * (uint64_t)lift.count, lift_write, &lift, err);
    }
    vq_free(lift.requests);
    if (status == VQ_OK) {
        *ret_count = lift.count;
    }
    return status;
}
