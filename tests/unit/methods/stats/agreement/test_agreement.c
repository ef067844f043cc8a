/* Agreement: the fixtures, the worked examples of the method, the gate's corner cases. */
#include "tests/unit/methods/stats/fixtures.h"

#include "methods/stats/agreement/agreement.h"

static void check_kappa(const struct vq_kappa *got, const json_t *want)
{
    const char *status = text(want, "status");
    assert_string_equal(vq_agreement_status_name(got->status), status[0] == '\0' ? "ok" : status);
    assert_near(got->n, number(want, "n"), 0.0, 0.0);
    assert_near(got->observed, number(want, "observed_agreement"), 0.0, ABS_AGREE);
    assert_near(got->expected, number(want, "expected_agreement"), 0.0, ABS_AGREE);
    assert_near(got->kappa, number(want, "kappa"), 0.0, ABS_AGREE);
    assert_near(got->kappa_linear, number(want, "kappa_linear"), 0.0, ABS_AGREE);
    assert_near(got->kappa_quadratic, number(want, "kappa_quadratic"), 0.0, ABS_AGREE);
    assert_near(got->se, number(want, "se"), 0.0, ABS_AGREE);
    assert_near_if(got->se_null, number(want, "se_null"), 0.0, ABS_AGREE);
    assert_near_if(got->ci95.lo, number(want, "ci95_lo"), 0.0, ABS_AGREE);
    assert_near_if(got->ci95.hi, number(want, "ci95_hi"), 0.0, ABS_AGREE);
    assert_near_if(got->z, number(want, "z"), REL_COEF, ABS_COEF);
    assert_near_if(got->p, number(want, "p_two_sided"), REL_P, ABS_P);
}

TEST(test_cohen_fixtures)
{
    json_t *root = fixture_json("agreement/cohen_kappa.json");
    const json_t *cases = json_object_get(root, "cases");
    assert_int_equal(json_array_size(cases), 14);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *want = json_array_get(cases, i);
        const json_t *confusion = json_object_get(want, "confusion");
        size_t n;
        double *counts = numbers(confusion, &n);
        struct vq_kappa kappa;
        print_message("  %s\n", text(want, "name"));
        assert_int_equal(vq_agreement_cohen_counts(counts, json_array_size(confusion), &kappa),
                         VQ_OK);
        check_kappa(&kappa, want);
        if (json_object_get(want, "a") != NULL) {
            double *a = numbers(json_object_get(want, "a"), &n);
            double *b = numbers(json_object_get(want, "b"), &n);
            assert_int_equal(vq_agreement_cohen(a, b, n, &kappa, NULL), VQ_OK);
            check_kappa(&kappa, want);
            vq_free(a);
            vq_free(b);
        }
        vq_free(counts);
    }
    json_decref(root);
}

TEST(test_one_constant_rater_is_zero)
{
    double a[30];
    double b[30];
    for (size_t i = 0; i < 30; i++) {
        a[i] = 1.0;
        b[i] = 1.0;
    }
    b[17] = 0.0;
    struct vq_kappa plain;
    struct vq_kappa mirrored;
    assert_int_equal(vq_agreement_cohen(a, b, 30, &plain, &mirrored), VQ_OK);
    assert_int_equal(plain.status, VQ_AGREEMENT_OK);
    assert_true(plain.kappa == 0.0);
    assert_true(mirrored.kappa > 0.9); /* decisions 7: why the gate looks at both */
    assert_near(mirrored.n, 30.0, 0.0, 0.0);
    assert_true(isnan(mirrored.se) && isnan(mirrored.p));
    b[17] = 1.0;
    assert_int_equal(vq_agreement_cohen(a, b, 30, &plain, &mirrored), VQ_OK);
    assert_int_equal(plain.status, VQ_AGREEMENT_UNDEFINED);
    assert_near(plain.observed, 1.0, 0.0, 0.0);
    assert_int_equal(mirrored.status, VQ_AGREEMENT_OK);
    assert_near(mirrored.kappa, 1.0, 0.0, 0.0);
}

