/* Compares judges with people. A row's score is the mean over its judges. Its sign is compared with
 * the label, and scores and labels together estimate people's mean label over all rows. Not its
 * job: reading labels (labels.c). */
#include "methods/vibecheck/numbers/parts.h"

#include "common/base/alloc.h"
#include "methods/stats/agreement/agreement.h"
#include "methods/stats/intervals/proportions.h"

#include <math.h>

/* The columns of one vibe; each has one value per row. */
struct columns {
    double *score, *label, *sign, *right;
    uint32_t *group;
};

static enum vq_status agreement(struct columns *c, size_t rows, const struct vq_split *s,
                                struct vq_people_metrics *ret)
{
    size_t n = 0;
    double right = 0;
    for (size_t i = 0; i < rows; i++) {
        if (isnan(c->label[i]) || isnan(c->score[i])) {
            c->sign[i] = NAN;
            continue;
        }
        c->sign[i] = (c->score[i] > 0) - (c->score[i] < 0);
        c->group[n] = s->group[i];
        c->right[n] = c->sign[i] == c->label[i] ? 1 : 0;
        right += c->right[n++];
    }
    if (n == 0) {
        return VQ_OK;
    }
    struct vq_kappa kappa;
    ret->agreement = right / (double)n;
    VQ_TRY(vq_agreement_cohen(c->sign, c->label, rows, &kappa, NULL));
    ret->kappa = kappa.kappa;
    return vq_proportion_clustered(c->right, n, c->group, 0.95, &ret->agreement_ci95);
}

static enum vq_status one(struct vq_vibecheck_work *w, const struct vq_split *s, uint32_t vibe,
                          struct columns *c)
{
    struct vq_people_metrics *m = &w->out->vibe[vibe].people;
    uint32_t vibes = w->in->grid.vibes;
    for (size_t i = 0; i < s->rows; i++) {
        int8_t label = w->in->people[(size_t)s->sample[i] * vibes + vibe];
        c->score[i] = s->x[i * vibes + vibe];
        c->label[i] = label == VQ_LABEL_NONE ? NAN : label;
    }
    VQ_TRY(vq_powered_mean(c->score, c->label, s->rows, s->group, &m->separability));
    return agreement(c, s->rows, s, m);
}

enum vq_status vq_people_compute(struct vq_vibecheck_work *w)
{
    static const struct vq_interval none = {NAN, NAN};
    for (uint32_t v = 0; v < w->out->vibes; v++) {
        w->out->vibe[v].people =
            (struct vq_people_metrics){.agreement = NAN,
                                       .agreement_ci95 = none,
                                       .kappa = NAN,
                                       .separability = {.judge = NAN, .mean = NAN, .ci95 = none}};
    }
    if (w->in->people == NULL) {
        return VQ_OK;
    }
    const struct vq_split *s = w->out->in_sample ? &w->train : &w->test;
    struct columns c;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, c.score, s->rows));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, c.label, s->rows));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, c.sign, s->rows));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, c.right, s->rows));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, c.group, s->rows));
    for (uint32_t v = 0; v < w->out->vibes; v++) {
        VQ_TRY(one(w, s, v, &c));
    }
    return VQ_OK;
}
