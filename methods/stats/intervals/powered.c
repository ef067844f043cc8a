/* A mean out of two samples. What each row adds to the estimate is its influence; rows of one
 * prompt add up to one influence, whether they are labelled or not, and the variance is that of
 * those sums. Pure. */
#include "methods/stats/intervals/powered.h"

#include "common/base/alloc.h"
#include "methods/stats/groups.h"
#include "methods/stats/special.h"

#include <math.h>

#define PSEUDO_LABELS 3.0

struct sums {
    double n, score, label, score_sq, product;
};

struct two {
    const double *score, *label;
    size_t n;
    struct sums with, without; /* a label */
};

static bool is_scored(const struct two *t, size_t i)
{
    return !isnan(t->score[i]);
}

static void add_up(struct two *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (!is_scored(t, i)) {
            continue;
        }
        bool labelled = !isnan(t->label[i]);
        struct sums *s = labelled ? &t->with : &t->without;
        s->n += 1;
        s->score += t->score[i];
        s->score_sq += t->score[i] * t->score[i];
        s->label += labelled ? t->label[i] : 0;
        s->product += labelled ? t->label[i] * t->score[i] : 0;
    }
}

static double best_weight(const struct two *t)
{
    const struct sums *l = &t->with, *u = &t->without;
    if (u->n < 1 || l->n < 2) {
        return 0;
    }
    double n = l->n + u->n, mean = (l->score + u->score) / n;
    double variance = (l->score_sq + u->score_sq) / n - mean * mean;
    double covariance = l->product / l->n - l->score / l->n * (l->label / l->n);
    double weight = variance > 0 ? covariance / ((1 + l->n / u->n) * variance) : 0;
    return weight < 0 ? 0 : weight > 1 ? 1 : weight;
}

/* ret_sum holds a value a unit. */
static void influences(const struct two *t, const uint32_t *unit, double weight, double *ret_sum,
                       bool *ret_labelled)
{
    const struct sums *l = &t->with, *u = &t->without;
    double residual = (l->label - weight * l->score) / l->n;
    double rest = u->n > 0 ? u->score / u->n : 0;
    for (size_t i = 0; i < t->n; i++) {
        if (!is_scored(t, i)) {
            continue;
        }
        if (isnan(t->label[i])) {
            ret_sum[unit[i]] += weight * (t->score[i] - rest) / u->n;
        } else {
            ret_sum[unit[i]] += (t->label[i] - weight * t->score[i] - residual) / l->n;
            ret_labelled[unit[i]] = true;
        }
    }
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
        influences(t, unit, ret->weight, sum, has);
        double variance = 0;
        for (size_t i = 0; i < units; i++) {
            variance += sum[i] * sum[i];
            labelled += has[i];
        }
        if (labelled >= VQ_POWERED_LABELLED_MIN) {
            double n = (double)labelled;
            variance = variance * n / (n - 1) + PSEUDO_LABELS / (n * n);
            double half = vq_student_975(n - 1) * sqrt(variance);
            ret->ci95 = (struct vq_interval){fmax(-1, ret->mean - half), fmin(1, ret->mean + half)};
        }
    }
    vq_free(unit);
    vq_free(sum);
    vq_free(has);
    return status;
}

enum vq_status vq_powered_mean(const double *score, const double *label, size_t n,
                               const uint32_t *groups, struct vq_powered *ret)
{
    struct two t = {.score = score, .label = label, .n = n};
    add_up(&t);
    double scored = t.with.n + t.without.n;
    *ret =
        (struct vq_powered){.labelled = (size_t)t.with.n,
                            .scored = (size_t)scored,
                            .judge = scored > 0 ? (t.with.score + t.without.score) / scored : NAN,
                            .mean = NAN,
                            .ci95 = {NAN, NAN}};
    if (ret->labelled == 0) {
        return VQ_OK;
    }
    ret->weight = best_weight(&t);
    double rest = t.without.n > 0 ? ret->weight * t.without.score / t.without.n : 0;
    ret->mean = rest + (t.with.label - ret->weight * t.with.score) / t.with.n;
    ret->mean = fmax(-1, fmin(1, ret->mean));
    return interval(&t, groups, ret);
}
