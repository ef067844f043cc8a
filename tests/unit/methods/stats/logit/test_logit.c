/* Every logistic regression fixture, field by field. */
#include "tests/unit/methods/stats/fixtures.h"

#include "methods/stats/logit/logit.h"

struct problem {
    struct table table;
    struct vq_logit_data data;
    double *x;
    double *y;
    double *weights;
};

/* Columns before x1 are y, pref, w or fold, as the header says. Rows with pref 0 get weight 0. */
static struct problem load(const char *name)
{
    char file[128];
    (void)snprintf(file, sizeof(file), "lr/%s.csv", name);
    struct problem p = {.table = fixture_table(file)};
    bool fold = strncmp(p.table.header, "fold,", 5) == 0;
    bool weighted = strncmp(p.table.header, "w,", 2) == 0;
    bool pref = strncmp(p.table.header, "pref,", 5) == 0;
    size_t lead = fold || weighted ? 1 : 0;
    size_t cols = p.table.cols - lead - 1;
    p.x = vq_alloc(p.table.rows * cols, sizeof(double));
    p.y = vq_alloc(p.table.rows, sizeof(double));
    p.weights = vq_alloc(p.table.rows, sizeof(double));
    for (size_t row = 0; row < p.table.rows; row++) {
        const double *cells = p.table.at + row * p.table.cols;
        p.weights[row] = weighted ? cells[0] : 1.0;
        p.y[row] = cells[lead];
        if (pref) {
            p.weights[row] = cells[0] == 0.0 ? 0.0 : 1.0;
            p.y[row] = cells[0] > 0.0 ? 1.0 : 0.0;
        }
        memcpy(p.x + row * cols, cells + lead + 1, cols * sizeof(double));
    }
    p.data = (struct vq_logit_data){
        .x = {.at = p.x, .rows = p.table.rows, .cols = cols},
        .y = p.y,
        .weights = p.weights,
        .intercept = true,
    };
    return p;
}

static void unload(struct problem *p)
{
    vq_free(p->table.at);
    vq_free(p->x);
    vq_free(p->y);
    vq_free(p->weights);
}

static void check_array(const double *got, const json_t *want, double relative, double absolute)
{
    if (want == NULL) {
        return;
    }
    for (size_t i = 0; i < json_array_size(want); i++) {
        assert_near(got[i], number_of(json_array_get(want, i)), relative, absolute);
    }
}

static void check_score(const struct vq_logit_data *data, double intercept, const double *coef,
                        const json_t *want)
{
    struct vq_logit_score score;
    assert_int_equal(vq_logit_score(data, intercept, coef, &score, NULL), VQ_OK);
    assert_near_if(score.accuracy_ties_half, number(want, "accuracy_ties_half"), 0.0, 1e-14);
}

static void check_cov(const struct vq_logit_fit *fit, const json_t *want)
{
    if (want == NULL) {
        return;
    }
    size_t n;
    double *cov = numbers(want, &n);
    assert_int_equal(n, fit->rank * fit->rank);
    for (size_t i = 0; i < n; i++) {
        assert_near(fit->cov[i], cov[i], REL_COEF, ABS_COEF);
    }
    vq_free(cov);
}

static void check_estimates(const struct vq_logit_data *data, const struct vq_logit_fit *fit,
                            const json_t *want)
{
    assert_int_equal(fit->separation, VQ_LOGIT_OVERLAP);
    assert_near(fit->intercept, number(want, "intercept"), REL_COEF, ABS_COEF);
    check_array(fit->coef, json_object_get(want, "coef"), REL_COEF, ABS_COEF);
    check_array(fit->se, json_object_get(want, "se"), REL_COEF, ABS_COEF);
    check_cov(fit, json_object_get(want, "cov"));
    assert_near(fit->loglik, number(want, "loglik"), REL_COEF, ABS_COEF);
    check_score(data, fit->intercept, fit->coef, want);
}

static void check_aliased(const struct vq_logit_fit *fit, const json_t *want)
{
    const json_t *columns = json_object_get(want, "aliased_columns");
    size_t aliased = 0;
    for (size_t col = 0; col < fit->cols; col++) {
        aliased += fit->aliased[col] ? 1 : 0;
    }
    assert_int_equal(aliased, json_array_size(columns));
    for (size_t i = 0; i < json_array_size(columns); i++) {
        assert_true(fit->aliased[json_integer_value(json_array_get(columns, i))]);
    }
    if (json_object_get(want, "rank") != NULL) {
        assert_int_equal(fit->rank, json_integer_value(json_object_get(want, "rank")));
    }
}

