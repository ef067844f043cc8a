/* The length-controlled win rate: how often the first output would win if both were equally long
 * (Dubois, Galambosi, Liang and Hashimoto 2024, "Length-controlled AlpacaEval"). The model is
 *     P(the first wins) = 1 / (1 + exp(-(theta + phi tanh(d / s)))),
 * where d is the first output's length minus the second's, and s the sample standard deviation of d
 * (about its mean, n - 1). The rate is that at d = 0, 1 / (1 + exp(-theta)). AlpacaEval also has a
 * difficulty per prompt, which it estimates from many pairs of models; one pair has one outcome per
 * prompt, so the difficulty cannot be estimated and is left out. A tie is half a win and half a
 * loss (fractional logit, Papke and Wooldridge 1996). */
#pragma once

#include "methods/stats/logit/logit.h"

#define VQ_LENGTH_CONTROLLED_UNITS_MIN 8u /* with fewer prompts there is no interval */

enum vq_length_controlled_status {
    VQ_LENGTH_CONTROLLED_OK,
    VQ_LENGTH_CONTROLLED_FEW_UNITS, /* an estimate without an interval */
    VQ_LENGTH_CONTROLLED_ALIKE,     /* tanh(d / s) is the same in all rows */
    /* wins and losses are separated without error, or only one output wins: no estimate exists */
    VQ_LENGTH_CONTROLLED_NO_FIT,
    VQ_LENGTH_CONTROLLED_NO_ROWS,
};
/* "ok", "few_prompts", "lengths_alike", "separated", "no_rows". */
const char *vq_length_controlled_name(enum vq_length_controlled_status status);

/* NaN if a number does not exist. */
struct vq_length_controlled {
    enum vq_length_controlled_status status;
    size_t rows;
    size_t units;
    double win_rate;
    struct vq_interval ci95;
    double coef; /* phi: above 0, longer outputs win more often */
    struct vq_interval coef_ci95;
    double sd; /* s, in the unit of the lengths */
};

/* `wins` of n rows in [0, 1], NaN: no outcome, left out; `difference`: d of each row. Intervals are
 * those of theta and phi with errors summed by unit (Liang and Zeger 1986; factor G/(G-1)
 * (n-1)/(n-2)) and Student's t with units - 1 degrees. `groups` NULL: each row is a unit. VQ_OK, or
 * the statuses of the fits of logit.h. */
enum vq_status vq_length_controlled(const double *wins, const double *difference, size_t n,
                                    const uint32_t *groups, struct vq_length_controlled *ret,
                                    struct vq_error *err) VQ_WARN_UNUSED;
