/* Intervals of a multinomial's coefficients: against the fits without each group, their coverage in
 * simulated worlds, and which data have no estimate. */
#include "fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/logit/multinomial.h"

enum {
    MODELS = 3,
    VIBES = 2,
    PARAMS = MODELS * VIBES,
    PROMPTS_MAX = 20000
};

struct outputs {
    double *x;
    uint32_t *y, *groups;
    struct vq_multinomial_data data;
};

static struct outputs outputs_create(size_t prompts)
{
    struct outputs o = {vq_alloc(prompts * MODELS * VIBES, sizeof(double)),
                        vq_alloc(prompts * MODELS, sizeof(uint32_t)),
                        vq_alloc(prompts * MODELS, sizeof(uint32_t)),
                        {.classes = MODELS}};
    assert_true(o.x != NULL && o.y != NULL && o.groups != NULL);
    return o;
}

static void outputs_free(struct outputs *o)
{
    vq_free(o->x);
    vq_free(o->y);
    vq_free(o->groups);
}

/* As a run has them: each prompt's outputs are compared in pairs on each vibe, and an output's x is
 * the mean of its signs. `mood`: how much outputs of a model differ from prompt to prompt; values
 * nearer than 0.4 are equal. */
static void draw(struct outputs *o, size_t prompts, double mood, struct vq_rng *rng)
{
    static const double strength[VIBES][MODELS] = {{0.6, 0.0, -0.6}, {0.0, 0.5, -0.2}};
    for (size_t u = 0; u < prompts; u++) {
        for (size_t v = 0; v < VIBES; v++) {
            double value[MODELS];
            for (size_t k = 0; k < MODELS; k++) {
                value[k] = strength[v][k] + mood * 3.5 * (vq_rng_unit(rng) - 0.5);
            }
            for (size_t k = 0; k < MODELS; k++) {
                double sum = 0.0;
                for (size_t other = 0; other < MODELS; other++) {
                    double gap = value[k] - value[other];
                    sum += fabs(gap) < 0.4 ? 0.0 : gap > 0.0 ? 0.5 : -0.5;
                }
                o->x[(u * MODELS + k) * VIBES + v] = sum;
            }
        }
        for (uint32_t k = 0; k < MODELS; k++) {
            o->y[u * MODELS + k] = k;
            o->groups[u * MODELS + k] = (uint32_t)u;
        }
    }
    o->data.x = (struct vq_matrix){o->x, prompts * MODELS, VIBES};
    o->data.y = o->y;
}

/* The jackknife with each fit made anew: one step comes near to it. */
TEST(test_near_the_fits_without_each_prompt)
{
    struct vq_rng rng;
    struct outputs o = outputs_create(30);
    vq_rng_seed(&rng, 4);
    draw(&o, 30, 1.0, &rng);
    double coef[PARAMS] = {0}, squares[PARAMS] = {0};
    struct vq_interval ci[PARAMS];
    assert_int_equal(vq_multinomial_fit(&o.data, 0.7, coef, NULL), VQ_OK);
    assert_int_equal(vq_multinomial_intervals(&o.data, 0.7, coef, o.groups, ci), VQ_OK);
    bool left_out[30 * MODELS];
    struct vq_multinomial_data rest = o.data;
    rest.left_out = left_out;
    for (uint32_t u = 0; u < 30; u++) {
        double without[PARAMS] = {0};
        for (size_t row = 0; row < 30 * MODELS; row++) {
            left_out[row] = o.groups[row] == u;
        }
        assert_int_equal(vq_multinomial_fit(&rest, 0.7, without, NULL), VQ_OK);
        for (size_t p = 0; p < PARAMS; p++) {
            squares[p] += (without[p] - coef[p]) * (without[p] - coef[p]);
        }
    }
    for (size_t p = 0; p < PARAMS; p++) {
        double half = 2.0452296421327 * sqrt(29.0 / 30.0 * squares[p]); /* t of 29 degrees */
        assert_near(0.5 * (ci[p].hi - ci[p].lo), half, 0.02, 0.0);
        assert_near(0.5 * (ci[p].hi + ci[p].lo), coef[p], 1e-9, 1e-9);
    }
    struct vq_interval none[PARAMS];
    memset(o.groups, 0, 30 * MODELS * sizeof(*o.groups));
    assert_int_equal(vq_multinomial_intervals(&o.data, 0.7, coef, o.groups, none), VQ_OK);
    assert_true(isnan(none[0].lo) && isnan(none[PARAMS - 1].hi)); /* one group */
    outputs_free(&o);
}

