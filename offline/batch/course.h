/* The course of a batch: its state as a function of now, and the progress of its lines. Pure. */
#pragma once

#include "common/base/hash.h"
#include "offline/batch/rules.h"

#define VQ_BATCH_NEVER INT64_MAX

enum vq_offline_batch_phase {
    VQ_BATCH_VALIDATING,
    VQ_BATCH_FAILED, /* during validation; no line was done */
    VQ_BATCH_RUNNING,
    VQ_BATCH_FINALIZING,
    VQ_BATCH_CANCELLING,
    VQ_BATCH_COMPLETED,
    VQ_BATCH_EXPIRED,
    VQ_BATCH_CANCELLED,
};

struct vq_offline_batch_course {
    uint64_t lines;
    uint64_t lines_done_max; /* below `lines`: the batch never completes */
    bool is_refused;         /* it fails when its validation ends */
    int64_t created_ns;
    int64_t valid_ns;   /* the validation ends, the work starts */
    int64_t work_ns;    /* the last line is done, if the batch completes */
    int64_t expires_ns; /* the work is cut off */
    int64_t cancel_ns;  /* when its cancellation was requested; VQ_BATCH_NEVER */
    int64_t finalize_takes_ns;
    int64_t cancel_takes_ns;
};

/* `hash` is of the batch's content and `nth` its number, from 1: both decide the draws. */
void vq_offline_batch_course_plan(const struct vq_offline_batch_rules *rules, uint64_t seed,
                                  const struct vq_hash *hash, uint64_t nth, uint64_t lines,
                                  int64_t now_ns, struct vq_offline_batch_course *ret_course);

enum vq_offline_batch_phase
vq_offline_batch_course_phase(const struct vq_offline_batch_course *course, int64_t now_ns);
bool vq_offline_batch_phase_is_last(enum vq_offline_batch_phase phase);
/* Lines that are done by now; no line is done after the work was cut off. */
uint64_t vq_offline_batch_course_done(const struct vq_offline_batch_course *course, int64_t now_ns);
/* When the work was cut off or ended. */
int64_t vq_offline_batch_course_stop_ns(const struct vq_offline_batch_course *course);
/* When the last phase starts. */
int64_t vq_offline_batch_course_end_ns(const struct vq_offline_batch_course *course);
/* The next time after now at which a line is done or the phase changes; VQ_BATCH_NEVER. */
int64_t vq_offline_batch_course_next_ns(const struct vq_offline_batch_course *course,
                                        int64_t now_ns);
/* Does nothing in a last phase, or if the batch was already cancelled. */
void vq_offline_batch_course_cancel(struct vq_offline_batch_course *course, int64_t now_ns);
