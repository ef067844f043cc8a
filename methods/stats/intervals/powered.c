/* A mean from two samples. The influence of a row is its contribution to the estimate. The
 * influences of a prompt's rows are added, labelled or not, and the variance is that of these sums.
 * Pure. */
#include "methods/stats/intervals/powered.h"

#include "common/base/alloc.h"
#include "methods/stats/groups.h"
#include "methods/stats/special.h"

#include <math.h>

#define PSEUDO_LABELS 3.0

struct sums {
    double n, score, label, score_sq, label_sq, product;
};

struct two {
    const double *score, *label;
    const bool *known;
    size_t n;
    struct sums with, without; /* scored rows with and without a label */
    struct sums sure;          /* scored rows whose label is known */
    double rest;               /* the estimate over the rows that are not known */
};

static bool is_known(const struct two *t, size_t i)
{
    return t->known != NULL && t->known[i];
}

static bool is_scored(const struct two *t, size_t i)
{
    return !isnan(is_known(t, i) ? t->label[i] : t->score[i]);
}

static void add_up(struct two *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (!is_scored(t, i)) {
            continue;
        }
        bool labelled = !isnan(t->label[i]);
        struct sums *s = is_known(t, i) ? &t->sure : labelled ? &t->with : &t->without;
        double score = is_known(t, i) ? t->label[i] : t->score[i];
        s->n += 1;
        s->score += score;
        s->score_sq += score * score;
        s->label += labelled ? t->label[i] : 0;
        s->label_sq += labelled ? t->label[i] * t->label[i] : 0;
        s->product += labelled ? t->label[i] * score : 0;
    }
}

/* PPI++ uses the variance of the score over all rows. If some rows are known, this uses the
 * variance over the labelled rows, as the regression estimate does. The reason: if scores are
 * skewed, the covariance of a sample changes with its mean, and a variance that does not change
 * with them biases the estimate. For two-valued scores the estimate is then the post-stratified
 * one. */
static double best_weight(const struct two *t)
{
    const struct sums *l = &t->with, *u = &t->without;
    if (u->n < 1 || l->n < 2) {
        return 0;
    }
    bool own = t->known != NULL;
    double n = own ? l->n : l->n + u->n, mean = (own ? l->score : l->score + u->score) / n;
    double variance = (own ? l->score_sq : l->score_sq + u->score_sq) / n - mean * mean;
    double covariance = l->product / l->n - l->score / l->n * (l->label / l->n);
    double weight = variance > 0 ? covariance / ((1 + l->n / u->n) * variance) : 0;
    return weight < 0 ? 0 : weight > 1 ? 1 : weight;
}

/* The share of the scored rows that is not known. */
static double rest_share(const struct two *t)
{
    double rest = t->with.n + t->without.n;
    return rest > 0 ? rest / (rest + t->sure.n) : 0;
}

/* ret_sum and ret_labelled have one value per unit. A unit counts as labelled if it has a labelled
 * row that is not known; if all rows are known, a known row suffices. */
static void influences(const struct two *t, const uint32_t *unit, const struct vq_powered *of,
                       double *ret_sum, bool *ret_labelled)
{
    const struct sums *l = &t->with, *u = &t->without;
    double share = rest_share(t), n = l->n + u->n + t->sure.n;
    double residual = l->n > 0 ? (l->label - of->weight * l->score) / l->n : 0;
    double mean = u->n > 0 ? u->score / u->n : 0;
    for (size_t i = 0; i < t->n; i++) {
        if (!is_scored(t, i)) {
            continue;
        }
        if (is_known(t, i)) {
            ret_sum[unit[i]] += (t->label[i] - of->mean) / n;
        } else if (isnan(t->label[i])) {
            ret_sum[unit[i]] +=
                share * of->weight * (t->score[i] - mean) / u->n + (t->rest - of->mean) / n;
        } else {
            ret_sum[unit[i]] += share * (t->label[i] - of->weight * t->score[i] - residual) / l->n +
                                (t->rest - of->mean) / n;
        }
        ret_labelled[unit[i]] |= !isnan(t->label[i]) && (share <= 0 || !is_known(t, i));
    }
}

