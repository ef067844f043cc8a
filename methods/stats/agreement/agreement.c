/* Chance-corrected agreement. Formulas are from counts: two raters meet in a confusion table, many
 * in a coincidence matrix. A denominator of exactly 0 (one category only) is a status, never a
 * number. Owns work space only in Krippendorff's alpha, for the length of a call. */
#include "methods/stats/agreement/agreement.h"

#include "common/base/alloc.h"
#include "methods/stats/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const STATUS_NAMES[] = {
    [VQ_AGREEMENT_OK] = "ok",
    [VQ_AGREEMENT_UNDEFINED] = "undefined",
    [VQ_AGREEMENT_NO_ROWS] = "no_rows",
};

const char *vq_agreement_status_name(enum vq_agreement_status status)
{
    VQ_ASSERT((size_t)status < VQ_COUNT(STATUS_NAMES));
    return STATUS_NAMES[status];
}

static struct vq_kappa no_kappa(void)
{
    return (struct vq_kappa){
        .status = VQ_AGREEMENT_NO_ROWS,
        .observed = NAN,
        .expected = NAN,
        .kappa = NAN,
        .kappa_linear = NAN,
        .kappa_quadratic = NAN,
        .se = NAN,
        .se_null = NAN,
        .ci95 = {NAN, NAN},
        .z = NAN,
        .p = NAN,
    };
}

struct margins {
    double rows[VQ_AGREEMENT_CATEGORIES_MAX];
    double cols[VQ_AGREEMENT_CATEGORIES_MAX];
};

static double weighted_kappa(const double *counts, size_t c, const struct margins *m, double n,
                             bool quadratic)
{
    double seen = 0.0;
    double chance = 0.0;
    for (size_t i = 0; i < c; i++) {
        for (size_t j = 0; j < c; j++) {
            double gap = i > j ? (double)(i - j) : (double)(j - i);
            double weight = quadratic ? gap * gap : gap;
            seen += weight * counts[i * c + j];
            chance += weight * m->rows[i] * m->cols[j];
        }
    }
    return chance > 0.0 ? (chance - n * seen) / chance : NAN;
}

/* Large-sample errors (Fleiss, Cohen and Everitt 1969); shares are counts / n. */
static void kappa_errors(const double *counts, size_t c, const struct margins *m,
                         struct vq_kappa *kappa)
{
    double n = kappa->n;
    double chance = kappa->expected;
    double rest = 1.0 - kappa->kappa;
    double null_sum = 0.0;
    double diagonal = 0.0;
    double off = 0.0;
    for (size_t i = 0; i < c; i++) {
        double both = (m->rows[i] + m->cols[i]) / n;
        null_sum += m->rows[i] / n * (m->cols[i] / n) * both;
        double inner = 1.0 - both * rest;
        diagonal += counts[i * c + i] / n * inner * inner;
        for (size_t j = 0; j < c; j++) {
            double cross = (m->cols[i] + m->rows[j]) / n;
            off += i == j ? 0.0 : counts[i * c + j] / n * cross * cross;
        }
    }
    double last = kappa->kappa - chance * rest;
    double scale = (1.0 - chance) * (1.0 - chance) * n;
    kappa->se = sqrt(fmax(0.0, diagonal + rest * rest * off - last * last) / scale);
    kappa->se_null = sqrt(fmax(0.0, chance + chance * chance - null_sum) / scale);
    kappa->ci95.lo = kappa->kappa - VQ_NORMAL_975 * kappa->se;
    kappa->ci95.hi = kappa->kappa + VQ_NORMAL_975 * kappa->se;
    kappa->z = kappa->kappa / kappa->se_null;
    kappa->p = vq_normal_two_sided(kappa->z);
}

