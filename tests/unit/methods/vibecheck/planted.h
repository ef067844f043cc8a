/* Planted verdicts for the tests of this folder: a world of rows, and judges who see a known truth
 * with known faults, with the law that their scores follow. Shares nothing with the offline
 * server. */
#pragma once

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "methods/stats/stats.h"
#include "methods/vibecheck/numbers/vibecheck.h"

#include <math.h>
#include <string.h>

struct planted {
    struct vq_config config;
    struct vq_rng rng;
    struct vq_row *rows; /* alternately train and test, each its own question, unlabelled */
    struct vq_axis *axes;
    uint8_t *first;
    uint8_t *outcomes; /* all equal */
    struct vq_vibecheck_input in;
};

static inline struct planted *planted_create(uint32_t samples, uint32_t judges, uint32_t vibes,
                                             uint64_t seed)
{
    struct planted *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    struct vq_grid grid = {samples, judges, vibes};
    vq_rng_seed(&w->rng, seed);
    w->config.seed = seed;
    w->config.judges_count = judges;
    w->config.judging.audit_share = 0.1;
    w->config.gates.separability_min = 0.05;
    w->config.gates.kappa = true;
    w->config.gates.kappa_min = 0.2;
    w->config.gates.overlap = VQ_CONF_OVERLAP_OFF;
    w->config.gates.overlap_max = 0.8;
    w->rows = vq_alloc(samples, sizeof(*w->rows));
    w->axes = vq_alloc(vibes, sizeof(*w->axes));
    w->first = vq_alloc((size_t)samples * judges, 1);
    w->outcomes = vq_alloc(vq_grid_tasks(&grid), 1);
    assert_true(w->rows != NULL && w->axes != NULL && w->first != NULL && w->outcomes != NULL);
    for (uint32_t i = 0; i < samples; i++) {
        w->rows[i] = (struct vq_row){.group = i, .test = i % 2 == 1};
        for (uint32_t j = 0; j < judges; j++) {
            w->first[(size_t)i * judges + j] = (uint8_t)vq_rng_below(&w->rng, 2);
        }
    }
    for (uint32_t v = 0; v < vibes; v++) {
        w->axes[v] = (struct vq_axis){"name", "low", "high"};
    }
    memset(w->outcomes, VQ_OUTCOME_EQUAL, vq_grid_tasks(&grid));
    w->in = (struct vq_vibecheck_input){.config = &w->config,
                                        .grid = grid,
                                        .outcomes = w->outcomes,
                                        .rows = w->rows,
                                        .axes = w->axes,
                                        .first_order = w->first};
    return w;
}

static inline void planted_destroy(struct planted *w)
{
    vq_free(w->rows);
    vq_free(w->axes);
    vq_free(w->first);
    vq_free(w->outcomes);
    vq_free(w);
}

static inline struct vq_vibecheck *planted_compute(struct planted *w)
{
    struct vq_vibecheck *r = NULL;
    struct vq_error err = {0};
    enum vq_status status = vq_vibecheck_compute(&w->in, &r, &err);
    if (status != VQ_OK) {
        print_error("%s: %s\n", vq_status_name(status), err.text);
    }
    assert_int_equal(status, VQ_OK);
    return r;
}

static inline uint8_t *planted_cell(struct planted *w, uint32_t sample, uint32_t vibe,
                                    uint32_t judge)
{
    return w->outcomes + vq_grid_task(&w->in.grid, (struct vq_cell){sample, judge, vibe, 0});
}

/* The verdict that gives A the sign `score`, as it is said in one order. */
static inline uint8_t planted_verdict(int score, uint32_t order)
{
    if (score == 0) {
        return VQ_OUTCOME_EQUAL;
    }
    return (score > 0) == (order == 0) ? VQ_OUTCOME_FIRST : VQ_OUTCOME_SECOND;
}

static inline void planted_say(struct planted *w, uint32_t sample, uint32_t vibe, uint32_t judge,
                               int score)
{
    uint8_t *both = planted_cell(w, sample, vibe, judge);
    both[0] = planted_verdict(score, 0);
    both[1] = planted_verdict(score, 1);
}

/* A judge's faults, as chances. The first four are drawn once for both orders, in this order; the
 * others for each order. */
struct lens {
    double position, na, tie, error; /* names what is shown first; N/A; equal; the opposite */
    double order_error, fail;        /* the opposite in one order; no answer in one order */
};

static inline bool planted_chance(struct vq_rng *rng, double p)
{
    return vq_rng_unit(rng) < p;
}

static inline void planted_ask(struct vq_rng *rng, const struct lens *l, int truth, uint8_t both[2])
{
    bool position = planted_chance(rng, l->position);
    bool na = planted_chance(rng, l->na);
    bool tie = planted_chance(rng, l->tie);
    int seen = planted_chance(rng, l->error) ? -truth : truth;
    for (uint32_t order = 0; order < 2; order++) {
        int said = planted_chance(rng, l->order_error) ? -seen : seen;
        both[order] = position ? VQ_OUTCOME_FIRST
                      : na     ? VQ_OUTCOME_NA
                      : tie    ? VQ_OUTCOME_EQUAL
                               : planted_verdict(said, order);
        if (planted_chance(rng, l->fail)) {
            both[order] = VQ_OUTCOME_UNAVAILABLE;
        }
    }
}

/* What becomes of a cell whose truth is +1 under the strict rule; the first four sum to 1. */
struct law {
    double up, zero, down, missing;
    double contradicted; /* part of zero: both orders name one position */
};

static inline struct law planted_law(const struct lens *l)
{
    double speaks = (1 - l->position) * (1 - l->na) * (1 - l->tie);
    double settles = (1 - l->position) - speaks;
    double both = (1 - l->fail) * (1 - l->fail);
    double same = (1 - l->order_error) * (1 - l->order_error);
    double turned = l->order_error * l->order_error;
    struct law law = {
        .up = both * speaks * ((1 - l->error) * same + l->error * turned),
        .down = both * speaks * (l->error * same + (1 - l->error) * turned),
        .missing = settles * l->fail * l->fail + (1 - settles) * (1 - both),
        .contradicted = both * (l->position + speaks * (1 - same - turned)),
    };
    law.zero = 1 - law.up - law.down - law.missing;
    return law;
}
