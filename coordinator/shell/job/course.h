/* What a job asks from its first stage to its last: the script that its method is, and what comes of it. */
#ifndef VQ_SHELL_COURSE_H
#define VQ_SHELL_COURSE_H

#include "coordinator/pipeline/script.h"
#include "coordinator/shell/job/job.h"

/* All NULL: closed. */
struct vq_course {
    struct vq_method *method;   /* one of the three */
    struct vq_rubric *rubric;   /* method: judge */
    struct vq_persona *persona; /* method: persona */
    struct vq_script script;
};

/* Borrows from the job. The caller closes *ret_course. */
enum vq_status vq_course_open(const struct vq_job *job, struct vq_course *ret_course,
                              struct vq_error *err) VQ_WARN_UNUSED;
void vq_course_close(struct vq_course *course);

#endif
