/* The questions of a rubric run, as a script: every output of every row, by every criterion, for
 * every judge and repeat. There is one stage per kind of criterion and repeat. Invariant: no stage
 * depends on an answer. */
#pragma once

#include "methods/rubric/data.h"
#include "methods/script.h"

/* Borrowed. The caller must not change it while the rubric lives. */
struct vq_rubric_input {
    const struct vq_criterion *criteria;
    uint32_t criteria_count;
    const struct vq_rubric_row *rows;
    uint32_t rows_count;
    uint32_t outputs_count;
    uint32_t judges_count;
    struct vq_conf_rating rating;
};

/* One question, asked once: a task of one of the stages. */
struct vq_rubric_place {
    uint32_t criterion;
    uint32_t row;
    uint32_t output; /* the rated output; 0 for a pairwise criterion, which shows both */
    uint32_t judge;
    uint32_t repeat;
    uint32_t order; /* pairwise: number of the model that is shown first; else 0 */
};

struct vq_rubric;
/* VQ_OK, VQ_NOMEM, VQ_LIMIT (too many questions). */
enum vq_status vq_rubric_create(const struct vq_rubric_input *input, struct vq_rubric **ret_rubric,
                                struct vq_error *err) VQ_WARN_UNUSED;
void vq_rubric_destroy(struct vq_rubric **rubric);
struct vq_script vq_rubric_script(struct vq_rubric *rubric);
const struct vq_rubric_input *vq_rubric_input(const struct vq_rubric *rubric);

/* All stages, asked or not; they live as long as the rubric. */
uint32_t vq_rubric_stages_count(const struct vq_rubric *rubric);
const struct vq_stage *vq_rubric_stage(const struct vq_rubric *rubric, uint32_t stage);
/* The first stage with a criterion. */
const struct vq_stage *vq_rubric_stage_of(const struct vq_rubric *rubric, uint32_t criterion);
/* The question of a task. If the stage is not pairwise, its order 1 is never asked. */
struct vq_rubric_place vq_rubric_place(const struct vq_rubric *rubric, uint32_t stage,
                                       uint64_t task);
/* The task of a question: the inverse of vq_rubric_place. */
uint64_t vq_rubric_task(const struct vq_rubric *rubric, const struct vq_rubric_place *place,
                        uint32_t *ret_stage);

/* A dense number of every question, by criterion, row, output, judge, repeat, order; the last one
 * varies fastest. */
size_t vq_rubric_slots(const struct vq_rubric *rubric);
size_t vq_rubric_slot(const struct vq_rubric *rubric, const struct vq_rubric_place *place);
/* The number of outputs that a criterion rates one by one; 1 for a pairwise criterion. */
uint32_t vq_rubric_rated_outputs(const struct vq_rubric_input *in, uint32_t criterion);

/* enum vq_outcome by slot, for the stages that were taken; else NONE. */
const uint8_t *vq_rubric_outcomes(const struct vq_rubric *rubric);
