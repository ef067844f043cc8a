/* A run without answers may be asked with other settings, because no paid answer remains under an
 * old hash. Its failures are lifted, because they belong to the old question. commit_n rises each
 * time, because Redis may have outcomes of answers that did not count. Not its job: which settings
 * these are. */
#include "coordinator/store/calls/unanswered.h"

#include "coordinator/store/calls/env.h"
#include "coordinator/store/calls/failures.h"
#include "coordinator/store/calls/ledger.h"

static enum vq_status look(void *ctx, const struct vq_call_row *row)
{
    bool *any = ctx;
    *any = *any || (row->result.end == VQ_END_ANSWER && vq_outcome_is_good(row->result.outcome));
    return VQ_OK;
}

static enum vq_status find(struct vq_calls *calls, const struct vq_id *run, bool *ret_answered,
                           struct vq_error *err)
{
    struct vq_view *view = NULL;
    VQ_TRY(vq_view_begin(calls, &view, err));
    enum vq_status status = vq_ledger_scan(view, run, look, ret_answered, err);
    vq_view_end(&view);
    return status;
}

static enum vq_status raise_write(void *ctx, struct vq_write *write, struct vq_error *err)
{
    return vq_env_raise_commit(write, ctx, err);
}

enum vq_status vq_unanswered_reset(struct vq_calls *calls, const struct vq_id *run, int64_t unix_ms,
                                   enum vq_unanswered *ret_found, struct vq_error *err)
{
    struct vq_run_meta meta;
    enum vq_status status = vq_calls_read_run(calls, run, &meta, err);
    if (status == VQ_NOT_FOUND) {
        *ret_found = VQ_UNANSWERED;
        return VQ_OK;
    }
    VQ_TRY(status);
    bool answered = false;
    VQ_TRY(find(calls, run, &answered, err));
    if (answered || !meta.clean) {
        *ret_found = answered ? VQ_UNANSWERED_NOT : VQ_UNANSWERED_NOT_CLEAN;
        return VQ_OK;
    }
    size_t lifted;
    VQ_TRY(vq_failures_lift(calls, run, UINT32_MAX, unix_ms, &lifted, err));
    struct vq_id id = *run;
    VQ_TRY(vq_env_write(calls, 0, raise_write, &id, err));
    *ret_found = VQ_UNANSWERED;
    return VQ_OK;
}
