/* Agreement: the fixtures, the worked examples of the method, the gate's corner cases. */
#include "tests/unit/methods/stats/fixtures.h"

#include "methods/stats/agreement/agreement.h"

static void check_kappa(const struct vq_kappa *got, const json_t *want)
{
    assert_int_equal(got->status == VQ_AGREEMENT_OK, text(want, "status")[0] == '\0');
    assert_near(got->n, number(want, "n"), 0.0, 0.0);
    assert_near(got->observed, number(want, "observed_agreement"), 0.0, ABS_AGREE);
    assert_near(got->expected, number(want, "expected_agreement"), 0.0, ABS_AGREE);
    assert_near(got->kappa, number(want, "kappa"), 0.0, ABS_AGREE);
    assert_near(got->kappa_quadratic, number(want, "kappa_quadratic"), 0.0, ABS_AGREE);
    assert_near(got->se, number(want, "se"), 0.0, ABS_AGREE);
    assert_near_if(got->ci95.lo, number(want, "ci95_lo"), 0.0, ABS_AGREE);
    assert_near_if(got->ci95.hi, number(want, "ci95_hi"), 0.0, ABS_AGREE);
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
    assert_true(isnan(mirrored.se) && isnan(mirrored.ci95.lo));
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
        const json_t *alpha = json_object_get(want, "krippendorff_alpha");
        assert_near(pairs.alpha, number(alpha, "nominal"), 0.0, ABS_AGREE);
        vq_free(ratings);
    }
    json_decref(root);
}

TEST(test_nobody_rated_twice)
{
    const double ratings[6] = {1, NAN, NAN, -1, 0, NAN};
    struct vq_kappa_pairs pairs;
    assert_int_equal(vq_agreement_pairs((struct vq_matrix){ratings, 3, 2}, &pairs), VQ_OK);
    assert_int_equal(pairs.alpha_status, VQ_AGREEMENT_NO_ROWS);
    assert_true(isnan(pairs.alpha));
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
}