enum vq_status vq_agreement_cohen_counts(const double *counts, size_t categories,
                                         struct vq_kappa *ret_kappa)
{
    size_t c = categories;
    if (c > VQ_AGREEMENT_CATEGORIES_MAX) {
        return VQ_LIMIT;
    }
    struct margins m = {{0.0}, {0.0}};
    struct vq_kappa kappa = no_kappa();
    double agreed = 0.0;
    for (size_t i = 0; i < c; i++) {
        for (size_t j = 0; j < c; j++) {
            double count = counts[i * c + j];
            if (!(count >= 0.0) || isinf(count)) {
                return VQ_INVALID;
            }
            m.rows[i] += count;
            m.cols[j] += count;
            kappa.n += count;
        }
        agreed += counts[i * c + i];
    }
    if (kappa.n > 0.0) {
        double met = 0.0;
        bool constant = false; /* both raters, and equal: 0/0 */
        bool one_constant = false;
        for (size_t i = 0; i < c; i++) {
            met += m.rows[i] * m.cols[i];
            constant = constant || (m.rows[i] >= kappa.n && m.cols[i] >= kappa.n);
            one_constant = one_constant || m.rows[i] >= kappa.n || m.cols[i] >= kappa.n;
        }
        kappa.observed = agreed / kappa.n;
        kappa.expected = met / (kappa.n * kappa.n);
        kappa.status = constant ? VQ_AGREEMENT_UNDEFINED : VQ_AGREEMENT_OK;
        if (!constant) {
            /* In whole counts, so that one constant rater gives exactly 0. */
            kappa.kappa = (kappa.n * agreed - met) / (kappa.n * kappa.n - met);
            kappa.kappa_linear = weighted_kappa(counts, c, &m, kappa.n, false);
            kappa.kappa_quadratic = weighted_kappa(counts, c, &m, kappa.n, true);
        }
        if (!one_constant) {
            kappa_errors(counts, c, &m, &kappa); /* the formula says nothing of a constant rater */
        }
    }
    *ret_kappa = kappa;
    return VQ_OK;
}

/* -1, 0, +1 to 0, 1, 2; 3 for another value. */
static size_t category_of(double score)
{
    if (score == -1.0 || score == 0.0 || score == 1.0) {
        return (size_t)(score + 1.0);
    }
    return 3;
}

static enum vq_status cohen_strided(const double *a, const double *b, size_t n, size_t stride,
                                    struct vq_kappa *ret_kappa, struct vq_kappa *ret_mirrored)
{
    double counts[9] = {0.0};
    double both[9];
    for (size_t row = 0; row < n; row++) {
        double one = a[row * stride];
        double two = b[row * stride];
        if ((!isnan(one) && category_of(one) > 2) || (!isnan(two) && category_of(two) > 2)) {
            return VQ_INVALID;
        }
        if (!isnan(one) && !isnan(two)) {
            counts[category_of(one) * 3 + category_of(two)] += 1.0;
        }
    }
    for (size_t cell = 0; cell < 9; cell++) {
        both[cell] = counts[cell] + counts[8 - cell]; /* 8 - cell: both scores negated */
    }
    VQ_TRY(vq_agreement_cohen_counts(counts, 3, ret_kappa));
    if (ret_mirrored != NULL) {
        struct vq_kappa mirrored;
        VQ_TRY(vq_agreement_cohen_counts(both, 3, &mirrored));
        mirrored.n = ret_kappa->n;
        mirrored.se = NAN;
        mirrored.se_null = NAN;
        mirrored.ci95 = (struct vq_interval){NAN, NAN};
        mirrored.z = NAN;
        mirrored.p = NAN;
        *ret_mirrored = mirrored;
    }
    return VQ_OK;
}

enum vq_status vq_agreement_cohen(const double *a, const double *b, size_t n,
                                  struct vq_kappa *ret_kappa, struct vq_kappa *ret_mirrored)
{
    return cohen_strided(a, b, n, 1, ret_kappa, ret_mirrored);
}

