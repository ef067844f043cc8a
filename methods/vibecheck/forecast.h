/* The call-count model of VibeCheck (docs/method/method.md): every stage that may follow, and its
 * number of questions. */
#pragma once

#include "methods/plan/forecast.h"

/* Name of a stage of a ranking that ends with a look at its vibes: the ranking's name, and the
 * look's number from 1. */
#define VQ_LOOK_NAME "%s, look %u"

/* Name of the second judge's stage of a cascade, after the ranking's name. */
#define VQ_SECOND_ENDING ", second judge"
#define VQ_SECOND_NAME   "%s" VQ_SECOND_ENDING

struct vq_vibecheck_facts {
    const struct vq_config *config;
    uint32_t train, test; /* number of rows */
    uint32_t axes;        /* number of given vibes; of presets if vibes are discovered */
    bool labels;          /* judges label the rows first */
    bool embedder;        /* the run has an embedder */
    struct vq_forecast_seen seen;
};

/* In the method's order. `ret_stages` has room for VQ_FORECAST_STAGES_MAX; returns the number of
 * stages. */
uint32_t vq_vibecheck_forecast(const struct vq_vibecheck_facts *facts,
                               struct vq_forecast_stage *ret_stages);