static struct vq_interval around(double mean, double se, double df)
{
    double half = se > 0 ? vq_student_975(df) * se : 0;
    return (struct vq_interval){fmax(-1, mean - half), fmin(1, mean + half)};
}

/* `units`: number of units with labelled rows. */
static void interval_of(const struct two *t, double variance, double units, struct vq_powered *ret)
{
    double share = rest_share(t), sampled = share / units;
    double known = t->sure.n > 0 ? (1 - share) / t->sure.n : 0;
    variance *= units / (units - 1);
    variance += share > 0 ? sampled * sampled * PSEUDO_LABELS : 0;
    variance += known * known * PSEUDO_LABELS;
    ret->se = sqrt(variance);
    ret->df = units - 1;
    ret->ci95 = around(ret->mean, ret->se, ret->df);
}

static enum vq_status interval(const struct two *t, const uint32_t *groups, struct vq_powered *ret)
{
    size_t units = 0, labelled = 0;
    uint32_t *unit = vq_alloc(t->n, sizeof(*unit));
    double *sum = vq_alloc(t->n, sizeof(*sum));
    bool *has = vq_alloc(t->n, sizeof(*has));
    enum vq_status status = unit == NULL || sum == NULL || has == NULL
                                ? VQ_NOMEM
                                : vq_groups_index(groups, t->n, unit, &units);
    if (status == VQ_OK) {
        influences(t, unit, ret, sum, has);
        double variance = 0;
        for (size_t i = 0; i < units; i++) {
            variance += sum[i] * sum[i];
            labelled += has[i];
        }
        if (labelled >= VQ_POWERED_LABELLED_MIN) {
            interval_of(t, variance, (double)labelled, ret);
        }
    }
    vq_free(unit);
    vq_free(sum);
    vq_free(has);
    return status;
}

/* The interval from the sample of labels alone: rows are drawn one by one, so their prompts have no
 * influence. */
static void rows_interval(const struct two *t, struct vq_powered *ret)
{
    const struct sums *l = &t->with;
    double n = l->n, rest = n + t->without.n, share = rest_share(t);
    if (rest <= n) {
        ret->rows_ci95 = around(ret->mean, 0, 1);
        return;
    }
    if (n < VQ_POWERED_LABELLED_MIN) {
        return;
    }
    double v = ret->weight * rest / (rest - n), residual = (l->label - v * l->score) / n;
    double squares =
        l->label_sq - 2 * v * l->product + v * v * l->score_sq - n * residual * residual;
    double variance = fmax(0, squares) / (n - 1) / n + PSEUDO_LABELS / (n * n);
    ret->rows_ci95 = around(ret->mean, share * sqrt((1 - n / rest) * variance), n - 1);
}

enum vq_status vq_powered_known(const double *score, const double *label, const bool *known,
                                size_t n, const uint32_t *groups, struct vq_powered *ret)
{
    struct two t = {.score = score, .label = label, .known = known, .n = n};
    add_up(&t);
    const struct sums *l = &t.with, *u = &t.without;
    double rest = l->n + u->n, all = rest + t.sure.n;
    *ret = (struct vq_powered){.labelled = (size_t)l->n,
                               .scored = (size_t)all,
                               .known = (size_t)t.sure.n,
                               .judge = all > 0 ? (l->score + u->score + t.sure.score) / all : NAN,
                               .mean = NAN,
                               .ci95 = {NAN, NAN},
                               .rows_ci95 = {NAN, NAN},
                               .se = NAN,
                               .df = NAN};
    if (all <= 0 || (ret->labelled == 0 && rest > 0)) {
        return VQ_OK;
    }
    if (rest > 0) {
        ret->weight = best_weight(&t);
        t.rest = u->n > 0 ? ret->weight * u->score / u->n : 0;
        t.rest += (l->label - ret->weight * l->score) / l->n;
        t.rest = fmax(-1, fmin(1, t.rest));
    }
    ret->mean = t.sure.n > 0 ? (t.sure.label + rest * t.rest) / all : t.rest;
    rows_interval(&t, ret);
    return interval(&t, groups, ret);
}

enum vq_status vq_powered_mean(const double *score, const double *label, size_t n,
                               const uint32_t *groups, struct vq_powered *ret)
{
    return vq_powered_known(score, label, NULL, n, groups, ret);
}
