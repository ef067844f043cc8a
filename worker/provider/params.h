/* Private to this folder: the parameters that an error refuses, by params.def. */
#pragma once

#include "common/judge/request.h"
#include "proto/params.h"

struct vq_param_name {
    const char *dialects;
    uint32_t param;
    const char *text;
};

/* The tables, in their order. */
const struct vq_param_name *vq_param_names(size_t *ret_count);
const char *const *vq_param_refusals(size_t *ret_count);

/* The bits of the parameters that the error refuses; 0: no known one. `param` is the error's member
 * of that name. */
uint32_t vq_params_refused(const char *dialect, const char *param, const char *code,
                           const char *message);
