/* Reads the ledger: every call of a run, and the totals of accounting.json. */
#pragma once

#include "coordinator/store/calls/account.h"
#include "coordinator/store/calls/calls.h"

/* Calls `row` for each call of the run, ascending by call id; rows point into the view. Another
 * status than VQ_OK ends the scan and is returned. */
typedef enum vq_status (*vq_ledger_row_fn)(void *ctx, const struct vq_call_row *row);
enum vq_status vq_ledger_scan(struct vq_view *view, const struct vq_id *run, vq_ledger_row_fn row,
                              void *ctx, struct vq_error *err) VQ_WARN_UNUSED;

/* The same over all runs of the store, at most `rows_max` rows of calls: for estimates. */
enum vq_status vq_ledger_scan_any(struct vq_view *view, uint64_t rows_max, vq_ledger_row_fn row,
                                  void *ctx, struct vq_error *err) VQ_WARN_UNUSED;

/* The totals of a run from its ledger, and from the plans and final outcomes of its stages,
 * ascending. The caller destroys *ret_account. */
enum vq_status vq_ledger_account(struct vq_view *view, const struct vq_id *run,
                                 const struct vq_account_plan *stages, uint32_t stages_count,
                                 struct vq_account **ret_account,
                                 struct vq_error *err) VQ_WARN_UNUSED;

/* The used part of a pool's daily quotas. */
struct vq_ledger_day {
    const char *pool; /* its name, borrowed */
    /* start of its day: calls that started earlier do not count; INT64_MAX: no call counts */
    int64_t since_unix_ms;
    uint64_t requests; /* result: calls that were sent, whatever their end */
    uint64_t tokens;   /* result: the sum of their vq_result_tokens */
};

/* The spending before this process: *ret_cost_nano by `run` in all its calls; for each pool of
 * `days` (distinct names) by all runs of the store. Calls recorded before there were pools have no
 * cost here. Runs that ended cleanly before the start of all these days are skipped; if no day
 * counts, every run except this one is skipped. On failure `days` may be partly filled. */
enum vq_status vq_ledger_spent(struct vq_view *view, const struct vq_id *run,
                               struct vq_ledger_day *days, uint32_t days_count,
                               uint64_t *ret_cost_nano, struct vq_error *err) VQ_WARN_UNUSED;
