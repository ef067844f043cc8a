/* Sign patterns of unit means: for few units all patterns in Gray-code order, for many units random
 * patterns. Means of equal size are interchangeable, so a draw needs only the number of positive
 * ones, which is a count of random bits. Pure; a call owns its working memory. */
#include "methods/stats/intervals/sign_flip.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "methods/stats/intervals/proportions.h"
#include "methods/stats/intervals/units.h"

#include <math.h>
#include <string.h>

#define SAME_SIZE 1e-12 /* relative: sizes that differ by less count as equal */
/* relative to the sum of sizes: sums that differ by rounding count as equal */
#define AS_FAR 1e-9

static double exact(const double *sizes, size_t n, double far)
{
    /* The last sign is fixed, because a pattern and its mirror image have the same absolute sum. */
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += sizes[i];
    }
    uint64_t patterns = UINT64_C(1) << (n - 1);
    uint64_t as_far = 0;
    uint64_t signs = 0;
    for (uint64_t k = 1;; k++) {
        as_far += fabs(sum) >= far;
        if (k == patterns) {
            break;
        }
        unsigned turn = 0;
        while ((k >> turn & 1u) == 0) {
            turn++;
        }
        signs ^= UINT64_C(1) << turn;
        sum += (signs >> turn & 1u) != 0 ? -2.0 * sizes[turn] : 2.0 * sizes[turn];
    }
    return (double)as_far / (double)patterns;
}

static uint64_t heads(struct vq_rng *rng, size_t coins)
{
    uint64_t count = 0;
    for (; coins >= 64; coins -= 64) {
        count += (uint64_t)__builtin_popcountll(vq_rng_u64(rng));
    }
    return coins == 0 ? count
                      : count + (uint64_t)__builtin_popcountll(vq_rng_u64(rng) >> (64 - coins));
}

/* `sizes` is ascending: runs of equal sizes are drawn together. */
static double drawn(const double *sizes, size_t n, double far, uint64_t seed)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    size_t as_far = 0;
    for (size_t draw = 0; draw < VQ_SIGN_FLIP_DRAWS; draw++) {
        double sum = 0.0;
        for (size_t from = 0, to; from < n; from = to) {
            for (to = from + 1; to < n && sizes[to] <= sizes[from] * (1.0 + SAME_SIZE);) {
                to++;
            }
            sum += sizes[from] * (2.0 * (double)heads(&rng, to - from) - (double)(to - from));
        }
        as_far += fabs(sum) >= far;
    }
    return (1.0 + (double)as_far) / (1.0 + VQ_SIGN_FLIP_DRAWS);
}

/* Replaces `means` by the ascending sizes of the means that are not 0. */
static void test(double *means, size_t units, uint64_t seed, struct vq_sign_flip *ret)
{
    double sum = 0.0;
    double sizes = 0.0;
    size_t positive = 0;
    *ret = (struct vq_sign_flip){.p = NAN, .exact = true};
    for (size_t u = 0; u < units; u++) {
        double mean = means[u];
        ret->units += isnan(mean) ? 0 : 1;
        if (!isnan(mean) && fabs(mean) > 0.0) {
            sum += mean;
            positive += mean > 0.0;
            sizes += fabs(mean);
            means[ret->nonzero++] = fabs(mean);
        }
    }
    size_t n = ret->nonzero;
    if (n == 0) {
        ret->p = ret->units > 0 ? 1.0 : NAN;
        return;
    }
    vq_stats_sort(means, n);
    double far = fabs(sum) - AS_FAR * sizes;
    if (means[n - 1] <= means[0] * (1.0 + SAME_SIZE)) {
        ret->p = vq_proportion_binomial_half((double)positive, (double)n);
    } else if (n <= VQ_SIGN_FLIP_EXACT_MAX) {
        ret->p = exact(means, n, far);
    } else {
        ret->p = drawn(means, n, far, seed);
        ret->exact = false;
    }
}

/* ---- vectors ---- */

static double squared_length(const double *sum, size_t cols)
{
    double total = 0.0;
    for (size_t k = 0; k < cols; k++) {
        total += sum[k] * sum[k];
    }
    return total;
}

static bool is_zero(const double *unit, size_t cols)
{
    return !(squared_length(unit, cols) > 0.0);
}

/* The squared length of the sum if each unit u with bit u in `pattern` has its sign flipped. */
static double turned(struct vq_matrix x, const uint64_t *pattern, double *sum)
{
    for (size_t k = 0; k < x.cols; k++) {
        sum[k] = 0.0;
    }
    for (size_t u = 0; u < x.rows; u++) {
        double sign = (pattern[u / 64] >> u % 64 & 1u) != 0 ? -1.0 : 1.0;
        for (size_t k = 0; k < x.cols; k++) {
            sum[k] += sign * x.at[u * x.cols + k];
        }
    }
    return squared_length(sum, x.cols);
}

static void test_vectors(struct vq_matrix x, uint64_t seed, uint64_t *pattern, double *sum,
                         struct vq_sign_flip *ret)
{
    size_t words = x.rows / 64 + 1;
    /* of the observed signs: no bit is set */
    double far = turned(x, pattern, sum) * (1.0 - AS_FAR);
    ret->exact = x.rows <= VQ_SIGN_FLIP_VECTORS_EXACT_MAX;
    uint64_t draws = ret->exact ? UINT64_C(1) << (x.rows - 1) : VQ_SIGN_FLIP_DRAWS;
    uint64_t as_far = ret->exact ? 0 : 1;
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    for (uint64_t draw = 0; draw < draws; draw++) {
        for (size_t w = 0; w < words; w++) {
            pattern[w] = ret->exact ? draw : vq_rng_u64(&rng);
        }
        as_far += turned(x, pattern, sum) >= far;
    }
    ret->p = (double)as_far / (double)(ret->exact ? draws : draws + 1);
}

enum vq_status vq_sign_flip_vectors(struct vq_matrix units, uint64_t seed, struct vq_sign_flip *ret)
{
    double *kept = vq_alloc((units.rows + 1) * units.cols, sizeof(*kept));
    uint64_t *pattern = vq_alloc(units.rows / 64 + 1, sizeof(*pattern));
    enum vq_status status = kept == NULL || pattern == NULL ? VQ_NOMEM : VQ_OK;
    if (status == VQ_OK) {
        *ret = (struct vq_sign_flip){
            .units = units.rows, .p = units.rows > 0 ? 1.0 : NAN, .exact = true};
        for (size_t u = 0; u < units.rows; u++) {
            const double *unit = units.at + u * units.cols;
            if (!is_zero(unit, units.cols)) {
                memcpy(kept + ret->nonzero++ * units.cols, unit, units.cols * sizeof(*kept));
            }
        }
        if (ret->nonzero > 0) {
            test_vectors((struct vq_matrix){kept, ret->nonzero, units.cols}, seed, pattern,
                         kept + units.rows * units.cols, ret);
        }
    }
    vq_free(kept);
    vq_free(pattern);
    return status;
}

enum vq_status vq_sign_flip_test(const double *at, size_t n, size_t stride, const uint32_t *groups,
                                 uint64_t seed, struct vq_sign_flip *ret)
{
    double *means;
    VQ_TRY(VQ_ALLOC(means, n));
    size_t units = 0;
    enum vq_status status = vq_unit_means(at, n, stride, groups, means, &units);
    if (status == VQ_OK) {
        test(means, units, seed, ret);
    }
    vq_free(means);
    return status;
}
