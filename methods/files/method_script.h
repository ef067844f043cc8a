/* What a job asks from its first stage to its last: the script that its method is, and what comes
 * of it. */
#ifndef VQ_METHODS_FILES_METHOD_SCRIPT_H
#define VQ_METHODS_FILES_METHOD_SCRIPT_H

#include "methods/files/job.h"
#include "methods/script.h"

/* All NULL: closed. */
struct vq_method_script {
    struct vq_method *method;   /* one of the three */
    struct vq_rubric *rubric;   /* method: judge */
    struct vq_persona *persona; /* method: persona */
    struct vq_script script;
};

/* Borrows from the job. The caller closes *ret_course. */
enum vq_status vq_method_script_open(const struct vq_job *job, struct vq_method_script *ret_course,
                                     struct vq_error *err) VQ_WARN_UNUSED;
void vq_method_script_close(struct vq_method_script *course);

#endif
