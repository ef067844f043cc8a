/* The VibeCheck method's part of a job, for code that shows or reads it. */
#pragma once

#include "methods/files/job.h"
#include "methods/vibecheck/files/human.h"
#include "methods/vibecheck/labels.h"
#include "methods/vibecheck/method.h"

/* The data that the method adds to a job. */
struct vq_vibecheck_job {
    struct vq_human_job human;
    struct vq_axis *axes; /* vibes of the configuration; the presets if vibes are discovered */
    uint32_t axes_count;
    struct vq_row *rows; /* one per sample: facts for the numbers */
    uint32_t *train;     /* training samples in seeded random order */
    /* [sample]: number of its value of data.group; NULL: there is no such column */
    uint32_t *topics;
    struct vq_arena memory; /* holds all of these and the samples of the job */
};

extern const struct vq_method_type vq_vibecheck_method;

/* NULL: the job has another method. */
const struct vq_vibecheck_job *vq_vibecheck_job_of(const struct vq_job *job);

/* The frame for people's labels of this job's samples on these axes, which are borrowed. */
struct vq_label_frame vq_vibecheck_label_frame(const struct vq_job *job, const struct vq_axis *axes,
                                               uint32_t axes_count);

/* The input of the method's script. Borrows from the job. */
void vq_vibecheck_job_input(const struct vq_job *job, struct vq_vibecheck_method_input *ret_input);