enum vq_status vq_agreement_pairs(struct vq_matrix ratings, struct vq_kappa_pairs *ret_pairs)
{
    struct vq_kappa_pairs pairs = {.mean_kappa = NAN, .mean_kappa_mirrored = NAN};
    double plain_sum = 0.0;
    double mirrored_sum = 0.0;
    size_t mirrored_defined = 0;
    for (size_t i = 0; i < ratings.cols; i++) {
        for (size_t j = i + 1; j < ratings.cols; j++) {
            struct vq_kappa plain;
            struct vq_kappa mirrored;
            VQ_TRY(cohen_strided(ratings.at + i, ratings.at + j, ratings.rows, ratings.cols, &plain,
                                 &mirrored));
            pairs.pairs++;
            if (plain.status == VQ_AGREEMENT_OK) {
                pairs.pairs_defined++;
                plain_sum += plain.kappa;
            }
            pairs.pairs_equal += plain.status == VQ_AGREEMENT_UNDEFINED ? 1 : 0;
            if (mirrored.status == VQ_AGREEMENT_OK) {
                mirrored_defined++;
                mirrored_sum += mirrored.kappa;
            }
        }
    }
    if (pairs.pairs_defined > 0) {
        pairs.mean_kappa = plain_sum / (double)pairs.pairs_defined;
    }
    if (mirrored_defined > 0) {
        pairs.mean_kappa_mirrored = mirrored_sum / (double)mirrored_defined;
    }
    VQ_TRY(vq_agreement_krippendorff(ratings, VQ_AGREEMENT_NOMINAL, &pairs.alpha_status,
                                     &pairs.alpha));
    *ret_pairs = pairs;
    return VQ_OK;
}

enum vq_status vq_agreement_fleiss(struct vq_matrix counts, struct vq_fleiss *ret_fleiss)
{
    struct vq_fleiss result = {VQ_AGREEMENT_NO_ROWS, NAN, NAN};
    double raters = 0.0;
    double agreed = 0.0; /* sum over items of the share of agreeing pairs */
    if (counts.cols > VQ_AGREEMENT_CATEGORIES_MAX) {
        return VQ_LIMIT;
    }
    double totals[VQ_AGREEMENT_CATEGORIES_MAX] = {0.0};
    for (size_t row = 0; row < counts.rows; row++) {
        double sum = 0.0;
        double squares = 0.0;
        for (size_t col = 0; col < counts.cols; col++) {
            double count = counts.at[row * counts.cols + col];
            if (!(count >= 0.0) || isinf(count)) {
                return VQ_INVALID;
            }
            sum += count;
            squares += count * count;
            totals[col] += count;
        }
        raters = row == 0 ? sum : raters;
        if (sum < 2.0 || sum != raters) {
            return VQ_INVALID;
        }
        agreed += (squares - sum) / (sum * (sum - 1.0));
    }
    if (counts.rows > 0) {
        double items = (double)counts.rows;
        double chance = 0.0;
        bool constant = false;
        for (size_t col = 0; col < counts.cols; col++) {
            double share = totals[col] / (items * raters);
            chance += share * share;
            constant = constant || totals[col] >= items * raters;
        }
        double uniform = 1.0 / (double)counts.cols;
        double observed = agreed / items;
        result.status = constant ? VQ_AGREEMENT_UNDEFINED : VQ_AGREEMENT_OK;
        result.fleiss = constant ? NAN : (observed - chance) / (1.0 - chance);
        result.randolph = counts.cols > 1 ? (observed - uniform) / (1.0 - uniform) : NAN;
    }
    *ret_fleiss = result;
    return VQ_OK;
}