/* The mirrored kappa is the plain one of the rows and their negatives. */
TEST(test_mirrored_by_hand)
{
    const double a[12] = {1, 1, 0, -1, 1, 0, -1, -1, 0, 1, -1, 0};
    const double b[12] = {1, 0, 0, -1, 1, -1, -1, 0, 0, -1, 1, 1}; /* 7th on: minus the first six */
    struct vq_kappa plain;
    struct vq_kappa mirrored;
    assert_int_equal(vq_agreement_cohen(a, b, 6, &plain, &mirrored), VQ_OK);
    assert_near(plain.observed, 2.0 / 3.0, 0.0, 1e-15);
    assert_near(plain.expected, 1.0 / 3.0, 0.0, 1e-15);
    assert_near(plain.kappa, 0.5, 0.0, 1e-15);
    double negated_a[12];
    double negated_b[12];
    for (size_t i = 0; i < 6; i++) {
        negated_a[i] = a[i];
        negated_b[i] = b[i];
        negated_a[6 + i] = -a[i];
        negated_b[6 + i] = -b[i];
    }
    assert_int_equal(vq_agreement_cohen(negated_a, negated_b, 12, &plain, NULL), VQ_OK);
    assert_near(mirrored.kappa, plain.kappa, 0.0, 1e-15);
}

/* The worked example of the method: 500 rows, two judges. */
TEST(test_worked_example)
{
    const double counts[9] = {229, 37, 12, 52, 39, 26, 5, 26, 74};
    struct vq_kappa kappa;
    assert_int_equal(vq_agreement_cohen_counts(counts, 3, &kappa), VQ_OK);
    assert_near(kappa.n, 500.0, 0.0, 0.0);
    assert_near(kappa.observed, 0.684, 0.0, 1e-12);
    assert_near(kappa.expected, 0.412808, 0.0, 1e-12);
    assert_near(kappa.kappa, 0.46185, 0.0, 5e-6);
    const double decided[4] = {229, 12, 5, 74};
    assert_int_equal(vq_agreement_cohen_counts(decided, 2, &kappa), VQ_OK);
    assert_near(kappa.kappa, 0.86127, 0.0, 5e-6);
}

TEST(test_missing_is_left_out)
{
    const double a[8] = {1, 1, 0, -1, 1, 0, NAN, 1};
    const double b[8] = {1, 0, 0, -1, 1, -1, 1, NAN};
    struct vq_kappa kappa;
    assert_int_equal(vq_agreement_cohen(a, b, 8, &kappa, NULL), VQ_OK);
    assert_near(kappa.n, 6.0, 0.0, 0.0);
    assert_near(kappa.kappa, 0.5, 0.0, 1e-15);
    assert_int_equal(vq_agreement_cohen(a + 6, b + 6, 2, &kappa, NULL), VQ_OK);
    assert_int_equal(kappa.status, VQ_AGREEMENT_NO_ROWS);
    assert_true(isnan(kappa.kappa));
}

TEST(test_fleiss_fixtures)
{
    json_t *root = fixture_json("agreement/fleiss.json");
    const json_t *cases = json_object_get(root, "cases");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *want = json_array_get(cases, i);
        const json_t *table = json_object_get(want, "counts");
        size_t n;
        double *counts = numbers(table, &n);
        struct vq_matrix matrix = {counts, json_array_size(table), n / json_array_size(table)};
        struct vq_fleiss fleiss;
        print_message("  %s\n", text(want, "name"));
        assert_int_equal(vq_agreement_fleiss(matrix, &fleiss), VQ_OK);
        assert_near(fleiss.fleiss, number(want, "fleiss_kappa"), 0.0, ABS_AGREE);
        assert_near_if(fleiss.randolph, number(want, "randolph_kappa"), 0.0, ABS_AGREE);
        assert_int_equal(fleiss.status == VQ_AGREEMENT_UNDEFINED, isnan(fleiss.fleiss));
        vq_free(counts);
    }
    json_decref(root);
}

static void check_alphas(struct vq_matrix ratings, const json_t *want)
{
    const char *names[] = {"nominal", "ordinal", "interval"};
    for (size_t level = 0; level < 3; level++) {
        enum vq_agreement_status status;
        double alpha;
        assert_int_equal(
            vq_agreement_krippendorff(ratings, (enum vq_agreement_level)level, &status, &alpha),
            VQ_OK);
        if (json_object_get(want, names[level]) != NULL) {
            assert_near(alpha, number(want, names[level]), 0.0, ABS_AGREE);
            assert_int_equal(status == VQ_AGREEMENT_UNDEFINED, isnan(alpha));
        }
    }
}

