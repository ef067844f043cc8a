/* Sums over rows, once, into the parts; then means, intervals and signs. Invariant: the whole as a
 * single part gives the separability and the accuracy of the result. Not its job: which values
 * there are, and how they are shown. */
#include "methods/vibecheck/numbers/slices.h"

#include "common/base/alloc.h"
#include "methods/stats/intervals/proportions.h"

#include <math.h>

/* The row's score on a vibe, or NaN. */
typedef double (*score_fn)(const struct vq_vibecheck *result, uint32_t sample, uint32_t vibe,
                           uint32_t judge);

static double row_score(const struct vq_vibecheck *result, uint32_t sample, uint32_t vibe,
                        uint32_t judge)
{
    (void)judge;
    return result->scores->x[(size_t)sample * result->vibes + vibe];
}

static double judge_score(const struct vq_vibecheck *result, uint32_t sample, uint32_t vibe,
                          uint32_t judge)
{
    int8_t score = vq_scores_at(result->scores, sample, vibe, judge);
    return score == VQ_SCORE_MISSING ? NAN : score;
}

static enum vq_status create(uint32_t count, uint32_t vibes, struct vq_slices **ret_slices)
{
    struct vq_slices *s;
    VQ_TRY(VQ_ALLOC(s, 1));
    s->vibes = vibes;
    s->slice = vq_alloc(count, sizeof(*s->slice));
    s->count = s->slice == NULL ? 0 : count;
    bool ok = s->slice != NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        s->slice[i].separability = vq_alloc(vibes, sizeof(double));
        s->slice[i].scored = vq_alloc(vibes, sizeof(uint64_t));
        s->slice[i].opposite = vq_alloc(vibes, sizeof(bool));
        ok = ok && s->slice[i].separability != NULL && s->slice[i].scored != NULL &&
             s->slice[i].opposite != NULL;
    }
    if (!ok) {
        vq_slices_destroy(&s);
        return VQ_NOMEM;
    }
    *ret_slices = s;
    return VQ_OK;
}

void vq_slices_destroy(struct vq_slices **slices)
{
    struct vq_slices *s = *slices;
    if (s == NULL) {
        return;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        vq_free(s->slice[i].separability);
        vq_free(s->slice[i].scored);
        vq_free(s->slice[i].opposite);
    }
    vq_free(s->slice);
    vq_free(s);
    *slices = NULL;
}

/* Root mean square over the train rows of one vibe's scores (missing ones are 0), as the fit
 * divides by it; 1 for none. */
static double scale_of(const struct vq_vibecheck_input *in, const struct vq_vibecheck *result,
                       uint32_t vibe)
{
    const struct vq_conf_regression *r = &in->config->regression;
    if (!r->standardise && r->estimator != VQ_ESTIMATOR_LEGACY_BOOTSTRAP) {
        return 1.0;
    }
    double sum = 0;
    uint64_t n = 0;
    for (uint32_t i = 0; i < in->grid.samples; i++) {
        double x = row_score(result, i, vibe, 0);
        if (vq_vibecheck_uses(in, result, i, false) && !isnan(x)) {
            sum += x * x;
            n++;
        }
    }
    return n == 0 || sum == 0 ? 1.0 : sqrt(sum / (double)n);
}

static double margin(const struct vq_vibecheck *result, const double *weight, score_fn score,
                     uint32_t sample, uint32_t judge)
{
    double sum = 0;
    for (uint32_t v = 0; v < result->vibes; v++) {
        double x = weight[v] == 0 ? 0 : score(result, sample, v, judge);
        sum += isnan(x) ? 0 : x * weight[v];
    }
    return sum;
}

static double is_right(double eta)
{
    return fabs(eta) < VQ_LOGIT_TIE ? 0.5 : eta > 0 ? 1.0 : 0.0;
}

/* One row into its part; until `finish`, mm_accuracy and separability hold sums. */
static void add_row(struct vq_result_slice *slice, const struct vq_vibecheck *result,
                    const double *weight, score_fn score, uint32_t sample, uint32_t judge)
{
    slice->rows++;
    double eta = margin(result, weight, score, sample, judge);
    slice->mm_accuracy += is_right(eta);
    for (uint32_t v = 0; v < result->vibes; v++) {
        double x = score(result, sample, v, judge);
        if (!isnan(x)) {
            slice->separability[v] += x;
            slice->scored[v]++;
        }
    }
}

