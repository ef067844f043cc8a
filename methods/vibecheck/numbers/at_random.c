/* Separability if calls fail at random. Under the strict rule a cell that names no model needs one
 * vote, and a cell that names a model needs two. So failed calls remove more of the cells that
 * count, and pull the mean of the scored cells toward 0. Here each cell that names a model has the
 * weight 1 / share^2, where share is the part of the calls with a vote (per judge, vibe and split),
 * and the sum is divided by the number of asked cells (Horvitz and Thompson 1952). The estimate is
 * consistent if the probability that a call fails does not depend on its answer. Not its job: other
 * pair rules, whose cells need the same votes for every answer. */
#include "methods/vibecheck/numbers/parts.h"

#include <math.h>

static bool is_asked(uint8_t outcome)
{
    return outcome != VQ_OUTCOME_NOT_NEEDED;
}

bool vq_order_has_vote(uint8_t outcome)
{
    return outcome == VQ_OUTCOME_FIRST || outcome == VQ_OUTCOME_SECOND ||
           outcome == VQ_OUTCOME_EQUAL || outcome == VQ_OUTCOME_NA || outcome == VQ_OUTCOME_UNSURE;
}

/* One judge's estimate; NaN if no cell was asked or no call has a vote. */
static double of_judge(const struct vq_vibecheck_work *w, const struct vq_split *s, uint32_t vibe,
                       uint32_t judge, bool *ret_failed)
{
    double calls = 0, votes = 0, cells = 0, sum = 0;
    for (size_t row = 0; row < s->rows; row++) {
        struct vq_cell cell = {s->sample[row], judge, vibe, 0};
        const uint8_t *both = w->in->outcomes + vq_grid_task(&w->in->grid, cell);
        for (int order = 0; order < 2; order++) {
            calls += is_asked(both[order]) ? 1 : 0;
            votes += vq_order_has_vote(both[order]) ? 1 : 0;
        }
        cells += is_asked(both[0]) || is_asked(both[1]) ? 1 : 0;
        int8_t score = vq_scores_at(w->out->scores, s->sample[row], vibe, judge);
        sum += score == VQ_SCORE_MISSING ? 0 : score;
    }
    *ret_failed |= votes < calls;
    double share = calls > 0 ? votes / calls : 0;
    return share > 0 ? fmin(1.0, fmax(-1.0, sum / (share * share) / cells)) : NAN;
}

static double of_split(const struct vq_vibecheck_work *w, const struct vq_split *s, uint32_t vibe)
{
    double sum = 0, judges = 0;
    bool failed = false;
    for (uint32_t j = 0; j < w->in->grid.judges; j++) {
        double one = of_judge(w, s, vibe, j, &failed);
        sum += isnan(one) ? 0 : one;
        judges += isnan(one) ? 0 : 1;
    }
    return failed && judges > 0 ? sum / judges : NAN;
}

void vq_at_random_compute(struct vq_vibecheck_work *w)
{
    bool strict = w->in->config->judging.pair_rule == VQ_PAIR_STRICT &&
                  !vq_config_ranks(w->in->config) && w->in->cascade == NULL;
    for (uint32_t v = 0; v < w->in->grid.vibes; v++) {
        struct vq_vibe_metrics *m = &w->out->vibe[v];
        m->train.sep_at_random = strict ? of_split(w, &w->train, v) : NAN;
        m->test.sep_at_random = strict ? of_split(w, &w->test, v) : NAN;
    }
}