/* Without an estimate nothing that looks like one may be there. */
static void check_nothing(const struct vq_logit_fit *fit)
{
    assert_true(isnan(fit->intercept) && isnan(fit->loglik));
    for (size_t col = 0; col < fit->cols; col++) {
        assert_true(isnan(fit->coef[col]) && isnan(fit->se[col]));
    }
}

static void check_mle(const struct problem *p, const json_t *root)
{
    const json_t *want = json_object_get(root, "mle");
    struct vq_logit_fit fit;
    assert_int_equal(vq_logit_fit_mle(&p->data, &fit, NULL), VQ_OK);
    assert_string_equal(vq_logit_status_name(fit.status), text(want, "status"));
    if (fit.status == VQ_LOGIT_OK || fit.status == VQ_LOGIT_RANK_DEFICIENT) {
        check_estimates(&p->data, &fit, want);
        check_aliased(&fit, want);
    } else {
        check_nothing(&fit);
    }
    if (fit.status == VQ_LOGIT_SEPARATED || fit.status == VQ_LOGIT_SEPARATED_AND_RANK_DEFICIENT) {
        assert_string_equal(vq_logit_separation_name(fit.separation), text(root, "separation"));
    }
    vq_logit_fit_free(&fit);
}

static void check_penalised(const struct vq_logit_data *data, const json_t *want, double relative,
                            double absolute)
{
    double l1_ratio = json_object_get(want, "l1_ratio") == NULL ? 0.0 : number(want, "l1_ratio");
    struct vq_logit_fit fit;
    assert_int_equal(vq_logit_fit_elasticnet(data, number(want, "C"), l1_ratio, &fit, NULL), VQ_OK);
    assert_int_equal(fit.status, VQ_LOGIT_OK);
    assert_near(fit.intercept, number(want, "intercept"), relative, absolute);
    check_array(fit.coef, json_object_get(want, "coef"), relative, absolute);
    assert_near_if(fit.loglik, number(want, "loglik"), relative, absolute);
    assert_near_if(fit.objective, number(want, "objective"), relative, absolute);
    const json_t *zeros = json_object_get(want, "zero_columns");
    for (size_t i = 0; i < json_array_size(zeros); i++) {
        assert_true(fit.coef[json_integer_value(json_array_get(zeros, i))] == 0.0);
    }
    if (json_object_get(want, "accuracy_ties_half") != NULL) {
        check_score(data, fit.intercept, fit.coef, want);
    }
    vq_logit_fit_free(&fit);
}

static void check_firth(const struct problem *p, const json_t *want)
{
    struct vq_logit_fit fit;
    assert_int_equal(vq_logit_fit_firth(&p->data, &fit, NULL), VQ_OK);
    assert_int_equal(fit.status, VQ_LOGIT_OK);
    assert_near(fit.intercept, number(want, "intercept"), REL_COEF, ABS_COEF);
    check_array(fit.coef, json_object_get(want, "coef"), REL_COEF, ABS_COEF);
    check_array(fit.se, json_object_get(want, "se"), REL_COEF, ABS_COEF);
    assert_near(fit.objective, number(want, "penalised_loglik"), REL_COEF, ABS_COEF);
    vq_logit_fit_free(&fit);
}

static void check_case(const char *name)
{
    char file[128];
    (void)snprintf(file, sizeof(file), "lr/%s.json", name);
    json_t *root = fixture_json(file);
    struct problem p = load(name);
    assert_int_equal(p.data.x.rows, json_integer_value(json_object_get(root, "n")));
    assert_int_equal(p.data.x.cols, json_integer_value(json_object_get(root, "k")));
    p.data.intercept = !json_is_false(json_object_get(root, "fit_intercept"));
    check_mle(&p, root);
    const char *lists[] = {"l2", "l1", "elastic_net"};
    for (size_t l = 0; l < VQ_COUNT(lists); l++) {
        const json_t *fits = json_object_get(root, lists[l]);
        for (size_t i = 0; i < json_array_size(fits); i++) {
            /* The l1 values of the fixture hold to 1e-5. */
            check_penalised(&p.data, json_array_get(fits, i), l == 0 ? REL_COEF : 2e-5,
                            l == 0 ? ABS_COEF : 1e-5);
        }
    }
    if (json_object_get(root, "firth") != NULL) {
        check_firth(&p, json_object_get(root, "firth"));
    }
    unload(&p);
    json_decref(root);
}

