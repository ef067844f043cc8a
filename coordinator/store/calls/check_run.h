/* One run's rows of the call store, checked against each other: what `vibeq verify` asks of the
 * store. Reads everything, changes nothing, and goes on behind what is wrong. */
#pragma once

#include "coordinator/store/calls/calls.h"
#include "coordinator/store/calls/lookup.h"

struct vq_check_run {
    uint64_t rows;    /* of calls and failures, and the run's own: sound */
    uint64_t damaged; /* rows and answers */
    uint64_t calls, answered, paid_unused, unknown;
    /* Nano-dollars of the run's own stages: of calls that were answered; of these, what nothing
     * stands on; of calls that were not and may have been billed */
    uint64_t paid_nano, paid_unused_nano, unknown_nano;
};

/* Called for each thing that is wrong, with a sentence that begins with what record it is about. */
typedef void (*vq_check_say_fn)(void *ctx, const char *sentence);

/* Each row of the run is whole; every answered call has its answer, and the ledger and the answer
 * agree on whose it is; no row is of a later epoch than the run; a failure names a call that
 * failed. VQ_OK, whatever was found; VQ_IO and its like with `err`. */
enum vq_status vq_check_run(struct vq_view *view, const struct vq_id *run, vq_check_say_fn say,
                            void *ctx, struct vq_check_run *ret_check,
                            struct vq_error *err) VQ_WARN_UNUSED;

/* The other direction: an answer that is in force for a task of the run, and that the run bought,
 * has its row in the ledger. */
enum vq_status vq_check_standing(const struct vq_view *view, const struct vq_id *run,
                                 const struct vq_answer *answer, vq_check_say_fn say, void *ctx,
                                 struct vq_error *err) VQ_WARN_UNUSED;
