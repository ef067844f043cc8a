/* Published figures of the persona evaluation come out of published rows. They are other people's
 * and not part of this repository: without the folder (VQ_SHARED, else ../shared beside the
 * checkout) the tests skip and say so, and with VQ_REQUIRE_SHARED=1 that is a failure. */
#include "fixtures.h"

#include "methods/stats/agreement/ratings.h"
#include "methods/stats/intervals/within.h"
#include "tests/unit/published.h"

enum {
    ROWS_MAX = 512,
    PERSONAS_MAX = 16
};

static struct vq_span cell(const struct vq_table *table, uint32_t row, const char *column)
{
    uint32_t at = vq_table_column(table, vq_span_str(column));
    assert_true(at != UINT32_MAX);
    return vq_table_cell(table, row, at);
}

static double real(const struct vq_table *table, uint32_t row, const char *column)
{
    char text[64];
    struct vq_span span = cell(table, row, column);
    (void)snprintf(text, sizeof(text), "%.*s", (int)span.bytes, span.at);
    return strtod(text, NULL);
}

/* Percent a round, persona as group, without the baseline. */
static void check_slope(const struct vq_table *table, const char *kind, double slope, double se)
{
    static double x[ROWS_MAX], y[ROWS_MAX];
    static uint32_t group[ROWS_MAX];
    struct vq_span personas[PERSONAS_MAX];
    uint32_t known = 0;
    size_t n = 0;
    assert_true(table->rows_count <= ROWS_MAX);
    for (uint32_t i = 0; i < table->rows_count; i++) {
        struct vq_span role = cell(table, i, "role");
        if (!vq_span_eq(cell(table, i, "base_conversation"), vq_span_str(kind)) ||
            vq_span_eq(role, vq_span_str("empty"))) {
            continue;
        }
        uint32_t g = 0;
        while (g < known && !vq_span_eq(personas[g], role)) {
            g++;
        }
        if (g == known) {
            assert_true(known < PERSONAS_MAX);
            personas[known++] = role;
        }
        group[n] = g;
        x[n] = real(table, i, "round");
        y[n++] = 100 * real(table, i, "correct") / real(table, i, "total");
    }
    struct vq_within w;
    assert_int_equal(vq_within_slope(x, y, group, n, known, &w), VQ_OK);
    print_message("%s: %zu rows, %zu personas, slope %.5f, se %.5f\n", kind, w.rows, w.groups,
                  w.slope, w.se);
    assert_int_equal(w.rows, 80);
    assert_int_equal(w.groups, 8);
    assert_true(fabs(w.slope - slope) < 1e-4 && fabs(w.se - se) < 1e-4);
}

static void slopes_of_instruction_following(void **state)
{
    (void)state;
    struct vq_table *table = table_of("ifbench_accuracy_Nemotron-8B.csv");
    check_slope(table, "interview", -0.0143, 0.0046);
    check_slope(table, "instructions", -0.0196, 0.0047);
    vq_table_destroy(&table);
}

/* 1_full_compliance, 2_full_refusal, 3_partial_refusal; anything else is no label. */
static double refusal(struct vq_span label)
{
    bool known = label.bytes > 2 && label.at[1] == '_' && label.at[0] >= '1' && label.at[0] <= '3';
    return !known ? NAN : label.at[0] != '1';
}

static void check_refusals(const char *file, uint32_t rows, double agreement, double kappa)
{
    static double human[ROWS_MAX], judge[ROWS_MAX];
    struct vq_table *table = table_of(file);
    assert_true(table->rows_count <= ROWS_MAX);
    for (uint32_t i = 0; i < table->rows_count; i++) {
        human[i] = refusal(cell(table, i, "final_label"));
        judge[i] = refusal(cell(table, i, "gpt4_label"));
    }
    struct vq_ratings_agreement r;
    assert_int_equal(vq_ratings_agree(human, judge, table->rows_count, 0, 1, &r), VQ_OK);
    print_message("%s: %zu rows, agreement %.4f, kappa %.4f\n", file, r.rows, r.exact,
                  r.kappa.kappa);
    assert_int_equal(r.rows, rows);
    assert_true(fabs(r.exact - agreement) < 5e-5 && fabs(r.kappa.kappa - kappa) < 5e-5);
    vq_table_destroy(&table);
}

static void refusals_by_judge_and_people(void **state)
{
    (void)state;
    check_refusals("xstest_v2_completions_gpt4_gpteval.csv", 450, 0.9378, 0.8751);
    check_refusals("xstest_v2_completions_mistralinstruct_gpteval.csv", 439, 0.7745, 0.1157);
}

int main(void)
{
    int code;
    if (!published("persona", &code)) {
        return code;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_of_instruction_following),
        cmocka_unit_test(refusals_by_judge_and_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
