/* A planted world of more than two models: each prompt is a record, each pair of models a row, and
 * a judge sees the higher of two latent values. */
#pragma once

#include "planted.h"

#include "methods/vibecheck/numbers/ranking.h"

#define RANKED_MOOD 1.0 /* spread of an output's value about its model's */
#define RANKED_TIE  0.5 /* values that are nearer than this are equal */

/* `strength`: of each model on each vibe, [vibe * models + model]. Prompts are alternately train
 * and test. */
static inline struct planted *ranked_create(uint32_t models, uint32_t prompts, uint32_t judges,
                                            uint32_t vibes, const double *strength, uint64_t seed)
{
    uint32_t pairs = models * (models - 1) / 2;
    struct planted *w = planted_create(prompts * pairs, judges, vibes, seed);
    w->config.models_count = models;
    w->config.regression.bootstrap_draws = 100;
    for (uint32_t p = 0, row = 0; p < prompts; p++) {
        double of[VQ_MODELS_MAX * 8];
        for (uint32_t k = 0; k < models * vibes; k++) {
            double sum = -6.0; /* twelve uniforms: about normal */
            for (int i = 0; i < 12; i++) {
                sum += vq_rng_unit(&w->rng);
            }
            of[k] = strength[k] + RANKED_MOOD * sum;
        }
        for (uint32_t a = 0; a < models; a++) {
            for (uint32_t b = a + 1; b < models; b++, row++) {
                w->rows[row] = (struct vq_row){
                    .group = p, .record = p, .test = p % 2 == 1, .model = {(uint8_t)a, (uint8_t)b}};
                for (uint32_t v = 0; v < vibes; v++) {
                    double gap = of[v * models + a] - of[v * models + b];
                    int score = fabs(gap) < RANKED_TIE ? 0 : gap > 0 ? 1 : -1;
                    for (uint32_t j = 0; j < judges; j++) {
                        planted_say(w, row, v, j, score);
                    }
                }
            }
        }
    }
    return w;
}
