/* The choice of C: given folds against the fixture, the shuffled folds of groups, and the published
 * rule. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/logit/crossval.h"
#include "methods/stats/special.h"

struct held {
    double weight, log_loss, accuracy; /* of the rows of the fold; a tie is half right */
};

/* Fits L2 at c on the rows of other folds and scores it on the rows of `fold`. The fit is the
 * caller's. */
static void fit_fold(const struct vq_logit_data *data, const uint32_t *fold_of_row, uint32_t fold,
                     double c, struct vq_logit_fit *ret_fit, struct held *ret_held)
{
    double *weights = vq_alloc(data->x.rows, sizeof(*weights));
    double *eta = vq_alloc(data->x.rows, sizeof(*eta));
    struct vq_logit_data part = *data;
    part.weights = weights;
    for (size_t row = 0; row < data->x.rows; row++) {
        weights[row] = fold_of_row[row] == fold ? 0.0 : 1.0;
    }
    assert_int_equal(vq_logit_fit_l2(&part, c, ret_fit, NULL), VQ_OK);
    vq_logit_predict(data->x, ret_fit->intercept, ret_fit->coef, eta);
    *ret_held = (struct held){0};
    for (size_t row = 0; row < data->x.rows; row++) {
        if (fold_of_row[row] == fold) {
            double margin = data->y[row] > 0.5 ? eta[row] : -eta[row];
            ret_held->weight += 1.0;
            ret_held->log_loss += vq_log1pexp(-margin);
            ret_held->accuracy += fabs(margin) < VQ_LOGIT_TIE ? 0.5 : margin > 0.0 ? 1.0 : 0.0;
        }
    }
    ret_held->log_loss /= ret_held->weight;
    ret_held->accuracy /= ret_held->weight;
    vq_free(weights);
    vq_free(eta);
}

TEST(test_given_folds)
{
    json_t *root = fixture_json("lr/21_cross_validation.json");
    struct table table = fixture_table("lr/21_cross_validation.csv");
    size_t cols = table.cols - 2;
    double *x = vq_alloc(table.rows * cols, sizeof(*x));
    double *y = vq_alloc(table.rows, sizeof(*y));
    uint32_t *fold_of_row = vq_alloc(table.rows, sizeof(*fold_of_row));
    for (size_t row = 0; row < table.rows; row++) {
        const double *cells = table.at + row * table.cols;
        fold_of_row[row] = (uint32_t)cells[0];
        y[row] = cells[1];
        memcpy(x + row * cols, cells + 2, cols * sizeof(*x));
    }
    struct vq_logit_data data = {
        .x = {.at = x, .rows = table.rows, .cols = cols}, .y = y, .intercept = true};
    const json_t *folds = json_object_get(root, "folds");
    double mean = 0.0;
    for (uint32_t fold = 0; fold < 5; fold++) {
        const json_t *want = json_array_get(folds, fold);
        struct vq_logit_fit fit;
        struct held score;
        fit_fold(&data, fold_of_row, fold, 1.0, &fit, &score);
        assert_near(fit.intercept, number(want, "intercept"), REL_COEF, ABS_COEF);
        for (size_t col = 0; col < cols; col++) {
            assert_near(fit.coef[col],
                        number_of(json_array_get(json_object_get(want, "coef"), col)), REL_COEF,
                        ABS_COEF);
        }
        assert_near(score.weight, number(want, "n_test"), 0.0, 0.0);
        assert_near(score.accuracy, number(want, "accuracy_ties_half"), 0.0, 1e-15);
        assert_near(score.log_loss, number(want, "log_loss"), REL_COEF, 0.0);
        mean += score.accuracy / 5.0;
        vq_logit_fit_free(&fit);
    }
    assert_near(mean, number(root, "mean_accuracy"), 0.0, 1e-14);
    vq_free(table.at);
    vq_free(x);
    vq_free(y);
    vq_free(fold_of_row);
    json_decref(root);
}

