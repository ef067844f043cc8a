/* Sums over rows into the parts, in one pass; then means, intervals and signs. Invariant: all rows
 * as a single part give the separability and the accuracy of the result. Not its job: the choice of
 * values, the form in which they are shown. */
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

static enum vq_status make_parts(struct vq_slices *s)
{
    VQ_TRY(VQ_ARENA_ALLOC(&s->memory, s->slice, s->count));
    for (uint32_t i = 0; i < s->count; i++) {
        VQ_TRY(VQ_ARENA_ALLOC(&s->memory, s->slice[i].separability, s->vibes));
        VQ_TRY(VQ_ARENA_ALLOC(&s->memory, s->slice[i].scored, s->vibes));
        VQ_TRY(VQ_ARENA_ALLOC(&s->memory, s->slice[i].opposite, s->vibes));
    }
    return VQ_OK;
}

void vq_slices_destroy(struct vq_slices **slices)
{
    if (*slices != NULL) {
        vq_arena_clear(&(*slices)->memory);
        vq_free(*slices);
        *slices = NULL;
    }
}

/* The scale by which the fit divides: root mean square of one vibe's scores over the train rows
 * (missing scores are 0); 1 if the fit does not scale. */
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

/* Adds one row to its part; until `finish`, mm_accuracy and separability contain sums. */
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

/* If prompts repeat, computes the interval of one part by prompt. `value` is as in `compute`. */
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

static enum vq_status fill(const struct vq_vibecheck_input *in, const struct vq_vibecheck *result,
                           const uint32_t *value, bool test, struct vq_slices *s)
{
    double *weight;
    VQ_TRY(make_parts(s));
    VQ_TRY(VQ_ARENA_ALLOC(&s->memory, weight, result->vibes));
    for (uint32_t v = 0; v < result->vibes; v++) {
        double coef = result->vibe[v].mm.coef;
        weight[v] = isnan(coef) ? 0 : coef / scale_of(in, result, v);
    }
    for (uint32_t i = 0; i < in->grid.samples; i++) {
        if (!vq_vibecheck_uses(in, result, i, test)) {
            continue;
        }
        for (uint32_t k = 0; value == NULL && k < s->count; k++) {
            add_row(&s->slice[k], result, weight, judge_score, i, k);
        }
        if (value != NULL && value[i] < s->count) {
            add_row(&s->slice[value[i]], result, weight, row_score, i, 0);
        }
    }
    for (uint32_t k = 0; k < s->count; k++) {
        finish(in, result, test, &s->slice[k]);
        VQ_TRY(by_prompt(in, result, value, k, test, weight, &s->slice[k]));
    }
    return VQ_OK;
}

enum vq_status vq_slices_create(const struct vq_vibecheck_input *in,
                                const struct vq_vibecheck *result, const uint32_t *value,
                                uint32_t count, bool test, struct vq_slices **ret_slices)
{
    struct vq_slices *s;
    VQ_TRY(VQ_ALLOC(s, 1));
    s->count = count;
    s->vibes = result->vibes;
    enum vq_status status = fill(in, result, value, test, s);
    if (status != VQ_OK) {
        vq_slices_destroy(&s);
        return status;
    }
    *ret_slices = s;
    return VQ_OK;
}