TEST(test_all_cases)
{
    json_t *index = fixture_json("lr/index.json");
    const json_t *cases = json_object_get(index, "cases");
    assert_int_equal(json_array_size(cases), 21);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const char *name = json_string_value(json_array_get(cases, i));
        print_message("  %s\n", name);
        check_case(name);
    }
    json_decref(index);
}

/* Case 14: the half with y = 1 and no intercept is the mirrored form; its errors are the honest
 * ones. */
TEST(test_mirrored_half)
{
    json_t *root = fixture_json("lr/14_model_matching_augmented.json");
    struct problem p = load("14_model_matching_augmented");
    const json_t *half = json_object_get(root, "half_data");
    struct vq_logit_data data = p.data;
    data.x.rows = 400;
    data.intercept = false;
    data.mirrored = true;
    struct vq_logit_fit fit;
    assert_int_equal(vq_logit_fit_mle(&data, &fit, NULL), VQ_OK);
    assert_int_equal(fit.status, VQ_LOGIT_OK);
    check_array(fit.coef, json_object_get(half, "coef"), REL_COEF, ABS_COEF);
    check_array(fit.se, json_object_get(half, "se"), REL_COEF, ABS_COEF);
    assert_near(fit.loglik, number(half, "loglik"), REL_COEF, ABS_COEF);
    vq_logit_fit_free(&fit);
    const json_t *fits = json_object_get(root, "l2");
    for (size_t i = 0; i < json_array_size(fits); i++) {
        const json_t *want = json_array_get(fits, i);
        assert_int_equal(vq_logit_fit_l2(&data, number(want, "C"), &fit, NULL), VQ_OK);
        check_array(fit.coef, json_object_get(want, "coef"), REL_COEF, ABS_COEF);
        struct vq_logit_score score;
        assert_int_equal(vq_logit_score(&data, 0.0, fit.coef, &score, NULL), VQ_OK);
        assert_near(score.accuracy_ties_half, number(want, "accuracy_ties_half"), 0.0, 1e-14);
        vq_logit_fit_free(&fit);
    }
    unload(&p);
    json_decref(root);
}

TEST(test_cluster_robust)
{
    json_t *root = fixture_json("lr/14_model_matching_augmented.json");
    struct problem p = load("14_model_matching_augmented");
    uint32_t pair[800];
    for (uint32_t row = 0; row < 800; row++) {
        pair[row] = row % 400;
    }
    struct vq_logit_fit fit;
    double se[7];
    assert_int_equal(vq_logit_fit_mle(&p.data, &fit, NULL), VQ_OK);
    assert_int_equal(vq_logit_cluster_se(&p.data, &fit, pair, se, NULL), VQ_OK);
    check_array(se + 1, json_object_get(json_object_get(root, "cluster_robust"), "se"), REL_COEF,
                ABS_COEF);
    vq_logit_fit_free(&fit);
    unload(&p);
    json_decref(root);
}

/* Case 16: what coding ties as "B preferred" would give, so that the two can be told apart. */
TEST(test_ties_as_negative)
{
    json_t *root = fixture_json("lr/16_preference_ties.json");
    struct problem p = load("16_preference_ties");
    struct vq_logit_data data = p.data;
    data.weights = NULL;
    check_penalised(&data, json_object_get(root, "l2_ties_as_negative"), REL_COEF, ABS_COEF);
    unload(&p);
    json_decref(root);
}

TEST(test_standardised)
{
    json_t *root = fixture_json("lr/20_standardised_lasso.json");
    struct problem p = load("20_standardised_lasso");
    size_t n;
    double *mean = numbers(json_object_get(root, "mean"), &n);
    double *scale = numbers(json_object_get(root, "scale"), &n);
    for (size_t cell = 0; cell < p.data.x.rows * 6; cell++) {
        p.x[cell] = (p.x[cell] - mean[cell % 6]) / scale[cell % 6];
    }
    check_penalised(&p.data, json_object_get(root, "l2_standardised"), REL_COEF, ABS_COEF);
    vq_free(mean);
    vq_free(scale);
    unload(&p);
    json_decref(root);
}

TEST_START(vq_stats_init)
