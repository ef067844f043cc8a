/* The shared parts: quantiles, column scales, shape checks, group numbers, small linear algebra. */
#include "fixtures.h"

#include "methods/stats/groups.h"
#include "methods/stats/linalg.h"

int openblas_get_num_threads(void); /* of the library itself */
void openblas_set_num_threads(int threads);

TEST(test_one_thread)
{
    openblas_set_num_threads(2);
    vq_stats_init();
    assert_int_equal(openblas_get_num_threads(), 1);
}

TEST(test_quantile)
{
    const double v[5] = {1, 2, 4, 8, 16};
    assert_near(vq_stats_quantile(v, 5, 0.0), 1.0, 0.0, 0.0);
    assert_near(vq_stats_quantile(v, 5, 1.0), 16.0, 0.0, 0.0);
    assert_near(vq_stats_quantile(v, 5, 0.5), 4.0, 0.0, 0.0);
    assert_near(vq_stats_quantile(v, 5, 0.9), 12.8, 1e-15, 0.0);
    assert_near(vq_stats_quantile(v, 1, 0.3), 1.0, 0.0, 0.0);
}

TEST(test_check)
{
    const double x[4] = {1, 2, NAN, 4};
    const double infinite[2] = {1, -INFINITY};
    struct vq_error err = {{0}};
    assert_int_equal(vq_stats_check((struct vq_matrix){x, 2, 2}, true, &err), VQ_OK);
    assert_int_equal(vq_stats_check((struct vq_matrix){x, 2, 2}, false, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "row 1, column 0"));
    assert_int_equal(vq_stats_check((struct vq_matrix){infinite, 2, 1}, true, &err), VQ_INVALID);
    assert_int_equal(vq_stats_check((struct vq_matrix){x, VQ_STATS_ROWS_MAX + 1, 1}, true, &err),
                     VQ_LIMIT);
}

TEST(test_groups)
{
    const uint32_t groups[7] = {900, 3, 900, UINT32_MAX, 0, 3, 900};
    const uint32_t want[7] = {0, 1, 0, 2, 3, 1, 0};
    uint32_t got[7];
    size_t count;
    assert_int_equal(vq_groups_index(groups, 7, got, &count), VQ_OK);
    assert_int_equal(count, 4);
    assert_memory_equal(got, want, sizeof(want));
    assert_int_equal(vq_groups_index(NULL, 7, got, &count), VQ_OK);
    assert_int_equal(count, 7);
    assert_int_equal(got[6], 6);
    assert_int_equal(vq_groups_index(groups, 0, got, &count), VQ_OK);
    assert_int_equal(count, 0);
}

TEST(test_cholesky)
{
    double a[9] = {4, 99, 99, 2, 5, 99, -2, 1, 6}; /* the upper triangle is not read */
    double b[3] = {2, 9, 10};
    assert_true(vq_linalg_cholesky(a, 3));
    vq_linalg_solve(a, 3, b);
    assert_near(4 * b[0] + 2 * b[1] - 2 * b[2], 2.0, 1e-14, 0.0);
    assert_near(2 * b[0] + 5 * b[1] + 1 * b[2], 9.0, 1e-14, 0.0);
    assert_near(-2 * b[0] + 1 * b[1] + 6 * b[2], 10.0, 1e-14, 0.0);
    assert_near(vq_linalg_log_det(a, 3), log(64.0), 1e-14, 0.0);
    assert_true(vq_linalg_inverse(a, 3));
    assert_near(4 * a[0] + 2 * a[3] - 2 * a[6], 1.0, 1e-14, 0.0);
    assert_near(a[1], a[3], 0.0, 0.0);
    double singular[4] = {1, 0, 1, 1};
    assert_false(vq_linalg_cholesky(singular, 2) && singular[3] > 1e-7);
    double broken[1] = {NAN};
    assert_false(vq_linalg_cholesky(broken, 1));
}

TEST(test_alias)
{
    /* columns: 1, 2 * first, 0, independent, first + independent */
    const double columns[3][5] = {{1, 2, 0, 1, 2}, {1, 2, 0, -1, 0}, {1, 2, 0, 0, 1}};
    double gram[25];
    double work[25];
    bool aliased[5];
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 5; j++) {
            gram[i * 5 + j] = 0.0;
            for (size_t row = 0; row < 3; row++) {
                gram[i * 5 + j] += columns[row][i] * columns[row][j];
            }
        }
    }
    vq_linalg_alias(gram, 5, 1e-11, work, aliased);
    assert_false(aliased[0] || aliased[3]);
    assert_true(aliased[1] && aliased[2] && aliased[4]);
}

TEST(test_root_mean_square)
{
    const double x[12] = {3, 0, NAN, 4, 0, NAN, NAN, 0, NAN, 0, 0, NAN};
    double scale[3];
    vq_stats_root_mean_square((struct vq_matrix){x, 4, 3}, scale);
    assert_near(scale[0], sqrt(25.0 / 3.0), 1e-15, 0.0); /* over the three cells there are */
    assert_near(scale[1], 1.0, 0.0, 0.0);
    assert_near(scale[2], 1.0, 0.0, 0.0);
}

TEST_START(vq_stats_init)
