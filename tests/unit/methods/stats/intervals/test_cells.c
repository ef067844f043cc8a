/* Intervals over few cells: edges, and how often they hold the truth. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/intervals/cells.h"
#include "methods/stats/special.h"

TEST(edges)
{
    static const double values[] = {1, 2, NAN, 3, 4, 5, 6};
    struct vq_cells_mean m;
    assert_int_equal(vq_cells_mean(values, 0, 10, 1, &m), VQ_OK);
    assert_true(m.status == VQ_CELLS_NONE && m.cells == 0 && isnan(m.mean) && isnan(m.ci95.lo));
    assert_int_equal(vq_cells_mean(values + 2, 1, 10, 1, &m), VQ_OK);
    assert_true(m.status == VQ_CELLS_NONE);
    assert_int_equal(vq_cells_mean(values, 6, 10, 1, &m), VQ_OK);
    assert_true(m.status == VQ_CELLS_FEW && m.cells == 5 && m.mean == 3);
    assert_true(isnan(m.ci95.lo) && isnan(m.percentile.hi) && !vq_cells_excludes_0(&m));
    assert_int_equal(vq_cells_mean(values, 7, 1000, 1, &m), VQ_OK);
    assert_true(m.status == VQ_CELLS_OK && m.cells == 6 && m.mean == 3.5);
    assert_true(m.ci95.lo < m.percentile.lo && m.percentile.lo < 3.5);
    assert_true(m.ci95.hi > m.percentile.hi && m.percentile.hi > 3.5);
    /* s^2 = 3.5, t(5, 0.975) = 2.570582 */
    assert_true(fabs(m.ci95.hi - 3.5 - 2.570581835636 * sqrt(3.5 / 6)) < 1e-9);
    assert_true(fabs(m.ci95.lo + m.ci95.hi - 7) < 1e-12 && vq_cells_excludes_0(&m));
    struct vq_cells_mean again;
    assert_int_equal(vq_cells_mean(values, 7, 1000, 1, &again), VQ_OK);
    assert_memory_equal(&m, &again, sizeof(m));
    static const double same[] = {2, 2, 2, 2, 2, 2}, zero[6] = {0};
    assert_int_equal(vq_cells_mean(same, 6, 100, 1, &m), VQ_OK);
    assert_true(m.ci95.lo == 2 && m.ci95.hi == 2 && vq_cells_excludes_0(&m));
    assert_int_equal(vq_cells_mean(zero, 6, 100, 1, &m), VQ_OK);
    assert_false(vq_cells_excludes_0(&m));
    static const double infinite[] = {INFINITY};
    assert_int_equal(vq_cells_mean(infinite, 1, 100, 1, &m), VQ_INVALID);
    assert_int_equal(vq_cells_mean(same, 6, 0, 1, &m), VQ_LIMIT);
    assert_string_equal(vq_cells_status_name(VQ_CELLS_FEW), "too few cells");
    vq_alloc_fail_at(1);
    assert_int_equal(vq_cells_mean(same, 6, 10, 1, &m), VQ_NOMEM);
    vq_alloc_fail_at(0);
}

static double normal(struct vq_rng *rng) /* Box and Muller */
{
    double radius = sqrt(-2 * log(1 - vq_rng_unit(rng)));
    return radius * cos(2 * M_PI * vq_rng_unit(rng));
}

/* Normal cells. What is written of both intervals in the header is so, as far as 2,000 samples can
 * tell. */
TEST(coverage)
{
    static const uint32_t counts[] = {6, 8, 16, 56};
    enum {
        SAMPLES = 2000
    };
    for (size_t c = 0; c < VQ_COUNT(counts); c++) {
        uint32_t n = counts[c], percentile = 0, wide = 0;
        struct vq_rng rng;
        vq_rng_seed(&rng, n);
        for (int s = 0; s < SAMPLES; s++) {
            double values[56];
            struct vq_cells_mean m;
            for (uint32_t i = 0; i < n; i++) {
                values[i] = 1 + normal(&rng);
            }
            assert_int_equal(vq_cells_mean(values, n, 500, (uint64_t)s, &m), VQ_OK);
            percentile += m.percentile.lo <= 1 && 1 <= m.percentile.hi;
            wide += m.ci95.lo <= 1 && 1 <= m.ci95.hi;
        }
        double stated = 1 - vq_student_two_sided(VQ_NORMAL_975 * sqrt((n - 1.0) / n), n - 1.0);
        print_message("%u cells: percentile holds it in %.1f %% (stated %.1f), ci95 in %.1f %%\n",
                      n, 100.0 * percentile / SAMPLES, 100 * stated, 100.0 * wide / SAMPLES);
        assert_true(fabs((double)percentile / SAMPLES - stated) < 0.03);
        assert_true(fabs((double)wide / SAMPLES - 0.95) < 0.02);
    }
}