TEST(test_assignment)
{
    enum {
        ROWS = 103,
        GROUPS = 31
    };
    uint32_t groups[ROWS];
    uint32_t fold[ROWS];
    uint32_t again[ROWS];
    size_t folds;
    for (uint32_t row = 0; row < ROWS; row++) {
        groups[row] = 70 + row % GROUPS;
    }
    assert_int_equal(vq_crossval_assign(groups, ROWS, 42, fold, &folds), VQ_OK);
    assert_int_equal(folds, 5);
    size_t groups_in[5] = {0};
    for (size_t row = 0; row < ROWS; row++) {
        assert_true(fold[row] < 5);
        assert_int_equal(fold[row], fold[row % GROUPS]); /* repeats stay together */
        groups_in[fold[row]] += row < GROUPS ? 1 : 0;
    }
    for (size_t f = 0; f < 5; f++) {
        assert_true(groups_in[f] == 6 || groups_in[f] == 7);
    }
    assert_int_equal(vq_crossval_assign(groups, ROWS, 42, again, &folds), VQ_OK);
    assert_memory_equal(fold, again, sizeof(fold));
    assert_int_equal(vq_crossval_assign(groups, ROWS, 43, again, &folds), VQ_OK);
    assert_memory_not_equal(fold, again, sizeof(fold));
    assert_int_equal(vq_crossval_assign(groups, 3, 1, fold, &folds), VQ_OK);
    assert_int_equal(folds, 3);
}

struct planted {
    double x[600];
    double y[200];
    struct vq_logit_data data;
};

/* 200 rows, 3 columns, the first tells the models apart in a share of rows. */
static void plant(struct planted *p, uint64_t seed, double share)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    for (size_t row = 0; row < 200; row++) {
        p->y[row] = 1.0;
        p->x[row * 3] = vq_rng_unit(&rng) < share ? 1.0 : -1.0;
        p->x[row * 3 + 1] = (double)vq_rng_below(&rng, 3) - 1.0;
        p->x[row * 3 + 2] = (double)vq_rng_below(&rng, 3) - 1.0;
    }
    p->data = (struct vq_logit_data){
        .x = {.at = p->x, .rows = 200, .cols = 3}, .y = p->y, .mirrored = true};
}

/* The whole choice once more by single fits. */
TEST(test_choice_by_hand)
{
    struct planted p;
    plant(&p, 8, 0.75);
    struct vq_crossval_options options = {.mode = VQ_CROSSVAL_LOG_LOSS, .seed = 17};
    struct vq_crossval cv;
    assert_int_equal(vq_crossval_choose_c(&p.data, NULL, &options, &cv, NULL), VQ_OK);
    assert_int_equal(cv.status, VQ_CROSSVAL_OK);
    assert_near(cv.grid[0], 1e-4, 1e-14, 0.0);
    assert_near(cv.grid[9], 1e4, 1e-14, 0.0);
    assert_near(cv.grid[4] * cv.grid[5], 1.0, 1e-12, 0.0);
    uint32_t fold_of_row[200];
    size_t folds;
    assert_int_equal(vq_crossval_assign(NULL, 200, 17, fold_of_row, &folds), VQ_OK);
    size_t best = 0;
    for (size_t at = 0; at < VQ_CROSSVAL_GRID; at++) {
        double loss = 0.0;
        double right = 0.0;
        for (uint32_t fold = 0; fold < folds; fold++) {
            struct vq_logit_fit fit;
            struct held score;
            fit_fold(&p.data, fold_of_row, fold, cv.grid[at], &fit, &score);
            loss += score.log_loss * score.weight / 200.0;
            right += score.accuracy * score.weight / 200.0;
            vq_logit_fit_free(&fit);
        }
        assert_near(cv.log_loss[at], loss, 1e-9, 0.0);
        assert_near(cv.accuracy[at], right, 1e-12, 0.0);
        best = cv.log_loss[at] < cv.log_loss[best] ? at : best;
    }
    assert_near(cv.c, cv.grid[best], 0.0, 0.0);
}

/* Decisions 10: on separable data accuracy ties everywhere and takes the smallest C; log-loss does
 * not. */
