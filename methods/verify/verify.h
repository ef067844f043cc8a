/* Compares a run's own records with each other, all derived again: the result of `vibeq verify`.
 * Changes nothing. For an active run it checks the committed state. docs/develop/audit.md lists the
 * checks. */
#pragma once

#include "coordinator/store/calls/check_run.h"
#include "methods/files/job.h"

#define VQ_VERIFY_SAID_MAX 1000u /* sentences that are stored; all are counted */

/* Borrowed. `job`'s generation is that of the run. */
struct vq_verify_input {
    const struct vq_job *job;
    struct vq_calls *calls;
    const struct vq_run_dir *dir;
    bool running; /* a process holds the run's lock */
};

struct vq_verify_list {
    char **said; /* owned */
    size_t count, cap;
    uint64_t all; /* number of all sentences, including those that are not stored */
};

struct vq_verify {
    struct vq_verify_list wrong; /* each begins with the name of the record: "results: ..." */
    struct vq_verify_list notes; /* worth knowing, but not wrong */
    struct vq_check_run store;
    bool finished; /* results and accounting are those of the run's last end */
    bool whole;    /* the walk went through all stages */
    bool redis;    /* Redis was compared */
    uint64_t planned, answered, not_needed, failed, open; /* tasks of the stages that were walked */
    uint64_t spooled, spooled_unknown;                    /* calls that are not committed yet */
};

/* VQ_OK, whether or not there are differences: see ret_verify->wrong.all. The caller frees
 * *ret_verify. */
enum vq_status vq_verify_run(const struct vq_verify_input *in, struct vq_verify *ret_verify,
                             struct vq_error *err) VQ_WARN_UNUSED;
void vq_verify_free(struct vq_verify *verify);
