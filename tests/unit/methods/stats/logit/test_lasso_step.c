/* The lasso step: a minimum of its model by the conditions of optimality, on well and badly
 * conditioned models. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/logit/lasso_step.h"

enum {
    PARAMS_MAX = 8
};

struct random_model {
    double at[PARAMS_MAX];
    double gradient[PARAMS_MAX];
    double hessian[PARAMS_MAX * PARAMS_MAX];
    struct vq_lasso_model model;
};

/* Hessian F'F with `rows` random rows, each weaker than the last by `decay`; the gradient lies in
 * its range. */
static void draw(struct random_model *m, uint64_t seed, size_t rows, double decay)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    size_t params = 2 + vq_rng_below(&rng, PARAMS_MAX - 1);
    memset(m, 0, sizeof(*m));
    double size = 1.0;
    for (size_t row = 0; row < rows; row++, size *= decay) {
        double f[PARAMS_MAX];
        double pull = 20.0 * (vq_rng_unit(&rng) - 0.5);
        for (size_t j = 0; j < params; j++) {
            f[j] = size * (vq_rng_unit(&rng) - 0.5);
            m->gradient[j] += pull * f[j];
        }
        for (size_t j = 0; j < params; j++) {
            for (size_t l = 0; l <= j; l++) {
                m->hessian[j * params + l] += f[j] * f[l];
            }
        }
    }
    for (size_t j = 0; j < params; j++) {
        m->at[j] = vq_rng_unit(&rng) < 0.5 ? 0.0 : 4.0 * (vq_rng_unit(&rng) - 0.5);
    }
    m->model = (struct vq_lasso_model){
        .params = params,
        .first = seed % 2,
        .l1 = 0.05 + vq_rng_unit(&rng),
        .at = m->at,
        .gradient = m->gradient,
        .hessian = m->hessian,
    };
}

/* Largest breach of: slope + l1 sign = 0 where not 0, |slope| <= l1 where 0. */
static double breach(const struct vq_lasso_model *model, const double *step)
{
    double worst = 0.0;
    for (size_t j = 0; j < model->params; j++) {
        double slope = model->gradient[j];
        for (size_t l = 0; l < model->params; l++) {
            size_t i = j > l ? j : l;
            size_t k = j > l ? l : j;
            slope += model->hessian[i * model->params + k] * step[l];
        }
        double to = model->at[j] + step[j];
        double off = fabs(slope);
        if (j >= model->first) {
            off = to == 0.0 ? fmax(0.0, fabs(slope) - model->l1)
                            : fabs(slope + copysign(model->l1, to));
        }
        worst = fmax(worst, off);
    }
    return worst;
}

static double worst_breach(size_t rows, double decay)
{
    double worst = 0.0;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct random_model m;
        double matrix[PARAMS_MAX * PARAMS_MAX];
        double vector[PARAMS_MAX];
        size_t index[PARAMS_MAX];
        double step[PARAMS_MAX];
        draw(&m, seed, rows, decay);
        vq_lasso_step(&m.model, matrix, vector, index, step);
        worst = fmax(worst, breach(&m.model, step));
    }
    return worst;
}

TEST(test_well_conditioned)
{
    assert_near(worst_breach(40, 1.0), 0.0, 0.0, 1e-9);
}

/* Curvatures over ten orders of magnitude, where coordinate descent alone creeps. */
TEST(test_badly_conditioned)
{
    assert_near(worst_breach(12, 0.15), 0.0, 0.0, 1e-7);
}

TEST(test_by_hand)
{
    const double at[3] = {0.0, 2.0, 0.0};
    const double gradient[3] = {-3.0, 0.5, 0.9};
    const double hessian[9] = {2, 0, 0, 0, 1, 0, 0, 0, 0}; /* the last has no curve and stays 0 */
    struct vq_lasso_model model = {
        .params = 3, .l1 = 1.0, .at = at, .gradient = gradient, .hessian = hessian};
    double matrix[9];
    double vector[3];
    size_t index[3];
    double step[3];
    vq_lasso_step(&model, matrix, vector, index, step);
    assert_near(step[0], 1.0, 1e-12, 0.0);
    assert_near(step[1], -1.5, 1e-12, 0.0);
    assert_true(step[2] == 0.0);
    model.l1 = 5.0;
    vq_lasso_step(&model, matrix, vector, index, step);
    assert_true(step[0] == 0.0 && step[1] == -2.0 && step[2] == 0.0);
}

TEST_START(vq_stats_init)
