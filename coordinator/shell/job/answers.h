/* From a stage's column and the call store to the script that asked. */
#ifndef VQ_SHELL_ANSWERS_H
#define VQ_SHELL_ANSWERS_H

#include "coordinator/pipeline/script.h"
#include "coordinator/shell/job/asking.h"
#include "coordinator/store/calls.h"

/* `outcomes`: one byte a task of the asking. VQ_NOMEM, what the store says, what the script says. */
enum vq_status vq_answers_take(const struct vq_script *script, const struct vq_asking *asking,
                               const uint8_t *outcomes, struct vq_calls *calls,
                               const struct vq_id *run, struct vq_error *err) VQ_WARN_UNUSED;

#endif
