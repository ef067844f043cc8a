/* Prediction-powered inference: estimates a mean from a small number of labels (of people, or of a
 * more expensive judge) together with many scores of a judge. */
#pragma once

#include "methods/stats/stats.h"

#define VQ_POWERED_LABELLED_MIN 8u /* prompts with labels; with fewer there is no interval */

struct vq_powered {
    size_t labelled; /* rows of the sample with a label and a score; known rows do not count */
    size_t scored;   /* rows with a score */
    double judge;    /* mean score over all scored rows: the judge's own estimate */
    double mean;     /* the estimate of the mean label; NaN if no row has a label */
    struct vq_interval ci95;
    double se, df; /* ci95 is mean -+ t(df) se, cut; NaN if there is no interval */
    /* weight of the judge's scores, in [0, 1]: 0 if they do not predict the labels */
    double weight;
    size_t known; /* rows whose label is known and does not belong to the sample */
    /* Interval of the mean label of exactly these rows, not of all prompts like them; NaN: too few
     * labels */
    struct vq_interval rows_ci95;
};

/* score[i] and label[i] of n rows are in [-1, 1], or NaN if missing; a row without a score is left
 * out. The labelled rows must be a random sample of the rows. With the weight w, the estimate is
 *     w mean(score, unlabelled) + mean(label - w score, labelled),
 * where w = cov(label, score) / ((1 + labelled / unlabelled) var(score)) minimises its variance
 * (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, Science 382; Angelopoulos, Duchi and
 * Zrnic 2023, "PPI++"). The variance is that of sums over the units of `groups` (NULL: each row is
 * a unit). Three labels that differ from the estimate by 1 are added to it, so that the interval
 * has a width even if a small sample has no label that contradicts the judge. Quantiles are those
 * of Student's t with labelled units - 1 degrees. Cut to [-1, 1]. VQ_OK or VQ_NOMEM. */
enum vq_status vq_powered_mean(const double *score, const double *label, size_t n,
                               const uint32_t *groups, struct vq_powered *ret) VQ_WARN_UNUSED;

/* As vq_powered_mean, but the labels of some rows (`known`; NULL: none) exist in any case, and the
 * labelled ones of the other rows are a random sample of the others. With K known rows, R others,
 * and m the estimate above over the others, the estimate is
 *     (sum(label, known) + R m) / (K + R):
 * the known rows count with weight 1, a labelled one of the others with R / labelled
 * (post-stratification; Holt and Smith 1979). It is unbiased for a fixed weight w, for any choice
 * of the known rows, if the sample does not depend on the labels. Here var(score) in w is that of
 * the labelled others, because a fitted w then biases skewed scores less. `ci95` is of the mean
 * label of prompts like these. Its variance is again that of influences; the influence of a known
 * row is (label - mean) / (K + R). `rows_ci95` is of the mean label of exactly these rows, from the
 * sample alone. Its variance is
 *     (R / (K + R))^2 (1 - n / R) (s^2 / n + 3 / n^2)
 * for n labelled rows of the R, where s is the standard deviation of label - v score over them and
 * v = w R / (R - n) (Cochran 1977, chapter 7, for the regression estimate, which PPI++ is). */
enum vq_status vq_powered_known(const double *score, const double *label, const bool *known,
                                size_t n, const uint32_t *groups,
                                struct vq_powered *ret) VQ_WARN_UNUSED;
