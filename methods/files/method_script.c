/* Finds a method by its word in the configuration (common/conf/methods.def), and opens its script
 * and results. Not its job: any difference between two methods (methods/files/method_type.h). */
#include "methods/files/method_script.h"

#include "methods/files/method_type.h"
#include "methods/files/results.h"

#define VQ_METHOD_ROW(name, word, folder) extern const struct vq_method_type vq_##folder##_method;
#include "common/conf/methods.def"
#undef VQ_METHOD_ROW

const struct vq_method_type *vq_method_type_of(const struct vq_config *config)
{
    static const struct vq_method_type *const types[VQ_METHOD__COUNT] = {
#define VQ_METHOD_ROW(name, word, folder) &vq_##folder##_method,
#include "common/conf/methods.def"
#undef VQ_METHOD_ROW
    };
    return types[config->method];
}

enum vq_status vq_method_script_open(const struct vq_job *job, struct vq_method_script *ret_script,
                                     struct vq_error *err)
{
    struct vq_method_script script = {.type = job->method};
    VQ_TRY(job->method->open(job, &script.state, &script.script, err));
    *ret_script = script;
    return VQ_OK;
}

void vq_method_script_close(struct vq_method_script *script)
{
    if (script->type != NULL) {
        script->type->close(script->state);
    }
    *script = (struct vq_method_script){.type = NULL};
}

enum vq_status vq_results_write(const struct vq_results *results, bool *ret_missing,
                                struct vq_error *err)
{
    return results->method->type->results(results, ret_missing, err);
}
