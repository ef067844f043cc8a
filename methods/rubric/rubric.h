/* The questions of a rubric run: every output of every row by every criterion, for every judge and
 * repeat; as a script with one stage per kind of criterion and repeat. No stage depends on an
 * answer. */
#pragma once

#include "methods/rubric/data.h"
#include "methods/script.h"

/* Borrowed, and unchanged while the rubric lives. */
struct vq_rubric_input {
    const struct vq_criterion *criteria;
    uint32_t criteria_count;
    const struct vq_rubric_row *rows;
    uint32_t rows_count;
    uint32_t outputs_count;
    uint32_t judges_count;
    struct vq_conf_rating rating;
};

/* One question put once: a task of one of the stages. */
struct vq_rubric_place {
    uint32_t criterion;
    uint32_t row;
    uint32_t output; /* that is rated; 0 of a pairwise criterion, which looks at both */
    uint32_t judge;
    uint32_t repeat;
    uint32_t order; /* pairwise: which of the models is shown first; else 0 */
};

struct vq_rubric;
/* VQ_OK, VQ_NOMEM, VQ_LIMIT (more questions than can be held). */
enum vq_status vq_rubric_create(const struct vq_rubric_input *input, struct vq_rubric **ret_rubric,
                                struct vq_error *err) VQ_WARN_UNUSED;
void vq_rubric_destroy(struct vq_rubric **rubric);
struct vq_script vq_rubric_script(struct vq_rubric *rubric);
const struct vq_rubric_input *vq_rubric_input(const struct vq_rubric *rubric);

/* All stages, whether they were asked already or not; they live as long as the rubric. */
uint32_t vq_rubric_stages_count(const struct vq_rubric *rubric);
const struct vq_stage *vq_rubric_stage(const struct vq_rubric *rubric, uint32_t stage);
/* The first stage that asks a criterion. */
const struct vq_stage *vq_rubric_stage_of(const struct vq_rubric *rubric, uint32_t criterion);
/* What a task of a stage is; the order 1 of a stage that is no pairwise one is never asked. */
struct vq_rubric_place vq_rubric_place(const struct vq_rubric *rubric, uint32_t stage,
                                       uint64_t task);
/* The other way round. */
uint64_t vq_rubric_task(const struct vq_rubric *rubric, const struct vq_rubric_place *place,
                        uint32_t *ret_stage);

/* A dense number of every question, by criterion, row, output, judge, repeat, order in this
 * order. */
size_t vq_rubric_slots(const struct vq_rubric *rubric);
size_t vq_rubric_slot(const struct vq_rubric *rubric, const struct vq_rubric_place *place);
/* Outputs that a criterion rates one by one: 1 of a pairwise one. */
uint32_t vq_rubric_rated_outputs(const struct vq_rubric_input *in, uint32_t criterion);

/* enum vq_outcome by slot, as far as stages were taken; NONE before. */
const uint8_t *vq_rubric_outcomes(const struct vq_rubric *rubric);