/* Fleiss' rating tables once more, as judges side by side. */
TEST(test_pairs_fixtures)
{
    json_t *root = fixture_json("agreement/fleiss.json");
    const json_t *cases = json_object_get(root, "cases");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *want = json_array_get(cases, i);
        const json_t *table = json_object_get(want, "ratings");
        if (table == NULL) {
            continue;
        }
        size_t n;
        double *ratings = numbers(table, &n);
        struct vq_matrix matrix = {ratings, json_array_size(table), n / json_array_size(table)};
        const json_t *pairwise = json_object_get(want, "pairwise_cohen");
        struct vq_kappa_pairs pairs;
        assert_int_equal(vq_agreement_pairs(matrix, &pairs), VQ_OK);
        assert_int_equal(pairs.pairs, json_array_size(pairwise));
        assert_near(pairs.mean_kappa, number(want, "mean_pairwise_cohen"), 0.0, ABS_AGREE);
        size_t at = 0;
        for (size_t a = 0; a < matrix.cols; a++) {
            for (size_t b = a + 1; b < matrix.cols; b++, at++) {
                double left[200];
                double right[200];
                for (size_t row = 0; row < matrix.rows; row++) {
                    left[row] = ratings[row * matrix.cols + a];
                    right[row] = ratings[row * matrix.cols + b];
                }
                struct vq_kappa kappa;
                assert_int_equal(vq_agreement_cohen(left, right, matrix.rows, &kappa, NULL), VQ_OK);
                assert_near(kappa.kappa, number_of(json_array_get(pairwise, at)), 0.0, ABS_AGREE);
            }
        }
        check_alphas(matrix, json_object_get(want, "krippendorff_alpha"));
        vq_free(ratings);
    }
    json_decref(root);
}

TEST(test_krippendorff_fixtures)
{
    json_t *root = fixture_json("agreement/krippendorff.json");
    const json_t *cases = json_object_get(root, "cases");
    assert_int_equal(json_array_size(cases), 4);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *want = json_array_get(cases, i);
        const json_t *table = json_object_get(want, "raters_by_items");
        size_t n;
        double *by_rater = numbers(table, &n);
        size_t raters = json_array_size(table);
        size_t items = n / raters;
        double *ratings = vq_alloc(n, sizeof(*ratings));
        for (size_t cell = 0; cell < n; cell++) {
            ratings[cell % items * raters + cell / items] = by_rater[cell];
        }
        check_alphas((struct vq_matrix){ratings, items, raters}, json_object_get(want, "alpha"));
        vq_free(by_rater);
        vq_free(ratings);
    }
    json_decref(root);
}

TEST(test_nobody_rated_twice)
{
    const double ratings[6] = {1, NAN, NAN, -1, 0, NAN};
    enum vq_agreement_status status;
    double alpha;
    struct vq_matrix matrix = {ratings, 3, 2};
    assert_int_equal(vq_agreement_krippendorff(matrix, VQ_AGREEMENT_NOMINAL, &status, &alpha),
                     VQ_OK);
    assert_int_equal(status, VQ_AGREEMENT_NO_ROWS);
    assert_true(isnan(alpha));
}

TEST(test_refusals)
{
    const double a[2] = {1, 0.5};
    const double b[2] = {1, 0};
    struct vq_kappa kappa;
    assert_int_equal(vq_agreement_cohen(a, b, 2, &kappa, NULL), VQ_INVALID);
    const double counts[4] = {1, -1, 0, 2};
    assert_int_equal(vq_agreement_cohen_counts(counts, 2, &kappa), VQ_INVALID);
    assert_int_equal(vq_agreement_cohen_counts(counts, VQ_AGREEMENT_CATEGORIES_MAX + 1, &kappa),
                     VQ_LIMIT);
    const double uneven[4] = {2, 1, 1, 1};
    struct vq_fleiss fleiss;
    assert_int_equal(vq_agreement_fleiss((struct vq_matrix){uneven, 2, 2}, &fleiss), VQ_INVALID);
    double many[VQ_AGREEMENT_CATEGORIES_MAX + 2];
    for (size_t i = 0; i < VQ_COUNT(many); i++) {
        many[i] = (double)i;
    }
    enum vq_agreement_status status;
    double alpha;
    assert_int_equal(vq_agreement_krippendorff((struct vq_matrix){many, VQ_COUNT(many) / 2, 2},
                                               VQ_AGREEMENT_INTERVAL, &status, &alpha),
                     VQ_LIMIT);
}
