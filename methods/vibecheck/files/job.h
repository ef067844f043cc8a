/* What the VibeCheck method makes of its job, for those who show or read it. */
#ifndef VQ_METHODS_VIBECHECK_FILES_JOB_H
#define VQ_METHODS_VIBECHECK_FILES_JOB_H

#include "methods/files/job.h"
#include "methods/vibecheck/labels.h"
#include "methods/vibecheck/method.h"

/* People's labels of this job's samples on these axes, which are borrowed. */
struct vq_label_frame vq_job_label_frame(const struct vq_job *job, const struct vq_axis *axes,
                                         uint32_t axes_count);

/* What the method works on. Borrows from the job. */
void vq_job_method_input(const struct vq_job *job, struct vq_method_input *ret_input);

#endif