/* The truth is what the fit at the same penalty per row comes to with very many prompts. */
TEST(test_coverage)
{
    static const struct {
        size_t prompts;
        double c, mood;
    } worlds[] = {{15, 1.0, 1.0}, {40, 1.0, 1.0}, {40, 0.05, 0.6}, {120, 1.0, 0.6}};
    struct outputs many = outputs_create(PROMPTS_MAX), o = outputs_create(120);
    for (size_t w = 0; w < VQ_COUNT(worlds); w++) {
        struct vq_rng rng;
        vq_rng_seed(&rng, 900 + w);
        size_t n = worlds[w].prompts, runs = 600, covered = 0;
        double truth[PARAMS] = {0};
        draw(&many, PROMPTS_MAX, worlds[w].mood, &rng);
        assert_int_equal(
            vq_multinomial_fit(&many.data, worlds[w].c * (double)n / PROMPTS_MAX, truth, NULL),
            VQ_OK);
        for (size_t run = 0; run < runs; run++) {
            double coef[PARAMS] = {0};
            struct vq_interval ci[PARAMS];
            draw(&o, n, worlds[w].mood, &rng);
            assert_int_equal(vq_multinomial_fit(&o.data, worlds[w].c, coef, NULL), VQ_OK);
            assert_int_equal(vq_multinomial_intervals(&o.data, worlds[w].c, coef, o.groups, ci),
                             VQ_OK);
            for (size_t p = 0; p < PARAMS; p++) {
                covered += ci[p].lo <= truth[p] && truth[p] <= ci[p].hi;
            }
        }
        double share = (double)covered / (double)(runs * PARAMS);
        print_message("  %zu prompts, C %.2f, mood %.1f, seed %zu: %.3f\n", n, worlds[w].c,
                      worlds[w].mood, 900 + w, share);
        assert_true(share >= 0.93 && share <= 0.985);
    }
    outputs_free(&many);
    outputs_free(&o);
}

static bool is_separated(const double *x, const uint32_t *y, size_t rows, size_t cols,
                         uint32_t classes)
{
    struct vq_multinomial_data data = {.x = {x, rows, cols}, .y = y, .classes = classes};
    bool separated = false;
    assert_true(vq_multinomial_is_small(&data));
    assert_int_equal(vq_multinomial_separated(&data, &separated), VQ_OK);
    return separated;
}

TEST(test_separation)
{
    const uint32_t two[4] = {0, 1, 0, 1}, three[6] = {0, 1, 2, 0, 1, 2};
    const double apart[4] = {1, -1, 1, -1}, mixed[4] = {1, -1, -1, 1};
    assert_true(is_separated(apart, two, 4, 1, 2));
    assert_false(is_separated(mixed, two, 4, 1, 2));
    /* The first is always above the others, which are alike: quasi-complete. */
    const double one_apart[6] = {1, 0, -1, 1, -1, 0}, none_apart[6] = {1, 0, -1, -1, 1, 0};
    assert_true(is_separated(one_apart, three, 6, 1, 3));
    assert_false(is_separated(none_apart, three, 6, 1, 3));
    const double missing[6] = {1, NAN, -1, -1, 1, NAN};
    assert_false(is_separated(missing, three, 6, 1, 3));
    struct vq_rng rng;
    struct outputs o = outputs_create(60);
    vq_rng_seed(&rng, 6);
    draw(&o, 60, 1.0, &rng);
    assert_false(is_separated(o.x, o.y, 60 * MODELS, VIBES, MODELS));
    draw(&o, 60, 0.05, &rng); /* hardly any mood: every prompt has the same order */
    assert_true(is_separated(o.x, o.y, 60 * MODELS, VIBES, MODELS));
    struct vq_multinomial_data wide = {.x = {o.x, 60, 100}, .classes = MODELS};
    assert_false(vq_multinomial_is_small(&wide));
    outputs_free(&o);
}

TEST_START(vq_stats_init)
