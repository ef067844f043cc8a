/* Reading the ledger: every call of a run, and the totals of accounting.json. */
#ifndef VQ_COORDINATOR_STORE_LEDGER_H
#define VQ_COORDINATOR_STORE_LEDGER_H

#include "coordinator/store/account.h"
#include "coordinator/store/calls.h"

/* Calls `row` for each call of the run, ascending by call id; rows point into the view. A status
 * other than VQ_OK ends the scan and is returned. */
typedef enum vq_status (*vq_ledger_row_fn)(void *ctx, const struct vq_call_row *row);
enum vq_status vq_ledger_scan(struct vq_view *view, const struct vq_id *run, vq_ledger_row_fn row,
                              void *ctx, struct vq_error *err) VQ_WARN_UNUSED;

/* The same over all runs of the store, at most `rows_max` rows of calls: for learning from them. */
enum vq_status vq_ledger_scan_any(struct vq_view *view, uint64_t rows_max, vq_ledger_row_fn row,
                                  void *ctx, struct vq_error *err) VQ_WARN_UNUSED;

/* The totals of a run from its ledger, and the plans and final outcomes of its stages, ascending. The caller destroys
 * *ret_account. */
enum vq_status vq_ledger_account(struct vq_view *view, const struct vq_id *run,
                                 const struct vq_account_plan *stages, uint32_t stages_count,
                                 struct vq_account **ret_account,
                                 struct vq_error *err) VQ_WARN_UNUSED;

#endif
