/* Real replies of rubric judges say what their description states. They are other people's texts
 * and not part of this repository: without the folder (VQ_SHARED, else ../shared beside the
 * checkout) the tests skip and say so, and with VQ_REQUIRE_SHARED=1 that is a failure. */
#include "tests/unit/test.h"

#include "common/judge/rating.h"

#include "tests/unit/published.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TRAITS 5u
#define ITEMS  44u

static json_t *json_of(const char *file)
{
    char path[1024];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, file);
    json_t *json = json_load_file(path, 0, NULL);
    assert_non_null(json);
    return json;
}

static struct vq_rating reply(const struct vq_table *table, uint32_t row, enum vq_rating_kind kind,
                              enum vq_rating_policy policy)
{
    struct vq_rating_reader reader = {.kind = kind, .policy = policy};
    struct vq_rating rating;
    vq_rating_read(&reader, vq_table_cell(table, row, 0), vq_span_str(""), false, &rating);
    return rating;
}

/* Both policies read these replies alike. */
static int64_t value(const struct vq_table *table, uint32_t row, enum vq_rating_kind kind)
{
    struct vq_rating strict = reply(table, row, kind, VQ_RATING_STRICT);
    struct vq_rating paper = reply(table, row, kind, VQ_RATING_PAPER);
    assert_int_equal(strict.status, VQ_RATING_OK);
    assert_int_equal(paper.status, VQ_RATING_OK);
    assert_int_equal(strict.value, paper.value);
    assert_true(strict.reasoning.bytes > 100);
    return strict.value;
}

static void trait_ratings(void **state)
{
    (void)state;
    static const int expected[ITEMS] = {5, 1, 5, 5, 2, 4, 1, 5, 1, 1, 5, 1, 5, 5, 2,
                                        5, 1, 4, 4, 2, 5, 1, 4, 5, 3, 5, 1, 5, 4, 2,
                                        5, 1, 5, 1, 5, 5, 1, 2, 4, 3, 2, 1, 5, 2};
    static const char *const traits[TRAITS] = {"Extraversion", "Agreeableness", "Conscientiousness",
                                               "Neuroticism", "Openness"};
    static const double means[TRAITS] = {4.875, 1, 40.0 / 9, 3.625, 2.4};
    struct vq_table *table = table_of("judge_likert_bfi_gemma-3-27b-it_Gaston_round22.csv");
    json_t *items = json_of("BFI.json"), *labels = json_of("bfi_ground_truth_labels.json");
    double sums[TRAITS] = {0};
    unsigned counts[TRAITS] = {0};
    assert_int_equal(table->rows_count, ITEMS);
    for (uint32_t i = 0; i < ITEMS; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "%u", i + 1);
        const char *trait = json_string_value(json_object_get(
            json_object_get(json_object_get(items, "questions"), key), "dimension"));
        int64_t rating = value(table, i, VQ_RATING_LIKERT);
        assert_int_equal(rating, expected[i]);
        for (uint32_t t = 0; t < TRAITS; t++) {
            bool of = strcmp(trait, traits[t]) == 0;
            sums[t] += of ? (double)rating : 0;
            counts[t] += of;
        }
    }
    static const struct {
        const char *set;
        double error;
    } sets[] = {{"annotation", 0.221389}, {"pdb", 0.246389}};
    for (size_t s = 0; s < VQ_COUNT(sets); s++) {
        json_t *of = json_object_get(json_object_get(labels, "Gaston"), sets[s].set);
        double error = 0;
        for (uint32_t t = 0; t < TRAITS; t++) {
            double mean = sums[t] / counts[t];
            assert_true(fabs(mean - means[t]) < 1e-12);
            error += fabs(mean - json_number_value(json_object_get(of, traits[t]))) / 4 / TRAITS;
        }
        assert_true(fabs(error - sets[s].error) < 1e-6);
    }
    json_decref(items);
    json_decref(labels);
    vq_table_destroy(&table);
}

/* Rows in turn show the reference first (even) and second: B, A, B, A ... is the persona each
 * time. */
static void role_specific_pairs(void **state)
{
    (void)state;
    struct vq_table *table =
        table_of("judge_pairwise_role_specific_gemma-3-27b-it_Gaston_round0_idx0-5.csv");
    assert_int_equal(table->rows_count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(value(table, i, VQ_RATING_PAIRWISE), i % 2 == 0);
    }
    vq_table_destroy(&table);
}

static void a_runaway_reply(void **state)
{
    (void)state;
    struct vq_table *table =
        table_of("judge_pairwise_general_gemma-3-27b-it_inst_Gaston_round0_idx0-4_truncated.csv");
    static const int expected[] = {1, 0, 1, 0};
    for (uint32_t i = 0; i < VQ_COUNT(expected); i++) {
        assert_int_equal(value(table, i, VQ_RATING_PAIRWISE), expected[i]);
    }
    struct vq_rating paper = reply(table, 4, VQ_RATING_PAIRWISE, VQ_RATING_PAPER);
    assert_true(paper.status == VQ_RATING_OK && paper.value == 0);
    struct vq_rating strict = reply(table, 4, VQ_RATING_PAIRWISE, VQ_RATING_STRICT);
    assert_true(strict.status == VQ_RATING_AMBIGUOUS && !strict.has_value);
    vq_table_destroy(&table);
}

static void refusals(void **state)
{
    (void)state;
    struct vq_table *table =
        table_of("judge_binary_xstest_gemma-3-27b-it_Gaston_round0_idx25-31.csv");
    static const int expected[] = {1, 1, 0, 0, 0, 0, 1};
    assert_int_equal(table->rows_count, VQ_COUNT(expected));
    for (uint32_t i = 0; i < VQ_COUNT(expected); i++) {
        assert_int_equal(value(table, i, VQ_RATING_BINARY), expected[i]);
    }
    vq_table_destroy(&table);
}

int main(void)
{
    int code;
    if (!published("persona", &code)) {
        return code;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trait_ratings),
        cmocka_unit_test(role_specific_pairs),
        cmocka_unit_test(a_runaway_reply),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
