/* Exact permutation tests by walking every arrangement, and the paired t-test. The walks are
 * recursive with the running sum on the stack, so that no error builds up; their depth is bounded
 * by the limit on arrangements. Owns its work space for the length of a call. */
#include "methods/stats/intervals/compare.h"

#include "common/base/alloc.h"
#include "methods/stats/special.h"

#include <math.h>
#include <string.h>

#define PAIRS_MAX 40 /* far above what the limit on arrangements lets through */

struct arrangements {
    const double *values;
    size_t n;
    double extreme_from; /* of the absolute statistic; rounding allowed for */
    double greater_from;
    double offset; /* statistic = offset + scale * sum */
    double scale;
    uint64_t all;
    uint64_t extreme;
    uint64_t greater;
};

static void tally(struct arrangements *walk, double sum)
{
    double statistic = walk->offset + walk->scale * sum;
    walk->all++;
    walk->extreme += fabs(statistic) >= walk->extreme_from ? 1 : 0;
    walk->greater += statistic >= walk->greater_from ? 1 : 0;
}

/* Every choice of `left` values from `at` on. */
static void choose_from(struct arrangements *walk, size_t at, size_t left, double sum)
{
    if (left == 0) {
        tally(walk, sum);
        return;
    }
    if (walk->n - at < left) {
        return;
    }
    choose_from(walk, at + 1, left - 1, sum + walk->values[at]);
    choose_from(walk, at + 1, left, sum);
}

static void flip_from(struct arrangements *walk, size_t at, double sum)
{
    if (at == walk->n) {
        tally(walk, sum);
        return;
    }
    flip_from(walk, at + 1, sum + walk->values[at]);
    flip_from(walk, at + 1, sum - walk->values[at]);
}

static void set_observed(struct arrangements *walk, double observed, double slack)
{
    walk->extreme_from = fabs(observed) - slack;
    walk->greater_from = observed - slack;
}

static struct vq_permutation result_of(const struct arrangements *walk, double observed)
{
    return (struct vq_permutation){
        .observed = observed,
        .arrangements = walk->all,
        .p_two_sided = (double)walk->extreme / (double)walk->all,
        .p_greater = (double)walk->greater / (double)walk->all,
    };
}

static bool choices_within_limit(size_t n, size_t k)
{
    double count = 1.0;
    for (size_t i = 1; i <= k; i++) {
        count *= (double)(n - k + i) / (double)i;
        if (count > (double)VQ_COMPARE_ARRANGEMENTS_MAX) {
            return false;
        }
    }
    return true;
}

static double slack_of(const double *values, size_t n)
{
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(values[i]));
    }
    return 1e-12 * (1.0 + largest);
}

enum vq_status vq_compare_two_sample(const double *a, size_t n_a, const double *b, size_t n_b,
                                     struct vq_permutation *ret)
{
    size_t n = n_a + n_b;
    if (n_a == 0 || n_b == 0) {
        return VQ_INVALID;
    }
    if (!choices_within_limit(n, n_a < n_b ? n_a : n_b)) {
        return VQ_LIMIT;
    }
    double *pool = vq_alloc(n, sizeof(*pool));
    if (pool == NULL) {
        return VQ_NOMEM;
    }
    memcpy(pool, a, n_a * sizeof(*pool));
    memcpy(pool + n_a, b, n_b * sizeof(*pool));
    double sum_a = 0.0;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += pool[i];
        sum_a += i < n_a ? pool[i] : 0.0;
    }
    if (!isfinite(sum)) {
        vq_free(pool);
        return VQ_INVALID;
    }
    /* mean(a) - mean(b) with the sum s of the values dealt to a: s (1/n_a + 1/n_b) - sum / n_b */
    double scale = 1.0 / (double)n_a + 1.0 / (double)n_b;
    double offset = -sum / (double)n_b;
    double observed = offset + scale * sum_a;
    struct arrangements walk = {.values = pool, .n = n, .offset = offset, .scale = scale};
    set_observed(&walk, observed, slack_of(pool, n));
    choose_from(&walk, 0, n_a, 0.0);
    *ret = result_of(&walk, observed);
    vq_free(pool);
    return VQ_OK;
}

enum vq_status vq_compare_paired(const double *a, const double *b, size_t n,
                                 struct vq_permutation *ret)
{
    if (n == 0) {
        return VQ_INVALID;
    }
    if (n > PAIRS_MAX || (UINT64_C(1) << n) > VQ_COMPARE_ARRANGEMENTS_MAX) {
        return VQ_LIMIT;
    }
    double gaps[PAIRS_MAX];
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        gaps[i] = a[i] - b[i];
        sum += gaps[i];
    }
    if (!isfinite(sum)) {
        return VQ_INVALID;
    }
    double observed = sum / (double)n;
    struct arrangements walk = {.values = gaps, .n = n, .scale = 1.0 / (double)n};
    set_observed(&walk, observed, slack_of(gaps, n));
    flip_from(&walk, 0, 0.0);
    *ret = result_of(&walk, observed);
    return VQ_OK;
}

void vq_compare_paired_t(const double *a, const double *b, size_t n, struct vq_paired_t *ret)
{
    struct vq_paired_t result = {.mean = NAN, .t = NAN, .p = NAN};
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        double gap = a[i] - b[i];
        if (!isnan(gap)) {
            sum += gap;
            result.n++;
        }
    }
    double pairs = (double)result.n;
    double squares = 0.0;
    if (result.n > 0) {
        result.mean = sum / pairs;
    }
    for (size_t i = 0; i < n; i++) {
        double gap = a[i] - b[i];
        squares += isnan(gap) ? 0.0 : (gap - result.mean) * (gap - result.mean);
    }
    if (result.n > 1 && squares > 1e-28 * pairs * result.mean * result.mean) {
        result.t = result.mean / sqrt(squares / (pairs - 1.0) / pairs);
        result.p = vq_student_two_sided(result.t, pairs - 1.0);
    }
    *ret = result;
}
