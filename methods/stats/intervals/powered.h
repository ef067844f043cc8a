/* Prediction-powered inference: a mean that few labels (of people, or of a dearer judge) and a
 * judge's many scores estimate together. */
#pragma once

#include "methods/stats/stats.h"

#define VQ_POWERED_LABELLED_MIN 8u /* prompts with labels; with fewer there is no interval */

struct vq_powered {
    size_t labelled; /* rows with a label and a score; of the sample, where some are known */
    size_t scored;   /* rows with a score */
    double judge;    /* mean score over all of them: what the judge alone says */
    double mean;     /* the estimate of the mean label; NaN without a labelled row */
    struct vq_interval ci95;
    double se, df; /* of ci95: mean -+ t(df) se, cut; NaN where there is none */
    double weight; /* of the judge's scores, in [0, 1]: 0 if they do not predict the labels */
    size_t known;  /* rows whose label is known and not of the sample */
    /* Of the mean label of these rows themselves, not of all prompts like them; NaN: too few */
    struct vq_interval rows_ci95;
};

/* score[i] and label[i] of n rows, both in [-1, 1], NaN where there is none; a row without a score
 * is left out. The labelled rows are a random sample of the rows. With w the weight, the estimate
 * is
 *     w mean(score, unlabelled) + mean(label - w score, labelled),
 * where w = cov(label, score) / ((1 + labelled / unlabelled) var(score)) makes its variance least
 * (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, Science 382; Angelopoulos, Duchi and
 * Zrnic 2023, "PPI++"). The variance is that of sums over the units of `groups` (NULL: each row is
 * one), and three labels that differ from the estimate by 1 are added to it, so that a small sample
 * in which people never contradict the judge has an interval of some width; quantiles of Student's
 * t with the labelled units less one. Cut to [-1, 1]. VQ_OK or VQ_NOMEM. */
enum vq_status vq_powered_mean(const double *score, const double *label, size_t n,
                               const uint32_t *groups, struct vq_powered *ret) VQ_WARN_UNUSED;

/* The same where the labels of some rows (`known`; NULL: of none) are there in any case, and the
 * labelled ones of the rest are a random sample of the rest. With K known rows, R others, and m the
 * estimate above over the others, the estimate is
 *     (sum(label, known) + R m) / (K + R):
 * the known rows count with weight 1, a labelled one of the others with R / labelled
 * (post-stratification; Holt and Smith 1979). It is unbiased for a fixed weight w, whatever decides
 * which rows are known, as long as the sample does not depend on the labels. In w, var(score) is
 * here that of the labelled others: a fitted w then biases skewed scores less. `ci95` is of the
 * mean label of prompts like these; its variance is again that of influences, which is
 * (label - mean) / (K + R) for a known row. `rows_ci95` is of the mean label of these very rows, by
 * the sample alone; its variance is
 *     (R / (K + R))^2 (1 - n / R) (s^2 / n + 3 / n^2)
 * for n labelled ones of the R, with s the standard deviation of label - v score over them and
 * v = w R / (R - n) (Cochran 1977, chapter 7, for the regression estimate, which PPI++ is). */
enum vq_status vq_powered_known(const double *score, const double *label, const bool *known,
                                size_t n, const uint32_t *groups,
                                struct vq_powered *ret) VQ_WARN_UNUSED;