TEST(test_separable_data)
{
    struct planted p;
    plant(&p, 3, 1.1);
    struct vq_crossval_options options = {.mode = VQ_CROSSVAL_LOG_LOSS, .seed = 1};
    struct vq_crossval cv;
    assert_int_equal(vq_crossval_choose_c(&p.data, NULL, &options, &cv, NULL), VQ_OK);
    assert_near(cv.c, 1e4, 1e-12, 0.0);
    options.mode = VQ_CROSSVAL_PAPER;
    assert_int_equal(vq_crossval_choose_c(&p.data, NULL, &options, &cv, NULL), VQ_OK);
    assert_near(cv.c, 1e-4, 1e-12, 0.0);
    assert_near(cv.accuracy[0], 1.0, 0.0, 1e-15);
    assert_true(isnan(cv.log_loss[0]));
}

/* The published folds written out: 7 rows, preferences + - + + - + -, mirrored to 14; 7 rows of
 * each class, in order; with the first class at places 0 .. 6 and the second at 7 .. 13 the folds
 * take 2 2 1 1 1 and 1 1 2 2 1 of them. */
TEST(test_published_folds)
{
    const double x[14] = {1, 0, -1, 1, 1, 1, 1, -1, -1, 0.5, 1, 1, 0, -1};
    const double y[7] = {1, 0, 1, 1, 0, 1, 0};
    const uint32_t first[7] = {0, 0, 1, 1, 2, 3, 4};
    const uint32_t second[7] = {0, 1, 2, 2, 3, 3, 4};
    double mirrored_x[28];
    double mirrored_y[14];
    uint32_t fold_of_row[14];
    size_t taken[2] = {0, 0};
    for (size_t row = 0; row < 14; row++) {
        double sign = row < 7 ? 1.0 : -1.0;
        mirrored_x[row * 2] = sign * x[row % 7 * 2];
        mirrored_x[row * 2 + 1] = sign * x[row % 7 * 2 + 1];
        mirrored_y[row] = row < 7 ? y[row] : 1.0 - y[row - 7];
        size_t class = mirrored_y[row] == y[0] ? 0 : 1;
        fold_of_row[row] = (class == 0 ? first : second)[taken[class]++];
    }
    struct vq_logit_data mirrored = {
        .x = {.at = mirrored_x, .rows = 14, .cols = 2}, .y = mirrored_y, .intercept = true};
    struct vq_logit_data data = {.x = {.at = x, .rows = 7, .cols = 2}, .y = y, .mirrored = true};
    struct vq_crossval_options options = {.mode = VQ_CROSSVAL_PAPER};
    struct vq_crossval cv;
    assert_int_equal(vq_crossval_choose_c(&data, NULL, &options, &cv, NULL), VQ_OK);
    options.mode = VQ_CROSSVAL_SKLEARN_FOLDS;
    struct vq_crossval by_loss;
    assert_int_equal(vq_crossval_choose_c(&data, NULL, &options, &by_loss, NULL), VQ_OK);
    size_t best = 0;
    for (size_t at = 0; at < VQ_CROSSVAL_GRID; at++) {
        double mean = 0.0;
        double loss = 0.0;
        for (uint32_t fold = 0; fold < 5; fold++) {
            struct vq_logit_fit fit;
            struct held score;
            fit_fold(&mirrored, fold_of_row, fold, cv.grid[at], &fit, &score);
            mean += score.accuracy / 5.0;
            loss += score.log_loss * score.weight / 14.0;
            vq_logit_fit_free(&fit);
        }
        assert_near(cv.accuracy[at], mean, 1e-12, 0.0);
        assert_near(by_loss.log_loss[at], loss, 1e-7, 0.0);
        best = by_loss.log_loss[at] < by_loss.log_loss[best] ? at : best;
    }
    assert_near(by_loss.c, by_loss.grid[best], 0.0, 0.0);
}

