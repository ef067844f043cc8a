/* What the VibeCheck method makes of its job, for those who show or read it. */
#pragma once

#include "methods/files/job.h"
#include "methods/vibecheck/files/human.h"
#include "methods/vibecheck/labels.h"
#include "methods/vibecheck/method.h"

/* What the method adds to a job. */
struct vq_vibecheck_job {
    struct vq_human_job human;
    struct vq_axis *axes; /* given by the configuration; the presets where they are discovered */
    uint32_t axes_count;
    struct vq_row *rows; /* a sample each: facts for the numbers */
    uint32_t *train;     /* samples that train, in seeded random order */
    uint32_t *topics;    /* a number for each sample's value of data.group; NULL: no such column */
};

extern const struct vq_method_type vq_vibecheck_method;

/* NULL: the job is of another method. */
const struct vq_vibecheck_job *vq_vibecheck_job_of(const struct vq_job *job);

/* People's labels of this job's samples on these axes, which are borrowed. */
struct vq_label_frame vq_vibecheck_label_frame(const struct vq_job *job, const struct vq_axis *axes,
                                               uint32_t axes_count);

/* What the method works on. Borrows from the job. */
void vq_vibecheck_job_input(const struct vq_job *job, struct vq_vibecheck_method_input *ret_input);