/* Distinct present values, ascending; VQ_LIMIT when there are too many. */
static enum vq_status distinct(struct vq_matrix ratings, double *values, size_t *ret_count)
{
    size_t count = 0;
    for (size_t cell = 0; cell < ratings.rows * ratings.cols; cell++) {
        double value = ratings.at[cell];
        if (isinf(value)) {
            return VQ_INVALID;
        }
        size_t at = 0;
        while (at < count && values[at] < value) {
            at++;
        }
        if (isnan(value) || (at < count && values[at] == value)) {
            continue;
        }
        if (count == VQ_AGREEMENT_CATEGORIES_MAX) {
            return VQ_LIMIT;
        }
        memmove(values + at + 1, values + at, (count - at) * sizeof(*values));
        values[at] = value;
        count++;
    }
    *ret_count = count;
    return VQ_OK;
}

/* coincidence[c * count + k]: ordered pairs of ratings (c, k) within an item, each worth 1 /
 * (ratings - 1). */
static void coincidences(struct vq_matrix ratings, const double *values, size_t count,
                         double *coincidence)
{
    for (size_t row = 0; row < ratings.rows; row++) {
        double of_value[VQ_AGREEMENT_CATEGORIES_MAX] = {0.0};
        double rated = 0.0;
        for (size_t col = 0; col < ratings.cols; col++) {
            double value = ratings.at[row * ratings.cols + col];
            for (size_t at = 0; at < count; at++) {
                if (values[at] == value) {
                    of_value[at] += 1.0;
                    rated += 1.0;
                }
            }
        }
        for (size_t c = 0; c < count && rated > 1.0; c++) {
            for (size_t k = 0; k < count; k++) {
                double pairs = of_value[c] * (c == k ? of_value[k] - 1.0 : of_value[k]);
                coincidence[c * count + k] += pairs / (rated - 1.0);
            }
        }
    }
}

/* Squared distance of two values at a level of measurement; `totals` are the margins. */
static double distance(enum vq_agreement_level level, const double *values, const double *totals,
                       size_t c, size_t k)
{
    if (c == k) {
        return 0.0;
    }
    size_t lo = c < k ? c : k;
    size_t hi = c < k ? k : c;
    double gap = 1.0;
    if (level == VQ_AGREEMENT_INTERVAL) {
        gap = values[hi] - values[lo];
    } else if (level == VQ_AGREEMENT_ORDINAL) {
        gap = -0.5 * (totals[lo] + totals[hi]);
        for (size_t g = lo; g <= hi; g++) {
            gap += totals[g];
        }
    }
    return gap * gap;
}

enum vq_status vq_agreement_krippendorff(struct vq_matrix ratings, enum vq_agreement_level level,
                                         enum vq_agreement_status *ret_status, double *ret_alpha)
{
    double values[VQ_AGREEMENT_CATEGORIES_MAX];
    size_t count;
    VQ_TRY(distinct(ratings, values, &count));
    double *coincidence = vq_alloc(count * count, sizeof(*coincidence));
    if (coincidence == NULL) {
        return VQ_NOMEM;
    }
    coincidences(ratings, values, count, coincidence);
    double totals[VQ_AGREEMENT_CATEGORIES_MAX] = {0.0};
    double all = 0.0;
    for (size_t c = 0; c < count; c++) {
        for (size_t k = 0; k < count; k++) {
            totals[c] += coincidence[c * count + k];
        }
        all += totals[c];
    }
    double seen = 0.0;
    double chance = 0.0;
    for (size_t c = 0; c < count; c++) {
        for (size_t k = 0; k < count; k++) {
            double apart = distance(level, values, totals, c, k);
            seen += coincidence[c * count + k] * apart;
            chance += totals[c] * totals[k] * apart;
        }
    }
    vq_free(coincidence);
    *ret_status = all <= 0.0      ? VQ_AGREEMENT_NO_ROWS
                  : chance <= 0.0 ? VQ_AGREEMENT_UNDEFINED
                                  : VQ_AGREEMENT_OK;
    *ret_alpha = *ret_status == VQ_AGREEMENT_OK ? 1.0 - (all - 1.0) * seen / chance : NAN;
    return VQ_OK;
}