static void finish(const struct vq_vibecheck_input *in, const struct vq_vibecheck *result,
                   bool test, struct vq_result_slice *slice)
{
    bool fitted = result->mm.status == VQ_FIT_OK && slice->rows > 0;
    double n = (double)slice->rows;
    slice->mm_ci95 = fitted
                         ? vq_proportion_interval(VQ_PROPORTION_WILSON, slice->mm_accuracy, n, 0.95)
                         : (struct vq_interval){NAN, NAN};
    slice->mm_accuracy = fitted ? slice->mm_accuracy / n : NAN;
    double gate = in->config->gates.separability_min;
    for (uint32_t v = 0; v < result->vibes; v++) {
        double all = vq_vibe_on(&result->vibe[v], test)->sep;
        double sep =
            slice->scored[v] == 0 ? NAN : slice->separability[v] / (double)slice->scored[v];
        slice->separability[v] = sep;
        slice->opposite[v] = slice->scored[v] >= VQ_SLICE_ROWS_MIN && sep * all < 0 &&
                             fabs(sep) > gate && fabs(all) > gate;
    }
}

/* Where prompts repeat, the interval of one part by prompt. `value` as in `compute`. */
static enum vq_status by_prompt(const struct vq_vibecheck_input *in,
                                const struct vq_vibecheck *result, const uint32_t *value,
                                uint32_t part, bool test, const double *weight,
                                struct vq_result_slice *slice)
{
    if (!result->questions_repeat || isnan(slice->mm_accuracy)) {
        return VQ_OK;
    }
    double *right = vq_alloc(slice->rows, sizeof(*right));
    uint32_t *group = vq_alloc(slice->rows, sizeof(*group));
    enum vq_status status = right == NULL || group == NULL ? VQ_NOMEM : VQ_OK;
    size_t n = 0;
    for (uint32_t i = 0; i < in->grid.samples && status == VQ_OK; i++) {
        if (vq_vibecheck_uses(in, result, i, test) && (value == NULL || value[i] == part)) {
            score_fn score = value == NULL ? judge_score : row_score;
            right[n] = is_right(margin(result, weight, score, i, part));
            group[n++] = in->rows[i].group;
        }
    }
    if (status == VQ_OK) {
        status = vq_proportion_clustered(right, n, group, 0.95, &slice->mm_ci95);
    }
    vq_free(right);
    vq_free(group);
    return status;
}

/* `value` NULL: every row is in every part, and part i sees judge i. */
static enum vq_status compute(const struct vq_vibecheck_input *in,
                              const struct vq_vibecheck *result, const uint32_t *value,
                              uint32_t count, bool test, struct vq_slices **ret_slices)
{
    struct vq_slices *s = NULL;
    double *weight = vq_alloc(result->vibes, sizeof(*weight));
    enum vq_status status = weight == NULL ? VQ_NOMEM : create(count, result->vibes, &s);
    if (status != VQ_OK) {
        vq_free(weight);
        return status;
    }
    for (uint32_t v = 0; v < result->vibes; v++) {
        double coef = result->vibe[v].mm.coef;
        weight[v] = isnan(coef) ? 0 : coef / scale_of(in, result, v);
    }
    for (uint32_t i = 0; i < in->grid.samples; i++) {
        if (!vq_vibecheck_uses(in, result, i, test)) {
            continue;
        }
        for (uint32_t k = 0; value == NULL && k < count; k++) {
            add_row(&s->slice[k], result, weight, judge_score, i, k);
        }
        if (value != NULL && value[i] < count) {
            add_row(&s->slice[value[i]], result, weight, row_score, i, 0);
        }
    }
    for (uint32_t k = 0; k < count && status == VQ_OK; k++) {
        finish(in, result, test, &s->slice[k]);
        status = by_prompt(in, result, value, k, test, weight, &s->slice[k]);
    }
    vq_free(weight);
    if (status != VQ_OK) {
        vq_slices_destroy(&s);
        return status;
    }
    *ret_slices = s;
    return VQ_OK;
}

enum vq_status vq_slices_by_value(const struct vq_vibecheck_input *in,
                                  const struct vq_vibecheck *result, const uint32_t *value,
                                  uint32_t count, bool test, struct vq_slices **ret_slices)
{
    return compute(in, result, value, count, test, ret_slices);
}

enum vq_status vq_slices_by_judge(const struct vq_vibecheck_input *in,
                                  const struct vq_vibecheck *result, bool test,
                                  struct vq_slices **ret_slices)
{
    return compute(in, result, NULL, result->judges, test, ret_slices);
}
