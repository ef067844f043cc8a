/* Chance-corrected agreement, computed from counts: a confusion table for two raters, a coincidence
 * matrix for more. Invariant: if a denominator is exactly 0 (only one category), the result is a
 * status, never a number. */
#include "methods/stats/agreement/agreement.h"

#include "methods/stats/special.h"

#include <math.h>

static struct vq_kappa no_kappa(void)
{
    return (struct vq_kappa){
        .status = VQ_AGREEMENT_NO_ROWS,
        .observed = NAN,
        .expected = NAN,
        .kappa = NAN,
        .kappa_quadratic = NAN,
        .se = NAN,
        .ci95 = {NAN, NAN},
    };
}

struct margins {
    double rows[VQ_AGREEMENT_CATEGORIES_MAX];
    double cols[VQ_AGREEMENT_CATEGORIES_MAX];
};

static double quadratic_kappa(const double *counts, size_t c, const struct margins *m, double n)
{
    double seen = 0.0;
    double chance = 0.0;
    for (size_t i = 0; i < c; i++) {
        for (size_t j = 0; j < c; j++) {
            double gap = i > j ? (double)(i - j) : (double)(j - i);
            double weight = gap * gap;
            seen += weight * counts[i * c + j];
            chance += weight * m->rows[i] * m->cols[j];
        }
    }
    return chance > 0.0 ? (chance - n * seen) / chance : NAN;
}

/* Large-sample standard errors (Fleiss, Cohen and Everitt 1969); shares are counts / n. */
static void kappa_errors(const double *counts, size_t c, const struct margins *m,
                         struct vq_kappa *kappa)
{
    double n = kappa->n;
    double chance = kappa->expected;
    double rest = 1.0 - kappa->kappa;
    double diagonal = 0.0;
    double off = 0.0;
    for (size_t i = 0; i < c; i++) {
        double both = (m->rows[i] + m->cols[i]) / n;
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
    kappa->ci95.lo = kappa->kappa - VQ_NORMAL_975 * kappa->se;
    kappa->ci95.hi = kappa->kappa + VQ_NORMAL_975 * kappa->se;
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
        bool constant = false; /* both raters always chose the same category: 0/0 */
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
            /* Computed with whole counts, so that one constant rater gives exactly 0. */
            kappa.kappa = (kappa.n * agreed - met) / (kappa.n * kappa.n - met);
            kappa.kappa_quadratic = quadratic_kappa(counts, c, &m, kappa.n);
        }
        if (!one_constant) {
            /* the formula does not apply to a constant rater */
            kappa_errors(counts, c, &m, &kappa);
        }
    }
    *ret_kappa = kappa;
    return VQ_OK;
}

/* Maps -1, 0, +1 to 0, 1, 2, and any other value to 3. */
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
        mirrored.ci95 = (struct vq_interval){NAN, NAN};
        *ret_mirrored = mirrored;
    }
    return VQ_OK;
}

enum vq_status vq_agreement_cohen(const double *a, const double *b, size_t n,
                                  struct vq_kappa *ret_kappa, struct vq_kappa *ret_mirrored)
{
    return cohen_strided(a, b, n, 1, ret_kappa, ret_mirrored);
}

#define SCORES 3 /* -1, 0, +1 */

/* coincidence[c][k]: pairs of scores (c, k) within an item, each worth 1 / (ratings - 1). */
static void coincidences(struct vq_matrix ratings, double coincidence[SCORES][SCORES])
{
    for (size_t row = 0; row < ratings.rows; row++) {
        double of_score[SCORES] = {0.0};
        double rated = 0.0;
        for (size_t col = 0; col < ratings.cols; col++) {
            double score = ratings.at[row * ratings.cols + col];
            if (!isnan(score)) {
                of_score[category_of(score)] += 1.0;
                rated += 1.0;
            }
        }
        for (size_t c = 0; c < SCORES && rated > 1.0; c++) {
            for (size_t k = 0; k < SCORES; k++) {
                double pairs = of_score[c] * (c == k ? of_score[k] - 1.0 : of_score[k]);
                coincidence[c][k] += pairs / (rated - 1.0);
            }
        }
    }
}

/* Krippendorff's alpha of nominal scores. The scores are checked. */
static void krippendorff(struct vq_matrix ratings, struct vq_kappa_pairs *pairs)
{
    double coincidence[SCORES][SCORES] = {{0.0}};
    double totals[SCORES] = {0.0};
    double all = 0.0, seen = 0.0, chance = 0.0;
    coincidences(ratings, coincidence);
    for (size_t c = 0; c < SCORES; c++) {
        for (size_t k = 0; k < SCORES; k++) {
            totals[c] += coincidence[c][k];
        }
        all += totals[c];
    }
    for (size_t c = 0; c < SCORES; c++) {
        for (size_t k = 0; k < SCORES; k++) {
            seen += c == k ? 0.0 : coincidence[c][k];
            chance += c == k ? 0.0 : totals[c] * totals[k];
        }
    }
    pairs->alpha_status = all <= 0.0      ? VQ_AGREEMENT_NO_ROWS
                          : chance <= 0.0 ? VQ_AGREEMENT_UNDEFINED
                                          : VQ_AGREEMENT_OK;
    pairs->alpha = pairs->alpha_status == VQ_AGREEMENT_OK ? 1.0 - (all - 1.0) * seen / chance : NAN;
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
    krippendorff(ratings, &pairs);
    *ret_pairs = pairs;
    return VQ_OK;
}
