/* Hands the answers of a stage, from its column and the call store, to the script that named the
 * stage. */
#pragma once

#include "coordinator/store/calls/calls.h"
#include "methods/grid/stage_grid.h"
#include "methods/script.h"

/* `outcomes`: one byte for each task of the grid. VQ_NOMEM, and the statuses of the store and of
 * the script. */
enum vq_status vq_answers_take(const struct vq_script *script, const struct vq_stage_grid *asking,
                               const uint8_t *outcomes, struct vq_calls *calls,
                               const struct vq_id *run, struct vq_error *err) VQ_WARN_UNUSED;

/* The finished stages of a run. `stage` returns the stage of a number, retired or not. */
struct vq_answered {
    const struct vq_stage_grid *(*stage)(const void *of, uint32_t no);
    const void *of;
    struct vq_calls *calls;
    const struct vq_id *run;
};

/* Reads the texts of finished stages, in one view of the store. */
struct vq_stage_reader {
    struct vq_reader reader;
    const struct vq_answered *from;
    struct vq_view *view;
};
/* `from` is borrowed; the caller ends *ret_answers. VQ_AGAIN: the store's map is being resized; try
 * in the next turn. */
enum vq_status vq_answers_begin(const struct vq_answered *from, struct vq_stage_reader *ret_answers,
                                struct vq_error *err) VQ_WARN_UNUSED;
void vq_answers_end(struct vq_stage_reader *answers); /* all-zero: does nothing */

/* Gets the script's next stage, and lends the script a reader if it takes one. */
enum vq_status vq_answers_next(const struct vq_script *script, const struct vq_answered *from,
                               const struct vq_stage **ret_stage,
                               struct vq_error *err) VQ_WARN_UNUSED;
