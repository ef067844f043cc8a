/* One place that knows which script carries out which method. Not its job: the script's stages. */
#include "methods/files/method_script.h"

enum vq_status vq_method_script_open(const struct vq_job *job, struct vq_method_script *ret_course,
                                     struct vq_error *err)
{
    struct vq_method_script course = {.method = NULL};
    if (job->config->method == VQ_METHOD_JUDGE) {
        VQ_TRY(vq_rubric_job_make(&job->rubric, job->config, job->cast[VQ_ROLE_JUDGE].count,
                                  &course.rubric, err));
        course.script = vq_rubric_script(course.rubric);
    } else if (job->config->method == VQ_METHOD_PERSONA) {
        VQ_TRY(vq_persona_job_make(&job->persona, job->config, job->templates[VQ_TEMPLATE_PERSONA],
                                   job->cast[VQ_ROLE_JUDGE].count, &course.persona, err));
        course.script = vq_persona_script(course.persona);
    } else {
        struct vq_method_input input;
        vq_job_method_input(job, &input);
        VQ_TRY(vq_method_create(&input, &course.method, err));
        course.script = vq_vibecheck_script(course.method);
    }
    *ret_course = course;
    return VQ_OK;
}

void vq_method_script_close(struct vq_method_script *course)
{
    vq_method_destroy(&course->method);
    vq_rubric_destroy(&course->rubric);
    vq_persona_destroy(&course->persona);
    *course = (struct vq_method_script){.method = NULL};
}
