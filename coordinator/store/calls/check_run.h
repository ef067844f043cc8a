/* Checks the rows of one run in the call store against each other, for `vibeq verify`. It reads
 * everything, changes nothing, and continues after an error. */
#pragma once

#include "coordinator/store/calls/calls.h"
#include "coordinator/store/calls/lookup.h"

struct vq_check_run {
    uint64_t rows;    /* sound rows: of calls, of failures, and the run's own */
    uint64_t damaged; /* rows and answers */
    uint64_t calls, answered, paid_unused, unknown;
    /* Nano-dollars of the run's own stages: for answered calls; of these, for answers that are not
     * in force; for calls without an answer that may have been charged */
    uint64_t paid_nano, paid_unused_nano, unknown_nano;
};

/* Called for each error, with a sentence that begins with the name of the record. */
typedef void (*vq_check_report_fn)(void *ctx, const char *sentence);

/* Checks: each row of the run is whole; every answered call has its answer, and ledger and answer
 * name the same call and run; no row is of a later epoch than the run; a failure names a call that
 * failed. VQ_OK, even if errors were found; VQ_IO and similar with `err`. */
enum vq_status vq_check_run(struct vq_view *view, const struct vq_id *run, vq_check_report_fn say,
                            void *ctx, struct vq_check_run *ret_check,
                            struct vq_error *err) VQ_WARN_UNUSED;

/* The other direction: an answer that is in force for a task of the run, and that the run bought,
 * has its row in the ledger. */
enum vq_status vq_check_standing(const struct vq_view *view, const struct vq_id *run,
                                 const struct vq_answer *answer, vq_check_report_fn say, void *ctx,
                                 struct vq_error *err) VQ_WARN_UNUSED;
