/* An open script of a job's method, with the method's state from which the results are made. */
#pragma once

#include "methods/files/job.h"
#include "methods/script.h"

/* All NULL: closed. */
struct vq_method_script {
    const struct vq_method_type *type;
    void *state; /* owned; only the method knows its type */
    struct vq_script script;
};

/* Borrows from the job. The caller closes *ret_script. */
enum vq_status vq_method_script_open(const struct vq_job *job, struct vq_method_script *ret_script,
                                     struct vq_error *err) VQ_WARN_UNUSED;
void vq_method_script_close(struct vq_method_script *script);