TEST(test_too_little)
{
    struct planted p;
    plant(&p, 5, 0.7);
    uint32_t same[200] = {0};
    struct vq_crossval_options options = {.mode = VQ_CROSSVAL_LOG_LOSS};
    struct vq_crossval cv;
    assert_int_equal(vq_crossval_choose_c(&p.data, same, &options, &cv, NULL), VQ_OK);
    assert_int_equal(cv.status, VQ_CROSSVAL_TOO_FEW_GROUPS);
    assert_near(cv.c, 1.0, 0.0, 0.0);
    p.data.x.rows = 4;
    options.mode = VQ_CROSSVAL_PAPER;
    assert_int_equal(vq_crossval_choose_c(&p.data, NULL, &options, &cv, NULL), VQ_OK);
    assert_int_equal(cv.status, VQ_CROSSVAL_TOO_FEW_GROUPS);
    p.data.mirrored = false;
    assert_int_equal(vq_crossval_choose_c(&p.data, NULL, &options, &cv, NULL), VQ_INVALID);
    p.data.x.rows = 200;
    p.data.intercept = true;
    options.mode = VQ_CROSSVAL_LOG_LOSS;
    assert_int_equal(vq_crossval_choose_c(&p.data, NULL, &options, &cv, NULL), VQ_OK);
    assert_int_equal(cv.status, VQ_CROSSVAL_SINGLE_CLASS);
}

/* Rows without a label (weight 0) take no part, not even in the folds. */
TEST(test_weightless_rows)
{
    struct planted p;
    plant(&p, 21, 0.7);
    double weights[200];
    for (size_t row = 0; row < 200; row++) {
        weights[row] = row < 150 ? 1.0 : 0.0;
    }
    struct vq_crossval_options options = {.mode = VQ_CROSSVAL_LOG_LOSS, .seed = 2};
    struct vq_crossval with;
    struct vq_crossval without;
    p.data.weights = weights;
    assert_int_equal(vq_crossval_choose_c(&p.data, NULL, &options, &with, NULL), VQ_OK);
    p.data.weights = NULL;
    p.data.x.rows = 150;
    assert_int_equal(vq_crossval_choose_c(&p.data, NULL, &options, &without, NULL), VQ_OK);
    assert_memory_equal(with.log_loss, without.log_loss, sizeof(with.log_loss));
}

/* Swapping the models negates every score and flips every preference: the model matching
 * coefficients are negated, those of preference prediction, C and the accuracies stay, all to the
 * last bit. */
TEST(test_swapped_models)
{
    struct planted p;
    plant(&p, 31, 0.7);
    double swapped_x[600];
    double preference[200];
    double swapped_preference[200];
    struct vq_rng rng;
    vq_rng_seed(&rng, 31);
    for (size_t row = 0; row < 200; row++) {
        bool prefers_a = vq_rng_unit(&rng) < 0.5 + 0.3 * p.x[row * 3 + 1];
        preference[row] = prefers_a ? 1.0 : 0.0;
        swapped_preference[row] = 1.0 - preference[row];
        for (size_t col = 0; col < 3; col++) {
            swapped_x[row * 3 + col] = -p.x[row * 3 + col];
        }
    }
    for (int predict = 0; predict < 2; predict++) {
        struct vq_logit_data data = p.data;
        data.y = predict == 1 ? preference : p.y;
        struct vq_logit_data swapped = data;
        swapped.x.at = swapped_x;
        swapped.y = predict == 1 ? swapped_preference : p.y;
        struct vq_crossval_options options = {.mode = VQ_CROSSVAL_LOG_LOSS, .seed = 6};
        struct vq_crossval cv[2];
        struct vq_logit_fit fit[2];
        struct vq_logit_score score[2];
        const struct vq_logit_data *both[2] = {&data, &swapped};
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(vq_crossval_choose_c(both[i], NULL, &options, &cv[i], NULL), VQ_OK);
            assert_int_equal(vq_logit_fit_l2(both[i], cv[i].c, &fit[i], NULL), VQ_OK);
            assert_int_equal(vq_logit_score(both[i], 0.0, fit[i].coef, &score[i], NULL), VQ_OK);
        }
        assert_memory_equal(cv[0].log_loss, cv[1].log_loss, sizeof(cv[0].log_loss));
        assert_true(cv[0].c == cv[1].c);
        assert_true(score[0].accuracy_ties_half == score[1].accuracy_ties_half);
        for (size_t col = 0; col < 3; col++) {
            double sign = predict == 1 ? 1.0 : -1.0;
            assert_true(fit[0].coef[col] != 0.0 && fit[0].coef[col] == sign * fit[1].coef[col]);
        }
        vq_logit_fit_free(&fit[0]);
        vq_logit_fit_free(&fit[1]);
    }
}

TEST_START(vq_stats_init)
