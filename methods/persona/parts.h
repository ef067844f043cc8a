/* Private to numbers.c, panel.c and curves.c: the steps that make a measure. */
#pragma once

#include "common/base/arena.h"
#include "methods/persona/numbers.h"

struct vq_persona_work {
    const struct vq_persona_study *study;
    struct vq_persona_numbers *out;
    struct vq_arena *arena;
    struct vq_arena space; /* until they are there */
    uint32_t *turns;       /* 0 to rounds - 1 */
    uint32_t *edges;       /* for joined turns: the last turn of each point */
    uint32_t edges_count;
    struct vq_error *err;
};

static inline size_t vq_panel_at(const struct vq_persona_work *w, uint32_t points, uint32_t cell,
                                 uint32_t script, uint32_t point)
{
    return ((size_t)cell * w->out->scripts + script) * points + point;
}

/* Values and counts of ratings, at the points that were rated. Curves come later. */
enum vq_status vq_panel_criterion(struct vq_persona_work *w,
                                  struct vq_persona_measure *m) VQ_WARN_UNUSED;
/* Whether the measure is of a criterion of turns that is rated from 1 to 5. */
bool vq_persona_in_fidelity(const struct vq_persona_measure *m);
enum vq_status vq_panel_fidelity(struct vq_persona_work *w,
                                 struct vq_persona_measure *m) VQ_WARN_UNUSED;
/* Makes the panel from the five measures of traits, `of`. */
enum vq_status vq_panel_traits(struct vq_persona_work *w, struct vq_persona_measure *m,
                               const struct vq_persona_measure *const of[VQ_TRAITS]) VQ_WARN_UNUSED;
enum vq_status vq_panel_measured(struct vq_persona_work *w,
                                 struct vq_persona_measure *m) VQ_WARN_UNUSED;

/* Computes curves, bars, slopes and sizes from the values. */
enum vq_status vq_measure_finish(struct vq_persona_work *w,
                                 struct vq_persona_measure *m) VQ_WARN_UNUSED; /* curves.c */
