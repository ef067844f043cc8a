/* A persona evaluation in memory for tests: a plan, ratings one by one, their numbers. After
 * cmocka. */
#pragma once

#include "common/base/alloc.h"
#include "methods/persona/numbers.h"

#include <math.h>

struct world {
    struct vq_persona_plan *plan;
    struct vq_persona_study study;
    struct vq_persona_numbers *numbers;
    struct vq_persona_rated *rated;
    double *values;
    uint8_t *statuses;
    double *human;
    size_t count, cap;
};

static inline void world_open(struct world *w, const struct vq_persona_design *design,
                              const struct vq_persona_criterion *criteria, uint32_t criteria_count,
                              uint32_t judges, size_t cap)
{
    struct vq_error err = {""};
    *w = (struct world){.cap = cap};
    if (vq_persona_plan_make(design, &w->plan, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    w->rated = vq_alloc(cap, sizeof(*w->rated));
    w->values = vq_alloc(cap * judges, sizeof(*w->values));
    w->statuses = vq_alloc(cap * judges, sizeof(*w->statuses));
    w->human = vq_alloc(cap, sizeof(*w->human));
    assert_true(w->rated != NULL && w->values != NULL && w->statuses != NULL && w->human != NULL);
    w->study = (struct vq_persona_study){.plan = w->plan,
                                         .criteria = criteria,
                                         .criteria_count = criteria_count,
                                         .judges = judges,
                                         .rated = w->rated,
                                         .values = w->values,
                                         .statuses = w->statuses};
}

/* The first judge's value; further judges' are missing until they are set. */
static inline size_t world_rate(struct world *w, struct vq_persona_rated rated, double value)
{
    assert_true(w->count < w->cap);
    w->rated[w->count] = rated;
    for (uint32_t j = 0; j < w->study.judges; j++) {
        bool present = j == 0 && !isnan(value);
        w->values[w->count * w->study.judges + j] = present ? value : NAN;
        w->statuses[w->count * w->study.judges + j] = present ? VQ_RATING_OK : VQ_RATING_MISSING;
    }
    w->human[w->count] = NAN;
    w->study.rated_count = w->count + 1;
    return w->count++;
}

static inline void world_set(struct world *w, size_t thing, uint32_t judge, double value)
{
    w->values[thing * w->study.judges + judge] = value;
    w->statuses[thing * w->study.judges + judge] = VQ_RATING_OK;
}

static inline void world_compute(struct world *w)
{
    struct vq_error err = {""};
    vq_persona_numbers_destroy(&w->numbers);
    if (vq_persona_numbers_compute(&w->study, &w->numbers, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
}

static inline const struct vq_persona_measure *world_measure(const struct world *w,
                                                             const char *name)
{
    for (uint32_t i = 0; i < w->numbers->measures_count; i++) {
        if (strcmp(w->numbers->measures[i].name, name) == 0) {
            return &w->numbers->measures[i];
        }
    }
    fail_msg("no measure \"%s\"", name);
    return NULL;
}

static inline const struct vq_cells_mean *world_at(const struct world *w, const char *name,
                                                   enum vq_persona_curve curve, uint32_t script,
                                                   uint32_t point)
{
    return vq_persona_curve_at(w->numbers, world_measure(w, name), curve, script, point);
}

static inline void world_close(struct world *w)
{
    vq_persona_numbers_destroy(&w->numbers);
    vq_persona_plan_destroy(&w->plan);
    vq_free(w->rated);
    vq_free(w->values);
    vq_free(w->statuses);
    vq_free(w->human);
}
