/* The call-count model of VibeCheck (docs/method/method.md): every stage that the method may come
 * to, and how often each asks. */
#pragma once

#include "methods/plan/forecast.h"

/* A stage of a ranking that ends with a look at its vibes, by the ranking's name and from 1. */
#define VQ_LOOK_NAME "%s, look %u"

/* The stage of a cascade's other judge, by the ranking's name. */
#define VQ_SECOND_ENDING ", second judge"
#define VQ_SECOND_NAME   "%s" VQ_SECOND_ENDING

struct vq_vibecheck_facts {
    const struct vq_config *config;
    uint32_t train, test; /* rows */
    uint32_t axes;        /* given ones; the presets where vibes are discovered */
    bool labels;          /* judges label the rows first */
    bool embedder;        /* the run has an embedder */
    struct vq_forecast_seen seen;
};

/* In the method's order. `ret_stages` has room for VQ_FORECAST_STAGES_MAX; returns the number of
 * stages. */
uint32_t vq_vibecheck_forecast(const struct vq_vibecheck_facts *facts,
                               struct vq_forecast_stage *ret_stages);
