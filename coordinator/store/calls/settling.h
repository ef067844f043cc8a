/* The share of a model's verdicts that settle a score, by the calls of all runs of the store: for a
 * plan, and for a run that has not measured it. */
#pragma once

#include "coordinator/store/calls/account.h"
#include "coordinator/store/calls/calls.h"

#define VQ_SETTLING_ROWS_MAX UINT64_C(100000) /* of the ledger */

struct vq_settling {
    /* second orders count too, so the share is a little low */
    uint64_t verdicts, settled;
};

/* Providers return a model's name as it is, or with a date or a version. */
bool vq_settling_is_called(struct vq_span returned, const char *model);

/* A call counts if its answer is a verdict, and it is not a repair. */
void vq_settling_add(struct vq_settling *settling, const struct vq_call_row *row);

/* For the model with these names. VQ_NOMEM, statuses of the store. */
enum vq_status vq_settling_of(struct vq_view *view, const char *const *names, uint32_t count,
                              struct vq_settling *ret_settling,
                              struct vq_error *err) VQ_WARN_UNUSED;
