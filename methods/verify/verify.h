/* A run's own records compared with each other, all derived again: what `vibeq verify` shows.
 * Changes nothing. Of a run that goes on it says how things stand with what is committed.
 * docs/develop/audit.md lists the checks. */
#pragma once

#include "coordinator/store/calls/check_run.h"
#include "methods/files/job.h"

#define VQ_VERIFY_SAID_MAX 1000u /* sentences that are kept; all are counted */

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
    uint64_t all; /* with those that are not kept */
};

struct vq_verify {
    struct vq_verify_list wrong; /* each begins with the record that it is about: "results: ..." */
    struct vq_verify_list notes; /* worth knowing, and nothing wrong */
    struct vq_check_run store;
    bool finished; /* its results and its accounting are those of its last end */
    bool whole;    /* all stages could be walked */
    bool redis;    /* compared with it */
    uint64_t planned, answered, not_needed, failed, open; /* tasks of the stages that were walked */
    uint64_t spooled, spooled_unknown;                    /* calls that no commit has taken yet */
};

/* VQ_OK, whatever was found: look at ret_verify->wrong.all. The caller frees *ret_verify. */
enum vq_status vq_verify_run(const struct vq_verify_input *in, struct vq_verify *ret_verify,
                             struct vq_error *err) VQ_WARN_UNUSED;
void vq_verify_free(struct vq_verify *verify);
