/* Prediction-powered inference: a mean that people's few labels and a judge's many scores estimate
 * together. */
#ifndef VQ_METHODS_STATS_INTERVALS_POWERED_H
#define VQ_METHODS_STATS_INTERVALS_POWERED_H

#include "methods/stats/stats.h"

#define VQ_POWERED_LABELLED_MIN 8u /* prompts with labels; with fewer there is no interval */

struct vq_powered {
    size_t labelled; /* rows with a label and a score */
    size_t scored;   /* rows with a score */
    double judge;    /* mean score over all of them: what the judge alone says */
    double mean;     /* the estimate of the mean label; NaN without a labelled row */
    struct vq_interval ci95;
    double weight; /* of the judge's scores, in [0, 1]: 0 if they do not predict the labels */
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

#endif
