/* Private to the store: the records of one (sample, vibe, judge) cell, read from a transaction. */
#pragma once

#include "coordinator/store/calls/env.h"
#include "coordinator/store/calls/lookup.h"
#include "coordinator/store/calls/record.h"

struct vq_cell_known {
    uint64_t task; /* order 0 */
    struct vq_task_plan plan;
    struct vq_attempt attempts[2][VQ_GENERATION_MAX + 1]; /* counted from the plan's `repeat` */
};

/* `task`: either order of the cell. `requests`: the request hashes of its orders at the plan's
 * first repeat, if the caller has them; or NULL. plan.audited is set only if it matters: if the
 * first order of an audited cell settles. */
enum vq_status vq_cell_load(const struct vq_view *view, const struct vq_plan *plan,
                            const struct vq_id *run, uint64_t task,
                            const struct vq_hash requests[2], struct vq_cell_known *ret_cell,
                            struct vq_error *err) VQ_WARN_UNUSED;
/* The attempts of one task, counted from the plan's `repeat`. `chain`: for a turn; otherwise NULL.
 * `request`: the first request hash if the caller has it, or NULL. Attempts after the last one that
 * matters are not set. */
enum vq_status vq_cell_attempts(const struct vq_view *view, const struct vq_plan *plan,
                                const struct vq_id *run, uint64_t task,
                                const struct vq_chain_state *chain, const struct vq_hash *request,
                                struct vq_attempt *ret_attempts,
                                struct vq_error *err) VQ_WARN_UNUSED;
/* The same for an empty store. */
void vq_cell_empty(const struct vq_plan *plan, uint64_t task, struct vq_cell_known *ret_cell);
void vq_cell_state(const struct vq_cell_known *cell, unsigned order, struct vq_task_view *ret_view);

/* Reads a failure row and checks it. VQ_NOT_FOUND without a sentence. In failures.c. */
enum vq_status vq_failure_read(const struct vq_view *view, const struct vq_id *run,
                               const struct vq_hash *request, struct vq_failure_row *ret_row,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* Lifts the failure of a request that has a row. In failures.c. */
enum vq_status vq_failure_lift(struct vq_write *write, const struct vq_id *run,
                               const struct vq_hash *request, int64_t unix_ms,
                               struct vq_error *err) VQ_WARN_UNUSED;

/* Reads the row of a call and checks it. VQ_NOT_FOUND without a sentence. */
enum vq_status vq_cell_call(const struct vq_view *view, const struct vq_id *run,
                            const struct vq_id *call, struct vq_call_row *ret_row,
                            struct vq_error *err) VQ_WARN_UNUSED;

static inline struct vq_span vq_hash_span(const struct vq_hash *hash)
{
    return vq_span((const char *)hash->b, sizeof(hash->b));
}

static inline struct vq_span vq_ledger_key_span(const struct vq_ledger_key *key)
{
    return vq_span((const char *)key->b, key->bytes);
}
