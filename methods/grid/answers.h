/* From a stage's column and the call store to the script that asked. */
#pragma once

#include "coordinator/store/calls/calls.h"
#include "methods/grid/stage_grid.h"
#include "methods/script.h"

/* `outcomes`: one byte a task of the asking. VQ_NOMEM, what the store says, what the script
 * says. */
enum vq_status vq_answers_take(const struct vq_script *script, const struct vq_stage_grid *asking,
                               const uint8_t *outcomes, struct vq_calls *calls,
                               const struct vq_id *run, struct vq_error *err) VQ_WARN_UNUSED;

/* Finished stages of a run: the one of this number, retired or not. */
struct vq_answered {
    const struct vq_stage_grid *(*stage)(const void *of, uint32_t no);
    const void *of;
    struct vq_calls *calls;
    const struct vq_id *run;
};

/* A reader of their texts, on one view of the store. */
struct vq_stage_reader {
    struct vq_reader reader;
    const struct vq_answered *from;
    struct vq_view *view;
};
/* `from` is borrowed; the caller ends it. VQ_AGAIN: the store's map is being resized, try in the
 * next turn. */
enum vq_status vq_answers_begin(const struct vq_answered *from, struct vq_stage_reader *ret_answers,
                                struct vq_error *err) VQ_WARN_UNUSED;
void vq_answers_end(struct vq_stage_reader *answers); /* all-zero: nothing */

/* The script's next stage, with a reader lent if it takes one. */
enum vq_status vq_answers_next(const struct vq_script *script, const struct vq_answered *from,
                               const struct vq_stage **ret_stage,
                               struct vq_error *err) VQ_WARN_UNUSED;
