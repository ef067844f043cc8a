/* The multinomial logit: reference numbers made by another way, two classes against the mirrored
 * logit, C by held-out groups, ties, refusals. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/logit/logit.h"
#include "methods/stats/logit/multinomial.h"

TEST(test_fixtures)
{
    json_t *root = fixture_json("ranking/ranking.json");
    const json_t *cases = json_object_get(root, "multinomial");
    assert_int_equal(json_array_size(cases), 3);
    for (size_t c = 0; c < json_array_size(cases); c++) {
        const json_t *want = json_array_get(cases, c);
        size_t cells, rows, params;
        double *x = numbers(json_object_get(want, "x"), &cells);
        double *classes = numbers(json_object_get(want, "y"), &rows);
        double *coef = numbers(json_object_get(want, "coef"), &params);
        uint32_t *y = vq_alloc(rows, sizeof(*y));
        double *got = vq_alloc(params, sizeof(*got)), loss = 0.0;
        for (size_t row = 0; row < rows; row++) {
            y[row] = (uint32_t)classes[row];
        }
        print_message("  %s\n", text(want, "name"));
        struct vq_multinomial_data data = {
            .x = {x, rows, cells / rows}, .y = y, .classes = (uint32_t)number(want, "classes")};
        assert_int_equal(vq_multinomial_fit(&data, number(want, "c"), got, NULL), VQ_OK);
        for (size_t k = 0; k < params; k++) {
            assert_near(got[k], coef[k], 1e-8, 1e-9);
        }
        for (size_t row = 0; row < rows; row++) {
            loss += vq_multinomial_loss(&data, got, row);
        }
        assert_near(loss, number(want, "loss"), 1e-10, 0.0);
        vq_free(x);
        vq_free(classes);
        vq_free(coef);
        vq_free(y);
        vq_free(got);
    }
    json_decref(root);
}

enum {
    ROWS = 80,
    COLS = 2
};

/* ROWS rows, then the negative of each of them in the other class. */
static void draw(double x[2 * ROWS * COLS], double y[ROWS], uint32_t classes[2 * ROWS])
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 5);
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t k = 0; k < COLS; k++) {
            double cell = (double)vq_rng_below(&rng, 3) - 1.0;
            x[row * COLS + k] = cell;
            x[(ROWS + row) * COLS + k] = -cell;
        }
        y[row] = vq_rng_unit(&rng) < 1.0 / (1.0 + exp(-0.8 * x[row * COLS])) ? 1.0 : 0.0;
        classes[row] = y[row] > 0.5 ? 0 : 1;
        classes[ROWS + row] = 1 - classes[row];
    }
}

TEST(test_two_classes_are_the_mirrored_logit)
{
    double x[2 * ROWS * COLS], y[ROWS], coef[2 * COLS] = {0};
    uint32_t classes[2 * ROWS];
    draw(x, y, classes);
    struct vq_logit_data logit = {.x = {x, ROWS, COLS}, .y = y, .mirrored = true};
    struct vq_logit_fit fit;
    assert_int_equal(vq_logit_fit_l2(&logit, 3.0, &fit, NULL), VQ_OK);
    struct vq_multinomial_data data = {.x = {x, 2 * ROWS, COLS}, .y = classes, .classes = 2};
    assert_int_equal(vq_multinomial_fit(&data, 1.5, coef, NULL), VQ_OK);
    for (size_t k = 0; k < COLS; k++) {
        assert_near(coef[k] - coef[COLS + k], fit.coef[k], 1e-7, 0.0);
        assert_near(coef[k] + coef[COLS + k], 0.0, 0.0, 1e-9);
    }
    vq_logit_fit_free(&fit);
}

TEST(test_c_is_chosen_by_groups)
{
    double x[120], c;
    uint32_t y[120], groups[120];
    struct vq_rng rng;
    vq_rng_seed(&rng, 8);
    for (uint32_t row = 0; row < 120; row++) {
        y[row] = row % 3;
        groups[row] = row / 3;
        x[row] = (y[row] == 0 ? 0.9 : -0.4) + 0.3 * vq_rng_unit(&rng);
    }
    struct vq_multinomial_data data = {.x = {x, 120, 1}, .y = y, .classes = 3};
    assert_int_equal(vq_multinomial_choose_c(&data, groups, 1, &c, NULL), VQ_OK);
    assert_true(c > 0.5); /* it tells class 0 from the others */
    for (uint32_t row = 0; row < 120; row++) {
        x[row] = 2.0 * vq_rng_unit(&rng) - 1.0;
    }
    assert_int_equal(vq_multinomial_choose_c(&data, groups, 1, &c, NULL), VQ_OK);
    assert_true(c < 0.5); /* noise */
    memset(groups, 0, sizeof(groups));
    assert_int_equal(vq_multinomial_choose_c(&data, groups, 1, &c, NULL), VQ_OK);
    assert_true(c == 1.0);
}

TEST(test_equal_classes_share_a_row)
{
    const double x[2] = {1.0, NAN}, coef[3] = {0.5, 0.5, -1.0};
    const uint32_t y[2] = {1, 2};
    struct vq_multinomial_data data = {.x = {x, 2, 1}, .y = y, .classes = 3};
    assert_near(vq_multinomial_right(&data, coef, 0), 0.5, 1e-12, 0.0);
    assert_near(vq_multinomial_right(&data, coef, 1), 1.0 / 3.0, 1e-12, 0.0);
    assert_near(vq_multinomial_loss(&data, coef, 1), log(3.0), 1e-12, 0.0);
}

TEST(test_refusals)
{
    const double x[2] = {1.0, -1.0}, infinite[2] = {INFINITY, 0.0};
    const uint32_t y[2] = {0, 2};
    double coef[400] = {0}, *wide = vq_alloc(400, sizeof(*wide));
    struct vq_error err = {0};
    struct vq_multinomial_data data = {.x = {x, 2, 1}, .y = y, .classes = 2};
    assert_int_equal(vq_multinomial_fit(&data, 1.0, coef, &err), VQ_INVALID); /* class 2 of 2 */
    data.classes = 3;
    assert_int_equal(vq_multinomial_fit(&data, 0.0, coef, &err), VQ_INVALID);
    data.x.at = infinite;
    assert_int_equal(vq_multinomial_fit(&data, 1.0, coef, &err), VQ_INVALID);
    data.x = (struct vq_matrix){wide, 1, 400};
    data.classes = 16;
    assert_int_equal(vq_multinomial_fit(&data, 1.0, coef, &err), VQ_LIMIT);
    assert_non_null(strstr(err.text, "num_final_vibes"));
    vq_free(wide);
}

TEST_START(vq_stats_init)
